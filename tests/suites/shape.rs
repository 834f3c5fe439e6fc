//! What comes back: what is shown of it, what is kept, and what goes beside it.

mod attachments;
mod pages;
mod unshown;

use airlock::model::reply::Reply;
use serde_json::{Value, json};

/// A reply, with what differs from run to run replaced.
fn shown(reply: &Reply) -> String {
    let mut shown = serde_json::to_value(reply).unwrap();
    shown["meta"] = json!({ "trimmed": shown["meta"]["trimmed"], "replayed": shown["meta"]["replayed"] });
    serde_json::to_string_pretty(&shown).unwrap()
}

/// The id of the run that a reply tells of.
fn run(reply: &Reply) -> String {
    reply.meta.run.unwrap().to_string()
}

fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}
