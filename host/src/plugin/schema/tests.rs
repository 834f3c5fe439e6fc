//! Schemas against values: what fits, what goes, what is said.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::Schema;

fn schema(schema: Value) -> Schema {
    Schema::compile(&schema).unwrap()
}

fn faults(with: &Schema, mut value: Value) -> Vec<String> {
    let before = value.clone();
    let faults = with.check_input(&mut value).unwrap_err();
    assert_eq!(value, before, "a value with faults is left as it was");
    faults.iter().map(ToString::to_string).collect()
}

fn dropped(with: &Schema, mut value: Value) -> (Value, Vec<String>) {
    let dropped = with.check_input(&mut value).unwrap();
    (value, dropped)
}

fn ticket() -> Value {
    json!({
        "type": "object",
        "properties": {
            "subject": {"type": "string", "minLength": 3, "maxLength": 20, "examples": ["broken lamp"]},
            "email": {"type": "string", "format": "email"},
            "order_id": {"type": "string", "pattern": "^[A-Z]-[0-9]+$", "x-message": "an order is named like A-1003"},
            "priority": {"enum": ["low", "normal", "high"]},
            "count": {"type": "integer", "minimum": 1, "maximum": 9, "default": 1},
            "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2, "uniqueItems": true},
            "lines": {"type": "array", "items": {"$ref": "#/$defs/line"}},
            "address": {"anyOf": [{"$ref": "#/$defs/address"}, {"type": "null"}]},
            "extra": {"type": "object", "additionalProperties": {"type": "integer"}},
        },
        "required": ["subject"],
        "additionalProperties": false,
        "$defs": {
            "line": {
                "type": "object",
                "properties": {"sku": {"type": "string"}, "count": {"type": "integer"}},
                "required": ["sku"],
                "additionalProperties": false,
            },
            "address": {
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
                "required": ["street", "city"],
                "additionalProperties": false,
            },
        },
    })
}

#[test]
fn what_fits_is_left_alone() {
    let ticket = schema(ticket());
    let value = json!({"subject": "lamp", "lines": [{"sku": "a"}], "address": null, "extra": {"x": 1}});
    assert_eq!(dropped(&ticket, value.clone()), (value, vec![]));
}

#[test]
fn every_fault_is_told_at_once_with_place_expectation_and_what_came() {
    let ticket = schema(ticket());
    let value = json!({
        "email": "ada", "order_id": "1003", "priority": "hihg", "count": 12, "tags": ["a", "b", "a"],
        "lines": [{"sku": 7}, {}], "extra": {"x": null},
    });
    assert_eq!(
        faults(&ticket, value),
        [
            "/email: must be an email address and is \"ada\"; for example \"ada@example.com\"",
            "/order_id: an order is named like A-1003",
            "/priority: must be \"low\", \"normal\" or \"high\" and is \"hihg\"; did you mean \"high\"?",
            "/count: must be at most 9 and is 12; for example 1",
            "/tags: must have at most 2 items and has 3",
            "/tags: must hold no item twice, and items 0 and 2 are equal",
            "/lines/0/sku: must be a string and is the number 7",
            "/lines/1/sku: is required and missing; give a string",
            "/extra/x: must be a whole number and is null",
            "/subject: is required and missing; give a string; for example \"broken lamp\"",
        ]
    );
}

#[test]
fn sizes_and_kinds_are_said_in_words() {
    let ticket = schema(ticket());
    assert_eq!(
        faults(&ticket, json!({"subject": "x"})),
        ["/subject: must have at least 3 characters and has 1; for example \"broken lamp\""]
    );
    assert_eq!(
        faults(&ticket, json!({"subject": {"text": "x".repeat(100)}})),
        [format!(
            "/subject: must be a string and is the object {{\"text\":\"{}…; for example \"broken lamp\"",
            "x".repeat(51)
        )]
    );
    assert_eq!(
        faults(&ticket, json!({"subject": "lamp", "count": "3"})),
        ["/count: must be a whole number and is the string \"3\"; for example 1"]
    );
}

#[test]
fn no_more_than_ten_faults_are_told() {
    let ticket = schema(ticket());
    let lines: Vec<Value> = (0..50).map(|count| json!({"sku": count})).collect();
    assert_eq!(faults(&ticket, json!({"subject": "lamp", "lines": lines})).len(), 10);
}

#[test]
fn unknown_fields_of_closed_objects_go_at_every_depth() {
    let ticket = schema(ticket());
    let value = json!({
        "subject": "lamp", "colour": "red",
        "lines": [{"sku": "a", "zzz": 1}, {"sku": "b"}, {"www/x": 2, "sku": "c"}],
        "address": {"street": "s", "city": "c", "planet": "earth"},
        "extra": {"stays": 1},
    });
    let (value, mut gone) = dropped(&ticket, value);
    gone.sort();
    assert_eq!(gone, ["/address/planet", "/colour", "/lines/0/zzz", "/lines/2/www~1x"]);
    assert_eq!(
        value,
        json!({
            "subject": "lamp", "lines": [{"sku": "a"}, {"sku": "b"}, {"sku": "c"}],
            "address": {"street": "s", "city": "c"}, "extra": {"stays": 1},
        })
    );
}

#[test]
fn open_objects_keep_what_they_do_not_name() {
    let open = schema(json!({"type": "object", "properties": {"a": {"type": "string"}}}));
    let value = json!({"b": 1, "dry_run": true});
    assert_eq!(dropped(&open, value.clone()), (value, vec![]));
}

#[test]
fn a_field_that_was_meant_as_another_or_steers_the_call_is_a_fault() {
    let ticket = schema(ticket());
    assert_eq!(
        faults(
            &ticket,
            json!({"subject": "lamp", "orderId": "A-1", "dry_run": true, "airlock_x": 1, "colour": 1})
        ),
        [
            "/orderId: is no field here; did you mean `order_id`?",
            "/dry_run: is no field here, and the input does not decide how the call is done; leave it out",
            "/airlock_x: is no field here, and the input does not decide how the call is done; leave it out",
        ]
    );
    assert_eq!(
        faults(&ticket, json!({"subject": "lamp", "lines": [{"sku": "a", "cuont": 1}]})),
        ["/lines/0/cuont: is no field here; did you mean `count`?"]
    );
}

#[test]
fn a_misspelt_required_field_is_told_beside_the_missing_one() {
    let ticket = schema(ticket());
    assert_eq!(
        faults(&ticket, json!({"subjet": "lamp"})),
        [
            "/subjet: is no field here; did you mean `subject`?",
            "/subject: is required and missing; give a string; for example \"broken lamp\"",
        ]
    );
}

#[test]
fn what_is_left_after_dropping_is_checked_again() {
    let wanted = schema(json!({
        "type": "object", "minProperties": 1, "x-message": "give the order's number or the customer's name",
        "properties": {"name": {"type": "string"}, "order_id": {"type": "string"}}, "additionalProperties": false,
    }));
    let sentence = "give the order's number or the customer's name";
    assert_eq!(faults(&wanted, json!({})), [sentence]);
    assert_eq!(faults(&wanted, json!({"zzz": 1})), [sentence]);
    let plain = schema(json!({
        "type": "object", "minProperties": 1,
        "properties": {"name": {"type": "string"}, "order_id": {"type": "string"}}, "additionalProperties": false,
    }));
    assert_eq!(
        faults(&plain, json!({})),
        ["must have at least 1 field and has 0; there are `name` and `order_id`"]
    );
}

#[test]
fn an_object_without_any_fields_loses_them_all() {
    let empty = schema(json!({"type": "object", "additionalProperties": false}));
    let (value, gone) = dropped(&empty, json!({"a": 1, "b": 2}));
    assert_eq!((value, gone), (json!({}), vec!["/a".to_owned(), "/b".to_owned()]));
    let odd = schema(json!({"type": "object", "properties": {"additionalProperties": false}}));
    assert_eq!(
        faults(&odd, json!({"additionalProperties": {"a": 1}})),
        ["/additionalProperties: must not be given; leave it out"]
    );
}

fn payment() -> Value {
    json!({
        "type": "object",
        "properties": {"amount": {"type": "integer"}},
        "required": ["amount"],
        "oneOf": [
            {"type": "object", "properties": {"way": {"const": "card"}, "number": {"type": "string"}}, "required": ["way", "number"]},
            {"type": "object", "properties": {"way": {"const": "cash"}}, "required": ["way"]},
        ],
        "unevaluatedProperties": false,
    })
}

#[test]
fn the_alternative_that_was_meant_is_the_one_that_is_spoken_of() {
    let payment = schema(payment());
    assert_eq!(
        faults(&payment, json!({"amount": 1, "way": "card", "number": 7})),
        ["/number: must be a string and is the number 7"]
    );
    assert_eq!(
        faults(&payment, json!({"amount": 1, "way": "card"})),
        ["/number: is required and missing; give a string"]
    );
    assert_eq!(
        faults(&payment, json!({"amount": 1, "way": "gold"})),
        [
            "must be an object with `way` \"card\" and `number` or an object with `way` \"cash\" and is the object {\"amount\":1,\"way\":\"gold\"}",
        ]
    );
    assert_eq!(dropped(&payment, json!({"amount": 1, "way": "cash", "zzz": 1})).1, ["/zzz"]);
    assert_eq!(
        faults(&payment, json!({"amount": 1, "way": "cash", "number": "7"})),
        ["/number: does not go with the other fields; leave it out, or them"]
    );
}

#[test]
fn unknown_fields_go_from_the_one_alternative_that_fits_without_them() {
    let closed = |way: &str, field: &str| {
        json!({
            "type": "object", "properties": {"way": {"const": way}, field: {"type": "string"}},
            "required": ["way"], "additionalProperties": false,
        })
    };
    let either = schema(
        json!({"type": "object", "properties": {"pay": {"oneOf": [closed("card", "number"), closed("bank", "iban")]}}}),
    );
    assert_eq!(
        dropped(&either, json!({"pay": {"way": "bank", "zzz": 1}})),
        (json!({"pay": {"way": "bank"}}), vec!["/pay/zzz".to_owned()])
    );
    assert_eq!(
        faults(&either, json!({"pay": {"way": "bank", "number": "1"}})),
        ["/pay/number: does not go with the other fields; leave it out, or them"]
    );
    assert_eq!(
        faults(&either, json!({"pay": {"way": "bank", "ibn": "1"}})),
        ["/pay/ibn: is no field here; did you mean `iban`?"]
    );
}

#[test]
fn what_another_part_of_the_schema_knows_is_not_dropped() {
    let both = schema(json!({
        "type": "object",
        "allOf": [
            {"properties": {"a": {"type": "string"}}, "additionalProperties": false},
            {"properties": {"b": {"type": "string"}}},
        ],
    }));
    assert_eq!(
        faults(&both, json!({"a": "x", "b": "y"})),
        ["/b: does not go with the other fields; leave it out, or them"]
    );
    assert_eq!(dropped(&both, json!({"a": "x", "zzz": "y"})), (json!({"a": "x"}), vec!["/zzz".to_owned()]));
}

#[test]
fn a_message_of_the_schema_is_used_as_it_stands() {
    let with = schema(json!({
        "type": "object",
        "properties": {
            "to": {"$ref": "#/$defs/mail", "x-message": "Give ONE address."},
            "cc": {"$ref": "#/$defs/named"},
            "at/on": {"type": "string", "x-message": "say when"},
            "id": {"anyOf": [{"type": "integer"}, {"type": "string", "pattern": "^[0-9]+$"}], "x-message": "an id is digits"},
        },
        "required": ["at/on"],
        "$defs": {"mail": {"type": "string", "format": "email"}, "named": {"type": "string", "x-message": "a name"}},
    }));
    assert_eq!(
        faults(&with, json!({"to": "x", "cc": 1, "id": "x"})),
        ["/at~1on: say when", "/to: Give ONE address.", "/cc: a name", "/id: an id is digits"]
    );
    assert_eq!(faults(&with, json!({"at/on": 1})), ["/at~1on: say when"]);
}

#[test]
fn rarer_keywords_have_words_too() {
    let rare = schema(json!({
        "type": "object",
        "properties": {
            "a": {"const": "x"}, "b": {"type": "number", "exclusiveMinimum": 0, "multipleOf": 0.5},
            "c": {"not": {"type": "string"}}, "d": {"contains": {"const": 1}}, "e": {"propertyNames": {"maxLength": 1}},
            "f": {"prefixItems": [{}], "items": false}, "g": false, "h": {"type": ["string", "null"]},
            "i": {"oneOf": [{"type": "integer"}, {"type": "number"}]}, "j": {"maxProperties": 0},
            "k": {"format": "uuid"}, "l": {"anyOf": [{"minLength": 5}, {"maximum": 3, "type": "integer"}]},
        },
        "dependentRequired": {"a": ["z"]},
    }));
    let value = json!({
        "a": 1, "b": -0.3, "c": "s", "d": [2], "e": {"long": 1}, "f": [1, 2], "g": 1, "h": 3, "i": 3, "j": {"x": 1},
    });
    assert_eq!(
        faults(&rare, value),
        [
            "/z: is required and missing",
            "/a: must be \"x\" and is 1",
            "/b: must be more than 0 and is -0.3",
            "/b: must be a multiple of 0.5 and is -0.3",
            "/c: must not be a string",
            "/d: must hold 1 among its items",
            "/e: has a field that may not be named so: \"long\" must have at most 1 character and has 4",
            "/f/1: must not be given; leave it out",
            "/g: must not be given; leave it out",
            "/h: must be a string or null and is the number 3",
        ]
    );
    assert_eq!(
        faults(&rare, json!({"i": 3})),
        ["/i: fits more than one alternative; give the fields of one alone: a whole number or a number"]
    );
    assert_eq!(
        faults(&rare, json!({"a": "x", "j": {"x": 1}, "k": "x", "l": "abc"})),
        [
            "/z: is required and missing",
            "/j: must have at most 0 fields and has 1",
            "/k: must be a UUID and is \"x\"; for example \"123e4567-e89b-12d3-a456-426614174000\"",
            "/l: must have at least 5 characters and has 3",
        ]
    );
}

#[test]
fn long_values_are_told_their_first_fault() {
    let numbers = schema(
        json!({"type": "object", "properties": {"all": {"type": "array", "items": {"type": "string"}}}}),
    );
    assert_eq!(
        faults(&numbers, json!({"all": vec![1; 300_000]})),
        ["/all/0: must be a string and is the number 1"]
    );
}

const TOO_LONG: &str = "takes too long to check, for its texts are too long for their patterns, or it has too many \
                        alternatives within alternatives; give less at once";

#[test]
fn a_long_text_is_not_matched_with_a_large_pattern() {
    let large = schema(json!({
        "type": "object", "properties": {"code": {"pattern": "^(a.{1,400}b)+$"}, "text": {"pattern": "^[^<>]*$"}},
    }));
    let fits = format!("a{}b", "x".repeat(400));
    assert_eq!(dropped(&large, json!({"code": fits, "text": "y".repeat(1 << 20)})).1, [""; 0]);
    assert_eq!(faults(&large, json!({"code": fits.repeat(2000)})), [TOO_LONG]);
    assert_eq!(large.check_output(&json!({"code": fits.repeat(2000)})).unwrap_err(), [TOO_LONG]);
    assert_eq!(
        faults(&large, json!({"code": "b"})),
        ["/code: must match the pattern ^(a.{1,400}b)+$ and is \"b\""]
    );
}

#[test]
fn what_takes_long_is_known_by_the_length_of_the_value_alone() {
    let plain = schema(ticket());
    assert!(plain.is_quick(1 << 10) && !plain.is_quick(1 << 20));
    let endless = schema(json!({"type": "object", "properties": {"a": {"$ref": "#"}}}));
    assert!(!endless.is_quick(2), "a schema that refers to itself may multiply");
    let large = schema(json!({"type": "object", "properties": {"a": {"pattern": "^(a.{1,400}b)+$"}}}));
    assert!(large.is_quick(100) && !large.is_quick(10_000));
}

#[test]
fn alternatives_within_alternatives_hold_nobody_up() {
    let twice = schema(json!({
        "type": "object", "properties": {"a": {"oneOf": [{"$ref": "#"}, {"$ref": "#"}]}},
    }));
    let nested = |depth| (0..depth).fold(json!({"a": 1}), |value, _| json!({ "a": value }));
    assert_eq!(faults(&twice, nested(3)).len(), 1);
    assert_eq!(
        faults(&twice, nested(15)),
        ["does not fit its schema, whose alternatives are too many to say where; give less at once"]
    );
    assert_eq!(faults(&twice, nested(60)), [TOO_LONG]);
}

#[test]
fn output_is_told_by_kind_and_may_hold_more_than_is_named() {
    let order = schema(json!({
        "type": "object", "properties": {"id": {"type": "string", "pattern": "^A"}, "name": {"type": "string"}},
        "required": ["id"], "additionalProperties": false,
    }));
    assert_eq!(order.check_output(&json!({"id": "A1", "nmae": "x", "dry_run": 1, "other": 2})), Ok(()));
    assert_eq!(
        order.check_output(&json!({"id": "secret", "name": 7})).unwrap_err(),
        [
            "/id: must match the pattern ^A and is a string of 6 characters",
            "/name: must be a string and is a number",
        ]
    );
    assert_eq!(order.check_output(&json!([1])).unwrap_err(), ["must be an object and is a list of 1 item"]);
}

fn refusals(of: Value) -> Vec<String> {
    Schema::compile(&of).unwrap_err()
}

#[test]
fn only_schemas_of_an_object_are_taken() {
    assert_eq!(refusals(json!(7)), ["must be a JSON object with `\"type\": \"object\"` and is 7"]);
    assert_eq!(
        refusals(json!({"type": "array"})),
        ["its root must be `\"type\": \"object\"` and has the type \"array\""]
    );
    assert_eq!(refusals(json!({})), ["its root must be `\"type\": \"object\"` and names no type"]);
    assert_eq!(
        refusals(json!({"type": "object", "properties": {"a": {"type": "text"}}})),
        [
            "at /properties/a/type: a type is string, number, integer, boolean, array, object or null, and this is \"text\"",
        ]
    );
}

#[test]
fn schemas_that_refer_outside_themselves_are_refused() {
    let of = |a: Value| refusals(json!({"type": "object", "properties": {"a": a}}));
    let outside = "at /properties/a: refers outside itself, and may refer to `#/$defs/…` alone";
    assert_eq!(
        of(json!({"$ref": "https://example.com/x.json"})),
        [format!("{outside}: \"https://example.com/x.json\"")]
    );
    assert_eq!(of(json!({"$ref": "file:///etc/passwd"})), [format!("{outside}: \"file:///etc/passwd\"")]);
    assert_eq!(of(json!({"$dynamicRef": "x"})), [format!("{outside}: \"x\"")]);
    assert_eq!(
        of(json!({"$ref": "#/$defs/none"})),
        ["at /properties/a: refers to #/$defs/none, which is not there; write `#/$defs/…`"]
    );
    assert_eq!(
        of(json!({"$id": "https://example.com/x"})),
        ["at /properties/a: `$id` may stand at the root alone, and here it is \"https://example.com/x\""]
    );
    assert_eq!(
        refusals(json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"})),
        [
            "`$schema` may be https://json-schema.org/draft/2020-12/schema alone and is \"http://json-schema.org/draft-07/schema#\"",
        ]
    );
    // Values that only look like references are none.
    schema(json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "https://example.com/tool", "type": "object",
        "properties": {"$ref": {"type": "string"}, "pattern": {"const": {"$ref": "https://x"}, "examples": [{"pattern": "("}]}},
    }));
}

#[test]
fn patterns_that_cannot_run_in_linear_time_are_refused() {
    let of = |pattern: &str| refusals(json!({"type": "object", "properties": {"a": {"pattern": pattern}}}));
    let slow = "at /properties/a: the pattern cannot run in linear time; write it without look-around and back-references";
    assert_eq!(of("^(?=a)."), [format!("{slow}: \"^(?=a).\"")]);
    assert_eq!(of("^(a)\\1$"), [format!("{slow}: \"^(a)\\\\1$\"")]);
    assert_eq!(
        of("("),
        ["at /properties/a: the pattern is no regular expression that can run in linear time: \"(\""]
    );
    assert_eq!(
        of(r"^(\w{1,100}x){1,100}$"),
        [
            r#"at /properties/a: the pattern grows too large when it is compiled; repeat less in "^(\\w{1,100}x){1,100}$""#
        ]
    );
    assert!(
        refusals(json!({"type": "object", "patternProperties": {"(": {}}}))[0]
            .contains("no regular expression")
    );
    let many: Vec<Value> = (0..101).map(|n| json!({"pattern": format!("a{n}")})).collect();
    assert_eq!(
        refusals(json!({"type": "object", "properties": {"a": {"allOf": many}}})),
        ["it has 101 patterns and may have 100"]
    );
}

#[test]
fn schemas_without_an_end_are_refused() {
    let endless = "it refers to itself without going on to a field or an item, and so without end";
    assert_eq!(refusals(json!({"type": "object", "$ref": "#"})), [endless]);
    assert_eq!(refusals(json!({"type": "object", "allOf": [{"anyOf": [{"$ref": "#"}]}]})), [endless]);
    let loops = json!({"a": {"$ref": "#/$defs/b"}, "b": {"not": {"$ref": "#/$defs/a"}}});
    assert_eq!(
        refusals(json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/a"}}, "$defs": loops})),
        [endless]
    );
    let doubling: serde_json::Map<String, Value> = (0..14)
        .map(|n| {
            let next = json!({"$ref": format!("#/$defs/d{}", n + 1)});
            (format!("d{n}"), json!({"allOf": [next.clone(), next]}))
        })
        .chain([("d14".to_owned(), json!({}))])
        .collect();
    let text =
        refusals(json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": doubling}));
    assert!(text[0].contains("deep") || text[0].contains("speak of one and the same value"), "{text:?}");
    let deep = (0..17).fold(json!({}), |inside, _| json!({"allOf": [inside]}));
    assert_eq!(
        refusals(json!({"type": "object", "properties": {"x": deep}})),
        ["its parts about one value are nested more than 16 deep"]
    );
    // A tree goes on to its fields, and is taken.
    let tree = schema(
        json!({"type": "object", "properties": {"left": {"$ref": "#"}}, "additionalProperties": false}),
    );
    assert_eq!(dropped(&tree, json!({"left": {"left": {"zzz": 1}}})).1, ["/left/left/zzz"]);
}

#[test]
fn long_chains_fit_on_a_small_stack() {
    let chain = |length: usize, link: fn(String) -> Value| -> Value {
        let defs: serde_json::Map<String, Value> = (0..length)
            .map(|n| {
                (
                    format!("d{n}"),
                    if n + 1 < length { link(format!("#/$defs/d{}", n + 1)) } else { json!({}) },
                )
            })
            .collect();
        json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": defs})
    };
    let look = move || {
        let nested = chain(
            255,
            |next| json!({"allOf": [{"type": "object", "properties": {"x": {"$ref": next}}, "additionalProperties": false}]}),
        );
        let with = schema(nested);
        let mut value = json!({"zzz": 1});
        for _ in 0..60 {
            value = json!({"x": value});
        }
        assert_eq!(dropped(&with, value).1.len(), 1);
        assert!(!refusals(chain(2_000, |next| json!({"properties": {"x": {"$ref": next}}}))).is_empty());
        assert!(!refusals(chain(250, |next| json!({"$ref": next}))).is_empty());
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(look).unwrap().join().unwrap();
}

fn anything() -> impl Strategy<Value = Value> {
    let name = || {
        prop_oneof![
            Just("subject".to_owned()),
            Just("lines".to_owned()),
            Just("sku".to_owned()),
            Just("address".to_owned()),
            Just("way".to_owned()),
            Just("amount".to_owned()),
            Just("email".to_owned()),
            Just("zzz".to_owned()),
            Just("orderId".to_owned()),
            Just("x".to_owned()),
            Just("a/~b".to_owned()),
            "[a-z_/~]{0,5}",
        ]
    };
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        Just(json!("lamp")),
        Just(json!("card")),
    ];
    leaf.prop_recursive(4, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((name(), inner), 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_taken_fits_and_what_is_not_has_faults(mut value in anything()) {
        let tree = json!({"type": "object", "properties": {"x": {"$ref": "#"}, "lines": {"items": {"$ref": "#"}}}, "additionalProperties": false});
        for with in [schema(ticket()), schema(payment()), schema(tree)] {
            let before = value.clone();
            match with.check_input(&mut value) {
                Ok(dropped) => {
                    prop_assert!(with.validator.is_valid(&value));
                    prop_assert_eq!(dropped.is_empty(), value == before);
                    prop_assert!(dropped.iter().all(|gone| before.pointer(gone).is_some() && value.pointer(gone).is_none()));
                }
                Err(faults) => {
                    prop_assert!((1..=10).contains(&faults.len()) && faults.iter().all(|fault| !fault.text.is_empty()));
                    prop_assert_eq!(&value, &before);
                }
            }
            value = before;
        }
    }
}

#[test]
fn what_few_schemas_ask_for_is_told_in_words_too() {
    let told = |field: Value, value: Value| {
        faults(&schema(json!({"type": "object", "properties": {"a": field}})), json!({"a": value})).join("; ")
    };
    let all = [
        told(json!({"exclusiveMaximum": 5}), json!(5)),
        told(json!({"contains": {"minimum": 3}}), json!([1])),
        told(json!({"prefixItems": [{"type": "string"}], "unevaluatedItems": false}), json!(["a", 1])),
        told(json!({"contains": {"type": "integer"}, "maxContains": 1}), json!([1, 2])),
        told(json!({"contains": {"type": "integer"}, "minContains": 2}), json!([1, "a"])),
        told(json!({"type": "string", "format": "json-pointer"}), json!("a b")),
        told(json!({"anyOf": [{"pattern": "^a"}, {"minLength": 5}]}), json!("b")),
        told(json!({"propertyNames": {"anyOf": [{"pattern": "^a"}, {"maxLength": 1}]}}), json!({"long": 1})),
    ];
    insta::assert_snapshot!(all.join("\n"), @r#"
    /a: must be less than 5 and is 5
    /a: must hold what the schema asks for among its items
    /a: holds more items than the schema speaks of
    /a: must hold a whole number at least 1 and at most 1 times among its items
    /a: must hold a whole number at least 2 times among its items
    /a: must be a JSON pointer and is "a b"; for example "/lines/0/count"
    /a: must be alternative 1 of the schema or alternative 2 of the schema and is the string "b"
    /a: has a field that may not be named so: "long" does not fit `anyOf` of its schema and is the string "long"
    "#);
}
