//! How data looks to a person: JSON in lines, tables, times.

use std::time::{Duration, UNIX_EPOCH};

use comfy_table::Table;
use comfy_table::presets::NOTHING;

use super::clean::{clean, clean_json};
use crate::model::clock::Timestamp;

/// JSON in indented lines. Numbers and texts keep every character: nothing is read and written again.
pub(super) fn pretty(json: &str) -> String {
    let mut text = String::with_capacity(json.len() * 2);
    let mut letters = letters(json).peekable();
    let mut depth = 0usize;
    let line = |depth: usize| format!("\n{}", "  ".repeat(depth));
    while let Some((letter, in_text)) = letters.next() {
        match letter {
            _ if in_text => text.push(letter),
            '{' | '[' if matches!(letters.peek(), Some(('}' | ']', false))) => text.push(letter),
            '{' | '[' => {
                depth += 1;
                text.push(letter);
                text.push_str(&line(depth));
            }
            '}' | ']' if text.ends_with(['{', '[']) => text.push(letter),
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                text.push_str(&line(depth));
                text.push(letter);
            }
            ',' => {
                text.push(',');
                text.push_str(&line(depth));
            }
            ':' => text.push_str(": "),
            _ => text.push(letter),
        }
    }
    clean_json(&text)
}

/// The letters of JSON, each with whether it stands in a text; spaces between tokens are left out.
fn letters(json: &str) -> impl Iterator<Item = (char, bool)> {
    let (mut in_text, mut escaped) = (false, false);
    json.chars().filter_map(move |letter| {
        let inside = in_text;
        match letter {
            _ if escaped => escaped = false,
            '\\' if in_text => escaped = true,
            '"' => in_text = !in_text,
            _ => {}
        }
        (inside || !letter.is_ascii_whitespace()).then_some((letter, inside))
    })
}

/// A table without lines; each cell is made safe.
pub(super) fn table<const COLUMNS: usize>(header: [&str; COLUMNS], rows: Vec<[String; COLUMNS]>) -> String {
    let mut table = Table::new();
    table.load_style(NOTHING).set_header(header);
    table.add_rows(rows.iter().map(|row| row.each_ref().map(|cell| clean(cell))));
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table.trim_fmt()
}

/// A moment, in UTC: `2026-01-31T08:00:00.000Z`.
pub(super) fn moment(at: Timestamp) -> String {
    let since = Duration::from_millis(u64::try_from(at.0).unwrap_or(0));
    match UNIX_EPOCH.checked_add(since) {
        Some(at) if since < LAST => humantime::format_rfc3339_millis(at).to_string(),
        Some(_) | None => format!("{} ms", at.0),
    }
}

/// The end of the year 9999, beyond which dates have no usual form.
const LAST: Duration = Duration::from_secs(253_402_300_800);

/// A span of time in its largest unit: `5s`, `3m`, `2h`, `4d`.
pub(super) fn age(span: Duration) -> String {
    match span.as_secs() {
        seconds @ 0..60 => format!("{seconds}s"),
        seconds @ 60..3600 => format!("{}m", seconds / 60),
        seconds @ 3600..86_400 => format!("{}h", seconds / 3600),
        seconds => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use insta::assert_snapshot;
    use proptest::prelude::*;

    #[test]
    fn json_stands_in_lines_and_its_numbers_keep_their_digits() {
        let json = r#"{"id":12345678901234567890.10,"empty":{},"none": [ ],"a":[1,{"b":"x, {y}: \"z\""}]}"#;
        assert_snapshot!(pretty(json), @r#"
        {
          "id": 12345678901234567890.10,
          "empty": {},
          "none": [],
          "a": [
            1,
            {
              "b": "x, {y}: \"z\""
            }
          ]
        }
        "#);
    }

    proptest! {
        #[test]
        fn lines_change_no_meaning(names in prop::collection::vec(any::<(String, i64, Option<bool>)>(), 0..5)) {
            let value = serde_json::json!({ "names": names, "deep": [[], {}, [{ "x": names }]] });
            let read: serde_json::Value = serde_json::from_str(&pretty(&value.to_string())).unwrap();
            prop_assert_eq!(read, value);
        }
    }

    #[test]
    fn a_table_shows_cells_as_they_are() {
        let rows =
            vec![["a".to_owned(), "\u{1b}[31mred".to_owned()], ["long name".to_owned(), "x".to_owned()]];
        assert_snapshot!(table(["NAME", "TITLE"], rows), @r"
        NAME       TITLE
        a          \u{1b}[31mred
        long name  x
        ");
    }

    #[test]
    fn times_are_read_at_a_glance() {
        assert_eq!(moment(Timestamp(1_700_000_000_123)), "2023-11-14T22:13:20.123Z");
        assert_eq!(moment(Timestamp(i64::MAX)), "9223372036854775807 ms");
        let ages = [0, 59, 60, 3599, 3600, 86_399, 86_400].map(|seconds| age(Duration::from_secs(seconds)));
        assert_eq!(ages, ["0s", "59s", "1m", "59m", "1h", "23h", "1d"]);
    }
}
