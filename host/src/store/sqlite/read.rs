//! The reads of calls and people, on connections that cannot write.

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::super::{Kept, KeyFound, Ledger, Room, StoreFailure};
use super::attachments::{self, Way};
use super::{SqliteStore, answers, budgets, changes, driving, guard, health, refused, staged, survey};
use crate::model::attachment::Attachment;
use crate::model::budget::{Budget, Day, Sums};
use crate::model::caller::ToolPattern;
use crate::model::change::Recorded;
use crate::model::clock::Timestamp;
use crate::model::costs::{By, Costs};
use crate::model::effect::{Answered, Effect, EffectState};
use crate::model::guard::Guard;
use crate::model::health::Health;
use crate::model::id::{CallerName, Digest, ProcessId, RunId, ToolName, TraceId, UserName};
use crate::model::key::Known;
use crate::model::late::Late;
use crate::model::manifest::{Cleanup, Repeat};
use crate::model::refused::Refused;
use crate::model::reply::{Stored, Usage};
use crate::model::run::{Attempt, Does, Happened, Lease, Record, Removed, Summary, Told};
use crate::model::state::{RunState, Standing};
use crate::model::stats::ToolStats;

impl Ledger for SqliteStore {
    fn key(&self, scope: Digest, at: Timestamp) -> Result<Option<KeyFound>, StoreFailure> {
        let mut found = self.read(|db| {
            db.prepare_cached(
                "SELECT k.action, k.expires, k.guarded, r.id, r.state, r.lease, r.owner, r.rearms, s.attempts,
                        p.ok, p.body, COALESCE(a.fuel, 0), COALESCE(a.memory, 0), COALESCE(a.effects, 0),
                        COALESCE(a.millis, 0), r.removed, p.trimmed, p.attached,
                        s.cost, r.delivered
                 FROM key k JOIN run r ON r.id = k.run JOIN step s ON s.run = r.id JOIN payload p ON p.id = s.payload
                 LEFT JOIN attempt a ON a.run = r.id AND a.step = s.step AND a.attempt = s.attempts
                 WHERE k.scope = ?1",
            )?
            .query_row(params![scope.0], |row| key_found(row, at))
            .optional()
        })?;
        if let Some(found) = &mut found {
            found.known.orphaned = found.known.state.under_way() && self.gone(found.owner);
        }
        Ok(found)
    }

    fn repeated(&self, guard: &Guard, at: Timestamp) -> Result<Option<RunId>, StoreFailure> {
        self.read(|db| guard::place(db, guard, at).map(|place| place.repeats))
    }

    fn run(&self, run: RunId) -> Result<Option<Record>, StoreFailure> {
        self.read(|db| {
            let record = db
                .prepare_cached(
                    "SELECT r.id, r.state, s.tool, r.caller, s.attempts, r.began, r.ended, s.word, r.user, r.lease, r.owner,
                            k.text, s.action, r.trace, p.input, p.ok, p.body, r.rearms, s.repeat,
                            r.removed, p.input_hash, p.body_hash, p.trimmed, p.attached, p.unshown, s.cost,
                            s.fingerprint, s.cleanup, r.model, r.reason, r.wakes, r.delivered, r.until, r.scene
                     FROM run r JOIN step s ON s.run = r.id JOIN payload p ON p.id = s.payload
                     LEFT JOIN key k ON k.scope = r.key AND k.run = r.id
                     WHERE r.id = ?1",
                )?
                .query_row(params![run.bytes()], record)
                .optional()?;
            record.map(|record| complete(db, record)).transpose()
        })
    }

    fn runs(
        &self,
        range: (RunId, RunId),
        standing: Option<Standing>,
        most: u32,
    ) -> Result<Vec<Summary>, StoreFailure> {
        let narrowed = standing.map(stands).unwrap_or_default();
        let order = match standing {
            Some(Standing::Suspended) => "r.ended, r.id",
            Some(Standing::Running | Standing::Completed | Standing::Failed | Standing::RolledBack)
            | None => "r.id DESC",
        };
        self.read(|db| {
            db.prepare_cached(&format!(
                "SELECT r.id, r.state, s.tool, r.caller, s.attempts, r.began, r.ended, s.word, r.user
                 FROM run r JOIN step s ON s.run = r.id
                 WHERE r.id BETWEEN ?1 AND ?2 {narrowed} ORDER BY {order} LIMIT ?3"
            ))?
            .query_map(params![range.0.bytes(), range.1.bytes(), most], summary)?
            .collect()
        })
    }

    fn traced(&self, trace: &TraceId, most: u32) -> Result<Vec<RunId>, StoreFailure> {
        self.read(|db| survey::traced(db, trace, most))
    }

    fn counted(&self, from: RunId, tools: &ToolPattern) -> Result<Vec<ToolStats>, StoreFailure> {
        self.read(|db| survey::counted(db, from, tools))
    }

    fn costs(&self, from: RunId, by: Option<By>) -> Result<Costs, StoreFailure> {
        self.read(|db| survey::costs(db, from, by))
    }

    fn budgets(&self, day: Day) -> Result<Vec<(Budget, Sums)>, StoreFailure> {
        self.read(|db| budgets::of_day(db, day))
    }

    fn refused(&self, trace: &TraceId, most: u32) -> Result<Vec<Refused>, StoreFailure> {
        self.read(|db| refused::of(db, trace, most))
    }

    fn unfinished(&self) -> Result<Vec<(RunId, ProcessId)>, StoreFailure> {
        self.read(|db| {
            db.prepare_cached(&format!("SELECT id, owner FROM run WHERE ({UNDER_WAY}) AND owner <> ?1"))?
                .query_map(params![ProcessId::NOBODY.0], |row| {
                    Ok((RunId::from_bytes(row.get(0)?), ProcessId(row.get(1)?)))
                })?
                .collect()
        })
    }

    fn kept(&self, run: RunId) -> Result<Kept, StoreFailure> {
        self.read(|db| {
            let texts = db
                .prepare_cached(
                    "SELECT p.whole, p.output FROM step s JOIN payload p ON p.id = s.payload WHERE s.run = ?1",
                )?
                .query_row(params![run.bytes()], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()?;
            let (whole, output) = texts.unwrap_or_default();
            Ok(Kept { whole, output, attachments: attachments::of(db, run, Way::Given)? })
        })
    }

    fn brought(&self, run: RunId) -> Result<Vec<Attachment>, StoreFailure> {
        self.read(|db| attachments::of(db, run, Way::Brought))
    }

    fn changes(&self, run: RunId) -> Result<Vec<Recorded>, StoreFailure> {
        self.read(|db| changes::of(db, run))
    }

    fn answers(&self, run: RunId) -> Result<Vec<(u32, u32, Answered)>, StoreFailure> {
        self.read(|db| answers::of(db, run))
    }

    fn contents(&self, run: RunId) -> Result<u64, StoreFailure> {
        self.read(|db| changes::size(db, run))
    }

    fn value(&self, plugin: &str, key: &str) -> Result<Option<Vec<u8>>, StoreFailure> {
        self.read(|db| staged::value(db, plugin, key))
    }

    fn value_keys(
        &self,
        plugin: &str,
        prefix: &str,
        after: Option<&str>,
        most: usize,
    ) -> Result<Vec<String>, StoreFailure> {
        self.read(|db| staged::keys(db, plugin, prefix, after, most))
    }

    fn room(&self, plugin: &str, key: &str) -> Result<Room, StoreFailure> {
        self.read(|db| staged::room(db, plugin, key))
    }

    fn health(&self, tool: &ToolName, origins: &[String]) -> Result<Vec<(String, Health)>, StoreFailure> {
        self.read(|db| health::of(db, tool, origins))
    }

    fn ill(&self) -> Result<Vec<(ToolName, String, Health)>, StoreFailure> {
        self.read(health::all)
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

/// The runs that a process drives: by an index, which is used where the condition stands as it does there.
pub(super) const UNDER_WAY: &str = "state = 'running' OR state = 'backing_off' OR state = 'rolling_back'";

/// The condition of standing so. States that few runs are in have an index each, which is used where the condition
/// stands as it does in the index.
pub(super) fn stands(standing: Standing) -> String {
    let words: Vec<String> = standing.states().map(|state| format!("'{}'", state.word())).collect();
    let one = format!("AND r.state IN ({})", words.join(", "));
    match standing {
        Standing::Running => format!("AND r.id IN (SELECT id FROM run WHERE {UNDER_WAY})"),
        Standing::Completed => one,
        Standing::Failed | Standing::Suspended | Standing::RolledBack => {
            format!("{one} AND r.state NOT IN ('running', 'completed')")
        }
    }
}

fn key_found(row: &Row<'_>, at: Timestamp) -> rusqlite::Result<KeyFound> {
    let expires: Option<i64> = row.get(1)?;
    let guarded: Option<i64> = row.get(2)?;
    let removed: Option<i64> = row.get(15)?;
    let run = RunId::from_bytes(row.get(3)?);
    let state = word(row, 4, RunState::from_word)?;
    let known = Known {
        action: Digest(row.get(0)?),
        state,
        rearms: row.get(7)?,
        orphaned: false,
        // A clock that goes back brings no text back that is gone.
        expired: removed.is_some() || expires.is_some_and(|expires| expires < at.0),
        guarded: guarded.is_none_or(|guarded| guarded >= at.0),
    };
    Ok(KeyFound {
        known,
        run,
        lease: Lease { run, number: unsigned(row, 5)? },
        owner: ProcessId(row.get(6)?),
        attempts: row.get(8)?,
        stored: stored(row, 9, 16)?,
        usage: usage(row, 11, 18)?,
        undelivered: row.get::<_, Option<bool>>(19)? == Some(false),
    })
}

fn usage(row: &Row<'_>, first: usize, cost: usize) -> rusqlite::Result<Usage> {
    Ok(Usage {
        fuel: unsigned(row, first)?,
        memory: unsigned(row, first + 1)?,
        effects: row.get(first + 2)?,
        time: std::time::Duration::from_millis(unsigned(row, first + 3)?),
        cost: unsigned(row, cost)?,
    })
}

fn stored(row: &Row<'_>, first: usize, beside: usize) -> rusqlite::Result<Option<Stored>> {
    let ok: Option<bool> = row.get(first)?;
    let body: Option<String> = row.get(first + 1)?;
    let (trimmed, attached) = (json(row, beside)?, row.get(beside + 1)?);
    Ok(ok.zip(body).map(|(ok, body)| Stored { ok, body, trimmed, attached }))
}

/// What was written down as JSON.
fn json<T: serde::de::DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<T>> {
    let text: Option<String> = row.get(column)?;
    let read = text.map(|text| serde_json::from_str(&text)).transpose();
    read.map_err(|error| rusqlite::Error::FromSqlConversionFailure(column, Type::Text, error.into()))
}

fn summary(row: &Row<'_>) -> rusqlite::Result<Summary> {
    let code: Option<String> = row.get(7)?;
    Ok(Summary {
        run: RunId::from_bytes(row.get(0)?),
        state: word(row, 1, RunState::from_word)?,
        tool: word(row, 2, |text| text.parse::<ToolName>().ok())?,
        caller: CallerName(row.get(3)?),
        user: user(row, 8)?,
        attempts: row.get(4)?,
        began: Timestamp(row.get(5)?),
        ended: row.get::<_, Option<i64>>(6)?.map(Timestamp),
        code: code.filter(|code| code != "ok"),
    })
}

fn record(row: &Row<'_>) -> rusqlite::Result<Record> {
    let summary = summary(row)?;
    let removed = removed(row, 19)?;
    Ok(Record {
        lease: Lease { run: summary.run, number: unsigned(row, 9)? },
        summary,
        owner: ProcessId(row.get(10)?),
        key: row.get(11)?,
        action: Digest(row.get(12)?),
        repeat: word(row, 18, Repeat::from_word)?,
        trace: TraceId(row.get(13)?),
        told: Told { model: row.get(28)?, reason: row.get(29)? },
        wakes: row.get::<_, Option<i64>>(30)?.map(Timestamp),
        background: driving::background(row, 32)?,
        input: if removed.is_none() { Some(row.get(14)?) } else { None },
        stored: stored(row, 15, 22)?,
        unshown: json(row, 24)?.unwrap_or_default(),
        removed,
        fingerprint: row.get(26)?,
        cleanup: row.get::<_, Option<String>>(27)?.as_deref().and_then(Cleanup::from_word),
        rearms: row.get(17)?,
        undelivered: row.get::<_, Option<bool>>(31)? == Some(false),
        usage: Usage { cost: unsigned(row, 25)?, ..Usage::default() },
        attempts: Vec::new(),
        effects: Vec::new(),
        late: Vec::new(),
        costs: Vec::new(),
        saved: None,
        events: Vec::new(),
    })
}

fn user(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<UserName>> {
    let named: Option<String> = row.get(column)?;
    named.map(|_| word(row, column, |text| text.parse().ok())).transpose()
}

fn removed(row: &Row<'_>, first: usize) -> rusqlite::Result<Option<Removed>> {
    let Some(at) = row.get(first)? else { return Ok(None) };
    let result = row.get::<_, Option<[u8; 32]>>(first + 2)?.map(Digest);
    Ok(Some(Removed { at: Timestamp(at), input: Digest(row.get(first + 1)?), result }))
}

fn complete(db: &Connection, mut record: Record) -> rusqlite::Result<Record> {
    let id = record.lease.run.bytes();
    let mut attempts = db.prepare_cached(
        "SELECT attempt, began, ended, word, plugin, fuel, memory, log, effects, millis, does, undone FROM attempt
         WHERE run = ?1 ORDER BY attempt",
    )?;
    let mut rows = attempts.query(params![id])?;
    while let Some(row) = rows.next()? {
        let does = word(row, 10, Does::from_word)?;
        let usage = Usage {
            fuel: unsigned(row, 5)?,
            memory: unsigned(row, 6)?,
            effects: row.get(8)?,
            time: std::time::Duration::from_millis(unsigned(row, 9)?),
            cost: record.usage.cost,
        };
        if does == Does::Call {
            record.usage = usage;
        }
        record.attempts.push(Attempt {
            attempt: row.get(0)?,
            began: Timestamp(row.get(1)?),
            ended: row.get::<_, Option<i64>>(2)?.map(Timestamp),
            outcome: row.get(3)?,
            does,
            undone: json(row, 11)?,
            plugin_digest: Digest(row.get(4)?),
            fuel: usage.fuel,
            memory_bytes: usage.memory,
            log: row.get(7)?,
        });
    }
    record.effects = db
        .prepare_cached(
            "SELECT attempt, ordinal, repeat, method, target, request, key, state, status, said FROM effect
             WHERE run = ?1 ORDER BY attempt, ordinal",
        )?
        .query_map(params![id], |row| {
            let effect = effect(row)?;
            let said = row.get::<_, Option<String>>(9)?.and_then(|said| EffectState::from_word(&said));
            record.late.extend(said.and_then(|said| Late::of(&effect, said)));
            Ok(effect)
        })?
        .collect::<rusqlite::Result<_>>()?;
    record.events = db
        .prepare_cached("SELECT at, event, person FROM event WHERE run = ?1 ORDER BY number")?
        .query_map(params![id], |row| {
            Ok(Happened { at: Timestamp(row.get(0)?), event: row.get(1)?, by: row.get(2)? })
        })?
        .collect::<rusqlite::Result<_>>()?;
    record.costs = staged::costs(db, record.lease.run)?;
    record.saved = staged::saved(db, record.lease.run)?;
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

pub(super) fn unsigned(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(column).map(i64::cast_unsigned)
}

pub(super) fn word<T>(row: &Row<'_>, column: usize, read: impl Fn(&str) -> Option<T>) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    read(&text).ok_or_else(|| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, format!("unknown word: {text}").into())
    })
}
