//! Schemas as the usual clients take them: an object at the root, and no keyword that makes one drop the tool.

use rmcp::model::JsonObject;
use serde_json::{Map, Value, json};

/// Keywords that clients refuse at the root, where the whole tool, or the whole list, is then gone. The host checks
/// by all of them.
const NOT_AT_THE_ROOT: &[&str] =
    &["oneOf", "anyOf", "allOf", "not", "if", "then", "else", "dependentSchemas"];

/// Keywords that say nothing to a client.
const SILENT: &[&str] = &[DIALECT, "$comment"];

/// The keyword that names the dialect. Of an input it is kept, as it stands at the root; clients that compile the schema of an
/// output look for the dialect, some in vain.
const DIALECT: &str = "$schema";

/// The formats that JSON Schema knows; others, such as `uint32`, are warned of or refused.
const FORMATS: &[&str] = &[
    "date",
    "date-time",
    "duration",
    "email",
    "hostname",
    "idn-email",
    "idn-hostname",
    "ipv4",
    "ipv6",
    "iri",
    "iri-reference",
    "json-pointer",
    "regex",
    "relative-json-pointer",
    "time",
    "uri",
    "uri-reference",
    "uri-template",
    "uuid",
];

/// Keywords whose value is a schema, a list of them, or a table of them by name.
const ONE: &[&str] = &[
    "additionalProperties",
    "contains",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];
const LIST: &[&str] = &["allOf", "anyOf", "oneOf", "prefixItems"];
const TABLE: &[&str] = &["$defs", "definitions", "dependentSchemas", "patternProperties", "properties"];

/// The schema of an input, for a list of tools.
pub(super) fn of_input(schema: &Value) -> JsonObject {
    let mut root = JsonObject::new();
    root.extend(schema.get(DIALECT).map(|dialect| (DIALECT.to_owned(), dialect.clone())));
    root.extend(of_output(schema));
    root
}

/// The schema of an output.
pub(super) fn of_output(schema: &Value) -> JsonObject {
    let Value::Object(mut root) = plain(schema) else { return JsonObject::new() };
    root.retain(|keyword, _| !NOT_AT_THE_ROOT.contains(&keyword.as_str()));
    root.insert("type".to_owned(), json!("object"));
    root.entry("properties").or_insert_with(|| json!({}));
    root
}

/// A schema, and all that it consists of, without what clients do not know.
fn plain(schema: &Value) -> Value {
    let fields = match schema {
        Value::Object(fields) => fields,
        // The schema of whatever there is; some clients know schemas that are objects alone.
        Value::Bool(true) => return json!({}),
        Value::Null | Value::Bool(false) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            return schema.clone();
        }
    };
    let known = |(keyword, value): &(&String, &Value)| {
        let format = keyword.as_str() == "format";
        !keyword.starts_with("x-")
            && !SILENT.contains(&keyword.as_str())
            && (!format || value.as_str().is_some_and(|format| FORMATS.contains(&format)))
    };
    fields
        .iter()
        .filter(known)
        .map(|(keyword, value)| (keyword.clone(), inner(keyword, value)))
        .collect::<Map<_, _>>()
        .into()
}

fn inner(keyword: &str, value: &Value) -> Value {
    match value {
        // `additionalProperties` and its like are known as they are.
        Value::Bool(_) if keyword != "items" => value.clone(),
        Value::Object(table) if TABLE.contains(&keyword) => {
            table.iter().map(|(name, schema)| (name.clone(), plain(schema))).collect::<Map<_, _>>().into()
        }
        Value::Array(list) if LIST.contains(&keyword) => list.iter().map(plain).collect(),
        Value::Object(_) | Value::Bool(_) if ONE.contains(&keyword) => plain(value),
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_json_snapshot;

    use super::*;

    #[test]
    fn what_clients_stumble_over_is_taken_out_and_what_fields_are_called_is_not() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "oneOf": [{ "required": ["a"] }, { "required": ["x-message"] }],
            "properties": {
                "a": { "type": "integer", "format": "uint32", "x-message": "say how many" },
                "x-message": { "type": "string", "format": "date", "const": { "$schema": "kept" } },
                "any": true,
                "list": { "type": "array", "items": { "$ref": "#/$defs/Item" } }
            },
            "$defs": { "Item": { "anyOf": [{ "type": "null" }, { "type": "string", "x-message": "" }] } },
            "additionalProperties": false
        });
        assert_json_snapshot!(Value::Object(of_input(&schema)), @r##"
        {
          "$schema": "https://json-schema.org/draft/2020-12/schema",
          "type": "object",
          "properties": {
            "a": {
              "type": "integer"
            },
            "x-message": {
              "type": "string",
              "format": "date",
              "const": {
                "$schema": "kept"
              }
            },
            "any": {},
            "list": {
              "type": "array",
              "items": {
                "$ref": "#/$defs/Item"
              }
            }
          },
          "$defs": {
            "Item": {
              "anyOf": [
                {
                  "type": "null"
                },
                {
                  "type": "string"
                }
              ]
            }
          },
          "additionalProperties": false
        }
        "##);
        assert!(!of_output(&schema).contains_key("$schema"), "clients compile it");
    }

    #[test]
    fn what_clients_know_stays_as_it_is() {
        let schema = json!({
            "type": "object",
            "properties": { "q": { "type": "string", "minLength": 1, "pattern": "^a", "examples": [true] } },
            "required": ["q"],
            "additionalProperties": { "type": "number" }
        });
        assert_eq!(Value::Object(of_input(&schema)), schema);
    }
}
