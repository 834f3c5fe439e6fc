//! The ends of steps and runs, each applied inside the transaction that ends them.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::super::{Kept, KeyLife};
use super::attachments::{self, Way};
use super::budgets::Holds;
use super::write::{STEP, insert_event, number, trimmed};
use crate::model::clock::Timestamp;
use crate::model::id::RunId;
use crate::model::manifest::Cleanup;
use crate::model::reply::Stored;
use crate::model::run::Lease;
use crate::model::state::{Event, RunState};

/// Where a run is left.
#[derive(Clone, Copy)]
pub(super) struct Last {
    pub(super) state: RunState,
    pub(super) event: Event,
    pub(super) rearms: bool,
    pub(super) life: KeyLife,
    pub(super) at: Timestamp,
    /// Since when it stands so: what was not touched has stood so before.
    pub(super) since: Timestamp,
}

/// Leaves the run in its state, and its key with its time, and tells whether it holds anything of budgets; none where the
/// lease is lost.
pub(super) fn end_run(
    tx: &Connection,
    lease: Lease,
    last: Last,
    by: Option<&str>,
) -> rusqlite::Result<Option<Holds>> {
    let next = Lease { run: lease.run, number: lease.number + 1 };
    // What an update returns is first laid into a table made for it: to look before costs less.
    let found = tx
        .prepare_cached("SELECT key, held FROM run WHERE id = ?1 AND lease = ?2")?
        .query_row(params![lease.run.bytes(), number(lease)], |row| {
            Ok((row.get::<_, Option<[u8; 32]>>(0)?, Holds(row.get::<_, i64>(1)? > 0)))
        })
        .optional()?;
    let Some((scope, holds)) = found else { return Ok(None) };
    tx.prepare_cached(
        "UPDATE run SET state = ?2, lease = ?3, ended = ?4, rearms = ?5, wakes = NULL WHERE id = ?1",
    )?
    .execute(params![lease.run.bytes(), last.state.word(), number(next), last.since.0, last.rearms])?;
    insert_event(tx, next, last.event, last.at, by)?;
    if let Some(scope) = scope {
        let (expires, guarded) = key_end(last.state, last.life, last.since);
        tx.prepare_cached("UPDATE key SET expires = ?3, guarded = ?4 WHERE scope = ?1 AND run = ?2")?
            .execute(params![scope, lease.run.bytes(), expires, guarded])?;
    }
    Ok(Some(holds))
}

/// Writes down something that happened to a run and leaves it as it stands; nothing where the lease is lost.
pub(super) fn note(
    tx: &Connection,
    lease: Lease,
    event: Event,
    at: Timestamp,
) -> rusqlite::Result<Option<Lease>> {
    let next = Lease { run: lease.run, number: lease.number + 1 };
    let held = tx
        .prepare_cached("UPDATE run SET lease = ?3 WHERE id = ?1 AND lease = ?2")?
        .execute(params![lease.run.bytes(), number(lease), number(next)])?;
    if held == 0 {
        return Ok(None);
    }
    insert_event(tx, next, event, at, None)?;
    Ok(Some(next))
}

/// Writes down what a rollback needs to know of the outcome, where there is such.
pub(super) fn leave(
    tx: &Connection,
    run: RunId,
    fingerprint: Option<&str>,
    cleanup: Option<Cleanup>,
) -> rusqlite::Result<()> {
    if fingerprint.is_some() || cleanup.is_some() {
        tx.prepare_cached("UPDATE step SET fingerprint = ?3, cleanup = ?4 WHERE run = ?1 AND step = ?2")?
            .execute(params![run.bytes(), STEP, fingerprint, cleanup.map(Cleanup::word)])?;
    }
    Ok(())
}

pub(super) fn end_step(
    tx: &Connection,
    run: RunId,
    state: RunState,
    (stored, kept): (&Stored, &Kept),
    word: &str,
) -> rusqlite::Result<()> {
    tx.prepare_cached("UPDATE step SET state = ?3, word = ?4 WHERE run = ?1 AND step = ?2")?
        .execute(params![run.bytes(), STEP, state.step_word(), word])?;
    tx.prepare_cached(
        "UPDATE payload SET ok = ?3, body = ?4, trimmed = ?5, whole = ?6, output = ?7, attached = ?8
         WHERE id = (SELECT payload FROM step WHERE run = ?1 AND step = ?2)",
    )?
    .execute(params![
        run.bytes(),
        STEP,
        stored.ok,
        stored.body,
        trimmed(stored),
        kept.whole,
        kept.output,
        stored.attached
    ])?;
    attachments::insert(tx, run, Way::Given, &kept.attachments)
}

/// Says how the step stands, whose result comes later.
pub(super) fn end_step_state(tx: &Connection, run: RunId, state: RunState) -> rusqlite::Result<()> {
    tx.prepare_cached("UPDATE step SET state = ?3 WHERE run = ?1 AND step = ?2")?.execute(params![
        run.bytes(),
        STEP,
        state.step_word()
    ])?;
    Ok(())
}

/// The key's time runs from the end of its run, and never while a run is open.
pub(super) fn key_end(state: RunState, life: KeyLife, at: Timestamp) -> (Option<i64>, Option<i64>) {
    let expires = state.ended().then(|| at.plus(life.keep));
    let guarded = expires.map(|expires| expires.plus(life.guard));
    (expires.map(|at| at.0), guarded.map(|at| at.0))
}
