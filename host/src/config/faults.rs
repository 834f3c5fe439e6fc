//! What is wrong with a configuration, shown with its line and with what would mend it.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use serde_json::{Value, json};

use crate::model::code;
use crate::model::failure::{Failure, Kind};
use crate::model::unseen::is_unseen;

/// More faults than anybody mends at once; the rest are counted.
const MOST_SHOWN: usize = 100;

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Where in the file, in bytes; none where the file itself is the trouble.
    pub span: Option<Range<usize>>,
    /// What is wrong.
    pub text: String,
    /// What belongs there.
    pub expected: Option<String>,
    /// What would mend it: the closest right name, or the line to write.
    pub help: Option<String>,
    /// Whether the line is left out when the fault is shown, since a secret may stand in it.
    pub hidden: bool,
}

impl Fault {
    /// A fault at a place in the file.
    pub fn at(span: Range<usize>, text: impl Into<String>) -> Self {
        Self { span: Some(span), ..Self::new(text) }
    }

    /// A fault of the file as a whole.
    pub fn new(text: impl Into<String>) -> Self {
        Self { span: None, text: text.into(), expected: None, help: None, hidden: false }
    }

    /// Says what belongs there.
    #[must_use]
    pub fn expected(mut self, text: impl Into<String>) -> Self {
        self.expected = Some(text.into());
        self
    }

    /// Says what would mend it.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }
}

/// All that is wrong with one file; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Faults {
    file: PathBuf,
    source: String,
    list: Vec<Fault>,
}

impl Faults {
    /// Faults of a file whose text is `source`, brought into the order of their places.
    pub fn new(file: &Path, source: &str, mut list: Vec<Fault>) -> Self {
        list.sort_by_key(|fault| fault.span.as_ref().map(|span| span.start));
        Self { file: file.to_owned(), source: source.to_owned(), list }
    }

    /// These and more of the same file, in the order of their places.
    #[must_use]
    pub fn and(self, more: Option<Self>) -> Self {
        let list = self.list.into_iter().chain(more.into_iter().flat_map(|more| more.list)).collect();
        Self::new(&self.file, &self.source, list)
    }

    /// The faults, in the order of their places.
    pub fn list(&self) -> &[Fault] {
        &self.list
    }

    /// The line of a fault, from 1.
    pub fn line(&self, fault: &Fault) -> Option<usize> {
        let before = self.source.get(..fault.span.as_ref()?.start)?;
        Some(before.matches('\n').count() + 1)
    }

    /// Every fault with its line, in colours.
    pub fn styled(&self) -> String {
        self.render(&Renderer::styled())
    }

    /// The same as a failure, for doors that give results.
    pub fn failure(&self) -> Failure {
        Failure::new(Kind::InvalidInput, code::INVALID_CONFIGURATION, self.summary())
            .with_detail("faults", self.documents())
    }

    /// Each fault as JSON.
    pub fn documents(&self) -> Vec<Value> {
        let document = |fault: &Fault| {
            json!({
                "file": self.file.display().to_string(),
                "line": self.line(fault),
                "fault": fault.text,
                "expected": fault.expected,
                "help": fault.help,
            })
        };
        self.shown().iter().map(document).collect()
    }

    fn shown(&self) -> &[Fault] {
        self.list.get(..MOST_SHOWN).unwrap_or(&self.list)
    }

    fn summary(&self) -> String {
        match self.list.as_slice() {
            [only] => only.text.clone(),
            many if many.len() > MOST_SHOWN => {
                format!("{} has {} faults; these are the first {MOST_SHOWN}", self.file.display(), many.len())
            }
            many => format!("{} has {} faults", self.file.display(), many.len()),
        }
    }

    fn render(&self, renderer: &Renderer) -> String {
        let source = legible(&self.source);
        let mut text = String::new();
        for fault in self.shown() {
            let fault = Fault {
                text: legible(&fault.text),
                expected: fault.expected.as_deref().map(legible),
                help: fault.help.as_deref().map(legible),
                ..fault.clone()
            };
            text.push_str(&renderer.render(&[self.group(&fault, &source)]));
            text.push_str("\n\n");
        }
        if self.list.len() > 1 {
            text.push_str(&legible(&self.summary()));
        }
        text.truncate(text.trim_end().len());
        text
    }

    fn group<'a>(&'a self, fault: &'a Fault, source: &'a str) -> Group<'a> {
        let path = legible(&self.file.to_string_lossy());
        let title = Level::ERROR.primary_title(fault.text.as_str());
        let mut group = match (&fault.span, self.line(fault)) {
            (Some(_), Some(line)) if fault.hidden => title.element(Origin::path(path).line(line)),
            (Some(span), Some(_)) => {
                let mark = AnnotationKind::Primary.span(span.clone()).label(fault.expected.as_deref());
                title.element(Snippet::source(source).path(path).annotation(mark))
            }
            (None, _) | (_, None) => Group::with_title(title),
        };
        if let (true, Some(expected)) = (fault.hidden || fault.span.is_none(), &fault.expected) {
            group = group.element(Level::NOTE.message(expected.as_str()));
        }
        match &fault.help {
            Some(help) => group.element(Level::HELP.message(help.as_str())),
            None => group,
        }
    }
}

/// The text as a terminal may have it: what it would act on, or show as nothing, gives way to signs that are as long,
/// so that places stay what they are.
fn legible(text: &str) -> String {
    let mut legible = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter.len_utf8() {
            // Of these, those that a terminal would act on are drawn as pictures where the line is drawn.
            1 => legible.push(letter),
            _ if !is_unseen(letter) => legible.push(letter),
            2 => legible.push_str("??"),
            3 => legible.push('\u{fffd}'),
            _ => legible.push_str("\u{fffd}?"),
        }
    }
    legible
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(&Renderer::plain()))
    }
}

impl std::error::Error for Faults {}
