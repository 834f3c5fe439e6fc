//! What is written between two attempts of a call, and about the origins that they met.

use super::NewAttempt;
use crate::model::breaker::Forced;
use crate::model::clock::Timestamp;
use crate::model::health::{NoRetry, Reports};
use crate::model::id::ToolName;
use crate::model::reply::Usage;
use crate::model::run::Lease;
use crate::model::staged::Staged;
use crate::store::Outcome;

/// The end of an attempt that another follows.
#[derive(Debug, Clone)]
pub struct Rest {
    /// The attempt.
    pub attempt: u32,
    /// The code of its failure.
    pub word: String,
    /// What it used.
    pub usage: Usage,
    /// What the guest and the host wrote.
    pub log: String,
    /// What became of its effects.
    pub outcomes: Vec<Outcome>,
    /// What it cost, and what it saved.
    pub staged: Staged,
    /// What it tells of the origins that it met, and what it pays for the retry.
    pub reports: Option<Reports>,
    /// Whether its process stays at it while it waits, and keeps what it holds of budgets, but for what this attempt cost.
    pub holds: bool,
    /// When the next one begins.
    pub wakes: Timestamp,
    /// When it ended.
    pub at: Timestamp,
}

/// Whether a run waits for its next attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rested {
    /// It does, under this lease.
    Waits(Lease),
    /// It may have none; nothing was written.
    Refused(NoRetry),
    /// The lease is lost.
    Lost,
}

/// An attempt that failed, of a run that is written when it ends, and the one that followed it.
#[derive(Debug, Clone)]
pub struct Past {
    /// How it ended.
    pub rest: Rest,
    /// The next; none where the run ended before there was one.
    pub next: Option<NewAttempt>,
}

/// The question whether an attempt may begin.
#[derive(Debug, Clone)]
pub struct Ask {
    /// The tool.
    pub tool: ToolName,
    /// The origins that it may go to.
    pub origins: Vec<String>,
    /// The attempt's own number.
    pub by: u64,
    /// Until when its place is kept, where it is the one that tries.
    pub until: Timestamp,
    /// Now.
    pub at: Timestamp,
}

/// Whether an attempt may begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// It may.
    Passes {
        /// The origins at which it is the one that tries.
        tries: Vec<String>,
    },
    /// It may not.
    Refused {
        /// The origin that is left alone.
        origin: String,
        /// Until when; none where an operator must say so.
        until: Option<Timestamp>,
    },
}

/// What an operator says of a tool's origins.
#[derive(Debug, Clone)]
pub struct Force {
    /// The tool.
    pub tool: ToolName,
    /// The origins.
    pub origins: Vec<String>,
    /// What holds from now on; none where the host decides again.
    pub forced: Option<Forced>,
}
