//! Secrets that print as nothing, and the exact masking of their values.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, Input, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use serde_json::Value;

/// A value that no log, list or error ever shows.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretValue(Arc<str>);

impl SecretValue {
    /// Wraps a value.
    pub fn new(value: &str) -> Self {
        Self(Arc::from(value))
    }

    /// The value itself, for the edge where it leaves the host.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretValue(…)")
    }
}

/// Below this length a value is only masked where it stands alone, so that ordinary words stay readable.
const SHORT: usize = 16;

/// The same for values in base64, which look like no word.
const SHORT_ENCODED: usize = 8;

/// Below this length a line of a longer value is no secret by itself: braces, and the last letters of a key.
const SHORT_LINE: usize = 8;

/// Finds known secret values in text and puts their names in their place.
///
/// It looks for each value exactly, and for each line of one that has several, since a log takes it line by line. Below
/// 16 bytes a value or a line is masked where no letter and no digit stands beside it, and words that contain it are
/// left alone; from 16 bytes on it is masked wherever it stands. Lines of less than 8 bytes, and the first and the last
/// of a key in PEM, which are the same in every key, are left alone.
///
/// Each is known as it is, as JSON writes it and as JSON within JSON does, with any of its bytes as a URL writes them
/// (`%2F` or `%2f`), and with `+` for its spaces; a whole value in base64 too, that of URLs among them, wherever in the
/// encoded text it begins. No other form is: no part of a value, no hexadecimal and no hash, no base64 that is
/// broken into lines, nothing that is escaped for a URL twice.
#[derive(Debug, Clone, Default)]
pub struct Mask {
    finder: Option<AhoCorasick>,
    /// For each text that is looked for: what stands in its place, and whether it must stand alone.
    places: Vec<(String, bool)>,
    /// Whether one of the texts consists of what numbers are written with.
    numbers: bool,
}

impl Mask {
    /// Knows these secrets, by name.
    pub fn of(secrets: &BTreeMap<String, SecretValue>) -> Self {
        Self::by(secrets.iter().map(|(name, value)| (format!("[secret {name}]"), value.reveal())))
    }

    /// Knows these values, each with what stands in its place.
    pub fn by<'a>(values: impl IntoIterator<Item = (String, &'a str)>) -> Self {
        let mut needles: Vec<String> = Vec::new();
        let mut places = Vec::new();
        for (label, value) in values {
            for (text, must_stand_alone) in forms(value) {
                needles.push(text);
                places.push((label.clone(), must_stand_alone));
            }
        }
        if needles.is_empty() {
            return Self::default();
        }
        let numeric = |text: &String| text.bytes().all(|byte| b"0123456789+-.eE".contains(&byte));
        let numbers = needles.iter().any(numeric);
        let finder = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&needles).ok();
        Self { finder, places, numbers }
    }

    /// Whether there is nothing to mask.
    pub fn is_empty(&self) -> bool {
        self.finder.is_none()
    }

    /// Whether a number may be masked, and then is a text.
    pub fn knows_numbers(&self) -> bool {
        self.numbers
    }

    /// The text with every known value masked; none where there is nothing to mask.
    pub fn text(&self, text: &str) -> Option<String> {
        let finder = self.finder.as_ref()?;
        let as_a_url =
            Unescaped::of(text).and_then(|url| self.named(finder, text, &url.bytes, |at| url.places[at]));
        let rest = as_a_url.as_deref().unwrap_or(text);
        self.named(finder, rest, rest.as_bytes(), |at| at).or(as_a_url)
    }

    /// The text with names in the place of what is found in a reading of it; `place` tells where in the text a byte of
    /// the reading begins.
    fn named(
        &self,
        finder: &AhoCorasick,
        text: &str,
        reading: &[u8],
        place: impl Fn(usize) -> usize,
    ) -> Option<String> {
        let mut masked = String::new();
        let (mut rest, mut from) = (0, 0);
        while let Some(found) = finder.find(Input::new(reading).range(from..)) {
            let (name, must_stand_alone) = &self.places[found.pattern().as_usize()];
            if *must_stand_alone && !stands_alone(&reading[..found.start()], &reading[found.end()..]) {
                // Another may begin within this one.
                from = found.start() + 1;
                continue;
            }
            masked.push_str(text.get(rest..place(found.start())).unwrap_or_default());
            masked.push_str(name);
            (rest, from) = (place(found.end()), found.end());
        }
        if rest == 0 {
            return None;
        }
        masked.push_str(text.get(rest..).unwrap_or_default());
        Some(masked)
    }

    /// Masks every string and number of a JSON value, names of fields included; tells whether there was any.
    pub fn json(&self, value: &mut Value) -> bool {
        if self.finder.is_none() {
            return false;
        }
        match value {
            Value::String(text) => match self.text(text) {
                Some(masked) => {
                    *text = masked;
                    true
                }
                None => false,
            },
            Value::Array(items) => items.iter_mut().fold(false, |found, item| self.json(item) | found),
            Value::Object(fields) => {
                let named = fields.keys().any(|name| self.text(name).is_some());
                if named {
                    let old = std::mem::take(fields);
                    fields.extend(
                        old.into_iter().map(|(name, value)| (self.text(&name).unwrap_or(name), value)),
                    );
                }
                fields.values_mut().fold(named, |found, field| self.json(field) | found)
            }
            Value::Number(number) => match self.text(&number.to_string()) {
                Some(masked) => {
                    *value = Value::String(masked);
                    true
                }
                None => false,
            },
            Value::Null | Value::Bool(_) => false,
        }
    }
}

/// A text as a URL means it: `%2F` is `/`.
struct Unescaped {
    bytes: Vec<u8>,
    /// Where in the text each byte begins, and where the text ends.
    places: Vec<usize>,
}

impl Unescaped {
    /// Reads a text so; none where that changes nothing.
    fn of(text: &str) -> Option<Self> {
        if !text.as_bytes().contains(&b'%') {
            return None;
        }
        let mut read =
            Self { bytes: Vec::with_capacity(text.len()), places: Vec::with_capacity(text.len() + 1) };
        let mut rest = text.as_bytes();
        while let Some((first, after)) = rest.split_first() {
            read.places.push(text.len() - rest.len());
            let digit = |at: usize| char::from(*after.get(at)?).to_digit(16);
            let byte = digit(0).zip(digit(1)).and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
            match byte.filter(|_| *first == b'%') {
                Some(byte) => {
                    read.bytes.push(byte);
                    rest = &after[2..];
                }
                None => {
                    read.bytes.push(*first);
                    rest = after;
                }
            }
        }
        read.places.push(text.len());
        (read.bytes.len() < text.len()).then_some(read)
    }
}

/// Whether neither a letter nor a digit stands beside what is between these; that of `\n` is none.
fn stands_alone(before: &[u8], after: &[u8]) -> bool {
    let last = (1..=before.len().min(4))
        .find_map(|length| std::str::from_utf8(&before[before.len() - length..]).ok()?.chars().next());
    let first = (1..=after.len().min(4))
        .find_map(|length| std::str::from_utf8(&after[..length]).ok()?.chars().next());
    let apart = |neighbour: Option<char>| neighbour.is_none_or(|c| !c.is_alphanumeric());
    apart(first) && (apart(last) || matches!(before, [.., b'\\', b'n' | b'r' | b't']))
}

/// All that a value is looked for as, and whether it must stand alone.
fn forms(value: &str) -> Vec<(String, bool)> {
    let whole = [value, value.trim()];
    let plain = whole.into_iter().chain(lines(value)).flat_map(written);
    let encoded = whole.into_iter().flat_map(in_base64);
    let mut forms: Vec<(String, bool)> = plain
        .map(|text| (text.len() < SHORT, text))
        .chain(encoded.map(|text| (text.len() < SHORT_ENCODED, text)))
        .filter(|(_, text)| !text.trim().is_empty())
        .map(|(must_stand_alone, text)| (text, must_stand_alone))
        .collect();
    forms.sort();
    forms.dedup_by(|later, earlier| later.0 == earlier.0);
    forms
}

/// The lines of a value that are a secret by themselves.
fn lines(value: &str) -> impl Iterator<Item = &str> {
    let armour = |line: &str| line.starts_with("-----") && line.ends_with("-----");
    let lines = value.split(['\n', '\r']).map(str::trim);
    lines.filter(move |line| line.len() >= SHORT_LINE && !armour(line))
}

/// The value as it is, as JSON writes it, as JSON within JSON does, and with `+` for its spaces.
fn written(value: &str) -> [String; 4] {
    let escaped = |text: &str| {
        let quoted = Value::from(text).to_string();
        quoted[1..quoted.len() - 1].to_owned()
    };
    let once = escaped(value);
    [value.to_owned(), escaped(&once), once, value.replace(' ', "+")]
}

/// The value in base64: whole, and as it stands inside a longer text, where it can begin at three places. Letters that
/// it shares with its neighbours are left out.
fn in_base64(value: &str) -> Vec<String> {
    let within = |before: usize| {
        let bytes: Vec<u8> = std::iter::repeat_n(0, before).chain(value.bytes()).collect();
        let text = STANDARD_NO_PAD.encode(&bytes);
        text.get((before * 8).div_ceil(6)..bytes.len() * 8 / 6).unwrap_or_default().to_owned()
    };
    let mut forms = vec![STANDARD.encode(value), within(0), within(1), within(2)];
    let for_urls: Vec<String> = forms.iter().map(|text| text.replace('+', "-").replace('/', "_")).collect();
    forms.extend(for_urls);
    forms
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn mask(value: &str) -> Mask {
        Mask::of(&BTreeMap::from([("token".to_owned(), SecretValue::new(value))]))
    }

    #[test]
    fn a_secret_is_masked_wherever_it_stands() {
        let mask = mask("s3cr3t-and-rather-long");
        let mut value = json!({"a": ["x s3cr3t-and-rather-long!"], "s3cr3t-and-rather-long": 1});
        mask.json(&mut value);
        assert_eq!(value, json!({"a": ["x [secret token]!"], "[secret token]": 1}));
        assert_eq!(mask.text("plain"), None);
    }

    #[test]
    fn its_base64_is_masked_too() {
        let encoded = STANDARD.encode("s3cr3t-and-rather-long");
        assert_eq!(mask("s3cr3t-and-rather-long").text(&encoded).as_deref(), Some("[secret token]"));
    }

    #[test]
    fn it_is_masked_inside_credentials_wherever_it_begins() {
        for user in ["", "a:", "ab:", "abc:"] {
            for secret in ["s3cr3t-and-rather-long", "hunter2"] {
                let text = format!("Basic {}", STANDARD.encode(format!("{user}{secret}")));
                let masked = mask(secret).text(&text).unwrap();
                assert!(masked.contains("[secret token]"), "{masked}");
                assert!(masked.replace("[secret token]", "").len() < "Basic ".len() + 10, "{masked}");
            }
        }
    }

    #[test]
    fn it_is_masked_as_json_and_as_a_url_write_it() {
        let secret = "q\"uo\\te of/some length";
        let once = Value::from(secret).to_string();
        let twice = Value::from(once.as_str()).to_string();
        for text in [once, twice, "/a/q%22uo%5Cte%20of%2Fsome%20length".to_owned()] {
            let masked = mask(secret).text(&text).unwrap();
            assert!(masked.contains("[secret token]") && !masked.contains("some"), "{masked}");
        }
    }

    #[test]
    fn it_is_masked_in_urls_whichever_bytes_are_escaped_and_how() {
        let secret = "k/Y+2: long enough, ö";
        for text in [
            "k%2FY%2B2%3A%20long%20enough%2C%20%C3%B6",
            "k%2fY%2b2%3a%20long%20enough%2c%20%c3%b6",
            "%6b%2FY+2:%20long enough,%20%c3%B6",
            "k%2fY%2B2%3A+long+enough%2C+%C3%B6",
        ] {
            let url = format!("https://a.example/100%/ä?x=%zz&t={text}&é=%2f");
            let masked = mask(secret).text(&url).unwrap();
            assert_eq!(masked, "https://a.example/100%/ä?x=%zz&t=[secret token]&é=%2f", "{text}");
        }
        assert_eq!(
            mask("cat").text("/con%63atenate?a=%2fcat%2F").as_deref(),
            Some("/con%63atenate?a=%2f[secret token]%2F")
        );
        assert_eq!(mask("al%20ready").text("al%20ready").as_deref(), Some("[secret token]"));
        assert_eq!(mask("cat").text("a%2fb 100%"), None);
        let encoded = STANDARD.encode("a?>~~secret>of>some>length").replace('+', "%2b").replace('/', "%2f");
        assert_eq!(
            mask("a?>~~secret>of>some>length").text(&encoded.replace('=', "%3D")).as_deref(),
            Some("[secret token]")
        );
    }

    #[test]
    fn the_longer_of_two_secrets_goes_whole_also_where_only_it_is_escaped() {
        let secrets = [
            ("a".to_owned(), SecretValue::new("long-enough-to-be-found")),
            ("b".to_owned(), SecretValue::new("long-enough-to-be-found/and-more")),
        ];
        let masked = Mask::of(&BTreeMap::from(secrets)).text("x long-enough-to-be-found%2fand-more");
        assert_eq!(masked.as_deref(), Some("x [secret b]"));
    }

    const KEY: &str = "-----BEGIN PRIVATE KEY-----\r\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v\r\n\tshort-line-8\r\nQ==\r\n-----END PRIVATE KEY-----\r\n";

    #[test]
    fn a_secret_of_several_lines_is_masked_whole_and_line_by_line() {
        let mask = mask(KEY);
        assert_eq!(mask.text(&format!("<{KEY}>")).as_deref(), Some("<[secret token]>"));
        assert_eq!(mask.text(&format!("<{}>", KEY.trim())).as_deref(), Some("<[secret token]>"));
        let printed: String = KEY.lines().map(|line| format!("out: {line}\n")).collect();
        assert_eq!(
            mask.text(&printed).as_deref(),
            Some(
                "out: -----BEGIN PRIVATE KEY-----\nout: [secret token]\nout: \t[secret token]\nout: Q==\nout: -----END PRIVATE KEY-----\n"
            )
        );
        let escaped = r#"{"key":"of mine\nshort-line-8\nMC4CAQAwBQYDK2VwBCIEIJ1hsZ3v"}"#;
        assert_eq!(
            mask.text(escaped).as_deref(),
            Some(r#"{"key":"of mine\n[secret token]\n[secret token]"}"#)
        );
        assert_eq!(mask.text("-----BEGIN PRIVATE KEY-----, Q==, a-short-line-80"), None);
    }

    #[test]
    fn a_secret_that_ends_with_a_line_is_masked_without_its_end() {
        assert_eq!(
            mask("cat\n").text("a cat, a concatenation").as_deref(),
            Some("a [secret token], a concatenation")
        );
        let text = STANDARD.encode("user:s3cr3t-and-long");
        assert!(mask("s3cr3t-and-long\n").text(&text).unwrap().contains("[secret token]"));
        assert_eq!(mask("{\n}\n").text("{ } {}\n{"), None);
    }

    #[test]
    fn a_short_secret_that_does_not_stand_alone_hides_no_other() {
        let secrets = [
            ("a".to_owned(), SecretValue::new("xyz")),
            ("b".to_owned(), SecretValue::new("yzlong-enough-to-be-found")),
        ];
        let masked = Mask::of(&BTreeMap::from(secrets)).text("xyzlong-enough-to-be-found");
        assert_eq!(masked.as_deref(), Some("x[secret b]"));
    }

    #[test]
    fn a_short_secret_leaves_words_that_contain_it_alone() {
        assert_eq!(mask("cat").text("concatenate"), None);
        assert_eq!(
            mask("cat").text("a cat, a concatenation").as_deref(),
            Some("a [secret token], a concatenation")
        );
    }

    #[test]
    fn secrets_print_as_nothing() {
        assert_eq!(format!("{:?}", SecretValue::new("x")), "SecretValue(…)");
    }
}
