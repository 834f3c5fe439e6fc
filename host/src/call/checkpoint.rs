//! The start of an attempt, written down before anything happens.

use std::sync::Arc;

use super::attempt::Ran;
use super::reserve::{Earlier, Held, Hold, Reserved};
use super::retry::Rested;
use super::{Parts, Turn, settle};
use crate::model::clock::Timestamp;
use crate::model::id::Digest;
use crate::model::run::Does;
use crate::model::state::{Event, RunState};
use crate::plugin::Entry;
use crate::store::{Charge, NewAttempt, Take, Taken};

/// A call whose attempt is written down, or, where it only reads, need not be.
#[derive(Debug)]
pub struct Started {
    held: Box<Held>,
}

impl Started {
    /// Takes it apart for the stage that follows.
    pub(super) fn into_held(self) -> Box<Held> {
        self.held
    }
}

/// The checkpoint of an attempt, as the transaction that makes or takes its run writes it.
pub(super) fn attempt(entry: &Entry, attempt: u32, at: Timestamp) -> NewAttempt {
    NewAttempt { attempt, does: Does::Call, plugin: entry.digest, at }
}

/// The checkpoint of an attempt to take a call back, as the transaction that takes its run writes it.
pub(super) fn rollback(plugin: Digest, attempt: u32, at: Timestamp) -> NewAttempt {
    NewAttempt { attempt, does: Does::Rollback, plugin, at }
}

/// Goes on once the checkpoint is durable: `reserve` wrote it with the run.
pub(super) fn start(reserved: Reserved) -> Started {
    Started { held: reserved.into_held() }
}

/// Writes down the attempt that follows one that failed.
pub(super) async fn again(parts: &Arc<Parts>, rested: Rested) -> Result<Started, Turn> {
    let (mut ran, place, prepared) = rested.into_parts();
    let at = parts.clock.now();
    let next = attempt(ran.valid.fresh().authorized().resolved().tool(), ran.attempt + 1, at);
    match &mut ran.hold {
        Hold::Leased(lease) => {
            let (event, owner) = (Event::Retried, parts.store.process());
            let state = RunState::Running;
            let take = Take {
                lease: *lease,
                event,
                state,
                by: None,
                owner,
                at,
                background: None,
                attempt: Some(next),
                charge: Charge::default(),
            };
            match parts.store.take(take).await {
                Ok(Taken::Held(taken)) => *lease = taken,
                // Nothing is asked of budgets that could be too much.
                Ok(Taken::Lost | Taken::Short(_)) => return Err(settle::lost(parts, lease.run)),
                Err(failure) => return Err(settle::unwritten(&ran, &failure)),
            }
        }
        Hold::Unwritten(_) => {
            if let Some(past) = ran.sitting.past.last_mut() {
                past.next = Some(next);
            }
        }
    }
    let Ran { valid, hold, usage, effects, saved, sitting, driven, permit, spent, .. } = *ran;
    let earlier = Earlier { effects, saved, cost: usage.cost, spent };
    let attempt = next.attempt;
    let held = Held { valid, place, prepared, hold, attempt, earlier, sitting, driven, permit };
    Ok(Started { held: Box::new(held) })
}
