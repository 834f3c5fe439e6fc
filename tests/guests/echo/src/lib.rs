//! Gives back what it gets.

use airlock_sdk::{Cleanup, Context, Declaration, Repeat, Risk, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

airlock_sdk::export!(reader echo: Echo, EchoWrite);

#[derive(Serialize, Deserialize, JsonSchema)]
struct Said {
    text: String,
}

struct Echo;

impl Tool for Echo {
    const NAME: &'static str = "echo";
    type Input = Said;
    type Output = Said;

    fn declare() -> Declaration {
        Declaration::new("Echo")
            .description("Gives back the text.")
            .risk(Risk::PublicRead)
            .repeat(Repeat::Reads)
            .cleanup(Cleanup::Nothing)
    }

    fn call(said: Said, _context: &Context) -> Result<Said, ToolError> {
        Ok(said)
    }
}

/// The same, declared as a tool that writes.
struct EchoWrite;

impl Tool for EchoWrite {
    const NAME: &'static str = "echo_write";
    type Input = Said;
    type Output = Said;

    fn declare() -> Declaration {
        Declaration::new("Echo, on record")
            .description("Gives back the text, as a tool that writes.")
            .risk(Risk::LowRiskWrite)
            .repeat(Repeat::Idempotent)
            .cleanup(Cleanup::Nothing)
    }

    fn call(said: Said, _context: &Context) -> Result<Said, ToolError> {
        Ok(said)
    }
}
