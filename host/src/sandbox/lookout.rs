//! A short look for what is about to come, before a thread sleeps; left out for a while where processors are wanted.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::model::clock::{Clock as _, SystemClock};

/// How long a look takes at most: about as long as it takes to wake a thread that sleeps.
const LONGEST: Duration = Duration::from_micros(50);

/// A look that took so long gave way to others that want the processor: a thread does better to sleep then.
const LATE: Duration = Duration::from_micros(100);

/// How many looks are left out after a late one.
const LEFT_OUT: u32 = 16;

/// Looks of one kind.
#[derive(Debug, Default)]
pub(super) struct Lookout {
    left_out: AtomicU32,
}

impl Lookout {
    /// Looks whether something is there until it is, or for a short while, in which others may run.
    pub(super) fn look(&self, there: impl Fn() -> bool) {
        let less_one = |left: u32| left.checked_sub(1);
        if self.left_out.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less_one).is_ok() {
            return;
        }
        let clock = SystemClock::start();
        while !there() && clock.steady() < LONGEST {
            std::thread::yield_now();
        }
        if clock.steady() >= LATE {
            self.left_out.store(LEFT_OUT, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// How often a look asks whether it is there, which it is never; each time takes so long.
    fn asked(lookout: &Lookout, each: Duration) -> u32 {
        let (times, clock) = (Cell::new(0), SystemClock::start());
        lookout.look(|| {
            times.set(times.get() + 1);
            let start = clock.steady();
            while clock.steady() - start < each {}
            false
        });
        times.get()
    }

    #[test]
    fn a_look_for_what_does_not_come_ends() {
        assert!(asked(&Lookout::default(), Duration::ZERO) > 0);
    }

    #[test]
    fn looks_are_left_out_after_one_that_is_late() {
        let lookout = Lookout::default();
        assert_eq!(asked(&lookout, LATE), 1);
        assert!((0..LEFT_OUT).all(|_| asked(&lookout, LATE) == 0));
        assert_eq!(asked(&lookout, LATE), 1);
    }

    #[test]
    fn a_look_ends_when_what_it_is_for_is_there() {
        let times = Cell::new(0);
        Lookout::default().look(|| {
            times.set(times.get() + 1);
            true
        });
        assert_eq!(times.get(), 1);
    }
}
