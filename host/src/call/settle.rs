//! The end of a call, written in one transaction: attempt, step, run, key and event.

use std::sync::Arc;

use super::attempt::{LONG, Ran};
use super::classify::Classified;
use super::recall::Replay;
use super::reserve::Hold;
use super::shape::result;
use super::{Parts, Setting, Turn};
use crate::model::attachment::Attachment;
use crate::model::classify::Verdict;
use crate::model::code;
use crate::model::failure::{Failure, Kind};
use crate::model::id::RunId;
use crate::model::limits::Limits;
use crate::model::manifest::Repeat;
use crate::model::pointer::Unshown;
use crate::model::reply::{Stored, Usage};
use crate::model::secret::Mask;
use crate::model::staged::Staged;
use crate::model::state::{Event, RunState};
use crate::plugin::Entry;
use crate::store::{End, KeyLife, Reserved, StoreFailure};

/// A call whose end is written down.
#[derive(Debug)]
pub struct Finished {
    run: RunId,
    attempts: u32,
    usage: Usage,
    stored: Stored,
    attachments: Vec<Attachment>,
    dropped: Vec<String>,
}

impl Finished {
    /// The run.
    pub fn run(&self) -> RunId {
        self.run
    }

    /// Attempts begun.
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// What the last attempt used.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// The result.
    pub fn stored(&self) -> &Stored {
        &self.stored
    }

    /// What goes beside it.
    pub fn attachments(&self) -> &[Attachment] {
        &self.attachments
    }

    /// Fields of the input that were left out.
    pub fn dropped(&self) -> &[String] {
        &self.dropped
    }
}

/// Writes the end down and waits until it is durable, where anybody could ever ask for it again.
pub(super) async fn settle(parts: &Arc<Parts>, classified: Classified) -> Result<Finished, Turn> {
    let (ran, verdict) = classified.into_parts();
    let Ran { valid, hold, attempt, usage, log, effects, outcomes, staged, fingerprint, driven, ended: _ } =
        ran;
    let resolved = valid.fresh().authorized().resolved();
    let entry = resolved.tool();
    let key = key_told(&hold, resolved.key().map(crate::model::key::Key::as_str), hold.run());
    let setting = resolved.setting();
    let life = key_life(&setting.config.limits, entry.tool.repeat);
    let mut end = shaped(verdict, key.clone(), life, Arc::clone(entry), Arc::clone(setting)).await;
    end.attempt = attempt;
    end.fingerprint = fingerprint;
    end.usage = usage;
    end.outcomes = outcomes;
    end.staged = lasting(staged, &end, &setting.mask);
    end.at = parts.clock.now();
    let text = log.text() + &end.log;
    end.log = setting.mask.text(&text).unwrap_or(text);
    let dropped = valid.dropped().to_vec();
    let (stored, attachments) = (end.stored.clone(), end.kept.attachments.clone());
    let finished = Finished { run: hold.run(), attempts: attempt, usage, stored, attachments, dropped };
    let leased = matches!(hold, Hold::Leased(_));
    let written = match hold {
        Hold::Leased(lease) => parts.store.settle(lease, end).await,
        Hold::Unwritten(new) if new.key.is_some() || !end.staged.is_empty() => {
            parts.store.record(*new, end).await.map(|made| matches!(made, Reserved::Won(_)))
        }
        Hold::Unwritten(new) => {
            // Nobody can ask for it again, and nothing happened outside: it is recorded without being waited for.
            let place = Arc::clone(&parts.unwaited).acquire_owned().await;
            let recorded = parts.store.record(*new, end);
            tokio::spawn(async move {
                let _ = recorded.await;
                // Until here whoever asks for the run is told that it is under way.
                drop((place, driven));
            });
            Ok(true)
        }
    };
    match written {
        Ok(true) => Ok(finished),
        Ok(false) if leased => Err(lost(parts, finished.run)),
        Ok(false) => Err(Turn::Again),
        Err(failure) if effects.is_empty() => Err(Turn::Refuse(unstored(&failure, key.as_deref()))),
        Err(failure) => Err(Turn::Refuse(unknown(finished.run, &failure))),
    }
}

/// What lasts of what an attempt set aside: values where it succeeded, what it saved where there can be another, and
/// what it cost in any case.
fn lasting(mut staged: Staged, end: &End, mask: &Mask) -> Staged {
    if end.event != Event::Completed {
        staged.values.clear();
    }
    if !end.rearms {
        staged.saved = None;
    }
    for cost in &mut staged.costs {
        cost.what = mask.text(&cost.what).unwrap_or_else(|| std::mem::take(&mut cost.what));
    }
    staged
}

/// The answer when another process has taken the run over: what that one wrote, and never another execution.
fn lost(parts: &Parts, run: RunId) -> Turn {
    let record = match parts.store.run(run) {
        Ok(record) => record,
        Err(failure) => return Turn::Refuse(unknown(run, &failure)),
    };
    match record.as_ref().and_then(Replay::of) {
        Some(replay) => Turn::Replay(Box::new(replay)),
        None => Turn::Refuse(unknown(run, &StoreFailure::Taken)),
    }
}

/// The end of a run; a long output is shaped away from the threads that serve.
async fn shaped(
    verdict: Verdict,
    key: Option<String>,
    life: KeyLife,
    entry: Arc<Entry>,
    setting: Arc<Setting>,
) -> End {
    let long = matches!(&verdict, Verdict::Done(output) if output.data.len() > LONG);
    let shape = move || {
        let shaping = Shaping { entry: Some(&entry), unshown: &entry.tool.unshown, setting: &setting };
        end(verdict, key.as_deref(), life, shaping)
    };
    if !long {
        return shape();
    }
    match tokio::task::spawn_blocking(shape).await {
        Ok(end) => end,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

/// What a result is shaped by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shaping<'a> {
    /// The tool, where it is there.
    pub(super) entry: Option<&'a Arc<Entry>>,
    /// What is not to be seen of it.
    pub(super) unshown: &'a Unshown,
    /// What holds.
    pub(super) setting: &'a Setting,
}

/// The end of a run as it is written, its attempt's own facts apart.
pub(super) fn end(verdict: Verdict, key: Option<&str>, life: KeyLife, shaping: Shaping<'_>) -> End {
    let mask = &shaping.setting.mask;
    let event = verdict.event();
    let rearms = verdict.rearms() && key.is_some();
    let cleanup = match &verdict {
        Verdict::Done(output) => output.cleanup,
        Verdict::Failed { .. } | Verdict::Partial { .. } | Verdict::Unknown { .. } => None,
    };
    let (shaped, word, log) = match verdict {
        Verdict::Done(output) => {
            (result::output(shaping.entry, shaping.setting, output), "ok".to_owned(), None)
        }
        Verdict::Failed { failure, .. }
        | Verdict::Partial { failure, .. }
        | Verdict::Unknown { failure, .. } => {
            let failure = match key.filter(|_| rearms) {
                Some(key) => failure.with_detail("key", key),
                None => failure,
            };
            let shaped = result::error(&failure, shaping.unshown, shaping.setting);
            let word = mask.text(&failure.code).unwrap_or_else(|| failure.code.into_owned());
            (shaped, word, failure.log)
        }
    };
    End {
        // A run that ends was running: the state machine has no other way here.
        state: RunState::Running.apply(event).unwrap_or(RunState::Failed),
        event,
        attempt: 1,
        stored: shaped.stored,
        kept: shaped.kept,
        word,
        rearms,
        usage: Usage::default(),
        // One line: what a guest put into it does not speak for the host.
        log: log.map(|line| format!("host: {}\n", line.replace('\n', "\\n"))).unwrap_or_default(),
        outcomes: Vec::new(),
        staged: Staged::default(),
        fingerprint: None,
        cleanup,
        life,
        at: crate::model::clock::Timestamp(0),
    }
}

/// How long the key of a tool is kept: what must not repeat is remembered for longer.
pub(super) fn key_life(limits: &Limits, repeat: Repeat) -> KeyLife {
    let guard = match repeat {
        Repeat::Once => limits.tombstone,
        Repeat::Reads | Repeat::Idempotent | Repeat::Keyed => std::time::Duration::ZERO,
    };
    KeyLife { keep: limits.keep, guard }
}

fn key_told(hold: &Hold, given: Option<&str>, run: RunId) -> Option<String> {
    match (given, hold) {
        (Some(key), _) => Some(key.to_owned()),
        (None, Hold::Leased(_)) => Some(format!("airlock-{run}")),
        (None, Hold::Unwritten(_)) => None,
    }
}

fn unstored(failure: &StoreFailure, key: Option<&str>) -> Failure {
    let text = "the host cannot write the result down, so it gives none; nothing was changed outside";
    let mut refusal = Failure::new(Kind::Transient, code::STORE_UNAVAILABLE, text);
    refusal.log = Some(format!("{failure}; {}", failure.hint()));
    match key {
        Some(key) => refusal.with_detail("key", key),
        None => refusal,
    }
}

fn unknown(run: RunId, failure: &StoreFailure) -> Failure {
    let text = "what was done could not be written down; the action may have happened: do not repeat it";
    let mut unknown =
        Failure::new(Kind::UnknownOutcome, code::OUTCOME_UNKNOWN, text).with_detail("run", run.to_string());
    unknown.log = Some(failure.to_string());
    unknown
}
