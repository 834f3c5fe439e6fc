//! The ends of steps and runs, each applied inside the transaction that ends them.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::super::{Kept, KeyLife};
use super::attachments::{self, Way};
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
}

/// Leaves the run in its state, and its key with its time; nothing where the lease is lost.
pub(super) fn end_run(tx: &Connection, lease: Lease, last: Last, by: Option<&str>) -> rusqlite::Result<bool> {
    let next = Lease { run: lease.run, number: lease.number + 1 };
    let scope = tx
        .prepare_cached(
            "UPDATE run SET state = ?3, lease = ?4, ended = ?5, rearms = ?6, wakes = NULL
             WHERE id = ?1 AND lease = ?2 RETURNING key",
        )?
        .query_row(
            params![
                lease.run.bytes(),
                number(lease),
                last.state.word(),
                number(next),
                last.at.0,
                last.rearms
            ],
            |row| row.get::<_, Option<[u8; 32]>>(0),
        )
        .optional()?;
    let Some(scope) = scope else { return Ok(false) };
    insert_event(tx, next, last.event, last.at, by)?;
    if let Some(scope) = scope {
        let (expires, guarded) = key_end(last.state, last.life, last.at);
        tx.prepare_cached("UPDATE key SET expires = ?3, guarded = ?4 WHERE scope = ?1 AND run = ?2")?
            .execute(params![scope, lease.run.bytes(), expires, guarded])?;
    }
    Ok(true)
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
    let payload: i64 = tx
        .prepare_cached(
            "UPDATE step SET state = ?3, word = ?4 WHERE run = ?1 AND step = ?2 RETURNING payload",
        )?
        .query_row(params![run.bytes(), STEP, state.step_word(), word], |row| row.get(0))?;
    tx.prepare_cached(
        "UPDATE payload SET ok = ?2, body = ?3, trimmed = ?4, whole = ?5, output = ?6, attached = ?7 WHERE id = ?1",
    )?
    .execute(params![
        payload,
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
