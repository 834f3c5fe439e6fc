//! What calls are made with: one set for a host.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use tokio::sync::{Notify, OnceCell, Semaphore};

use super::admit::Places;
use crate::config::Config;
use crate::model::clock::Clock;
use crate::model::id::{ProcessId, RunId, TraceId};
use crate::model::secret::Mask;
use crate::plugin::Registry;
use crate::sandbox::Engine;
use crate::sandbox::capability::http::Egress;
use crate::store::Store;

/// The most runs on their way to the store with nobody waiting: beyond it, calls wait as if they had a key.
const UNWAITED: usize = 4096;

/// What calls are made with.
pub struct Parts {
    /// What the operator decided.
    pub config: Config,
    /// Where guests run.
    pub engine: Engine,
    /// Tools, once they are loaded.
    pub registry: OnceCell<Registry>,
    /// What outlives the process.
    pub store: Arc<dyn Store>,
    /// What tells the time.
    pub clock: Arc<dyn Clock>,
    /// The way out.
    pub egress: Egress,
    /// Whose turn it is.
    pub places: Places,
    /// Values that never leave.
    pub mask: Mask,
    /// Runs that this process drives at this moment, and how many calls are at each: all but one find that they lost.
    driven: Mutex<HashMap<RunId, u32>>,
    /// Where ids come from: seeded by the system once, which is slow to ask.
    random: Mutex<StdRng>,
    /// Bounds the runs that are recorded without being waited for.
    pub unwaited: Arc<Semaphore>,
    /// Told whenever a run of this process ends.
    pub ended: Notify,
}

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Parts")
    }
}

/// A run that this process drives, until this is dropped.
#[derive(Debug)]
pub struct Driven {
    parts: Arc<Parts>,
    run: RunId,
}

impl Parts {
    /// Puts the parts together.
    pub fn new(
        config: Config,
        engine: Engine,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        egress: Egress,
    ) -> Self {
        Self {
            places: Places::new(&config.limits),
            mask: Mask::of(&config.secrets),
            registry: OnceCell::new(),
            driven: Mutex::default(),
            random: Mutex::new(StdRng::from_seed(seed())),
            unwaited: Arc::new(Semaphore::new(UNWAITED)),
            ended: Notify::new(),
            config,
            engine,
            store,
            clock,
            egress,
        }
    }

    /// Marks a run as driven by this process.
    pub fn drive(self: &Arc<Self>, run: RunId) -> Driven {
        *self.lock().entry(run).or_default() += 1;
        Driven { parts: Arc::clone(self), run }
    }

    /// Whether this process drives the run.
    pub fn drives(&self, run: RunId) -> bool {
        self.lock().contains_key(&run)
    }

    /// Whether nobody drives a run of this owner: its process is gone, or it is this one and no call of it is at it.
    pub fn abandoned(&self, run: RunId, owner: ProcessId) -> bool {
        if owner == self.store.process() { !self.drives(run) } else { self.store.gone(owner) }
    }

    /// An id for a run that begins now.
    pub fn new_run(&self) -> RunId {
        RunId::new(self.clock.now(), self.random())
    }

    /// A trace for a call that brings none.
    pub fn new_trace(&self) -> TraceId {
        TraceId::new(self.random())
    }

    fn random<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.random.lock().unwrap_or_else(PoisonError::into_inner).fill_bytes(&mut bytes);
        bytes
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RunId, u32>> {
        self.driven.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Driven {
    fn drop(&mut self) {
        let mut driven = self.parts.lock();
        if let Entry::Occupied(mut calls) = driven.entry(self.run) {
            *calls.get_mut() -= 1;
            if *calls.get() == 0 {
                calls.remove();
            }
        }
        drop(driven);
        self.parts.ended.notify_waiters();
    }
}

/// Random bytes of the system; where it has none, ids would repeat, so nothing goes on.
fn seed() -> [u8; 32] {
    let mut seed = [0; 32];
    assert!(getrandom::fill(&mut seed).is_ok(), "the system gives no random bytes");
    seed
}
