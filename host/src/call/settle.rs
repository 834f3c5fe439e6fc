//! The end of a call, written in one transaction: attempt, step, run, key and event.

use std::sync::Arc;

use super::attempt::{LONG, Ran};
use super::classify::Classified;
use super::parts::Driven;
use super::past;
use super::recall::Replay;
use super::reserve::Hold;
use super::shape::{Call, result};
use super::{Parts, Setting, Turn, fallback};
use crate::model::attachment::Attachment;
use crate::model::classify::{self, Ended, SAME_KEY, Verdict};
use crate::model::code;
use crate::model::effect::Effect;
use crate::model::failure::{Failure, Kind};
use crate::model::guard::held_against;
use crate::model::id::RunId;
use crate::model::limits::Limits;
use crate::model::manifest::Repeat;
use crate::model::pointer::Unshown;
use crate::model::reply::{Stored, Usage};
use crate::model::run::{Does, Record};
use crate::model::secret::Mask;
use crate::model::staged::Staged;
use crate::model::state::{Event, Reason, RunState};
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
    undelivered: bool,
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

    /// Whether it is of use to know that its result has reached whoever asked.
    pub fn undelivered(&self) -> bool {
        self.undelivered
    }

    /// Fields of the input that were left out.
    pub fn dropped(&self) -> &[String] {
        &self.dropped
    }
}

/// Writes the end down and waits until it is durable, where anybody could ever ask for it again.
pub(super) async fn settle(parts: &Arc<Parts>, classified: Classified) -> Result<Finished, Turn> {
    let Classified { mut ran, verdict, reports, again: _, doubt: _ } = classified;
    let verdict =
        verdict.or_else(|failure| fallback::offer(ran.valid.fresh().authorized().resolved(), failure));
    let fingerprint = fingerprint(parts, &mut ran, &verdict).await;
    let Ran {
        valid,
        hold,
        attempt,
        usage,
        log,
        effects,
        outcomes,
        staged,
        sitting,
        driven,
        permit,
        rested,
        ..
    } = *ran;
    let sitting_over = sitting.in_background() && parts.clock.steady() >= sitting.ends;
    let resolved = valid.fresh().authorized().resolved();
    let entry = resolved.tool();
    let key = key_told(&hold, valid.fresh().key().map(crate::model::key::Key::as_str), hold.run());
    let setting = resolved.setting();
    let life = key_life(&setting.config.limits, entry.tool.repeat);
    // What was said before a pause is written down already, and so is why it failed.
    let text = self::log(&log, verdict.failure().filter(|_| !rested), &setting.mask);
    let mut end = shaped(verdict, key.clone(), life, Arc::clone(entry), Arc::clone(setting)).await;
    end.attempt = attempt;
    end.fingerprint = fingerprint;
    end.usage = usage;
    end.outcomes = outcomes;
    end.staged = lasting(staged, end.event == Event::Completed, end.rearms, &setting.mask);
    end.at = parts.clock.now();
    end.past = sitting.past;
    if sitting_over {
        in_time(&mut end);
    }
    end.reports = permit.bundle(reports, end.at);
    end.log = text;
    let dropped = valid.dropped().to_vec();
    let (stored, attachments) = (end.stored.clone(), end.kept.attachments.clone());
    let undelivered = valid.fresh().guard().is_some() && held_against(entry.tool.repeat);
    let run = hold.run();
    let finished = Finished { run, attempts: attempt, usage, stored, attachments, dropped, undelivered };
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
async fn fingerprint(parts: &Arc<Parts>, ran: &mut Ran, verdict: &Verdict) -> Option<String> {
    match ran.fingerprint.take() {
        Some(told) => Some(told),
        None => past::touched(parts, ran, verdict.output()).await,
    }
}

/// Writes the end down, and waits for that where anybody could ask for it; `false` where the run or the key is another's.
async fn written(parts: &Arc<Parts>, hold: Hold, end: End, driven: Driven) -> Result<bool, StoreFailure> {
    match hold {
        Hold::Leased(lease) => parts.store.settle(lease, end).await,
        Hold::Unwritten(new)
            if new.key.is_some()
                || new.charge.model.is_some()
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
    if effects.is_empty() {
        return Turn::Refuse(unstored(failure, key));
    }
    // Whoever closes the run goes by its effects alone.
    let closed = classify::classify(Ended::Interrupted, effects);
    Turn::Refuse(unknown(run, key.filter(|_| closed.rearms()), failure))
}

/// The same between two attempts.
pub(super) fn unwritten(ran: &Ran, failure: &StoreFailure) -> Turn {
    let (run, given) = (ran.hold.run(), ran.valid.fresh().key().map(crate::model::key::Key::as_str));
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
        Err(failure) => return Turn::Refuse(unknown(run, None, &failure)),
    };
    match record.as_ref().and_then(Replay::of) {
        Some(replay) => Turn::Replay(Box::new(replay)),
        None => Turn::Refuse(unknown(run, None, &StoreFailure::Taken)),
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
    let verdict = verdict.under(key);
    let cleanup = verdict.output().and_then(|output| output.cleanup);
    let (shaped, word, log) = match verdict {
        Verdict::Done(output) => {
            (result::output(shaping.entry, shaping.setting, output), "ok".to_owned(), None)
        }
        Verdict::Failed { failure, .. }
        | Verdict::Partial { failure, .. }
        | Verdict::Unknown { failure, .. }
        | Verdict::Poisoned { failure } => {
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

/// Ends a run in the background without another attempt, by what those before it left behind.
pub(super) async fn unbegun(
    parts: &Arc<Parts>,
    record: &Record,
    call: &Call,
    ended: Ended,
) -> Result<(), StoreFailure> {
    let setting = call.setting();
    let late = matches!(ended, Ended::Limit(_));
    let effects: Vec<Effect> = record.effects_of(Does::Call).cloned().collect();
    let verdict = classify::classify(ended, &effects).explained(&effects, &[]);
    let failure = verdict.failure().cloned();
    let life = key_life(&setting.config.limits, record.repeat);
    let entry = setting.registry.get(&record.summary.tool);
    let shaping = Shaping { entry, unshown: &record.unshown, setting };
    let mut end = self::end(verdict, record.key.as_deref(), life, shaping);
    if late {
        in_time(&mut end);
    }
    end.attempt = record.summary.attempts;
    end.usage = record.usage;
    end.at = parts.clock.now();
    if parts.store.settle(record.lease, end).await?
        && let Some(failure) = failure
    {
        super::shape::refusal(parts, call, &failure);
    }
    Ok(())
}

/// Says of a run in the background that ended without success that its time was over.
pub(super) fn in_time(end: &mut End) {
    if end.event == Event::Failed {
        end.event = Event::TimedOut;
    } else if end.event == Event::Suspended(Reason::HalfDone) {
        end.event = Event::Suspended(Reason::Time);
    }
    end.state = RunState::Running.apply(end.event).unwrap_or(end.state);
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

fn unknown(run: RunId, key: Option<&str>, failure: &StoreFailure) -> Failure {
    let text = "what was done could not be written down; the action may have happened";
    let text = match key {
        Some(_) => format!("{text}: {SAME_KEY}"),
        None => format!("{text}: do not repeat it"),
    };
    let mut unknown =
        Failure::new(Kind::UnknownOutcome, code::OUTCOME_UNKNOWN, text).with_detail("run", run.to_string());
    unknown.log = Some(failure.to_string());
    match key {
        Some(key) => unknown.with_detail("key", key),
        None => unknown,
    }
}
