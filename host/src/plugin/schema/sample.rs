//! The least that a schema asks for, as an example of it.

use serde_json::{Map, Value, json};

use super::guide::{Guide, Place};
use super::words;

/// So deep an example is shown: a reader sees the form by then.
const DEEPEST: usize = 3;

/// An object with the fields that the schema asks for, each with its own example or with a value of its kind.
pub(super) fn sample(guide: &Guide<'_>) -> Value {
    object(guide, &guide.root(), DEEPEST)
}

fn object<'s>(guide: &Guide<'s>, place: &Place<'s>, depth: usize) -> Value {
    let fields = guide.asked_for(place).into_iter().map(|name| {
        let value = value(guide, &guide.field(place, name), depth);
        (name.to_owned(), value)
    });
    Value::Object(fields.collect::<Map<_, _>>())
}

fn value<'s>(guide: &Guide<'s>, place: &Place<'s>, depth: usize) -> Value {
    if let Some(example) = place.iter().find_map(|schema| words::example(schema)) {
        return example.clone();
    }
    let kinds = place.iter().filter_map(|schema| schema.get("type"));
    let kind = kinds.filter_map(|kind| kind.as_str().or_else(|| kind.get(0)?.as_str())).next();
    match kind {
        Some("integer" | "number") => json!(0),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => depth.checked_sub(1).map_or_else(|| json!({}), |depth| object(guide, place, depth)),
        Some("null") => Value::Null,
        Some(_) | None => json!("…"),
    }
}
