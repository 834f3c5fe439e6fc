//! The start of an attempt, written down before anything happens.

use super::reserve::{Held, Reserved};
use crate::model::clock::Timestamp;
use crate::model::id::Digest;
use crate::model::run::Does;
use crate::plugin::Entry;
use crate::store::NewAttempt;

/// A call whose attempt is written down, or, where it only reads, need not be.
#[derive(Debug)]
pub struct Started {
    held: Held,
}

impl Started {
    /// Takes it apart for the stage that follows.
    pub(super) fn into_held(self) -> Held {
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
