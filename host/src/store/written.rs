//! What is handed over to be written: runs, attempts and their ends.

use std::sync::Arc;

use super::{Kept, KeyLife, Past};
use crate::model::attachment::Attachment;
use crate::model::budget::{Hold, Short};
use crate::model::clock::Timestamp;
use crate::model::effect::{Answered, EffectState};
use crate::model::guard::Guard;
use crate::model::health::Reports;
use crate::model::id::{CallerName, Digest, ProcessId, RunId, ToolName, TraceId, UserName};
use crate::model::key::Key;
use crate::model::manifest::{Cleanup, Repeat};
use crate::model::past::Undone;
use crate::model::pointer::Unshown;
use crate::model::reply::{Stored, Usage};
use crate::model::run::{Background, Does, Lease, Told};
use crate::model::staged::{Cost, Staged};
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
    /// The call as its conversation sees it, where it has one and writes.
    pub guard: Option<Guard>,
    /// The process that will drive it.
    pub owner: ProcessId,
    /// How it is made, where that is in the background: nobody is at it then, and it has no attempt yet.
    pub background: Option<Background>,
    /// Its first attempt.
    pub attempt: NewAttempt,
    /// What it is charged with as it begins.
    pub charge: Charge,
}

/// What budgets are charged with as a call begins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Charge {
    /// What is held until it ends, in place of what it held before; what it holds stays as it is where absent.
    pub hold: Option<Hold>,
    /// What its agent's model cost by then.
    pub model: Option<Cost>,
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reserved {
    /// It did, and is the caller's to drive.
    Won(Lease),
    /// Another run has the key, or is the same action.
    Lost,
    /// Too little is left of a budget; nothing was written.
    Short(Box<Short>),
}

/// Whether a run was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken {
    /// It was, and this lease drives it.
    Held(Lease),
    /// It has moved on.
    Lost,
    /// Too little is left of a budget; the run is as it was.
    Short(Box<Short>),
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
    /// How it is made from now on, where it is left to the background.
    pub background: Option<Background>,
    /// The attempt that begins with it.
    pub attempt: Option<NewAttempt>,
    /// What it is charged with as that begins.
    pub charge: Charge,
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
    /// Since when the run stands so: what was not touched has stood so before.
    pub since: Timestamp,
    /// Whether the key, given again, runs it again.
    pub rearms: bool,
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
