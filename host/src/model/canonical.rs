//! Input as JSON that means one thing only: strict reading, and the canonical form that is hashed.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::Serialize;
use serde_json::Value;

use super::attachment::Attachment;
use super::id::{Digest, ToolName};
use super::limits::Limits;

/// Integers beyond this, either way, are not told apart by every reader (RFC 8785).
const LARGEST_INTEGER: u64 = (1 << 53) - 1;

/// The first of them, as a double.
const BEYOND: f64 = 9_007_199_254_740_992.0;

/// More digits than a double can hold apart.
const MOST_DIGITS: usize = 17;

/// Room for the canonical form of most inputs.
const USUAL_INPUT: usize = 2 << 10;

/// How many faults of one input are told at once.
pub const MOST_FAULTS: usize = 10;

/// Something in the input that is not clean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Where, as a JSON pointer; empty for the whole.
    pub path: String,
    /// What is wrong, in words that a model can act on.
    pub text: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() { f.write_str(&self.text) } else { write!(f, "{}: {}", self.path, self.text) }
    }
}

/// Reads input strictly.
///
/// # Errors
/// Where it is no JSON object, too large or too deep, names a field twice, or holds a number that readers
/// would round differently; all faults at once.
pub fn read(text: &str, limits: &Limits) -> Result<Value, Vec<Fault>> {
    let whole = |text: String| vec![Fault { path: String::new(), text }];
    let size = u64::try_from(text.len()).unwrap_or(u64::MAX);
    if size > limits.input {
        return Err(whole(format!("the input has {size} bytes and may have {}", limits.input)));
    }
    if let Some((depth, at)) = too_deep(text, limits.depth) {
        let limit = limits.depth;
        let told =
            format!("the input is nested {depth} deep and may be {limit}; it goes too deep at byte {at}");
        return Err(whole(told));
    }
    let value: Value =
        serde_json::from_str(text).map_err(|error| whole(format!("the input is no JSON: {error}")))?;
    let mut faults = Scan::faults_of(text, true);
    if !value.is_object() {
        faults.insert(0, Fault { path: String::new(), text: "the input must be a JSON object".to_owned() });
    }
    faults.truncate(MOST_FAULTS);
    if faults.is_empty() { Ok(value) } else { Err(faults) }
}

/// The fields that stand twice in text that is known to be JSON, each with its place: of what readers make of them, no
/// two need be alike.
pub fn repeated(text: &str) -> Vec<Fault> {
    Scan::faults_of(text, false)
}

/// What makes two calls the same action: the tool, the canonical form of the input as it was received, and what came
/// beside it.
pub fn action_hash(tool: &ToolName, input: &Value, attachments: &[Attachment]) -> Digest {
    let mut canonical = Vec::with_capacity(USUAL_INPUT);
    write(input, &mut canonical);
    let tool = tool.to_string();
    let digests: Vec<Digest> = attachments.iter().map(Attachment::digest).collect();
    let mut parts: Vec<&[u8]> = vec![b"action", tool.as_bytes(), &canonical];
    for (attachment, digest) in attachments.iter().zip(&digests) {
        parts.extend([attachment.name.as_bytes(), attachment.media_type.as_bytes(), &digest.0]);
    }
    Digest::of_parts(&parts)
}

/// Writes a value as RFC 8785 asks: fields in the order of their UTF-16, nothing between, numbers as in JavaScript.
fn write(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
            fields.sort_unstable_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            list(out, b"{}", fields, |(name, value), out| {
                plain(name, out);
                out.push(b':');
                write(value, out);
            });
        }
        Value::Array(items) => list(out, b"[]", items, write),
        Value::Number(number) => out.extend(serde_json_canonicalizer::to_vec(number).unwrap_or_default()),
        Value::String(text) => plain(text, out),
        Value::Null | Value::Bool(_) => plain(value, out),
    }
}

fn list<T>(
    out: &mut Vec<u8>,
    around: &[u8; 2],
    parts: impl IntoIterator<Item = T>,
    write: impl Fn(T, &mut Vec<u8>),
) {
    out.push(around[0]);
    for (place, part) in parts.into_iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        write(part, out);
    }
    out.push(around[1]);
}

/// Writes what has one form already.
fn plain(value: &impl Serialize, out: &mut Vec<u8>) {
    // Writing to memory does not fail, and neither do texts, null and the two words.
    let _ = serde_json::to_writer(out, value);
}

/// How deep the text is nested, and at which byte, from 1, it first goes beyond the limit.
fn too_deep(text: &str, limit: u64) -> Option<(u64, usize)> {
    let bytes = text.as_bytes();
    let (mut depth, mut deepest, mut at) = (0u64, 0u64, 0);
    let mut beyond = None;
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'"' => at = after_string(bytes, at),
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
                if depth > limit {
                    beyond.get_or_insert(at);
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    beyond.map(|at| (deepest, at))
}

/// The place after the string whose text begins here.
fn after_string(bytes: &[u8], mut at: usize) -> usize {
    while let Some(rest) = bytes.get(at..) {
        match rest.iter().position(|byte| matches!(byte, b'"' | b'\\')) {
            Some(found) if rest.get(found) == Some(&b'"') => return at + found + 1,
            Some(found) => at += found + 2,
            None => break,
        }
    }
    bytes.len()
}

/// As much of a text as is worth telling again.
fn told(text: &str) -> String {
    const MOST: usize = 200;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Walks text that is known to be JSON and collects what the parsed value no longer shows.
struct Scan<'a> {
    text: &'a str,
    at: usize,
    path: Vec<Step<'a>>,
    /// Whether numbers are looked at as well as names.
    numbers: bool,
    faults: Vec<Fault>,
}

/// A step down into a value.
#[derive(Debug)]
enum Step<'a> {
    Field(Cow<'a, str>),
    Item(usize),
}

impl<'a> Scan<'a> {
    fn faults_of(text: &'a str, numbers: bool) -> Vec<Fault> {
        let mut scan = Self { text, at: 0, path: Vec::new(), numbers, faults: Vec::new() };
        scan.value();
        scan.faults
    }

    fn value(&mut self) {
        match self.peek() {
            Some(b'{') => self.object(),
            Some(b'[') => self.array(),
            Some(b'"') => self.at = after_string(self.text.as_bytes(), self.at + 1),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) => self.skip(|byte| byte.is_ascii_alphabetic()),
            None => {}
        }
    }

    fn object(&mut self) {
        self.at += 1;
        let mut names = HashSet::new();
        while self.peek().is_some_and(|byte| byte == b'"') {
            let name = self.name();
            let first = names.insert(name.clone());
            self.path.push(Step::Field(name));
            if !first {
                self.fault("the field stands there twice; keep one".to_owned());
            }
            self.peek();
            self.at += 1;
            self.value();
            self.path.pop();
            self.separator();
        }
        self.close();
    }

    fn array(&mut self) {
        self.at += 1;
        let mut place = 0;
        while self.peek().is_some_and(|byte| byte != b']') {
            self.path.push(Step::Item(place));
            self.value();
            self.path.pop();
            place += 1;
            self.separator();
        }
        self.close();
    }

    fn name(&mut self) -> Cow<'a, str> {
        let start = self.at;
        self.at = after_string(self.text.as_bytes(), start + 1);
        let quoted = &self.text[start..self.at];
        match quoted.get(1..quoted.len() - 1) {
            Some(name) if !name.contains('\\') => Cow::Borrowed(name),
            Some(_) | None => Cow::Owned(serde_json::from_str(quoted).unwrap_or_default()),
        }
    }

    fn number(&mut self) {
        let start = self.at;
        self.skip(|byte| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E') || byte.is_ascii_digit());
        if !self.numbers {
            return;
        }
        let text = &self.text[start..self.at];
        let shown = told(text);
        let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
        let digits = mantissa.replace(['-', '.'], "");
        let significant = digits.trim_start_matches('0').trim_end_matches('0').len();
        // However it is written: 1e17 is an integer too, and so is 9007199254740993.0 once it is read.
        let beyond = match text.trim_start_matches('-').parse::<u64>() {
            Ok(size) => size > LARGEST_INTEGER,
            Err(_) => text.parse::<f64>().is_ok_and(|size| size.fract() == 0.0 && size.abs() >= BEYOND),
        };
        if beyond {
            self.fault(format!(
                "the integer {shown} is beyond ±{LARGEST_INTEGER}, where readers round differently; give it as a string"
            ));
        } else if significant > MOST_DIGITS {
            self.fault(format!(
                "the number {shown} has {significant} significant digits and may have {MOST_DIGITS}; give it as a string"
            ));
        }
    }

    fn fault(&mut self, text: String) {
        if self.faults.len() < MOST_FAULTS {
            let escape = |step: &Step<'_>| match step {
                Step::Field(name) => format!("/{}", name.replace('~', "~0").replace('/', "~1")),
                Step::Item(place) => format!("/{place}"),
            };
            let path: String = self.path.iter().map(escape).collect();
            self.faults.push(Fault { path: told(&path), text });
        }
    }

    fn separator(&mut self) {
        if self.peek() == Some(b',') {
            self.at += 1;
            self.peek();
        }
    }

    fn close(&mut self) {
        self.peek();
        self.at += 1;
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn peek(&mut self) -> Option<u8> {
        self.skip(|byte| byte.is_ascii_whitespace());
        self.byte()
    }

    fn skip(&mut self, what: impl Fn(u8) -> bool) {
        while self.byte().is_some_and(&what) {
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn faults(text: &str) -> Vec<String> {
        read(text, &Limits::default()).unwrap_err().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_field_that_stands_twice_is_found_where_numbers_are_nobodys_matter() {
        let found = |text| repeated(text).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(found(r#"{"a": 9007199254740993, "b": [{"c": 1}, {"c": 1}]}"#), [""; 0]);
        let twice = "the field stands there twice; keep one";
        assert_eq!(found(r#"{"a": 1.0e400, "b": [{"c": 1, "\u0063": 2}]}"#), [format!("/b/0/c: {twice}")]);
    }

    #[test]
    fn every_fault_is_told_with_its_place() {
        assert_eq!(
            faults(r#"{"a": 1, "b": {"c": [9007199254740992, 0.12345678901234567891], "c": 2}, "a": -1}"#)
                .join("\n"),
            "/b/c/0: the integer 9007199254740992 is beyond ±9007199254740991, where readers round differently; give it as a string\n\
             /b/c/1: the number 0.12345678901234567891 has 20 significant digits and may have 17; give it as a string\n\
             /b/c: the field stands there twice; keep one\n\
             /a: the field stands there twice; keep one"
        );
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for text in ["[1]", "1", "null", "\"x\""] {
            assert_eq!(faults(text), ["the input must be a JSON object"], "{text}");
        }
        assert!(
            faults("{\"a\": 1e999}")
                .first()
                .unwrap()
                .starts_with("the input is no JSON: number out of range")
        );
        assert!(faults("{").first().unwrap().starts_with("the input is no JSON: "));
    }

    #[test]
    fn depth_and_size_are_bounded_before_anything_is_built() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(
            faults(&deep),
            ["the input is nested 100001 deep and may be 64; it goes too deep at byte 69"]
        );
        let large = format!("{{\"a\":\"{}\"}}", "x".repeat(1 << 20));
        assert_eq!(faults(&large), ["the input has 1048584 bytes and may have 1048576"]);
        assert!(read(&format!("{{\"a\":\"{}\"}}", "[".repeat(100)), &Limits::default()).is_ok());
    }

    #[test]
    fn names_are_compared_after_their_escapes_are_read() {
        assert_eq!(faults(r#"{"a": 1, "\u0061": 2}"#), ["/a: the field stands there twice; keep one"]);
    }

    #[test]
    fn equal_input_is_one_action_however_it_is_written() {
        let tool: ToolName = "desk.find_order".parse().unwrap();
        let hash = |text: &str| action_hash(&tool, &read(text, &Limits::default()).unwrap(), &[]);
        assert_eq!(hash(r#"{"a":1,"b":"é"}"#), hash("{ \"b\":\"\\u00e9\",\n\"a\":1.0 }"));
        assert_ne!(hash(r#"{"a":1}"#), hash(r#"{"a":"1"}"#));
        assert_ne!(
            action_hash(&"desk.a".parse().unwrap(), &serde_json::json!({}), &[]),
            action_hash(&"desk.b".parse().unwrap(), &serde_json::json!({}), &[])
        );
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-9_007_199_254_740_991i64..=9_007_199_254_740_991).prop_map(Value::from),
            any::<f64>().prop_filter("finite", |n| n.is_finite()).prop_map(Value::from),
            ".*".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map(".*", inner, 0..5)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_canonical_form_is_that_of_the_reference(value in json()) {
            let mut canonical = Vec::new();
            write(&value, &mut canonical);
            prop_assert_eq!(canonical, serde_json_canonicalizer::to_vec(&value).unwrap());
        }

        #[test]
        fn clean_json_is_read_as_serde_reads_it(value in json()) {
            let text = serde_json::json!({ "x": value }).to_string();
            match read(&text, &Limits::default()) {
                Ok(read) => prop_assert_eq!(read, serde_json::from_str::<Value>(&text).unwrap()),
                Err(faults) => prop_assert!(faults.iter().all(|fault| fault.text.contains("beyond ±")
                    || fault.text.contains("significant digits")), "{:?}", faults),
            }
        }

        #[test]
        fn the_order_of_fields_changes_no_action(fields in prop::collection::btree_map("[a-z]{1,4}", any::<i32>(), 0..6)) {
            let tool: ToolName = "a.b".parse().unwrap();
            let forward: serde_json::Map<_, _> = fields.iter().map(|(k, v)| (k.clone(), Value::from(*v))).collect();
            let backward: serde_json::Map<_, _> = fields.iter().rev().map(|(k, v)| (k.clone(), Value::from(*v))).collect();
            prop_assert_eq!(action_hash(&tool, &forward.into(), &[]), action_hash(&tool, &backward.into(), &[]));
        }

        #[test]
        fn no_text_makes_the_reader_fail_otherwise_than_with_a_fault(text in ".*") {
            let _ = read(&text, &Limits::default());
        }
    }
}
