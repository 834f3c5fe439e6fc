//! Runs as the store holds them and as doors show them.

use serde::Serialize;

use super::clock::Timestamp;
use super::effect::Effect;
use super::id::{CallerName, Digest, ProcessId, RunId, SceneName, ToolName, TraceId, UserName};
use super::late::Late;
use super::manifest::{Cleanup, Repeat};
use super::past::Undone;
use super::pointer::Unshown;
use super::reply::{Stored, Usage};
use super::secret::Mask;
use super::staged::Cost;
use super::state::RunState;

/// The step of a run that a lone call makes.
pub const LONE_STEP: u32 = 1;

/// The right to drive a run: every write bears its number, and a writer whose number is old is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// The run.
    pub run: RunId,
    /// Rises with every change of the run's state or owner.
    pub number: u64,
}

/// What an agent says of itself: kept with the call, and believed of nobody.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Told {
    /// The model that asks.
    pub model: Option<String>,
    /// Why it asks.
    pub reason: Option<String>,
}

impl Told {
    /// The same without known secrets, each at most so long as people read.
    #[must_use]
    pub fn bounded(&self, mask: &Mask) -> Self {
        const MOST: usize = 1000;
        let shown = |text: &String| {
            let text = mask.text(text).unwrap_or_else(|| text.clone());
            text.chars().take(MOST).collect()
        };
        Self { model: self.model.as_ref().map(shown), reason: self.reason.as_ref().map(shown) }
    }
}

/// How a call is made in the background.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Background {
    /// When its time is over.
    pub until: Timestamp,
    /// The scene that it was asked for in, where one was chosen.
    pub scene: Option<SceneName>,
}

/// One line of the list of runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// The run.
    pub run: RunId,
    /// Where it stands.
    #[serde(serialize_with = "word")]
    pub state: RunState,
    /// Its tool.
    pub tool: ToolName,
    /// Who asked.
    pub caller: CallerName,
    /// For whom, where the caller said so.
    pub user: Option<UserName>,
    /// Attempts begun.
    pub attempts: u32,
    /// When it began.
    pub began: Timestamp,
    /// When it ended or was suspended.
    pub ended: Option<Timestamp>,
    /// The code of its error.
    pub code: Option<String>,
}

fn word<S: serde::Serializer>(state: &RunState, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(state.word())
}

/// What an attempt is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Does {
    /// It makes the call.
    Call,
    /// It takes the call back.
    Rollback,
}

impl Does {
    /// The word that is stored and shown.
    pub fn word(self) -> &'static str {
        match self {
            Self::Call => "call",
            Self::Rollback => "rollback",
        }
    }

    /// The value that was stored as this word.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Call, Self::Rollback].into_iter().find(|does| does.word() == word)
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_call(&self) -> bool {
        *self == Self::Call
    }
}

/// An attempt as it is shown.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Attempt {
    /// From 1.
    pub attempt: u32,
    /// When it began.
    pub began: Timestamp,
    /// When it ended.
    pub ended: Option<Timestamp>,
    /// How it ended: `ok` or a code.
    pub outcome: Option<String>,
    /// What it was for.
    #[serde(skip_serializing_if = "Does::is_call")]
    pub does: Does,
    /// What it undid and what it left, where it was to take the call back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undone: Option<Undone>,
    /// The digest of the plugin that ran.
    #[serde(serialize_with = "text")]
    pub plugin_digest: Digest,
    /// Fuel used.
    pub fuel: u64,
    /// The most memory held, in bytes.
    pub memory_bytes: u64,
    /// What the guest and the host wrote, a line each.
    pub log: String,
}

fn text<T: std::fmt::Display, S: serde::Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

fn text_or_none<T: std::fmt::Display, S: serde::Serializer>(
    value: &Option<T>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => serializer.collect_str(value),
        None => serializer.serialize_none(),
    }
}

/// Something that happened to a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Happened {
    /// When.
    pub at: Timestamp,
    /// What, in the words of the journal.
    pub event: String,
    /// Who, where it was a person.
    pub by: Option<String>,
}

/// What stays of texts that are kept no longer: who has such a text can tell whether it was this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Removed {
    /// Since when they are gone; the logs of the attempts went with them.
    pub at: Timestamp,
    /// SHA-256 of the input as it was received.
    #[serde(rename = "input_sha256", serialize_with = "text")]
    pub input: Digest,
    /// SHA-256 of the result, where there was one.
    #[serde(rename = "result_sha256", serialize_with = "text_or_none")]
    pub result: Option<Digest>,
}

/// A whole run.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Its line in the list.
    pub summary: Summary,
    /// What a change must bear.
    pub lease: Lease,
    /// The process that drives it, or drove it last.
    pub owner: ProcessId,
    /// When its next attempt begins, where it waits for that.
    pub wakes: Option<Timestamp>,
    /// How it is made, where that is in the background.
    pub background: Option<Background>,
    /// The caller's key, or the host's own.
    pub key: Option<String>,
    /// What made it this action.
    pub action: Digest,
    /// How its tool repeats.
    pub repeat: Repeat,
    /// The trace of the call that began it.
    pub trace: TraceId,
    /// What the agent said of itself; the reason goes with the input.
    pub told: Told,
    /// The input as it was received, until it is removed.
    pub input: Option<String>,
    /// What is not to be seen of input and end.
    pub unshown: Unshown,
    /// The end, where there is one, until it is removed.
    pub stored: Option<Stored>,
    /// What stays of input and end once they are removed.
    pub removed: Option<Removed>,
    /// The state of what it touched, as far as its plugin could tell when it ended.
    pub fingerprint: Option<String>,
    /// Where its outcome needs a stricter clean-up than its tool declares.
    pub cleanup: Option<Cleanup>,
    /// Whether its key, given again, runs it again.
    pub rearms: bool,
    /// Whether its result has not reached whoever asked, as far as that is of use.
    pub undelivered: bool,
    /// What its last attempt used.
    pub usage: Usage,
    /// Its attempts, in order.
    pub attempts: Vec<Attempt>,
    /// Its effects, in order; reads are not among them.
    pub effects: Vec<Effect>,
    /// What was said of those of which an answer told otherwise later.
    pub late: Vec<Late>,
    /// What it cost, in order.
    pub costs: Vec<Cost>,
    /// What its attempts saved for the next one.
    pub saved: Option<Vec<u8>>,
    /// What happened to it, in order.
    pub events: Vec<Happened>,
}

impl Record {
    /// Its effects that attempts of this sort sent.
    pub fn effects_of(&self, does: Does) -> impl Iterator<Item = &Effect> {
        let sent = move |effect: &&Effect| {
            self.attempts.iter().any(|one| one.attempt == effect.attempt && one.does == does)
        };
        self.effects.iter().filter(sent)
    }
}
