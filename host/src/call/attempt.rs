//! Runs the tool once, and waits for what it set going.

use std::sync::Arc;

use super::Parts;
use super::checkpoint::Started;
use super::parts::Driven;
use super::reserve::{Held, Hold};
use super::validate::Valid;
use crate::model::classify::Ended;
use crate::model::clock::Timestamp;
use crate::model::effect::Effect;
use crate::model::id::RunId;
use crate::model::reply::Usage;
use crate::model::run::Lease;
use crate::plugin::Entry;
use crate::sandbox::attempt::{Attempt, Context, Sitting};
use crate::sandbox::capability::effects::Effects;
use crate::sandbox::capability::secrets::{derived, derived_bytes};
use crate::sandbox::logbook::Logbook;
use crate::sandbox::threads::Group;
use crate::store::Outcome;

/// A call whose attempt has ended, with nothing under way.
#[derive(Debug)]
pub struct Tried {
    ran: Ran,
}

/// What an attempt consists of once it has ended.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) valid: Valid,
    pub(super) hold: Hold,
    pub(super) attempt: u32,
    pub(super) ended: Ended,
    pub(super) usage: Usage,
    pub(super) log: Logbook,
    pub(super) effects: Vec<Effect>,
    pub(super) outcomes: Vec<Outcome>,
    pub(super) driven: Driven,
}

impl Tried {
    /// Takes it apart for the stage that follows.
    pub(super) fn into_ran(self) -> Ran {
        self.ran
    }
}

/// Runs the attempt. The place is given back when the guest has ended; its effects are waited for all the same.
pub(super) async fn attempt(parts: &Arc<Parts>, started: Started) -> Tried {
    let Held { valid, place, hold, attempt, earlier, sitting, driven } = started.into_held();
    let entry = Arc::clone(valid.fresh().authorized().resolved().tool());
    let log = Logbook::new(parts.config.limits.log);
    let effects = journal(parts, &hold, attempt, earlier);
    let clock = parts.clock.steady();
    let prepared = prepare(parts, &valid, &entry, hold.run(), attempt, sitting, &effects, &log);
    let finished = parts.engine.attempt(prepared).await;
    drop(place);
    // A guest whose time is over may still be in its last slice: nothing that it begins now is let through.
    effects.close().await;
    let ended = checked(&entry, effects.stopped().unwrap_or(finished.ended)).await;
    let usage = Usage { time: parts.clock.steady().saturating_sub(clock), ..finished.usage };
    let (all, outcomes) = (effects.all(), effects.outcomes());
    Tried { ran: Ran { valid, hold, attempt, ended, usage, log, effects: all, outcomes, driven } }
}

fn journal(parts: &Parts, hold: &Hold, attempt: u32, earlier: Vec<Effect>) -> Arc<Effects> {
    let lease = match hold {
        Hold::Leased(lease) => *lease,
        // A run that is not written yet has no lease; what it reads needs none.
        Hold::Unwritten(new) => Lease { run: new.run, number: 0 },
    };
    Effects::new(lease, attempt, parts.store.secret(), earlier, parts.config.limits.requests)
}

#[expect(clippy::too_many_arguments, reason = "each is one fact of the attempt, told once")]
fn prepare(
    parts: &Parts,
    valid: &Valid,
    entry: &Entry,
    run: RunId,
    attempt: u32,
    start: Timestamp,
    effects: &Arc<Effects>,
    log: &Logbook,
) -> Attempt {
    let resolved = valid.fresh().authorized().resolved();
    let secret = parts.store.secret();
    let mut limits = parts.config.limits.clone();
    limits.attempt = entry.attempt;
    Attempt {
        prepared: entry.prepared.clone(),
        tool: entry.tool.name.clone(),
        grants: Arc::clone(&entry.grants),
        input: valid.input().to_owned(),
        context: Context {
            run: run.to_string(),
            attempt,
            key: derived(&secret, &[b"call", &run.bytes()]),
            caller: resolved.caller().name.0.clone(),
            trace: resolved.trace().0.clone(),
        },
        effects: Arc::clone(effects),
        egress: parts.egress.clone(),
        sitting: entry
            .grants
            .keyed()
            .then(|| Sitting { seed: derived_bytes(&secret, &[b"seed", &run.bytes()]), start }),
        group: Group::of(&entry.name.plugin, &resolved.caller().name.0),
        log: log.clone(),
        limits,
    }
}

/// Output beyond this is checked away from the threads that serve: a schema may make that long.
const LONG: usize = 16 << 10;

async fn checked(entry: &Arc<Entry>, ended: Ended) -> Ended {
    let long = matches!(&ended, Ended::Replied(text) if text.len() > LONG);
    if !long {
        return check_output(entry, ended);
    }
    let (owned, patience) = (Arc::clone(entry), entry.attempt);
    let checking = tokio::task::spawn_blocking(move || check_output(&owned, ended));
    match tokio::time::timeout(patience, checking).await {
        Ok(Ok(ended)) => ended,
        Ok(Err(_)) => Ended::BadOutput("checking the output failed".to_owned()),
        Err(_) => Ended::BadOutput(format!("checking the output took longer than {patience:?}")),
    }
}

fn check_output(entry: &Entry, ended: Ended) -> Ended {
    let Ended::Replied(text) = &ended else { return ended };
    let value: serde_json::Value = match serde_json::from_str(text) {
        Ok(value @ serde_json::Value::Object(_)) => value,
        Ok(_) => return Ended::BadOutput("the output is no JSON object".to_owned()),
        Err(error) => return Ended::BadOutput(format!("the output is no JSON: {error}")),
    };
    match entry.output.as_ref().map(|schema| schema.check_output(&value)) {
        None | Some(Ok(())) => ended,
        Some(Err(faults)) => {
            Ended::BadOutput(format!("the output is not as declared: {}", faults.join("; ")))
        }
    }
}
