//! Limits of time, size and number, with their defaults, and what is told when one ends an attempt.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::code;
use super::failure::{Failure, Kind};
use super::id::ToolName;

/// What bounds calls. Every field is enforced, and each limit's failure names its setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// How long one attempt may take.
    pub attempt: Duration,
    /// How long all attempts of one call may take, pauses among them.
    pub run: Duration,
    /// The same of a call in the background, from when it was asked for.
    pub background: Duration,
    /// How long a request may take to connect.
    pub connect: Duration,
    /// How long a request may take to be answered, once connected.
    pub read: Duration,
    /// Fuel of one call, instantiation apart.
    pub fuel: u64,
    /// Memory of one call over all memories and tables, in bytes.
    pub memory: u64,
    /// Output of one call, in bytes.
    pub output: u64,
    /// What is shown of one result, in bytes; the whole is given by page.
    pub reply: u64,
    /// What goes beside input and output of one call, in bytes, both together.
    pub attachments: u64,
    /// Log of one attempt, in bytes; what is more is counted and dropped.
    pub log: u64,
    /// Requests of one attempt.
    pub requests: u64,
    /// What one plugin keeps under keys of its own, in bytes of keys and values.
    pub key_value: u64,
    /// A request's or an answer's body, in bytes.
    pub body: u64,
    /// What is kept of files before one run changes them, in bytes; a change beyond it is refused.
    pub contents: u64,
    /// Input of one call, in bytes.
    pub input: u64,
    /// How deep input may be nested.
    pub depth: u64,
    /// Calls that run at once; at most half of them for one plugin or one caller.
    pub at_once: u32,
    /// Calls that wait for a place.
    pub waiting: u32,
    /// How long a caller waits for a call that another began.
    pub wait: Duration,
    /// How long a result is kept for its key, after the run ended.
    pub keep: Duration,
    /// How much longer the key of a tool that must not repeat is remembered without its result.
    pub tombstone: Duration,
    /// How long input, result and logs of a run are kept, after it ended; their hashes stay.
    pub payloads: Duration,
    /// How long after its end a call of a conversation is not simply made again without a key; zero where it is.
    pub same_action: Duration,
}

/// The longest that `same_action` may be: what was asked for so long ago is asked for anew.
pub const MOST_SAME_ACTION: Duration = Duration::from_secs(24 * 3600);

/// What bounds the compiling of plugins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompileLimits {
    /// How long compiling one plugin may take.
    pub time: Duration,
    /// How much memory the compiler of one plugin may hold, in bytes.
    pub memory: u64,
    /// How much compiled code is kept, in bytes; what was not used for longest goes first.
    pub cache: u64,
}

impl Default for CompileLimits {
    fn default() -> Self {
        Self { time: Duration::from_secs(120), memory: 2 << 30, cache: 2 << 30 }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            attempt: Duration::from_secs(30),
            run: Duration::from_secs(120),
            background: Duration::from_secs(24 * 3600),
            connect: Duration::from_secs(5),
            read: Duration::from_secs(10),
            fuel: 20_000_000_000,
            memory: 64 << 20,
            output: 1 << 20,
            reply: 32 << 10,
            attachments: 8 << 20,
            log: 64 << 10,
            requests: 100,
            key_value: 64 << 20,
            body: 8 << 20,
            contents: 50 << 20,
            input: 1 << 20,
            depth: 64,
            at_once: 64,
            waiting: 1024,
            wait: Duration::from_secs(20),
            keep: Duration::from_secs(24 * 3600),
            tombstone: Duration::from_secs(7 * 24 * 3600),
            payloads: Duration::from_secs(30 * 24 * 3600),
            same_action: Duration::from_secs(600),
        }
    }
}

/// How long one attempt may take, and where that stands.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AttemptTime {
    /// How long.
    pub time: Duration,
    /// Where it stands.
    pub says: Says,
}

/// Who says how long an attempt may take.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Says {
    /// The operator, for every tool: `[limits] attempt`.
    Limits,
    /// The operator, for this one: `[tools."plugin.tool"] timeout`.
    Rule(ToolName),
    /// The tool itself, in its manifest.
    Tool,
    /// The operator, for all attempts together: what was left of `[limits] run`, which is this long.
    Run(Duration),
    /// The operator, for a call in the background: what was left of `[limits] background`, which is this long.
    Background(Duration),
    /// The operator, for finding out what became of a call: `[probe] time`.
    Probe,
}

impl AttemptTime {
    /// The same, where no more than this is left of the run's time, which this says.
    #[must_use]
    pub fn within(self, left: Duration, says: Says) -> Self {
        if left < self.time { Self { time: left, says } } else { self }
    }
}

impl AttemptTime {
    /// That it is over, and what says how long it is.
    fn told(self) -> String {
        let Self { time, says } = self;
        let attempt = |setting: &str| format!("the attempt took longer than {time:?} ({setting})");
        match says {
            Says::Limits => attempt("[limits] attempt"),
            Says::Rule(tool) => attempt(&format!("[tools.\"{tool}\"] timeout")),
            Says::Tool => attempt("the tool itself declares that, in `timeout-ms`"),
            Says::Probe => format!("finding out what became of it took longer than {time:?} ([probe] time)"),
            Says::Run(run) => format!("all attempts together took longer than {run:?} ([limits] run)"),
            Says::Background(run) => format!(
                "the call was not done in the {} that it may take in the background ([limits] background)",
                humantime::format_duration(run)
            ),
        }
    }
}

/// A limit that ended an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Limit {
    /// The attempt's time.
    Time(AttemptTime),
    /// Computed instructions.
    Fuel(u64),
    /// Memory over all memories and tables, in bytes.
    Memory(u64),
    /// Things of the host that the guest holds at once: streams, clocks it waits on.
    Resources(u64),
    /// Handles that the guest holds at once, its own resources among them.
    Handles(u64),
    /// Random bytes that the guest asked for at once.
    Random(u64),
    /// Output, in bytes.
    Output(u64),
    /// Attachments, in bytes, those that the call brought among them.
    Attachments(u64),
    /// What the guest handed over in one piece, as output or to a function of the host, in bytes.
    Piece(u64),
    /// Requests.
    Requests(u64),
}

impl Limit {
    /// What the caller is told: the limit, and the setting that moves it where there is one.
    pub fn failure(self) -> Failure {
        const FIXED: &str = "no setting moves this limit";
        let (code, text) = match self {
            Self::Time(time) => (code::TIME_LIMIT, time.told()),
            Self::Fuel(fuel) => {
                (code::FUEL_LIMIT, format!("the tool used up its {fuel} units of fuel ([limits] fuel)"))
            }
            Self::Memory(bytes) => (
                code::MEMORY_LIMIT,
                format!("the tool asked for more than {bytes} bytes of memory ([limits] memory)"),
            ),
            Self::Resources(count) => (
                code::MEMORY_LIMIT,
                format!("the tool held more than {count} resources of the host at once ({FIXED})"),
            ),
            Self::Handles(count) => {
                (code::MEMORY_LIMIT, format!("the tool held more than {count} handles at once ({FIXED})"))
            }
            Self::Random(bytes) => (
                code::MEMORY_LIMIT,
                format!("the tool asked for more than {bytes} random bytes at once ({FIXED})"),
            ),
            Self::Output(bytes) => (
                code::OUTPUT_LIMIT,
                format!("the tool gave more than {bytes} bytes of output ([limits] output)"),
            ),
            Self::Attachments(bytes) => (
                code::OUTPUT_LIMIT,
                format!(
                    "the tool gave attachments that make more than {bytes} bytes with those of the call \
                     ([limits] attachments)"
                ),
            ),
            Self::Piece(bytes) => (
                code::OUTPUT_LIMIT,
                format!(
                    "the tool handed over more than {bytes} bytes in one piece \
                     (1 MiB above the largest of [limits] output, attachments and body)"
                ),
            ),
            Self::Requests(count) => {
                (code::REQUEST_LIMIT, format!("the tool sent more than {count} requests ([limits] requests)"))
            }
        };
        Failure::new(Kind::Limit, code, text)
    }
}
