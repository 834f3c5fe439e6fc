//! The writes of calls, each applied inside the transaction of its group.

use std::time::Duration;

use rusqlite::{Connection, params};

use super::super::{
    Ask, Asked, Charge, Decided, End, Force, Journal, Kept, NewRun, Outcome, Pending, Reserved, Rest, Rested,
    RollbackEnd, Take, Taken,
};
use super::attachments::{self, Way};
use super::budgets::Of;
use super::ends::{Last, end_run, end_step, key_end, leave, note};
use super::{
    SqliteStore, answers, attempts, budgets, changes, driving, guard, health, refused, staged, sweep,
};
use crate::model::change::Change;
use crate::model::clock::Timestamp;
use crate::model::effect::{Effect, EffectState};
use crate::model::guard::held_against;
use crate::model::health::{NoRetry, Reports};
use crate::model::id::{Digest, RunId, UserName};
use crate::model::pointer::Unshown;
use crate::model::refused::Refused;
use crate::model::reply::Stored;
use crate::model::run::Lease;
use crate::model::state::{Event, RunState};

pub(super) use crate::model::run::LONE_STEP as STEP;

/// The number of a run's first lease.
const FIRST: u64 = 1;

impl Journal for SqliteStore {
    fn reserve(&self, new: NewRun) -> Pending<Reserved> {
        self.writer.submit(move |tx| insert_run(tx, &new, None))
    }

    fn record(&self, new: NewRun, end: End) -> Pending<Reserved> {
        self.writer.submit(move |tx| insert_run(tx, &new, Some(&end)))
    }

    fn take(&self, take: Take) -> Pending<Taken> {
        self.writer.submit(move |tx| driving::take(tx, &take))
    }

    fn intend(&self, lease: Lease, effect: Effect, change: Option<Change>, at: Timestamp) -> Pending<bool> {
        self.writer.submit(move |tx| {
            let written = tx
                .prepare_cached(
                    "INSERT INTO effect (run, step, attempt, ordinal, repeat, method, target, request, key, state, intended)
                     SELECT id, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12 FROM run
                     WHERE id = ?1 AND lease = ?2 AND state IN ('running', 'rolling_back')",
                )?
                .execute(params![
                    lease.run.bytes(),
                    number(lease),
                    STEP,
                    effect.attempt,
                    effect.ordinal,
                    effect.repeat.word(),
                    effect.method,
                    effect.target,
                    effect.request.0,
                    effect.key,
                    effect.state.word(),
                    at.0,
                ])?;
            if let (1, Some(change)) = (written, &change) {
                changes::insert(tx, lease.run, &effect, change)?;
            }
            Ok(written == 1)
        })
    }

    fn outcome(&self, run: RunId, outcome: Outcome) -> Pending<()> {
        // The end of the attempt carries it again, and is what is waited for.
        self.writer.submit_unawaited(move |tx| update_effect(tx, run, &outcome))
    }

    fn save(&self, lease: Lease, saved: Vec<u8>) -> Pending<bool> {
        self.writer.submit(move |tx| staged::save(tx, lease, STEP, &saved))
    }

    fn rest(&self, lease: Lease, rest: Rest) -> Pending<Rested> {
        self.writer.submit(move |tx| attempts::rest(tx, lease, &rest))
    }

    fn hear(&self, reports: Reports) -> Pending<Result<(), NoRetry>> {
        self.writer.submit(move |tx| health::hear(tx, &reports))
    }

    fn ask(&self, ask: Ask) -> Pending<Asked> {
        self.writer.submit(move |tx| health::ask(tx, &ask))
    }

    fn force(&self, force: Force) -> Pending<()> {
        self.writer.submit(move |tx| health::force(tx, &force))
    }

    fn settle(&self, lease: Lease, end: End) -> Pending<bool> {
        self.writer.submit(move |tx| {
            let End { state, event, rearms, life, at, .. } = end;
            let last = Last { state, event, rearms, life, at, since: at };
            let Some(holds) = end_run(tx, lease, last, None)? else { return Ok(false) };
            for outcome in &end.outcomes {
                update_effect(tx, lease.run, outcome)?;
            }
            attempts::end(tx, lease.run, end.attempt, (&end).into())?;
            end_step(tx, lease.run, end.state, (&end.stored, &end.kept), &end.word)?;
            leave(tx, lease.run, end.fingerprint.as_deref(), end.cleanup)?;
            staged::write(tx, lease.run, STEP, &end.staged)?;
            budgets::end(tx, lease.run, holds, end.staged.spent(), end.at)?;
            hear(tx, &end)?;
            Ok(true)
        })
    }

    fn decide(&self, decided: Decided) -> Pending<bool> {
        self.writer.submit(move |tx| {
            let Decided { lease, event, state, rearms, life, at, .. } = decided;
            let last = Last { state, event, rearms, life, at, since: at };
            let Some(holds) = end_run(tx, lease, last, decided.by.as_deref())? else { return Ok(false) };
            budgets::end(tx, lease.run, holds, 0, at)?;
            close_effects(tx, lease.run, decided.open_effects, at)?;
            end_step(tx, lease.run, state, (&decided.stored, &decided.kept), &decided.word)?;
            Ok(true)
        })
    }

    fn roll_back(&self, lease: Lease, end: RollbackEnd) -> Pending<bool> {
        self.writer.submit(move |tx| {
            let RollbackEnd { state, event, rearms, life, at, since, .. } = end;
            let last = Last { state, event, rearms, life, at, since };
            let Some(holds) = end_run(tx, lease, last, None)? else { return Ok(false) };
            for outcome in &end.outcomes {
                update_effect(tx, lease.run, outcome)?;
            }
            attempts::end(tx, lease.run, end.attempt, (&end).into())?;
            tx.prepare_cached("UPDATE step SET fingerprint = ?3 WHERE run = ?1 AND step = ?2")?
                .execute(params![lease.run.bytes(), STEP, end.fingerprint])?;
            if let Some((stored, word)) = &end.replaced {
                end_step(tx, lease.run, end.state, (stored, &Kept::default()), word)?;
            }
            staged::write(tx, lease.run, STEP, &end.staged)?;
            budgets::end(tx, lease.run, holds, end.staged.spent(), end.at)?;
            Ok(true)
        })
    }

    fn note(&self, lease: Lease, event: Event, at: Timestamp) -> Pending<Option<Lease>> {
        self.writer.submit(move |tx| note(tx, lease, event, at))
    }

    fn delivered(&self, run: RunId) -> Pending<()> {
        // Where it is lost, the result is given once more.
        self.writer.submit_unawaited(move |tx| guard::delivered(tx, run))
    }

    fn refuse(&self, refused: Refused) -> Pending<()> {
        self.writer.submit_unawaited(move |tx| refused::insert(tx, &refused))
    }

    fn sweep(&self, at: Timestamp, payloads: Duration, most: u32) -> Pending<u32> {
        match self.read(|db| sweep::find(db, at, payloads, most)) {
            Ok(found) => self.writer.submit(move |tx| sweep::remove(tx, &found)),
            Err(failure) => Box::pin(std::future::ready(Err(failure))),
        }
    }
}

/// Makes a run, under way or whole. What is written once is written in one statement: this is the hot path.
fn insert_run(tx: &Connection, new: &NewRun, end: Option<&End>) -> rusqlite::Result<Reserved> {
    let id = new.run.bytes();
    let place = guard::place_of(tx, new)?;
    if place.is_some_and(|place| place.repeats.is_some()) {
        return Ok(Reserved::Lost);
    }
    let scope = new.key.as_ref().map(|key| key.scope(&new.caller, new.user.as_ref()));
    let (of, began) = (Of { caller: &new.caller, user: new.user.as_ref() }, new.attempt.at);
    if let Some(hold) = &new.charge.hold
        && let Some(short) = budgets::fits(tx, of, hold, began)?
    {
        // Whoever has the key goes before: its result costs nothing more.
        let lost = scope.map_or(Ok(false), |scope| is_taken(tx, scope, began))?;
        return Ok(if lost { Reserved::Lost } else { Reserved::Short(Box::new(short)) });
    }
    if let (Some(key), Some(scope)) = (&new.key, scope) {
        let (expires, guarded) = end.map_or((None, None), |end| key_end(end.state, end.life, end.at));
        let won = tx
            .prepare_cached(
                "INSERT INTO key (scope, text, run, action, expires, guarded) VALUES (?1, ?2, ?3, ?4, ?6, ?7)
                 ON CONFLICT (scope) DO UPDATE SET run = ?3, action = ?4, expires = ?6, guarded = ?7
                 WHERE guarded < ?5",
            )?
            .execute(params![scope.0, key.as_str(), id, new.action.0, new.attempt.at.0, expires, guarded])?;
        if won == 0 {
            return Ok(Reserved::Lost);
        }
    }
    guard::insert(tx, new, place)?;
    let unended = if new.background.is_some() { RunState::BackingOff } else { RunState::Running };
    let state = end.map_or(unended, |end| end.state);
    insert_step(tx, new, end, state)?;
    let past = end.map_or(&[] as &[_], |end| end.past.as_slice());
    let first = (Lease { run: new.run, number: FIRST }, new.attempt);
    let lease = match &new.background {
        Some(_) => insert_event(tx, first.0, Event::Queued, began, None).map(|()| first.0)?,
        None => attempts::insert_all(tx, first, past, end)?,
    };
    insert_row(tx, new, end, (lease, state))?;
    if let Some(end) = end {
        staged::write(tx, new.run, STEP, &end.staged)?;
        let before = end.past.iter().map(|past| past.rest.staged.spent());
        let spent = before.fold(end.staged.spent(), u64::saturating_add);
        budgets::spend(tx, of, spent, end.at)?;
        hear(tx, end)?;
    }
    // Nothing is held for what nobody is at; that it fits is known by now.
    let hold = new.charge.hold.filter(|_| new.background.is_none());
    budgets::charge(tx, new.run, of, &Charge { hold, model: new.charge.model.clone() }, began)?;
    Ok(Reserved::Won(lease))
}

fn insert_row(
    tx: &Connection,
    new: &NewRun,
    end: Option<&End>,
    (lease, state): (Lease, RunState),
) -> rusqlite::Result<()> {
    let scope = new.key.as_ref().map(|key| key.scope(&new.caller, new.user.as_ref()));
    let background = new.background.as_ref();
    tx.prepare_cached(
        "INSERT INTO run (id, state, lease, owner, caller, trace, began, ended, rearms, key, user, model, reason,
             delivered, until, scene, wakes, waits)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?17)",
    )?
    .execute(params![
        new.run.bytes(),
        state.word(),
        number(lease),
        new.owner.0,
        new.caller.0,
        new.trace.0,
        new.attempt.at.0,
        end.map(|end| end.at.0),
        end.is_some_and(|end| end.rearms),
        scope.map(|scope| scope.0),
        new.user.as_ref().map(UserName::as_str),
        new.told.model,
        new.told.reason,
        new.guard.filter(|_| held_against(new.repeat)).map(|_| 0),
        background.map(|background| background.until.0),
        background.and_then(|background| background.scene.as_ref()).map(AsRef::<str>::as_ref),
        background.map(|_| new.attempt.at.0),
    ])?;
    Ok(())
}

/// Whether a run has the key, by the rule by which another wins it.
fn is_taken(tx: &Connection, scope: Digest, at: Timestamp) -> rusqlite::Result<bool> {
    tx.prepare_cached("SELECT 1 FROM key WHERE scope = ?1 AND (guarded IS NULL OR guarded >= ?2)")?
        .exists(params![scope.0, at.0])
}

fn insert_step(tx: &Connection, new: &NewRun, end: Option<&End>, state: RunState) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "INSERT INTO payload (input, unshown, ok, body, trimmed, whole, output, attached)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute(params![
        new.input,
        unshown(&new.unshown),
        end.map(|end| end.stored.ok),
        end.map(|end| &end.stored.body),
        end.and_then(|end| trimmed(&end.stored)),
        end.and_then(|end| end.kept.whole.as_ref()),
        end.and_then(|end| end.kept.output.as_ref()),
        end.map_or(0, |end| end.stored.attached),
    ])?;
    let payload = tx.last_insert_rowid();
    attachments::insert(tx, new.run, Way::Brought, &new.attachments)?;
    if let Some(end) = end {
        attachments::insert(tx, new.run, Way::Given, &end.kept.attachments)?;
    }
    tx.prepare_cached(
        "INSERT INTO step (run, step, tool, action, repeat, state, attempts, word, payload)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?
    .execute(params![
        new.run.bytes(),
        STEP,
        new.tool.to_string(),
        new.action.0,
        new.repeat.word(),
        state.step_word(),
        end.map_or(if new.background.is_some() { 0 } else { new.attempt.attempt }, |end| end.attempt),
        end.map(|end| &end.word),
        payload
    ])?;
    Ok(())
}

/// Takes note of what the last attempt of a run tells: it pays for nothing, so that nothing can be refused.
fn hear(tx: &Connection, end: &End) -> rusqlite::Result<()> {
    end.reports.as_ref().map_or(Ok(()), |reports| health::hear(tx, reports).map(|_| ()))
}

/// Every event raises the lease by one, so that the lease is the event's number too.
pub(super) fn insert_event(
    tx: &Connection,
    lease: Lease,
    event: Event,
    at: Timestamp,
    by: Option<&str>,
) -> rusqlite::Result<()> {
    tx.prepare_cached("INSERT INTO event (run, number, at, event, person) VALUES (?1, ?2, ?3, ?4, ?5)")?
        .execute(params![lease.run.bytes(), number(lease), at.0, event.word(), by])?;
    Ok(())
}

fn unshown(unshown: &Unshown) -> Option<String> {
    if unshown.is_empty() { None } else { serde_json::to_string(unshown).ok() }
}

pub(super) fn trimmed(stored: &Stored) -> Option<String> {
    stored.trimmed.as_ref().and_then(|trimmed| serde_json::to_string(trimmed).ok())
}

pub(super) fn update_effect(tx: &Connection, run: RunId, outcome: &Outcome) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "UPDATE effect SET state = ?5, status = ?6, known = ?7
         WHERE run = ?1 AND step = ?2 AND attempt = ?3 AND ordinal = ?4",
    )?
    .execute(params![
        run.bytes(),
        STEP,
        outcome.attempt,
        outcome.ordinal,
        outcome.state.word(),
        outcome.status,
        outcome.at.0,
    ])?;
    if matches!(outcome.state, EffectState::PutBack | EffectState::NotSent) {
        changes::let_go_of(tx, run, outcome.attempt, outcome.ordinal)?;
    }
    answers::insert(tx, run, outcome)
}

fn close_effects(tx: &Connection, run: RunId, state: EffectState, at: Timestamp) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "UPDATE effect SET state = ?2, said = ?2, known = ?3 WHERE run = ?1 AND state = 'open'",
    )?
    .execute(params![run.bytes(), state.word(), at.0])?;
    Ok(())
}

pub(super) fn number(lease: Lease) -> i64 {
    lease.number.cast_signed()
}
