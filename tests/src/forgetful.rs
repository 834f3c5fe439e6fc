//! A store that keeps nothing, to measure what is left of a call without one.

use std::future::ready;
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
    Pending, Reserved, Rest, Rested, RollbackEnd, Room, StoreFailure, Take, Taken,
};

/// Says yes to every write at once, and knows nothing.
#[derive(Debug)]
pub struct Forgetful;

fn done<T: Send + 'static>(value: T) -> Pending<T> {
    Box::pin(ready(Ok(value)))
}

impl Journal for Forgetful {
    fn reserve(&self, new: NewRun) -> Pending<Reserved> {
        done(Reserved::Won(Lease { run: new.run, number: 1 }))
    }

    fn record(&self, new: NewRun, _end: End) -> Pending<Reserved> {
        done(Reserved::Won(Lease { run: new.run, number: 2 }))
    }

    fn take(&self, take: Take) -> Pending<Taken> {
        done(Taken::Held(take.lease))
    }

    fn intend(
        &self,
        _lease: Lease,
        _effect: Effect,
        _change: Option<Change>,
        _at: Timestamp,
    ) -> Pending<bool> {
        done(true)
    }

    fn outcome(&self, _run: RunId, _outcome: Outcome) -> Pending<()> {
        done(())
    }

    fn save(&self, _lease: Lease, _saved: Vec<u8>) -> Pending<bool> {
        done(true)
    }

    fn rest(&self, lease: Lease, _rest: Rest) -> Pending<Rested> {
        done(Rested::Waits(lease))
    }

    fn hear(&self, _reports: Reports) -> Pending<Result<(), NoRetry>> {
        done(Ok(()))
    }

    fn ask(&self, _ask: Ask) -> Pending<Asked> {
        done(Asked::Passes { tries: Vec::new() })
    }

    fn force(&self, _force: Force) -> Pending<()> {
        done(())
    }

    fn settle(&self, _lease: Lease, _end: End) -> Pending<bool> {
        done(true)
    }

    fn decide(&self, _decided: Decided) -> Pending<bool> {
        done(true)
    }

    fn roll_back(&self, _lease: Lease, _end: RollbackEnd) -> Pending<bool> {
        done(true)
    }

    fn note(&self, lease: Lease, _event: Event, _at: Timestamp) -> Pending<Option<Lease>> {
        done(Some(lease))
    }

    fn delivered(&self, _run: RunId) -> Pending<()> {
        done(())
    }

    fn refuse(&self, _refused: Refused) -> Pending<()> {
        done(())
    }

    fn sweep(&self, _at: Timestamp, _payloads: Duration, _most: u32) -> Pending<u32> {
        done(0)
    }
}

impl Ledger for Forgetful {
    fn key(&self, _scope: Digest, _at: Timestamp) -> Result<Option<KeyFound>, StoreFailure> {
        Ok(None)
    }

    fn repeated(&self, _guard: &Guard, _at: Timestamp) -> Result<Option<RunId>, StoreFailure> {
        Ok(None)
    }

    fn run(&self, _run: RunId) -> Result<Option<Record>, StoreFailure> {
        Ok(None)
    }

    fn runs(
        &self,
        _range: (RunId, RunId),
        _standing: Option<Standing>,
        _most: u32,
    ) -> Result<Vec<Summary>, StoreFailure> {
        Ok(Vec::new())
    }

    fn traced(&self, _trace: &TraceId, _most: u32) -> Result<Vec<RunId>, StoreFailure> {
        Ok(Vec::new())
    }

    fn counted(&self, _from: RunId, _tools: &ToolPattern) -> Result<Vec<ToolStats>, StoreFailure> {
        Ok(Vec::new())
    }

    fn costs(&self, _from: RunId, _by: Option<By>) -> Result<Costs, StoreFailure> {
        Ok(Costs::default())
    }

    fn budgets(&self, _day: Day) -> Result<Vec<(Budget, Sums)>, StoreFailure> {
        Ok(Vec::new())
    }

    fn refused(&self, _trace: &TraceId, _most: u32) -> Result<Vec<Refused>, StoreFailure> {
        Ok(Vec::new())
    }

    fn unfinished(&self) -> Result<Vec<(RunId, ProcessId)>, StoreFailure> {
        Ok(Vec::new())
    }

    fn kept(&self, _run: RunId) -> Result<Kept, StoreFailure> {
        Ok(Kept::default())
    }

    fn brought(&self, _run: RunId) -> Result<Vec<Attachment>, StoreFailure> {
        Ok(Vec::new())
    }

    fn changes(&self, _run: RunId) -> Result<Vec<Recorded>, StoreFailure> {
        Ok(Vec::new())
    }

    fn answers(&self, _run: RunId) -> Result<Vec<(u32, u32, Answered)>, StoreFailure> {
        Ok(Vec::new())
    }

    fn contents(&self, _run: RunId) -> Result<u64, StoreFailure> {
        Ok(0)
    }

    fn value(&self, _plugin: &str, _key: &str) -> Result<Option<Vec<u8>>, StoreFailure> {
        Ok(None)
    }

    fn value_keys(
        &self,
        _plugin: &str,
        _prefix: &str,
        _after: Option<&str>,
        _most: usize,
    ) -> Result<Vec<String>, StoreFailure> {
        Ok(Vec::new())
    }

    fn room(&self, _plugin: &str, _key: &str) -> Result<Room, StoreFailure> {
        Ok(Room::default())
    }

    fn health(&self, _tool: &ToolName, _origins: &[String]) -> Result<Vec<(String, Health)>, StoreFailure> {
        Ok(Vec::new())
    }

    fn ill(&self) -> Result<Vec<(ToolName, String, Health)>, StoreFailure> {
        Ok(Vec::new())
    }

    fn secret(&self) -> [u8; 32] {
        [7; 32]
    }

    fn process(&self) -> ProcessId {
        ProcessId([7; 16])
    }

    fn gone(&self, _process: ProcessId) -> bool {
        false
    }
}

impl Driving for Forgetful {
    fn due(
        &self,
        _now: Timestamp,
        _by: Timestamp,
        _most: u32,
    ) -> Result<Vec<(RunId, Timestamp)>, StoreFailure> {
        Ok(Vec::new())
    }

    fn put_off(&self, _lease: Lease, _wakes: Timestamp, _at: Timestamp) -> Pending<()> {
        done(())
    }

    fn renew(&self) -> Pending<()> {
        done(())
    }

    fn held(&self) -> Result<Vec<Held>, StoreFailure> {
        Ok(Vec::new())
    }

    fn work(&self) -> Result<(), StoreFailure> {
        Ok(())
    }

    fn is_worked(&self) -> bool {
        false
    }
}
