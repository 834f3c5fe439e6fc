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

    /// The moment that it was made at.
    pub fn at(&self) -> Timestamp {
        Timestamp(i64::try_from(self.0.timestamp_ms()).unwrap_or(i64::MAX))
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

impl ProcessId {
    /// Whose runs are that wait for whichever process drives calls in the background.
    pub const NOBODY: Self = Self([0; 16]);
}

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

impl FromStr for Digest {
    type Err = NotADigest;

    fn from_str(text: &str) -> Result<Self, NotADigest> {
        let mut bytes = [0; 32];
        if text.len() != 64 || !text.bytes().all(|letter| letter.is_ascii_hexdigit()) {
            return Err(NotADigest);
        }
        for (byte, letters) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            let letters = std::str::from_utf8(letters).map_err(|_| NotADigest)?;
            *byte = u8::from_str_radix(letters, 16).map_err(|_| NotADigest)?;
        }
        Ok(Self(bytes))
    }
}

impl Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// The text is no SHA-256.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotADigest;

impl fmt::Display for NotADigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a SHA-256 has 64 hexadecimal digits")
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

/// On whose behalf a caller asks: 1 to 255 visible ASCII characters, as whoever calls names its users.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct UserName(String);

impl UserName {
    /// The name's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for UserName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for UserName {
    type Err = NotAUser;

    fn from_str(text: &str) -> Result<Self, NotAUser> {
        let visible = text.bytes().all(|byte| byte.is_ascii_graphic());
        if visible && (1..=255).contains(&text.len()) { Ok(Self(text.to_owned())) } else { Err(NotAUser) }
    }
}

/// The text names no user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAUser;

impl fmt::Display for NotAUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a user is named by 1 to 255 visible ASCII characters without spaces, such as ada@example.com",
        )
    }
}

impl std::error::Error for NotAUser {}

/// A choice of tools that the operator gave a name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct SceneName(String);

impl fmt::Display for SceneName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for SceneName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl FromStr for SceneName {
    type Err = NotAScene;

    fn from_str(text: &str) -> Result<Self, NotAScene> {
        let plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
        if plain && (1..=64).contains(&text.len()) { Ok(Self(text.to_owned())) } else { Err(NotAScene) }
    }
}

/// The text names no scene.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAScene;

impl fmt::Display for NotAScene {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a scene's name is at most 64 letters, digits, - and _, such as refund")
    }
}

impl std::error::Error for NotAScene {}

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
    fn a_digest_reads_back_from_its_text() {
        let digest = Digest::of(b"desk");
        assert_eq!(digest.to_string().parse(), Ok(digest));
        for text in ["", "ab", &"g".repeat(64), &"0".repeat(65)] {
            let refused = text.parse::<Digest>().unwrap_err();
            assert_eq!(refused.to_string(), "a SHA-256 has 64 hexadecimal digits");
        }
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
    fn users_are_visible_ascii_and_scenes_are_words() {
        for good in ["ada", "ada@example.com", "42", "*", &"u".repeat(255)] {
            assert!(good.parse::<UserName>().is_ok(), "{good}");
        }
        for bad in ["", "ada lovelace", "ada\n", "ädä", "\u{202e}ada", &"u".repeat(256)] {
            assert_eq!(bad.parse::<UserName>(), Err(NotAUser), "{bad:?}");
        }
        assert!("refund-2".parse::<SceneName>().is_ok());
        for bad in ["", "a b", "a/b", "a.b", &"s".repeat(65)] {
            assert_eq!(bad.parse::<SceneName>(), Err(NotAScene), "{bad:?}");
        }
    }

    #[test]
    fn parts_are_hashed_with_their_borders() {
        assert_ne!(Digest::of_parts(&[b"ab", b"c"]), Digest::of_parts(&[b"a", b"bc"]));
    }
}
