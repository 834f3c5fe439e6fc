//! Holds as much of the host as it is told to, and longer than it said.
#![cfg_attr(
    target_arch = "wasm32",
    expect(unsafe_code, reason = "generated: the exports of a resource take pointers")
)]

use std::mem;
use std::time::Duration;

use airlock_sdk::{Cleanup, Context, Declaration, Repeat, Risk, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use bindings::exports::example::hoarder::things::{Guest, GuestThing, Thing};
use bindings::wasi::clocks::monotonic_clock;
use bindings::wasi::random::{insecure, random};

mod bindings {
    wit_bindgen::generate!({
        inline: "
            package example:hoarder@1.0.0;

            interface things {
                resource thing {
                    constructor();
                }
            }

            world hoarder {
                import wasi:clocks/monotonic-clock@0.2.1;
                import wasi:random/insecure@0.2.1;
                import wasi:random/random@0.2.1;
                export things;
            }

            package wasi:random@0.2.1 {
                interface random {
                    get-random-bytes: func(len: u64) -> list<u8>;
                }

                interface insecure {
                    get-insecure-random-bytes: func(len: u64) -> list<u8>;
                }
            }

            package wasi:io@0.2.1 {
                interface poll {
                    resource pollable;
                }
            }

            package wasi:clocks@0.2.1 {
                interface monotonic-clock {
                    use wasi:io/poll@0.2.1.{pollable};
                    type duration = u64;
                    subscribe-duration: func(when: duration) -> pollable;
                }
            }
        ",
        generate_all,
    });
}

airlock_sdk::export!(reader hoarder: Timers, Things, Noise, Linger);

struct Hoarder;

impl Guest for Hoarder {
    type Thing = Kept;
}

struct Kept;

impl GuestThing for Kept {
    fn new() -> Self {
        Self
    }
}

#[cfg(target_family = "wasm")]
bindings::export!(Hoarder with_types_in bindings);

fn declaration(title: &str) -> Declaration {
    Declaration::new(title)
        .description(format!("{title}, as many as it is told to."))
        .risk(Risk::PublicRead)
        .repeat(Repeat::Reads)
        .cleanup(Cleanup::Nothing)
}

#[derive(Deserialize, JsonSchema)]
struct Count {
    count: u32,
}

#[derive(Serialize, JsonSchema)]
struct Held {
    held: u32,
}

/// Holds timers, which are the host's.
struct Timers;

impl Tool for Timers {
    const NAME: &'static str = "timers";
    type Input = Count;
    type Output = Held;

    fn declare() -> Declaration {
        declaration("Hold timers")
    }

    fn call(input: Count, _context: &Context) -> Result<Held, ToolError> {
        (0..input.count).for_each(|_| mem::forget(monotonic_clock::subscribe_duration(u64::MAX)));
        Ok(Held { held: input.count })
    }
}

/// Holds handles of things of its own.
struct Things;

impl Tool for Things {
    const NAME: &'static str = "things";
    type Input = Count;
    type Output = Held;

    fn declare() -> Declaration {
        declaration("Hold things")
    }

    fn call(input: Count, _context: &Context) -> Result<Held, ToolError> {
        (0..input.count).for_each(|_| mem::forget(Thing::new(Kept)));
        Ok(Held { held: input.count })
    }
}

#[derive(Deserialize, JsonSchema)]
struct Asked {
    count: u64,
    insecure: bool,
}

/// Asks for random bytes in one piece.
struct Noise;

impl Tool for Noise {
    const NAME: &'static str = "noise";
    type Input = Asked;
    type Output = Held;

    fn declare() -> Declaration {
        declaration("Ask for random bytes")
    }

    fn call(input: Asked, _context: &Context) -> Result<Held, ToolError> {
        let bytes = if input.insecure {
            insecure::get_insecure_random_bytes(input.count)
        } else {
            random::get_random_bytes(input.count)
        };
        Ok(Held { held: u32::try_from(bytes.len())? })
    }
}

#[derive(Deserialize, JsonSchema)]
struct Time {
    ms: u64,
}

/// Takes its time, and declares that it takes a fifth of a second at most.
struct Linger;

impl Tool for Linger {
    const NAME: &'static str = "linger";
    type Input = Time;
    type Output = Held;

    fn declare() -> Declaration {
        declaration("Linger").timeout(Duration::from_millis(200))
    }

    fn call(input: Time, _context: &Context) -> Result<Held, ToolError> {
        std::thread::sleep(Duration::from_millis(input.ms));
        Ok(Held { held: 0 })
    }
}
