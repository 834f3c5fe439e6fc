//! What calls are made with: one set for a host.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use tokio::sync::{Notify, Semaphore, watch};

use super::Setting;
use super::admit::Places;
use super::leases::Leases;
use super::loops::Loops;
use super::tally::Tallies;
use crate::model::caller::Asker;
use crate::model::clock::{Clock, Jumps, Timestamp};
use crate::model::id::{CallerName, ProcessId, RunId, TraceId, UserName};
use crate::sandbox::Engine;
use crate::sandbox::capability::files::Files;
use crate::store::Store;

/// The most runs on their way to the store with nobody waiting: beyond it, calls wait as if they had a key.
const UNWAITED: usize = 4096;

/// What calls are made with.
pub struct Parts {
    /// What holds for calls that begin now.
    setting: watch::Sender<Arc<Setting>>,
    /// Where guests run.
    pub engine: Arc<Engine>,
    /// What outlives the process.
    pub store: Arc<dyn Store>,
    /// What tells the time.
    pub clock: Arc<dyn Clock>,
    /// What carries out work on files.
    pub files: Files,
    /// What went well of late, until it is told.
    pub tallies: Tallies,
    /// Whose turn it is.
    pub places: Places,
    /// Runs that this process drives at this moment, and how many calls are at each: all but one find that they lost.
    driven: Mutex<HashMap<RunId, Driving>>,
    /// Where ids come from: seeded by the system once, which is slow to ask.
    random: Mutex<StdRng>,
    /// Bounds the runs that are recorded without being waited for.
    pub unwaited: Arc<Semaphore>,
    /// Told whenever a run of this process ends.
    pub ended: Notify,
    /// What conversations do again and again.
    pub loops: Loops,
    /// Told whenever this process leaves a call to the background.
    pub queued: Notify,
    /// What is seen of the runs that other processes are at.
    pub leases: Leases,
    /// When the wall clock jumped.
    jumps: Mutex<Jumps>,
    /// Runs whose results are on their way to whoever asked.
    delivering: Mutex<HashSet<RunId>>,
    /// How many calls are under way.
    calls: watch::Sender<usize>,
}

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Parts")
    }
}

/// How a run is driven.
#[derive(Debug, Default)]
struct Driving {
    calls: u32,
    /// Who asked for it, and for whom, where this process made it.
    asked: Option<(CallerName, Option<UserName>)>,
}

/// A run that this process drives, until this is dropped.
#[derive(Debug)]
pub struct Driven {
    parts: Arc<Parts>,
    run: RunId,
}

/// A call under way.
#[derive(Debug)]
pub struct UnderWay(Arc<Parts>);

impl Parts {
    /// Puts the parts together, on the runtime that this is called on.
    pub fn new(setting: Setting, engine: Arc<Engine>, store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        Self {
            places: Places::new(&setting.config.limits),
            files: Files::new(tokio::runtime::Handle::current(), Arc::clone(&store), Arc::clone(&clock)),
            setting: watch::Sender::new(Arc::new(setting)),
            tallies: Tallies::default(),
            driven: Mutex::default(),
            random: Mutex::new(StdRng::from_seed(seed())),
            unwaited: Arc::new(Semaphore::new(UNWAITED)),
            ended: Notify::new(),
            loops: Loops::default(),
            queued: Notify::new(),
            leases: Leases::default(),
            jumps: Mutex::default(),
            delivering: Mutex::default(),
            calls: watch::Sender::new(0),
            engine,
            store,
            clock,
        }
    }

    /// What holds for what begins now.
    pub fn setting(&self) -> Arc<Setting> {
        Arc::clone(&self.setting.borrow())
    }

    /// Puts another setting in place; calls that are under way keep the one that they began with.
    pub fn set(&self, setting: Setting) {
        self.setting.send_replace(Arc::new(setting));
    }

    /// Tells when another setting is put in place.
    pub fn changes(&self) -> watch::Receiver<Arc<Setting>> {
        self.setting.subscribe()
    }

    /// Marks a run as driven by this process.
    pub fn drive(self: &Arc<Self>, run: RunId) -> Driven {
        self.lock().entry(run).or_default().calls += 1;
        Driven { parts: Arc::clone(self), run }
    }

    /// Marks a run that this process makes as driven by it, for who asks.
    pub fn drive_new(self: &Arc<Self>, run: RunId, asker: &Asker) -> Driven {
        let asked = (asker.caller().clone(), asker.user().cloned());
        self.lock().insert(run, Driving { calls: 1, asked: Some(asked) });
        Driven { parts: Arc::clone(self), run }
    }

    /// Whether this process made the run, for this caller and its user, and drives it.
    pub fn drives_for(&self, run: RunId, caller: &CallerName, user: Option<&UserName>) -> bool {
        let driven = self.lock();
        let asked = driven.get(&run).and_then(|driving| driving.asked.as_ref());
        asked.is_some_and(|(by, for_user)| by == caller && for_user.as_ref() == user)
    }

    /// Whether this process drives the run.
    pub fn drives(&self, run: RunId) -> bool {
        self.lock().contains_key(&run)
    }

    /// Whether nobody drives a run of this owner: its process is gone or asleep, or it is this one and no call of it is at
    /// it.
    pub fn abandoned(&self, run: RunId, owner: ProcessId) -> bool {
        self.lapsed_or_own(run, owner) || (owner != self.store.process() && self.store.gone(owner))
    }

    /// The same, where it is not asked whether the process is gone.
    pub(super) fn lapsed_or_own(&self, run: RunId, owner: ProcessId) -> bool {
        if owner == self.store.process() { !self.drives(run) } else { self.leases.lapsed(run, owner) }
    }

    /// Whether this process is at any run.
    pub fn is_driving(&self) -> bool {
        !self.lock().is_empty()
    }

    /// Looks at the clocks, as often as a jump of one is to be told from time that passes.
    pub fn look_at_clocks(&self) {
        let (now, steady) = (self.clock.now(), self.clock.steady());
        self.jumps.lock().unwrap_or_else(PoisonError::into_inner).look(now, steady);
    }

    /// When the wall clock will show that the time from one moment to another is over.
    pub fn over(&self, from: Timestamp, until: Timestamp) -> Timestamp {
        self.look_at_clocks();
        self.jumps.lock().unwrap_or_else(PoisonError::into_inner).over(from, until)
    }

    /// Takes note that the result of a run is on its way to whoever asked.
    pub fn delivering(&self, run: RunId) {
        self.delivering.lock().unwrap_or_else(PoisonError::into_inner).insert(run);
    }

    /// Whether it is, or has arrived so lately that this is not written down yet.
    pub fn is_delivering(&self, run: RunId) -> bool {
        self.delivering.lock().unwrap_or_else(PoisonError::into_inner).contains(&run)
    }

    /// Writes down that it has arrived.
    pub async fn delivered(&self, run: RunId) {
        // Where it is not written down, the result is given once more.
        let _ = self.store.delivered(run).await;
        self.delivering.lock().unwrap_or_else(PoisonError::into_inner).remove(&run);
    }

    /// Counts a call that is under way, until what this gives is dropped.
    pub fn enter(self: &Arc<Self>) -> UnderWay {
        self.calls.send_modify(|calls| *calls += 1);
        UnderWay(Arc::clone(self))
    }

    /// Waits until no call is under way.
    pub async fn quiet(&self) {
        let _ = self.calls.subscribe().wait_for(|calls| *calls == 0).await;
    }

    /// An id for a run that begins now.
    pub fn new_run(&self) -> RunId {
        RunId::new(self.clock.now(), self.random())
    }

    /// A trace for a call that brings none.
    pub fn new_trace(&self) -> TraceId {
        TraceId::new(self.random())
    }

    /// Any number.
    pub fn number(&self) -> u64 {
        u64::from_le_bytes(self.random())
    }

    fn random<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        self.random.lock().unwrap_or_else(PoisonError::into_inner).fill_bytes(&mut bytes);
        bytes
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RunId, Driving>> {
        self.driven.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Driven {
    fn drop(&mut self) {
        let mut driven = self.parts.lock();
        if let Entry::Occupied(mut calls) = driven.entry(self.run) {
            calls.get_mut().calls -= 1;
            if calls.get().calls == 0 {
                calls.remove();
            }
        }
        drop(driven);
        self.parts.ended.notify_waiters();
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.calls.send_modify(|calls| *calls -= 1);
    }
}

/// Random bytes of the system; where it has none, ids would repeat, so nothing goes on.
fn seed() -> [u8; 32] {
    let mut seed = [0; 32];
    assert!(getrandom::fill(&mut seed).is_ok(), "the system gives no random bytes");
    seed
}
