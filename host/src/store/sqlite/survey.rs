//! Reads over many runs: those of one conversation, and how the calls of tools went.

use std::time::Duration;

use rusqlite::{Connection, params};

use super::read::{unsigned, word};
use super::{refused, staged};
use crate::model::budget::Day;
use crate::model::caller::ToolPattern;
use crate::model::clock::Timestamp;
use crate::model::costs::{self, By, Costs};
use crate::model::id::{RunId, TraceId};
use crate::model::staged::Category;
use crate::model::state::{RunState, Standing};
use crate::model::stats::{Count, Counted, ToolStats};

/// The runs of a trace, in their order.
pub(super) fn traced(db: &Connection, trace: &TraceId, most: u32) -> rusqlite::Result<Vec<RunId>> {
    db.prepare_cached("SELECT id FROM run WHERE trace = ?1 ORDER BY id LIMIT ?2")?
        .query_map(params![trace.0, most], |row| Ok(RunId::from_bytes(row.get(0)?)))?
        .collect()
}

/// What the runs cost that are not before this one; their costs lie in the order of runs.
pub(super) fn costs(db: &Connection, from: RunId, by: Option<By>) -> rusqlite::Result<Costs> {
    let mut count = costs::Count::default();
    let mut query = db.prepare_cached(
        "SELECT c.run, s.tool, r.caller, r.user, r.began, c.category, c.what, c.micros,
                c.input_tokens, c.output_tokens, c.priced
         FROM cost c CROSS JOIN run r ON r.id = c.run CROSS JOIN step s ON s.run = c.run AND s.step = c.step
         WHERE c.run >= ?1",
    )?;
    let mut rows = query.query(params![from.bytes()])?;
    while let Some(row) = rows.next()? {
        let tool = row.get_ref(1)?.as_str()?;
        let (caller, user) = (row.get_ref(2)?.as_str()?, row.get_ref(3)?.as_str_or_null()?);
        let under = match by {
            None => None,
            Some(By::Caller) => Some(caller.to_owned()),
            Some(By::User) => {
                Some(user.map_or_else(|| caller.to_owned(), |user| format!("{user} of {caller}")))
            }
            Some(By::Tool) => Some(tool.to_owned()),
            Some(By::Day) => Some(Day::of(Timestamp(row.get(4)?)).to_string()),
        };
        count.add(costs::Entry {
            run: RunId::from_bytes(row.get(0)?),
            tool,
            under,
            category: word(row, 5, Category::from_word)?,
            what: row.get_ref(6)?.as_str()?,
            micros: unsigned(row, 7)?,
            tokens: staged::tokens(row, 8)?,
        });
    }
    Ok(count.costs())
}

/// How the calls of these tools went whose runs are not before this one. Both tables lie in the order of runs, so that
/// each row is read once, and none is kept.
pub(super) fn counted(db: &Connection, from: RunId, tools: &ToolPattern) -> rusqlite::Result<Vec<ToolStats>> {
    let mut count = Count::of(tools.clone());
    let mut query = db.prepare_cached(
        "SELECT s.tool, r.state, s.word, s.attempts, s.cost, r.began, r.ended
         FROM run r CROSS JOIN step s ON s.run = r.id WHERE r.id >= ?1",
    )?;
    let mut rows = query.query(params![from.bytes()])?;
    while let Some(row) = rows.next()? {
        let state = word(row, 1, RunState::from_word)?;
        let (began, ended): (i64, Option<i64>) = (row.get(5)?, row.get(6)?);
        let millis = ended.map(|ended| u64::try_from(ended.saturating_sub(began)).unwrap_or(0));
        count.add(Counted {
            tool: row.get_ref(0)?.as_str()?,
            state,
            code: row.get_ref(2)?.as_str_or_null()?,
            attempts: row.get(3)?,
            cost: unsigned(row, 4)?,
            took: millis.filter(|_| state.standing() != Standing::Running).map(Duration::from_millis),
        });
    }
    refused::count(db, from, &mut count)?;
    Ok(count.stats())
}
