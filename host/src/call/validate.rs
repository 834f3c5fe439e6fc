//! Checks the input against the tool's schema, and leaves out what the schema does not know.

use std::sync::Arc;

use serde_json::Value;

use super::Turn;
use super::recall::Fresh;
use crate::model::canonical::Fault;
use crate::model::code;
use crate::model::failure::{Failure, Kind};
use crate::model::id::ToolName;
use crate::plugin::Entry;

/// A call whose input is what the tool asks for.
#[derive(Debug)]
pub struct Valid {
    fresh: Fresh,
    input: String,
    dropped: Vec<String>,
}

impl Valid {
    /// What was found before.
    pub fn fresh(&self) -> &Fresh {
        &self.fresh
    }

    /// The input that the tool gets: JSON text.
    pub fn input(&self) -> &str {
        &self.input
    }

    /// Fields that were left out, as JSON pointers.
    pub fn dropped(&self) -> &[String] {
        &self.dropped
    }
}

/// Checks the input.
pub(super) async fn validate(mut fresh: Fresh) -> Result<Valid, Turn> {
    let value = fresh.take_input();
    let resolved = fresh.authorized().resolved();
    let (input, dropped) = checked(resolved.tool(), value, resolved.input().len()).await?;
    Ok(Valid { input, dropped, fresh })
}

/// The input of so many bytes as the tool gets it, and what was left out.
pub(super) async fn checked(
    entry: &Arc<Entry>,
    value: Value,
    bytes: usize,
) -> Result<(String, Vec<String>), Turn> {
    if entry.input.is_quick(bytes) {
        return check(entry, value, bytes);
    }
    let entry = Arc::clone(entry);
    // Away from the threads that serve; how long it takes is bounded by what the schema takes at all.
    match tokio::task::spawn_blocking(move || check(&entry, value, bytes)).await {
        Ok(checked) => checked,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

fn check(entry: &Entry, mut value: Value, bytes: usize) -> Result<(String, Vec<String>), Turn> {
    let dropped = entry
        .input
        .check_input(&mut value)
        .map_err(|faults: Vec<Fault>| Turn::Refuse(failure(&entry.name, &faults)))?;
    let mut input = Vec::with_capacity(bytes);
    let written = serde_json::to_writer(&mut input, &value).ok().and_then(|()| String::from_utf8(input).ok());
    Ok((written.unwrap_or_default(), dropped))
}

/// Every fault of an input, in words.
pub(super) fn failure(tool: &ToolName, faults: &[Fault]) -> Failure {
    let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
    let text = match lines.as_slice() {
        [one] => format!("the input of {tool} cannot be used; {one}"),
        several => format!(
            "the input of {tool} cannot be used, for {} reasons; {}",
            several.len(),
            several.join("; ")
        ),
    };
    Failure::new(Kind::InvalidInput, code::INVALID_INPUT, text).with_detail("faults", lines)
}
