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

/// How far the wall clock may move against the steady one and still only be adjusted.
const ADJUSTED: Duration = Duration::from_secs(10);

/// When the wall clock went forward by itself: it was set, or the machine slept. What is timed by it is not over for that.
#[derive(Debug, Default)]
pub struct Jumps {
    last: Option<(Timestamp, Duration)>,
    seen: Vec<(Timestamp, Timestamp)>,
}

impl Jumps {
    /// Looks at both clocks, as often as a jump is to be told from time that passes.
    pub fn look(&mut self, now: Timestamp, steady: Duration) {
        if let Some((wall, before)) = self.last.replace((now, steady)) {
            let expected = wall.plus(steady.saturating_sub(before));
            if now.since(expected) > ADJUSTED {
                self.seen.push((expected, now));
            }
        }
    }

    /// When the wall clock will show that the time from one moment to another is over: later by the jumps in between.
    pub fn over(&self, from: Timestamp, until: Timestamp) -> Timestamp {
        let mut over = until;
        for (before, after) in &self.seen {
            if from <= *before && *before < over {
                over = over.plus(after.since(*before));
            }
        }
        over
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HOUR: i64 = 3_600_000;

    fn hours(hours: i64) -> Timestamp {
        Timestamp(1_700_000_000_000 + hours * HOUR)
    }

    #[test]
    fn a_clock_that_is_set_forward_ends_nothing_early() {
        let mut jumps = Jumps::default();
        jumps.look(hours(0), Duration::from_secs(0));
        jumps.look(hours(1), Duration::from_secs(3600));
        let year = 365 * 24;
        jumps.look(hours(2 + year), Duration::from_secs(7200));
        assert_eq!(jumps.over(hours(0), hours(24)), hours(24 + year));
        // What begins by the clock as it is now is timed by that.
        assert_eq!(jumps.over(hours(2 + year), hours(26 + year)), hours(26 + year));
        // What was over before is over.
        assert_eq!(jumps.over(hours(-48), hours(-24)), hours(-24));
    }

    #[test]
    fn a_clock_that_is_set_back_moves_nothing() {
        let mut jumps = Jumps::default();
        jumps.look(hours(10), Duration::ZERO);
        jumps.look(hours(9), Duration::from_secs(1));
        assert_eq!(jumps.over(hours(8), hours(12)), hours(12));
    }

    proptest! {
        #[test]
        fn time_that_passes_on_both_clocks_is_no_jump(steps in prop::collection::vec(0_u64..100_000_000, 0..50)) {
            let (mut jumps, mut passed) = (Jumps::default(), 0);
            for step in steps {
                passed += step;
                jumps.look(hours(0).plus(Duration::from_millis(passed)), Duration::from_millis(passed));
            }
            prop_assert_eq!(jumps.over(hours(0), hours(24)), hours(24));
        }
    }
}
