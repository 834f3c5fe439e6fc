//! Takes as much of everything as it is told to. With small numbers each tool is harmless.

mod memory;
mod output;
mod surroundings;
mod work;

use airlock_sdk::{Cleanup, Declaration, Repeat, Risk};
use schemars::JsonSchema;
use serde::Serialize;

airlock_sdk::export!(
    reader greedy:
    work::Spin,
    work::CallHost,
    work::Sleep,
    work::Busy,
    work::Allocate,
    memory::Remember,
    work::Recurse,
    work::Panic,
    work::Exit,
    output::LongText,
    output::LongList,
    output::LogLines,
    output::Print,
    surroundings::Random,
    surroundings::Clock,
    surroundings::Environment,
);

/// All of them declare themselves harmless.
fn harmless(title: &str) -> Declaration {
    Declaration::new(title)
        .description(format!("{title}, as much as it is told to."))
        .risk(Risk::PublicRead)
        .repeat(Repeat::Reads)
        .cleanup(Cleanup::Nothing)
}

/// How much was done.
#[derive(Serialize, JsonSchema)]
struct Done {
    done: u64,
}
