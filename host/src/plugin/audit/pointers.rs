//! Where a tool says that something is: pointers into its values, and fields of its input.

use serde_json::Value;

use super::{Faults, MOST_LISTED, listed, shown};
use crate::model::guard::REPEAT_OF;
use crate::model::pointer::Pointer;
use crate::plugin::schema::fields_at_root;

/// Fields of an input that are told when one is looked for that is not there.
const MOST_TOLD: usize = 20;

/// Reads pointers to what is not shown.
pub(super) fn read(faults: &mut Faults, what: &str, pointers: &[String]) -> Vec<Pointer> {
    listed(faults, &format!("pointers in `{what}`"), pointers.len());
    let mut read = Vec::new();
    for text in pointers.iter().take(MOST_LISTED) {
        match Pointer::parse(text) {
            Some(pointer) => read.push(pointer),
            None => faults.add(format!(
                "`{what}` holds JSON pointers such as /customer/name or /lines/*/price, with ~0 for ~ and ~1 for /, and one is {}",
                shown(text)
            )),
        }
    }
    read
}

/// Looks whether the input has a field that the host adds to it.
pub(super) fn not_the_hosts(faults: &mut Faults, input: &Value) {
    if fields_at_root(input).contains(&REPEAT_OF) {
        faults.add(format!(
            "the input schema has the field {REPEAT_OF}, which is the host's own; give it another name"
        ));
    }
}

/// Looks at the fields that make two calls the same action.
pub(super) fn same_action(faults: &mut Faults, fields: &[String], input: &Value) {
    listed(faults, "fields in `same-action`", fields.len());
    let known = fields_at_root(input);
    for field in fields.iter().take(MOST_LISTED) {
        if !known.contains(&field.as_str()) {
            let choice = match known.as_slice() {
                [] => "it has none".to_owned(),
                known => {
                    format!("it has {}", known.iter().take(MOST_TOLD).copied().collect::<Vec<_>>().join(", "))
                }
            };
            faults.add(format!(
                "`same-action` names fields of the input ({choice}), and one is {}",
                shown(field)
            ));
        }
    }
}
