//! What is handed over to be written: runs, attempts and their ends.

use std::sync::Arc;

use super::{Kept, KeyLife, Past};
use crate::model::attachment::Attachment;
use crate::model::clock::Timestamp;
use crate::model::effect::{Answered, EffectState};
use crate::model::health::Reports;
use crate::model::id::{CallerName, Digest, ProcessId, RunId, ToolName, TraceId, UserName};
use crate::model::key::Key;
use crate::model::manifest::{Cleanup, Repeat};
use crate::model::past::Undone;
use crate::model::pointer::Unshown;
use crate::model::reply::{Stored, Usage};
use crate::model::run::{Does, Lease, Told};
use crate::model::staged::Staged;
use crate::model::state::{Event, RunState};

/// A run about to be.
#[derive(Debug, Clone)]
pub struct NewRun {
    /// Its id.
    pub run: RunId,
    /// Its key; none for a reading call without a caller's key.
    pub key: Option<Key>,
    /// Who asks.
    pub caller: CallerName,
    /// For whom, where the caller says so.
    pub user: Option<UserName>,
    /// For what.
    pub tool: ToolName,
    /// What makes it this action.
    pub action: Digest,
    /// How the tool repeats.
    pub repeat: Repeat,
    /// The input as it was received.
    pub input: String,
    /// What came beside it.
    pub attachments: Vec<Attachment>,
    /// What is not to be seen of input and result.
    pub unshown: Unshown,
    /// The trace that it belongs to.
    pub trace: TraceId,
    /// What the agent says of itself.
    pub told: Told,
    /// The process that will drive it.
    pub owner: ProcessId,
    /// Its first attempt.
    pub attempt: NewAttempt,
}

/// An attempt about to be.
#[derive(Debug, Clone, Copy)]
pub struct NewAttempt {
    /// From 1.
    pub attempt: u32,
    /// What it is for.
    pub does: Does,
    /// The digest of the plugin that will run.
    pub plugin: Digest,
    /// When.
    pub at: Timestamp,
}

/// Whether the run came into being.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reserved {
    /// It did, and is the caller's to drive.
    Won(Lease),
    /// Another run has the key.
    Lost,
}

/// A run to be taken.
#[derive(Debug, Clone)]
pub struct Take {
    /// The run and the number that its lease must still have.
    pub lease: Lease,
    /// Why.
    pub event: Event,
    /// Where that leads: to a state in which a process is at it.
    pub state: RunState,
    /// Who wants it, where it is a person.
    pub by: Option<String>,
    /// Who takes it.
    pub owner: ProcessId,
    /// When.
    pub at: Timestamp,
    /// The attempt that begins with it.
    pub attempt: Option<NewAttempt>,
}

/// What became of an effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Its attempt.
    pub attempt: u32,
    /// Its ordinal.
    pub ordinal: u32,
    /// What is known.
    pub state: EffectState,
    /// The status of the answer.
    pub status: Option<u16>,
    /// What else of the answer is kept.
    pub answered: Option<Arc<Answered>>,
    /// When it was known.
    pub at: Timestamp,
}

/// The end of an attempt and with it of the run.
#[derive(Debug, Clone)]
pub struct End {
    /// What the run is told.
    pub event: Event,
    /// Where that leads.
    pub state: RunState,
    /// The attempt that ended.
    pub attempt: u32,
    /// The result.
    pub stored: Stored,
    /// What is kept beside it.
    pub kept: Kept,
    /// `ok` or the code.
    pub word: String,
    /// Whether the key, given again, runs it again.
    pub rearms: bool,
    /// What the attempt used.
    pub usage: Usage,
    /// What the guest and the host wrote.
    pub log: String,
    /// What became of effects, again, so that the end never knows more than the journal.
    pub outcomes: Vec<Outcome>,
    /// Attempts before, where the run is written when it ends.
    pub past: Vec<Past>,
    /// What the attempt tells of the origins that it met.
    pub reports: Option<Reports>,
    /// What the attempt set aside.
    pub staged: Staged,
    /// The state of what it touched.
    pub fingerprint: Option<String>,
    /// Where its outcome needs a stricter clean-up than its tool declares.
    pub cleanup: Option<Cleanup>,
    /// How long the key is kept.
    pub life: KeyLife,
    /// When.
    pub at: Timestamp,
}

/// The end of an attempt to take a run back.
#[derive(Debug, Clone)]
pub struct RollbackEnd {
    /// What the run is told.
    pub event: Event,
    /// Where that leads.
    pub state: RunState,
    /// The attempt that ended.
    pub attempt: u32,
    /// The result from now on and its word, where they replace the call's.
    pub replaced: Option<(Stored, String)>,
    /// What it undid and what it left.
    pub undone: Undone,
    /// How it ended, in one word.
    pub word: String,
    /// What it used.
    pub usage: Usage,
    /// What the guest and the host wrote.
    pub log: String,
    /// What became of effects: its own, and those that it put back.
    pub outcomes: Vec<Outcome>,
    /// What it set aside.
    pub staged: Staged,
    /// The state of what the run touched, from now on.
    pub fingerprint: Option<String>,
    /// How long the key is kept.
    pub life: KeyLife,
    /// When.
    pub at: Timestamp,
}
