//! From the bytes of an answer to text, in whatever encoding they are.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// How far into a page its own word on its encoding may stand.
const LOOKED_AT: usize = 1024;

/// The bytes as text: by their byte order mark, else by the header's word, else by the page's own, else as
/// UTF-8 where they are that, and as Windows-1252 where they are not.
pub(crate) fn decode(bytes: Vec<u8>, header: Option<&str>) -> String {
    let named = header.and_then(encoding).or_else(|| encoding(&declared(&bytes)?));
    let encoding = match (Encoding::for_bom(&bytes), named) {
        (Some((encoding, _)), _) | (None, Some(encoding)) => encoding,
        (None, None) if std::str::from_utf8(&bytes).is_ok() => UTF_8,
        (None, None) => WINDOWS_1252,
    };
    if encoding == UTF_8 && !bytes.starts_with(b"\xef\xbb\xbf") {
        // Most pages are UTF-8, and then nothing is copied.
        return String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    }
    encoding.decode(&bytes).0.into_owned()
}

fn encoding(label: &str) -> Option<&'static Encoding> {
    Encoding::for_label_no_replacement(label.trim().as_bytes())
}

/// What the page itself says: `<meta charset=…>`, `<meta content="…; charset=…">`, `<?xml encoding=…?>`.
fn declared(bytes: &[u8]) -> Option<String> {
    let head = &bytes[..bytes.len().min(LOOKED_AT)];
    let head: String = head.iter().map(|byte| char::from(byte.to_ascii_lowercase())).collect();
    let label = if head.trim_start().starts_with("<?xml") {
        label_after(head.split("?>").next()?, "encoding")
    } else {
        head.split("<meta").skip(1).find_map(|rest| label_after(rest.split('>').next()?, "charset"))
    }?;
    // A page whose ASCII could be read is not in UTF-16, whatever it says.
    let wide = encoding(&label).is_some_and(|named| named == UTF_16BE || named == UTF_16LE);
    Some(if wide { "utf-8".to_owned() } else { label })
}

fn label_after(text: &str, name: &str) -> Option<String> {
    text.match_indices(name).find_map(|(at, _)| {
        let value = text[at + name.len()..].trim_start().strip_prefix('=')?.trim_start();
        let value = value.trim_start_matches(['"', '\'']);
        let end = value.find(['"', '\'', ';', ' ', '/', '\t', '\n']).unwrap_or(value.len());
        (end > 0).then(|| value[..end].to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], header: Option<&str>) -> String {
        decode(bytes.to_vec(), header)
    }

    #[test]
    fn the_header_names_the_encoding() {
        for label in ["iso-8859-1", "latin1", "ISO-8859-1", "windows-1252"] {
            assert_eq!(read(b"M\xfcller \x80 \x84x\x93", Some(label)), "Müller € „x“", "{label}");
        }
        assert_eq!(read(b"\x82\xb1", Some("shift_jis")), "こ");
        assert_eq!(read("Müller".as_bytes(), Some("utf-8")), "Müller");
    }

    #[test]
    fn the_page_names_it_where_the_header_does_not() {
        for page in [
            "<meta charset=iso-8859-1>",
            "<!doctype html><META CHARSET = 'Latin1'>",
            "<meta name=a><meta http-equiv=\"content-type\" content=\"text/html; charset=windows-1252\">",
            "<?xml version=\"1.0\" encoding='iso-8859-1'?>",
        ] {
            assert!(read(&[page.as_bytes(), b"\xe4"].concat(), None).ends_with('ä'), "{page}");
        }
        let page = [b"<meta charset=iso-8859-1>".as_slice(), "ä".as_bytes()].concat();
        assert!(read(&page, Some("utf-8")).ends_with('ä'), "the header's word comes first");
        assert!(read(b"<meta charset=utf-16>x", None).ends_with('x'));
    }

    #[test]
    fn a_byte_order_mark_has_the_first_word_and_is_left_out() {
        assert_eq!(read(b"\xef\xbb\xbfx\xc3\xa4", Some("iso-8859-1")), "xä");
        assert_eq!(read(b"\xff\xfex\0\xe4\0", Some("utf-8")), "xä");
    }

    #[test]
    fn what_nobody_names_is_utf_8_or_else_windows_1252() {
        assert_eq!(read("中".as_bytes(), None), "中");
        assert_eq!(read(b"caf\xe9", None), "café");
        assert_eq!(read(b"caf\xe9", Some("no-such-encoding")), "café");
    }

    #[test]
    fn bytes_that_are_no_text_in_their_encoding_are_marked() {
        assert_eq!(read(b"a\xffb", Some("utf-8")), "a\u{fffd}b");
    }
}
