//! What a process that is to be killed tells others of what it drives.

use airlock::model::clock::Timestamp;
use airlock::model::id::RunId;
use airlock::model::run::Lease;
use airlock::store::{Driving, Held, Pending, StoreFailure};

use super::Halting;
use crate::crash::point::Commit;

impl Driving for Halting {
    fn due(&self, now: Timestamp, by: Timestamp, most: u32) -> Result<Vec<(RunId, Timestamp)>, StoreFailure> {
        self.store.due(now, by, most)
    }

    fn put_off(&self, lease: Lease, wakes: Timestamp, at: Timestamp) -> Pending<()> {
        self.pass(Commit::PutOff, |store| store.put_off(lease, wakes, at))
    }

    fn renew(&self) -> Pending<()> {
        self.store.renew()
    }

    fn held(&self) -> Result<Vec<Held>, StoreFailure> {
        self.store.held()
    }

    fn work(&self) -> Result<(), StoreFailure> {
        self.store.work()
    }

    fn is_worked(&self) -> bool {
        self.store.is_worked()
    }
}
