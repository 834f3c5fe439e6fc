//! Fields that a schema does not know: which were meant as something, and which can go.

use std::collections::{BTreeMap, HashSet};

use serde_json::Value;

use super::places::token;

/// Names by which callers try to say how a call is done, which no input decides; as `plain` leaves them.
const STEERING: &[&str] = &[
    "approve",
    "approved",
    "background",
    "confirm",
    "confirmed",
    "dryrun",
    "force",
    "idempotencykey",
    "maxretries",
    "preview",
    "retries",
    "retry",
    "rollback",
    "simulate",
    "skipconfirmation",
    "timeout",
    "timeoutms",
    "yes",
];

/// What the host's own fields begin with.
const OURS: &str = "airlock";

/// Slips in one name.
const MOST_SLIPS: usize = 2;

/// A field at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unknown {
    /// The object that holds it, as a JSON pointer.
    pub(super) object: String,
    /// Its name.
    pub(super) name: String,
}

impl Unknown {
    /// The field, as a JSON pointer.
    pub(super) fn pointer(&self) -> String {
        format!("{}/{}", self.object, token(&self.name))
    }
}

/// Takes fields out and leaves the others in their order, in one pass over each object however many there are; gives
/// their pointers.
pub(super) fn take_out(fields: &[Unknown], value: &mut Value) -> Vec<String> {
    let mut within: BTreeMap<&str, HashSet<&str>> = BTreeMap::new();
    let mut pointers = Vec::new();
    for field in fields {
        if within.entry(&field.object).or_default().insert(&field.name) {
            pointers.push(field.pointer());
        }
    }
    for (object, names) in within {
        if let Some(object) = value.pointer_mut(object).and_then(Value::as_object_mut) {
            object.retain(|name, _| !names.contains(name.as_str()));
        }
    }
    pointers
}

/// What becomes of an unknown field of an input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Meant<'a> {
    /// Nothing that the tool could want.
    Nothing,
    /// This field, which is written otherwise.
    Field(&'a str),
    /// How the call is done.
    Steering,
}

impl<'a> Meant<'a> {
    /// What a name means where these are known.
    pub(super) fn by(name: &str, known: &[&'a str]) -> Self {
        let plain = plain(name);
        let closest = known.iter().copied().min_by_key(|known| distance(&plain, known));
        match closest.filter(|known| distance(&plain, known) <= bearable(&plain, known)) {
            Some(field) => Self::Field(field),
            None if plain.starts_with(OURS) || STEERING.contains(&plain.as_str()) => Self::Steering,
            None => Self::Nothing,
        }
    }
}

fn distance(plain_name: &str, known: &str) -> usize {
    strsim::osa_distance(plain_name, &plain(known))
}

/// One slip in three letters, and none in a name so short that any other resembles it.
fn bearable(plain_name: &str, known: &str) -> usize {
    (plain_name.chars().count().max(known.chars().count()) / 3).min(MOST_SLIPS)
}

/// A name without what styles of writing differ in.
fn plain(name: &str) -> String {
    name.chars().filter(|char| !matches!(char, '_' | '-' | ' ' | '.')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn slips_and_other_styles_resemble_a_known_field() {
        let known = ["order_id", "name", "to"];
        for (given, meant) in
            [("orderId", "order_id"), ("ORDER-ID", "order_id"), ("oder_id", "order_id"), ("nmae", "name")]
        {
            assert_eq!(Meant::by(given, &known), Meant::Field(meant), "{given}");
        }
        for given in ["colour", "cc", "t", "x", "naming", "ordinance"] {
            assert_eq!(Meant::by(given, &known), Meant::Nothing, "{given}");
        }
    }

    #[test]
    fn what_steers_the_call_is_told_apart() {
        for given in
            ["dry_run", "dryRun", "confirm", "force", "airlock_repeat_of", "Idempotency-Key", "timeout_ms"]
        {
            assert_eq!(Meant::by(given, &["name"]), Meant::Steering, "{given}");
        }
        assert_eq!(Meant::by("comfirm", &["confirm"]), Meant::Field("confirm"));
    }

    #[test]
    fn the_other_fields_keep_their_order() {
        let mut value = json!({"a": {"x": 1, "b/c": 2, "y": 3, "z": 4}});
        let field = Unknown { object: "/a".into(), name: "b/c".into() };
        assert_eq!(field.pointer(), "/a/b~1c");
        assert_eq!(take_out(&[field.clone(), field], &mut value), ["/a/b~1c"]);
        assert_eq!(value.to_string(), r#"{"a":{"x":1,"y":3,"z":4}}"#);
    }
}
