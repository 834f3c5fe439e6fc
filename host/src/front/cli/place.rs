//! Where a text stops being JSON, as a person sees it: the line, and a mark below the place.

use serde::de::IgnoredAny;
use serde_json::error::Category;

use super::clean::clean;

/// Letters that are shown on either side of the place.
const AROUND: usize = 40;

/// The line that cannot be read, and a mark below the place; nothing where the text is JSON, or is no text at all.
pub(super) fn place(text: &str) -> Option<[String; 2]> {
    let error = serde_json::from_str::<IgnoredAny>(text).err()?;
    let line = text.lines().nth(error.line().checked_sub(1)?)?;
    // A column is a byte from 1; at the end of the text, and before a control character, it is the last one that was read.
    let control = line.as_bytes().get(error.column()).is_some_and(u8::is_ascii_control);
    let at = match error.classify() {
        Category::Eof => error.column(),
        Category::Syntax | Category::Data | Category::Io if control => error.column(),
        Category::Syntax | Category::Data | Category::Io => error.column().saturating_sub(1),
    };
    let before: Vec<char> = line.get(..line.floor_char_boundary(at))?.chars().collect();
    let after: Vec<char> = line.get(line.floor_char_boundary(at)..)?.chars().collect();
    let left = before.len().saturating_sub(AROUND);
    let right = after.len().min(AROUND);
    let cut = |is_cut: bool| if is_cut { "…" } else { "" };
    let shown =
        |letters: &[char]| letters.iter().map(|letter| clean(&letter.to_string())).collect::<String>();
    let front = format!("{}{}", cut(left > 0), shown(&before[left..]));
    let back = format!("{}{}", shown(&after[..right]), cut(after.len() > right));
    let mark = format!("{}^", " ".repeat(front.chars().count()));
    Some([format!("{front}{back}"), mark]).filter(|[line, _]| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(text: &str) -> String {
        place(text).map(|lines| lines.join("\n")).unwrap_or_default()
    }

    #[test]
    fn the_mark_stands_below_what_cannot_be_read() {
        assert_eq!(marked("{expression: 1}"), "{expression: 1}\n ^");
        assert_eq!(marked(r#"{"a": 1 "b": 2}"#), "{\"a\": 1 \"b\": 2}\n        ^");
        assert_eq!(marked(r#"{"ä": 'x'}"#), "{\"ä\": 'x'}\n      ^");
        assert_eq!(marked("{\n  \"a\": x\n}"), "  \"a\": x\n       ^");
    }

    #[test]
    fn what_ends_too_soon_is_marked_behind_its_end() {
        assert_eq!(marked(r#"{"a": 1"#), "{\"a\": 1\n       ^");
    }

    #[test]
    fn of_a_long_line_the_part_around_the_place_is_shown() {
        let text = format!("{{\"a\": \"{}\", b{}}}", "x".repeat(500), "y".repeat(500));
        let lines = place(&text).unwrap();
        assert!(lines[0].chars().count() <= 2 * AROUND + 2, "{lines:?}");
        let at = lines[1].chars().count() - 1;
        assert_eq!(lines[0].chars().nth(at), Some('b'));
    }

    #[test]
    fn what_a_terminal_obeys_is_shown_and_the_mark_stays_where_it_belongs() {
        let lines = place("{\"a\u{1b}[2J\": x}").unwrap();
        assert!(!lines[0].contains('\u{1b}'));
        assert_eq!(lines[0].chars().nth(lines[1].chars().count() - 1), Some('\\'));
    }

    #[test]
    fn json_and_nothing_have_no_place() {
        assert_eq!((place("{}"), place("")), (None, None));
    }
}
