//! The schema of an output as it is shown to callers: as loose as hiding, masking and trimming may make the output.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::guide::{Guide, Names, SCALAR};
use super::places::resolve;
use crate::model::pointer::Pointer;
use crate::model::secret::Mask;

/// Keywords that a list may break that was cut, a text that was cut or masked, or an object that lost a field. What
/// depends on a part that holds or does not hold is among them: either may change.
const BREAKABLE: &[&str] = &[
    "contains",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "dependentRequired",
    "else",
    "format",
    "if",
    "maxLength",
    "minContains",
    "maxContains",
    "minItems",
    "minLength",
    "minProperties",
    "not",
    "pattern",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
    "uniqueItems",
];

/// Keywords that hold one schema, a list of them, or a table of them by name.
const ONE: &[&str] = &["additionalProperties", "items"];
const LISTS: &[&str] = &["allOf", "anyOf", "oneOf", "prefixItems"];
const TABLES: &[&str] = &["$defs", "definitions", "dependentSchemas", "patternProperties", "properties"];

/// What the output goes through before it is shown.
#[derive(Debug, Clone, Copy)]
pub struct Shaping<'a> {
    /// What nobody but the tool sees.
    pub hidden: &'a [Pointer],
    /// Values that never leave.
    pub mask: &'a Mask,
    /// The most bytes of it.
    pub reply: usize,
}

/// The schema by which every output that fits the other, once it is shaped, is valid.
pub fn advertised(schema: &Value, shaping: Shaping<'_>) -> Value {
    let names = Names::of(schema);
    let whole = Guide::new(schema, &names).least(shaping.reply).is_some();
    let lost: BTreeSet<&str> = shaping.hidden.iter().filter_map(Pointer::field).collect();
    // What is hidden by place or by `*` may be any field, and moves the items behind it.
    let any = shaping.hidden.iter().any(|pointer| pointer.field().is_none());
    let mut relaxed = Relaxing { shaping, lost, any, whole }.relaxed(schema);
    let root = relaxed.clone();
    sever(&root, &mut relaxed);
    relaxed
}

struct Relaxing<'a> {
    shaping: Shaping<'a>,
    lost: BTreeSet<&'a str>,
    any: bool,
    /// Whether all that is asked for fits, so that it stays.
    whole: bool,
}

impl Relaxing<'_> {
    fn relaxed(&self, schema: &Value) -> Value {
        let Value::Object(fields) = schema else { return schema.clone() };
        let mut relaxed = Map::new();
        let mut either = None;
        for (keyword, value) in fields {
            match (keyword.as_str(), value) {
                (keyword, _) if BREAKABLE.contains(&keyword) => {}
                ("prefixItems", _) if self.any => {}
                ("items", _) if self.any && fields.contains_key("prefixItems") => {}
                // A name that was masked matches its pattern no more.
                ("additionalProperties", _) if fields.contains_key("patternProperties") => {}
                ("required", Value::Array(names)) => {
                    let kept = self.kept(names);
                    if !kept.is_empty() {
                        relaxed.insert("required".to_owned(), kept.into());
                    }
                }
                ("type", _) if self.shaping.mask.knows_numbers() => {
                    relaxed.insert("type".to_owned(), or_text(value));
                }
                ("const", value) if !self.stays(value) => {}
                ("enum", Value::Array(values)) if !values.iter().all(|value| self.stays(value)) => {}
                // Loosened, several may hold.
                ("oneOf", Value::Array(parts)) => {
                    either = Some(parts.iter().map(|part| self.relaxed(part)).collect::<Value>());
                }
                (keyword, _) => {
                    relaxed.insert(keyword.to_owned(), self.inner(keyword, value));
                }
            }
        }
        if let Some(parts) = either {
            if relaxed.contains_key("anyOf") {
                let all = relaxed.entry("allOf").or_insert_with(|| json!([]));
                all.as_array_mut().into_iter().for_each(|all| all.push(json!({ "anyOf": parts })));
            } else {
                relaxed.insert("anyOf".to_owned(), parts);
            }
        }
        relaxed.into()
    }

    fn inner(&self, keyword: &str, value: &Value) -> Value {
        match value {
            Value::Object(table) if TABLES.contains(&keyword) => table
                .iter()
                .map(|(name, schema)| (name.clone(), self.relaxed(schema)))
                .collect::<Map<_, _>>()
                .into(),
            Value::Array(list) if LISTS.contains(&keyword) => {
                list.iter().map(|part| self.relaxed(part)).collect()
            }
            Value::Object(_) if ONE.contains(&keyword) => self.relaxed(value),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_) => value.clone(),
        }
    }

    /// The fields that are asked for and always there.
    fn kept(&self, names: &[Value]) -> Vec<Value> {
        if self.any || !self.whole {
            return Vec::new();
        }
        let lost = |name: &&Value| name.as_str().is_some_and(|name| self.lost.contains(name));
        names.iter().filter(|name| !lost(name)).cloned().collect()
    }

    /// Whether a value is always shown as it is.
    fn stays(&self, value: &Value) -> bool {
        let text = value.to_string();
        let plain = match value {
            Value::Null | Value::Bool(_) => true,
            Value::Number(_) => self.shaping.mask.text(&text).is_none(),
            Value::String(inner) => self.shaping.mask.text(inner).is_none(),
            Value::Array(_) | Value::Object(_) => false,
        };
        plain && text.len() <= SCALAR
    }
}

/// A number that is masked becomes a text.
fn or_text(types: &Value) -> Value {
    let mut all: Vec<Value> = types.as_array().cloned().unwrap_or_else(|| vec![types.clone()]);
    let has = |all: &[Value], name: &str| all.iter().any(|one| one == name);
    if (has(&all, "number") || has(&all, "integer")) && !has(&all, "string") {
        all.push("string".into());
    }
    if all.len() == 1 { types.clone() } else { all.into() }
}

/// Takes out references to what is not there any more.
fn sever(root: &Value, schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            for keyword in ["$ref", "$dynamicRef"] {
                let target = fields.get(keyword).and_then(Value::as_str);
                if target.is_some_and(|target| resolve(root, target).is_none()) {
                    fields.shift_remove(keyword);
                }
            }
            fields.values_mut().for_each(|inner| sever(root, inner));
        }
        Value::Array(items) => items.iter_mut().for_each(|inner| sever(root, inner)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
