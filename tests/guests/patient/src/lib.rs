//! Takes as many steps as it is told to, says after each how far it is, and ends when it is asked to.

use std::time::Duration;

use airlock_sdk::{Cleanup, Context, Declaration, Repeat, Risk, Tool, ToolError, progress};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

airlock_sdk::export!(reader patient: Walk);

/// How far.
#[derive(Deserialize, JsonSchema)]
struct Way {
    /// For ever where absent.
    steps: Option<u32>,
    /// What it says after each.
    #[serde(default)]
    words: String,
    /// After how many it fails in its first attempt, and asks for a second of rest.
    rests_after: Option<u32>,
}

#[derive(Serialize, JsonSchema)]
struct Walked {
    steps: u32,
    stopped: bool,
}

struct Walk;

impl Tool for Walk {
    const NAME: &'static str = "walk";
    type Input = Way;
    type Output = Walked;

    fn declare() -> Declaration {
        Declaration::new("Walk")
            .description("Takes steps.")
            .risk(Risk::LowRiskWrite)
            .repeat(Repeat::Idempotent)
            .cleanup(Cleanup::Nothing)
    }

    fn call(way: Way, context: &Context) -> Result<Walked, ToolError> {
        let mut steps = 0;
        while way.steps.is_none_or(|most| steps < most) {
            if progress::stop_asked() {
                return Ok(Walked { steps, stopped: true });
            }
            steps += 1;
            progress::tell(steps, way.steps, &way.words);
            if context.attempt == 1 && way.rests_after == Some(steps) {
                return Err(ToolError::transient("TIRED", "it rests").retry_after(Duration::from_secs(1)));
            }
        }
        Ok(Walked { steps, stopped: false })
    }
}
