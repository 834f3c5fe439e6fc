//! How tools stand with origins: read before an attempt, written with its end.

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::super::{Ask, Asked, Force};
use crate::model::breaker::Answer;
use crate::model::health::{Health, NoRetry, Reports};
use crate::model::id::ToolName;
use crate::model::retry::Tokens;

/// The most origins of one tool that are kept: under a pattern they are whatever its requests name.
const MOST: u32 = 256;

/// Of one tool and these origins, each where anything went wrong of late.
pub(super) fn of(
    db: &Connection,
    tool: &ToolName,
    origins: &[String],
) -> rusqlite::Result<Vec<(String, Health)>> {
    let mut found = Vec::new();
    for origin in origins {
        found.extend(find(db, tool, origin)?.map(|health| (origin.clone(), health)));
    }
    Ok(found)
}

/// Of every tool, each origin where anything went wrong of late.
pub(super) fn all(db: &Connection) -> rusqlite::Result<Vec<(ToolName, String, Health)>> {
    let read = |row: &Row<'_>| {
        let tool: String = row.get(0)?;
        let tool = tool.parse().map_err(|_| {
            rusqlite::Error::FromSqlConversionFailure(0, Type::Text, format!("no tool: {tool}").into())
        })?;
        Ok((tool, row.get(1)?, health(row, 2)?))
    };
    db.prepare_cached("SELECT tool, origin, breaker, tokens FROM health ORDER BY tool, origin")?
        .query_map([], read)?
        .collect()
}

/// Takes note of what an attempt tells; of nothing where a retry was to be paid for and may not be.
pub(super) fn hear(tx: &Connection, reports: &Reports) -> rusqlite::Result<Result<(), NoRetry>> {
    let Reports { tool, by, policy, list, at } = reports;
    let mut heard = Vec::new();
    for report in list {
        let mut health = one(tx, tool, &report.origin)?;
        if let Err(why) = health.hear(report, *by, policy, *at) {
            return Ok(Err(why));
        }
        heard.push((report.origin.as_str(), health));
    }
    for (origin, health) in heard {
        write(tx, tool, origin, &health)?;
    }
    Ok(Ok(()))
}

/// Asks whether an attempt may begin, and keeps its place where it is the one that tries.
pub(super) fn ask(tx: &Connection, ask: &Ask) -> rusqlite::Result<Asked> {
    let Ask { tool, origins, by, until, at } = ask;
    let (mut changed, mut tries) = (Vec::new(), Vec::new());
    for origin in origins {
        let before = one(tx, tool, origin)?;
        let mut health = before.clone();
        match health.breaker.ask(*by, *until, *at) {
            Answer::Pass => {}
            Answer::Probe => tries.push(origin.clone()),
            Answer::Refuse(over) => {
                // A clock that was set back moves the end; the places of other origins are not taken.
                if health != before {
                    write(tx, tool, origin, &health)?;
                }
                return Ok(Asked::Refused { origin: origin.clone(), until: over });
            }
        }
        if health != before {
            changed.push((origin, health));
        }
    }
    for (origin, health) in changed {
        write(tx, tool, origin, &health)?;
    }
    Ok(Asked::Passes { tries })
}

/// Writes down what an operator says.
pub(super) fn force(tx: &Connection, force: &Force) -> rusqlite::Result<()> {
    for origin in &force.origins {
        let mut health = one(tx, &force.tool, origin)?;
        health.breaker.forced = force.forced;
        write(tx, &force.tool, origin, &health)?;
    }
    Ok(())
}

fn one(tx: &Connection, tool: &ToolName, origin: &str) -> rusqlite::Result<Health> {
    find(tx, tool, origin).map(Option::unwrap_or_default)
}

fn find(db: &Connection, tool: &ToolName, origin: &str) -> rusqlite::Result<Option<Health>> {
    db.prepare_cached("SELECT breaker, tokens FROM health WHERE tool = ?1 AND origin = ?2")?
        .query_row(params![tool.to_string(), origin], |row| health(row, 0))
        .optional()
}

fn health(row: &Row<'_>, first: usize) -> rusqlite::Result<Health> {
    let text: String = row.get(first)?;
    let breaker = serde_json::from_str(&text)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(first, Type::Text, error.into()))?;
    Ok(Health { breaker, tokens: Tokens { left: row.get(first + 1)? } })
}

fn write(tx: &Connection, tool: &ToolName, origin: &str, health: &Health) -> rusqlite::Result<()> {
    if health.is_clear() {
        tx.prepare_cached("DELETE FROM health WHERE tool = ?1 AND origin = ?2")?
            .execute(params![tool.to_string(), origin])?;
        return Ok(());
    }
    let breaker = serde_json::to_string(&health.breaker)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
    tx.prepare_cached(
        "INSERT INTO health (tool, origin, breaker, tokens) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (tool, origin) DO UPDATE SET breaker = ?3, tokens = ?4",
    )?
    .execute(params![tool.to_string(), origin, breaker, health.tokens.left])?;
    let kept: u32 = tx
        .prepare_cached("SELECT count(*) FROM health WHERE tool = ?1")?
        .query_row(params![tool.to_string()], |row| row.get(0))?;
    if kept > MOST { forget(tx, tool, origin) } else { Ok(()) }
}

/// Forgets the origin of this tool, but for one, of which nothing was heard for longest; what an operator said stays.
fn forget(tx: &Connection, tool: &ToolName, but: &str) -> rusqlite::Result<()> {
    let known: Vec<(String, Health)> = tx
        .prepare_cached("SELECT origin, breaker, tokens FROM health WHERE tool = ?1 AND origin != ?2")?
        .query_map(params![tool.to_string(), but], |row| Ok((row.get(0)?, health(row, 1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let left = known.iter().filter(|(_, health)| health.breaker.forced.is_none());
    let Some((origin, _)) = left.min_by_key(|(_, health)| health.breaker.latest()) else { return Ok(()) };
    tx.prepare_cached("DELETE FROM health WHERE tool = ?1 AND origin = ?2")?
        .execute(params![tool.to_string(), origin])?;
    Ok(())
}
