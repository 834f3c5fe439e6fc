//! The web as a plugin: fetches pages and JSON from granted origins, as text that a model can read.

mod address;
mod answer;
mod charset;
mod fetch;
mod html;
mod json;
mod text;

pub use fetch::Fetch;

airlock_sdk::export!(reader web: Fetch);
