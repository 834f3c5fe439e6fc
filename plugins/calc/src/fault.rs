//! Why an expression has no value, and where in it.

use airlock_sdk::ToolError;
use serde_json::json;

/// How much of an expression is shown before and after the place of a fault, and how much of it is named in a message.
const SHOWN_BEFORE: usize = 30;
const SHOWN_AFTER: usize = 30;
const NAMED: usize = 20;

/// What kind of fault it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// It cannot be read.
    Syntax,
    /// It uses a name that means nothing here.
    UnknownName,
    /// A function is given what it cannot take.
    WrongArguments,
    /// The exponent is a fraction, so that the result may be none.
    FractionalExponent,
    /// Something is divided by zero.
    DivisionByZero,
    /// A number grows beyond what is calculated with, or the whole takes too much work.
    TooLarge,
}

/// Why an expression has no value.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) cause: Cause,
    /// The place in the expression, in characters from 0.
    pub(crate) at: usize,
    pub(crate) text: String,
}

impl Fault {
    /// A fault at a place.
    pub(crate) fn new(cause: Cause, at: usize, text: impl Into<String>) -> Self {
        Self { cause, at, text: text.into() }
    }

    /// The same for the caller, with the place shown.
    pub(crate) fn in_expression(self, expression: &str) -> ToolError {
        let column = self.at + 1;
        let message = format!("column {column}, at {}: {}", rest(expression, self.at), self.text);
        let error = match self.cause {
            Cause::Syntax => ToolError::invalid_input("SYNTAX_ERROR", message),
            Cause::UnknownName => ToolError::invalid_input("UNKNOWN_NAME", message),
            Cause::WrongArguments => ToolError::invalid_input("WRONG_ARGUMENTS", message),
            Cause::FractionalExponent => ToolError::invalid_input("FRACTIONAL_EXPONENT", message),
            Cause::DivisionByZero => ToolError::rejected("DIVISION_BY_ZERO", message)
                .user_message("That divides by zero, and has no result."),
            Cause::TooLarge => ToolError::rejected("TOO_LARGE", message)
                .user_message("That is too large to be calculated exactly."),
        };
        error.details(json!({ "column": column, "place": place(expression, self.at) }))
    }
}

/// What stands from a place on, in quotes; it spares the reader the counting.
fn rest(expression: &str, at: usize) -> String {
    let mut letters = expression.chars().skip(at);
    let rest: String = letters.by_ref().take(NAMED).collect();
    match (rest.is_empty(), letters.next()) {
        (true, _) => "the end".to_owned(),
        (false, None) => format!("\"{rest}\""),
        (false, Some(_)) => format!("\"{rest}…\""),
    }
}

/// The part of an expression around a place, and a line with a caret below it.
fn place(expression: &str, at: usize) -> [String; 2] {
    let start = at.saturating_sub(SHOWN_BEFORE);
    let mut letters = expression.chars().skip(start);
    let shown: String = letters
        .by_ref()
        .take(SHOWN_BEFORE + SHOWN_AFTER)
        .map(|letter| if letter.is_whitespace() || letter.is_control() { ' ' } else { letter })
        .collect();
    let before = if start > 0 { "…" } else { "" };
    let after = if letters.next().is_some() { "…" } else { "" };
    let indent = " ".repeat(at - start + before.chars().count());
    [format!("{before}{shown}{after}"), format!("{indent}^")]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caret_stands_below_the_place() {
        assert_eq!(place("1 + * 2", 4), ["1 + * 2", "    ^"]);
        assert_eq!(place("€\t+", 2), ["€ +", "  ^"]);
        assert_eq!(place("1 +", 3), ["1 +", "   ^"]);
    }

    #[test]
    fn a_place_is_named_by_what_stands_there() {
        assert_eq!(rest("1 + * 2", 4), "\"* 2\"");
        assert_eq!(rest("1 +", 3), "the end");
        assert_eq!(rest(&"12345".repeat(5), 1), "\"23451234512345123451…\"");
    }

    #[test]
    fn of_a_long_expression_the_part_around_the_place_is_shown() {
        let expression = format!("{}*{}", "1".repeat(100), "2".repeat(100));
        let [shown, caret] = place(&expression, 100);
        assert_eq!(shown, format!("…{}*{}…", "1".repeat(30), "2".repeat(29)));
        assert_eq!(shown.chars().position(|letter| letter == '*'), Some(caret.len() - 1));
    }
}
