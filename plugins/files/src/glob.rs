//! Patterns of names, as shells know them.

use airlock_sdk::ToolError;
use regex::Regex;

use crate::place::Place;

/// A pattern of names: `*.rs` anywhere, `src/**/*.rs` from the workspace on.
#[derive(Debug)]
pub(crate) struct Glob {
    regex: Regex,
    /// Whether it is the last name alone that must fit.
    name_alone: bool,
}

impl Glob {
    /// Reads a pattern: `*` and `?` within a name, `**` across folders, `{a,b}` for one of several.
    pub(crate) fn read(pattern: &str) -> Result<Self, ToolError> {
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
        let invalid = |text: &str| ToolError::invalid_input("INVALID_PATTERN", format!("{text}: {pattern}"));
        let source =
            translated(pattern).ok_or_else(|| invalid("a `{` is not closed, or stands within another"))?;
        let regex = Regex::new(&source).map_err(|_| invalid("the pattern is too long"))?;
        Ok(Self { regex, name_alone: !pattern.contains('/') })
    }

    pub(crate) fn fits(&self, place: &Place) -> bool {
        self.regex.is_match(if self.name_alone { place.name() } else { place.text() })
    }
}

/// Reads several; a fault in one is a fault.
pub(crate) fn read_all(patterns: &[String]) -> Result<Vec<Glob>, ToolError> {
    patterns.iter().map(|pattern| Glob::read(pattern)).collect()
}

/// The pattern as a regular expression; none where its braces do not match.
fn translated(pattern: &str) -> Option<String> {
    let (mut regex, mut rest, mut within) = ("(?s)^".to_owned(), pattern, false);
    while let Some(one) = rest.chars().next() {
        let (taken, piece) = match one {
            '*' if rest.starts_with("**/") => (3, "(?:[^/]+/)*".to_owned()),
            '*' if rest.starts_with("**") => (2, ".*".to_owned()),
            '*' => (1, "[^/]*".to_owned()),
            '?' => (1, "[^/]".to_owned()),
            '{' if within => return None,
            '{' => (1, "(?:".to_owned()),
            ',' if within => (1, "|".to_owned()),
            '}' if within => (1, ")".to_owned()),
            other => (other.len_utf8(), regex::escape(other.encode_utf8(&mut [0; 4]))),
        };
        within = (within || one == '{') && one != '}';
        regex.push_str(&piece);
        rest = &rest[taken..];
    }
    (!within).then(|| regex + "$")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(pattern: &str, path: &str) -> bool {
        Glob::read(pattern).unwrap().fits(&Place::read(path).unwrap())
    }

    #[test]
    fn a_pattern_without_a_folder_fits_names_anywhere() {
        assert!(fits("*.rs", "main.rs") && fits("*.rs", "src/deep/main.rs"));
        assert!(!fits("*.rs", "main.rs.bak") && !fits("*.rs", "rs"));
        assert!(fits("?.md", "a.md") && !fits("?.md", "ab.md"));
        assert!(fits("*.{ts,tsx}", "app/x.tsx") && !fits("*.{ts,tsx}", "x.js"));
        assert!(fits("a+(b).txt", "a+(b).txt") && !fits("a.c", "abc"));
    }

    #[test]
    fn a_pattern_with_a_folder_fits_whole_paths() {
        assert!(fits("src/*.rs", "src/main.rs") && !fits("src/*.rs", "src/deep/main.rs"));
        assert!(fits("src/**/*.rs", "src/main.rs") && fits("src/**/*.rs", "src/a/b/main.rs"));
        assert!(fits("**/tests/**", "a/tests/b/c") && fits("**/tests/**", "tests/c"));
        assert!(!fits("**/tests/*.rs", "a/mytests/x.rs"));
    }

    #[test]
    fn braces_that_do_not_match_are_a_fault() {
        for pattern in ["*.{ts", "{a,{b}}"] {
            assert_eq!(Glob::read(pattern).unwrap_err().code(), "INVALID_PATTERN", "{pattern}");
        }
        assert!(fits("a}b,c", "a}b,c"));
    }

    #[test]
    fn a_pattern_that_cannot_be_one_is_told() {
        let message = |pattern: &str| Glob::read(pattern).err().unwrap().message().to_owned();
        assert_eq!(message("{a"), "a `{` is not closed, or stands within another: {a");
        assert!(message(&"é*".repeat(200_000)).starts_with("the pattern is too long: "));
    }
}
