//! Takes a call back: only where nobody has changed what it touched since, by its plugin's own way and in lent folders by
//! the host; and writes down what was put right and what was not.

mod end;
mod plan;

use std::sync::Arc;

pub(super) use end::close;
use plan::{Plan, Way, plan};

use super::look::{self, Look, Means, Room};
use super::past::Past;
use super::{Parts, checkpoint, decide, folders};
use crate::model::classify;
use crate::model::clock::Timestamp;
use crate::model::code;
use crate::model::effect::{Effect, EffectState, Left, each_once};
use crate::model::failure::{Failure, Kind};
use crate::model::id::RunId;
use crate::model::past::{Ending, Rollback, Undone};
use crate::model::reply::Usage;
use crate::model::run::{Does, LONE_STEP, Lease, Record};
use crate::model::staged::Staged;
use crate::model::state::{Event, RunState};
use crate::sandbox::attempt::Sitting;
use crate::sandbox::capability::effects::Effects;
use crate::sandbox::capability::files::change::Undone as PutBack;
use crate::sandbox::capability::secrets::{derived_bytes, hex, of_step};
use crate::sandbox::capability::staging::Staging;
use crate::sandbox::logbook::Logbook;
use crate::sandbox::question;
use crate::store::{Charge, Outcome, Take, Taken};

/// An attempt to take a run back, under way.
#[derive(Debug)]
struct Attempt<'a> {
    record: &'a Record,
    lease: Lease,
    number: u32,
    /// When it began.
    began: Timestamp,
    /// Where the run stood before.
    from: RunState,
    /// Whether anything was undone, or was done to undo it, or may have been.
    touched: bool,
    log: Logbook,
    usage: Usage,
    outcomes: Vec<Outcome>,
    staged: Staged,
    /// The state of what the run touched, from now on.
    fingerprint: Option<String>,
}

/// Takes back what a run did, by a person's word. What was taken back before is not touched again, and where nothing was
/// touched at all, a run that waited for a person waits on as it did.
///
/// # Errors
/// Where the run is not one that can be taken back, or its plugin fails; then it can be tried again. What could not even
/// be begun, and what failed before anything was touched, leaves the run as it was.
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
        background: None,
        lease: record.lease,
        event: Event::RollbackBegan,
        state,
        by: Some(person.to_owned()),
        owner: parts.store.process(),
        at,
        attempt: plugin.map(|plugin| checkpoint::rollback(plugin, number, at)),
        charge: Charge::default(),
    };
    let taken = parts.store.take(take).await.map_err(|failure| decide::refusal(&failure))?;
    // What is taken back is no more held to budgets than what failed.
    let Taken::Held(lease) = taken else {
        let text = format!("the run was decided or taken by somebody else in the meantime: {run}");
        let failure = Failure::new(Kind::InvalidInput, code::INVALID_INPUT, text);
        return Err(failure.with_detail("run", run.to_string()));
    };
    Ok(Attempt::new(record, lease, (number, at), record.summary.state, log))
}

impl<'a> Attempt<'a> {
    fn new(
        record: &'a Record,
        lease: Lease,
        (number, began): (u32, Timestamp),
        from: RunState,
        log: Logbook,
    ) -> Self {
        Self {
            record,
            lease,
            number,
            began,
            from,
            touched: false,
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
            Way::Plugin(past, room) => Some(self.run(parts, &past, room).await?),
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
        let restored_now = restored.outcomes();
        self.touched |= restored_now.iter().any(|outcome| outcome.state == EffectState::PutBack);
        self.outcomes.extend(restored_now);
        Ok(summed(undone, &restored))
    }

    /// Writes down that requests are undone, whatever becomes of the rest: their plugin is not asked again.
    async fn put_back(&mut self, parts: &Parts, requests: &[Effect]) -> Result<(), Failure> {
        self.touched |= !requests.is_empty();
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
    async fn run(&mut self, parts: &Arc<Parts>, past: &Past, room: Room) -> Result<Undone, Failure> {
        let look = past.look(parts, self.record)?;
        let means = self.means(parts, &look);
        let (effects, staging) = (Arc::clone(&means.effects), Arc::clone(&means.staging));
        let Room { place, permit } = room;
        let question = question::Rollback(past.call.clone());
        let finished = look::ask(parts, place, permit.gate(), look, means, question).await?;
        permit.tell(&finished.said, &effects.met()).await;
        self.usage = finished.usage;
        self.outcomes.extend(effects.outcomes());
        self.staged = staging.close();
        self.usage.cost = self.staged.costs.iter().map(|cost| cost.micros).sum();
        let mut sent = effects.all();
        let said = match finished.said {
            Ok(mut undone) => {
                if Left::by(&sent).open {
                    let open = each_once(&sent).filter(|effect| effect.state == EffectState::Open).map(named);
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
        sent.retain(|effect| effect.attempt == self.number);
        self.touched |= sent.iter().any(stands);
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
        let start = first.map_or(self.began, |first| first.began);
        let seed = of_step(&own, b"seed", run, LONE_STEP);
        Means {
            grants: Arc::clone(grants),
            effects: Effects::new(self.lease, self.number, own, earlier, requests),
            staging: Staging::new(Arc::clone(&parts.store), self.lease, bounds),
            key: hex(&of_step(&secret, b"rollback", run, LONE_STEP)),
            sitting: grants.keyed().then_some(Sitting { seed, start }),
        }
    }
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
        Ok(restored) => restored.outcomes(),
        Err(failure) => {
            log.host(&format!("could not put back what was changed in folders: {failure}"));
            Vec::new()
        }
    }
}

/// What a plugin and the host put right between them.
fn summed(undone: Option<Undone>, restored: &folders::Restored) -> Rollback {
    let (count, mut conflict) = (restored.count(), false);
    let mut left = Vec::new();
    for (effect, undone, why) in restored.left() {
        conflict |= *undone == PutBack::Changed;
        left.push(format!("{}: {why}", named(effect)));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_nothing_is_left_behind_there_is_nothing_to_undo() {
        let rollback = summed(None, &folders::Restored::default());
        assert_eq!(rollback.ending, Ending::RolledBack);
        assert_eq!(rollback.undone.summary, "there was nothing to undo");
    }
}
