//! The values that the plugin keeps under keys of its own, from call to call and for every caller.
//!
//! A tool declares [`Declaration::key_value`](crate::Declaration::key_value), and the operator grants it with
//! `key_value = true`. A call reads its own changes at once; for others they take effect when it succeeds, and not at
//! all when it fails. Of two calls that set one key at once, the one that ends last has its way: keep what must not be
//! lost so under keys that differ.
//!
//! ```no_run
//! use airlock_sdk::{ToolError, key_value};
//!
//! fn remember(page: &str, etag: &str) -> Result<(), ToolError> {
//!     let key = format!("etag/{page}");
//!     if key_value::get_text(&key)?.as_deref() != Some(etag) {
//!         key_value::set(&key, etag)?;
//!     }
//!     Ok(())
//! }
//! ```

use crate::ToolError;
use crate::offered::key_value;

/// The value of a key of at most 512 bytes.
///
/// # Errors
/// `denied`, `KEY_VALUE_REFUSED`, where the store is not declared or not granted, or the key is too long.
pub fn get(key: &str) -> Result<Option<Vec<u8>>, ToolError> {
    key_value::get(key).map_err(refused)
}

/// The value of a key, as text.
///
/// # Errors
/// As [`get`]; `fatal`, `NO_TEXT`, where it is no UTF-8.
pub fn get_text(key: &str) -> Result<Option<String>, ToolError> {
    let text = |bytes| {
        String::from_utf8(bytes)
            .map_err(|_| ToolError::fatal("NO_TEXT", format!("what is kept under {key} is no text")))
    };
    get(key)?.map(text).transpose()
}

/// Sets a value of at most 64 KiB.
///
/// # Errors
/// As [`get`]; where the value is too long, the call changes too much, or the plugin keeps too much.
pub fn set(key: &str, value: impl AsRef<[u8]>) -> Result<(), ToolError> {
    key_value::set(key, value.as_ref()).map_err(refused)
}

/// Removes a key; there need not be a value.
///
/// # Errors
/// As [`get`]; where the call changes too much.
pub fn delete(key: &str) -> Result<(), ToolError> {
    key_value::delete(key).map_err(refused)
}

/// Keys that begin so, in the order of their bytes: at most 1000, those after one of them where it is given.
///
/// # Errors
/// As [`get`].
pub fn keys(prefix: &str, after: Option<&str>) -> Result<Vec<String>, ToolError> {
    key_value::keys(prefix, after).map_err(refused)
}

fn refused(rule: String) -> ToolError {
    ToolError::denied("KEY_VALUE_REFUSED", rule)
}
