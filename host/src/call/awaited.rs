//! What became of a run, for the caller who asked for it: waited for while it goes on, and told to nobody else.

use std::sync::Arc;
use std::time::Duration;

use super::recall::LOOK;
use super::shape::{self, Call};
use super::{Parts, Turn, recover};
use crate::model::code;
use crate::model::failure::{Failure, Kind};
use crate::model::id::{CallerName, RunId, UserName};
use crate::model::reply::Reply;
use crate::model::run::Record;

/// The result of a run; `STILL_RUNNING` where it has none within this time.
pub async fn awaited(
    parts: &Arc<Parts>,
    caller: &CallerName,
    user: Option<&UserName>,
    run: &str,
    wait: Duration,
) -> Reply {
    let mut call = Call::of(parts, parts.new_trace());
    match result(parts, &mut call, (caller, user), run, wait).await {
        Ok(replay) | Err(Turn::Replay(replay)) => shape::replay(parts, &call, &replay),
        Err(Turn::Refuse(failure)) => shape::refusal(parts, &call, &failure),
        Err(Turn::Again | Turn::Rests(_)) => {
            shape::refusal(parts, &call, &Failure::internal("a run to be asked for again"))
        }
    }
}

async fn result(
    parts: &Arc<Parts>,
    call: &mut Call,
    (caller, user): (&CallerName, Option<&UserName>),
    run: &str,
    wait: Duration,
) -> Result<Box<super::recall::Replay>, Turn> {
    let id: RunId = run.parse().map_err(|_| Turn::Refuse(unknown(run)))?;
    let patience = parts.clock.steady() + wait;
    loop {
        // Registered before looking, so that an end in between is not missed.
        let ended = parts.ended.notified();
        let record = parts.store.run(id).map_err(|failure| super::recall::unavailable(&failure))?;
        // A call that only reads has no record before its end.
        let own = match &record {
            Some(Record { summary, .. }) => summary.caller == *caller && summary.user.as_ref() == user,
            None => parts.drives_for(id, caller, user),
        };
        if !own {
            return Err(Turn::Refuse(unknown(run)));
        }
        if let Some(record) = record {
            call.belongs_to(&record.trace);
            if !record.summary.state.under_way() {
                let replay = super::recall::Replay::of(&record).ok_or_else(|| Turn::Refuse(gone(id)))?;
                return Ok(Box::new(replay));
            }
            if parts.abandoned(id, record.owner) {
                recover::close(parts, id).await.map_err(|failure| super::recall::unavailable(&failure))?;
                continue;
            }
        }
        let left = patience.saturating_sub(parts.clock.steady());
        if left.is_zero() {
            return Err(Turn::Refuse(running(id)));
        }
        let _ = tokio::time::timeout(LOOK.min(left), ended).await;
    }
}

pub(super) fn unknown(run: &str) -> Failure {
    let run: String = run.chars().filter(|letter| !letter.is_control()).take(64).collect();
    let text = format!("there is no such run of this caller: {run}");
    Failure::new(Kind::InvalidInput, code::INVALID_INPUT, text)
}

/// The refusal for a run whose result was removed.
pub(super) fn gone(run: RunId) -> Failure {
    let text = format!("the result of the run is no longer kept: {run}");
    Failure::new(Kind::InvalidInput, code::INVALID_INPUT, text)
}

/// The reply to who has waited long enough for a call of its own; the call goes on.
pub async fn waiting(parts: &Parts, call: &Call) -> Reply {
    // Before there is a run, the stages bound their waiting themselves.
    let run = call.run().await;
    shape::refusal(parts, call, &running(run))
}

/// The same for a call that is left to the background.
pub(super) fn queued(run: RunId) -> Failure {
    let text = format!("the call is made in the background, as run {run}");
    Failure::new(Kind::Waiting, code::STILL_RUNNING, text).with_detail("run", run.to_string())
}

/// The failure that is none: the call goes on without its caller.
pub(super) fn running(run: RunId) -> Failure {
    let text = format!("the call is still running, in run {run}");
    Failure::new(Kind::Waiting, code::STILL_RUNNING, text).with_detail("run", run.to_string())
}
