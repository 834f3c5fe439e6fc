//! What a schema wants and what a value is, in words that a model can act on.

use std::io;

use jsonschema::error::TypeKind;
use serde_json::{Map, Value};

use super::places::resolve;

/// How much of a value is shown.
const SHOWN: usize = 60;

/// How many choices are listed.
const CHOICES: usize = 20;

/// How far parts of parts are described.
const DEPTH: usize = 3;

/// A value's JSON, cut where it gets long.
pub(super) fn short(value: &Value) -> String {
    let mut beginning = Beginning(Vec::new());
    // An error says only that there is more than is shown.
    let _ = serde_json::to_writer(&mut beginning, value);
    let text = String::from_utf8_lossy(&beginning.0);
    if text.chars().count() <= SHOWN {
        return text.into_owned();
    }
    let cut: String = text.chars().take(SHOWN).collect();
    format!("{cut}…")
}

/// Takes the first bytes and refuses the rest.
struct Beginning(Vec<u8>);

impl io::Write for Beginning {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = (4 * SHOWN + 4).saturating_sub(self.0.len());
        if room == 0 {
            return Err(io::Error::other("enough"));
        }
        let taken = room.min(bytes.len());
        self.0.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Whether what came may be quoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quote {
    /// It may: whoever reads the words sent the value.
    Value,
    /// It may hold what the reader must not see: its kind is told alone.
    Kind,
}

impl Quote {
    /// What came, with its kind.
    pub(super) fn came(self, value: &Value) -> String {
        match (self, value) {
            (_, Value::Null) => "null".to_owned(),
            (Self::Kind, Value::Bool(_)) => "true or false".to_owned(),
            (Self::Kind, Value::Number(_)) => "a number".to_owned(),
            (Self::Kind, Value::String(text)) => {
                format!("a string of {}", count(text.chars().count(), "character"))
            }
            (_, Value::Array(items)) if items.is_empty() => "an empty list".to_owned(),
            (Self::Kind, Value::Array(items)) => format!("a list of {}", count(items.len(), "item")),
            (_, Value::Object(fields)) if fields.is_empty() => "an object without fields".to_owned(),
            (Self::Kind, Value::Object(fields)) => format!("an object of {}", count(fields.len(), "field")),
            (Self::Value, Value::Bool(_)) => short(value),
            (Self::Value, Value::Number(_)) => format!("the number {value}"),
            (Self::Value, Value::String(_)) => format!("the string {}", short(value)),
            (Self::Value, Value::Array(_)) => format!("the list {}", short(value)),
            (Self::Value, Value::Object(_)) => format!("the object {}", short(value)),
        }
    }

    /// What came, where its kind is clear.
    pub(super) fn value(self, value: &Value) -> String {
        match self {
            Self::Value => short(value),
            Self::Kind => self.came(value),
        }
    }
}

/// `1 item`, `2 items`.
pub(super) fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// The kinds that are taken.
pub(super) fn kinds(kind: &TypeKind) -> String {
    let mut words: Vec<&str> = match kind {
        TypeKind::Single(one) => vec![kind_word(one.as_str())],
        TypeKind::Multiple(several) => several.iter().map(|one| kind_word(one.as_str())).collect(),
    };
    words.sort_by_key(|word| *word == "null");
    either(&words)
}

fn kind_word(kind: &str) -> &str {
    match kind {
        "array" => "a list",
        "boolean" => "true or false",
        "integer" => "a whole number",
        "number" => "a number",
        "object" => "an object",
        "string" => "a string",
        other => other,
    }
}

/// `a`, `a or b`, `a, b or c`.
pub(super) fn either<T: AsRef<str>>(words: &[T]) -> String {
    listed(words, "or")
}

fn listed<T: AsRef<str>>(words: &[T], joint: &str) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match words.as_slice() {
        [] => "nothing".to_owned(),
        [one] => (*one).to_owned(),
        [front @ .., last] => format!("{} {joint} {last}", front.join(", ")),
    }
}

/// The values to choose from.
pub(super) fn choices(options: &[Value]) -> String {
    let mut words: Vec<String> = options.iter().take(CHOICES).map(short).collect();
    if options.len() > CHOICES {
        words.push(format!("{} more", options.len() - CHOICES));
        return listed(&words, "and");
    }
    either(&words)
}

/// An example that the schema itself gives.
pub(super) fn example(schema: &Value) -> Option<&Value> {
    let examples = schema.get("examples").and_then(Value::as_array).and_then(|all| all.first());
    let default = schema.get("default").filter(|value| !value.is_null());
    let choice = schema.get("enum").and_then(Value::as_array).and_then(|all| all.first());
    examples.or(schema.get("example")).or(default).or(schema.get("const")).or(choice)
}

/// Fields as they are named in a sentence.
pub(super) fn fields<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    let more = names.len().saturating_sub(CHOICES);
    if more > 0 {
        names.truncate(CHOICES);
        names.push(format!("{more} more"));
    }
    listed(&names, "and")
}

/// What a schema takes, as part of a sentence; nothing where it cannot be said shortly.
pub(super) fn wanted(root: &Value, schema: &Value) -> Option<String> {
    wanted_within(root, schema, DEPTH)
}

fn wanted_within(root: &Value, schema: &Value, depth: usize) -> Option<String> {
    let deeper = |part: &Value| depth.checked_sub(1).and_then(|depth| wanted_within(root, part, depth));
    if let Some(Value::String(title)) = schema.get("title") {
        return Some(format!("\"{title}\""));
    }
    if let Some(value) = schema.get("const") {
        return Some(short(value));
    }
    if let Some(Value::Array(options)) = schema.get("enum") {
        return Some(choices(options));
    }
    if let Some(Value::String(reference)) = schema.get("$ref") {
        return deeper(resolve(root, reference)?);
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(Value::Array(parts)) = schema.get(keyword) {
            return parts.iter().map(deeper).collect::<Option<Vec<String>>>().map(|parts| either(&parts));
        }
    }
    let fields = with_fields(schema);
    match schema.get("type") {
        Some(Value::String(kind)) if kind == "object" => Some(format!("an object{fields}")),
        Some(Value::String(kind)) => Some(text_kind(schema, kind)),
        Some(Value::Array(kinds)) => {
            Some(either(&kinds.iter().filter_map(Value::as_str).map(kind_word).collect::<Vec<_>>()))
        }
        _ if fields.is_empty() => None,
        _ => Some(format!("an object{fields}")),
    }
}

fn text_kind(schema: &Value, kind: &str) -> String {
    match schema.get("format").and_then(Value::as_str) {
        Some(format) if kind == "string" => format_word(format).unwrap_or("a string").to_owned(),
        Some(_) | None => kind_word(kind).to_owned(),
    }
}

/// ` with …`: what an object must hold, and what tells it from its alternatives.
fn with_fields(schema: &Value) -> String {
    let none = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let required =
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let words: Vec<String> = required
        .take(CHOICES)
        .map(|name| match properties.get(name).and_then(|field| field.get("const")) {
            Some(value) => format!("`{name}` {}", short(value)),
            None => format!("`{name}`"),
        })
        .collect();
    if words.is_empty() { String::new() } else { format!(" with {}", listed(&words, "and")) }
}

/// What a format of JSON Schema means.
pub(super) fn format_word(format: &str) -> Option<&'static str> {
    Some(match format {
        "date" => "a date",
        "date-time" => "a date and time with its zone",
        "time" => "a time with its zone",
        "duration" => "a duration",
        "email" | "idn-email" => "an email address",
        "hostname" | "idn-hostname" => "a host name",
        "ipv4" => "an IPv4 address",
        "ipv6" => "an IPv6 address",
        "uri" | "iri" => "an absolute URI",
        "uri-reference" | "iri-reference" => "a URI or a part of one",
        "uri-template" => "a template of URIs",
        "uuid" => "a UUID",
        "json-pointer" => "a JSON pointer",
        "relative-json-pointer" => "a relative JSON pointer",
        "regex" => "a regular expression",
        _ => return None,
    })
}

/// How a value of a format looks.
pub(super) fn format_example(format: &str) -> Option<&'static str> {
    Some(match format {
        "date" => "2030-01-31",
        "date-time" => "2030-01-31T09:30:00Z",
        "time" => "09:30:00Z",
        "duration" => "P1DT12H",
        "email" | "idn-email" => "ada@example.com",
        "hostname" | "idn-hostname" => "api.example.com",
        "ipv4" => "192.0.2.1",
        "ipv6" => "2001:db8::1",
        "uri" | "iri" => "https://example.com/page",
        "uuid" => "123e4567-e89b-12d3-a456-426614174000",
        "json-pointer" => "/lines/0/count",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn long_values_are_cut_between_characters() {
        assert_eq!(short(&json!({"a": [1, null]})), r#"{"a":[1,null]}"#);
        let long = short(&json!("ä".repeat(1000)));
        assert_eq!(long, format!("\"{}…", "ä".repeat(59)));
        assert_eq!(short(&json!("😀".repeat(1000))).chars().count(), 61);
    }

    #[test]
    fn alternatives_are_said_in_words() {
        let root = json!({"$defs": {"card": {
            "type": "object",
            "properties": {"way": {"const": "card"}, "number": {"type": "string"}},
            "required": ["way", "number"],
        }}});
        let said = |schema: Value| wanted(&root, &schema);
        assert_eq!(
            said(json!({"$ref": "#/$defs/card"})).unwrap(),
            r#"an object with `way` "card" and `number`"#
        );
        assert_eq!(said(json!({"type": ["string", "null"]})).unwrap(), "a string or null");
        assert_eq!(said(json!({"enum": ["a", "b", 3]})).unwrap(), r#""a", "b" or 3"#);
        assert_eq!(
            said(json!({"anyOf": [{"type": "null"}, {"type": "string", "format": "email"}]})).unwrap(),
            "null or an email address"
        );
        assert_eq!(said(json!({"minLength": 3})), None);
        assert_eq!(said(json!({"$ref": "#/$defs/none"})), None);
    }

    #[test]
    fn every_format_has_a_word_and_an_example_where_it_has_a_usual_form() {
        let formats = [
            "date",
            "date-time",
            "time",
            "duration",
            "email",
            "hostname",
            "ipv4",
            "ipv6",
            "uri",
            "uri-reference",
            "uri-template",
            "uuid",
            "json-pointer",
            "relative-json-pointer",
            "regex",
        ];
        let told = formats.map(|format| {
            let example = format_example(format).map(|example| format!(", such as {example}"));
            format!("{format}: {}{}", format_word(format).unwrap(), example.unwrap_or_default())
        });
        insta::assert_snapshot!(told.join("\n"), @"
        date: a date, such as 2030-01-31
        date-time: a date and time with its zone, such as 2030-01-31T09:30:00Z
        time: a time with its zone, such as 09:30:00Z
        duration: a duration, such as P1DT12H
        email: an email address, such as ada@example.com
        hostname: a host name, such as api.example.com
        ipv4: an IPv4 address, such as 192.0.2.1
        ipv6: an IPv6 address, such as 2001:db8::1
        uri: an absolute URI, such as https://example.com/page
        uri-reference: a URI or a part of one
        uri-template: a template of URIs
        uuid: a UUID, such as 123e4567-e89b-12d3-a456-426614174000
        json-pointer: a JSON pointer, such as /lines/0/count
        relative-json-pointer: a relative JSON pointer
        regex: a regular expression
        ");
        assert_eq!(format_word("uint32"), None);
    }
}
