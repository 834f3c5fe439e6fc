//! What is to be done about a call that is taken back, found out before anything is begun.

use std::sync::Arc;

use super::{named, stands};
use crate::call::look::{self, Room};
use crate::call::past::{self, Past};
use crate::call::{Parts, decide, folders};
use crate::model::change::Recorded;
use crate::model::code;
use crate::model::effect::{Effect, Left, each_once};
use crate::model::failure::Failure;
use crate::model::manifest::Cleanup;
use crate::model::past::Ending;
use crate::model::run::{Does, Record};
use crate::sandbox::logbook::Logbook;

/// What is to be done.
#[derive(Debug)]
pub(super) struct Plan {
    /// About its requests.
    pub(super) way: Way,
    /// Those that stand, or may.
    pub(super) requests: Vec<Effect>,
    /// What it changed in lent folders.
    pub(super) changes: Vec<Recorded>,
}

/// What is to be done about the requests of a call.
#[derive(Debug)]
pub(super) enum Way {
    /// There are none, or they left nothing behind.
    Nothing,
    /// They are left alone, for this reason.
    LeftAlone(Ending, String),
    /// Its plugin undoes them, with this.
    Plugin(Box<Past>, Room),
}

impl Plan {
    /// The requests by name, each once.
    pub(super) fn named(&self) -> Vec<String> {
        each_once(&self.requests).map(named).collect()
    }
}

/// Finds out what is to be done.
///
/// # Errors
/// Where that cannot be told now; nothing was begun.
pub(super) async fn plan(parts: &Arc<Parts>, record: &Record, log: &Logbook) -> Result<Plan, Failure> {
    let changes = parts.store.changes(record.summary.run).map_err(|failure| decide::refusal(&failure))?;
    let is_request = |effect: &&Effect| stands(effect) && !folders::is_change(&changes, effect);
    let requests: Vec<Effect> = record.effects_of(Does::Call).filter(is_request).cloned().collect();
    let way = if requests.is_empty() { Way::Nothing } else { way(parts, record, log).await? };
    Ok(Plan { way, requests, changes })
}

/// The plugin's own way, where it has one, where nothing would be done twice and where nobody has changed since what the
/// call touched.
async fn way(parts: &Arc<Parts>, record: &Record, log: &Logbook) -> Result<Way, Failure> {
    let by_hand = |why: &str| Ok(Way::LeftAlone(Ending::ByHand, why.to_owned()));
    let mut past = match past::read(parts, record) {
        Ok(past) => past,
        Err(failure) => return by_hand(&failure.message),
    };
    past.log = log.clone();
    let declared = past.entry.tool.cleanup;
    match record.cleanup.map_or(declared, |asked| asked.max(declared)) {
        Cleanup::Nothing => return Ok(Way::Nothing),
        Cleanup::Manual => return by_hand("only a person can undo what the tool did"),
        Cleanup::Release | Cleanup::Automatic | Cleanup::Destructive => {}
    }
    if !past.entry.code.prepared().await.map_err(Failure::internal)?.rolls_back() {
        return by_hand("the tool's plugin has no way back");
    }
    let own: Vec<Effect> = record.effects_of(Does::Rollback).cloned().collect();
    if Left::by(&own).once {
        return by_hand(
            "what was tried before did something, or may have, that must not be done twice; look at it, and see to the rest by hand",
        );
    }
    let Some(left) = &record.fingerprint else {
        return by_hand("nothing tells whether somebody has changed since what the call touched");
    };
    match past.state(parts, record).await.map_err(unasked)? {
        Some(now) if now == *left => {}
        Some(_) | None if cut_off(record, &own) => {
            return by_hand(
                "the process that took it back ended in the midst of that, and nothing tells whether what has changed since is its work or somebody else's",
            );
        }
        Some(_) | None => {
            let why = "somebody has changed since what the call touched, so it was left alone";
            return Ok(Way::LeftAlone(Ending::Conflict, why.to_owned()));
        }
    }
    let room = look::room(parts, &past.setting, &past.entry, &record.summary.caller).await?;
    Ok(Way::Plugin(Box::new(past), room))
}

/// Whether what was last done to take the run back was done by a process that did not live to see what came of it.
fn cut_off(record: &Record, own: &[Effect]) -> bool {
    let last = own.iter().rev().find(|effect| stands(effect));
    last.and_then(|effect| record.attempts.iter().find(|attempt| attempt.attempt == effect.attempt))
        .is_some_and(|attempt| attempt.outcome.as_deref() == Some(code::INTERRUPTED))
}

/// Says that nothing was begun.
fn unasked(mut failure: Failure) -> Failure {
    failure.message = format!(
        "nothing was begun, since the state of what the call touched cannot be asked now: {}",
        failure.message
    );
    failure
}
