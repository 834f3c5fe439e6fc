//! Plugins: files of a folder, compiled once, asked what they are, audited, accepted, and ready to be called.

pub mod audit;
mod cache;
pub mod check;
pub mod compile;
pub mod discover;
pub mod granted;
pub mod load;
pub mod lock;
pub mod mentions;
mod refusal;
pub mod registry;
pub mod schema;
pub mod survey;
mod workshop;

pub use load::{Loader, Loading};
pub use registry::{Bar, Doubts, Entry, Plugin, PluginFault, Registry, Waiting};
pub use workshop::Code;
