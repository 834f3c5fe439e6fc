//! Finding one's way in a schema: what lies inside, what a reference means, what applies at a place of the value.

use std::collections::{HashMap, HashSet};
use std::ptr;
use std::rc::Rc;

use serde_json::Value;

pub(super) use crate::model::pointer::token;

/// Keywords that hold one schema.
const ONE: &[&str] = &[
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "items",
    "unevaluatedItems",
    "contains",
    "not",
    "if",
    "then",
    "else",
    "contentSchema",
];

/// Keywords that hold a list of schemas.
const LISTS: &[&str] = &["allOf", "anyOf", "oneOf", "prefixItems"];

/// Keywords that hold schemas by name.
const MAPS: &[&str] = &["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];

/// Keywords whose schemas speak of the same value as the one that holds them.
const IN_PLACE: &[&str] = &["$ref", "$dynamicRef", "allOf", "if", "then", "else", "dependentSchemas"];

/// The schemas directly inside, with their pointers from here.
pub(super) fn inner(schema: &Value) -> Vec<(String, &Value)> {
    let mut found = Vec::new();
    for (keyword, value) in schema.as_object().into_iter().flatten() {
        let keyword = keyword.as_str();
        if ONE.contains(&keyword) {
            found.push((format!("/{keyword}"), value));
        } else if LISTS.contains(&keyword) {
            let parts = value.as_array().into_iter().flatten().enumerate();
            found.extend(parts.map(|(place, part)| (format!("/{keyword}/{place}"), part)));
        } else if MAPS.contains(&keyword) {
            let parts = value.as_object().into_iter().flatten();
            found.extend(parts.map(|(name, part)| (format!("/{keyword}/{}", token(name)), part)));
        }
    }
    found
}

/// Where the schema's references lead, as far as they lead anywhere.
pub(super) fn references<'s>(
    root: &'s Value,
    schema: &'s Value,
) -> impl Iterator<Item = (&'s str, Option<&'s Value>)> {
    ["$ref", "$dynamicRef"]
        .into_iter()
        .filter_map(|keyword| schema.get(keyword)?.as_str())
        .map(|reference| (reference, resolve(root, reference)))
}

/// The schema that a reference means. One by name alone is not looked for: each look would go through the whole.
pub(super) fn resolve<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    let fragment = decoded(reference.strip_prefix('#')?)?;
    root.pointer(&fragment)
}

/// Text whose bytes may be written as `%2F`.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        bytes.push(match byte {
            b'%' => u8::try_from(digit(rest.next())? * 16 + digit(rest.next())?).ok()?,
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

/// The schemas that speak of the same value as this one: parts, alternatives, what is referred to.
pub(super) fn in_place<'s>(root: &'s Value, schema: &'s Value) -> Vec<&'s Value> {
    let listed =
        ["allOf", "anyOf", "oneOf"].iter().filter_map(|keyword| schema.get(*keyword)?.as_array()).flatten();
    let single = ["if", "then", "else", "not"].iter().filter_map(|keyword| schema.get(*keyword));
    let dependent =
        schema.get("dependentSchemas").and_then(Value::as_object).into_iter().flat_map(|map| map.values());
    let referred = references(root, schema).filter_map(|(_, target)| target);
    listed.chain(single).chain(dependent).chain(referred).collect()
}

/// All that speaks of the same value as these.
pub(super) fn spread<'s>(root: &'s Value, schemas: Vec<&'s Value>) -> Vec<&'s Value> {
    let mut seen: HashSet<*const Value> = HashSet::new();
    let mut waiting = schemas;
    let mut found = Vec::new();
    while let Some(schema) = waiting.pop() {
        if seen.insert(ptr::from_ref(schema)) {
            found.push(schema);
            waiting.extend(in_place(root, schema));
        }
    }
    found
}

/// All schemas that speak of the value at this pointer, whether or not their conditions hold.
pub(super) fn schemas_at<'s>(root: &'s Value, pointer: &str) -> Vec<&'s Value> {
    let mut here = spread(root, vec![root]);
    for token in pointer.split('/').skip(1) {
        let name = token.replace("~1", "/").replace("~0", "~");
        let inside = here.iter().flat_map(|schema| child(schema, &name)).collect();
        here = spread(root, inside);
    }
    here
}

/// The schemas of what has this name: a field, or an item where it is a number.
fn child<'s>(schema: &'s Value, name: &str) -> Vec<&'s Value> {
    let mut found = field(schema, name);
    if let Ok(place) = name.parse::<usize>() {
        found.extend(item(schema, place));
    }
    found
}

/// The schemas of one field, those by pattern among them whether or not it matches.
pub(super) fn field<'s>(schema: &'s Value, name: &str) -> Vec<&'s Value> {
    if let Some(known) = schema.get("properties").and_then(|all| all.get(name)) {
        return vec![known];
    }
    let patterns =
        schema.get("patternProperties").and_then(Value::as_object).into_iter().flat_map(|all| all.values());
    let rest =
        ["additionalProperties", "unevaluatedProperties"].iter().filter_map(|keyword| schema.get(*keyword));
    patterns.chain(rest).collect()
}

/// The schemas of one item.
pub(super) fn item(schema: &Value, place: usize) -> Vec<&Value> {
    let listed = schema.get("prefixItems").and_then(|items| items.get(place));
    let other = ["items", "unevaluatedItems", "contains"].iter().filter_map(|keyword| schema.get(*keyword));
    listed.into_iter().chain(other).collect()
}

/// The schemas on the way to a keyword that speak of the same value as it: the last holds the keyword, those
/// before it refer to it or consist of it.
pub(super) fn reached<'s>(root: &'s Value, keyword_path: &str) -> Vec<&'s Value> {
    let mut way = vec![root];
    let mut schema = root;
    let mut tokens = keyword_path.split('/').skip(1).peekable();
    while let Some(keyword) = tokens.next() {
        let next = if matches!(keyword, "$ref" | "$dynamicRef") {
            schema.get(keyword).and_then(Value::as_str).and_then(|reference| resolve(root, reference))
        } else if ONE.contains(&keyword) && tokens.peek().is_some() {
            schema.get(keyword)
        } else if LISTS.contains(&keyword) || MAPS.contains(&keyword) {
            tokens.next().and_then(|token| schema.get(keyword)?.pointer(&format!("/{token}")))
        } else {
            None
        };
        let Some(next) = next else { break };
        if !IN_PLACE.contains(&keyword) {
            way.clear();
        }
        way.push(next);
        schema = next;
    }
    way
}

/// The names of the fields that any schema at this place knows.
pub(super) fn known_fields<'s>(root: &'s Value, pointer: &str) -> Vec<&'s str> {
    named_by(&schemas_at(root, pointer))
}

fn named_by<'s>(schemas: &[&'s Value]) -> Vec<&'s str> {
    let mut names = Vec::new();
    for schema in schemas {
        let properties = schema.get("properties").and_then(Value::as_object);
        names.extend(properties.into_iter().flat_map(|all| all.keys()).map(String::as_str));
        let required = schema.get("required").and_then(Value::as_array);
        names.extend(required.into_iter().flatten().filter_map(Value::as_str));
    }
    names.sort_unstable();
    names.dedup();
    names
}

/// Known fields, found out once for all places that the same schemas speak of: a list has many.
#[derive(Debug)]
pub(super) struct Known<'s> {
    root: &'s Value,
    parents: HashMap<String, Vec<&'s Value>>,
    names: HashMap<Vec<*const Value>, Rc<[&'s str]>>,
}

impl<'s> Known<'s> {
    /// Knows nothing yet.
    pub(super) fn new(root: &'s Value) -> Self {
        Self { root, parents: HashMap::new(), names: HashMap::new() }
    }

    /// The names of the fields that any schema at this place knows.
    pub(super) fn fields(&mut self, pointer: &str) -> Rc<[&'s str]> {
        let Some((parent, token)) = pointer.rsplit_once('/') else {
            return known_fields(self.root, pointer).into();
        };
        let root = self.root;
        if !self.parents.contains_key(parent) {
            self.parents.insert(parent.to_owned(), schemas_at(root, parent));
        }
        let parents = self.parents.get(parent).map(Vec::as_slice).unwrap_or_default();
        let name = token.replace("~1", "/").replace("~0", "~");
        let here: Vec<&Value> = parents.iter().flat_map(|schema| child(schema, &name)).collect();
        let key = here.iter().map(|schema| ptr::from_ref(*schema)).collect();
        Rc::clone(self.names.entry(key).or_insert_with(|| named_by(&spread(root, here)).into()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn references_are_followed_by_pointer_alone() {
        let root = json!({"$defs": {"a/b": {"type": "string"}, "c": {"$anchor": "see", "type": "null"}}});
        assert_eq!(resolve(&root, "#/$defs/a~1b"), Some(&json!({"type": "string"})));
        assert_eq!(resolve(&root, "#/%24defs/a~1b"), Some(&json!({"type": "string"})));
        assert_eq!(resolve(&root, "#"), Some(&root));
        for bad in ["", "x", "#/none", "#none", "#see", "#/%", "#/%zz", "#/%ff"] {
            assert_eq!(resolve(&root, bad), None, "{bad}");
        }
    }

    #[test]
    fn what_is_known_at_a_place_is_gathered_from_all_parts() {
        let root = json!({
            "properties": {"lines": {"items": {"$ref": "#/$defs/line"}}},
            "allOf": [{"properties": {"who": {}}}],
            "$defs": {"line": {"oneOf": [{"properties": {"count": {}}}, {"$ref": "#/$defs/line"}, {"required": ["all"]}]}},
        });
        assert_eq!(known_fields(&root, ""), ["lines", "who"]);
        assert_eq!(known_fields(&root, "/lines/3"), ["all", "count"]);
        assert!(known_fields(&root, "/who/x").is_empty());
    }
}
