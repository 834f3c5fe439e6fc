//! JSON Schemas from types.

use schemars::generate::SchemaSettings;
use schemars::transform::{RestrictFormats, transform_subschemas};
use schemars::{JsonSchema, Schema};
use serde_json::Value;

/// The schema of what a model fills in. Objects are closed.
pub(crate) fn of_input<T: JsonSchema>() -> Value {
    settings().with_transform(close).into_generator().into_root_schema_for::<T>().into()
}

/// The schema of what the caller gets.
pub(crate) fn of_output<T: JsonSchema>() -> Value {
    settings().for_serialize().into_generator().into_root_schema_for::<T>().into()
}

/// JSON Schema 2020-12 as a model reads it best: in one piece, and without the names that Rust has
/// for types and for the widths of numbers.
fn settings() -> SchemaSettings {
    SchemaSettings::draft2020_12()
        .with(|settings| settings.inline_subschemas = true)
        .with_transform(RestrictFormats::default())
        .with_transform(|root: &mut Schema| {
            root.remove("$schema");
            root.remove("title");
            root.remove("description");
        })
}

/// Closes every object that names its properties and does not say otherwise.
fn close(schema: &mut Schema) {
    let says = |key: &str| schema.get(key).is_some();
    if says("properties") && !says("additionalProperties") && !says("unevaluatedProperties") {
        if ["allOf", "anyOf", "oneOf", "if"].into_iter().any(says) {
            schema.insert("unevaluatedProperties".to_owned(), false.into());
            return close_properties(schema);
        }
        schema.insert("additionalProperties".to_owned(), false.into());
    }
    transform_subschemas(&mut close, schema);
}

/// Closes what is inside an object that is put together from parts. The parts themselves stay open,
/// since each sees only its own properties.
fn close_properties(schema: &mut Schema) {
    for (key, value) in schema.as_object_mut().into_iter().flatten() {
        match (key.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                properties.values_mut().filter_map(|value| value.try_into().ok()).for_each(close);
            }
            ("allOf" | "anyOf" | "oneOf", Value::Array(parts)) => {
                parts.iter_mut().filter_map(|p| p.try_into().ok()).for_each(close_properties);
            }
            ("if" | "then" | "else", part) => {
                part.try_into().into_iter().for_each(close_properties);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};
    use serde_json::json;

    use super::*;

    /// An order.
    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Order {
        /// Who ordered.
        #[schemars(length(min = 1), extend("x-message" = "say who ordered"))]
        customer: String,
        lines: Vec<Line>,
        labels: BTreeMap<String, String>,
        note: Option<String>,
    }

    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Line {
        count: u32,
    }

    #[test]
    fn an_input_is_closed_at_every_depth_and_in_one_piece() {
        assert_eq!(
            of_input::<Order>(),
            json!({
                "type": "object",
                "properties": {
                    "customer": {
                        "type": "string",
                        "description": "Who ordered.",
                        "minLength": 1,
                        "x-message": "say who ordered",
                    },
                    "lines": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": { "count": { "type": "integer", "minimum": 0 } },
                            "required": ["count"],
                            "additionalProperties": false,
                        },
                    },
                    "labels": { "type": "object", "additionalProperties": { "type": "string" } },
                    "note": { "type": ["string", "null"] },
                },
                "required": ["customer", "lines", "labels"],
                "additionalProperties": false,
            })
        );
    }

    #[test]
    fn an_output_stays_open() {
        assert!(of_output::<Order>().get("additionalProperties").is_none());
    }

    #[derive(Deserialize, JsonSchema)]
    struct Payment {
        #[expect(dead_code, reason = "only its schema is wanted")]
        line: Line,
        #[serde(flatten)]
        #[expect(dead_code, reason = "only its schema is wanted")]
        way: Way,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(tag = "way", rename_all = "snake_case")]
    enum Way {
        #[expect(dead_code, reason = "only its schema is wanted")]
        Card {
            number: String,
        },
        Cash,
    }

    #[test]
    fn an_input_put_together_from_parts_is_closed_as_a_whole() {
        let schema = of_input::<Payment>();
        assert_eq!(schema["unevaluatedProperties"], json!(false));
        assert_eq!(schema["properties"]["line"]["additionalProperties"], json!(false));
        assert!(schema["oneOf"][0].get("additionalProperties").is_none());
        assert!(of_input::<Way>()["oneOf"][0]["additionalProperties"] == json!(false));
    }
}
