//! Runs in the background and who is at which run, each write applied inside the transaction of its group.

use rusqlite::{Connection, Row, params};

use super::super::driving::{Driving, Held};
use super::super::{Charge, Pending, StoreFailure, Take, Taken};
use super::budgets::Of;
use super::ends::end_step_state;
use super::read::{UNDER_WAY, unsigned, word};
use super::write::{STEP, insert_event, number};
use super::{SqliteStore, attempts, budgets};
use crate::model::clock::Timestamp;
use crate::model::id::{ProcessId, RunId};
use crate::model::run::{Background, Does, Lease};
use crate::model::state::{Event, RunState};

/// A run that began to wait this much later than now, in milliseconds, did so before the clock was set back.
const SET_BACK: i64 = 10_000;

impl Driving for SqliteStore {
    fn due(&self, now: Timestamp, by: Timestamp, most: u32) -> Result<Vec<(RunId, Timestamp)>, StoreFailure> {
        self.read(|db| due(db, now, by, most))
    }

    fn put_off(&self, lease: Lease, wakes: Timestamp, at: Timestamp) -> Pending<()> {
        self.writer.submit(move |tx| {
            tx.prepare_cached("UPDATE run SET wakes = ?3, waits = ?4 WHERE id = ?1 AND lease = ?2")?
                .execute(params![lease.run.bytes(), number(lease), wakes.0, at.0])
                .map(drop)
        })
    }

    fn renew(&self) -> Pending<()> {
        let own = self.processes.own();
        self.writer.submit(move |tx| renew(tx, own))
    }

    fn held(&self) -> Result<Vec<Held>, StoreFailure> {
        let own = self.processes.own();
        self.read(|db| held(db, own))
    }

    fn work(&self) -> Result<(), StoreFailure> {
        let fail = |error: std::io::Error| StoreFailure::Folder(self.file.clone(), error.to_string());
        self.processes.work().map_err(fail)
    }

    fn is_worked(&self) -> bool {
        self.processes.is_worked()
    }
}

fn due(
    db: &Connection,
    now: Timestamp,
    by: Timestamp,
    most: u32,
) -> rusqlite::Result<Vec<(RunId, Timestamp)>> {
    db.prepare_cached(
        "SELECT id, CASE WHEN waits > ?2 THEN ?2 ELSE wakes END AS due,
                row_number() OVER (PARTITION BY caller ORDER BY wakes, id) AS turn
         FROM run WHERE until IS NOT NULL AND state = 'backing_off' AND (wakes <= ?1 OR waits > ?3)
         ORDER BY turn, due LIMIT ?4",
    )?
    .query_map(params![by.0, now.0, now.0.saturating_add(SET_BACK), most], |row| {
        Ok((RunId::from_bytes(row.get(0)?), Timestamp(row.get(1)?)))
    })?
    .collect()
}

/// What goes with the leases of processes that are at nothing any more is forgotten on the way.
fn renew(tx: &Connection, own: ProcessId) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "INSERT INTO renewed (process, times) VALUES (?1, 1) ON CONFLICT (process) DO UPDATE SET times = times + 1",
    )?
    .execute(params![own.0])?;
    tx.prepare_cached(&format!(
        "DELETE FROM renewed WHERE process <> ?1 AND process NOT IN (SELECT owner FROM run WHERE {UNDER_WAY})"
    ))?
    .execute(params![own.0])?;
    Ok(())
}

fn held(db: &Connection, own: ProcessId) -> rusqlite::Result<Vec<Held>> {
    db.prepare_cached(&format!(
        "SELECT r.id, r.lease, r.owner, COALESCE(p.times, 0) FROM run r LEFT JOIN renewed p ON p.process = r.owner
         WHERE ({UNDER_WAY}) AND r.owner NOT IN (?1, ?2)"
    ))?
    .query_map(params![own.0, ProcessId::NOBODY.0], |row| {
        let run = RunId::from_bytes(row.get(0)?);
        let lease = Lease { run, number: unsigned(row, 1)? };
        Ok(Held { lease, owner: ProcessId(row.get(2)?), renewed: unsigned(row, 3)? })
    })?
    .collect()
}

/// Leaves a run to whoever drives calls in the background, under this lease; nothing where the lease before is lost.
fn leave(tx: &Connection, next: Lease, background: &Background, at: Timestamp) -> rusqlite::Result<bool> {
    let taken = tx
        .prepare_cached(
            "UPDATE run SET state = ?3, lease = ?2, owner = ?4, wakes = ?5, waits = ?5, until = ?6, scene = ?7,
                 ended = NULL, rearms = 0
             WHERE id = ?1 AND lease = ?2 - 1",
        )?
        .execute(params![
            next.run.bytes(),
            number(next),
            RunState::BackingOff.word(),
            ProcessId::NOBODY.0,
            at.0,
            background.until.0,
            background.scene.as_ref().map(AsRef::<str>::as_ref),
        ])?;
    Ok(taken == 1)
}

/// Takes a run whose lease still has this number, and begins its next attempt where one is asked for.
pub(super) fn take(tx: &Connection, take: &Take) -> rusqlite::Result<Taken> {
    if let Some(hold) = &take.charge.hold {
        match budgets::may_take(tx, take.lease, hold, take.at)? {
            None => return Ok(Taken::Lost),
            Some(Err(short)) => return Ok(Taken::Short(Box::new(short))),
            Some(Ok(())) => {}
        }
    }
    let next = Lease { run: take.lease.run, number: take.lease.number + 1 };
    // The run is open again, so its key does not lapse.
    let kept = tx
        .prepare_cached(
            "UPDATE key SET expires = NULL, guarded = NULL
             WHERE scope = (SELECT key FROM run WHERE id = ?1 AND lease = ?2) AND run = ?1",
        )?
        .execute(params![take.lease.run.bytes(), number(take.lease)])?;
    // A key that re-arms must still be this run's own: one that lapsed may be at another run by now.
    if matches!(take.event, Event::Rearmed | Event::Queued) && kept == 0 {
        return Ok(Taken::Lost);
    }
    let taken = match &take.background {
        Some(background) => leave(tx, next, background, take.at)?,
        None => hold(tx, next, take)?,
    };
    if !taken {
        return Ok(Taken::Lost);
    }
    insert_event(tx, next, take.event, take.at, take.by.as_deref())?;
    match take.attempt {
        Some(attempt) => {
            attempts::insert(tx, take.lease.run, attempt, None)?;
            if attempt.does == Does::Call {
                begin_step(tx, attempt.attempt, take.lease.run)?;
            }
        }
        None if take.background.is_some() => end_step_state(tx, take.lease.run, take.state)?,
        None => {}
    }
    // Nothing is held for what nobody is at; that it fits is known by now.
    let hold = take.charge.hold.filter(|_| take.background.is_none());
    let charge = Charge { hold, model: take.charge.model.clone() };
    if charge != Charge::default() {
        let (caller, user) = budgets::asker(tx, take.lease.run)?;
        let of = Of { caller: &caller, user: user.as_ref() };
        budgets::charge(tx, take.lease.run, of, &charge, take.at)?;
    }
    Ok(Taken::Held(next))
}

fn begin_step(tx: &Connection, attempt: u32, run: RunId) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "UPDATE step SET attempts = ?3, state = 'running', fingerprint = NULL, cleanup = NULL
         WHERE run = ?1 AND step = ?2",
    )?
    .execute(params![run.bytes(), STEP, attempt])?;
    Ok(())
}

/// Lets a process be at a run, under this lease; `false` where the lease before is lost.
fn hold(tx: &Connection, next: Lease, take: &Take) -> rusqlite::Result<bool> {
    let taken = tx
        .prepare_cached(
            "UPDATE run SET state = ?5, lease = ?3, owner = ?4, wakes = NULL,
                 ended = CASE WHEN ?6 THEN ended END, rearms = CASE WHEN ?6 THEN rearms ELSE 0 END,
                 until = CASE WHEN ?7 THEN NULL ELSE until END
             WHERE id = ?1 AND lease = ?2",
        )?
        .execute(params![
            take.lease.run.bytes(),
            number(take.lease),
            number(next),
            take.owner.0,
            take.state.word(),
            // Where nothing of it is touched, it will be as it was.
            take.state == RunState::RollingBack,
            // Whoever asks for it again waits for it.
            take.event == Event::Rearmed,
        ])?;
    Ok(taken == 1)
}

/// How a run is made, where that is in the background.
pub(super) fn background(row: &Row<'_>, first: usize) -> rusqlite::Result<Option<Background>> {
    let Some(until) = row.get::<_, Option<i64>>(first)?.map(Timestamp) else { return Ok(None) };
    let scene =
        row.get::<_, Option<String>>(first + 1)?.map(|_| word(row, first + 1, |text| text.parse().ok()));
    Ok(Some(Background { until, scene: scene.transpose()? }))
}
