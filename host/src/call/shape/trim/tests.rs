//! What is left of values that are too long, and that it fits both its room and the schema that callers see.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::model::pointer::{Pointer, Unshown};
use crate::model::secret::{Mask, SecretValue};
use crate::plugin::schema::{Schema, Shaping, advertised};

fn trimmed(value: &Value, most: usize) -> (Value, Trimmed) {
    let mut value = value.clone();
    let trimmed = trim(&mut value, most, None).unwrap();
    (value, trimmed)
}

#[test]
fn what_fits_stays_as_it_is() {
    let mut value = json!({ "a": [1, 2, 3], "b": "x\n" });
    let before = value.clone();
    assert_eq!(trim(&mut value, 1000, None), None);
    assert_eq!(value, before);
}

#[test]
fn a_long_text_is_cut_between_characters_and_says_how_much_is_left_out() {
    let (value, trimmed) = trimmed(&json!({ "text": "ä€🎫".repeat(1000), "id": 7 }), 300);
    assert_eq!(value["id"], 7);
    let text = value["text"].as_str().unwrap();
    let (kept, rest) = text.split_once("… [").unwrap();
    let left_out: usize = rest.strip_suffix(" characters more]").unwrap().parse().unwrap();
    assert_eq!(kept.chars().count() + left_out, 3000);
    assert!("ä€🎫".repeat(1000).starts_with(kept) && kept.len() > 150, "{kept}");
    assert_eq!(trimmed.cuts, [], "the text says it itself");
}

#[test]
fn a_long_list_keeps_its_first_items_whole_and_the_rest_is_counted() {
    let items: Vec<Value> = (0..1000).map(|id| json!({ "id": id, "name": "x".repeat(40) })).collect();
    let (value, trimmed) = trimmed(&json!({ "total": 1000, "items": items }), 2000);
    let kept = value["items"].as_array().unwrap();
    assert_eq!(kept.as_slice(), &items[..kept.len()]);
    assert!(kept.len() > 25, "{}", kept.len());
    let left_out = u64::try_from(1000 - kept.len()).unwrap();
    assert_eq!(trimmed.cuts, [Cut { at: "/items".to_owned(), items: left_out, fields: 0 }]);
    assert_eq!(value["total"], 1000);
}

#[test]
fn every_field_stays_before_any_is_told_in_full() {
    let long = |letter: &str| letter.repeat(5000);
    let value = json!({ "a": long("a"), "b": { "c": long("c"), "d": [long("d"), long("e")] }, "z": "last" });
    let (value, _) = trimmed(&value, 1200);
    assert_eq!(value["z"], "last");
    for place in ["/a", "/b/c", "/b/d/0"] {
        assert!(value.pointer(place).unwrap().as_str().unwrap().contains("characters more"), "{place}");
    }
}

#[test]
fn a_map_without_end_loses_its_last_fields() {
    let fields: Map<String, Value> = (0..5000).map(|key| (format!("key-{key}"), json!(key))).collect();
    let (value, trimmed) = trimmed(&Value::Object(fields), 1000);
    let kept = value.as_object().unwrap().len();
    assert_eq!(
        trimmed.cuts,
        [Cut { at: String::new(), items: 0, fields: u64::try_from(5000 - kept).unwrap() }]
    );
    assert!(kept > 30 && value.to_string().len() <= 1000, "{kept}");
}

/// Schemas and values that fit them, put together side by side.
fn schema_and_value() -> impl Strategy<Value = (Value, Value)> {
    let leaf = prop_oneof![
        "[a-c]{0,6}".prop_map(|text| (json!({ "type": "string", "pattern": "^[a-c]*$", "maxLength": 6 }), json!(text))),
        ".{0,300}".prop_map(|text| (json!({ "type": "string" }), json!(text))),
        (any::<i32>()).prop_map(|number| (json!({ "type": "integer" }), json!(number))),
        Just((json!({ "enum": ["red", "hunter2", 3] }), json!("hunter2"))),
        Just((json!({ "enum": ["red", 1234, 3] }), json!(1234))),
        Just((json!({ "type": "number", "minimum": 5 }), json!(1234))),
        Just((json!({ "type": "string", "format": "date" }), json!("2024-01-02"))),
        Just((json!({ "const": "x".repeat(200) }), json!("x".repeat(200)))),
        Just((json!({}), json!({ "free": ["a", { "hunter2": 1234 }] }))),
        Just((json!({ "oneOf": [{ "const": "a" }, { "const": "b" }, { "type": "string", "minLength": 2 }] }), json!("abc"))),
        Just((json!({ "not": { "type": "string", "minLength": 400 } }), json!("z".repeat(350)))),
        prop::collection::btree_map("[a-z]{1,9}", "[a-z ]{0,90}", 0..40).prop_map(|map| {
            let schema = json!({ "type": "object", "additionalProperties": { "type": "string" }, "minProperties": map.len() });
            (schema, json!(map))
        }),
    ];
    leaf.prop_recursive(4, 40, 8, |inner| {
        let fields = prop::collection::btree_map("[a-e]", (inner.clone(), any::<[bool; 2]>()), 1..6);
        let object = fields.prop_map(|fields| {
            let (mut properties, mut required, mut value) = (Map::new(), Vec::new(), Map::new());
            for (name, ((schema, field), [asked_for, named])) in fields {
                if named || asked_for {
                    properties.insert(name.clone(), schema);
                }
                if asked_for {
                    required.push(name.clone());
                }
                value.insert(name, field);
            }
            let schema = json!({ "type": "object", "properties": properties, "required": required });
            (schema, Value::Object(value))
        });
        let list = prop_oneof![
            (inner.clone(), 0..30_usize).prop_map(|((schema, item), times)| {
                (json!({ "type": "array", "items": schema, "minItems": times }), vec![item; times].into())
            }),
            (inner.clone(), inner.clone()).prop_map(|((one, a), (other, b))| {
                (
                    json!({ "type": "array", "prefixItems": [one, other], "contains": {} }),
                    json!([a, b, "more"]),
                )
            }),
        ];
        let parts = (inner.clone(), inner).prop_map(|((one, value), (other, _))| {
            (json!({ "anyOf": [one, { "allOf": [other, false] }] }), value)
        });
        prop_oneof![2 => object, 1 => list, 1 => parts]
    })
}

proptest! {
    #[test]
    fn what_is_shown_fits_the_schema_that_callers_see(
        (inner, value) in schema_and_value(),
        most in 100..4000_usize,
        hidden in prop::collection::vec("/data(/[a-e0-2*]){0,3}", 0..3),
    ) {
        let schema = json!({ "type": "object", "properties": { "data": inner }, "required": ["data"] });
        let value = json!({ "data": value, "unnamed": 1 });
        let compiled = Schema::compile(&schema).unwrap();
        prop_assert_eq!(compiled.check_output(&value), Ok(()));
        let secrets = [("a", "hunter2"), ("b", "1234"), ("c", "2024")];
        let mask = Mask::of(&secrets.map(|(name, value)| (name.to_owned(), SecretValue::new(value))).into());
        let hidden = hidden.iter().filter_map(|text| Pointer::parse(text)).collect();
        let unshown = Unshown { hidden, private: Vec::new() };

        let seen = advertised(&schema, Shaping { hidden: &unshown.hidden, mask: &mask, reply: most });
        let seen = Schema::compile(&seen).unwrap();
        let mut shown = value;
        unshown.hide(&mut shown);
        crate::call::shape::show::show(&mut shown, &compiled.guide(), &mask);
        prop_assert!(!mask.json(&mut shown.clone()), "{}", shown);
        trim(&mut shown, most, Some(&compiled.guide()));

        prop_assert_eq!(seen.check_output(&shown), Ok(()), "{}", shown);
        let text = shown.to_string();
        prop_assert!(text.len() <= most, "{} bytes: {}", text.len(), text);
        prop_assert!(shown.get("unnamed").is_none());
    }
}
