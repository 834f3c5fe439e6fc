//! What differs between two texts, line by line, as `diff -u` shows it.

use similar::TextDiff;

use crate::kind::{self, Kind};

/// The most of both texts that is compared: what a comparison takes of memory goes with it.
const MOST: usize = 2 << 20;

/// Lines, of both texts together, between the first that differs and the last: at worst, a comparison takes time by their
/// square.
const MOST_COMPARED: usize = 8000;

/// Lines that are shown, and characters of each: a person reads them before saying yes.
const MOST_LINES: usize = 300;
const MOST_CHARACTERS: usize = 300;

/// The difference between two contents of a file, a line each; where they are no texts, what becomes of them.
pub(crate) fn unified(path: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> Vec<String> {
    let sides = [old, new].map(|side| side.unwrap_or_default());
    let texts = sides.map(|side| match kind::of(side) {
        Kind::Text => std::str::from_utf8(side).ok(),
        Kind::Picture(_) | Kind::Other(_) => None,
    });
    let size =
        |side: Option<&[u8]>| side.map_or("nothing".to_owned(), |side| format!("{} bytes", side.len()));
    let ([Some(one), Some(other)], true) =
        (texts, sides.iter().map(|side| side.len()).sum::<usize>() <= MOST)
    else {
        return vec![format!("{path}: {} instead of {}", size(new), size(old))];
    };
    let name = |side: Option<&[u8]>| if side.is_some() { path } else { "/dev/null" };
    let (first, olds, news) = differing(one, other);
    if olds + news > MOST_COMPARED {
        return vec![format!(
            "{path}: from line {first} on, {news} lines instead of {olds}, too many to be compared"
        )];
    }
    let diff = TextDiff::from_lines(one, other);
    let shown = diff.unified_diff().context_radius(3).header(name(old), name(new)).to_string();
    let count = shown.lines().count();
    let mut lines: Vec<String> = shown.lines().take(MOST_LINES).map(shortened).collect();
    if count > MOST_LINES {
        lines.push(format!("… {} more lines", count - MOST_LINES));
    }
    lines
}

/// The first line that differs, and how many there are of either text up to the last that does.
fn differing(one: &str, other: &str) -> (usize, usize, usize) {
    let (olds, news) = (one.lines().count(), other.lines().count());
    let begin = one.lines().zip(other.lines()).take_while(|(old, new)| old == new).count();
    let end = one.lines().rev().zip(other.lines().rev()).take_while(|(old, new)| old == new).count();
    let end = end.min(olds.min(news) - begin);
    (begin + 1, olds - begin - end, news - begin - end)
}

fn shortened(line: &str) -> String {
    match line.char_indices().nth(MOST_CHARACTERS) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(old: Option<&str>, new: Option<&str>) -> String {
        unified("a.txt", old.map(str::as_bytes), new.map(str::as_bytes)).join("\n")
    }

    #[test]
    fn a_change_is_shown_with_the_lines_beside_it() {
        insta::assert_snapshot!(shown(Some("1\n2\n3\n4\n5\n6\n7\n8\n"), Some("1\n2\n3\n4\nfive\n6\n7\n8")), @"
        --- a.txt
        +++ a.txt
        @@ -2,7 +2,7 @@
         2
         3
         4
        -5
        +five
         6
         7
        -8
        +8
        \\ No newline at end of file
        ");
    }

    #[test]
    fn what_comes_and_goes_is_shown_as_such() {
        assert_eq!(shown(None, Some("a\n")), "--- /dev/null\n+++ a.txt\n@@ -0,0 +1 @@\n+a");
        assert_eq!(shown(Some("a\n"), None), "--- a.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-a");
        assert_eq!(shown(Some("a\n"), Some("a\n")), "");
    }

    #[test]
    fn what_is_no_text_or_too_long_is_told_by_its_size() {
        assert_eq!(unified("a.bin", Some(b"a\0"), Some(b"text")), ["a.bin: 4 bytes instead of 2 bytes"]);
        let long = "x\n".repeat(MOST);
        assert_eq!(unified("a", None, Some(long.as_bytes())).len(), 1);
    }

    #[test]
    fn what_would_take_too_long_to_compare_is_told_by_its_lines() {
        let text = |word: &str| -> String { (0..5000).map(|number| format!("{number} {word}\n")).collect() };
        let (old, new) = (format!("same\n{}end\n", text("a")), format!("same\n{}end\n", text("b")));
        assert_eq!(
            shown(Some(&old), Some(&new)),
            "a.txt: from line 2 on, 5000 lines instead of 5000, too many to be compared"
        );
        let one = old.replacen("7 a", "7 b", 1);
        assert!(
            shown(Some(&old), Some(&one)).contains("-7 a\n+7 b"),
            "a long text that differs in one place is compared"
        );
        assert_eq!(differing("a\na\n", "a\n"), (2, 1, 0));
        assert_eq!(differing("", "a\n"), (1, 0, 1));
    }

    #[test]
    fn a_long_difference_is_cut() {
        let old: String = (0..1000).map(|number| format!("{number}\n")).collect();
        let new = "y".repeat(1000);
        let lines = unified("a", Some(old.as_bytes()), Some(new.as_bytes()));
        assert_eq!(lines.len(), MOST_LINES + 1);
        assert!(lines.iter().all(|line| line.chars().count() <= MOST_CHARACTERS + 1));
        assert!(lines.last().unwrap().ends_with("more lines"));
    }
}
