//! What goes beside JSON: pictures, sounds, files; with names that lead nowhere.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde::ser::SerializeStruct as _;

use super::id::Digest;
use super::unseen::is_unseen;

/// A name has at most so many bytes: what the usual file systems take, with room for an ending.
const LONGEST_NAME: usize = 200;

/// Media types are short.
const LONGEST_TYPE: usize = 128;

/// The media type of bytes of which nothing is known.
pub const ANY_BYTES: &str = "application/octet-stream";

/// Attachments of one call.
pub const MOST: usize = 100;

/// A picture, a sound, a file.
#[derive(Clone, PartialEq, Eq)]
pub struct Attachment {
    /// A plain name: no path, and nothing that is not seen.
    pub name: String,
    /// Its media type: `image/png`.
    pub media_type: String,
    /// What it is.
    pub bytes: Arc<[u8]>,
}

impl Attachment {
    /// An attachment under what is left of this name.
    pub fn new(name: &str, media_type: &str, bytes: impl Into<Arc<[u8]>>) -> Self {
        Self { name: plain(name), media_type: media_type.to_owned(), bytes: bytes.into() }
    }

    /// The SHA-256 of its bytes.
    pub fn digest(&self) -> Digest {
        Digest::of(&self.bytes)
    }

    /// How many bytes it has.
    pub fn size(&self) -> u64 {
        u64::try_from(self.bytes.len()).unwrap_or(u64::MAX)
    }
}

/// The bytes of all of them.
pub fn size(attachments: &[Attachment]) -> u64 {
    attachments.iter().map(Attachment::size).fold(0, u64::saturating_add)
}

/// Whether the text is a media type: `image/png`, with parameters or without.
pub fn is_media_type(text: &str) -> bool {
    let token = |part: &str| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte);
        !part.is_empty() && part.bytes().all(plain)
    };
    let (kind, parameters) = text.split_once(';').unwrap_or((text, ""));
    let named =
        kind.trim_end_matches(' ').split_once('/').is_some_and(|(kind, inner)| token(kind) && token(inner));
    named && text.len() <= LONGEST_TYPE && parameters.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// The name that is left of a text: the end of a path, without what is not seen, and none that is hidden or means a
/// folder.
fn plain(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let seen: String = last.chars().filter(|letter| !is_unseen(*letter)).collect();
    let mut plain = seen.trim().trim_start_matches('.').trim_end_matches('.').to_owned();
    if plain.len() > LONGEST_NAME {
        let end = (0..=LONGEST_NAME).rev().find(|end| plain.is_char_boundary(*end)).unwrap_or(0);
        plain.truncate(end);
    }
    if plain.is_empty() { "attachment".to_owned() } else { plain }
}

impl fmt::Debug for Attachment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Attachment({:?}, {}, {} bytes)", self.name, self.media_type, self.bytes.len())
    }
}

/// As it is listed: the bytes are asked for apart.
impl Serialize for Attachment {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut listed = serializer.serialize_struct("Attachment", 4)?;
        listed.serialize_field("name", &self.name)?;
        listed.serialize_field("media_type", &self.media_type)?;
        listed.serialize_field("bytes", &self.size())?;
        listed.serialize_field("sha256", &self.digest().to_string())?;
        listed.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_nowhere_and_shows_what_it_is() {
        for (given, left) in [
            ("../../etc/passwd", "passwd"),
            ("C:\\Users\\li\\plan.pdf", "plan.pdf"),
            ("/", "attachment"),
            ("..", "attachment"),
            (".bashrc", "bashrc"),
            ("a\u{0}b\u{1b}[2J\n.txt", "ab[2J.txt"),
            ("invoice\u{202e}fdp.exe", "invoicefdp.exe"),
            ("  Plan für Li.pdf ", "Plan für Li.pdf"),
        ] {
            assert_eq!(Attachment::new(given, "text/plain", []).name, left, "{given:?}");
        }
        assert_eq!(Attachment::new(&"ä".repeat(300), "text/plain", []).name, "ä".repeat(100));
    }

    #[test]
    fn media_types_are_told_from_other_texts() {
        for good in ["image/png", "application/vnd.api+json", "text/plain; charset=utf-8"] {
            assert!(is_media_type(good), "{good}");
        }
        for bad in ["", "png", "image/", "/png", "image/png\n", "a/b/c", "text/plain;\u{1b}", "te xt/plain"] {
            assert!(!is_media_type(bad), "{bad:?}");
        }
    }
}
