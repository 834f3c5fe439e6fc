//! What a pattern finds in a text, shown as `grep -n` does.

use std::collections::VecDeque;

use airlock_sdk::ToolError;
use regex::{Regex, RegexBuilder};

use crate::width;

/// Memory that an expression may take: one that repeats without end would take all.
const EXPRESSION: usize = 1 << 20;

/// How deep groups of an expression may lie within each other: a plugin's stack is small.
const NESTED: u32 = 32;

/// Characters that are shown of a line, and of those how many before what was found.
const SHOWN: usize = 300;
const SHOWN_BEFORE: usize = 100;

/// Makes the pattern of a search; `literal` takes a query as it stands.
pub(crate) fn pattern(query: &str, literal: bool, ignore_case: bool) -> Result<Regex, ToolError> {
    let invalid = |text: String| Err(ToolError::invalid_input("INVALID_PATTERN", text));
    if query.contains('\n') {
        return invalid("lines are searched one by one: look for a part that stands in one line".to_owned());
    }
    let source = if literal { regex::escape(query) } else { query.to_owned() };
    let built = RegexBuilder::new(&source)
        .case_insensitive(ignore_case)
        .size_limit(EXPRESSION)
        .dfa_size_limit(EXPRESSION)
        .nest_limit(if literal { u32::MAX } else { NESTED })
        .build();
    match built {
        Ok(regex) => Ok(regex),
        Err(regex::Error::CompiledTooBig(_)) => invalid("the expression repeats too much".to_owned()),
        Err(error) => {
            let why = error.to_string();
            let last = why.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            invalid(format!(
                "that is no regular expression: {last}; without `regex` the query is taken as it stands"
            ))
        }
    }
}

/// What is asked of one text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    /// Lines before this one, from 1, are not searched.
    pub(crate) from: usize,
    /// Lines that are shown before and after each.
    pub(crate) context: usize,
    /// Lines that match, at most.
    pub(crate) most: usize,
    pub(crate) room: usize,
}

/// What was found in one text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Hits {
    /// `12:` before a line that matches, `13-` before one beside it, `--` where lines are left out.
    pub(crate) text: String,
    /// Lines that match.
    pub(crate) count: usize,
    /// The line that matches and no longer had room.
    pub(crate) next: Option<usize>,
}

/// Searches a text line by line.
pub(crate) fn find(text: &str, regex: &Regex, wanted: Wanted) -> Hits {
    let (mut hits, mut before, mut shown, mut after) = (Hits::default(), VecDeque::new(), 0, 0);
    for (at, line) in text.lines().enumerate() {
        let number = at + 1;
        let found = if number < wanted.from { None } else { regex.find(line) };
        if let Some(found) = found {
            let mut piece = String::new();
            let first = number - before.len();
            if wanted.context > 0 && shown > 0 && first > shown + 1 {
                piece.push_str("--\n");
            }
            for (at, line) in before.drain(..).enumerate() {
                piece.push_str(&row(first + at, '-', line, 0));
            }
            piece.push_str(&row(number, ':', line, found.start()));
            // One line always fits, or a page could be empty for ever.
            let fits = width::of(&hits.text) + width::of(&piece) <= wanted.room || hits.count == 0;
            if hits.count == wanted.most || !fits {
                hits.next = Some(number);
                return hits;
            }
            hits.text.push_str(&piece);
            hits.count += 1;
            (shown, after) = (number, wanted.context);
        } else if after > 0 {
            hits.text.push_str(&row(number, '-', line, 0));
            (shown, after) = (number, after - 1);
        } else if wanted.context > 0 {
            if before.len() == wanted.context {
                before.pop_front();
            }
            before.push_back(line);
        }
    }
    hits
}

/// One line, cut around what was found in it.
fn row(number: usize, mark: char, line: &str, found: usize) -> String {
    let found = line[..found].chars().count();
    let from = if found + SHOWN / 2 > SHOWN { found.saturating_sub(SHOWN_BEFORE) } else { 0 };
    let shown: String = line.chars().skip(from).take(SHOWN).collect();
    let more = line.chars().skip(from).nth(SHOWN).is_some();
    let (left, right) = (if from > 0 { "…" } else { "" }, if more { "…" } else { "" });
    format!("{number}{mark}{left}{shown}{right}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n";

    fn wanted(context: usize, most: usize) -> Wanted {
        Wanted { from: 1, context, most, room: 10_000 }
    }

    fn found(query: &str, wanted: Wanted) -> Hits {
        find(TEXT, &pattern(query, false, false).unwrap(), wanted)
    }

    #[test]
    fn lines_are_shown_with_those_beside_them_and_none_twice() {
        let hits = found("^(three|four|nine)$", wanted(1, 9));
        assert_eq!(hits.text, "2-two\n3:three\n4:four\n5-five\n--\n8-eight\n9:nine\n10-ten\n");
        assert_eq!((hits.count, hits.next), (3, None));
        assert_eq!(found("o", wanted(0, 9)).text, "1:one\n2:two\n4:four\n");
        assert_eq!(found("absent", wanted(2, 9)), Hits::default());
    }

    #[test]
    fn what_has_no_room_is_where_the_next_search_begins() {
        let first = found("e", wanted(0, 2));
        assert_eq!((first.text.as_str(), first.next), ("1:one\n3:three\n", Some(5)));
        let next = found("e", Wanted { from: 5, ..wanted(0, 2) });
        assert_eq!((next.text.as_str(), next.next), ("5:five\n7:seven\n", Some(8)));
        let narrow = found("e", Wanted { room: 3, ..wanted(0, 9) });
        assert_eq!((narrow.count, narrow.next), (1, Some(3)), "one always fits");
    }

    #[test]
    fn a_query_is_taken_as_it_stands_or_as_an_expression() {
        assert!(pattern("a.c(", true, false).unwrap().is_match("xa.c(y"));
        assert!(!pattern("a.c", true, false).unwrap().is_match("abc"));
        assert!(pattern("straße", true, true).unwrap().is_match("STRAßE"));
        assert!(pattern(r"\bfn\s+\w+", false, false).unwrap().is_match("pub fn main()"));
    }

    #[test]
    fn an_expression_that_is_none_or_too_large_is_told() {
        let fault = |query: &str| pattern(query, false, false).unwrap_err();
        for query in ["(", "a{1000}{1000}", "one\ntwo", &"(".repeat(100), r"(a)\1"] {
            assert_eq!(fault(query).code(), "INVALID_PATTERN", "{query}");
        }
        assert!(fault("(").message().contains("unclosed group"), "{}", fault("(").message());
    }

    #[test]
    fn a_long_line_is_cut_around_what_was_found() {
        let line = format!("{}needle{}", "a".repeat(1000), "é".repeat(1000));
        let hits = find(&line, &pattern("needle", true, false).unwrap(), wanted(0, 1));
        assert!(hits.text.starts_with("1:…aaa") && hits.text.ends_with("é…\n"), "{}", hits.text);
        assert!(hits.text.contains("needle") && hits.text.chars().count() < SHOWN + 10);
        let short = find("needle at the start", &pattern("needle", true, false).unwrap(), wanted(0, 1));
        assert_eq!(short.text, "1:needle at the start\n");
    }

    #[test]
    fn an_expression_that_cannot_be_one_is_told_with_the_reason() {
        let told = ["a\nb", "(a{1000}){1000}", "a("].map(|query| {
            pattern(query, false, false).unwrap_err().message().lines().next().unwrap_or_default().to_owned()
        });
        insta::assert_snapshot!(told.join("\n"), @"
        lines are searched one by one: look for a part that stands in one line
        the expression repeats too much
        that is no regular expression: unclosed group; without `regex` the query is taken as it stands
        ");
    }
}
