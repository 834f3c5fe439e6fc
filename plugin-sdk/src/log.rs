//! Lines for the host's structured log, kept with the attempt.
//!
//! ```
//! use airlock_sdk::log;
//! use serde_json::json;
//!
//! log::info("ticket created", json!({ "ticket": "T-7" }));
//! ```
//!
//! In a tool's own tests they are kept by `testing::Host`; without one they go to standard error.

use serde_json::Value;

use crate::offered::host::{self, Level};

/// What helps to find a fault, and is left out of most logs. `fields` is an object.
pub fn debug(message: &str, fields: Value) {
    write(Level::Debug, message, fields);
}

/// What happened.
pub fn info(message: &str, fields: Value) {
    write(Level::Info, message, fields);
}

/// What went another way than it should, and was dealt with.
pub fn warn(message: &str, fields: Value) {
    write(Level::Warn, message, fields);
}

/// What somebody has to look at.
pub fn error(message: &str, fields: Value) {
    write(Level::Error, message, fields);
}

fn write(level: Level, message: &str, fields: Value) {
    host::log(level, message, &fields.to_string());
}
