//! Drives a run in the background as far as one attempt goes: what may be done is looked at anew, for much may have changed.

use std::sync::Arc;

use super::queue::Queued;
use super::recall::LOOK;
use super::shape::{self, Call};
use super::{Parts, Request, Turn, settle};
use crate::model::classify::Ended;
use crate::model::failure::{Failure, Kind};
use crate::model::id::{ProcessId, RunId};
use crate::model::key::Known;
use crate::model::limits::{AttemptTime, Limit, Says};
use crate::model::run::Record;
use crate::model::state::RunState;
use crate::store::{KeyFound, StoreFailure};

/// Takes up a run that waits, where its time is not over. Whoever else took it first has it, and nothing is done here.
///
/// # Errors
/// Where the store cannot be used: the run waits on.
pub async fn drive(parts: &Arc<Parts>, run: RunId) -> Result<(), StoreFailure> {
    let Some(record) = parts.store.run(run)?.filter(waits) else { return Ok(()) };
    let _driven = parts.drive(run);
    let _under_way = parts.enter();
    let request = Request::of(parts, &record)?;
    let call = Call::begin(parts, &request);
    let now = parts.clock.now();
    if now >= Queued::of(&record).over(parts) {
        let time = call.setting().config.limits.background;
        let late = Limit::Time(AttemptTime { time, says: Says::Background(time) });
        return settle::unbegun(parts, &record, &call, Ended::Limit(late)).await;
    }
    match super::stages(parts, &request, &call, Some(found(&record))).await {
        Ok(finished) => {
            shape::reply(parts, &call, &finished);
            Ok(())
        }
        // What was begun has been written down, or is met again under its lease.
        Err(Turn::Refuse(failure)) if call.has_run() => {
            shape::refusal(parts, &call, &failure);
            Ok(())
        }
        Err(Turn::Refuse(failure)) => refused(parts, &record, &call, failure).await,
        Err(Turn::Rests(_) | Turn::Again | Turn::Replay(_)) => Ok(()),
    }
}

/// Whether nobody is at the run, and whoever drives those may be.
fn waits(record: &Record) -> bool {
    let waits = record.summary.state == RunState::BackingOff && record.owner == ProcessId::NOBODY;
    waits && record.background.is_some()
}

/// The run, as its key would find it.
fn found(record: &Record) -> KeyFound {
    let summary = &record.summary;
    KeyFound {
        known: Known {
            action: record.action,
            state: summary.state,
            rearms: false,
            orphaned: false,
            expired: false,
            guarded: true,
        },
        run: summary.run,
        lease: record.lease,
        owner: record.owner,
        attempts: summary.attempts,
        usage: record.usage,
        stored: None,
        undelivered: record.undelivered,
    }
}

/// What becomes of a run that may not begin its attempt: where that can pass it waits, and else it ends.
async fn refused(
    parts: &Arc<Parts>,
    record: &Record,
    call: &Call,
    failure: Failure,
) -> Result<(), StoreFailure> {
    let passes = matches!(failure.kind, Kind::Transient | Kind::Throttled) || !failure.retry_after.is_zero();
    if !passes {
        return settle::unbegun(parts, record, call, Ended::Declared(failure)).await;
    }
    let policy = call.setting().config.retries_in_background;
    let jitter = policy.pause(1, parts.number()).max(LOOK);
    // A backend that an operator holds shut is asked after from time to time.
    let wait = if failure.retry_after.is_zero() { policy.cap } else { failure.retry_after };
    let now = parts.clock.now();
    let wakes = now.plus(wait + jitter).min(Queued::of(record).over(parts));
    tracing::debug!(run = %record.summary.run, code = %failure.code, "put off: {}", failure.message);
    parts.store.put_off(record.lease, wakes, now).await
}
