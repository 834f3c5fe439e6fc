//! Write tools for Airlock in Rust.
//!
//! A tool is a type: what goes in, what comes out, what it may do, and the function that does it.
//! The schemas that a model reads come from the input and the output; the declaration stands beside
//! the code; the host gives a call what was declared *and* granted, and nothing else.
//!
//! # A first tool
//!
//! `Cargo.toml`:
//!
//! ```toml
//! [package]
//! name = "weather"
//! version = "0.1.0"
//! edition = "2024"
//! description = "Looks up the weather"
//!
//! [lib]
//! crate-type = ["cdylib"]
//!
//! [dependencies]
//! airlock-sdk = "0.1"
//! schemars = "1"
//! serde = { version = "1", features = ["derive"] }
//! ```
//!
//! `src/lib.rs`:
//!
//! ```
//! use airlock_sdk::{Context, Declaration, Origin, Repeat, Risk, Cleanup, Tool, ToolError, config, http};
//! use schemars::JsonSchema;
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Deserialize, JsonSchema)]
//! pub struct Place {
//!     /// A town, as people write it.
//!     #[schemars(length(min = 1), extend("x-message" = "say which town"))]
//!     town: String,
//! }
//!
//! #[derive(Serialize, Deserialize, JsonSchema)]
//! pub struct Weather {
//!     /// Degrees Celsius.
//!     temperature: f64,
//!     summary: String,
//! }
//!
//! pub struct Now;
//!
//! impl Tool for Now {
//!     const NAME: &'static str = "now";
//!     type Input = Place;
//!     type Output = Weather;
//!
//!     fn declare() -> Declaration {
//!         Declaration::new("The weather now")
//!             .description("Tells temperature and sky of a town at this moment.")
//!             .risk(Risk::PublicRead)
//!             .repeat(Repeat::Reads)
//!             .cleanup(Cleanup::Nothing)
//!             .config("weather_url")
//!             .http(Origin::configured("weather_url").get(["/now"]))
//!     }
//!
//!     fn call(place: Place, _context: &Context) -> Result<Weather, ToolError> {
//!         let response = http::get(config::require("weather_url")? + "/now")
//!             .query("town", &place.town)
//!             .send()?;
//!         if response.status == 404 {
//!             return Err(ToolError::rejected("TOWN_NOT_FOUND", "there is no such town"));
//!         }
//!         Ok(response.ok()?.json()?)
//!     }
//! }
//!
//! airlock_sdk::export!(reader weather: Now);
//! ```
//!
//! `cargo build --target wasm32-wasip2 --release` makes the plugin; version and description of the
//! manifest are those of the package. In `.cargo/config.toml`, `-Clink-arg=-zstack-size=131072` for
//! that target keeps an instance small; a stack of 128 KiB is plenty for a tool.
//!
//! # Errors
//!
//! A tool fails with a [`ToolError`]: its kind decides what host and model do next, its code and
//! message are what the model reads. [`http::Error`] becomes one through `?`. Any other error becomes
//! `INTERNAL` through `?`: its text goes to the host's log, and the caller sees nothing of it.
//!
//! # What is seen
//!
//! The caller sees the fields that the output type names. [`Declaration::hidden`] takes some of them out again, of input,
//! output and the details of errors; [`Declaration::private`] keeps some from logs and lists. Output that is long is cut
//! by the host, lists at their ends, and kept whole: put first what matters most.
//!
//! Pictures and files come in `context.attachments`, and go back with [`Reply::attach`].
//!
//! # Tests
//!
//! Natively, `testing::Host` stands in for the host: a tool's own tests call it without WebAssembly, with the values, secrets,
//! folders and answers that the test gives.
//!
//! # Plugins that write
//!
//! `export!(writer …)` exports `preview` and `rollback` beside the tools: see [`Tool::preview`],
//! [`Tool::rollback`], [`Tool::fingerprint`] and [`Tool::probe`].

pub mod config;
pub mod cost;
pub mod files;
pub mod http;
pub mod key_value;
pub mod log;
pub mod progress;
pub mod saved;
pub mod secrets;

#[cfg(not(target_family = "wasm"))]
pub mod testing;

mod declaration;
mod error;
mod offered;
mod schema;
mod tool;

#[doc(hidden)]
pub mod bindings;
#[doc(hidden)]
pub mod export;

pub use bindings::reader::airlock::plugin::types::{
    Access, Attachment, CallContext as Context, Cleanup, ErrorKind, Repeat, Risk,
};
pub use bindings::way_back::exports::airlock::plugin::preview::Planned;
pub use bindings::way_back::exports::airlock::plugin::rollback::{Happened, PastEffect, Undone};
pub use declaration::{Declaration, HttpNeed, Origin};
pub use error::ToolError;
pub use tool::{Answer, PastCall, Probed, Reply, Tool};
