//! A store that stops its process for ever at one point, so that it can be killed there and nowhere else.

use std::collections::BTreeMap;
use std::future::pending;
use std::io::Write as _;
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
    Ask, Asked, Decided, End, Force, Journal, Kept, KeyFound, Ledger, NewRun, Outcome, Pending, Reserved,
    Rest, Rested, RollbackEnd, Room, SqliteStore, StoreFailure, Take, Taken,
};
use tokio::sync::Notify;

use super::point::{Commit, Point};

mod driving;

/// The store of a process that is to be killed; all it does itself is to count and to stop.
pub struct Halting {
    store: SqliteStore,
    points: Points,
}

impl std::fmt::Debug for Halting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Halting")
    }
}

/// The points that a process passes; clones are the same.
#[derive(Debug, Clone)]
pub struct Points {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    halt: Option<Point>,
    state: Mutex<State>,
    quiet: Notify,
}

#[derive(Debug, Default)]
struct State {
    counts: BTreeMap<Commit, u32>,
    replies: u32,
    under_way: u32,
    /// Nothing passes any more.
    halting: bool,
}

/// What becomes of a write.
enum Entered {
    Passes(u32),
    HaltsBefore(u32),
    IsTooLate,
}

impl Points {
    /// Counts from the beginning, and halts at this point where there is one.
    #[must_use]
    pub fn until(halt: Option<Point>) -> Self {
        Self { inner: Arc::new(Inner { halt, state: Mutex::default(), quiet: Notify::new() }) }
    }

    /// Says something that a caller hears: a reply, acknowledged once it is printed.
    ///
    /// # Panics
    /// If nobody reads.
    pub async fn reply(&self, line: &str) {
        let Some((n, halts)) = self.replied() else { return pending().await };
        tell(line);
        self.passed(Point::Replied(n), halts).await;
    }

    /// Comes back at once, or never where everything stands still.
    pub async fn go_on(&self) {
        if self.lock().halting {
            pending().await
        }
    }

    /// The number of a reply, and whether it is the last; none where everything stands still.
    fn replied(&self) -> Option<(u32, bool)> {
        let mut state = self.lock();
        if state.halting {
            return None;
        }
        state.replies += 1;
        state.halting = self.inner.halt == Some(Point::Replied(state.replies));
        Some((state.replies, state.halting))
    }

    fn enter(&self, commit: Commit) -> Entered {
        let mut state = self.lock();
        if state.halting {
            return Entered::IsTooLate;
        }
        let count = state.counts.entry(commit).or_default();
        *count += 1;
        let n = *count;
        let before = self.inner.halt == Some(Point::Before(commit, n));
        state.halting = before || self.inner.halt == Some(Point::After(commit, n));
        if before {
            return Entered::HaltsBefore(n);
        }
        state.under_way += 1;
        Entered::Passes(n)
    }

    fn leave(&self) {
        self.lock().under_way -= 1;
        self.inner.quiet.notify_waiters();
    }

    /// Waits until what was asked for before is durable, and said.
    pub async fn quiet(&self) {
        loop {
            let quiet = self.inner.quiet.notified();
            if self.lock().under_way == 0 {
                return;
            }
            quiet.await;
        }
    }

    async fn passed(&self, point: Point, halts: bool) {
        tell(&format!("point {point}"));
        if halts {
            tell("halted");
            pending().await
        }
    }

    fn halts_at(&self, point: Point) -> bool {
        self.inner.halt == Some(point)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.inner.state.lock().expect("no thread panics while it counts")
    }
}

/// Prints a line at once.
pub(super) fn tell(line: &str) {
    let mut out = std::io::stdout().lock();
    let told = out.write_all(format!("{line}\n").as_bytes()).and_then(|()| out.flush());
    told.expect("the parent reads");
}

impl Halting {
    /// Wraps a store.
    #[must_use]
    pub fn over(store: SqliteStore, points: Points) -> Self {
        Self { store, points }
    }

    fn pass<T: Send + 'static>(
        &self,
        commit: Commit,
        write: impl FnOnce(&SqliteStore) -> Pending<T>,
    ) -> Pending<T> {
        let points = self.points.clone();
        let n = match self.points.enter(commit) {
            Entered::Passes(n) => n,
            Entered::IsTooLate => return Box::pin(pending()),
            Entered::HaltsBefore(n) => {
                tokio::spawn(async move {
                    points.quiet().await;
                    points.passed(Point::Before(commit, n), true).await;
                });
                return Box::pin(pending());
            }
        };
        tell(&format!("point {}", Point::Before(commit, n)));
        let written = write(&self.store);
        // A task of its own: some writes are not waited for, and their points are passed all the same.
        let task = tokio::spawn(async move {
            let end = written.await;
            let after = Point::After(commit, n);
            points.passed(after, points.halts_at(after)).await;
            points.leave();
            end
        });
        Box::pin(async move {
            match task.await {
                Ok(end) => end,
                // The process ends.
                Err(_) => pending().await,
            }
        })
    }
}

impl Journal for Halting {
    fn reserve(&self, new: NewRun) -> Pending<Reserved> {
        self.pass(Commit::Reserve, |store| store.reserve(new))
    }

    fn record(&self, new: NewRun, end: End) -> Pending<Reserved> {
        self.pass(Commit::Record, |store| store.record(new, end))
    }

    fn take(&self, take: Take) -> Pending<Taken> {
        self.pass(Commit::Take, |store| store.take(take))
    }

    fn intend(&self, lease: Lease, effect: Effect, change: Option<Change>, at: Timestamp) -> Pending<bool> {
        self.pass(Commit::Intend, |store| store.intend(lease, effect, change, at))
    }

    fn outcome(&self, run: RunId, outcome: Outcome) -> Pending<()> {
        self.pass(Commit::Outcome, |store| store.outcome(run, outcome))
    }

    fn save(&self, lease: Lease, saved: Vec<u8>) -> Pending<bool> {
        self.pass(Commit::Save, |store| store.save(lease, saved))
    }

    fn rest(&self, lease: Lease, rest: Rest) -> Pending<Rested> {
        self.pass(Commit::Rest, |store| store.rest(lease, rest))
    }

    fn hear(&self, reports: Reports) -> Pending<Result<(), NoRetry>> {
        self.pass(Commit::Hear, |store| store.hear(reports))
    }

    fn ask(&self, ask: Ask) -> Pending<Asked> {
        self.pass(Commit::Ask, |store| store.ask(ask))
    }

    fn force(&self, force: Force) -> Pending<()> {
        self.pass(Commit::Force, |store| store.force(force))
    }

    fn settle(&self, lease: Lease, end: End) -> Pending<bool> {
        self.pass(Commit::Settle, |store| store.settle(lease, end))
    }

    fn decide(&self, decided: Decided) -> Pending<bool> {
        self.pass(Commit::Decide, |store| store.decide(decided))
    }

    fn roll_back(&self, lease: Lease, end: RollbackEnd) -> Pending<bool> {
        self.pass(Commit::RollBack, |store| store.roll_back(lease, end))
    }

    fn note(&self, lease: Lease, event: Event, at: Timestamp) -> Pending<Option<Lease>> {
        self.pass(Commit::Note, |store| store.note(lease, event, at))
    }

    fn delivered(&self, run: RunId) -> Pending<()> {
        self.pass(Commit::Delivered, |store| store.delivered(run))
    }

    fn refuse(&self, refused: Refused) -> Pending<()> {
        self.store.refuse(refused)
    }

    fn sweep(&self, at: Timestamp, payloads: Duration, most: u32) -> Pending<u32> {
        self.pass(Commit::Sweep, |store| store.sweep(at, payloads, most))
    }
}

impl Ledger for Halting {
    fn key(&self, scope: Digest, at: Timestamp) -> Result<Option<KeyFound>, StoreFailure> {
        self.store.key(scope, at)
    }

    fn repeated(&self, guard: &Guard, at: Timestamp) -> Result<Option<RunId>, StoreFailure> {
        self.store.repeated(guard, at)
    }

    fn run(&self, run: RunId) -> Result<Option<Record>, StoreFailure> {
        self.store.run(run)
    }

    fn runs(
        &self,
        range: (RunId, RunId),
        standing: Option<Standing>,
        most: u32,
    ) -> Result<Vec<Summary>, StoreFailure> {
        self.store.runs(range, standing, most)
    }

    fn traced(&self, trace: &TraceId, most: u32) -> Result<Vec<RunId>, StoreFailure> {
        self.store.traced(trace, most)
    }

    fn counted(&self, from: RunId, tools: &ToolPattern) -> Result<Vec<ToolStats>, StoreFailure> {
        self.store.counted(from, tools)
    }

    fn costs(&self, from: RunId, by: Option<By>) -> Result<Costs, StoreFailure> {
        self.store.costs(from, by)
    }

    fn budgets(&self, day: Day) -> Result<Vec<(Budget, Sums)>, StoreFailure> {
        self.store.budgets(day)
    }

    fn refused(&self, trace: &TraceId, most: u32) -> Result<Vec<Refused>, StoreFailure> {
        self.store.refused(trace, most)
    }

    fn unfinished(&self) -> Result<Vec<(RunId, ProcessId)>, StoreFailure> {
        self.store.unfinished()
    }

    fn kept(&self, run: RunId) -> Result<Kept, StoreFailure> {
        self.store.kept(run)
    }

    fn brought(&self, run: RunId) -> Result<Vec<Attachment>, StoreFailure> {
        self.store.brought(run)
    }

    fn changes(&self, run: RunId) -> Result<Vec<Recorded>, StoreFailure> {
        self.store.changes(run)
    }

    fn answers(&self, run: RunId) -> Result<Vec<(u32, u32, Answered)>, StoreFailure> {
        self.store.answers(run)
    }

    fn contents(&self, run: RunId) -> Result<u64, StoreFailure> {
        self.store.contents(run)
    }

    fn value(&self, plugin: &str, key: &str) -> Result<Option<Vec<u8>>, StoreFailure> {
        self.store.value(plugin, key)
    }

    fn value_keys(
        &self,
        plugin: &str,
        prefix: &str,
        after: Option<&str>,
        most: usize,
    ) -> Result<Vec<String>, StoreFailure> {
        self.store.value_keys(plugin, prefix, after, most)
    }

    fn room(&self, plugin: &str, key: &str) -> Result<Room, StoreFailure> {
        self.store.room(plugin, key)
    }

    fn health(&self, tool: &ToolName, origins: &[String]) -> Result<Vec<(String, Health)>, StoreFailure> {
        self.store.health(tool, origins)
    }

    fn ill(&self) -> Result<Vec<(ToolName, String, Health)>, StoreFailure> {
        self.store.ill()
    }

    fn secret(&self) -> [u8; 32] {
        self.store.secret()
    }

    fn process(&self) -> ProcessId {
        self.store.process()
    }

    fn gone(&self, process: ProcessId) -> bool {
        self.store.gone(process)
    }
}
