//! Secrets, used without being seen.
//!
//! What these functions give are stand-ins: the host puts the secret in their place on the way out,
//! toward the origins that the tool declared and the operator granted.

use crate::ToolError;
use crate::offered::secrets;

pub use crate::bindings::reader::airlock::plugin::secrets::Algorithm;

/// Stands for the secret itself, alone or within a longer text.
///
/// # Errors
/// `denied`, `SECRET_REFUSED`, where it is not declared or not granted.
pub fn placeholder(name: &str) -> Result<String, ToolError> {
    secrets::placeholder(name).map_err(refused)
}

/// The value of an `authorization` header with the secret as bearer token.
///
/// # Errors
/// As [`placeholder`].
pub fn bearer(name: &str) -> Result<String, ToolError> {
    Ok(format!("Bearer {}", placeholder(name)?))
}

/// The value of an `authorization` header with the secret as password.
///
/// # Errors
/// As [`placeholder`].
pub fn basic(user: &str, name: &str) -> Result<String, ToolError> {
    secrets::basic(user, name).map_err(refused)
}

/// A signature over `bytes` with the secret as key.
///
/// # Errors
/// As [`placeholder`].
pub fn sign(name: &str, algorithm: Algorithm, bytes: &[u8]) -> Result<Vec<u8>, ToolError> {
    secrets::sign(name, algorithm, bytes).map_err(refused)
}

fn refused(rule: String) -> ToolError {
    ToolError::denied("SECRET_REFUSED", rule)
}
