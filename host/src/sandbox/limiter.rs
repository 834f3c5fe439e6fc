//! The bound on memory: one sum over all memories and tables of a guest.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use wasmtime::ResourceLimiter;

/// What one element of a table takes.
const ELEMENT: u64 = 16;

/// Core instances of one component; what composes Python or QuickJS has up to 38.
const INSTANCES: usize = 60;

/// What a guest holds and held, seen from outside while it runs.
#[derive(Debug, Default)]
pub(super) struct Held {
    most: AtomicU64,
    refused: AtomicBool,
}

impl Held {
    pub(super) fn most(&self) -> u64 {
        self.most.load(Ordering::Relaxed)
    }

    pub(super) fn refused(&self) -> bool {
        self.refused.load(Ordering::Relaxed)
    }
}

/// Answers growth beyond the limit with failure, so that a guest that can say so does.
#[derive(Debug)]
pub(super) struct Limiter {
    limit: u64,
    now: u64,
    held: Arc<Held>,
}

impl Limiter {
    pub(super) fn new(limit: u64, held: Arc<Held>) -> Self {
        Self { limit, now: 0, held }
    }

    fn grow(&mut self, current: u64, desired: u64) -> bool {
        let after = self.now.saturating_add(desired.saturating_sub(current));
        if after > self.limit {
            self.held.refused.store(true, Ordering::Relaxed);
            return false;
        }
        self.now = after;
        self.held.most.fetch_max(after, Ordering::Relaxed);
        true
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        Ok(self.grow(bytes(current), bytes(desired)))
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        Ok(self.grow(bytes(current).saturating_mul(ELEMENT), bytes(desired).saturating_mul(ELEMENT)))
    }

    fn instances(&self) -> usize {
        INSTANCES
    }

    fn memories(&self) -> usize {
        INSTANCES
    }

    fn tables(&self) -> usize {
        INSTANCES
    }
}

fn bytes(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_granted_never_exceeds_the_limit(limit in 0u64..1 << 20, steps in prop::collection::vec((any::<bool>(), 0usize..1 << 16), 0..40)) {
            let held = Arc::new(Held::default());
            let mut limiter = Limiter::new(limit, Arc::clone(&held));
            let (mut memory, mut table) = (0usize, 0usize);
            for (is_table, more) in steps {
                if is_table {
                    if limiter.table_growing(table, table + more, None).unwrap() { table += more; }
                } else if limiter.memory_growing(memory, memory + more, None).unwrap() { memory += more; }
                prop_assert!((memory + 16 * table) as u64 <= limit);
            }
            prop_assert!(held.most() <= limit);
        }
    }
}
