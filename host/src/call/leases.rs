//! Whether the processes that are at runs are awake: each renews its leases, and the others look whether it does.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::Parts;
use crate::model::id::{ProcessId, RunId};
use crate::store::{Held, StoreFailure};

/// How often each process renews its leases and looks at those of others.
pub const RENEW: Duration = Duration::from_secs(10);

/// How long a lease lasts that is not renewed, by the steady clock of whoever looks: wall clocks are set, and jump.
const LEASE: Duration = Duration::from_secs(30);

/// What is seen of the runs that other processes are at.
#[derive(Debug, Default)]
pub struct Leases {
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    /// Each run as it was seen first, and when.
    since: HashMap<RunId, (Held, Duration)>,
    /// Runs whose processes are taken for asleep.
    lapsed: HashSet<(RunId, ProcessId)>,
}

impl Leases {
    /// Takes note of the runs that other processes are at now.
    fn look(&self, held: Vec<Held>, now: Duration) {
        let mut seen = self.lock();
        let mut since = std::mem::take(&mut seen.since);
        let unchanged = |held: Held| match since.remove(&held.lease.run) {
            Some((before, at)) if before == held => (held.lease.run, (held, at)),
            Some(_) | None => (held.lease.run, (held, now)),
        };
        let since: HashMap<_, _> = held.into_iter().map(unchanged).collect();
        let lapsed = since.values().filter(|(_, at)| now.saturating_sub(*at) > LEASE);
        seen.lapsed = lapsed.map(|(held, _)| (held.lease.run, held.owner)).collect();
        seen.since = since;
    }

    /// Whether the process that is at the run has not renewed its lease for too long.
    pub(super) fn lapsed(&self, run: RunId, owner: ProcessId) -> bool {
        self.lock().lapsed.contains(&(run, owner))
    }

    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Renews the leases of this process, where it is at any run, and looks at those of others.
///
/// # Errors
/// Where the store cannot be used.
pub async fn renew(parts: &Arc<Parts>) -> Result<(), StoreFailure> {
    if parts.is_driving() {
        parts.store.renew().await?;
    }
    parts.look_at_clocks();
    parts.leases.look(parts.store.held()?, parts.clock.steady());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::run::Lease;

    const OWNER: ProcessId = ProcessId([7; 16]);

    fn held(number: u64, renewed: u64) -> Held {
        let run = RunId::from_bytes([1; 16]);
        Held { lease: Lease { run, number }, owner: OWNER, renewed }
    }

    fn lapsed(sights: &[(u64, Option<Held>)]) -> bool {
        let leases = Leases::default();
        for (seconds, held) in sights {
            leases.look(held.iter().copied().collect(), Duration::from_secs(*seconds));
        }
        leases.lapsed(RunId::from_bytes([1; 16]), OWNER)
    }

    #[test]
    fn a_lease_lapses_that_is_not_renewed_for_half_a_minute() {
        assert!(!lapsed(&[(100, Some(held(1, 4))), (130, Some(held(1, 4)))]));
        assert!(lapsed(&[(100, Some(held(1, 4))), (120, Some(held(1, 4))), (131, Some(held(1, 4)))]));
    }

    #[test]
    fn a_lease_that_is_renewed_or_has_another_number_does_not_lapse() {
        assert!(!lapsed(&[(100, Some(held(1, 4))), (125, Some(held(1, 5))), (150, Some(held(1, 5)))]));
        assert!(!lapsed(&[(100, Some(held(1, 4))), (125, Some(held(2, 4))), (150, Some(held(2, 4)))]));
        assert!(!lapsed(&[(100, Some(held(1, 4))), (125, None), (150, Some(held(1, 4)))]));
    }

    #[test]
    fn whoever_renews_after_all_is_awake_again() {
        assert!(!lapsed(&[(100, Some(held(1, 4))), (140, Some(held(1, 4))), (150, Some(held(1, 5)))]));
    }
}
