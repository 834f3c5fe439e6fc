//! One page of a text, in numbered lines.

use crate::width;

/// One page of a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Page {
    /// Each line behind its number and a tab.
    pub(crate) text: String,
    /// Numbers of the first and the last line of it, from 1; none where there is no line.
    pub(crate) lines: Option<(usize, usize)>,
    /// Lines of the whole text.
    pub(crate) total: usize,
    /// Line and character of it, both from 1, at which the next page begins.
    pub(crate) next: Option<(usize, usize)>,
}

/// Where a page begins and what it may hold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    /// From 1; below 0 from the end.
    pub(crate) line: i64,
    /// A character of that line, from 1.
    pub(crate) column: usize,
    pub(crate) most: usize,
    pub(crate) room: usize,
}

/// One page of a text; where it would begin beyond the end, how many lines there are.
pub(crate) fn page(text: &str, wanted: Wanted) -> Result<Page, usize> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let total = text.lines().count();
    let first = match usize::try_from(wanted.line) {
        Ok(line) => line.max(1),
        Err(_) => total.saturating_sub(usize::try_from(wanted.line.unsigned_abs()).unwrap_or(usize::MAX)) + 1,
    };
    if first > total.max(1) {
        return Err(total);
    }
    let mut page = Page { text: String::new(), lines: None, total, next: None };
    let mut room = wanted.room;
    for (at, line) in text.lines().enumerate().skip(first - 1) {
        let number = at + 1;
        if number - first >= wanted.most {
            page.next = Some((number, 1));
            break;
        }
        let column = if number == first { wanted.column.max(1) } else { 1 };
        let from = line.char_indices().nth(column - 1).map_or(line.len(), |(at, _)| at);
        let (label, rest) = (format!("{number}\t"), &line[from..]);
        // The number, the line, and the break before the next.
        let needed = width::of(&label) + width::of(rest) + 2;
        if needed > room && page.lines.is_some() {
            page.next = Some((number, 1));
            break;
        }
        let (part, count) = width::cut(rest, room.saturating_sub(width::of(&label) + 2));
        page.text.push_str(&label);
        page.text.push_str(part);
        page.text.push('\n');
        page.lines = Some((first, number));
        if part.len() < rest.len() {
            page.next = Some((number, column + count));
            break;
        }
        room = room.saturating_sub(needed);
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn wanted(line: i64, most: usize) -> Wanted {
        Wanted { line, column: 1, most, room: 1000 }
    }

    #[test]
    fn lines_have_numbers_and_what_is_left_is_told() {
        let found = page("one\r\ntwo\nthree\n", wanted(2, 1)).unwrap();
        assert_eq!(
            found,
            Page { text: "2\ttwo\n".to_owned(), lines: Some((2, 2)), total: 3, next: Some((3, 1)) }
        );
        let last = page("one\r\ntwo\nthree", wanted(3, 10)).unwrap();
        assert_eq!((last.text.as_str(), last.next), ("3\tthree\n", None));
    }

    #[test]
    fn a_page_may_begin_from_the_end() {
        assert_eq!(page("a\nb\nc\n", wanted(-2, 10)).unwrap().text, "2\tb\n3\tc\n");
        assert_eq!(page("a\nb\n", wanted(-9, 10)).unwrap().text, "1\ta\n2\tb\n");
        assert_eq!(page("a\nb\n", wanted(0, 1)).unwrap().text, "1\ta\n");
    }

    #[test]
    fn no_page_begins_beyond_the_end() {
        assert_eq!(page("a\nb\n", wanted(3, 1)), Err(2));
        assert_eq!(
            page("", wanted(1, 1)).unwrap(),
            Page { text: String::new(), lines: None, total: 0, next: None }
        );
        assert_eq!(page("", wanted(2, 1)), Err(0));
    }

    #[test]
    fn a_line_longer_than_a_page_goes_on_in_the_next() {
        let text = format!("short\n{}\nlast", "ab".repeat(40));
        let first = page(&text, Wanted { room: 50, ..wanted(1, 10) }).unwrap();
        assert_eq!((first.text.as_str(), first.next), ("1\tshort\n", Some((2, 1))));
        let (mut from, mut read) = ((2, 1), String::new());
        loop {
            let (line, column) = from;
            let part = page(&text, Wanted { line, column, room: 50, most: 10 }).unwrap();
            let shown = part.text.strip_prefix("2\t").unwrap();
            read.push_str(shown.lines().next().unwrap());
            match part.next {
                Some((2, column)) => from = (2, column),
                Some(_) | None => break,
            }
        }
        assert_eq!(read, "ab".repeat(40));
    }

    proptest! {
        #[test]
        fn pages_in_a_row_hold_every_line_once(lines in prop::collection::vec("[a-zé\"]{0,30}", 1..30), most in 1usize..9, room in 20usize..200) {
            let text = lines.join("\n") + "\n";
            let (mut from, mut shown) = (Some((1, 1)), vec![String::new(); lines.len()]);
            while let Some((line, column)) = from {
                let page = page(&text, Wanted { line: line as i64, column, most, room }).unwrap();
                for row in page.text.lines() {
                    let (number, rest) = row.split_once('\t').unwrap();
                    shown[number.parse::<usize>().unwrap() - 1].push_str(rest);
                }
                prop_assert!(width::of(&page.text) <= room);
                from = page.next;
            }
            prop_assert_eq!(shown, lines);
        }
    }
}
