//! Plugins: files of a folder, compiled, asked what they are, audited, and ready to be called.

pub mod audit;
pub mod load;
pub mod registry;
pub mod schema;

pub use registry::{Entry, PluginFault, Registry};
