//! Texts, lists, log lines and standard streams.

use std::io::{Write, stderr, stdout};

use airlock_sdk::{Context, Declaration, Tool, ToolError, log};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{Done, harmless};

/// Where too much is put.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Place {
    #[default]
    Data,
    Message,
    Details,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct TextSize {
    bytes: usize,
    #[serde(default)]
    place: Place,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Text {
    text: String,
}

/// Returns one text.
pub(crate) struct LongText;

impl Tool for LongText {
    const NAME: &'static str = "long_text";
    type Input = TextSize;
    type Output = Text;

    fn declare() -> Declaration {
        harmless("A text")
    }

    fn call(input: TextSize, _context: &Context) -> Result<Text, ToolError> {
        let text = "x".repeat(input.bytes);
        match input.place {
            Place::Data => Ok(Text { text }),
            Place::Message => Err(ToolError::rejected("LONG_TEXT", text)),
            Place::Details => {
                Err(ToolError::rejected("LONG_TEXT", "see details").details(json!({ "text": text })))
            }
        }
    }
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct ListSize {
    items: u64,
    #[serde(default)]
    place: Place,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct List {
    items: Vec<u64>,
}

/// Returns one list.
pub(crate) struct LongList;

impl Tool for LongList {
    const NAME: &'static str = "long_list";
    type Input = ListSize;
    type Output = List;

    fn declare() -> Declaration {
        harmless("A list")
    }

    fn call(input: ListSize, _context: &Context) -> Result<List, ToolError> {
        let items: Vec<u64> = (0..input.items).collect();
        match input.place {
            Place::Data => Ok(List { items }),
            Place::Message => Err(ToolError::rejected("LONG_LIST", format!("{items:?}"))),
            Place::Details => {
                Err(ToolError::rejected("LONG_LIST", "see details").details(json!({ "items": items })))
            }
        }
    }
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Lines {
    /// For ever where absent.
    lines: Option<u64>,
    /// The length of each.
    bytes: usize,
}

/// Writes log lines.
pub(crate) struct LogLines;

impl Tool for LogLines {
    const NAME: &'static str = "log_lines";
    type Input = Lines;
    type Output = Done;

    fn declare() -> Declaration {
        harmless("Log lines")
    }

    fn call(input: Lines, _context: &Context) -> Result<Done, ToolError> {
        let line = "x".repeat(input.bytes);
        let mut done = 0;
        while input.lines.is_none_or(|lines| done < lines) {
            log::info(&line, json!({ "line": done }));
            done += 1;
        }
        Ok(Done { done })
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Stream {
    Stdout,
    Stderr,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Printing {
    to: Stream,
    /// For ever where absent.
    lines: Option<u64>,
    /// The length of each.
    bytes: usize,
}

/// Writes to standard output or error.
pub(crate) struct Print;

impl Tool for Print {
    const NAME: &'static str = "print";
    type Input = Printing;
    type Output = Done;

    fn declare() -> Declaration {
        harmless("Print")
    }

    fn call(input: Printing, _context: &Context) -> Result<Done, ToolError> {
        let line = "x".repeat(input.bytes);
        let mut done = 0;
        while input.lines.is_none_or(|lines| done < lines) {
            match input.to {
                Stream::Stdout => writeln!(stdout(), "{line}")?,
                Stream::Stderr => writeln!(stderr(), "{line}")?,
            }
            done += 1;
        }
        stdout().flush()?;
        Ok(Done { done })
    }
}
