//! Configuration values, by key, of the keys that the tool declares and the operator sets.

use crate::sandbox::grants::Grants;

/// The value of a key; none where it is not declared or not set.
pub(crate) fn value(grants: &Grants, key: &str) -> Option<String> {
    grants.config.get(key).cloned()
}
