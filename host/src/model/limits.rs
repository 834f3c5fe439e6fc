//! Limits of time, size and number, with their defaults.

use std::time::Duration;

/// What bounds calls. Every field is enforced, and each limit's failure names its setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// How long one attempt may take.
    pub attempt: Duration,
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
    /// Log of one attempt, in bytes; what is more is counted and dropped.
    pub log: u64,
    /// Requests of one attempt.
    pub requests: u64,
    /// A request's or an answer's body, in bytes.
    pub body: u64,
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
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            attempt: Duration::from_secs(30),
            connect: Duration::from_secs(5),
            read: Duration::from_secs(10),
            fuel: 20_000_000_000,
            memory: 64 << 20,
            output: 1 << 20,
            log: 64 << 10,
            requests: 100,
            body: 8 << 20,
            input: 1 << 20,
            depth: 64,
            at_once: 64,
            waiting: 1024,
            wait: Duration::from_secs(20),
            keep: Duration::from_secs(24 * 3600),
            tombstone: Duration::from_secs(7 * 24 * 3600),
        }
    }
}
