//! One line for each figure: what it is, what it must reach, and what stands beside it in the same run.

use std::fmt::Display;

/// What a figure must reach.
#[derive(Debug, Clone, Copy)]
pub enum Target {
    /// At most this.
    AtMost(f64),
    /// At least this.
    AtLeast(f64),
    /// Nothing: it explains another.
    None,
}

/// A figure about to be printed.
#[derive(Debug)]
pub struct Figure {
    name: &'static str,
    what: String,
    value: f64,
    unit: &'static str,
    target: Target,
    beside: Vec<String>,
}

impl Figure {
    /// A figure of this measure.
    pub fn new(name: &'static str, what: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Self { name, what: what.into(), value, unit, target: Target::None, beside: Vec::new() }
    }

    /// It must not be above this.
    #[must_use]
    pub fn at_most(mut self, target: f64) -> Self {
        self.target = Target::AtMost(target);
        self
    }

    /// It must not be below this.
    #[must_use]
    pub fn at_least(mut self, target: f64) -> Self {
        self.target = Target::AtLeast(target);
        self
    }

    /// The peer or the limit that was measured in the same run, and how many times that the figure is.
    #[must_use]
    pub fn beside(self, what: &str, value: f64) -> Self {
        let text = format!("{what} {}: {:.2} ×", number(value, self.unit), self.value / value);
        self.note(text)
    }

    /// Something else to be known with it.
    #[must_use]
    pub fn note(mut self, text: impl Display) -> Self {
        self.beside.push(text.to_string());
        self
    }

    /// Prints the line.
    pub fn print(&self) {
        let target = match self.target {
            Target::AtMost(target) => format!("≤ {}", number(target, self.unit)),
            Target::AtLeast(target) => format!("≥ {}", number(target, self.unit)),
            Target::None => String::new(),
        };
        let verdict = match self.target {
            Target::AtMost(target) if self.value <= target => "met",
            Target::AtLeast(target) if self.value >= target => "met",
            Target::AtMost(_) | Target::AtLeast(_) => "MISSED",
            Target::None => "",
        };
        println!(
            "{:<8} {:<58} {:>13}  {target:>13}  {verdict:<6}  {}",
            self.name,
            self.what,
            number(self.value, self.unit),
            self.beside.join("; ")
        );
    }
}

/// Prints what the columns are.
pub fn header() {
    println!("{:<8} {:<58} {:>13}  {:>13}  {:<6}  beside it in this run", "", "figure", "", "target", "");
}

fn number(value: f64, unit: &str) -> String {
    let digits = match value.abs() {
        ..10.0 => 2,
        ..1000.0 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {unit}")
}
