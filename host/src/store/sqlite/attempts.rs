//! Attempts: how one begins, how one ends, and the pause between two.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::super::{End, NewAttempt, Past, Rest, Rested, RollbackEnd};
use super::ends::end_step_state;
use super::write::{STEP, insert_event, number, update_effect};
use super::{budgets, health, staged};
use crate::model::clock::Timestamp;
use crate::model::id::{ProcessId, RunId};
use crate::model::past::Undone;
use crate::model::reply::Usage;
use crate::model::run::Lease;
use crate::model::state::{Event, RunState};

/// How an attempt ended.
#[derive(Clone, Copy)]
pub(super) struct Ended<'a> {
    at: Timestamp,
    word: &'a str,
    usage: Usage,
    log: &'a str,
    undone: Option<&'a Undone>,
}

impl<'a> From<&'a End> for Ended<'a> {
    fn from(end: &'a End) -> Self {
        Self { at: end.at, word: &end.word, usage: end.usage, log: &end.log, undone: None }
    }
}

impl<'a> From<&'a RollbackEnd> for Ended<'a> {
    fn from(end: &'a RollbackEnd) -> Self {
        Self { at: end.at, word: &end.word, usage: end.usage, log: &end.log, undone: Some(&end.undone) }
    }
}

impl<'a> From<&'a Rest> for Ended<'a> {
    fn from(rest: &'a Rest) -> Self {
        Self { at: rest.at, word: &rest.word, usage: rest.usage, log: &rest.log, undone: None }
    }
}

/// Makes an attempt, under way or whole.
pub(super) fn insert(
    tx: &Connection,
    run: RunId,
    attempt: NewAttempt,
    ended: Option<Ended<'_>>,
) -> rusqlite::Result<()> {
    let usage = ended.map(|ended| ended.usage).unwrap_or_default();
    tx.prepare_cached(
        "INSERT INTO attempt (run, step, attempt, plugin, began, ended, word, fuel, memory, effects, millis, log, does)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    )?
    .execute(params![
        run.bytes(),
        STEP,
        attempt.attempt,
        attempt.plugin.0,
        attempt.at.0,
        ended.map(|ended| ended.at.0),
        ended.map(|ended| ended.word),
        usage.fuel.cast_signed(),
        usage.memory.cast_signed(),
        usage.effects,
        millis(usage),
        ended.map_or("", |ended| ended.log),
        attempt.does.word(),
    ])?;
    Ok(())
}

/// Makes all attempts of a run that is written when it ends, and what happened between them; gives the run's last lease.
pub(super) fn insert_all(
    tx: &Connection,
    first: (Lease, NewAttempt),
    past: &[Past],
    end: Option<&End>,
) -> rusqlite::Result<Lease> {
    let (mut lease, first) = first;
    let run = lease.run;
    insert_event(tx, lease, Event::Began, first.at, None)?;
    let mut attempt = Some(first);
    let mut happened = |event, at| {
        lease.number += 1;
        insert_event(tx, lease, event, at, None)
    };
    for Past { rest, next } in past {
        if let Some(attempt) = attempt {
            insert(tx, run, attempt, Some(rest.into()))?;
        }
        staged::write(tx, run, STEP, &rest.staged)?;
        happened(Event::BackedOff, rest.at)?;
        attempt = *next;
        if let Some(next) = next {
            happened(Event::Retried, next.at)?;
        }
    }
    match (attempt, end) {
        (Some(attempt), end) => insert(tx, run, attempt, end.map(Ended::from))?,
        // It ended in a pause: what was said there goes with the attempt before.
        (None, Some(last)) => self::end(tx, run, last.attempt, last.into())?,
        (None, None) => {}
    }
    if let Some(end) = end {
        happened(end.event, end.at)?;
    }
    Ok(lease)
}

/// Ends an attempt. Where it has ended before, what was said since is added to its log.
pub(super) fn end(tx: &Connection, run: RunId, attempt: u32, ended: Ended<'_>) -> rusqlite::Result<()> {
    let now = tx.prepare_cached(
        "UPDATE attempt SET ended = ?4, word = ?5, fuel = ?6, memory = ?7, effects = ?8, millis = ?9, log = ?10,
             undone = ?11
         WHERE run = ?1 AND step = ?2 AND attempt = ?3 AND ended IS NULL",
    )?
    .execute(params![
        run.bytes(),
        STEP,
        attempt,
        ended.at.0,
        ended.word,
        ended.usage.fuel.cast_signed(),
        ended.usage.memory.cast_signed(),
        ended.usage.effects,
        millis(ended.usage),
        ended.log,
        ended.undone.and_then(|undone| serde_json::to_string(undone).ok()),
    ])?;
    if now == 0 && !ended.log.is_empty() {
        tx.prepare_cached(
            "UPDATE attempt SET log = log || ?4 WHERE run = ?1 AND step = ?2 AND attempt = ?3",
        )?
        .execute(params![run.bytes(), STEP, attempt, ended.log])?;
    }
    Ok(())
}

/// Ends an attempt that another follows.
pub(super) fn rest(tx: &Connection, lease: Lease, rest: &Rest) -> rusqlite::Result<Rested> {
    let held = tx
        .prepare_cached("SELECT held > 0 FROM run WHERE id = ?1 AND lease = ?2 AND state = 'running'")?
        .query_row(params![lease.run.bytes(), number(lease)], |row| row.get(0))
        .optional()?;
    let Some(held) = held else { return Ok(Rested::Lost) };
    if let Some(reports) = &rest.reports
        && let Err(why) = health::hear(tx, reports)?
    {
        return Ok(Rested::Refused(why));
    }
    let next = Lease { run: lease.run, number: lease.number + 1 };
    tx.prepare_cached(
        "UPDATE run SET state = ?2, lease = ?3, wakes = ?4, waits = ?5, owner = COALESCE(?6, owner) WHERE id = ?1",
    )?
    .execute(params![
        lease.run.bytes(),
        RunState::BackingOff.word(),
        number(next),
        rest.wakes.0,
        rest.at.0,
        (!rest.holds).then_some(ProcessId::NOBODY.0),
    ])?;
    insert_event(tx, next, Event::BackedOff, rest.at, None)?;
    for outcome in &rest.outcomes {
        update_effect(tx, lease.run, outcome)?;
    }
    end(tx, lease.run, rest.attempt, rest.into())?;
    end_step_state(tx, lease.run, RunState::BackingOff)?;
    staged::write(tx, lease.run, STEP, &rest.staged)?;
    let spent = rest.staged.spent();
    if held || spent > 0 {
        budgets::settle(tx, lease.run, spent, rest.holds, rest.at)?;
    }
    Ok(Rested::Waits(next))
}

fn millis(usage: Usage) -> i64 {
    i64::try_from(usage.time.as_millis()).unwrap_or(i64::MAX)
}
