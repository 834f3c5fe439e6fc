//! The writes of calls, each applied inside the transaction of its group.

use rusqlite::{Connection, params};

use super::super::{Decided, End, Journal, KeyLife, NewAttempt, NewRun, Outcome, Pending, Reserved, Take};
use super::SqliteStore;
use crate::model::clock::Timestamp;
use crate::model::effect::{Effect, EffectState};
use crate::model::id::RunId;
use crate::model::reply::Stored;
use crate::model::run::Lease;
use crate::model::state::{Event, RunState};

/// A lone call makes a run of one step.
const STEP: u32 = 1;

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
            let taken = tx
                .prepare_cached(
                    "UPDATE run SET state = 'running', lease = ?3, owner = ?4, ended = NULL, rearms = 0
                     WHERE id = ?1 AND lease = ?2",
                )?
                .execute(params![take.lease.run.bytes(), number(take.lease), number(next), take.owner.0])?;
            if taken == 0 {
                return Ok(None);
            }
            append(tx, take.lease.run, take.event, take.at, None)?;
            if let Some(attempt) = take.attempt {
                insert_attempt(tx, take.lease.run, attempt)?;
            }
            Ok(Some(next))
        })
    }

    fn intend(&self, lease: Lease, effect: Effect, at: Timestamp) -> Pending<bool> {
        self.writer.submit(move |tx| {
            let written = tx
                .prepare_cached(
                    "INSERT INTO effect (run, step, attempt, ordinal, repeat, method, target, request, key, state, intended)
                     SELECT id, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12 FROM run
                     WHERE id = ?1 AND lease = ?2 AND state = 'running'",
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
            Ok(written == 1)
        })
    }

    fn outcome(&self, run: RunId, outcome: Outcome) -> Pending<()> {
        self.writer.submit(move |tx| update_effect(tx, run, &outcome))
    }

    fn settle(&self, lease: Lease, end: End) -> Pending<bool> {
        self.writer.submit(move |tx| {
            let settled = tx
                .prepare_cached(
                    "UPDATE run SET state = ?3, lease = lease + 1, ended = ?4, rearms = ?5
                     WHERE id = ?1 AND lease = ?2 AND state = 'running'",
                )?
                .execute(params![lease.run.bytes(), number(lease), end.state.word(), end.at.0, end.rearms])?;
            if settled == 0 {
                return Ok(false);
            }
            for outcome in &end.outcomes {
                update_effect(tx, lease.run, outcome)?;
            }
            end_attempt(tx, lease.run, &end)?;
            end_step(tx, lease.run, end.state, &end.stored, &end.word)?;
            append(tx, lease.run, end.event, end.at, None)?;
            end_key(tx, lease.run, end.state, end.life, end.at)?;
            Ok(true)
        })
    }

    fn decide(&self, decided: Decided) -> Pending<bool> {
        self.writer.submit(move |tx| {
            let run = decided.lease.run;
            let written = tx
                .prepare_cached(
                    "UPDATE run SET state = ?3, lease = lease + 1, ended = ?4, rearms = ?5 WHERE id = ?1 AND lease = ?2",
                )?
                .execute(params![
                    run.bytes(),
                    number(decided.lease),
                    decided.state.word(),
                    decided.at.0,
                    decided.rearms
                ])?;
            if written == 0 {
                return Ok(false);
            }
            close_effects(tx, run, decided.open_effects, decided.at)?;
            end_step(tx, run, decided.state, &decided.stored, &decided.word)?;
            append(tx, run, decided.event, decided.at, Some(&decided.by))?;
            end_key(tx, run, decided.state, decided.life, decided.at)?;
            Ok(true)
        })
    }

    fn sweep(&self, at: Timestamp, most: u32) -> Pending<u32> {
        let found = self.read(|db| {
            db.prepare_cached("SELECT scope FROM key WHERE guarded < ?1 LIMIT ?2")?
                .query_map(params![at.0, most], |row| row.get::<_, [u8; 32]>(0))?
                .collect::<rusqlite::Result<Vec<_>>>()
        });
        let scopes = match found {
            Ok(scopes) => scopes,
            Err(failure) => return Box::pin(std::future::ready(Err(failure))),
        };
        self.writer.submit(move |tx| {
            let mut delete = tx.prepare_cached("DELETE FROM key WHERE scope = ?1 AND guarded < ?2")?;
            let mut gone = 0;
            for scope in &scopes {
                gone += u32::try_from(delete.execute(params![scope, at.0])?).unwrap_or(0);
            }
            Ok(gone)
        })
    }
}

fn insert_run(tx: &Connection, new: &NewRun, end: Option<&End>) -> rusqlite::Result<Reserved> {
    let id = new.run.bytes();
    let scope = new.key.as_ref().map(|key| key.scope(&new.caller));
    if !wins_key(tx, new)? {
        return Ok(Reserved::Lost);
    }
    let state = end.map_or(RunState::Running, |end| end.state);
    let number = if end.is_some() { FIRST + 1 } else { FIRST };
    tx.prepare_cached(
        "INSERT INTO run (id, state, lease, owner, caller, trace, began, ended, rearms, key)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?
    .execute(params![
        id,
        state.word(),
        number.cast_signed(),
        new.owner.0,
        new.caller.0,
        new.trace.0,
        new.attempt.at.0,
        end.map(|end| end.at.0),
        end.is_some_and(|end| end.rearms),
        scope.map(|scope| scope.0),
    ])?;
    tx.prepare_cached("INSERT INTO payload (input, ok, body) VALUES (?1, ?2, ?3)")?.execute(params![
        new.input,
        end.map(|end| end.stored.ok),
        end.map(|end| &end.stored.body)
    ])?;
    let payload = tx.last_insert_rowid();
    tx.prepare_cached(
        "INSERT INTO step (run, step, tool, action, repeat, state, attempts, word, payload)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, ?7, ?8)",
    )?
    .execute(params![
        id,
        STEP,
        new.tool.to_string(),
        new.action.0,
        new.repeat.word(),
        state.step_word(),
        end.map(|end| &end.word),
        payload
    ])?;
    append_first(tx, new)?;
    insert_attempt(tx, new.run, new.attempt)?;
    if let Some(end) = end {
        end_attempt(tx, new.run, end)?;
        append(tx, new.run, end.event, end.at, None)?;
        end_key(tx, new.run, end.state, end.life, end.at)?;
    }
    Ok(Reserved::Won(Lease { run: new.run, number }))
}

/// Whether the run has its key from now on: nobody else does, or it needs none.
fn wins_key(tx: &Connection, new: &NewRun) -> rusqlite::Result<bool> {
    let Some(key) = &new.key else { return Ok(true) };
    let won = tx
        .prepare_cached(
            "INSERT INTO key (scope, text, run, action) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (scope) DO UPDATE SET run = ?3, action = ?4, expires = NULL, guarded = NULL
             WHERE guarded < ?5",
        )?
        .execute(params![
            key.scope(&new.caller).0,
            key.as_str(),
            new.run.bytes(),
            new.action.0,
            new.attempt.at.0
        ])?;
    Ok(won == 1)
}

fn insert_attempt(tx: &Connection, run: RunId, attempt: NewAttempt) -> rusqlite::Result<()> {
    tx.prepare_cached("INSERT INTO attempt (run, step, attempt, plugin, began) VALUES (?1, ?2, ?3, ?4, ?5)")?
        .execute(params![run.bytes(), STEP, attempt.attempt, attempt.plugin.0, attempt.at.0])?;
    tx.prepare_cached("UPDATE step SET attempts = ?3, state = 'running' WHERE run = ?1 AND step = ?2")?
        .execute(params![run.bytes(), STEP, attempt.attempt])?;
    Ok(())
}

fn end_attempt(tx: &Connection, run: RunId, end: &End) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "UPDATE attempt SET ended = ?4, word = ?5, fuel = ?6, memory = ?7, effects = ?8, millis = ?9, log = ?10
         WHERE run = ?1 AND step = ?2 AND attempt = ?3",
    )?
    .execute(params![
        run.bytes(),
        STEP,
        end.attempt,
        end.at.0,
        end.word,
        end.usage.fuel.cast_signed(),
        end.usage.memory.cast_signed(),
        end.usage.effects,
        i64::try_from(end.usage.time.as_millis()).unwrap_or(i64::MAX),
        end.log,
    ])?;
    Ok(())
}

fn end_step(
    tx: &Connection,
    run: RunId,
    state: RunState,
    stored: &Stored,
    word: &str,
) -> rusqlite::Result<()> {
    let payload: i64 = tx
        .prepare_cached(
            "UPDATE step SET state = ?3, word = ?4 WHERE run = ?1 AND step = ?2 RETURNING payload",
        )?
        .query_row(params![run.bytes(), STEP, state.step_word(), word], |row| row.get(0))?;
    tx.prepare_cached("UPDATE payload SET ok = ?2, body = ?3 WHERE id = ?1")?.execute(params![
        payload,
        stored.ok,
        stored.body
    ])?;
    Ok(())
}

/// The key's time runs from the end of its run, and never while a run is open.
fn end_key(
    tx: &Connection,
    run: RunId,
    state: RunState,
    life: KeyLife,
    at: Timestamp,
) -> rusqlite::Result<()> {
    let expires = state.ended().then(|| at.plus(life.keep));
    let guarded = expires.map(|expires| expires.plus(life.guard));
    tx.prepare_cached(
        "UPDATE key SET expires = ?2, guarded = ?3 WHERE scope = (SELECT key FROM run WHERE id = ?1) AND run = ?1",
    )?
    .execute(params![run.bytes(), expires.map(|at| at.0), guarded.map(|at| at.0)])?;
    Ok(())
}

fn update_effect(tx: &Connection, run: RunId, outcome: &Outcome) -> rusqlite::Result<()> {
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
    Ok(())
}

fn close_effects(tx: &Connection, run: RunId, state: EffectState, at: Timestamp) -> rusqlite::Result<()> {
    tx.prepare_cached("UPDATE effect SET state = ?2, known = ?3 WHERE run = ?1 AND state = 'open'")?
        .execute(params![run.bytes(), state.word(), at.0])?;
    Ok(())
}

fn append_first(tx: &Connection, new: &NewRun) -> rusqlite::Result<()> {
    tx.prepare_cached("INSERT INTO event (run, number, at, event) VALUES (?1, 1, ?2, ?3)")?
        .execute(params![new.run.bytes(), new.attempt.at.0, Event::Began.word()])?;
    Ok(())
}

fn append(
    tx: &Connection,
    run: RunId,
    event: Event,
    at: Timestamp,
    by: Option<&str>,
) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "INSERT INTO event (run, number, at, event, person)
         SELECT ?1, coalesce(max(number), 0) + 1, ?2, ?3, ?4 FROM event WHERE run = ?1",
    )?
    .execute(params![run.bytes(), at.0, event.word(), by])?;
    Ok(())
}

fn number(lease: Lease) -> i64 {
    lease.number.cast_signed()
}
