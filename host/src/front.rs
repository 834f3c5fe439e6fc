//! Doors: everything through which somebody asks for something.

pub mod cli;
pub mod mcp;

mod leave;
mod settling;
