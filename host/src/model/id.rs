//! Ids and names as types, so that none is taken for another.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use ulid::Ulid;

use super::clock::Timestamp;

/// A run; a lone call's id is its run's. Ordered by the time it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(Ulid);

impl RunId {
    /// Makes an id from the time and ten random bytes.
    pub fn new(at: Timestamp, random: [u8; 10]) -> Self {
        let mut wide = [0u8; 16];
        wide[6..].copy_from_slice(&random);
        Self(Ulid::from_parts(u64::try_from(at.0).unwrap_or(0), u128::from_be_bytes(wide)))
    }

    /// The first and the last id that begin with this text, in letters of either case; none where no id can.
    pub fn beginning(text: &str) -> Option<(Self, Self)> {
        const LENGTH: usize = 26;
        let text = text.to_ascii_uppercase();
        if text.is_empty() || text.len() > LENGTH || !text.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return None;
        }
        let fill = |with: char| {
            let filled: String = text.chars().chain(std::iter::repeat(with)).take(LENGTH).collect();
            filled.parse::<Self>().ok()
        };
        Some((fill('0')?, fill('Z')?))
    }

    /// The sixteen bytes that are stored.
    pub fn bytes(&self) -> [u8; 16] {
        self.0.to_bytes()
    }

    /// The id that was stored as these bytes.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(Ulid::from_bytes(bytes))
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for RunId {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        Ulid::from_string(text).map(Self).map_err(|_| NotAnId)
    }
}

impl Serialize for RunId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The text is no id of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAnId;

impl fmt::Display for NotAnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a run's id has 26 letters and digits, such as 01JD8XK3V5R8Y2W6T9Q4M7N1BC")
    }
}

/// A process that runs calls; its lock in the state folder bears this name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ProcessId(pub [u8; 16]);

impl fmt::Display for ProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(f, &self.0)
    }
}

/// A SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// The digest of one text or file.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The digest of several parts, each preceded by its length, so that no two lists share one.
    pub fn of_parts(parts: &[&[u8]]) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
            hash.update(part);
        }
        Self(hash.finalize().into())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(f, &self.0)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(f, &self.0)
    }
}

fn write_hex(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
}

/// A plugin's or a tool's own name: `[a-z][a-z0-9_]*`, without `__`, at most 64 characters.
pub fn is_name(text: &str) -> bool {
    text.len() <= 64
        && text.starts_with(|first: char| first.is_ascii_lowercase())
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
        && !text.contains("__")
}

/// A tool as callers name it: `desk.create_ticket`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ToolName {
    /// The plugin's name.
    pub plugin: String,
    /// The tool's name inside its plugin.
    pub tool: String,
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.plugin, self.tool)
    }
}

impl FromStr for ToolName {
    type Err = NotATool;

    fn from_str(text: &str) -> Result<Self, NotATool> {
        match text.split_once('.') {
            Some((plugin, tool)) if is_name(plugin) && is_name(tool) => {
                Ok(Self { plugin: plugin.to_owned(), tool: tool.to_owned() })
            }
            Some(_) | None => Err(NotATool),
        }
    }
}

impl Serialize for ToolName {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The text names no tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotATool;

impl fmt::Display for NotATool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a tool is named plugin.tool, such as desk.create_ticket")
    }
}

/// Who asks for a call.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallerName(pub String);

impl fmt::Display for CallerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Joins the log lines and records of one conversation; 32 hexadecimal digits, as in W3C Trace Context.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct TraceId(pub String);

impl TraceId {
    /// A trace from sixteen random bytes.
    pub fn new(random: [u8; 16]) -> Self {
        Self(ProcessId(random).to_string())
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_id_reads_back_from_its_text_and_its_bytes() {
        let id = RunId::new(Timestamp(1_700_000_000_000), [7; 10]);
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_eq!(RunId::from_bytes(id.bytes()), id);
        assert_eq!("desk".parse::<RunId>(), Err(NotAnId));
    }

    #[test]
    fn the_beginning_of_an_id_names_a_range_that_holds_it() {
        let id = RunId::new(Timestamp(1_700_000_000_000), [7; 10]);
        let (first, last) = RunId::beginning(&id.to_string()[..12].to_lowercase()).unwrap();
        assert!(first <= id && id <= last);
        assert_eq!(RunId::beginning(&id.to_string()), Some((id, id)));
        for bad in ["", "desk.x", "Ü", &"0".repeat(27)] {
            assert_eq!(RunId::beginning(bad), None, "{bad}");
        }
    }

    #[test]
    fn later_ids_sort_after_earlier_ones() {
        assert!(RunId::new(Timestamp(1), [255; 10]) < RunId::new(Timestamp(2), [0; 10]));
    }

    #[test]
    fn tool_names_are_two_names_and_a_dot() {
        assert!("desk.create_ticket".parse::<ToolName>().is_ok());
        for bad in ["desk", "desk.", ".x", "Desk.x", "desk.a__b", "desk.a.b", "1desk.x", "desk.ä"] {
            assert!(bad.parse::<ToolName>().is_err(), "{bad}");
        }
    }

    #[test]
    fn parts_are_hashed_with_their_borders() {
        assert_ne!(Digest::of_parts(&[b"ab", b"c"]), Digest::of_parts(&[b"a", b"bc"]));
    }
}
