//! Texts that a model or a person reads: not empty, not endless, and with nothing hidden in them.

use serde_json::Value;

use super::Faults;

/// A title stands in a list.
const TITLE_CHARS: usize = 120;

/// A description is sent to a model with every request.
const DESCRIPTION_BYTES: usize = 8 << 10;

/// What a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A tool's title.
    Title,
    /// A tool's or a plugin's description.
    Description,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Title => "the title",
            Self::Description => "the description",
        }
    }
}

/// Looks at one text.
pub(super) fn check(faults: &mut Faults, kind: Kind, text: &str) {
    let word = kind.word();
    if text.trim().is_empty() {
        faults.add(format!("{word} must say something and is empty"));
    }
    match kind {
        Kind::Title if text.chars().count() > TITLE_CHARS => {
            let chars = text.chars().count();
            faults.add(format!("{word} has {chars} characters and may have {TITLE_CHARS}"));
        }
        Kind::Title if text.contains(['\n', '\t']) => faults.add(format!("{word} must be one line")),
        Kind::Description if text.len() > DESCRIPTION_BYTES => {
            let bytes = text.len();
            faults.add(format!("{word} has {bytes} bytes and may have {DESCRIPTION_BYTES}"));
        }
        Kind::Title | Kind::Description => {}
    }
    if let Some(hidden) = hidden(text) {
        faults.add(format!("{word} {hidden}"));
    }
}

/// What is hidden in any text of a schema, as the end of a sentence.
pub(super) fn hidden_within(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => hidden(text),
        Value::Array(items) => items.iter().find_map(hidden_within),
        Value::Object(fields) => {
            fields.iter().find_map(|(name, field)| hidden(name).or_else(|| hidden_within(field)))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// What is hidden in a text, as the end of a sentence.
fn hidden(text: &str) -> Option<String> {
    let mut found: Vec<char> = Vec::new();
    for char in text.chars().filter(|char| is_hidden(*char)) {
        if !found.contains(&char) {
            found.push(char);
        }
    }
    if found.is_empty() {
        return None;
    }
    let mut names: Vec<String> =
        found.iter().take(4).map(|char| format!("U+{:04X}", u32::from(*char))).collect();
    if found.len() > names.len() {
        names.push(format!("{} more", found.len() - names.len()));
    }
    Some(format!("must hold visible characters alone, and hides {}", names.join(", ")))
}

/// A text on one line, with a mark in the place of whatever is hidden in it.
pub(in crate::plugin) fn visible(text: &str) -> String {
    let seen = |char| match char {
        '\n' | '\t' => ' ',
        hidden if is_hidden(hidden) => '\u{fffd}',
        plain => plain,
    };
    text.chars().map(seen).collect()
}

/// Whether a character is not seen, or changes how others are seen. Lines and tabs are seen.
pub(super) fn is_hidden(char: char) -> bool {
    match char {
        '\n' | '\t' => false,
        // Soft hyphen, joiners and fillers, and spaces of no width.
        '\u{ad}'
        | '\u{34f}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' => true,
        '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2064}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' => true,
        // What turns text around, and what ends a line without being seen to.
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{206f}' => true,
        // Annotations, tags, and selectors of variants that no emoji has.
        '\u{fff9}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}' => true,
        other => other.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_is_named() {
        assert_eq!(hidden("plain text, ümläuts, 中文, 😀\u{fe0f}\n\ttoo"), None);
        let text = hidden("a\u{202e}b\u{200b}c\u{202e}\u{1b}\u{e0041}\r").unwrap();
        assert_eq!(
            text,
            "must hold visible characters alone, and hides U+202E, U+200B, U+001B, U+E0041, 1 more"
        );
    }

    #[test]
    fn schemas_are_searched_to_their_ends() {
        for bad in [r#"{"a":["x\u200b"]}"#, r#"{"x\u200b":1}"#, r#"{"a":{"b":{"title":"\u202e"}}}"#] {
            assert!(hidden_within(&serde_json::from_str(bad).unwrap()).is_some(), "{bad}");
        }
    }
}
