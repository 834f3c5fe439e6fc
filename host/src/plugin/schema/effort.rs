//! How long checking a value takes at most: alternatives within alternatives multiply, and so do patterns and texts.

use std::collections::HashMap;
use std::ptr;

use serde_json::Value;

use super::places::{field, in_place, inner, item, references};

/// Looks at parts of a schema for one value: beyond it, checking would hold up a thread noticeably.
pub(super) const MOST: u64 = 5_000_000;

/// Steps of a pattern that take as long as one look.
const STEPS_OF_A_LOOK: u64 = 50;

/// Schemas that refer on and on, deeper than this, are measured anew for each value.
const DEEPEST: usize = 256;

/// The states of each pattern of a schema, as its text: for each byte of a text, matching visits every state once at most.
#[derive(Debug, Default)]
pub(super) struct Patterns(HashMap<String, u64>);

impl Patterns {
    /// Knows the states of these patterns.
    pub(super) fn of(states: HashMap<String, u64>) -> Self {
        Self(states)
    }

    /// The states of the patterns by which a schema checks a text, and of those by which it sorts names.
    fn states(&self, schema: &Value) -> (u64, u64) {
        let of = |pattern: &str| self.0.get(pattern).copied().unwrap_or(0);
        let own = schema.get("pattern").and_then(Value::as_str).map_or(0, of);
        let names = schema.get("patternProperties").and_then(Value::as_object);
        (own, names.into_iter().flatten().map(|(pattern, _)| of(pattern)).sum())
    }
}

/// A schema with all that it refers to written out: how many parts it has, and how many states its patterns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Size {
    parts: u64,
    states: u64,
}

/// How large a schema is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent(Option<Size>);

impl Extent {
    /// Measures a schema; one that refers to itself, or grows beyond `MOST`, has no size.
    pub(super) fn of(root: &Value, patterns: &Patterns) -> Self {
        let size = Size { parts: 0, states: 0 };
        let mut writing = Writing { root, patterns, under_way: Vec::new(), size };
        Self(writing.out(root).then_some(writing.size))
    }

    /// A bound, though a rough one, of the looks at any value of so many parts and bytes of text.
    pub(super) fn looks(self, parts: u64, bytes: u64) -> Option<u64> {
        let size = self.0?;
        let looks = size.parts.saturating_mul(parts);
        Some(looks.saturating_add(size.states.saturating_mul(bytes) / STEPS_OF_A_LOOK))
    }
}

struct Writing<'s> {
    root: &'s Value,
    patterns: &'s Patterns,
    under_way: Vec<*const Value>,
    size: Size,
}

impl<'s> Writing<'s> {
    /// Adds a schema and all that is in it; false where that has no end.
    fn out(&mut self, schema: &'s Value) -> bool {
        let this = ptr::from_ref(schema);
        let (own, names) = self.patterns.states(schema);
        self.size.parts += 1;
        self.size.states = self.size.states.saturating_add(own).saturating_add(names);
        if self.size.parts > MOST / 100 || self.under_way.len() > DEEPEST || self.under_way.contains(&this) {
            return false;
        }
        self.under_way.push(this);
        let parts = inner(schema).into_iter().map(|(_, part)| part);
        let referred = references(self.root, schema).filter_map(|(_, target)| target);
        let ends = parts.chain(referred).all(|part| self.out(part));
        self.under_way.pop();
        ends
    }
}

/// How many parts of a value there are.
pub(super) fn parts(value: &Value) -> u64 {
    match value {
        Value::Array(items) => 1 + items.iter().map(parts).sum::<u64>(),
        Value::Object(fields) => 1 + fields.values().map(parts).sum::<u64>(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
    }
}

/// How many bytes its texts and its names have.
fn bytes(value: &Value) -> u64 {
    match value {
        Value::Array(items) => items.iter().map(bytes).sum(),
        Value::Object(fields) => fields.iter().map(|(name, value)| length(name) + bytes(value)).sum(),
        Value::String(text) => length(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

fn length(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}

/// How many looks checking this value takes at most, whichever alternatives fit; a rougher bound where that
/// is below `enough`.
pub(super) fn looks(root: &Value, patterns: &Patterns, extent: Extent, value: &Value, enough: u64) -> u64 {
    if let Some(bound) = extent.looks(parts(value), bytes(value)).filter(|bound| *bound <= enough) {
        return bound;
    }
    let mut count = Count { root, patterns, known: HashMap::new(), plain: HashMap::new(), steps: 0 };
    count.of(root, value).unwrap_or(u64::MAX)
}

/// Counts looks without looking: what was counted once for a value and a schema is known.
struct Count<'s> {
    root: &'s Value,
    patterns: &'s Patterns,
    known: HashMap<(*const Value, *const Value), u64>,
    /// Of what has nothing inside: looks, and states that each byte of it visits.
    plain: HashMap<*const Value, (u64, u64)>,
    steps: u64,
}

impl<'s> Count<'s> {
    fn of(&mut self, schema: &'s Value, value: &Value) -> Option<u64> {
        self.steps += 1;
        if self.steps > MOST {
            return None;
        }
        if !value.is_object() && !value.is_array() {
            return Some(self.of_text(schema, value.as_str().unwrap_or_default()));
        }
        let pair = (ptr::from_ref(value), ptr::from_ref(schema));
        if let Some(known) = self.known.get(&pair) {
            return Some(*known);
        }
        let mut looks = 1u64;
        for part in in_place(self.root, schema) {
            looks = looks.saturating_add(self.of(part, value)?);
        }
        let (_, sorting) = self.patterns.states(schema);
        for (name, inside) in value.as_object().into_iter().flatten() {
            looks = looks.saturating_add(sorting.saturating_mul(length(name)) / STEPS_OF_A_LOOK);
            if let Some(names) = schema.get("propertyNames") {
                looks = looks.saturating_add(self.of_text(names, name));
            }
            for part in field(schema, name) {
                looks = looks.saturating_add(self.of(part, inside)?);
            }
        }
        for (place, inside) in value.as_array().into_iter().flatten().enumerate() {
            for part in item(schema, place) {
                looks = looks.saturating_add(self.of(part, inside)?);
            }
        }
        self.known.insert(pair, looks);
        Some(looks)
    }

    /// Of a text, or of another value that has nothing inside, which is one without letters.
    fn of_text(&mut self, schema: &'s Value, text: &str) -> u64 {
        let (looks, states) = self.of_plain(schema);
        looks.saturating_add(states.saturating_mul(length(text)) / STEPS_OF_A_LOOK)
    }

    fn of_plain(&mut self, schema: &'s Value) -> (u64, u64) {
        if let Some(known) = self.plain.get(&ptr::from_ref(schema)) {
            return *known;
        }
        let (mut looks, (mut states, _)) = (1u64, self.patterns.states(schema));
        for part in in_place(self.root, schema) {
            let inside = self.of_plain(part);
            looks = looks.saturating_add(inside.0);
            states = states.saturating_add(inside.1);
        }
        self.plain.insert(ptr::from_ref(schema), (looks, states));
        (looks, states)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn alternatives_within_alternatives_multiply() {
        let twice = json!({"properties": {"a": {"oneOf": [{"$ref": "#"}, {"$ref": "#"}]}}});
        let mut value = json!(1);
        let mut before = 0;
        for depth in 0..30 {
            let none = Patterns::default();
            let looks = looks(&twice, &none, Extent::of(&twice, &none), &value, 0);
            assert!(depth < 2 || looks > before * 2, "{depth}: {before} {looks}");
            before = looks;
            value = json!({ "a": value });
        }
        assert!(before > MOST);
    }

    #[test]
    fn what_has_an_end_has_an_extent() {
        let none = Patterns::default();
        let referring = json!({"properties": {"a": {"$ref": "#/$defs/b"}}, "$defs": {"b": {}}});
        assert_eq!(Extent::of(&referring, &none), Extent(Some(Size { parts: 4, states: 0 })));
        assert_eq!(Extent::of(&json!({"properties": {"a": {"$ref": "#"}}}), &none), Extent(None));
        let flat = json!({"items": {}});
        let extent = Extent::of(&flat, &none);
        assert_eq!(looks(&flat, &none, extent, &json!(vec![1; 10]), 0), 11);
        assert_eq!(looks(&flat, &none, extent, &json!(vec![1; 10]), 100), 22);
    }

    #[test]
    fn a_pattern_takes_as_many_steps_as_it_has_states_for_each_byte_that_it_is_matched_with() {
        let patterns = Patterns::of(HashMap::from([("long".to_owned(), 1000), ("x-".to_owned(), 50)]));
        let of = |schema: &Value, value: &Value| {
            let extent = Extent::of(schema, &patterns);
            let (exact, rough) =
                (looks(schema, &patterns, extent, value, 0), extent.looks(parts(value), bytes(value)));
            assert!(rough.is_none_or(|rough| rough >= exact), "{rough:?} {exact}");
            exact
        };
        let text = json!({"properties": {"a": {"pattern": "long"}, "b": {}}});
        assert_eq!(of(&text, &json!({"a": "y".repeat(100)})), 2 + 1000 * 100 / 50);
        assert_eq!(
            of(&text, &json!({"b": "y".repeat(100)})),
            2,
            "it is not matched with what it says nothing about"
        );
        assert_eq!(of(&text, &json!({"a": 7})), 2);
        let alternatives = json!({"properties": {"a": {"anyOf": [{"pattern": "long"}, {"$ref": "#/properties/a/anyOf/0"}]}}});
        assert_eq!(of(&alternatives, &json!({"a": "y".repeat(100)})), 5 + 2 * (1000 * 100 / 50));
        let sorted = json!({"patternProperties": {"x-": {}}, "propertyNames": {"pattern": "long"}});
        assert_eq!(of(&sorted, &json!({"y".repeat(10): 1})), 3 + 10 + 1000 * 10 / 50);
        let list = json!({"items": {"pattern": "long"}});
        assert_eq!(of(&list, &json!(["y".repeat(50), "y".repeat(50)])), 3 + 1000 * 100 / 50);
        let tree = json!({"properties": {"a": {"$ref": "#"}, "b": {"pattern": "long"}}});
        assert_eq!(of(&tree, &json!({"a": {"a": {"b": "y".repeat(50)}}})), 6 + 1000);
    }
}
