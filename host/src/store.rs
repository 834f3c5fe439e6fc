//! What outlives the process: small traits by need, and SQLite behind them.
//!
//! Every write of [`Journal`] is one transaction, submitted when the method is called; the future that it returns
//! is ready once the write is durable. Dropping the future does not take the write back. Writes of one process
//! become durable in the order in which they were submitted.

pub mod driving;
pub mod failure;
pub mod process;
pub mod retried;
pub mod sqlite;
pub mod written;

use std::time::Duration;

use futures::future::BoxFuture;

pub use driving::{Driving, Held};
pub use failure::StoreFailure;
pub use retried::{Ask, Asked, Force, Past, Rest, Rested};
pub use sqlite::SqliteStore;
pub use written::{Charge, End, NewAttempt, NewRun, Outcome, Reserved, RollbackEnd, Take, Taken};

use crate::model::attachment::Attachment;
use crate::model::budget::{Budget, Day, Sums};
use crate::model::caller::ToolPattern;
use crate::model::change::{Change, Recorded};
use crate::model::clock::Timestamp;
use crate::model::costs::{By, Costs};
use crate::model::effect::{Answered, Effect, EffectState};
use crate::model::guard::Guard;
use crate::model::health::{Health, NoRetry, Reports};
use crate::model::id::{Digest, ProcessId, RunId, ToolName, TraceId};
use crate::model::key::Known;
use crate::model::refused::Refused;
use crate::model::reply::{Stored, Usage};
use crate::model::run::{Lease, Record, Summary};
use crate::model::state::{Event, RunState, Standing};
use crate::model::stats::ToolStats;

/// A write under way: ready once it is durable.
pub type Pending<T> = BoxFuture<'static, Result<T, StoreFailure>>;

/// What calls write.
pub trait Journal: Send + Sync {
    /// Makes the run, its key, its step and its first attempt, and holds what it asks of budgets; nothing at all where
    /// the key is taken or too little is left.
    fn reserve(&self, new: NewRun) -> Pending<Reserved>;

    /// Makes a whole run that has already ended, for calls that only read; nothing at all where the key is taken.
    fn record(&self, new: NewRun, end: End) -> Pending<Reserved>;

    /// Takes a run whose lease still has this number, and where asked begins its next attempt and holds what that asks
    /// of budgets.
    fn take(&self, take: Take) -> Pending<Taken>;

    /// Writes down that an effect is about to be, with what it is to change below a lent folder; `false` where the lease
    /// is lost.
    fn intend(&self, lease: Lease, effect: Effect, change: Option<Change>, at: Timestamp) -> Pending<bool>;

    /// Writes down what became of an effect, whoever holds the run by now.
    fn outcome(&self, run: RunId, outcome: Outcome) -> Pending<()>;

    /// Writes down what the next attempt of a run is to find; `false` where the lease is lost.
    fn save(&self, lease: Lease, saved: Vec<u8>) -> Pending<bool>;

    /// Ends an attempt that another follows, and pays for that one.
    fn rest(&self, lease: Lease, rest: Rest) -> Pending<Rested>;

    /// Takes note of what an attempt tells of the origins that it met; of nothing where a retry was to be paid for and may
    /// not be.
    fn hear(&self, reports: Reports) -> Pending<Result<(), NoRetry>>;

    /// Asks whether an attempt may begin, and keeps its place where it is the one that tries an origin.
    fn ask(&self, ask: Ask) -> Pending<Asked>;

    /// Holds breakers open or closed by an operator's word, or no more.
    fn force(&self, force: Force) -> Pending<()>;

    /// Ends the run's attempt, step and state; `false` where the lease is lost.
    fn settle(&self, lease: Lease, end: End) -> Pending<bool>;

    /// Ends a suspended run by a person's word, or by what its plugin found out; `false` where it has moved on since it
    /// was looked at.
    fn decide(&self, decided: Decided) -> Pending<bool>;

    /// Ends taking a run back: the attempt, its effects and the state; `false` where the lease is lost.
    fn roll_back(&self, lease: Lease, end: RollbackEnd) -> Pending<bool>;

    /// Writes down something that happened to a run and leaves it as it stands; nothing where the lease is lost.
    fn note(&self, lease: Lease, event: Event, at: Timestamp) -> Pending<Option<Lease>>;

    /// Takes note that the result of a run has reached whoever asked for it.
    fn delivered(&self, run: RunId) -> Pending<()>;

    /// Takes note of a call that was refused before it had a run; nobody waits for it.
    fn refuse(&self, refused: Refused) -> Pending<()>;

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

    /// The run that this call of a conversation would only repeat, where there is one.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn repeated(&self, guard: &Guard, at: Timestamp) -> Result<Option<RunId>, StoreFailure>;

    /// One run in full.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn run(&self, run: RunId) -> Result<Option<Record>, StoreFailure>;

    /// Runs whose ids lie in the range, ends included, and that stand so; at most this many, the latest first. Of those that
    /// wait for a person, the one first that waits longest.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn runs(
        &self,
        range: (RunId, RunId),
        standing: Option<Standing>,
        most: u32,
    ) -> Result<Vec<Summary>, StoreFailure>;

    /// The runs of a trace, in their order; at most this many, the earliest.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn traced(&self, trace: &TraceId, most: u32) -> Result<Vec<RunId>, StoreFailure>;

    /// How the calls of these tools went, of the runs that are not before this one, and of what was refused since that time.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn counted(&self, from: RunId, tools: &ToolPattern) -> Result<Vec<ToolStats>, StoreFailure>;

    /// The calls of a trace that were refused before they had a run, in their order; at most this many, the earliest.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn refused(&self, trace: &TraceId, most: u32) -> Result<Vec<Refused>, StoreFailure>;

    /// What the runs cost that are not before this one, summed up so.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn costs(&self, from: RunId, by: Option<By>) -> Result<Costs, StoreFailure>;

    /// What is spent and held of each budget on one day, as far as anything is.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn budgets(&self, day: Day) -> Result<Vec<(Budget, Sums)>, StoreFailure>;

    /// Runs that processes are at, and which.
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

    /// Of one tool and these origins, each where anything went wrong of late.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn health(&self, tool: &ToolName, origins: &[String]) -> Result<Vec<(String, Health)>, StoreFailure>;

    /// Of every tool, each origin where anything went wrong of late.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn ill(&self) -> Result<Vec<(ToolName, String, Health)>, StoreFailure>;

    /// The secret under which keys, seeds and placeholders are made.
    fn secret(&self) -> [u8; 32];

    /// This process, as runs name their owner.
    fn process(&self) -> ProcessId;

    /// Whether the process is gone.
    fn gone(&self, process: ProcessId) -> bool;
}

/// All of it, as the host holds it.
pub trait Store: Journal + Ledger + Driving {}

impl<T: Journal + Ledger + Driving> Store for T {}

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

/// What settles a suspended run: a person's word, or what its plugin found out.
#[derive(Debug, Clone)]
pub struct Decided {
    /// The run and the number that its lease must still have.
    pub lease: Lease,
    /// What was found.
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
    /// Who, where it is a person.
    pub by: Option<String>,
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
    /// Whether that has not reached whoever asked, as far as it is of use.
    pub undelivered: bool,
}
