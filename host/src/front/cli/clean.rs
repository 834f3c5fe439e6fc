//! Text from guests, callers and backends, made safe for a terminal.

use std::fmt::Write as _;

use crate::model::unseen::is_unseen;

/// The text on one line and as it is: control characters, line breaks, marks of direction and whatever else is not
/// seen are written out, such as `\u{1b}`.
pub fn clean(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_unseen(letter) { clean.extend(letter.escape_default()) } else { clean.push(letter) }
    }
    clean
}

/// JSON that means what it meant, with the same characters escaped where they stand in texts.
pub fn clean_json(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' => clean.push('\n'),
            // Grammar allows these between tokens alone, where a space is the same.
            '\t' | '\r' => clean.push(' '),
            _ if is_unseen(letter) => {
                for unit in letter.encode_utf16(&mut [0; 2]) {
                    let _ = write!(clean, "\\u{unit:04x}");
                }
            }
            _ => clean.push(letter),
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_a_terminal_would_obey_is_written_out() {
        assert_eq!(clean("\u{1b}[2J\u{9b}0m\u{7f}\u{7}"), r"\u{1b}[2J\u{9b}0m\u{7f}\u{7}");
        assert_eq!(clean("one\nerror: two\r\t"), r"one\nerror: two\r\t");
        assert_eq!(
            clean("invoice\u{202e}fdp.exe \u{200b}\u{2066}\u{feff}"),
            r"invoice\u{202e}fdp.exe \u{200b}\u{2066}\u{feff}"
        );
    }

    #[test]
    fn words_in_any_script_stay_as_they_are() {
        for text in ["Li — Ünïcode", "注文", "שלום", "हिन्दी", "🎫"] {
            assert_eq!(clean(text), text);
        }
    }

    #[test]
    fn json_keeps_its_meaning() {
        let json = "{\"a\":\t\"x\u{202e}\u{9b}\u{e0041}\"}";
        let cleaned = clean_json(json);
        assert_eq!(cleaned, r#"{"a": "x\u202e\u009b\udb40\udc41"}"#);
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(read(&cleaned), read(json));
    }

    proptest! {
        #[test]
        fn nothing_unseen_comes_through(text in any::<String>()) {
            prop_assert!(!clean(&text).chars().any(is_unseen));
            let json = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(serde_json::from_str::<String>(&clean_json(&json)).unwrap(), text);
        }
    }
}
