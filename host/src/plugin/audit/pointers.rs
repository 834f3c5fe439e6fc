//! Where a tool says that something is: pointers into its values, and fields of its input.

use serde_json::Value;

use super::{Faults, MOST_LISTED, listed, shown};
use crate::plugin::schema::fields_at_root;

/// Fields of an input that are told when one is looked for that is not there.
const MOST_TOLD: usize = 20;

/// Looks at pointers to what is not shown.
pub(super) fn check(faults: &mut Faults, what: &str, pointers: &[String]) {
    listed(faults, &format!("pointers in `{what}`"), pointers.len());
    for pointer in pointers.iter().take(MOST_LISTED).filter(|pointer| !is_pointer(pointer)) {
        faults.add(format!(
            "`{what}` holds JSON pointers such as /customer/name or /lines/*/price, with ~0 for ~ and ~1 for /, and one is {}",
            shown(pointer)
        ));
    }
}

/// A pointer to something inside: the whole is shown or not by other means.
fn is_pointer(text: &str) -> bool {
    text.starts_with('/') && text.split('~').skip(1).all(|after| after.starts_with(['0', '1']))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_are_told_from_other_texts() {
        for good in ["/a", "/a/*/b", "/a~1b/~0", "/", "/lines/0"] {
            assert!(is_pointer(good), "{good}");
        }
        for bad in ["", "a", "a/b", "/a~", "/a~2", "~0/a", "#/a"] {
            assert!(!is_pointer(bad), "{bad}");
        }
    }
}
