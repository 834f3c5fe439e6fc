//! The values that the operator sets for the plugin. A key is readable where the tool declares it.

use crate::ToolError;
use crate::offered::host;

/// The value of a granted key.
#[must_use]
pub fn get(key: &str) -> Option<String> {
    host::config(key)
}

/// The value of a key that the tool cannot do without.
///
/// # Errors
/// `fatal`, `NOT_CONFIGURED`.
pub fn require(key: &str) -> Result<String, ToolError> {
    get(key)
        .ok_or_else(|| ToolError::fatal("NOT_CONFIGURED", format!("the configuration does not set {key}")))
}
