//! What guests can ask the host for: one file each, its policy beside it, and the journal of effects.

pub mod config;
pub mod effects;
pub mod http;
pub mod log;
pub mod secrets;
