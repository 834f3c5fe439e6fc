//! How taking a call back ends: what the run is told and what is written down, for a process that died meanwhile too.

use super::{Attempt, cleared, named, stands};
use crate::call::{Parts, folders, settle};
use crate::model::code;
use crate::model::effect::{Effect, EffectState, each_once};
use crate::model::failure::{Failure, Kind};
use crate::model::id::RunId;
use crate::model::past::{Ending, Rollback, Undone};
use crate::model::reply::Stored;
use crate::model::run::{Does, Lease, Record};
use crate::model::state::{Event, Reason, RunState, before_rollback};
use crate::sandbox::logbook::Logbook;
use crate::store::{RollbackEnd, StoreFailure};

impl Attempt<'_> {
    /// Writes down how it ended.
    pub(super) async fn end(
        mut self,
        parts: &Parts,
        ended: &Result<Rollback, Failure>,
    ) -> Result<(), Failure> {
        let (run, lease) = (self.lease.run, self.lease);
        if let Some(text) = ended.as_ref().err().and_then(|failure| failure.log.as_ref()) {
            self.log.host(text);
        }
        let end = self.written(parts, ended);
        let unwritten = |text: String| {
            let told = "what was undone could not be written down; look at the run, and take it back again";
            let mut failure = Failure::new(Kind::UnknownOutcome, code::OUTCOME_UNKNOWN, told)
                .with_detail("run", run.to_string());
            failure.log = Some(text);
            failure
        };
        match parts.store.roll_back(lease, end).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(unwritten(StoreFailure::Taken.to_string())),
            Err(failure) => Err(unwritten(failure.to_string())),
        }
    }

    /// What the run is told. Where nothing of it was touched it is as it was; what was found out about one that had
    /// succeeded waits for a person all the same.
    fn event(&self, ended: &Result<Rollback, Failure>) -> Event {
        let found = match ended.as_ref().map(|rollback| rollback.ending) {
            Ok(Ending::RolledBack) => return Event::RolledBack,
            Ok(Ending::Left | Ending::Conflict | Ending::ByHand) => true,
            Err(_) => false,
        };
        match self.from {
            RunState::Suspended(reason) if !self.touched => Event::Suspended(reason),
            RunState::Completed if !self.touched && !found => Event::Completed,
            RunState::Running
            | RunState::BackingOff
            | RunState::Completed
            | RunState::Failed
            | RunState::TimedOut
            | RunState::Suspended(_)
            | RunState::RollingBack
            | RunState::RolledBack => Event::Suspended(Reason::NotUndone),
        }
    }

    fn written(&mut self, parts: &Parts, ended: &Result<Rollback, Failure>) -> RollbackEnd {
        let setting = parts.setting();
        let masked = |text: &str| setting.mask.text(text).unwrap_or_else(|| text.to_owned());
        let event = self.event(ended);
        let (word, undone) = match ended {
            Ok(Rollback { ending: Ending::RolledBack, undone }) => ("ok".to_owned(), undone.clone()),
            Ok(Rollback { ending: ending @ (Ending::Left | Ending::Conflict | Ending::ByHand), undone }) => {
                (ending.word().to_owned(), undone.clone())
            }
            Err(failure) => {
                let undone = Undone { summary: failure.message.clone(), left: left_of(self.record) };
                (masked(&failure.code), undone)
            }
        };
        for cost in &mut self.staged.costs {
            cost.what = masked(&cost.what);
        }
        // A run that is taken back was being so: the state machine has no other way here.
        let state = RunState::RollingBack.apply(event).unwrap_or(RunState::Suspended(Reason::NotUndone));
        let at = parts.clock.now();
        let as_it_was = !self.touched && state == self.from;
        RollbackEnd {
            state,
            event,
            since: self.record.summary.ended.filter(|_| as_it_was).unwrap_or(at),
            rearms: as_it_was && self.record.rearms,
            replaced: (event == Event::RolledBack).then(|| taken_back(self.lease.run)),
            attempt: self.number,
            undone: Undone {
                summary: masked(&undone.summary),
                left: undone.left.iter().map(|line| masked(line)).collect(),
            },
            word,
            usage: self.usage,
            log: masked(&self.log.text()),
            outcomes: std::mem::take(&mut self.outcomes),
            staged: std::mem::take(&mut self.staged),
            fingerprint: self.fingerprint.take(),
            life: settle::key_life(&setting.config.limits, self.record.repeat),
            at,
        }
    }
}

/// What a call did that is not undone, each request once.
fn left_of(record: &Record) -> Vec<String> {
    let effects: Vec<Effect> = record.effects_of(Does::Call).cloned().collect();
    each_once(&effects).filter(|effect| stands(effect)).map(named).collect()
}

/// Closes the attempt of a process that died while it took a run back. Nothing is executed: where everything is undone
/// the run is rolled back, else it can be tried again; where nothing was touched yet, it is as it was.
///
/// # Errors
/// Where the store cannot be read or written.
pub(in crate::call) async fn close(parts: &Parts, record: &Record, lease: Lease) -> Result<(), StoreFailure> {
    let began = record.attempts.last().map(|last| (last.attempt, last.began));
    let (number, began) = began.unwrap_or_else(|| (1, parts.clock.now()));
    let from = before_rollback(record.events.iter().map(|happened| happened.event.as_str()));
    let from = from.unwrap_or(RunState::Suspended(Reason::NotUndone));
    let log = Logbook::new(parts.setting().config.limits.log);
    let mut attempt = Attempt::new(record, lease, (number, began), from, log);
    let changes = parts.store.changes(lease.run)?;
    let done: Vec<&Effect> = record.effects_of(Does::Call).collect();
    let left: Vec<&Effect> = done.iter().copied().filter(|effect| stands(effect)).collect();
    let mut sent: Vec<Effect> =
        record.effects.iter().filter(|effect| effect.attempt == number).cloned().collect();
    if left.iter().any(|effect| !folders::is_change(&changes, effect)) {
        let tool = &record.summary.tool;
        attempt.outcomes = cleared(parts, lease.run, &tool.plugin, &mut sent, &attempt.log).await;
    }
    attempt.touched =
        sent.iter().any(stands) || done.iter().any(|effect| effect.state == EffectState::PutBack);
    let text = "the process that took the call back ended before that was done";
    let ended = if left.is_empty() {
        let summary = "everything was undone when the process that did it ended".to_owned();
        Ok(Rollback { ending: Ending::RolledBack, undone: Undone { summary, left: Vec::new() } })
    } else {
        Err(Failure::new(Kind::Transient, code::INTERRUPTED, text))
    };
    let end = attempt.written(parts, &ended);
    parts.store.roll_back(lease, end).await.map(|_| ())
}

/// What the key of a run gives once it is taken back, and its word.
fn taken_back(run: RunId) -> (Stored, String) {
    let text = "a person has taken this call back, so whatever it did is undone; nothing was run";
    let failure = Failure::new(Kind::Denied, code::ROLLED_BACK, text).with_detail("run", run.to_string());
    (Stored::error(&failure), code::ROLLED_BACK.to_owned())
}
