//! What processes that are at runs write and read of each other, so that each run is driven by one of them.

use super::{Pending, StoreFailure};
use crate::model::clock::Timestamp;
use crate::model::id::{ProcessId, RunId};
use crate::model::run::Lease;

/// A run that another process is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    /// The run, and the number of its lease.
    pub lease: Lease,
    /// Who is at it.
    pub owner: ProcessId,
    /// How often that one has renewed its leases.
    pub renewed: u64,
}

/// What drives runs, as processes tell each other.
pub trait Driving: Send + Sync {
    /// Runs in the background that nobody is at and that go on by then, with when they do: those whose clock was set back
    /// since they began to wait at once. At most this many, callers in turn.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn due(&self, now: Timestamp, by: Timestamp, most: u32) -> Result<Vec<(RunId, Timestamp)>, StoreFailure>;

    /// Lets a run wait for longer, whose lease still has this number.
    fn put_off(&self, lease: Lease, wakes: Timestamp, at: Timestamp) -> Pending<()>;

    /// Renews the leases of all runs that this process is at.
    fn renew(&self) -> Pending<()>;

    /// The runs that other processes are at.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn held(&self) -> Result<Vec<Held>, StoreFailure>;

    /// Tells other processes, for as long as this one lives, that it drives calls in the background.
    ///
    /// # Errors
    /// Where the state folder cannot be written.
    fn work(&self) -> Result<(), StoreFailure>;

    /// Whether any process drives calls in the background.
    fn is_worked(&self) -> bool;
}
