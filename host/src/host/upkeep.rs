//! What a host sees to by itself, for as long as it lives: leases, runs that nobody drives, and what is kept no longer.

use std::sync::Arc;
use std::time::Duration;

use super::Host;
use crate::call::leases::{self, RENEW};
use crate::call::{Parts, decide, recover};
use crate::model::failure::Failure;
use crate::store::StoreFailure;

/// How often keys and payloads whose time is over are removed, and how many at a time: calls wait for no more.
const SWEEP: Duration = Duration::from_secs(3600);
const SWEEP_AT_ONCE: u32 = 500;

impl Host {
    /// Closes runs that nobody drives any more, as a host does by itself from time to time: those of processes that are
    /// gone, and those whose end this one could not write down. Gives how many there were.
    ///
    /// # Errors
    /// Where the store cannot be used.
    pub async fn close_abandoned(&self) -> Result<u32, Failure> {
        recover::close_all(&self.parts).await.map_err(|failure| decide::refusal(&failure))
    }

    /// Renews the leases of what this process is at, and looks at those of others, as a host does by itself every ten
    /// seconds. Runs of a process that was asleep for longer than a lease lasts count as abandoned from then on.
    ///
    /// # Errors
    /// Where the store cannot be used.
    pub async fn renew_leases(&self) -> Result<(), Failure> {
        leases::renew(&self.parts).await.map_err(|failure| decide::refusal(&failure))
    }
}

/// Renews leases, and closes runs that nobody drives any more: a person can decide about them then, or they go on.
pub(super) fn look_after(parts: &Arc<Parts>) {
    let parts = Arc::downgrade(parts);
    tokio::spawn(async move {
        while let Some(parts) = parts.upgrade() {
            if let Err(failure) = looked_after(&parts).await {
                tracing::warn!("runs that nobody drives are not closed: {failure}; {}", failure.hint());
            }
            drop(parts);
            tokio::time::sleep(RENEW).await;
        }
    });
}

async fn looked_after(parts: &Arc<Parts>) -> Result<(), StoreFailure> {
    leases::renew(parts).await?;
    recover::close_all(parts).await.map(drop)
}

/// Removes keys and payloads whose time is over, now and from time to time.
pub(super) fn sweep(parts: &Arc<Parts>) {
    let parts = Arc::downgrade(parts);
    tokio::spawn(async move {
        while let Some(parts) = parts.upgrade() {
            let payloads = parts.setting().config.limits.payloads;
            while matches!(parts.store.sweep(parts.clock.now(), payloads, SWEEP_AT_ONCE).await, Ok(1..)) {}
            drop(parts);
            tokio::time::sleep(SWEEP).await;
        }
    });
}
