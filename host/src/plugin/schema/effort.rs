//! How long checking a value takes at most: alternatives within alternatives multiply.

use std::collections::HashMap;
use std::ptr;

use serde_json::Value;

use super::places::{field, in_place, inner, item, references};

/// Looks at parts of a schema for one value: beyond it, checking would hold up a thread noticeably.
pub(super) const MOST: u64 = 5_000_000;

/// Schemas that refer on and on, deeper than this, are measured anew for each value.
const DEEPEST: usize = 256;

/// The size of a schema with all that it refers to written out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent(Option<u64>);

impl Extent {
    /// Measures a schema; one that refers to itself, or grows beyond `MOST`, has no size.
    pub(super) fn of(root: &Value) -> Self {
        let mut writing = Writing { root, under_way: Vec::new(), size: 0 };
        Self(writing.out(root).then_some(writing.size))
    }
}

struct Writing<'s> {
    root: &'s Value,
    under_way: Vec<*const Value>,
    size: u64,
}

impl<'s> Writing<'s> {
    /// Adds a schema and all that is in it; false where that has no end.
    fn out(&mut self, schema: &'s Value) -> bool {
        let this = ptr::from_ref(schema);
        self.size += 1;
        if self.size > MOST / 100 || self.under_way.len() > DEEPEST || self.under_way.contains(&this) {
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

/// How many looks checking this value takes at most, whichever alternatives fit; a rougher bound where that
/// is below `enough`.
pub(super) fn looks(root: &Value, extent: Extent, value: &Value, enough: u64) -> u64 {
    if let Some(bound) =
        extent.0.map(|size| size.saturating_mul(parts(value))).filter(|bound| *bound <= enough)
    {
        return bound;
    }
    let mut count = Count { root, known: HashMap::new(), plain: HashMap::new(), steps: 0 };
    count.of(root, value).unwrap_or(u64::MAX)
}

/// Counts looks without looking: what was counted once for a value and a schema is known.
struct Count<'s> {
    root: &'s Value,
    known: HashMap<(*const Value, *const Value), u64>,
    plain: HashMap<*const Value, u64>,
    steps: u64,
}

impl<'s> Count<'s> {
    fn of(&mut self, schema: &'s Value, value: &Value) -> Option<u64> {
        self.steps += 1;
        if self.steps > MOST {
            return None;
        }
        if !value.is_object() && !value.is_array() {
            return self.of_plain(schema);
        }
        let pair = (ptr::from_ref(value), ptr::from_ref(schema));
        if let Some(known) = self.known.get(&pair) {
            return Some(*known);
        }
        let mut looks = 1u64;
        for part in in_place(self.root, schema) {
            looks = looks.saturating_add(self.of(part, value)?);
        }
        for (name, inside) in value.as_object().into_iter().flatten() {
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

    /// Of a value that has nothing inside.
    fn of_plain(&mut self, schema: &'s Value) -> Option<u64> {
        if let Some(known) = self.plain.get(&ptr::from_ref(schema)) {
            return Some(*known);
        }
        let mut looks = 1u64;
        for part in in_place(self.root, schema) {
            looks = looks.saturating_add(self.of(part, &Value::Null)?);
        }
        self.plain.insert(ptr::from_ref(schema), looks);
        Some(looks)
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
            let looks = looks(&twice, Extent::of(&twice), &value, 0);
            assert!(depth < 2 || looks > before * 2, "{depth}: {before} {looks}");
            before = looks;
            value = json!({ "a": value });
        }
        assert!(before > MOST);
    }

    #[test]
    fn what_has_an_end_has_an_extent() {
        assert_eq!(
            Extent::of(&json!({"properties": {"a": {"$ref": "#/$defs/b"}}, "$defs": {"b": {}}})),
            Extent(Some(4))
        );
        assert_eq!(Extent::of(&json!({"properties": {"a": {"$ref": "#"}}})), Extent(None));
        let flat = json!({"items": {}});
        assert_eq!(looks(&flat, Extent::of(&flat), &json!(vec![1; 10]), 0), 11);
        assert_eq!(looks(&flat, Extent::of(&flat), &json!(vec![1; 10]), 100), 22);
    }
}
