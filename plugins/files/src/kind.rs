//! What a file's content is.

/// What a file's content is, as far as it decides what can be done with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// UTF-8 without NUL.
    Text,
    /// What models can look at, by its media type.
    Picture(&'static str),
    /// Anything else, by its media type.
    Other(&'static str),
}

/// By which bytes a file begins, and from where on.
const BEGINNINGS: &[(usize, &[u8], Kind)] = &[
    (0, b"\x89PNG\r\n\x1a\n", Kind::Picture("image/png")),
    (0, b"\xff\xd8\xff", Kind::Picture("image/jpeg")),
    (0, b"GIF87a", Kind::Picture("image/gif")),
    (0, b"GIF89a", Kind::Picture("image/gif")),
    (8, b"WEBP", Kind::Picture("image/webp")),
    (0, b"%PDF-", Kind::Other("application/pdf")),
    (0, b"PK\x03\x04", Kind::Other("application/zip")),
    (0, b"\x1f\x8b", Kind::Other("application/gzip")),
    (0, b"\x28\xb5\x2f\xfd", Kind::Other("application/zstd")),
    (0, b"\xfd7zXZ\0", Kind::Other("application/x-xz")),
    (257, b"ustar", Kind::Other("application/x-tar")),
    (0, b"SQLite format 3\0", Kind::Other("application/vnd.sqlite3")),
    (0, b"\0asm", Kind::Other("application/wasm")),
    (0, b"\x7fELF", Kind::Other("application/x-elf")),
    (0, b"\xff\xfe", Kind::Other("text/plain; charset=utf-16le")),
    (0, b"\xfe\xff", Kind::Other("text/plain; charset=utf-16be")),
    (0, b"ID3", Kind::Other("audio/mpeg")),
    (0, b"OggS", Kind::Other("audio/ogg")),
    (8, b"WAVE", Kind::Other("audio/wav")),
    (4, b"ftyp", Kind::Other("video/mp4")),
];

/// Looks at a whole content.
pub(crate) fn of(bytes: &[u8]) -> Kind {
    let begins = |(at, mark, _): &&(usize, &[u8], Kind)| bytes.get(*at..at + mark.len()) == Some(*mark);
    let marked = BEGINNINGS.iter().find(begins).map(|(_, _, kind)| *kind);
    match marked {
        Some(picture @ Kind::Picture(_)) => picture,
        _ if !bytes.contains(&0) && std::str::from_utf8(bytes).is_ok() => match marked {
            // Such a file may be all letters, and is none to read.
            Some(pdf @ Kind::Other("application/pdf")) => pdf,
            Some(Kind::Text | Kind::Picture(_) | Kind::Other(_)) | None => Kind::Text,
        },
        Some(other) => other,
        None => Kind::Other("application/octet-stream"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_told_from_what_is_none() {
        assert_eq!(of(b""), Kind::Text);
        assert_eq!(of("naïve – 数\n".as_bytes()), Kind::Text);
        assert_eq!(of(b"ID3 is a word too"), Kind::Text);
        assert_eq!(of(b"a\0b"), Kind::Other("application/octet-stream"));
        assert_eq!(of(b"caf\xe9"), Kind::Other("application/octet-stream"));
        assert_eq!(of(b"\xff\xfea\0"), Kind::Other("text/plain; charset=utf-16le"));
        assert_eq!(of(b"%PDF-1.7 and letters"), Kind::Other("application/pdf"));
        assert_eq!(of(b"\x89PNG\r\n\x1a\n\0\0"), Kind::Picture("image/png"));
        assert_eq!(of(b"RIFF\x10\0\0\0WEBPVP8 "), Kind::Picture("image/webp"));
        assert_eq!(of(b"\x1f\x8b\x08\0"), Kind::Other("application/gzip"));
    }
}
