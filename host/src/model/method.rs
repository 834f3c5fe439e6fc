//! Methods of HTTP: what may be declared, granted and sent.

use std::fmt;

/// The longest that there is has 17 letters.
const LONGEST: usize = 20;

/// Methods that make the other side do something else than answer a request.
const NEVER: &[&str] = &["CONNECT", "TRACE", "TRACK"];

/// Methods that change nothing, whatever is declared.
const READING: &[&str] = &["GET", "HEAD"];

/// Why a text is no method that is ever sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotAMethod {
    /// It is no word in capitals.
    NoWord,
    /// It opens a tunnel, or gives back what was sent.
    Never,
}

impl fmt::Display for NotAMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoWord => "a method is written in capitals, such as GET",
            Self::Never => "CONNECT, TRACE and TRACK are never sent",
        })
    }
}

/// Reads a method: a word in capitals, a hyphen within, that asks for a resource.
///
/// # Errors
/// Where it is none, or one that is never sent.
pub fn read(text: &str) -> Result<&str, NotAMethod> {
    let word = (1..=LONGEST).contains(&text.len())
        && text.starts_with(|first: char| first.is_ascii_uppercase())
        && text.ends_with(|last: char| last.is_ascii_uppercase())
        && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'-');
    if !word {
        Err(NotAMethod::NoWord)
    } else if NEVER.contains(&text) {
        Err(NotAMethod::Never)
    } else {
        Ok(text)
    }
}

/// Whether a method only reads, whatever is declared of it.
pub fn reads(method: &str) -> bool {
    READING.contains(&method)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_is_a_word_in_capitals_that_asks_for_a_resource() {
        for good in ["GET", "DELETE", "VERSION-CONTROL"] {
            assert_eq!(read(good), Ok(good));
        }
        for bad in ["", "get", "Get", "GET ", "G\nET", "-GET", "GET-", "GÉT", "M1", &"A".repeat(21)] {
            assert_eq!(read(bad), Err(NotAMethod::NoWord), "{bad}");
        }
        for never in NEVER {
            assert_eq!(read(never), Err(NotAMethod::Never));
        }
    }
}
