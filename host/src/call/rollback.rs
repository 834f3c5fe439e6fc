//! Takes a call back: only where nobody has changed what it touched since, by its plugin's own way and in lent folders by
//! the host; and writes down what was put right and what was not.

mod plan;

use std::sync::Arc;

use plan::{Plan, Way, plan};

use super::admit::Place;
use super::look::{self, Look, Means};
use super::past::Past;
use super::{Parts, checkpoint, decide, folders, settle};
use crate::model::classify;
use crate::model::code;
use crate::model::effect::{Effect, EffectState, Left};
use crate::model::failure::{Failure, Kind};
use crate::model::id::RunId;
use crate::model::past::{Ending, Rollback, Undone};
use crate::model::reply::{Stored, Usage};
use crate::model::run::{Does, Lease, Record};
use crate::model::staged::Staged;
use crate::model::state::{Event, Reason, RunState};
use crate::sandbox::attempt::Sitting;
use crate::sandbox::capability::effects::Effects;
use crate::sandbox::capability::files::change::Undone as PutBack;
use crate::sandbox::capability::secrets::{derived, derived_bytes};
use crate::sandbox::capability::staging::Staging;
use crate::sandbox::logbook::Logbook;
use crate::sandbox::question;
use crate::store::{Outcome, RollbackEnd, StoreFailure, Take};

/// An attempt to take a run back, under way.
#[derive(Debug)]
struct Attempt<'a> {
    record: &'a Record,
    lease: Lease,
    number: u32,
    log: Logbook,
    usage: Usage,
    outcomes: Vec<Outcome>,
    staged: Staged,
    /// The state of what the run touched, from now on.
    fingerprint: Option<String>,
}

/// Takes back what a run did, by a person's word. What was taken back before is not touched again.
///
/// # Errors
/// Where the run is not one that can be taken back, or its plugin fails; then it can be tried again. What could not even
/// be begun leaves the run as it was.
pub async fn rollback(parts: &Arc<Parts>, record: &Record, person: &str) -> Result<Rollback, Failure> {
    let record = &decide::closed(parts, record).await?;
    if record.summary.state == RunState::RolledBack {
        return Ok(before(record));
    }
    let state = allowed(record)?;
    let of_run = |failure: Failure| failure.with_detail("run", record.summary.run.to_string());
    let log = Logbook::new(parts.setting().config.limits.log);
    let plan = plan(parts, record, &log).await.map_err(|failure| of_run(logged(parts, failure)))?;
    let driven = parts.drive(record.summary.run);
    let mut attempt = begin(parts, record, state, person, log).await?;
    let ended = attempt.undo(parts, plan).await;
    attempt.end(parts, &ended).await?;
    drop(driven);
    ended.map_err(of_run)
}

/// Logs what is not for whoever asks, where no attempt will keep it.
fn logged(parts: &Parts, failure: Failure) -> Failure {
    if let Some(log) = &failure.log {
        let masked = parts.setting().mask.text(log);
        tracing::error!(code = %failure.code, "{}", masked.as_ref().unwrap_or(log));
    }
    failure
}

/// What came of taking it back, when that was done.
fn before(record: &Record) -> Rollback {
    let undone = record.attempts.iter().rev().find_map(|attempt| attempt.undone.clone());
    let summary = || Undone { summary: "it was rolled back before".to_owned(), left: Vec::new() };
    Rollback { ending: Ending::RolledBack, undone: undone.unwrap_or_else(summary) }
}

fn allowed(record: &Record) -> Result<RunState, Failure> {
    let run = record.summary.run;
    let effects: Vec<Effect> = record.effects_of(Does::Call).cloned().collect();
    let state = record.summary.state.apply(Event::RollbackBegan);
    let text = match state {
        Ok(state) if effects.iter().any(stands) => return Ok(state),
        Ok(_) => format!("the run left nothing behind that could be taken back: {run}"),
        Err(not_allowed) => {
            format!("a run that is {} is not taken back: {run}", not_allowed.state.word())
        }
    };
    Err(Failure::new(Kind::InvalidInput, code::INVALID_INPUT, text)
        .with_detail("run", run.to_string())
        .with_detail("state", record.summary.state.word()))
}

async fn begin<'a>(
    parts: &Arc<Parts>,
    record: &'a Record,
    state: RunState,
    person: &str,
    log: Logbook,
) -> Result<Attempt<'a>, Failure> {
    let (run, setting, at) = (record.summary.run, parts.setting(), parts.clock.now());
    let last = record.attempts.last();
    let number = last.map_or(0, |last| last.attempt) + 1;
    let entry = setting.registry.get(&record.summary.tool);
    let plugin = entry.map(|entry| entry.digest).or(last.map(|last| last.plugin_digest));
    let take = Take {
        lease: record.lease,
        event: Event::RollbackBegan,
        state,
        by: Some(person.to_owned()),
        owner: parts.store.process(),
        at,
        attempt: plugin.map(|plugin| checkpoint::rollback(plugin, number, at)),
    };
    let taken = parts.store.take(take).await.map_err(|failure| decide::refusal(&failure))?;
    let lease = taken.ok_or_else(|| {
        let text = format!("the run was decided or taken by somebody else in the meantime: {run}");
        Failure::new(Kind::InvalidInput, code::INVALID_INPUT, text).with_detail("run", run.to_string())
    })?;
    Ok(Attempt::new(record, lease, number, log))
}

impl<'a> Attempt<'a> {
    fn new(record: &'a Record, lease: Lease, number: u32, log: Logbook) -> Self {
        Self {
            record,
            lease,
            number,
            log,
            usage: Usage::default(),
            outcomes: Vec::new(),
            staged: Staged::default(),
            fingerprint: record.fingerprint.clone(),
        }
    }

    /// Undoes the requests first, whose plugin may look at the folders as the call left them, and then what lies there.
    async fn undo(&mut self, parts: &Arc<Parts>, plan: Plan) -> Result<Rollback, Failure> {
        let (run, left) = (self.lease.run, plan.named());
        let Plan { way, requests, mut changes } = plan;
        let undone = match way {
            Way::LeftAlone(ending, summary) => {
                return Ok(Rollback { ending, undone: Undone { summary, left } });
            }
            Way::Nothing => None,
            Way::Plugin(past, place) => Some(self.run(parts, &past, place).await?),
        };
        if undone.as_ref().is_some_and(|undone| undone.left.is_empty()) {
            self.put_back(parts, &requests).await?;
        }
        let mut effects: Vec<Effect> = self.record.effects_of(Does::Call).cloned().collect();
        changes.retain(|recorded| {
            let of = |effect: &Effect| folders::is_of(recorded, effect) && stands(effect);
            effects.iter().any(of)
        });
        let setting = parts.setting();
        let granted = setting.config.grants.get(&self.record.summary.tool.plugin);
        let restored = folders::restore(parts, run, granted, &mut effects, changes).await;
        let restored = restored.map_err(|failure| decide::refusal(&failure))?;
        self.outcomes.extend(restored.outcomes());
        Ok(summed(undone, &restored))
    }

    /// Writes down that requests are undone, whatever becomes of the rest: their plugin is not asked again.
    async fn put_back(&mut self, parts: &Parts, requests: &[Effect]) -> Result<(), Failure> {
        for &Effect { attempt, ordinal, status, .. } in requests {
            let (state, at) = (EffectState::PutBack, parts.clock.now());
            let outcome = Outcome { attempt, ordinal, state, status, answered: None, at };
            self.outcomes.push(outcome.clone());
            let written = parts.store.outcome(self.lease.run, outcome).await;
            written.map_err(|failure| decide::refusal(&failure))?;
        }
        Ok(())
    }

    /// Runs the plugin's own way back. Its effects are journaled under the run, with keys of their own.
    async fn run(&mut self, parts: &Arc<Parts>, past: &Past, place: Place) -> Result<Undone, Failure> {
        let look = past.look(parts, self.record)?;
        let means = self.means(parts, &look);
        let (effects, staging) = (Arc::clone(&means.effects), Arc::clone(&means.staging));
        let finished = look::ask(parts, place, look, means, question::Rollback(past.call.clone())).await?;
        self.usage = finished.usage;
        self.outcomes.extend(effects.outcomes());
        self.staged = staging.close();
        self.usage.cost = self.staged.costs.iter().map(|cost| cost.micros).sum();
        let mut sent = effects.all();
        let said = match finished.said {
            Ok(mut undone) => {
                if Left::by(&sent).open {
                    let open = sent.iter().filter(|effect| effect.state == EffectState::Open).map(named);
                    undone
                        .left
                        .extend(open.map(|what| format!("nobody knows whether this was done: {what}")));
                }
                Ok(undone)
            }
            Err(ended) => {
                self.staged.values.clear();
                sent.retain(|effect| effect.attempt == self.number);
                let outcomes =
                    cleared(parts, self.lease.run, &past.entry.name.plugin, &mut sent, &self.log).await;
                self.outcomes.extend(outcomes);
                Err(classify::failure(ended))
            }
        };
        let whole = said.as_ref().is_ok_and(|undone: &Undone| undone.left.is_empty());
        if !whole && sent.iter().any(stands) {
            // The next attempt is to find what this one left, and nothing else.
            self.fingerprint = past.state(parts, self.record).await.unwrap_or(None);
        }
        said
    }

    /// What the plugin may do then: all that its tool may, under keys that are the rollback's own and equal each time.
    fn means(&self, parts: &Parts, look: &Look<'_>) -> Means {
        let (run, secret, grants) = (self.lease.run, parts.store.secret(), &look.entry.grants);
        let own = derived_bytes(&secret, &[b"rollback"]);
        let earlier = self.record.effects_of(Does::Rollback).cloned().collect();
        let requests = look.setting.config.limits.requests;
        let bounds = look::bounds(look, self.number);
        let first = self.record.attempts.iter().find(|attempt| attempt.does == Does::Rollback);
        let start = first.map_or_else(|| parts.clock.now(), |first| first.began);
        let seed = derived_bytes(&own, &[b"seed", &run.bytes()]);
        Means {
            grants: Arc::clone(grants),
            effects: Effects::new(self.lease, self.number, own, earlier, requests),
            staging: Staging::new(Arc::clone(&parts.store), self.lease, bounds),
            key: derived(&secret, &[b"rollback", &run.bytes()]),
            sitting: grants.keyed().then_some(Sitting { seed, start }),
        }
    }

    /// Writes down how it ended.
    async fn end(mut self, parts: &Parts, ended: &Result<Rollback, Failure>) -> Result<(), Failure> {
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

    fn written(&mut self, parts: &Parts, ended: &Result<Rollback, Failure>) -> RollbackEnd {
        let setting = parts.setting();
        let masked = |text: &str| setting.mask.text(text).unwrap_or_else(|| text.to_owned());
        let (event, word, undone) = match ended {
            Ok(Rollback { ending: Ending::RolledBack, undone }) => {
                (Event::RolledBack, "ok".to_owned(), undone.clone())
            }
            Ok(Rollback { ending: ending @ (Ending::Left | Ending::Conflict | Ending::ByHand), undone }) => {
                (Event::Suspended(Reason::NotUndone), ending.word().to_owned(), undone.clone())
            }
            Err(failure) => {
                let left = self.record.effects_of(Does::Call).filter(|effect| stands(effect)).map(named);
                let undone = Undone { summary: failure.message.clone(), left: left.collect() };
                (Event::Suspended(Reason::NotUndone), masked(&failure.code), undone)
            }
        };
        for cost in &mut self.staged.costs {
            cost.what = masked(&cost.what);
        }
        RollbackEnd {
            // A run that is taken back was being so: the state machine has no other way here.
            state: RunState::RollingBack.apply(event).unwrap_or(RunState::Suspended(Reason::NotUndone)),
            event,
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
            at: parts.clock.now(),
        }
    }
}

/// Closes the attempt of a process that died while it took a run back. Nothing is executed: where everything is undone
/// the run is rolled back, else it can be tried again.
///
/// # Errors
/// Where the store cannot be read or written.
pub(super) async fn close(parts: &Parts, record: &Record, lease: Lease) -> Result<(), StoreFailure> {
    let number = record.attempts.last().map_or(1, |last| last.attempt);
    let setting = parts.setting();
    let mut attempt = Attempt::new(record, lease, number, Logbook::new(setting.config.limits.log));
    let changes = parts.store.changes(lease.run)?;
    let left: Vec<&Effect> = record.effects_of(Does::Call).filter(|effect| stands(effect)).collect();
    if left.iter().any(|effect| !folders::is_change(&changes, effect)) {
        let mut sent: Vec<Effect> =
            record.effects.iter().filter(|effect| effect.attempt == number).cloned().collect();
        let tool = &record.summary.tool;
        attempt.outcomes = cleared(parts, lease.run, &tool.plugin, &mut sent, &attempt.log).await;
    }
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

/// Puts back what an attempt to undo requests changed in folders itself, where it came to nothing.
async fn cleared(
    parts: &Parts,
    run: RunId,
    plugin: &str,
    sent: &mut [Effect],
    log: &Logbook,
) -> Vec<Outcome> {
    let setting = parts.setting();
    match folders::put_back(parts, run, setting.config.grants.get(plugin), sent, log).await {
        Ok(outcomes) => outcomes,
        Err(failure) => {
            log.host(&format!("could not put back what was changed in folders: {failure}"));
            Vec::new()
        }
    }
}

/// What the key of a run gives once it is taken back, and its word.
fn taken_back(run: RunId) -> (Stored, String) {
    let text = "a person has taken this call back, so whatever it did is undone; nothing was run";
    let failure = Failure::new(Kind::Denied, code::ROLLED_BACK, text).with_detail("run", run.to_string());
    (Stored::error(&failure), code::ROLLED_BACK.to_owned())
}

/// What a plugin and the host put right between them.
fn summed(undone: Option<Undone>, restored: &folders::Restored) -> Rollback {
    let (count, mut conflict) = (restored.count(), false);
    let mut left = Vec::new();
    for (effect, why) in restored.left() {
        conflict |= *why == PutBack::Changed;
        left.push(format!("{}: {}", named(effect), folders::why(why)));
    }
    let back = count - left.len();
    let folders = match (count, back) {
        (0, _) => None,
        (_, 0) => Some("nothing was put back in folders".to_owned()),
        (_, 1) => Some("one change in folders was put back".to_owned()),
        (_, back) => Some(format!("{back} changes in folders were put back")),
    };
    let said = undone.as_ref().map(|undone| undone.summary.clone());
    let summary: Vec<String> = said.into_iter().chain(folders).collect();
    let summary =
        if summary.is_empty() { "there was nothing to undo".to_owned() } else { summary.join("; ") };
    left.extend(undone.into_iter().flat_map(|undone| undone.left));
    let ending = match (left.is_empty(), conflict) {
        (true, _) => Ending::RolledBack,
        (false, true) => Ending::Conflict,
        (false, false) => Ending::Left,
    };
    Rollback { ending, undone: Undone { summary, left } }
}

/// Whether what the effect did is there, or may be.
fn stands(effect: &Effect) -> bool {
    match effect.state {
        EffectState::Open | EffectState::Done | EffectState::SetAside => true,
        EffectState::Refused
        | EffectState::FailedClean
        | EffectState::NotSent
        | EffectState::NotDone
        | EffectState::PutBack => false,
    }
}

fn named(effect: &Effect) -> String {
    format!("{} {}", effect.method, effect.target)
}
