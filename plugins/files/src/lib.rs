//! Files as a plugin: lists, reads, searches and changes what lies in one folder that the operator lends.

mod content;
mod delete;
mod difference;
mod edit;
mod fault;
mod glob;
mod kind;
mod list;
mod matches;
mod page;
mod place;
mod read;
mod relocate;
mod replace;
mod search;
mod state;
mod summary;
mod walk;
mod width;
mod write;

pub use delete::Delete;
pub use list::List;
pub use read::Read;
pub use relocate::Move;
pub use replace::Replace;
pub use search::Search;
pub use write::Write;

use airlock_sdk::files::{self, Directory};
use airlock_sdk::{Access, Cleanup, Declaration, Repeat, Risk, Undone};

airlock_sdk::export!(writer files: List, Read, Search, Write, Replace, Move, Delete);

/// The name under which the operator lends the folder.
const WORKSPACE: &str = "workspace";

/// The folder that the operator lends.
fn workspace() -> Directory {
    files::directory(WORKSPACE)
}

/// A tool that only looks.
fn looks(title: &str) -> Declaration {
    Declaration::new(title)
        .risk(Risk::BusinessRead)
        .repeat(Repeat::Reads)
        .cleanup(Cleanup::Nothing)
        .directory(WORKSPACE, Access::Read)
}

/// A tool that changes what the host puts back.
fn changes(title: &str, risk: Risk, repeat: Repeat) -> Declaration {
    Declaration::new(title)
        .risk(risk)
        .repeat(repeat)
        .cleanup(Cleanup::Automatic)
        .directory(WORKSPACE, Access::Write)
}

/// What is left to a tool when a call is taken back: the host has kept what lay there before, and puts it back itself.
fn undone() -> Undone {
    Undone { summary: "the host puts back what the call changed in the folder".to_owned(), left: Vec::new() }
}

#[cfg(test)]
mod tests;
