//! What outlives the process: small traits by need, and SQLite behind them.
//!
//! Every write of [`Journal`] is one transaction, submitted when the method is called; the future that it returns
//! is ready once the write is durable. Dropping the future does not take the write back. Writes of one process
//! become durable in the order in which they were submitted.

pub mod failure;
pub mod process;
pub mod sqlite;

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;

pub use failure::StoreFailure;
pub use sqlite::SqliteStore;

use crate::model::attachment::Attachment;
use crate::model::change::{Change, Recorded};
use crate::model::clock::Timestamp;
use crate::model::effect::{Answered, Effect, EffectState};
use crate::model::id::{CallerName, Digest, ProcessId, RunId, ToolName, TraceId, UserName};
use crate::model::key::{Key, Known};
use crate::model::manifest::{Cleanup, Repeat};
use crate::model::past::Undone;
use crate::model::pointer::Unshown;
use crate::model::reply::{Stored, Usage};
use crate::model::run::{Does, Lease, Record, Summary};
use crate::model::staged::Staged;
use crate::model::state::{Event, RunState, Standing};

/// A write under way: ready once it is durable.
pub type Pending<T> = BoxFuture<'static, Result<T, StoreFailure>>;

/// What calls write.
pub trait Journal: Send + Sync {
    /// Makes the run, its key, its step and its first attempt; nothing at all where the key is taken.
    fn reserve(&self, new: NewRun) -> Pending<Reserved>;

    /// Makes a whole run that has already ended, for calls that only read; nothing at all where the key is taken.
    fn record(&self, new: NewRun, end: End) -> Pending<Reserved>;

    /// Takes a run whose lease still has this number, and where asked begins its next attempt.
    fn take(&self, take: Take) -> Pending<Option<Lease>>;

    /// Writes down that an effect is about to be, with what it is to change below a lent folder; `false` where the lease
    /// is lost.
    fn intend(&self, lease: Lease, effect: Effect, change: Option<Change>, at: Timestamp) -> Pending<bool>;

    /// Writes down what became of an effect, whoever holds the run by now.
    fn outcome(&self, run: RunId, outcome: Outcome) -> Pending<()>;

    /// Writes down what the next attempt of a run is to find; `false` where the lease is lost.
    fn save(&self, lease: Lease, saved: Vec<u8>) -> Pending<bool>;

    /// Ends the run's attempt, step and state; `false` where the lease is lost.
    fn settle(&self, lease: Lease, end: End) -> Pending<bool>;

    /// Ends a suspended run by a person's word; `false` where it has moved on since it was looked at.
    fn decide(&self, decided: Decided) -> Pending<bool>;

    /// Ends taking a run back: the attempt, its effects and the state; `false` where the lease is lost.
    fn roll_back(&self, lease: Lease, end: RollbackEnd) -> Pending<bool>;

    /// Removes keys whose time is over, and what was said in runs that ended longer ago than this and whose key is
    /// over: input, result and logs, of which hashes stay. At most this many in one go; gives how many went.
    fn sweep(&self, at: Timestamp, payloads: Duration, most: u32) -> Pending<u32>;
}

/// What calls and people read.
pub trait Ledger: Send + Sync {
    /// The run behind a key, and what is known of it.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn key(&self, scope: Digest, at: Timestamp) -> Result<Option<KeyFound>, StoreFailure>;

    /// One run in full.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn run(&self, run: RunId) -> Result<Option<Record>, StoreFailure>;

    /// Runs whose ids lie in the range, ends included, and that stand so; at most this many, the latest first.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn runs(
        &self,
        range: (RunId, RunId),
        standing: Option<Standing>,
        most: u32,
    ) -> Result<Vec<Summary>, StoreFailure>;

    /// Runs that are under way, and in which process.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn unfinished(&self) -> Result<Vec<(RunId, ProcessId)>, StoreFailure>;

    /// What is kept beside the result of a run.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn kept(&self, run: RunId) -> Result<Kept, StoreFailure>;

    /// What came beside the input of a run.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn brought(&self, run: RunId) -> Result<Vec<Attachment>, StoreFailure>;

    /// What the effects of a run changed below lent folders, in their order, as far as it can still be put back.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn changes(&self, run: RunId) -> Result<Vec<Recorded>, StoreFailure>;

    /// What came back for the effects of a run, as far as it is kept, each with the effect's attempt and ordinal.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn answers(&self, run: RunId) -> Result<Vec<(u32, u32, Answered)>, StoreFailure>;

    /// How many bytes are kept of what lay there before.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn contents(&self, run: RunId) -> Result<u64, StoreFailure>;

    /// What a plugin keeps under a key of its own.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn value(&self, plugin: &str, key: &str) -> Result<Option<Vec<u8>>, StoreFailure>;

    /// A plugin's own keys that begin so, in order: at most this many, those after one of them where it is given.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn value_keys(
        &self,
        plugin: &str,
        prefix: &str,
        after: Option<&str>,
        most: usize,
    ) -> Result<Vec<String>, StoreFailure>;

    /// How much a plugin keeps, in all and under this key.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn room(&self, plugin: &str, key: &str) -> Result<Room, StoreFailure>;

    /// The secret under which keys, seeds and placeholders are made.
    fn secret(&self) -> [u8; 32];

    /// This process, as runs name their owner.
    fn process(&self) -> ProcessId;

    /// Whether the process is gone.
    fn gone(&self, process: ProcessId) -> bool;
}

/// Both halves, as the host holds them.
pub trait Store: Journal + Ledger {}

impl<T: Journal + Ledger> Store for T {}

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

/// What is kept beside a result and not part of it, secrets masked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kept {
    /// The whole of a result that was trimmed.
    pub whole: Option<String>,
    /// The output, or the details of an error, as the tool gave it, where not all of it is shown.
    pub output: Option<String>,
    /// What goes beside the output.
    pub attachments: Vec<Attachment>,
}

/// How much a plugin keeps under keys of its own, in bytes of keys and values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Room {
    /// Under all of them.
    pub all: u64,
    /// Under the one that was asked for.
    pub entry: u64,
}

/// How long a key is kept, from the end of its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyLife {
    /// With its result.
    pub keep: Duration,
    /// Without it, after that.
    pub guard: Duration,
}

/// A person's word on a suspended run.
#[derive(Debug, Clone)]
pub struct Decided {
    /// The run and the number that its lease must still have.
    pub lease: Lease,
    /// What the person found.
    pub event: Event,
    /// Where that leads.
    pub state: RunState,
    /// What becomes of effects that are open.
    pub open_effects: EffectState,
    /// The result from now on.
    pub stored: Stored,
    /// What is kept beside it.
    pub kept: Kept,
    /// `ok` or the code.
    pub word: String,
    /// Whether the key, given again, runs it again.
    pub rearms: bool,
    /// How long the key is kept.
    pub life: KeyLife,
    /// Who.
    pub by: String,
    /// When.
    pub at: Timestamp,
}

/// A key that is known, and its run.
#[derive(Debug, Clone)]
pub struct KeyFound {
    /// What the decision needs.
    pub known: Known,
    /// The run.
    pub run: RunId,
    /// What a change of it must bear.
    pub lease: Lease,
    /// Who drives it.
    pub owner: ProcessId,
    /// Attempts begun.
    pub attempts: u32,
    /// What its last attempt used.
    pub usage: Usage,
    /// Its result, where it has one.
    pub stored: Option<Stored>,
}
