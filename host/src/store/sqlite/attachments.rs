//! What goes beside input and output: bytes kept once by their hash, as long as a run holds them.

use std::sync::Arc;

use rusqlite::{Connection, params};

use super::write::STEP;
use crate::model::attachment::Attachment;
use crate::model::id::RunId;

/// Beside what attachments go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// The input.
    Brought,
    /// The output.
    Given,
}

impl Way {
    fn word(self) -> &'static str {
        match self {
            Self::Brought => "brought",
            Self::Given => "given",
        }
    }
}

/// Writes the attachments of a run.
pub(super) fn insert(
    tx: &Connection,
    run: RunId,
    way: Way,
    attachments: &[Attachment],
) -> rusqlite::Result<()> {
    for (place, attachment) in attachments.iter().enumerate() {
        let digest = attachment.digest();
        tx.prepare_cached("INSERT INTO content (hash, bytes) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?
            .execute(params![digest.0, &*attachment.bytes])?;
        tx.prepare_cached(
            "INSERT INTO attachment (run, step, way, place, name, media_type, size, content)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            run.bytes(),
            STEP,
            way.word(),
            i64::try_from(place).unwrap_or(i64::MAX),
            attachment.name,
            attachment.media_type,
            attachment.size().cast_signed(),
            digest.0,
        ])?;
    }
    Ok(())
}

/// The attachments of a run that are still kept, in their order.
pub(super) fn of(db: &Connection, run: RunId, way: Way) -> rusqlite::Result<Vec<Attachment>> {
    db.prepare_cached(
        "SELECT a.name, a.media_type, c.bytes FROM attachment a JOIN content c ON c.hash = a.content
         WHERE a.run = ?1 AND a.step = ?2 AND a.way = ?3 AND a.held ORDER BY a.place",
    )?
    .query_map(params![run.bytes(), STEP, way.word()], |row| {
        let bytes: Arc<[u8]> = row.get_ref(2)?.as_blob()?.into();
        Ok(Attachment { name: row.get(0)?, media_type: row.get(1)?, bytes })
    })?
    .collect()
}

/// Lets go of the attachments of a run; bytes that no other run holds go with them.
pub(super) fn let_go(tx: &Connection, run: [u8; 16]) -> rusqlite::Result<()> {
    let held =
        tx.prepare_cached("UPDATE attachment SET held = 0 WHERE run = ?1 AND held")?.execute(params![run])?;
    if held > 0 {
        tx.prepare_cached(
            "DELETE FROM content WHERE hash IN (SELECT content FROM attachment WHERE run = ?1)
             AND NOT EXISTS (SELECT 1 FROM attachment a WHERE a.content = hash AND a.held)",
        )?
        .execute(params![run])?;
    }
    Ok(())
}
