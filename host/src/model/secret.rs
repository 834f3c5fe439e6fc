//! Secrets that print as nothing, and the exact masking of their values.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
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

/// Finds known secret values in text and puts their names in their place.
#[derive(Debug, Clone, Default)]
pub struct Mask {
    finder: Option<AhoCorasick>,
    names: Vec<String>,
}

impl Mask {
    /// Knows these secrets, by name; each also in base64, as backends echo credentials.
    pub fn of(secrets: &BTreeMap<String, SecretValue>) -> Self {
        let mut needles = Vec::new();
        let mut names = Vec::new();
        for (name, value) in secrets.iter().filter(|(_, value)| !value.reveal().is_empty()) {
            let plain = value.reveal().to_owned();
            let encoded = STANDARD.encode(&plain);
            for needle in [plain, encoded] {
                needles.push(needle);
                names.push(format!("[secret {name}]"));
            }
        }
        if needles.is_empty() {
            return Self::default();
        }
        let finder = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&needles).ok();
        Self { finder, names }
    }

    /// Whether there is nothing to mask.
    pub fn is_empty(&self) -> bool {
        self.finder.is_none()
    }

    /// The text with every known value masked; none where there is nothing to mask.
    pub fn text(&self, text: &str) -> Option<String> {
        let finder = self.finder.as_ref()?;
        let mut masked = String::new();
        let mut rest = 0;
        for found in finder.find_iter(text) {
            let alone = |neighbour: Option<char>| neighbour.is_none_or(|c| !c.is_alphanumeric());
            let stands_alone =
                alone(text[..found.start()].chars().next_back()) && alone(text[found.end()..].chars().next());
            if found.len() < SHORT && !stands_alone {
                continue;
            }
            masked.push_str(&text[rest..found.start()]);
            masked.push_str(&self.names[found.pattern().as_usize()]);
            rest = found.end();
        }
        if rest == 0 {
            return None;
        }
        masked.push_str(&text[rest..]);
        Some(masked)
    }

    /// Masks every string of a JSON value, names of fields included.
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
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
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
