//! What a schema says of each place of a value: which fields it names there, and which it asks for.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::ptr;
use std::rc::Rc;

use jsonschema::Validator;
use serde_json::{Map, Value};

use super::accept::matcher;
use super::places::{item, spread};

/// More than any text that is left of a long one, and any number.
pub const SCALAR: usize = 96;

/// What may be asked for within what is asked for, before it counts as endless.
const DEEPEST: usize = 32;

/// Keywords that speak of fields.
const OF_FIELDS: &[&str] =
    &["properties", "patternProperties", "additionalProperties", "unevaluatedProperties"];

/// What pattern a name matches, compiled once for a schema.
#[derive(Debug, Default)]
pub(super) struct Names(HashMap<String, Validator>);

impl Names {
    /// Compiles the patterns by which a schema, anywhere in it, names fields.
    pub(super) fn of(schema: &Value) -> Self {
        let mut names = Self::default();
        names.add(schema);
        names
    }

    fn add(&mut self, schema: &Value) {
        match schema {
            Value::Object(fields) => {
                let patterns = fields.get("patternProperties").and_then(Value::as_object);
                for pattern in patterns.into_iter().flat_map(Map::keys) {
                    self.0.extend(matcher(pattern).map(|compiled| (pattern.clone(), compiled)));
                }
                fields.values().for_each(|inner| self.add(inner));
            }
            Value::Array(items) => items.iter().for_each(|inner| self.add(inner)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn matches(&self, pattern: &str, name: &Value) -> bool {
        // One that does not compile is refused at load.
        self.0.get(pattern).is_none_or(|compiled| compiled.is_valid(name))
    }
}

/// The schemas that speak of one place of a value.
pub type Place<'s> = Rc<[&'s Value]>;

/// Leads through a value, from place to place.
#[derive(Debug)]
pub struct Guide<'s> {
    root: &'s Value,
    names: &'s Names,
    /// Found out once for all places that the same schemas speak of: a list has many.
    spreads: RefCell<HashMap<Vec<*const Value>, Place<'s>>>,
}

impl<'s> Guide<'s> {
    pub(super) fn new(root: &'s Value, names: &'s Names) -> Self {
        Self { root, names, spreads: RefCell::default() }
    }

    /// The place of the whole value.
    pub fn root(&self) -> Place<'s> {
        self.spread(vec![self.root])
    }

    /// The place of a field.
    pub fn field(&self, place: &Place<'s>, name: &str) -> Place<'s> {
        let name_value = Value::from(name);
        let mut schemas = Vec::new();
        for schema in place.iter().copied() {
            let known = schema.get("properties").and_then(|all| all.get(name));
            let patterns = schema.get("patternProperties").and_then(Value::as_object);
            let matching = patterns.into_iter().flatten();
            let matching = matching.filter(|(pattern, _)| self.names.matches(pattern, &name_value));
            let before = schemas.len();
            schemas.extend(known.into_iter().chain(matching.map(|(_, schema)| schema)));
            if schemas.len() == before {
                schemas.extend(rest(schema));
            }
        }
        self.spread(schemas)
    }

    /// The place of an item.
    pub fn item(&self, place: &Place<'s>, index: usize) -> Place<'s> {
        self.spread(place.iter().flat_map(|schema| item(schema, index)).collect())
    }

    /// Whether the field is named there, or nothing is said of fields at all.
    pub fn names(&self, place: &Place<'s>, name: &str) -> bool {
        let name_value = Value::from(name);
        let named = |schema: &&Value| {
            let patterns = schema.get("patternProperties").and_then(Value::as_object);
            let mut patterns = patterns.into_iter().flat_map(Map::keys);
            patterns.any(|pattern| self.names.matches(pattern, &name_value))
                || rest(schema).any(|rest| *rest != Value::Bool(false))
                || schema.get("const").is_some()
                || schema.get("enum").is_some()
        };
        let silent = |schema: &&Value| OF_FIELDS.iter().all(|keyword| schema.get(*keyword).is_none());
        self.spells(place, name) || place.iter().any(named) || place.iter().all(silent)
    }

    /// Whether the field's name stands in the schema as it is.
    pub fn spells(&self, place: &Place<'s>, name: &str) -> bool {
        place.iter().any(|schema| {
            schema.get("properties").is_some_and(|all| all.get(name).is_some())
                || required(schema).any(|field| field == name)
        })
    }

    /// Whether the field is asked for there.
    pub fn asks_for(&self, place: &Place<'s>, name: &str) -> bool {
        place.iter().any(|schema| required(schema).any(|field| field == name))
    }

    /// The fields that are asked for there, in the order of their names.
    pub(super) fn asked_for(&self, place: &Place<'s>) -> BTreeSet<&'s str> {
        place.iter().flat_map(|schema| required(schema)).collect()
    }

    /// The most bytes that may be left of a value once all that can be cut is cut, and what is asked for stays; none
    /// where that is more than so many.
    pub fn least(&self, most: usize) -> Option<usize> {
        self.least_at(&self.root(), most, DEEPEST)
    }

    fn least_at(&self, place: &Place<'s>, most: usize, depth: usize) -> Option<usize> {
        let names = self.asked_for(place);
        let mut bytes = 2;
        for name in names {
            let left = most.checked_sub(bytes)?;
            // Quotes, colon and comma; a name may be escaped.
            bytes += name.len() * 6 + 4;
            bytes += self.least_at(&self.field(place, name), left, depth.checked_sub(1)?)?;
        }
        Some(bytes.max(SCALAR)).filter(|bytes| *bytes <= most)
    }

    fn spread(&self, schemas: Vec<&'s Value>) -> Place<'s> {
        let key: Vec<*const Value> = schemas.iter().map(|schema| ptr::from_ref(*schema)).collect();
        if let Some(known) = self.spreads.borrow().get(&key) {
            return Rc::clone(known);
        }
        let place: Place<'s> = spread(self.root, schemas).into();
        self.spreads.borrow_mut().insert(key, Rc::clone(&place));
        place
    }
}

/// The schemas of fields that are named in no other way.
fn rest(schema: &Value) -> impl Iterator<Item = &Value> {
    ["additionalProperties", "unevaluatedProperties"].into_iter().filter_map(|keyword| schema.get(keyword))
}

fn required(schema: &Value) -> impl Iterator<Item = &str> {
    schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}
