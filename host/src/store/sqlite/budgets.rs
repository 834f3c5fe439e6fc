//! Sums of budgets: held before a call and settled after it, inside the transactions that begin and end its run.

use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::super::Charge;
use super::read::unsigned;
use super::staged;
use super::write::STEP;
use crate::model::budget::{Budget, Day, Hold, MOST_SUM, Short, Sums};
use crate::model::clock::Timestamp;
use crate::model::id::{CallerName, NotAUser, RunId, UserName};
use crate::model::run::Lease;

/// Whose call it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Of<'a> {
    pub(super) caller: &'a CallerName,
    pub(super) user: Option<&'a UserName>,
}

/// Whether a run holds anything when it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Holds(pub(super) bool);

impl Of<'_> {
    /// The budgets that the call is of, the widest first.
    fn budgets(self) -> impl Iterator<Item = Budget> {
        let caller = Budget::Caller(self.caller.clone());
        let user = self.user.map(|user| Budget::User(self.caller.clone(), user.clone()));
        [Budget::All, caller].into_iter().chain(user)
    }
}

/// Whether a call may hold what it asks for: it is looked at inside the transaction that then holds it.
pub(super) fn fits(
    tx: &Connection,
    of: Of<'_>,
    hold: &Hold,
    at: Timestamp,
) -> rusqlite::Result<Option<Short>> {
    let day = Day::of(at);
    for (budget, limit) in of.budgets().zip(hold.days) {
        let sums = sums(tx, day, &budget)?;
        if !sums.fits(hold.micros, limit) {
            let limit = limit.unwrap_or(MOST_SUM);
            return Ok(Some(Short { budget, limit, sums, asked: hold.micros }));
        }
    }
    Ok(None)
}

/// Holds what fits, and says so at the run, which must be there.
fn hold(tx: &Connection, run: RunId, of: Of<'_>, hold: &Hold, at: Timestamp) -> rusqlite::Result<()> {
    if hold.micros == 0 {
        return Ok(());
    }
    let day = Day::of(at);
    for budget in of.budgets() {
        let sums = sums(tx, day, &budget)?.hold(hold.micros);
        put(tx, day, &budget, sums)?;
    }
    tx.prepare_cached("UPDATE run SET held = ?2, held_on = ?3 WHERE id = ?1")?.execute(params![
        run.bytes(),
        hold.micros.cast_signed(),
        day.0
    ])?;
    Ok(())
}

/// Enters what was spent by a call that holds nothing.
pub(super) fn spend(tx: &Connection, of: Of<'_>, micros: u64, at: Timestamp) -> rusqlite::Result<()> {
    change(tx, of, Day::of(at), (0, micros))
}

/// Enters what a run spent, on the day of which it holds something, and gives back what it holds; all of it, or as much
/// as it spent where it goes on.
pub(super) fn settle(
    tx: &Connection,
    run: RunId,
    spent: u64,
    goes_on: bool,
    at: Timestamp,
) -> rusqlite::Result<()> {
    let (held, held_on): (u64, Option<i64>) = tx
        .prepare_cached("SELECT held, held_on FROM run WHERE id = ?1")?
        .query_row(params![run.bytes()], |row| Ok((unsigned(row, 0)?, row.get(1)?)))?;
    let (caller, user) = asker(tx, run)?;
    let day = held_on.filter(|_| held > 0).map_or(Day::of(at), Day);
    let given_back = if goes_on { spent.min(held) } else { held };
    change(tx, Of { caller: &caller, user: user.as_ref() }, day, (given_back, spent))?;
    if given_back > 0 {
        tx.prepare_cached("UPDATE run SET held = held - ?2 WHERE id = ?1")?
            .execute(params![run.bytes(), given_back.cast_signed()])?;
    }
    Ok(())
}

/// Settles a run that ends, where there is anything to settle.
pub(super) fn end(
    tx: &Connection,
    run: RunId,
    holds: Holds,
    spent: u64,
    at: Timestamp,
) -> rusqlite::Result<()> {
    if holds.0 || spent > 0 { settle(tx, run, spent, false, at) } else { Ok(()) }
}

/// Whether a run may be taken that asks for this: what it held before is given back first. None where its lease is lost.
pub(super) fn may_take(
    tx: &Connection,
    lease: Lease,
    hold: &Hold,
    at: Timestamp,
) -> rusqlite::Result<Option<Result<(), Short>>> {
    let found = tx
        .prepare_cached("SELECT held FROM run WHERE id = ?1 AND lease = ?2")?
        .query_row(params![lease.run.bytes(), lease.number.cast_signed()], |row| unsigned(row, 0))
        .optional()?;
    let Some(held) = found else { return Ok(None) };
    if held > 0 {
        settle(tx, lease.run, 0, false, at)?;
    }
    let (caller, user) = asker(tx, lease.run)?;
    let short = fits(tx, Of { caller: &caller, user: user.as_ref() }, hold, at)?;
    Ok(Some(short.map_or(Ok(()), Err)))
}

/// Charges a run that begins an attempt: what its agent's model cost, and what it holds.
pub(super) fn charge(
    tx: &Connection,
    run: RunId,
    of: Of<'_>,
    charge: &Charge,
    at: Timestamp,
) -> rusqlite::Result<()> {
    if let Some(cost) = &charge.model {
        staged::enter(tx, run, STEP, staged::before(tx, run, STEP, cost.attempt)?, cost)?;
        spend(tx, of, cost.micros, at)?;
    }
    charge.hold.as_ref().map_or(Ok(()), |asked| hold(tx, run, of, asked, at))
}

/// Who asked for a run, and for whom.
pub(super) fn asker(db: &Connection, run: RunId) -> rusqlite::Result<(CallerName, Option<UserName>)> {
    db.prepare_cached("SELECT caller, user FROM run WHERE id = ?1")?.query_row(params![run.bytes()], |row| {
        let user: Option<String> = row.get(1)?;
        Ok((CallerName(row.get(0)?), user.as_deref().map(named).transpose()?))
    })
}

fn change(tx: &Connection, of: Of<'_>, day: Day, (given_back, spent): (u64, u64)) -> rusqlite::Result<()> {
    if given_back == 0 && spent == 0 {
        return Ok(());
    }
    for budget in of.budgets() {
        let sums = sums(tx, day, &budget)?.settle(given_back, spent);
        put(tx, day, &budget, sums)?;
    }
    Ok(())
}

/// What is spent and held of one budget on one day.
fn sums(db: &Connection, day: Day, budget: &Budget) -> rusqlite::Result<Sums> {
    let (caller, user) = columns(budget);
    let sums = db
        .prepare_cached("SELECT spent, held FROM budget WHERE day = ?1 AND caller = ?2 AND user = ?3")?
        .query_row(params![day.0, caller, user], |row| {
            Ok(Sums { spent: unsigned(row, 0)?, held: unsigned(row, 1)? })
        })
        .optional()?;
    Ok(sums.unwrap_or_default())
}

fn put(tx: &Connection, day: Day, budget: &Budget, sums: Sums) -> rusqlite::Result<()> {
    let (caller, user) = columns(budget);
    tx.prepare_cached(
        "INSERT INTO budget (day, caller, user, spent, held) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (day, caller, user) DO UPDATE SET spent = ?4, held = ?5",
    )?
    .execute(params![day.0, caller, user, sums.spent.cast_signed(), sums.held.cast_signed()])?;
    Ok(())
}

fn columns(budget: &Budget) -> (&str, &str) {
    match budget {
        Budget::All => ("", ""),
        Budget::Caller(caller) => (&caller.0, ""),
        Budget::User(caller, user) => (&caller.0, user.as_str()),
    }
}

/// Removes sums of days before this one, but for those of which something is held, at most so many; gives how many went.
pub(super) fn let_go(tx: &Connection, day: Day, most: u32) -> rusqlite::Result<usize> {
    tx.prepare_cached(
        "DELETE FROM budget WHERE (day, caller, user) IN
             (SELECT day, caller, user FROM budget WHERE day < ?1 AND held = 0 LIMIT ?2)",
    )?
    .execute(params![day.0, most])
}

/// What is spent and held of every budget on one day, as far as anything is.
pub(super) fn of_day(db: &Connection, day: Day) -> rusqlite::Result<Vec<(Budget, Sums)>> {
    let read = |row: &Row<'_>| {
        let (caller, user): (String, String) = (row.get(0)?, row.get(1)?);
        let budget = match (caller.is_empty(), user.is_empty()) {
            (true, _) => Budget::All,
            (false, true) => Budget::Caller(CallerName(caller)),
            (false, false) => Budget::User(CallerName(caller), named(&user)?),
        };
        Ok((budget, Sums { spent: unsigned(row, 2)?, held: unsigned(row, 3)? }))
    };
    db.prepare_cached("SELECT caller, user, spent, held FROM budget WHERE day = ?1")?
        .query_map(params![day.0], read)?
        .collect()
}

fn named(user: &str) -> rusqlite::Result<UserName> {
    user.parse().map_err(|none: NotAUser| {
        rusqlite::Error::FromSqlConversionFailure(1, rusqlite::types::Type::Text, none.to_string().into())
    })
}
