//! A store that fails at chosen writes of calls, over a real one that does the work.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use airlock::model::attachment::Attachment;
use airlock::model::budget::{Budget, Day, Sums};
use airlock::model::caller::ToolPattern;
use airlock::model::change::{Change, Recorded};
use airlock::model::clock::Timestamp;
use airlock::model::costs::{By, Costs};
use airlock::model::effect::{Answered, Effect};
use airlock::model::guard::Guard;
use airlock::model::health::{Health, NoRetry, Reports};
use airlock::model::id::{Digest, ProcessId, RunId, ToolName, TraceId};
use airlock::model::refused::Refused;
use airlock::model::run::{Lease, Record, Summary};
use airlock::model::state::{Event, Standing};
use airlock::model::stats::ToolStats;
use airlock::store::{
    Ask, Asked, Decided, Driving, End, Force, Held, Journal, Kept, KeyFound, Ledger, NewRun, Outcome,
    Pending, Reserved, Rest, Rested, RollbackEnd, Room, Store, StoreFailure, Take, Taken,
};

/// What happens to a write that fails; whoever asked for it is told the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Nothing of it is written.
    Refused,
    /// It is written, and nobody hears of it.
    Unheard,
}

/// Which writes fail, counted from 1 where the plan is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// This one.
    Only(usize),
    /// This one and all that follow.
    From(usize),
}

/// A store that fails where it is told to. Reads work, and so does the removal of old keys, which is no call's.
pub struct Flaky {
    inner: Arc<dyn Store>,
    plan: Mutex<Plan>,
}

#[derive(Debug, Default)]
struct Plan {
    failing: Option<(When, Way)>,
    writes: Vec<&'static str>,
    backends_read: u32,
}

impl std::fmt::Debug for Flaky {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Flaky").field("plan", &self.plan).finish_non_exhaustive()
    }
}

impl Flaky {
    /// A store that works, until it is told to fail.
    pub fn over(inner: Arc<dyn Store>) -> Arc<Self> {
        Arc::new(Self { inner, plan: Mutex::default() })
    }

    /// Makes the writes from now on fail so, and counts them from 1.
    pub fn fail(&self, when: When, way: Way) {
        *self.lock() = Plan { failing: Some((when, way)), ..Plan::default() };
    }

    /// Works again, and counts from 1.
    pub fn heal(&self) {
        *self.lock() = Plan::default();
    }

    /// The names of the writes since the plan was made, those that failed included.
    pub fn writes(&self) -> Vec<&'static str> {
        self.lock().writes.clone()
    }

    /// How often it was asked how backends stand, since the plan was made.
    pub fn backends_read(&self) -> u32 {
        self.lock().backends_read
    }

    fn lock(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().expect("no thread panics while it holds the plan")
    }

    fn write<T: Send + 'static>(
        &self,
        name: &'static str,
        submit: impl FnOnce(&dyn Store) -> Pending<T>,
    ) -> Pending<T> {
        let mut plan = self.lock();
        plan.writes.push(name);
        let number = plan.writes.len();
        let way = plan.failing.and_then(|(when, way)| when.meets(number).then_some(way));
        drop(plan);
        let full = || StoreFailure::Full(PathBuf::from("airlock.db"));
        match way {
            None => submit(&*self.inner),
            Some(Way::Refused) => Box::pin(async move { Err(full()) }),
            Some(Way::Unheard) => {
                let written = submit(&*self.inner);
                Box::pin(async move {
                    written.await?;
                    Err(full())
                })
            }
        }
    }
}

impl When {
    fn meets(self, number: usize) -> bool {
        match self {
            Self::Only(only) => number == only,
            Self::From(first) => number >= first,
        }
    }
}

impl Journal for Flaky {
    fn reserve(&self, new: NewRun) -> Pending<Reserved> {
        self.write("reserve", |store| store.reserve(new))
    }

    fn record(&self, new: NewRun, end: End) -> Pending<Reserved> {
        self.write("record", |store| store.record(new, end))
    }

    fn take(&self, take: Take) -> Pending<Taken> {
        self.write("take", |store| store.take(take))
    }

    fn intend(&self, lease: Lease, effect: Effect, change: Option<Change>, at: Timestamp) -> Pending<bool> {
        self.write("intend", |store| store.intend(lease, effect, change, at))
    }

    fn outcome(&self, run: RunId, outcome: Outcome) -> Pending<()> {
        self.write("outcome", |store| store.outcome(run, outcome))
    }

    fn save(&self, lease: Lease, saved: Vec<u8>) -> Pending<bool> {
        self.write("save", |store| store.save(lease, saved))
    }

    fn rest(&self, lease: Lease, rest: Rest) -> Pending<Rested> {
        self.write("rest", |store| store.rest(lease, rest))
    }

    fn hear(&self, reports: Reports) -> Pending<Result<(), NoRetry>> {
        self.write("hear", |store| store.hear(reports))
    }

    fn ask(&self, ask: Ask) -> Pending<Asked> {
        self.write("ask", |store| store.ask(ask))
    }

    fn force(&self, force: Force) -> Pending<()> {
        self.write("force", |store| store.force(force))
    }

    fn settle(&self, lease: Lease, end: End) -> Pending<bool> {
        self.write("settle", |store| store.settle(lease, end))
    }

    fn decide(&self, decided: Decided) -> Pending<bool> {
        self.write("decide", |store| store.decide(decided))
    }

    fn roll_back(&self, lease: Lease, end: RollbackEnd) -> Pending<bool> {
        self.write("roll_back", |store| store.roll_back(lease, end))
    }

    fn note(&self, lease: Lease, event: Event, at: Timestamp) -> Pending<Option<Lease>> {
        self.write("note", |store| store.note(lease, event, at))
    }

    fn delivered(&self, run: RunId) -> Pending<()> {
        self.write("delivered", |store| store.delivered(run))
    }

    fn refuse(&self, refused: Refused) -> Pending<()> {
        self.inner.refuse(refused)
    }

    fn sweep(&self, at: Timestamp, payloads: Duration, most: u32) -> Pending<u32> {
        self.inner.sweep(at, payloads, most)
    }
}

impl Ledger for Flaky {
    fn key(&self, scope: Digest, at: Timestamp) -> Result<Option<KeyFound>, StoreFailure> {
        self.inner.key(scope, at)
    }

    fn repeated(&self, guard: &Guard, at: Timestamp) -> Result<Option<RunId>, StoreFailure> {
        self.inner.repeated(guard, at)
    }

    fn run(&self, run: RunId) -> Result<Option<Record>, StoreFailure> {
        self.inner.run(run)
    }

    fn runs(
        &self,
        range: (RunId, RunId),
        standing: Option<Standing>,
        most: u32,
    ) -> Result<Vec<Summary>, StoreFailure> {
        self.inner.runs(range, standing, most)
    }

    fn traced(&self, trace: &TraceId, most: u32) -> Result<Vec<RunId>, StoreFailure> {
        self.inner.traced(trace, most)
    }

    fn counted(&self, from: RunId, tools: &ToolPattern) -> Result<Vec<ToolStats>, StoreFailure> {
        self.inner.counted(from, tools)
    }

    fn costs(&self, from: RunId, by: Option<By>) -> Result<Costs, StoreFailure> {
        self.inner.costs(from, by)
    }

    fn budgets(&self, day: Day) -> Result<Vec<(Budget, Sums)>, StoreFailure> {
        self.inner.budgets(day)
    }

    fn refused(&self, trace: &TraceId, most: u32) -> Result<Vec<Refused>, StoreFailure> {
        self.inner.refused(trace, most)
    }

    fn unfinished(&self) -> Result<Vec<(RunId, ProcessId)>, StoreFailure> {
        self.inner.unfinished()
    }

    fn kept(&self, run: RunId) -> Result<Kept, StoreFailure> {
        self.inner.kept(run)
    }

    fn brought(&self, run: RunId) -> Result<Vec<Attachment>, StoreFailure> {
        self.inner.brought(run)
    }

    fn changes(&self, run: RunId) -> Result<Vec<Recorded>, StoreFailure> {
        self.inner.changes(run)
    }

    fn answers(&self, run: RunId) -> Result<Vec<(u32, u32, Answered)>, StoreFailure> {
        self.inner.answers(run)
    }

    fn contents(&self, run: RunId) -> Result<u64, StoreFailure> {
        self.inner.contents(run)
    }

    fn value(&self, plugin: &str, key: &str) -> Result<Option<Vec<u8>>, StoreFailure> {
        self.inner.value(plugin, key)
    }

    fn value_keys(
        &self,
        plugin: &str,
        prefix: &str,
        after: Option<&str>,
        most: usize,
    ) -> Result<Vec<String>, StoreFailure> {
        self.inner.value_keys(plugin, prefix, after, most)
    }

    fn room(&self, plugin: &str, key: &str) -> Result<Room, StoreFailure> {
        self.inner.room(plugin, key)
    }

    fn health(&self, tool: &ToolName, origins: &[String]) -> Result<Vec<(String, Health)>, StoreFailure> {
        self.lock().backends_read += 1;
        self.inner.health(tool, origins)
    }

    fn ill(&self) -> Result<Vec<(ToolName, String, Health)>, StoreFailure> {
        self.inner.ill()
    }

    fn secret(&self) -> [u8; 32] {
        self.inner.secret()
    }

    fn process(&self) -> ProcessId {
        self.inner.process()
    }

    fn gone(&self, process: ProcessId) -> bool {
        self.inner.gone(process)
    }
}

impl Driving for Flaky {
    fn due(&self, now: Timestamp, by: Timestamp, most: u32) -> Result<Vec<(RunId, Timestamp)>, StoreFailure> {
        self.inner.due(now, by, most)
    }

    fn put_off(&self, lease: Lease, wakes: Timestamp, at: Timestamp) -> Pending<()> {
        self.inner.put_off(lease, wakes, at)
    }

    fn renew(&self) -> Pending<()> {
        self.inner.renew()
    }

    fn held(&self) -> Result<Vec<Held>, StoreFailure> {
        self.inner.held()
    }

    fn work(&self) -> Result<(), StoreFailure> {
        self.inner.work()
    }

    fn is_worked(&self) -> bool {
        self.inner.is_worked()
    }
}
