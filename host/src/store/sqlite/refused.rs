//! Calls that were refused before they had a run: bounded, for whoever is refused may ask again at once.

use rusqlite::{Connection, Row, params};

use super::read::unsigned;
use crate::model::clock::Timestamp;
use crate::model::id::{CallerName, RunId, TraceId};
use crate::model::refused::Refused;
use crate::model::stats::Count;

/// The most that are kept: some fifteen megabytes.
const MOST: i64 = 100_000;

/// Takes note of one, in the place of the oldest where there are too many.
pub(super) fn insert(tx: &Connection, refused: &Refused) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "INSERT INTO refused (at, trace, tool, caller, user, code) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute(params![
        refused.at.0,
        refused.trace.0,
        refused.tool,
        refused.caller.0,
        refused.user.as_ref().map(|user| user.as_str()),
        refused.code
    ])?;
    let last = tx.last_insert_rowid();
    tx.prepare_cached("DELETE FROM refused WHERE id <= ?1")?.execute(params![last - MOST])?;
    Ok(())
}

/// Those of a trace, in their order.
pub(super) fn of(db: &Connection, trace: &TraceId, most: u32) -> rusqlite::Result<Vec<Refused>> {
    let read = |row: &Row<'_>| {
        let user: Option<String> = row.get(3)?;
        Ok(Refused {
            at: Timestamp(row.get(0)?),
            trace: trace.clone(),
            tool: row.get(1)?,
            caller: CallerName(row.get(2)?),
            user: user.and_then(|user| user.parse().ok()),
            code: row.get(4)?,
        })
    };
    db.prepare_cached(
        "SELECT at, tool, caller, user, code FROM refused WHERE trace = ?1 ORDER BY id LIMIT ?2",
    )?
    .query_map(params![trace.0, most], read)?
    .collect()
}

/// Counts those that are not older than this run.
pub(super) fn count(db: &Connection, from: RunId, count: &mut Count) -> rusqlite::Result<()> {
    let mut query =
        db.prepare_cached("SELECT tool, code, count(*) FROM refused WHERE at >= ?1 GROUP BY tool, code")?;
    let mut rows = query.query(params![from.at().0])?;
    while let Some(row) = rows.next()? {
        count.refused(row.get_ref(0)?.as_str()?, row.get_ref(1)?.as_str()?, unsigned(row, 2)?);
    }
    Ok(())
}

/// Removes those whose time is over; gives how many went.
pub(super) fn remove(tx: &Connection, before: Timestamp, most: u32) -> rusqlite::Result<usize> {
    tx.prepare_cached(
        "DELETE FROM refused WHERE id IN (SELECT id FROM refused WHERE at < ?1 ORDER BY id LIMIT ?2)",
    )?
    .execute(params![before.0, most])
}
