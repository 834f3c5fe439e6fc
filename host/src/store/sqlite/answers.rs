//! What came back for effects, kept beside them for whoever looks at their call later.

use rusqlite::{Connection, Row, params};

use super::super::Outcome;
use super::write::STEP;
use crate::model::effect::Answered;
use crate::model::id::RunId;

/// Writes down what came back for an effect, once.
pub(super) fn insert(tx: &Connection, run: RunId, outcome: &Outcome) -> rusqlite::Result<()> {
    let Some(answered) = &outcome.answered else { return Ok(()) };
    tx.prepare_cached(
        "INSERT INTO answer (run, step, attempt, ordinal, location, etag, body)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING",
    )?
    .execute(params![
        run.bytes(),
        STEP,
        outcome.attempt,
        outcome.ordinal,
        answered.location,
        answered.etag,
        answered.body,
    ])?;
    Ok(())
}

/// What came back for the effects of a run, with their attempts and ordinals.
pub(super) fn of(db: &Connection, run: RunId) -> rusqlite::Result<Vec<(u32, u32, Answered)>> {
    let read = |row: &Row<'_>| {
        let answered = Answered { location: row.get(2)?, etag: row.get(3)?, body: row.get(4)? };
        Ok((row.get(0)?, row.get(1)?, answered))
    };
    db.prepare_cached(
        "SELECT attempt, ordinal, location, etag, body FROM answer WHERE run = ?1 ORDER BY attempt, ordinal",
    )?
    .query_map(params![run.bytes()], read)?
    .collect()
}

/// Lets go of what came back for the effects of a run.
pub(super) fn let_go(tx: &Connection, run: [u8; 16]) -> rusqlite::Result<()> {
    tx.prepare_cached("DELETE FROM answer WHERE run = ?1")?.execute(params![run])?;
    Ok(())
}
