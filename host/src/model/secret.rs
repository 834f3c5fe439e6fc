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

/// Finds known secret values in text and puts their names in their place.
#[derive(Debug, Clone, Default)]
pub struct Mask {
    finder: Option<AhoCorasick>,
    /// For each text that is looked for: what stands in its place, and whether it must stand alone.
    places: Vec<(String, bool)>,
}

impl Mask {
    /// Knows these secrets, by name; each also as JSON and URLs write it, and in base64, as backends echo credentials.
    pub fn of(secrets: &BTreeMap<String, SecretValue>) -> Self {
        let mut needles = Vec::new();
        let mut places = Vec::new();
        for (name, value) in secrets.iter().filter(|(_, value)| !value.reveal().is_empty()) {
            let plain = written(value.reveal()).into_iter().map(|text| (text.len() < SHORT, text));
            let encoded =
                in_base64(value.reveal()).into_iter().map(|text| (text.len() < SHORT_ENCODED, text));
            for (must_stand_alone, text) in plain.chain(encoded).filter(|(_, text)| !text.is_empty()) {
                needles.push(text);
                places.push((format!("[secret {name}]"), must_stand_alone));
            }
        }
        if needles.is_empty() {
            return Self::default();
        }
        let finder = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&needles).ok();
        Self { finder, places }
    }

    /// Whether there is nothing to mask.
    pub fn is_empty(&self) -> bool {
        self.finder.is_none()
    }

    /// The text with every known value masked; none where there is nothing to mask.
    pub fn text(&self, text: &str) -> Option<String> {
        let finder = self.finder.as_ref()?;
        let mut masked = String::new();
        let (mut rest, mut from) = (0, 0);
        while let Some(found) = finder.find(Input::new(text).range(from..)) {
            let alone = |neighbour: Option<char>| neighbour.is_none_or(|c| !c.is_alphanumeric());
            let stands_alone =
                alone(text[..found.start()].chars().next_back()) && alone(text[found.end()..].chars().next());
            let (name, must_stand_alone) = &self.places[found.pattern().as_usize()];
            if *must_stand_alone && !stands_alone {
                // Another may begin within this one.
                from = found.start() + text[found.start()..].chars().next().map_or(1, char::len_utf8);
                continue;
            }
            masked.push_str(&text[rest..found.start()]);
            masked.push_str(name);
            (rest, from) = (found.end(), found.end());
        }
        if rest == 0 {
            return None;
        }
        masked.push_str(&text[rest..]);
        Some(masked)
    }

    /// Masks every string and number of a JSON value, names of fields included.
    pub fn json(&self, value: &mut Value) {
        if self.finder.is_none() {
            return;
        }
        match value {
            Value::String(text) => {
                if let Some(masked) = self.text(text) {
                    *text = masked;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.json(item)),
            Value::Object(fields) => {
                if fields.keys().any(|name| self.text(name).is_some()) {
                    let old = std::mem::take(fields);
                    fields.extend(
                        old.into_iter().map(|(name, value)| (self.text(&name).unwrap_or(name), value)),
                    );
                }
                fields.values_mut().for_each(|field| self.json(field));
            }
            Value::Number(number) => {
                if let Some(masked) = self.text(&number.to_string()) {
                    *value = Value::String(masked);
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }
}

/// The value as it is, as JSON writes it, as JSON within JSON does, and as a URL does.
fn written(value: &str) -> Vec<String> {
    let escaped = |text: &str| {
        let quoted = Value::from(text).to_string();
        quoted[1..quoted.len() - 1].to_owned()
    };
    let in_url = |byte: u8| match byte {
        b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    let once = escaped(value);
    let mut forms = vec![value.to_owned(), escaped(&once), once, value.bytes().map(in_url).collect()];
    forms.sort();
    forms.dedup();
    forms
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
    forms.sort();
    forms.dedup();
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
