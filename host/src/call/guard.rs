//! Keeps an agent that asks again from doing one thing twice: what it asked for before is told, and nothing runs.

use std::sync::Arc;

use serde_json::{Value, json};

use super::recall::{Replay, unavailable};
use super::resolve::Resolved;
use super::{Parts, Turn, probe, recover, validate};
use crate::model::canonical::{self, Fault};
use crate::model::code;
use crate::model::failure::{Failure, Kind};
use crate::model::guard::{self, Guard, REPEAT_OF, held_against};
use crate::model::id::{Digest, RunId};
use crate::model::key::Key;
use crate::model::run::Record;
use crate::model::state::{Reason, RunState};

/// What makes this call the same action as another; `input` is without the host's own field.
pub(super) fn same(resolved: &Resolved, input: &Value) -> Digest {
    let entry = resolved.tool();
    guard::same(&entry.name, &entry.tool.same_action, input, resolved.attachments())
}

/// The call as its conversation sees it; none where it has none, or only reads. One under a key is another call.
pub(super) fn of(resolved: &Resolved, keyed: bool, same: impl FnOnce() -> Digest) -> Option<Guard> {
    let (entry, within) = (resolved.tool(), resolved.setting().config.limits.same_action);
    if entry.tool.reads() || within.is_zero() {
        return None;
    }
    let conversation = resolved.conversation()?;
    let (caller, user) = (resolved.asker().caller(), resolved.asker().user());
    Some(Guard {
        scope: guard::scope(caller, user, conversation, &entry.name.plugin),
        same: same(),
        held: (!keyed && held_against(entry.tool.repeat)).then_some(within),
    })
}

/// Lets a call through that repeats none before it. Else it ends here, with what became of the first.
pub(super) async fn guard(parts: &Arc<Parts>, resolved: &Resolved, guard: &Guard) -> Result<(), Turn> {
    if guard.held.is_none() {
        return Ok(());
    }
    loop {
        let now = parts.clock.now();
        let found = parts.store.repeated(guard, now).map_err(|failure| unavailable(&failure))?;
        let Some(run) = found else { return Ok(()) };
        let record = parts.store.run(run).map_err(|failure| unavailable(&failure))?;
        let Some(record) = record else { return Ok(()) };
        if let Some(turn) = told(parts, resolved, &record).await? {
            return Err(turn);
        }
    }
}

/// What is told of the first; none where it has moved on, and is to be looked at again.
async fn told(parts: &Arc<Parts>, resolved: &Resolved, first: &Record) -> Result<Option<Turn>, Turn> {
    let (run, state) = (first.summary.run, first.summary.state);
    if state.under_way() && parts.abandoned(run, first.owner) {
        recover::close(parts, run).await.map_err(|failure| unavailable(&failure))?;
        return Ok(None);
    }
    if state == RunState::Suspended(Reason::Unknown)
        && probe::settle(parts, run).await.map_err(|failure| unavailable(&failure))?
    {
        return Ok(None);
    }
    Ok(match state {
        RunState::Running | RunState::BackingOff | RunState::RollingBack => Some(Turn::Refuse(running(run))),
        RunState::Completed if !first.undelivered || parts.is_delivering(run) => {
            Some(Turn::Refuse(done(first)))
        }
        // Nobody has heard of it; and of what waits for a person, nobody may ask for a second.
        RunState::Completed | RunState::Suspended(_) => {
            let replay = Replay::of(first).map(|replay| Replay { duplicate: true, ..replay });
            let gone = || Turn::Refuse(Failure::internal(format!("the run has no result: {run}")));
            Some(replay.map_or_else(gone, |replay| Turn::Replay(Box::new(replay))))
        }
        RunState::Failed | RunState::TimedOut | RunState::RolledBack => {
            tracing::debug!(tool = %resolved.tool().name, %run, "what was repeated left nothing behind");
            None
        }
    })
}

/// The key of a call that asks for the same once more, on purpose: it names the run of the first.
pub(super) async fn repeat(
    parts: &Arc<Parts>,
    resolved: &Resolved,
    first: &Value,
    same: Digest,
) -> Result<Key, Turn> {
    let run: Option<RunId> = first.as_str().and_then(|text| text.parse().ok());
    let record = match run {
        Some(run) => parts.store.run(run).map_err(|failure| unavailable(&failure))?,
        None => None,
    };
    let Some(first) = record.filter(|first| repeats(parts, resolved, first, same)) else {
        let text = "names no earlier call of this tool with this input; give the run that an ALREADY_DONE or \
                    ALREADY_RUNNING answer names, or leave it out";
        let fault = Fault { path: format!("/{REPEAT_OF}"), text: text.to_owned() };
        return Err(Turn::Refuse(validate::failure(&resolved.tool().name, &[fault])));
    };
    if let RunState::Suspended(_) = first.summary.state
        && let Some(turn) = told(parts, resolved, &first).await?
    {
        return Err(turn);
    }
    let run = first.summary.run;
    Key::parse(&format!("airlock-repeat-{run}")).map_err(|_| Turn::Refuse(Failure::internal("no key")))
}

/// Whether this call asks for the same action as that one did, for the same caller and user.
fn repeats(parts: &Parts, resolved: &Resolved, first: &Record, same: Digest) -> bool {
    let (asker, entry) = (resolved.asker(), resolved.tool());
    let theirs = first.summary.caller == *asker.caller() && first.summary.user.as_ref() == asker.user();
    if !theirs || first.summary.tool != entry.name {
        return false;
    }
    let limits = &resolved.setting().config.limits;
    let input = first.input.as_deref().and_then(|input| canonical::read(input, limits).ok());
    let (Some(mut input), Ok(brought)) = (input, parts.store.brought(first.summary.run)) else {
        return false;
    };
    guard::take_out(entry.tool.repeat, &mut input);
    guard::same(&entry.name, &entry.tool.same_action, &input, &brought) == same
}

/// The refusal of a call whose repeat was asked for before, with other fields beside those that make it the same.
pub(super) fn repeated(parts: &Parts, run: RunId) -> Turn {
    match parts.store.run(run) {
        Ok(Some(record)) if record.summary.state == RunState::Completed => Turn::Refuse(done(&record)),
        Ok(_) => Turn::Refuse(running(run)),
        Err(failure) => unavailable(&failure),
    }
}

fn done(first: &Record) -> Failure {
    let run = first.summary.run;
    let text = format!(
        "the same call was made before in this conversation, and was done, in run {run}; nothing was run. `first` is \
         its result; {}",
        on_purpose(run)
    );
    let stored = first.stored.as_ref();
    let data: Value = stored.and_then(|stored| serde_json::from_str(&stored.body).ok()).unwrap_or_default();
    Failure::new(Kind::Duplicate, code::ALREADY_DONE, text)
        .with_detail("first", json!({ "ok": true, "data": data }))
        .with_detail("run", run.to_string())
}

fn running(run: RunId) -> Failure {
    let text = format!(
        "the same call was made before in this conversation, and is under way in run {run}; nothing was run. Its \
         result comes there; {}",
        on_purpose(run)
    );
    Failure::new(Kind::Duplicate, code::ALREADY_RUNNING, text).with_detail("run", run.to_string())
}

fn on_purpose(run: RunId) -> String {
    format!("to do it once more on purpose, make the same call with \"{REPEAT_OF}\": \"{run}\"")
}
