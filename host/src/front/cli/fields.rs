//! A schema as a person reads it: a line for each field.

use serde_json::Value;

use super::layout::table;

/// How deep fields within fields are shown.
const DEEPEST: usize = 5;

/// The fields of a schema whose root is an object, as a table; `whose` heads the column of names.
pub(super) fn fields(schema: &Value, whose: &str) -> String {
    let mut rows = Vec::new();
    within(schema, schema, "", DEEPEST, &mut rows);
    if rows.is_empty() { "no fields".to_owned() } else { table([whose, "TYPE", "REQUIRED", "MEANING"], rows) }
}

type Row = [String; 4];

fn within(root: &Value, schema: &Value, before: &str, deep: usize, rows: &mut Vec<Row>) {
    let schema = resolved(root, schema);
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let (field, path) = (merged(root, field), format!("{before}{name}"));
        let needed = if required.contains(&name.as_str()) { "yes" } else { "no" };
        rows.push([path.clone(), kind(root, &field), needed.to_owned(), meaning(&field)]);
        let inner = if field["items"].is_object() { &field["items"] } else { &field };
        let dots = if field["items"].is_object() { "[]." } else { "." };
        if deep > 1 {
            within(root, inner, &format!("{path}{dots}"), deep - 1, rows);
        }
    }
}

/// What a reference leads to, within the schema.
fn resolved<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let target = schema["$ref"].as_str().and_then(|reference| root.pointer(reference.strip_prefix('#')?));
    target.unwrap_or(schema)
}

/// A field with what its reference leads to; what stands beside the reference goes first.
fn merged(root: &Value, field: &Value) -> Value {
    let only = |schema: &Value| {
        let choices = schema["anyOf"].as_array().or(schema["oneOf"].as_array())?;
        let mut some = choices.iter().filter(|choice| choice["type"] != "null");
        some.next().filter(|_| some.next().is_none()).cloned()
    };
    let mut merged = resolved(root, field).clone();
    if let Some(choice) = only(&merged) {
        merged = resolved(root, &choice).clone();
    }
    for (key, value) in field.as_object().into_iter().flatten() {
        if let (Some(fields), false) =
            (merged.as_object_mut(), matches!(key.as_str(), "$ref" | "anyOf" | "oneOf"))
        {
            fields.insert(key.clone(), value.clone());
        }
    }
    merged
}

fn kind(root: &Value, field: &Value) -> String {
    let words = |values: &Vec<Value>| values.iter().map(ToString::to_string).collect::<Vec<_>>().join(" | ");
    if let Some(values) = field["enum"].as_array() {
        return words(values);
    }
    if let Some(value) = field.get("const") {
        return value.to_string();
    }
    if let Some(choices) = field["oneOf"].as_array().or(field["anyOf"].as_array()) {
        let kinds = choices.iter().map(|choice| kind(root, resolved(root, choice)));
        return kinds.filter(|kind| kind != "null").collect::<Vec<_>>().join(" | ");
    }
    let named = match &field["type"] {
        Value::String(name) => name.clone(),
        Value::Array(names) => {
            let names = names.iter().filter_map(Value::as_str).filter(|name| *name != "null");
            names.collect::<Vec<_>>().join(" | ")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => "anything".to_owned(),
    };
    match (named.as_str(), field["items"].is_object()) {
        ("array", true) => format!("list of {}", kind(root, &merged(root, &field["items"]))),
        ("array", false) => "list".to_owned(),
        (_, _) => named,
    }
}

/// What a field says of itself: its description, its bounds, an example.
fn meaning(field: &Value) -> String {
    const BOUNDS: &[(&str, &str)] = &[
        ("format", "in the format"),
        ("pattern", "matches"),
        ("minimum", "at least"),
        ("maximum", "at most"),
        ("exclusiveMinimum", "above"),
        ("exclusiveMaximum", "below"),
    ];
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut parts: Vec<String> = field["description"]
        .as_str()
        .map(|text| text.trim_end_matches('.').replace('\n', " "))
        .into_iter()
        .collect();
    let many = |least: &str, most: &str, of: &str| match (&field[least], &field[most]) {
        (Value::Null, Value::Null) => None,
        (least, Value::Null) => Some(format!("{of}, at least {least}")),
        (Value::Null, most) => Some(format!("{of}, at most {most}")),
        (least, most) => Some(format!("{of}, {least} to {most}")),
    };
    let bound = |(key, word): &(&str, &str)| {
        field.get(*key).filter(|value| !value.is_null()).map(|value| format!("{word} {}", plain(value)))
    };
    parts.extend(BOUNDS.iter().filter_map(bound));
    parts.extend(many("minLength", "maxLength", "letters"));
    parts.extend(many("minItems", "maxItems", "items"));
    parts.extend(bound(&("default", "else")));
    let examples = field["examples"].as_array().into_iter().flatten().chain(field.get("example"));
    parts.extend(examples.take(1).map(|example| format!("such as {}", plain(example))));
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_is_read_as_a_table() {
        let schema = json!({
            "type": "object",
            "required": ["order_id", "lines"],
            "properties": {
                "order_id": { "type": "string", "minLength": 1, "maxLength": 64, "description": "The order's number.", "examples": ["A-1003"] },
                "priority": { "$ref": "#/$defs/Priority", "default": "normal" },
                "note": { "type": ["string", "null"] },
                "lines": { "type": "array", "minItems": 1, "items": { "$ref": "#/$defs/Line" } },
                "to": { "anyOf": [{ "$ref": "#/$defs/Address" }, { "type": "null" }] },
                "any": true,
            },
            "$defs": {
                "Priority": { "type": "string", "enum": ["low", "normal"], "description": "How soon." },
                "Line": { "type": "object", "required": ["count"], "properties": { "count": { "type": "integer", "minimum": 1 } } },
                "Address": { "type": "object", "properties": { "town": { "type": "string" } } },
            },
        });
        assert_snapshot!(fields(&schema, "INPUT"), @r#"
        INPUT          TYPE              REQUIRED  MEANING
        order_id       string            yes       The order's number; letters, 1 to 64; such as A-1003
        priority       "low" | "normal"  no        How soon; else normal
        note           string            no
        lines          list of object    yes       items, at least 1
        lines[].count  integer           yes       at least 1
        to             object            no
        to.town        string            no
        any            anything          no
        "#);
    }

    #[test]
    fn a_schema_that_holds_itself_ends() {
        let schema = json!({
            "type": "object",
            "properties": { "next": { "$ref": "#" } },
        });
        assert_eq!(fields(&schema, "INPUT").lines().count(), 1 + DEEPEST);
    }

    #[test]
    fn a_schema_without_fields_says_so() {
        assert_eq!(fields(&json!({ "type": "object" }), "INPUT"), "no fields");
    }
}
