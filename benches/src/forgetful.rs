//! A store that keeps nothing, to measure what is left of a call without one.

use std::future::ready;

use airlock::model::clock::Timestamp;
use airlock::model::effect::Effect;
use airlock::model::id::{Digest, ProcessId, RunId};
use airlock::model::run::{Lease, Record, Summary};
use airlock::store::{
    Decided, End, Journal, KeyFound, Ledger, NewRun, Outcome, Pending, Reserved, StoreFailure, Take,
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

    fn take(&self, take: Take) -> Pending<Option<Lease>> {
        done(Some(take.lease))
    }

    fn intend(&self, _lease: Lease, _effect: Effect, _at: Timestamp) -> Pending<bool> {
        done(true)
    }

    fn outcome(&self, _run: RunId, _outcome: Outcome) -> Pending<()> {
        done(())
    }

    fn settle(&self, _lease: Lease, _end: End) -> Pending<bool> {
        done(true)
    }

    fn decide(&self, _decided: Decided) -> Pending<bool> {
        done(true)
    }

    fn sweep(&self, _at: Timestamp, _most: u32) -> Pending<u32> {
        done(0)
    }
}

impl Ledger for Forgetful {
    fn key(&self, _scope: Digest, _at: Timestamp) -> Result<Option<KeyFound>, StoreFailure> {
        Ok(None)
    }

    fn run(&self, _run: RunId) -> Result<Option<Record>, StoreFailure> {
        Ok(None)
    }

    fn runs(&self, _range: (RunId, RunId), _most: u32) -> Result<Vec<Summary>, StoreFailure> {
        Ok(Vec::new())
    }

    fn unfinished(&self) -> Result<Vec<(RunId, ProcessId)>, StoreFailure> {
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
