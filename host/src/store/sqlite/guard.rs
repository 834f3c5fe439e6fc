//! The writing calls of conversations: which of them a call that is asked for again is held against.

use rusqlite::{Connection, params};

use super::super::NewRun;
use super::read::word;
use crate::model::clock::Timestamp;
use crate::model::guard::Guard;
use crate::model::id::RunId;
use crate::model::limits::MOST_SAME_ACTION;
use crate::model::state::RunState;

/// Where a call stands in its conversation.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// The run that it would only repeat.
    pub(super) repeats: Option<RunId>,
    /// The first number that is held against what comes.
    first: i64,
    /// Its own number.
    number: i64,
}

/// A row whose time is over.
pub(super) type Old = ([u8; 32], i64);

/// Where this call stands: the latest call before it counts that left anything behind, or still may.
pub(super) fn place(db: &Connection, guard: &Guard, at: Timestamp) -> rusqlite::Result<Place> {
    let mut query = db.prepare_cached(
        "SELECT g.number, g.run, g.same, r.ended, r.state FROM guard g JOIN run r ON r.id = g.run
         WHERE g.scope = ?1 ORDER BY g.number DESC",
    )?;
    let mut rows = query.query(params![guard.scope.0])?;
    let mut place = Place { repeats: None, first: 1, number: 1 };
    while let Some(row) = rows.next()? {
        let number: i64 = row.get(0)?;
        place.number = place.number.max(number + 1);
        let left = match word(row, 4, RunState::from_word)? {
            RunState::Failed | RunState::TimedOut | RunState::RolledBack => false,
            RunState::Running
            | RunState::BackingOff
            | RunState::Completed
            | RunState::Suspended(_)
            | RunState::RollingBack => true,
        };
        if left {
            let ended = row.get::<_, Option<i64>>(3)?.map(Timestamp);
            let same = row.get::<_, [u8; 32]>(2)? == guard.same.0;
            let lately = |within| ended.is_none_or(|ended| at.since(ended) <= within);
            let run = RunId::from_bytes(row.get(1)?);
            place.repeats = guard.held.filter(|within| same && lately(*within)).map(|_| run);
            place.first = number;
            break;
        }
    }
    Ok(place)
}

/// The same of a run about to be, where it is of a conversation and writes.
pub(super) fn place_of(tx: &Connection, new: &NewRun) -> rusqlite::Result<Option<Place>> {
    new.guard.map(|guard| place(tx, &guard, new.attempt.at)).transpose()
}

/// Adds the call to its conversation, and removes what nothing is held against any more.
pub(super) fn insert(tx: &Connection, new: &NewRun, place: Option<Place>) -> rusqlite::Result<()> {
    let (Some(guard), Some(place)) = (&new.guard, place) else { return Ok(()) };
    if place.first > 1 {
        tx.prepare_cached("DELETE FROM guard WHERE scope = ?1 AND number < ?2")?
            .execute(params![guard.scope.0, place.first])?;
    }
    tx.prepare_cached("INSERT INTO guard (scope, number, run, same) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![guard.scope.0, place.number, new.run.bytes(), guard.same.0])?;
    Ok(())
}

/// Takes note that the result has reached whoever asked.
pub(super) fn delivered(tx: &Connection, run: RunId) -> rusqlite::Result<()> {
    tx.prepare_cached("UPDATE run SET delivered = 1 WHERE id = ?1 AND delivered = 0")?
        .execute(params![run.bytes()])?;
    Ok(())
}

/// Calls against which nothing is held any more, whatever the limit is.
pub(super) fn old(db: &Connection, at: Timestamp, most: u32) -> rusqlite::Result<Vec<Old>> {
    db.prepare_cached(
        "SELECT g.scope, g.number FROM guard g JOIN run r ON r.id = g.run WHERE r.ended < ?1 LIMIT ?2",
    )?
    .query_map(params![at.minus(MOST_SAME_ACTION).0, most], |row| Ok((row.get(0)?, row.get(1)?)))?
    .collect()
}

/// Removes one of them.
pub(super) fn let_go(tx: &Connection, (scope, number): &Old) -> rusqlite::Result<usize> {
    tx.prepare_cached("DELETE FROM guard WHERE scope = ?1 AND number = ?2")?.execute(params![scope, number])
}
