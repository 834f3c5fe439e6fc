//! Checks the input against the tool's schema, and leaves out what the schema does not know.

use super::Turn;
use super::recall::Fresh;
use crate::model::canonical::Fault;
use crate::model::code;
use crate::model::failure::{Failure, Kind};
use crate::model::id::ToolName;

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
pub(super) fn validate(mut fresh: Fresh) -> Result<Valid, Turn> {
    let mut value = fresh.take_input();
    let resolved = fresh.authorized().resolved();
    let entry = resolved.tool();
    let dropped = entry
        .input
        .check_input(&mut value)
        .map_err(|faults: Vec<Fault>| Turn::Refuse(failure(&entry.name, &faults)))?;
    let mut input = Vec::with_capacity(resolved.input().len());
    let written = serde_json::to_writer(&mut input, &value).ok().and_then(|()| String::from_utf8(input).ok());
    Ok(Valid { input: written.unwrap_or_default(), dropped, fresh })
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
