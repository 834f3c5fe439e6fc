//! Text without what nobody sees, and one part of it at a time.

/// The most bytes of one part, as JSON writes it: with address and title it fits into what a reply shows.
const PART_BYTES: usize = 24 << 10;

/// One part of a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Part<'a> {
    pub(crate) text: &'a str,
    /// Characters of the whole.
    pub(crate) total: usize,
    /// Where the rest begins, in characters; nothing where this is the end.
    pub(crate) next: Option<usize>,
}

/// The text without control characters, characters of no width, and those that turn text around. Whatever
/// ends a line becomes a line feed.
pub(crate) fn clean(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    let mut after_return = false;
    for char in text.chars() {
        match char {
            '\n' if after_return => {}
            '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => cleaned.push('\n'),
            seen if !is_hidden(seen) => cleaned.push(seen),
            _ => {}
        }
        after_return = char == '\r';
    }
    cleaned
}

/// Text on one line, its white space made single, up to so many characters.
pub(crate) fn on_one_line(text: &str, most: usize) -> String {
    let mut line = String::new();
    for word in clean(text).split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if let Some((end, _)) = line.char_indices().nth(most) {
        line.truncate(end);
        line.push('…');
    }
    line
}

/// The part that begins after so many characters; nothing where the text ends before that.
pub(crate) fn part(text: &str, start: usize, most: usize) -> Option<Part<'_>> {
    let total = text.chars().count();
    if start > 0 && start >= total {
        return None;
    }
    let begin = text.char_indices().nth(start).map_or(text.len(), |(at, _)| at);
    let rest = &text[begin..];
    let mut end = rest.len();
    let mut bytes = 0;
    for (taken, (at, char)) in rest.char_indices().enumerate() {
        bytes += if matches!(char, '"' | '\\' | '\n' | '\t') { 2 } else { char.len_utf8() };
        if taken == most || bytes > PART_BYTES {
            end = whole_lines(&rest[..at]);
            break;
        }
    }
    let shown = &rest[..end];
    let next = start + shown.chars().count();
    Some(Part { text: shown, total, next: (next < total).then_some(next) })
}

/// Where a text is cut so that its last line is whole, if that line began not long ago.
fn whole_lines(text: &str) -> usize {
    let line = text.rfind('\n').map_or(0, |at| at + 1);
    if line >= text.len() / 5 * 4 && line > 0 { line } else { text.len() }
}

/// Whether a character is not seen, or changes how others are seen. Lines and tabs are seen.
fn is_hidden(char: char) -> bool {
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
        // What turns text around.
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{206f}' => true,
        // Annotations, tags, and selectors of variants that no emoji has.
        '\u{fff9}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}' => true,
        other => other.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_sees_is_left_out_and_what_is_seen_stays() {
        assert_eq!(clean("ümläuts, 中文, 😀\u{fe0f}\n\ttoo"), "ümläuts, 中文, 😀\u{fe0f}\n\ttoo");
        assert_eq!(clean("a\u{202e}b\u{200b}c\u{1b}[31md\0e\u{ad}f\u{e0041}"), "abc[31mdef");
    }

    #[test]
    fn every_end_of_a_line_is_one_line_feed() {
        assert_eq!(clean("a\r\nb\rc\n\nd\u{2028}e\r\r\nf"), "a\nb\nc\n\nd\ne\n\nf");
    }

    #[test]
    fn a_line_is_one_and_bounded() {
        assert_eq!(on_one_line("  a\n\tb\u{200b}  c ", 10), "a b c");
        assert_eq!(on_one_line("ääää", 3), "äää…");
    }

    #[test]
    fn parts_put_together_are_the_whole() {
        let line = "Zeile mit \"Anführung\" und Umläuten.\n";
        let text = line.repeat(40) + &"中".repeat(900) + &line.repeat(3);
        for most in [1, 7, 100, 333, 24_000] {
            let (mut whole, mut start) = (String::new(), Some(0));
            while let Some(from) = start {
                let part = part(&text, from, most).unwrap();
                assert!(!part.text.is_empty() && part.text.chars().count() <= most);
                assert_eq!(part.total, text.chars().count());
                whole.push_str(part.text);
                start = part.next;
            }
            assert_eq!(whole, text, "{most}");
        }
    }

    #[test]
    fn a_part_ends_with_its_line_where_that_costs_little() {
        let text = "0123456789\n".repeat(10);
        assert_eq!(part(&text, 0, 105).unwrap().next, Some(99));
        assert_eq!(part(&"x".repeat(50), 0, 40).unwrap().next, Some(40));
    }

    #[test]
    fn a_part_fits_into_a_reply_whatever_it_is_made_of() {
        for text in ["中".repeat(24_000), "\"\n".repeat(24_000), "😀".repeat(24_000)] {
            let part = part(&text, 0, 24_000).unwrap();
            assert!(serde_json::to_string(part.text).unwrap().len() <= PART_BYTES + 2);
            assert!(part.next.is_some());
        }
    }

    #[test]
    fn beyond_the_end_there_is_no_part_and_nothing_has_one() {
        assert_eq!(part("abc", 3, 10), None);
        assert_eq!(part("", 0, 10), Some(Part { text: "", total: 0, next: None }));
        assert_eq!(part("", 1, 10), None);
    }
}
