//! What attempts set aside: values of plugins, what was saved, what it cost.

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::super::Room;
use super::read::unsigned;
use crate::model::budget::MOST_SUM;
use crate::model::id::RunId;
use crate::model::run::Lease;
use crate::model::staged::{Category, Cost, Staged, Tokens};

/// The number of the first of the costs of an attempt that are its tool's.
const FIRST: i64 = 1;

/// Writes down what an attempt of this step set aside.
pub(super) fn write(tx: &Connection, run: RunId, step: u32, staged: &Staged) -> rusqlite::Result<()> {
    if staged.is_empty() {
        return Ok(());
    }
    set_values(tx, staged)?;
    for (number, cost) in (FIRST..).zip(&staged.costs) {
        enter(tx, run, step, number, cost)?;
    }
    if let Some(saved) = &staged.saved {
        tx.prepare_cached(
            "INSERT INTO saved (run, step, attempt, bytes)
             SELECT run, step, attempts, ?3 FROM step WHERE run = ?1 AND step = ?2
             ON CONFLICT (run, step, attempt) DO UPDATE SET bytes = ?3",
        )?
        .execute(params![run.bytes(), step, saved])?;
    }
    for attempt in &staged.unsaved {
        tx.prepare_cached("DELETE FROM saved WHERE run = ?1 AND step = ?2 AND attempt = ?3")?
            .execute(params![run.bytes(), step, attempt])?;
    }
    Ok(())
}

/// The number of what an agent's model cost before an attempt began: it stands before those of its tool.
pub(super) fn before(tx: &Connection, run: RunId, step: u32, attempt: u32) -> rusqlite::Result<i64> {
    tx.prepare_cached(
        "SELECT coalesce(min(number), ?4) - 1 FROM cost WHERE run = ?1 AND step = ?2 AND attempt = ?3",
    )?
    .query_row(params![run.bytes(), step, attempt, FIRST], |row| row.get(0))
}

/// Enters one cost. The sum of the step stays at the most that is counted, where it would be more.
pub(super) fn enter(
    tx: &Connection,
    run: RunId,
    step: u32,
    number: i64,
    cost: &Cost,
) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "INSERT INTO cost (run, step, attempt, number, category, what, micros, input_tokens, output_tokens, priced)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?
    .execute(params![
        run.bytes(),
        step,
        cost.attempt,
        number,
        cost.category.word(),
        cost.what,
        cost.micros.cast_signed(),
        cost.tokens.map(|tokens| tokens.input.cast_signed()),
        cost.tokens.map(|tokens| tokens.output.cast_signed()),
        cost.tokens.is_none_or(|tokens| tokens.priced),
    ])?;
    tx.prepare_cached(
        "UPDATE step SET cost = CASE WHEN cost > ?4 - ?3 THEN ?4 ELSE cost + ?3 END WHERE run = ?1 AND step = ?2",
    )?
    .execute(params![run.bytes(), step, cost.micros.cast_signed(), MOST_SUM.cast_signed()])?;
    Ok(())
}

/// The sum is changed with the values, so that nothing is ever counted through.
fn set_values(tx: &Connection, staged: &Staged) -> rusqlite::Result<()> {
    let mut grown = 0_i64;
    for (key, value) in &staged.values {
        let (before, after) =
            (entry(tx, &staged.plugin, key)?, value.as_ref().map_or(0, |value| size(key, value)));
        match value {
            Some(value) => tx
                .prepare_cached(
                    "INSERT INTO value (plugin, key, value) VALUES (?1, ?2, ?3)
                     ON CONFLICT (plugin, key) DO UPDATE SET value = ?3",
                )?
                .execute(params![staged.plugin, key, value])?,
            None => tx
                .prepare_cached("DELETE FROM value WHERE plugin = ?1 AND key = ?2")?
                .execute(params![staged.plugin, key])?,
        };
        grown += after - before;
    }
    if !staged.values.is_empty() {
        tx.prepare_cached(
            "INSERT INTO value_sum (plugin, bytes) VALUES (?1, ?2)
             ON CONFLICT (plugin) DO UPDATE SET bytes = bytes + ?2",
        )?
        .execute(params![staged.plugin, grown])?;
    }
    Ok(())
}

fn size(key: &str, value: &[u8]) -> i64 {
    i64::try_from(key.len() + value.len()).unwrap_or(i64::MAX)
}

/// What is kept under a key, in bytes of key and value.
fn entry(db: &Connection, plugin: &str, key: &str) -> rusqlite::Result<i64> {
    let value: Option<i64> = db
        .prepare_cached("SELECT length(value) FROM value WHERE plugin = ?1 AND key = ?2")?
        .query_row(params![plugin, key], |row| row.get(0))
        .optional()?;
    Ok(value.map_or(0, |value| size(key, &[]) + value))
}

/// Writes down at once what an attempt saves; `false` where the lease is lost.
pub(super) fn save(tx: &Connection, lease: Lease, step: u32, saved: &[u8]) -> rusqlite::Result<bool> {
    let written = tx
        .prepare_cached(
            "INSERT INTO saved (run, step, attempt, bytes)
             SELECT r.id, s.step, s.attempts, ?4 FROM run r JOIN step s ON s.run = r.id AND s.step = ?3
             WHERE r.id = ?1 AND r.lease = ?2 AND r.state = 'running'
             ON CONFLICT (run, step, attempt) DO UPDATE SET bytes = ?4",
        )?
        .execute(params![lease.run.bytes(), lease.number.cast_signed(), step, saved])?;
    Ok(written == 1)
}

/// What the attempts of a run saved last.
pub(super) fn saved(db: &Connection, run: RunId) -> rusqlite::Result<Option<Vec<u8>>> {
    db.prepare_cached("SELECT bytes FROM saved WHERE run = ?1 ORDER BY attempt DESC LIMIT 1")?
        .query_row(params![run.bytes()], |row| row.get(0))
        .optional()
}

/// What a run cost, in order.
pub(super) fn costs(db: &Connection, run: RunId) -> rusqlite::Result<Vec<Cost>> {
    let read = |row: &Row<'_>| {
        let word: String = row.get(1)?;
        let category = Category::from_word(&word).ok_or_else(|| {
            rusqlite::Error::FromSqlConversionFailure(1, Type::Text, format!("unknown word: {word}").into())
        })?;
        let micros = unsigned(row, 3)?;
        Ok(Cost { attempt: row.get(0)?, category, what: row.get(2)?, micros, tokens: tokens(row, 4)? })
    };
    db.prepare_cached(
        "SELECT attempt, category, what, micros, input_tokens, output_tokens, priced FROM cost
         WHERE run = ?1 ORDER BY attempt, number",
    )?
    .query_map(params![run.bytes()], read)?
    .collect()
}

/// The tokens that stand in three columns from this one on.
pub(super) fn tokens(row: &Row<'_>, first: usize) -> rusqlite::Result<Option<Tokens>> {
    let (input, output): (Option<i64>, Option<i64>) = (row.get(first)?, row.get(first + 1)?);
    let priced = row.get(first + 2)?;
    let both = input.zip(output);
    Ok(both.map(|(input, output)| Tokens {
        input: input.cast_unsigned(),
        output: output.cast_unsigned(),
        priced,
    }))
}

/// A value of a plugin.
pub(super) fn value(db: &Connection, plugin: &str, key: &str) -> rusqlite::Result<Option<Vec<u8>>> {
    db.prepare_cached("SELECT value FROM value WHERE plugin = ?1 AND key = ?2")?
        .query_row(params![plugin, key], |row| row.get(0))
        .optional()
}

/// Keys of a plugin that begin so, in order.
pub(super) fn keys(
    db: &Connection,
    plugin: &str,
    prefix: &str,
    after: Option<&str>,
    most: usize,
) -> rusqlite::Result<Vec<String>> {
    let mut query =
        db.prepare_cached("SELECT key FROM value WHERE plugin = ?1 AND key >= ?2 ORDER BY key")?;
    let mut rows = query.query(params![plugin, prefix.max(after.unwrap_or_default())])?;
    let mut keys = Vec::new();
    while let (true, Some(row)) = (keys.len() < most, rows.next()?) {
        let key: String = row.get(0)?;
        if !key.starts_with(prefix) {
            break;
        }
        if after != Some(&*key) {
            keys.push(key);
        }
    }
    Ok(keys)
}

/// How much a plugin keeps.
pub(super) fn room(db: &Connection, plugin: &str, key: &str) -> rusqlite::Result<Room> {
    let all: Option<i64> = db
        .prepare_cached("SELECT bytes FROM value_sum WHERE plugin = ?1")?
        .query_row(params![plugin], |row| row.get(0))
        .optional()?;
    Ok(Room { all: all.unwrap_or_default().cast_unsigned(), entry: entry(db, plugin, key)?.cast_unsigned() })
}
