//! The writes of calls, each applied inside the transaction of its group.

use std::time::Duration;

use rusqlite::{Connection, params};

use super::super::{
    Ask, Asked, Decided, End, Force, Journal, Kept, NewRun, Outcome, Pending, Reserved, Rest, Rested,
    RollbackEnd, Take,
};
use super::attachments::{self, Way};
use super::ends::{Last, end_run, end_step, key_end, leave};
use super::{SqliteStore, answers, attempts, changes, health, staged, sweep};
use crate::model::change::Change;
use crate::model::clock::Timestamp;
use crate::model::effect::{Effect, EffectState};
use crate::model::health::{NoRetry, Reports};
use crate::model::id::{RunId, UserName};
use crate::model::pointer::Unshown;
use crate::model::reply::Stored;
use crate::model::run::{Does, Lease};
use crate::model::state::{Event, RunState};

/// A lone call makes a run of one step.
pub(super) const STEP: u32 = 1;

/// The number of a run's first lease.
const FIRST: u64 = 1;

impl Journal for SqliteStore {
    fn reserve(&self, new: NewRun) -> Pending<Reserved> {
        self.writer.submit(move |tx| insert_run(tx, &new, None))
    }

    fn record(&self, new: NewRun, end: End) -> Pending<Reserved> {
        self.writer.submit(move |tx| insert_run(tx, &new, Some(&end)))
    }

    fn take(&self, take: Take) -> Pending<Option<Lease>> {
        self.writer.submit(move |tx| {
            let next = Lease { run: take.lease.run, number: take.lease.number + 1 };
            // The run is open again, so its key does not lapse.
            let kept = tx
                .prepare_cached(
                    "UPDATE key SET expires = NULL, guarded = NULL
                     WHERE scope = (SELECT key FROM run WHERE id = ?1 AND lease = ?2) AND run = ?1",
                )?
                .execute(params![take.lease.run.bytes(), number(take.lease)])?;
            // A key that re-arms must still be this run's own: one that lapsed may be at another run by now.
            if take.event == Event::Rearmed && kept == 0 {
                return Ok(None);
            }
            let taken = tx
                .prepare_cached(
                    "UPDATE run SET state = ?5, lease = ?3, owner = ?4, ended = NULL, rearms = 0, wakes = NULL
                     WHERE id = ?1 AND lease = ?2",
                )?
                .execute(params![
                    take.lease.run.bytes(),
                    number(take.lease),
                    number(next),
                    take.owner.0,
                    take.state.word()
                ])?;
            if taken == 0 {
                return Ok(None);
            }
            insert_event(tx, next, take.event, take.at, take.by.as_deref())?;
            let Some(attempt) = take.attempt else { return Ok(Some(next)) };
            attempts::insert(tx, take.lease.run, attempt, None)?;
            if attempt.does == Does::Call {
                tx.prepare_cached(
                    "UPDATE step SET attempts = ?3, state = 'running', fingerprint = NULL, cleanup = NULL
                     WHERE run = ?1 AND step = ?2",
                )?
                .execute(params![take.lease.run.bytes(), STEP, attempt.attempt])?;
            }
            Ok(Some(next))
        })
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
            let last =
                Last { state: end.state, event: end.event, rearms: end.rearms, life: end.life, at: end.at };
            if !end_run(tx, lease, last, None)? {
                return Ok(false);
            }
            for outcome in &end.outcomes {
                update_effect(tx, lease.run, outcome)?;
            }
            attempts::end(tx, lease.run, end.attempt, (&end).into())?;
            end_step(tx, lease.run, end.state, (&end.stored, &end.kept), &end.word)?;
            leave(tx, lease.run, end.fingerprint.as_deref(), end.cleanup)?;
            staged::write(tx, lease.run, STEP, &end.staged)?;
            hear(tx, &end)?;
            Ok(true)
        })
    }

    fn decide(&self, decided: Decided) -> Pending<bool> {
        self.writer.submit(move |tx| {
            let Decided { lease, event, state, rearms, life, at, .. } = decided;
            let last = Last { state, event, rearms, life, at };
            if !end_run(tx, lease, last, Some(&decided.by))? {
                return Ok(false);
            }
            close_effects(tx, lease.run, decided.open_effects, at)?;
            end_step(tx, lease.run, state, (&decided.stored, &decided.kept), &decided.word)?;
            Ok(true)
        })
    }

    fn roll_back(&self, lease: Lease, end: RollbackEnd) -> Pending<bool> {
        self.writer.submit(move |tx| {
            let last = Last { state: end.state, event: end.event, rearms: false, life: end.life, at: end.at };
            if !end_run(tx, lease, last, None)? {
                return Ok(false);
            }
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
            Ok(true)
        })
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
    let scope = new.key.as_ref().map(|key| key.scope(&new.caller, new.user.as_ref()));
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
    let state = end.map_or(RunState::Running, |end| end.state);
    insert_step(tx, new, end, state)?;
    let past = end.map_or(&[] as &[_], |end| end.past.as_slice());
    let first = (Lease { run: new.run, number: FIRST }, new.attempt);
    let lease = attempts::insert_all(tx, first, past, end)?;
    tx.prepare_cached(
        "INSERT INTO run (id, state, lease, owner, caller, trace, began, ended, rearms, key, user, model, reason)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    )?
    .execute(params![
        id,
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
    ])?;
    if let Some(end) = end {
        staged::write(tx, new.run, STEP, &end.staged)?;
        hear(tx, end)?;
    }
    Ok(Reserved::Won(lease))
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
        end.map_or(new.attempt.attempt, |end| end.attempt),
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
    answers::insert(tx, run, outcome)
}

fn close_effects(tx: &Connection, run: RunId, state: EffectState, at: Timestamp) -> rusqlite::Result<()> {
    tx.prepare_cached("UPDATE effect SET state = ?2, known = ?3 WHERE run = ?1 AND state = 'open'")?
        .execute(params![run.bytes(), state.word(), at.0])?;
    Ok(())
}

pub(super) fn number(lease: Lease) -> i64 {
    lease.number.cast_signed()
}
