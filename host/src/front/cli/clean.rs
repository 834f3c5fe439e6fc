//! Text from guests, callers and backends, made safe for a terminal.

use std::fmt::Write as _;

/// Characters that are not seen, or that change how their neighbours are shown; each from, to.
const UNSEEN: &[(char, char)] = &[
    ('\u{ad}', '\u{ad}'),       // soft hyphen
    ('\u{34f}', '\u{34f}'),     // grapheme joiner
    ('\u{61c}', '\u{61c}'),     // Arabic letter mark
    ('\u{115f}', '\u{1160}'),   // Hangul fillers
    ('\u{17b4}', '\u{17b5}'),   // Khmer inherent vowels
    ('\u{180b}', '\u{180f}'),   // Mongolian selectors and separator
    ('\u{200b}', '\u{200f}'),   // zero-width space and joiners, marks of direction
    ('\u{2028}', '\u{202e}'),   // separators of lines, embeddings and overrides of direction
    ('\u{2060}', '\u{206f}'),   // word joiner, invisible operators, isolates of direction
    ('\u{3164}', '\u{3164}'),   // Hangul filler
    ('\u{fe00}', '\u{fe0f}'),   // variation selectors
    ('\u{feff}', '\u{feff}'),   // byte order mark
    ('\u{ffa0}', '\u{ffa0}'),   // Hangul filler
    ('\u{fff0}', '\u{fffb}'),   // annotations of lines
    ('\u{13430}', '\u{1345f}'), // controls of hieroglyphs
    ('\u{1bca0}', '\u{1bca3}'), // controls of shorthand
    ('\u{1d173}', '\u{1d17a}'), // controls of music
    ('\u{e0000}', '\u{e0fff}'), // tags and variation selectors
];

/// The text on one line and as it is: control characters, line breaks, marks of direction and whatever else is not
/// seen are written out, such as `\u{1b}`.
pub fn clean(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for letter in text.chars() {
        if unsafe_to_show(letter) { clean.extend(letter.escape_default()) } else { clean.push(letter) }
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
            _ if unsafe_to_show(letter) => {
                for unit in letter.encode_utf16(&mut [0; 2]) {
                    let _ = write!(clean, "\\u{unit:04x}");
                }
            }
            _ => clean.push(letter),
        }
    }
    clean
}

fn unsafe_to_show(letter: char) -> bool {
    letter.is_control() || UNSEEN.iter().any(|(from, to)| (*from..=*to).contains(&letter))
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
            prop_assert!(!clean(&text).chars().any(unsafe_to_show));
            let json = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(serde_json::from_str::<String>(&clean_json(&json)).unwrap(), text);
        }
    }
}
