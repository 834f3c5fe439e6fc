//! Time, fuel, memory and stack.

#![expect(clippy::disallowed_methods, reason = "what a guest sees of the clock is what is tested")]

use std::hint::black_box;
use std::time::{Duration, Instant, SystemTime};

use airlock_sdk::{Context, Declaration, Tool, ToolError, config, log};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{Done, harmless};

/// How many rounds; for ever where absent.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Rounds {
    rounds: Option<u64>,
}

/// Computes and calls nobody.
pub(crate) struct Spin;

impl Tool for Spin {
    const NAME: &'static str = "spin";
    type Input = Rounds;
    type Output = Done;

    fn declare() -> Declaration {
        harmless("Spin")
    }

    fn call(input: Rounds, _context: &Context) -> Result<Done, ToolError> {
        let mut done = 0;
        while input.rounds.is_none_or(|rounds| done < rounds) {
            done = black_box(done + 1);
        }
        Ok(Done { done })
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum HostCall {
    Config,
    Log,
    Clock,
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct HostCalls {
    what: HostCall,
    rounds: Option<u64>,
}

/// Calls the host, over and over.
pub(crate) struct CallHost;

impl Tool for CallHost {
    const NAME: &'static str = "call_host";
    type Input = HostCalls;
    type Output = Done;

    fn declare() -> Declaration {
        harmless("Call the host")
    }

    fn call(input: HostCalls, _context: &Context) -> Result<Done, ToolError> {
        let mut done = 0;
        while input.rounds.is_none_or(|rounds| done < rounds) {
            match input.what {
                HostCall::Config => drop(black_box(config::get("nothing"))),
                HostCall::Log => log::debug("again", json!({})),
                HostCall::Clock => drop(black_box(SystemTime::now())),
            }
            done += 1;
        }
        Ok(Done { done })
    }
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Milliseconds {
    ms: u64,
}

/// Waits in the host.
pub(crate) struct Sleep;

impl Tool for Sleep {
    const NAME: &'static str = "sleep";
    type Input = Milliseconds;
    type Output = Done;

    fn declare() -> Declaration {
        harmless("Sleep")
    }

    fn call(input: Milliseconds, _context: &Context) -> Result<Done, ToolError> {
        std::thread::sleep(Duration::from_millis(input.ms));
        Ok(Done { done: input.ms })
    }
}

/// Computes for about so long.
pub(crate) struct Busy;

impl Tool for Busy {
    const NAME: &'static str = "busy";
    type Input = Milliseconds;
    type Output = Done;

    fn declare() -> Declaration {
        harmless("Be busy")
    }

    fn call(input: Milliseconds, _context: &Context) -> Result<Done, ToolError> {
        let (start, limit) = (Instant::now(), Duration::from_millis(input.ms));
        let mut done: u64 = 0;
        while start.elapsed() < limit {
            for _ in 0..10_000 {
                done = black_box(done.wrapping_add(1));
            }
        }
        Ok(Done { done })
    }
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Memory {
    mib: u64,
    /// Whether every byte is written.
    #[serde(default)]
    touch: bool,
    /// Whether memory that is refused is an error of the tool rather than the end of the guest.
    #[serde(default)]
    careful: bool,
}

/// Takes memory, one MiB at a time, and keeps it.
pub(crate) struct Allocate;

impl Tool for Allocate {
    const NAME: &'static str = "allocate";
    type Input = Memory;
    type Output = Done;

    fn declare() -> Declaration {
        harmless("Allocate")
    }

    fn call(input: Memory, _context: &Context) -> Result<Done, ToolError> {
        const MIB: usize = 1024 * 1024;
        let mut kept: Vec<Vec<u8>> = Vec::new();
        for done in 0..input.mib {
            let mut block = Vec::new();
            if !input.careful {
                block.reserve_exact(MIB);
            } else if block.try_reserve_exact(MIB).is_err() {
                drop(kept);
                return Err(ToolError::rejected("OUT_OF_MEMORY", format!("{done} MiB were given")));
            }
            if input.touch {
                block.resize(MIB, 0xA5);
            }
            kept.push(black_box(block));
        }
        Ok(Done { done: kept.len() as u64 })
    }
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Depth {
    depth: u64,
    /// Whether each frame also takes 1 KiB of the stack that lies in the guest's own memory.
    #[serde(default)]
    frames_in_memory: bool,
}

/// Calls itself.
pub(crate) struct Recurse;

impl Tool for Recurse {
    const NAME: &'static str = "recurse";
    type Input = Depth;
    type Output = Done;

    fn declare() -> Declaration {
        harmless("Recurse")
    }

    fn call(input: Depth, _context: &Context) -> Result<Done, ToolError> {
        let done = if input.frames_in_memory { wide(input.depth) } else { narrow(input.depth) };
        Ok(Done { done })
    }
}

#[inline(never)]
fn narrow(depth: u64) -> u64 {
    if depth == 0 { 0 } else { black_box(narrow as fn(u64) -> u64)(depth - 1) + 1 }
}

#[inline(never)]
fn wide(depth: u64) -> u64 {
    let frame = black_box([depth; 128]);
    if depth == 0 { 0 } else { wide(depth - 1) + 1 + (frame[5] - depth) }
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct LastWords {
    /// What it panics with; it does not where this is absent.
    text: Option<String>,
}

/// Traps, with a text on standard error.
pub(crate) struct Panic;

impl Tool for Panic {
    const NAME: &'static str = "panic";
    type Input = LastWords;
    type Output = Done;

    fn declare() -> Declaration {
        harmless("Panic")
    }

    fn call(input: LastWords, _context: &Context) -> Result<Done, ToolError> {
        if let Some(text) = input.text {
            panic!("{text}");
        }
        Ok(Done { done: 0 })
    }
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Status {
    /// It does not exit where this is absent.
    status: Option<i32>,
}

/// Ends the guest in the middle of a call, as if all were done.
pub(crate) struct Exit;

impl Tool for Exit {
    const NAME: &'static str = "exit";
    type Input = Status;
    type Output = Done;

    fn declare() -> Declaration {
        harmless("Exit")
    }

    fn call(input: Status, _context: &Context) -> Result<Done, ToolError> {
        if let Some(status) = input.status {
            std::process::exit(status);
        }
        Ok(Done { done: 0 })
    }
}
