//! A store whose reader is late: between a key and the run behind it, others go on.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
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

/// A store that reads the first run only once it is let.
pub(super) struct Late {
    inner: Arc<dyn Store>,
    held: Mutex<Option<(Sender<()>, Receiver<()>)>>,
}

/// The other end.
pub(super) struct Holder {
    came: Receiver<()>,
    goes: Sender<()>,
}

impl Late {
    pub(super) fn over(inner: Arc<dyn Store>) -> (Arc<Self>, Holder) {
        let ((comes, came), (goes, go)) = (channel(), channel());
        (Arc::new(Self { inner, held: Mutex::new(Some((comes, go))) }), Holder { came, goes })
    }
}

impl Holder {
    /// Waits until somebody is about to read a run.
    pub(super) fn wait(&self) {
        self.came.recv().unwrap();
    }

    /// Lets it be read.
    pub(super) fn let_go(self) {
        self.goes.send(()).unwrap();
    }
}

impl Ledger for Late {
    fn key(&self, scope: Digest, at: Timestamp) -> Result<Option<KeyFound>, StoreFailure> {
        self.inner.key(scope, at)
    }

    fn repeated(&self, guard: &Guard, at: Timestamp) -> Result<Option<RunId>, StoreFailure> {
        self.inner.repeated(guard, at)
    }

    fn run(&self, run: RunId) -> Result<Option<Record>, StoreFailure> {
        let held = self.held.lock().unwrap().take();
        if let Some((comes, go)) = held {
            comes.send(()).unwrap();
            go.recv().unwrap();
        }
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

    fn traced(&self, trace: &TraceId, most: u32) -> Result<Vec<RunId>, StoreFailure> {
        self.inner.traced(trace, most)
    }

    fn counted(&self, from: RunId, tools: &ToolPattern) -> Result<Vec<ToolStats>, StoreFailure> {
        self.inner.counted(from, tools)
    }

    fn health(&self, tool: &ToolName, origins: &[String]) -> Result<Vec<(String, Health)>, StoreFailure> {
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

impl Journal for Late {
    fn reserve(&self, new: NewRun) -> Pending<Reserved> {
        self.inner.reserve(new)
    }

    fn record(&self, new: NewRun, end: End) -> Pending<Reserved> {
        self.inner.record(new, end)
    }

    fn take(&self, take: Take) -> Pending<Taken> {
        self.inner.take(take)
    }

    fn intend(&self, lease: Lease, effect: Effect, change: Option<Change>, at: Timestamp) -> Pending<bool> {
        self.inner.intend(lease, effect, change, at)
    }

    fn outcome(&self, run: RunId, outcome: Outcome) -> Pending<()> {
        self.inner.outcome(run, outcome)
    }

    fn save(&self, lease: Lease, saved: Vec<u8>) -> Pending<bool> {
        self.inner.save(lease, saved)
    }

    fn rest(&self, lease: Lease, rest: Rest) -> Pending<Rested> {
        self.inner.rest(lease, rest)
    }

    fn hear(&self, reports: Reports) -> Pending<Result<(), NoRetry>> {
        self.inner.hear(reports)
    }

    fn ask(&self, ask: Ask) -> Pending<Asked> {
        self.inner.ask(ask)
    }

    fn force(&self, force: Force) -> Pending<()> {
        self.inner.force(force)
    }

    fn settle(&self, lease: Lease, end: End) -> Pending<bool> {
        self.inner.settle(lease, end)
    }

    fn decide(&self, decided: Decided) -> Pending<bool> {
        self.inner.decide(decided)
    }

    fn roll_back(&self, lease: Lease, end: RollbackEnd) -> Pending<bool> {
        self.inner.roll_back(lease, end)
    }

    fn note(&self, lease: Lease, event: Event, at: Timestamp) -> Pending<Option<Lease>> {
        self.inner.note(lease, event, at)
    }

    fn delivered(&self, run: RunId) -> Pending<()> {
        self.inner.delivered(run)
    }

    fn refuse(&self, refused: Refused) -> Pending<()> {
        self.inner.refuse(refused)
    }

    fn sweep(&self, at: Timestamp, payloads: Duration, most: u32) -> Pending<u32> {
        self.inner.sweep(at, payloads, most)
    }
}

impl Driving for Late {
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
