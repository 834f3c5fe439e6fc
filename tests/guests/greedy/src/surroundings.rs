//! What can be seen of where the guest runs.

#![expect(
    clippy::disallowed_methods,
    reason = "what a guest sees of clock and environment is what is tested"
)]

use std::hash::{BuildHasher, RandomState};
use std::time::{Instant, SystemTime};

use airlock_sdk::{Context, Declaration, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::harmless;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Bytes {
    bytes: usize,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Drawn {
    /// From `wasi:random/random`, as hexadecimal digits.
    random: String,
    /// From `wasi:random/insecure-seed`, as hexadecimal digits.
    seed: String,
}

/// Draws random bytes.
pub(crate) struct Random;

impl Tool for Random {
    const NAME: &'static str = "random";
    type Input = Bytes;
    type Output = Drawn;

    fn declare() -> Declaration {
        harmless("Random bytes").poll()
    }

    fn call(input: Bytes, _context: &Context) -> Result<Drawn, ToolError> {
        let mut bytes = vec![0; input.bytes];
        getrandom::fill(&mut bytes)?;
        let random = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Drawn { random, seed: format!("{:016x}", RandomState::new().hash_one(0)) })
    }
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Nothing {}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Time {
    /// Since 1970.
    seconds: u64,
    nanoseconds: u32,
    /// What the monotonic clock counted between two looks at it.
    elapsed_nanoseconds: u64,
}

/// Looks at the clocks.
pub(crate) struct Clock;

impl Tool for Clock {
    const NAME: &'static str = "clock";
    type Input = Nothing;
    type Output = Time;

    fn declare() -> Declaration {
        harmless("The time").poll()
    }

    fn call(_input: Nothing, _context: &Context) -> Result<Time, ToolError> {
        let start = Instant::now();
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
        Ok(Time {
            seconds: now.as_secs(),
            nanoseconds: now.subsec_nanos(),
            elapsed_nanoseconds: u64::try_from(start.elapsed().as_nanos())?,
        })
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Seen {
    arguments: Vec<String>,
    variables: Vec<(String, String)>,
    folder: Option<String>,
}

/// Looks at environment, arguments and working folder.
pub(crate) struct Environment;

impl Tool for Environment {
    const NAME: &'static str = "environment";
    type Input = Nothing;
    type Output = Seen;

    fn declare() -> Declaration {
        harmless("The environment")
    }

    fn call(_input: Nothing, _context: &Context) -> Result<Seen, ToolError> {
        Ok(Seen {
            arguments: std::env::args().collect(),
            variables: std::env::vars().collect(),
            folder: std::env::current_dir().ok().map(|folder| folder.display().to_string()),
        })
    }
}
