//! The end of a call, written in one transaction: attempt, step, run, key and event.

use std::sync::Arc;

use super::attempt::{LONG, Ran};
use super::classify::Classified;
use super::parts::Driven;
use super::past::{self, Touched};
use super::recall::Replay;
use super::reserve::Hold;
use super::shape::result;
use super::{Parts, Setting, Turn};
use crate::model::attachment::Attachment;
use crate::model::classify::Verdict;
use crate::model::code;
use crate::model::effect::Effect;
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
use crate::sandbox::logbook::Logbook;
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
    let Classified { ran, verdict, reports, again: _ } = classified;
    let fingerprint = fingerprint(parts, &ran, &verdict).await;
    let Ran {
        valid, hold, attempt, usage, log, effects, outcomes, staged, sitting, driven, mut permit, ..
    } = ran;
    let resolved = valid.fresh().authorized().resolved();
    let entry = resolved.tool();
    let key = key_told(&hold, resolved.key().map(crate::model::key::Key::as_str), hold.run());
    let setting = resolved.setting();
    let life = key_life(&setting.config.limits, entry.tool.repeat);
    let text = self::log(&log, verdict.failure(), &setting.mask);
    let mut end = shaped(verdict, key.clone(), life, Arc::clone(entry), Arc::clone(setting)).await;
    end.attempt = attempt;
    end.fingerprint = fingerprint;
    end.usage = usage;
    end.outcomes = outcomes;
    end.staged = lasting(staged, end.event == Event::Completed, end.rearms, &setting.mask);
    end.at = parts.clock.now();
    end.past = sitting.past;
    end.reports = permit.bundle(reports, end.at);
    end.log = text;
    let dropped = valid.dropped().to_vec();
    let (stored, attachments) = (end.stored.clone(), end.kept.attachments.clone());
    let finished = Finished { run: hold.run(), attempts: attempt, usage, stored, attachments, dropped };
    let leased = matches!(hold, Hold::Leased(_));
    let written = written(parts, hold, end, driven).await;
    if let Ok(true) = written {
        permit.told();
    }
    match written {
        Ok(true) => Ok(finished),
        Ok(false) if leased => Err(lost(parts, finished.run)),
        Ok(false) => Err(Turn::Again),
        Err(failure) => Err(unheard(finished.run, &effects, key.as_deref(), &failure)),
    }
}

/// The state of what a call touched, as its reply or else its plugin tells it.
async fn fingerprint(parts: &Parts, ran: &Ran, verdict: &Verdict) -> Option<String> {
    // Asked for after a pause, it would tell what others did meanwhile.
    if ran.fingerprint.is_some() || ran.rested {
        return ran.fingerprint.clone();
    }
    let touched = Touched {
        valid: &ran.valid,
        run: ran.hold.run(),
        output: verdict.output(),
        effects: &ran.effects,
        outcomes: &ran.outcomes,
        saved: ran.saved.clone(),
    };
    past::touched(parts, touched, &ran.log).await
}

/// Writes the end down, and waits for that where anybody could ask for it; `false` where the run or the key is another's.
async fn written(parts: &Arc<Parts>, hold: Hold, end: End, driven: Driven) -> Result<bool, StoreFailure> {
    match hold {
        Hold::Leased(lease) => parts.store.settle(lease, end).await,
        Hold::Unwritten(new)
            if new.key.is_some()
                || !end.staged.is_empty()
                || !end.past.is_empty()
                || end.reports.is_some() =>
        {
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
    }
}

/// What lasts of what an attempt set aside: values where it succeeded, what it saved where there can be another, and
/// what it cost in any case.
pub(super) fn lasting(mut staged: Staged, succeeded: bool, again: bool, mask: &Mask) -> Staged {
    if !succeeded {
        staged.values.clear();
    }
    if !again {
        staged.saved = None;
    }
    for cost in &mut staged.costs {
        cost.what = mask.text(&cost.what).unwrap_or_else(|| std::mem::take(&mut cost.what));
    }
    staged
}

/// The answer when it is not known whether what ends an attempt was written down.
fn unheard(run: RunId, effects: &[Effect], key: Option<&str>, failure: &StoreFailure) -> Turn {
    Turn::Refuse(if effects.is_empty() { unstored(failure, key) } else { unknown(run, failure) })
}

/// The same between two attempts.
pub(super) fn unwritten(ran: &Ran, failure: &StoreFailure) -> Turn {
    let resolved = ran.valid.fresh().authorized().resolved();
    let (run, given) = (ran.hold.run(), resolved.key().map(crate::model::key::Key::as_str));
    unheard(run, &ran.effects, key_told(&ran.hold, given, run).as_deref(), failure)
}

/// `ok`, or the code of the failure, as it is stored.
pub(super) fn word(verdict: &Verdict, mask: &Mask) -> String {
    let code = verdict.failure().map_or("ok", |failure| &failure.code);
    mask.text(code).unwrap_or_else(|| code.to_owned())
}

/// What the guest and the host wrote, and why it failed where only the log may know.
pub(super) fn log(log: &Logbook, failure: Option<&Failure>, mask: &Mask) -> String {
    let line = failure.and_then(|failure| failure.log.as_deref()).map(told).unwrap_or_default();
    let text = log.text() + &line;
    mask.text(&text).unwrap_or(text)
}

/// What the host says in a log, in one line: what a guest put into it does not speak for the host.
fn told(line: &str) -> String {
    format!("host: {}\n", line.replace('\n', "\\n"))
}

/// The answer when another process has taken the run over: what that one wrote, and never another execution.
pub(super) fn lost(parts: &Parts, run: RunId) -> Turn {
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
    let cleanup = verdict.output().and_then(|output| output.cleanup);
    let (shaped, word, log) = match verdict {
        Verdict::Done(output) => {
            (result::output(shaping.entry, shaping.setting, output), "ok".to_owned(), None)
        }
        Verdict::Failed { failure, .. }
        | Verdict::Partial { failure, .. }
        | Verdict::Unknown { failure, .. }
        | Verdict::Poisoned { failure } => {
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
        log: log.as_deref().map(told).unwrap_or_default(),
        outcomes: Vec::new(),
        past: Vec::new(),
        reports: None,
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
