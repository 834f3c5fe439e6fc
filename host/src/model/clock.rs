//! The one place that reads the time; everything else is handed a value.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// A moment, in milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// The moment `later` after this one; the end of time where it does not fit.
    pub fn plus(self, later: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(later.as_millis()).unwrap_or(i64::MAX)))
    }

    /// The moment `earlier` before this one; the beginning of time where it does not fit.
    pub fn minus(self, earlier: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(earlier.as_millis()).unwrap_or(i64::MAX)))
    }

    /// How long after `earlier` this moment is; zero where it is before.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

/// What tells the time: the system in production, a value in tests.
pub trait Clock: Send + Sync {
    /// The wall clock, for what is recorded and for what outlives the process.
    fn now(&self) -> Timestamp;

    /// Time that never goes back, from an arbitrary start, for what is measured inside the process.
    fn steady(&self) -> Duration;
}

/// The clock of the machine.
#[derive(Debug)]
pub struct SystemClock {
    start: Instant,
}

impl SystemClock {
    /// Starts the steady part at zero.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the time")]
    pub fn start() -> Self {
        Self { start: Instant::now() }
    }
}

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the time")]
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    fn steady(&self) -> Duration {
        self.start.elapsed()
    }
}
