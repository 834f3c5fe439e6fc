//! What lay in lent folders before effects changed it, kept beside them.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

use rusqlite::{Connection, Row, params};

use super::write::STEP;
use crate::model::change::{Before, Change, Changed, Mark, Recorded};
use crate::model::effect::Effect;
use crate::model::id::{Digest, RunId};

/// Writes the change of an effect.
pub(super) fn insert(tx: &Connection, run: RunId, effect: &Effect, change: &Change) -> rusqlite::Result<()> {
    let (moved_to, before, content, mode, after) = match &change.what {
        Changed::Replaced { before: Before::File(bytes, mode), after } => {
            (None, "file", Some(&**bytes), Some(*mode), after)
        }
        Changed::Replaced { before: Before::Folder(mode), after } => {
            (None, "folder", None, Some(*mode), after)
        }
        Changed::Replaced { before: Before::Nothing, after } => (None, "nothing", None, None, after),
        Changed::Moved { to, mark } => (Some(to), mark_word(mark), None, None, mark),
    };
    let hash = match after {
        Mark::File(hash) => Some(hash.0),
        Mark::Nothing | Mark::Folder => None,
    };
    tx.prepare_cached(
        "INSERT INTO change (run, step, attempt, ordinal, directory, root, path, moved_to, before, content, mode, size, after, hash)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
    )?
    .execute(params![
        run.bytes(),
        STEP,
        effect.attempt,
        effect.ordinal,
        change.directory,
        change.root.as_os_str().as_bytes(),
        change.path,
        moved_to,
        before,
        content,
        mode,
        change.size().cast_signed(),
        mark_word(after),
        hash,
    ])?;
    Ok(())
}

/// The changes of a run in their order, as far as what lay there before is still kept.
pub(super) fn of(db: &Connection, run: RunId) -> rusqlite::Result<Vec<Recorded>> {
    db.prepare_cached(
        "SELECT attempt, ordinal, directory, root, path, moved_to, before, content, mode, after, hash FROM change
         WHERE run = ?1 AND (moved_to IS NOT NULL OR before <> 'file' OR content IS NOT NULL)
         ORDER BY attempt, ordinal",
    )?
    .query_map(params![run.bytes()], recorded)?
    .collect()
}

/// How many bytes are kept of what lay there before the changes of a run.
pub(super) fn size(db: &Connection, run: RunId) -> rusqlite::Result<u64> {
    db.prepare_cached("SELECT coalesce(sum(size), 0) FROM change WHERE run = ?1")?
        .query_row(params![run.bytes()], |row| row.get::<_, i64>(0))
        .map(i64::cast_unsigned)
}

/// Lets go of what lay there before the changes of a run; the hashes stay.
pub(super) fn let_go(tx: &Connection, run: [u8; 16]) -> rusqlite::Result<()> {
    tx.prepare_cached("UPDATE change SET content = NULL, size = 0 WHERE run = ?1 AND content IS NOT NULL")?
        .execute(params![run])?;
    Ok(())
}

/// Lets go of what lay there before a change that was put back, or never made.
pub(super) fn let_go_of(tx: &Connection, run: RunId, attempt: u32, ordinal: u32) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "UPDATE change SET content = NULL, size = 0
         WHERE run = ?1 AND step = ?2 AND attempt = ?3 AND ordinal = ?4 AND content IS NOT NULL",
    )?
    .execute(params![run.bytes(), STEP, attempt, ordinal])?;
    Ok(())
}

fn mark_word(mark: &Mark) -> &'static str {
    match mark {
        Mark::Nothing => "nothing",
        Mark::Folder => "folder",
        Mark::File(_) => "file",
    }
}

fn recorded(row: &Row<'_>) -> rusqlite::Result<Recorded> {
    let (word, hash): (String, Option<[u8; 32]>) = (row.get(9)?, row.get(10)?);
    let after = match (word.as_str(), hash) {
        ("file", Some(hash)) => Mark::File(Digest(hash)),
        ("folder", _) => Mark::Folder,
        _ => Mark::Nothing,
    };
    let (before, moved_to): (String, Option<String>) = (row.get(6)?, row.get(5)?);
    let what = match (moved_to, before.as_str()) {
        (Some(to), _) => Changed::Moved { to, mark: after },
        (None, "file") => {
            let bytes = row.get_ref(7)?.as_blob()?.into();
            Changed::Replaced { before: Before::File(bytes, row.get(8)?), after }
        }
        (None, "folder") => {
            // Where nobody wrote down who might use it, its owner alone may.
            let mode = row.get::<_, Option<u32>>(8)?.unwrap_or(0o700);
            Changed::Replaced { before: Before::Folder(mode), after }
        }
        (None, _) => Changed::Replaced { before: Before::Nothing, after },
    };
    let root = PathBuf::from(OsString::from_vec(row.get(3)?));
    let change = Change { directory: row.get(2)?, root, path: row.get(4)?, what };
    Ok(Recorded { attempt: row.get(0)?, ordinal: row.get(1)?, change })
}
