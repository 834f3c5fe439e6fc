//! What guests can ask the host for: one file each, its policy beside it, and the journal of effects.

pub mod config;
pub mod effects;
pub mod files;
pub mod http;
pub mod key_value;
pub mod log;
pub mod progress;
mod save;
pub mod secrets;
mod spend;
pub mod staging;
