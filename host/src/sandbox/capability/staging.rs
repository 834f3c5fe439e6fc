//! What one attempt sets aside for its end, and what it reads of what is kept; shared by its guest and the host.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::model::budget::Bound;
use crate::model::classify::Ended;
use crate::model::run::Lease;
use crate::model::staged::{Cost, Staged};
use crate::store::{Store, StoreFailure};

/// What a guest is told; or why the attempt must end, which it never sees.
pub(crate) type Told<T> = Result<Result<T, String>, Ended>;

/// What a guest is told when it asks for something that its end can no longer carry.
pub(super) const OVER: &str = "the attempt is over";

/// What an attempt sets aside.
pub struct Staging {
    pub(super) store: Arc<dyn Store>,
    pub(super) lease: Lease,
    pub(super) bounds: Bounds,
    inner: Mutex<Inner>,
}

/// What bounds it.
#[derive(Debug, Clone)]
pub struct Bounds {
    /// The attempt, from 1.
    pub attempt: u32,
    /// The plugin whose values it reads and sets.
    pub plugin: String,
    /// How much that plugin may keep, in bytes.
    pub room: u64,
    /// What earlier attempts of the call spent.
    pub spent: u64,
    /// What the call may spend in all; anything where absent.
    pub cost: Option<Bound>,
    /// Whether there can be a next attempt that finds what this one saves.
    pub saves: bool,
}

#[derive(Debug, Default)]
pub(super) struct Inner {
    /// Changes by key.
    pub(super) changes: BTreeMap<String, Change>,
    /// The size of all changes.
    pub(super) changed: u64,
    /// What the changes put in the place of what is kept, and how much of that they put away.
    pub(super) after: u64,
    pub(super) before: u64,
    /// Costs by what they are for.
    pub(super) costs: BTreeMap<String, u64>,
    /// What this attempt cost.
    pub(super) spent: u64,
    pub(super) saved: Option<Vec<u8>>,
    /// What it saved last, wherever that was written.
    pub(super) latest: Option<Vec<u8>>,
    /// How often it saved.
    pub(super) saves: u32,
    pub(super) closed: bool,
}

/// A change of one value.
#[derive(Debug)]
pub(super) struct Change {
    /// None where the key goes.
    pub(super) value: Option<Vec<u8>>,
    /// What stood under the key, in bytes of key and value.
    pub(super) before: u64,
}

impl std::fmt::Debug for Staging {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Staging")
    }
}

impl Staging {
    /// Nothing yet. A lease with the number 0 is that of a run which is written when it ends.
    pub fn new(store: Arc<dyn Store>, lease: Lease, bounds: Bounds) -> Arc<Self> {
        Arc::new(Self { store, lease, bounds, inner: Mutex::default() })
    }

    /// Takes nothing more, and gives what there is.
    pub fn close(&self) -> Staged {
        let mut inner = self.lock();
        inner.closed = true;
        let cost = |(what, micros)| Cost {
            attempt: self.bounds.attempt,
            category: crate::model::staged::Category::Tool,
            what,
            micros,
            tokens: None,
        };
        let changes = std::mem::take(&mut inner.changes);
        Staged {
            plugin: self.bounds.plugin.clone(),
            values: changes.into_iter().map(|(key, change)| (key, change.value)).collect(),
            costs: std::mem::take(&mut inner.costs).into_iter().map(cost).collect(),
            saved: inner.saved.take(),
            unsaved: Vec::new(),
        }
    }

    /// What it saved last for the attempt that follows.
    pub fn latest(&self) -> Option<Vec<u8>> {
        self.lock().latest.clone()
    }

    /// Reads of the store, away from the threads of guests.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&dyn Store) -> Result<T, StoreFailure> + Send + 'static,
    ) -> Result<T, Ended> {
        let store = Arc::clone(&self.store);
        match tokio::task::spawn_blocking(move || read(&*store)).await {
            Ok(Ok(found)) => Ok(found),
            Ok(Err(failure)) => Err(Ended::StoreFailed(failure.to_string())),
            Err(_) => Err(Ended::Trapped("a host function panicked".to_owned())),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
