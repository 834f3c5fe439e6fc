//! What goes when its time is over: keys, and what was said in runs. A reader finds it, and the writer looks again.

use std::time::Duration;

use rusqlite::{Connection, params};

use super::{answers, attachments, budgets, changes, guard, refused};
use crate::model::budget::Day;
use crate::model::clock::Timestamp;
use crate::model::id::Digest;

/// Texts of one go, in bytes: the writer has to free their pages, and calls wait for it meanwhile.
const MOST_TEXT: usize = 1 << 20;

/// What is over.
pub(super) struct Found {
    at: Timestamp,
    ended_before: Timestamp,
    keys: Vec<[u8; 32]>,
    guards: Vec<guard::Old>,
    /// Of calls that were refused, and of sums of budgets, at most so many.
    most: u32,
    payloads: Vec<Payload>,
}

/// Texts that are to go, and what stays of them.
struct Payload {
    run: [u8; 16],
    id: i64,
    input: Digest,
    body: Option<Digest>,
}

/// Looks for what is over, on a connection that cannot write.
pub(super) fn find(db: &Connection, at: Timestamp, payloads: Duration, most: u32) -> rusqlite::Result<Found> {
    let keys = db
        .prepare_cached("SELECT scope FROM key WHERE guarded < ?1 LIMIT ?2")?
        .query_map(params![at.0, most], |row| row.get(0))?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    let less = |most: u32, found: usize| most.saturating_sub(u32::try_from(found).unwrap_or(u32::MAX));
    let left = less(most, keys.len());
    let guards = guard::old(db, at, left)?;
    let left = less(left, guards.len());
    let ended_before = at.minus(payloads);
    Ok(Found { payloads: texts(db, at, ended_before, left)?, at, ended_before, keys, guards, most })
}

fn texts(
    db: &Connection,
    at: Timestamp,
    ended_before: Timestamp,
    most: u32,
) -> rusqlite::Result<Vec<Payload>> {
    // A result whose key is alive may be asked for, however long ago its run ended.
    let mut query = db.prepare_cached(
        "SELECT r.id, p.id, p.input, p.body,
                coalesce(length(p.whole), 0) + coalesce(length(p.output), 0)
                + (SELECT coalesce(sum(a.size), 0) FROM attachment a WHERE a.run = r.id AND a.held)
                + (SELECT coalesce(sum(c.size), 0) FROM change c WHERE c.run = r.id)
                + (SELECT coalesce(sum(length(w.body)), 0) FROM answer w WHERE w.run = r.id)
         FROM run r JOIN step s ON s.run = r.id JOIN payload p ON p.id = s.payload
         WHERE r.state IN ('completed', 'failed', 'timed_out', 'rolled_back') AND r.removed IS NULL AND r.ended < ?1
           AND NOT EXISTS (SELECT 1 FROM key k
                           WHERE k.scope = r.key AND k.run = r.id AND (k.expires IS NULL OR k.expires >= ?2))
         ORDER BY r.ended LIMIT ?3",
    )?;
    let mut rows = query.query(params![ended_before.0, at.0, most])?;
    let (mut found, mut bytes) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        let input = row.get_ref(2)?.as_str()?;
        let body = row.get_ref(3)?.as_str_or_null()?;
        bytes += input.len() + body.map_or(0, str::len) + usize::try_from(row.get::<_, i64>(4)?).unwrap_or(0);
        found.push(Payload {
            run: row.get(0)?,
            id: row.get(1)?,
            input: Digest::of(input.as_bytes()),
            body: body.map(|body| Digest::of(body.as_bytes())),
        });
        if bytes >= MOST_TEXT {
            break;
        }
    }
    Ok(found)
}

/// Removes what was found, as far as it is still over; gives how much went.
pub(super) fn remove(tx: &Connection, found: &Found) -> rusqlite::Result<u32> {
    let mut gone = 0;
    for scope in &found.keys {
        gone += tx
            .prepare_cached("DELETE FROM key WHERE scope = ?1 AND guarded < ?2")?
            .execute(params![scope, found.at.0])?;
    }
    for old in &found.guards {
        gone += guard::let_go(tx, old)?;
    }
    gone += refused::remove(tx, found.ended_before, found.most)?;
    gone += budgets::let_go(tx, Day::of(found.ended_before), found.most)?;
    // What calls free is soon written over; what goes here is not to be found in free pages either.
    tx.execute_batch("PRAGMA secure_delete = ON")?;
    for payload in &found.payloads {
        gone += empty(tx, found, payload)?;
    }
    tx.execute_batch("PRAGMA secure_delete = FAST")?;
    Ok(u32::try_from(gone).unwrap_or(u32::MAX))
}

fn empty(tx: &Connection, found: &Found, payload: &Payload) -> rusqlite::Result<usize> {
    let marked = tx
        .prepare_cached(
            "UPDATE run SET removed = ?2, reason = NULL
             WHERE id = ?1 AND state IN ('completed', 'failed', 'timed_out', 'rolled_back') AND removed IS NULL AND ended < ?3",
        )?
        .execute(params![payload.run, found.at.0, found.ended_before.0])?;
    if marked == 1 {
        tx.prepare_cached(
            "UPDATE payload SET input = '', body = NULL, trimmed = NULL, whole = NULL, output = NULL, input_hash = ?2, body_hash = ?3 WHERE id = ?1",
        )?
        .execute(params![payload.id, payload.input.0, payload.body.map(|body| body.0)])?;
        attachments::let_go(tx, payload.run)?;
        changes::let_go(tx, payload.run)?;
        answers::let_go(tx, payload.run)?;
        tx.prepare_cached("UPDATE attempt SET log = '', undone = NULL WHERE run = ?1")?
            .execute(params![payload.run])?;
        tx.prepare_cached("DELETE FROM saved WHERE run = ?1")?.execute(params![payload.run])?;
    }
    Ok(marked)
}
