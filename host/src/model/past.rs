//! Calls that are looked at or taken back once they are over, and what a plugin says ahead of one.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::effect::Answered;
use super::manifest::Risk;

/// What a call would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// One sentence for the person who confirms.
    pub summary: String,
    /// What would change, one line each.
    pub changes: Vec<String>,
    /// The state of what would be touched, now.
    pub fingerprint: Option<String>,
    /// Where this input is riskier than the tool declares.
    pub risk: Option<Risk>,
}

/// A call that is looked at or taken back, as its plugin is told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastCall {
    /// The tool's own name.
    pub tool: String,
    /// JSON text, as the tool got it.
    pub input: String,
    /// What it returned, where the host knows: JSON text.
    pub output: Option<String>,
    /// Whether it took effect, as far as the host knows.
    pub happened: TookEffect,
    /// The key that its attempts had.
    pub key: String,
    /// The requests that were carried out for it.
    pub effects: Vec<PastEffect>,
    /// The state that it left.
    pub fingerprint: Option<String>,
    /// What its attempts saved.
    pub saved: Option<Vec<u8>>,
}

/// A request that was carried out for a past call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastEffect {
    /// The method.
    pub method: String,
    /// A URL, or a folder's name and the path below it.
    pub target: String,
    /// The key that the host sent with it.
    pub key: Option<String>,
    /// The status of the answer.
    pub status: Option<u16>,
    /// The answer, where one came.
    pub answered: Option<Arc<Answered>>,
}

/// Whether a call took effect, as far as the host knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TookEffect {
    /// It did.
    Yes,
    /// It did not.
    No,
    /// Nobody knows.
    Unknown,
}

/// What a plugin found out about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Probed<T> {
    /// It took effect; its result where that can still be told.
    Yes(Option<T>),
    /// It did not.
    No,
    /// Nobody can tell.
    Unknown,
}

/// What was put right of a call, and what was not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undone {
    /// One sentence for the record.
    pub summary: String,
    /// What could not be put right, one line each.
    pub left: Vec<String>,
}

/// How taking a call back ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// What it did is undone, all of it.
    RolledBack,
    /// Some of it is left.
    Left,
    /// Somebody has changed it since, and it was left alone.
    Conflict,
    /// Only a person can undo it, and it was left alone.
    ByHand,
}

impl Ending {
    /// The word that is stored and shown.
    pub fn word(self) -> &'static str {
        match self {
            Self::RolledBack => "rolled_back",
            Self::Left => "left",
            Self::Conflict => "conflict",
            Self::ByHand => "by_hand",
        }
    }
}

/// What came of taking a call back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rollback {
    /// How it ended.
    pub ending: Ending,
    /// What was put right, and what was not.
    pub undone: Undone,
}
