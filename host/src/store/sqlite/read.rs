//! The reads of calls and people, on connections that cannot write.

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::super::{KeyFound, Ledger, StoreFailure};
use super::SqliteStore;
use crate::model::clock::Timestamp;
use crate::model::effect::{Effect, EffectState};
use crate::model::id::{CallerName, Digest, ProcessId, RunId, ToolName, TraceId};
use crate::model::key::{Known, KnownRun};
use crate::model::manifest::Repeat;
use crate::model::reply::{Stored, Usage};
use crate::model::run::{Attempt, Happened, Lease, Record, Summary};
use crate::model::state::RunState;

impl Ledger for SqliteStore {
    fn key(&self, scope: Digest, at: Timestamp) -> Result<Option<KeyFound>, StoreFailure> {
        let mut found = self.read(|db| {
            db.prepare_cached(
                "SELECT k.action, k.expires, k.guarded, r.id, r.state, r.lease, r.owner, r.rearms, s.attempts,
                        p.ok, p.body, a.fuel, a.memory, a.effects, a.millis
                 FROM key k JOIN run r ON r.id = k.run JOIN step s ON s.run = r.id JOIN payload p ON p.id = s.payload
                 JOIN attempt a ON a.run = r.id AND a.step = s.step AND a.attempt = s.attempts
                 WHERE k.scope = ?1",
            )?
            .query_row(params![scope.0], |row| key_found(row, at))
            .optional()
        })?;
        if let Some(found) = &mut found
            && let Some(run) = &mut found.known.run
        {
            run.orphaned = run.state == RunState::Running && self.gone(found.owner);
        }
        Ok(found)
    }

    fn run(&self, run: RunId) -> Result<Option<Record>, StoreFailure> {
        self.read(|db| {
            let record = db
                .prepare_cached(
                    "SELECT r.id, r.state, s.tool, r.caller, s.attempts, r.began, r.ended, s.word, r.lease, r.owner,
                            k.text, s.action, r.trace, p.input, p.ok, p.body, r.rearms, s.repeat
                     FROM run r JOIN step s ON s.run = r.id JOIN payload p ON p.id = s.payload
                     LEFT JOIN key k ON k.scope = r.key AND k.run = r.id
                     WHERE r.id = ?1",
                )?
                .query_row(params![run.bytes()], record)
                .optional()?;
            record.map(|record| complete(db, record)).transpose()
        })
    }

    fn runs(&self, range: (RunId, RunId), most: u32) -> Result<Vec<Summary>, StoreFailure> {
        self.read(|db| {
            db.prepare_cached(
                "SELECT r.id, r.state, s.tool, r.caller, s.attempts, r.began, r.ended, s.word
                 FROM run r JOIN step s ON s.run = r.id
                 WHERE r.id BETWEEN ?1 AND ?2 ORDER BY r.id DESC LIMIT ?3",
            )?
            .query_map(params![range.0.bytes(), range.1.bytes(), most], summary)?
            .collect()
        })
    }

    fn unfinished(&self) -> Result<Vec<(RunId, ProcessId)>, StoreFailure> {
        let own = self.process();
        let all = self.read(|db| {
            db.prepare_cached("SELECT id, owner FROM run WHERE state = 'running'")?
                .query_map([], |row| Ok((RunId::from_bytes(row.get(0)?), ProcessId(row.get(1)?))))?
                .collect::<rusqlite::Result<Vec<_>>>()
        })?;
        Ok(all.into_iter().filter(|(_, owner)| *owner != own).collect())
    }

    fn secret(&self) -> [u8; 32] {
        self.secret
    }

    fn process(&self) -> ProcessId {
        self.processes.own()
    }

    fn gone(&self, process: ProcessId) -> bool {
        self.processes.gone(process)
    }
}

fn key_found(row: &Row<'_>, at: Timestamp) -> rusqlite::Result<KeyFound> {
    let expires: Option<i64> = row.get(1)?;
    let guarded: Option<i64> = row.get(2)?;
    let run = RunId::from_bytes(row.get(3)?);
    let state = word(row, 4, RunState::from_word)?;
    let known = Known {
        action: Digest(row.get(0)?),
        run: Some(KnownRun { state, rearms: row.get(7)?, orphaned: false }),
        expired: expires.is_some_and(|expires| expires < at.0),
        guarded: guarded.is_none_or(|guarded| guarded >= at.0),
    };
    Ok(KeyFound {
        known,
        run,
        lease: Lease { run, number: unsigned(row, 5)? },
        owner: ProcessId(row.get(6)?),
        attempts: row.get(8)?,
        stored: stored(row, 9)?,
        usage: usage(row, 11)?,
    })
}

fn usage(row: &Row<'_>, first: usize) -> rusqlite::Result<Usage> {
    Ok(Usage {
        fuel: unsigned(row, first)?,
        memory: unsigned(row, first + 1)?,
        effects: row.get(first + 2)?,
        time: std::time::Duration::from_millis(unsigned(row, first + 3)?),
    })
}

fn stored(row: &Row<'_>, first: usize) -> rusqlite::Result<Option<Stored>> {
    let ok: Option<bool> = row.get(first)?;
    let body: Option<String> = row.get(first + 1)?;
    Ok(ok.zip(body).map(|(ok, body)| Stored { ok, body }))
}

fn summary(row: &Row<'_>) -> rusqlite::Result<Summary> {
    let code: Option<String> = row.get(7)?;
    Ok(Summary {
        run: RunId::from_bytes(row.get(0)?),
        state: word(row, 1, RunState::from_word)?,
        tool: word(row, 2, |text| text.parse::<ToolName>().ok())?,
        caller: CallerName(row.get(3)?),
        attempts: row.get(4)?,
        began: Timestamp(row.get(5)?),
        ended: row.get::<_, Option<i64>>(6)?.map(Timestamp),
        code: code.filter(|code| code != "ok"),
    })
}

fn record(row: &Row<'_>) -> rusqlite::Result<Record> {
    let summary = summary(row)?;
    Ok(Record {
        lease: Lease { run: summary.run, number: unsigned(row, 8)? },
        summary,
        owner: ProcessId(row.get(9)?),
        key: row.get(10)?,
        action: Digest(row.get(11)?),
        repeat: word(row, 17, Repeat::from_word)?,
        trace: TraceId(row.get(12)?),
        input: row.get(13)?,
        stored: stored(row, 14)?,
        rearms: row.get(16)?,
        usage: Usage::default(),
        attempts: Vec::new(),
        effects: Vec::new(),
        events: Vec::new(),
    })
}

fn complete(db: &Connection, mut record: Record) -> rusqlite::Result<Record> {
    let id = record.lease.run.bytes();
    let mut attempts = db.prepare_cached(
        "SELECT attempt, began, ended, word, plugin, fuel, memory, log, effects, millis FROM attempt
         WHERE run = ?1 ORDER BY attempt",
    )?;
    let mut rows = attempts.query(params![id])?;
    while let Some(row) = rows.next()? {
        record.usage = Usage {
            fuel: unsigned(row, 5)?,
            memory: unsigned(row, 6)?,
            effects: row.get(8)?,
            time: std::time::Duration::from_millis(unsigned(row, 9)?),
        };
        record.attempts.push(Attempt {
            attempt: row.get(0)?,
            began: Timestamp(row.get(1)?),
            ended: row.get::<_, Option<i64>>(2)?.map(Timestamp),
            outcome: row.get(3)?,
            plugin_digest: Digest(row.get(4)?),
            fuel: record.usage.fuel,
            memory_bytes: record.usage.memory,
            log: row.get(7)?,
        });
    }
    record.effects = db
        .prepare_cached(
            "SELECT attempt, ordinal, repeat, method, target, request, key, state, status FROM effect
             WHERE run = ?1 ORDER BY attempt, ordinal",
        )?
        .query_map(params![id], effect)?
        .collect::<rusqlite::Result<_>>()?;
    record.events = db
        .prepare_cached("SELECT at, event, person FROM event WHERE run = ?1 ORDER BY number")?
        .query_map(params![id], |row| {
            Ok(Happened { at: Timestamp(row.get(0)?), event: row.get(1)?, by: row.get(2)? })
        })?
        .collect::<rusqlite::Result<_>>()?;
    Ok(record)
}

fn effect(row: &Row<'_>) -> rusqlite::Result<Effect> {
    Ok(Effect {
        attempt: row.get(0)?,
        ordinal: row.get(1)?,
        repeat: word(row, 2, Repeat::from_word)?,
        method: row.get(3)?,
        target: row.get(4)?,
        request: Digest(row.get(5)?),
        key: row.get(6)?,
        state: word(row, 7, EffectState::from_word)?,
        status: row.get(8)?,
    })
}

fn unsigned(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(column).map(i64::cast_unsigned)
}

fn word<T>(row: &Row<'_>, column: usize, read: impl Fn(&str) -> Option<T>) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    read(&text).ok_or_else(|| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, format!("unknown word: {text}").into())
    })
}
