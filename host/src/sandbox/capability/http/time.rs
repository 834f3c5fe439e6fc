//! The time of one request: how long its parts and all of it may take, and what is left of that.

use std::time::Duration;

use crate::model::clock::Clock;

/// How long something may take, and what says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bound {
    pub(super) time: Duration,
    pub(super) says: &'static str,
}

/// How long one request may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    /// Looking its name up and dialling, together.
    pub(super) connect: Bound,
    /// Being answered, on one connection or, where that was lost, on two.
    pub(super) answer: Bound,
    /// All of it.
    pub(super) whole: Bound,
}

/// A part of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Connect,
    Answer,
}

/// A pause longer than this, for which nothing that the host waits for accounts: the process, or the machine, was asleep, and
/// others may have taken over what it was at. They wait longer than this before they do.
const ASLEEP: Duration = Duration::from_secs(10);

/// What is left of a request's time.
pub(super) struct Left<'a> {
    times: Times,
    clock: &'a dyn Clock,
    since: Duration,
    connecting: Duration,
    answering: Duration,
    over: Option<Bound>,
}

impl<'a> Left<'a> {
    /// All of it, for a request that is made from now on.
    pub(super) fn of(times: Times, clock: &'a dyn Clock) -> Self {
        let since = clock.steady();
        Self { times, clock, since, connecting: Duration::ZERO, answering: Duration::ZERO, over: None }
    }

    /// Whether so long passed since the request was to be made that whoever makes it cannot have been awake.
    pub(super) fn slept(&self) -> bool {
        let passed = self.clock.steady().saturating_sub(self.since).saturating_sub(self.answering);
        passed > self.times.connect.time.saturating_add(ASLEEP)
    }

    /// Waits for a step of a part, as long as there is time for it.
    ///
    /// # Errors
    /// What it took longer than; where nothing is left of that, the step is not begun.
    pub(super) async fn within<T>(&mut self, part: Part, step: impl Future<Output = T>) -> Result<T, Bound> {
        let (left, bound) = self.left(part);
        if left.is_zero() {
            self.over = Some(bound);
            return Err(bound);
        }
        let began = self.clock.steady();
        let done = tokio::time::timeout(left, step).await;
        let took = self.clock.steady().saturating_sub(began);
        match part {
            Part::Connect => self.connecting += took,
            Part::Answer => self.answering += took,
        }
        done.map_err(|_| {
            self.over = Some(bound);
            bound
        })
    }

    /// What the request took longer than, where it did.
    pub(super) fn over(&self) -> Option<Bound> {
        self.over
    }

    /// How long a part may still take, and what ends it then.
    pub(super) fn left(&self, part: Part) -> (Duration, Bound) {
        let (bound, spent) = match part {
            Part::Connect => (self.times.connect, self.connecting),
            Part::Answer => (self.times.answer, self.answering),
        };
        let whole = self.times.whole;
        let of_part = bound.time.saturating_sub(spent);
        let of_all = whole.time.saturating_sub(self.connecting + self.answering);
        if of_part <= of_all { (of_part, bound) } else { (of_all, whole) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::model::clock::Timestamp;

    /// A clock that a step moves while it is waited for.
    #[derive(Default)]
    struct Moved(Mutex<Duration>);

    impl Clock for Moved {
        fn now(&self) -> Timestamp {
            Timestamp(0)
        }

        fn steady(&self) -> Duration {
            *self.0.lock().unwrap()
        }
    }

    const CONNECT: Bound = Bound { time: Duration::from_secs(5), says: "connect" };
    const ANSWER: Bound = Bound { time: Duration::from_secs(10), says: "answer" };

    async fn spend(left: &mut Left<'_>, clock: &Moved, part: Part, seconds: u64) -> Result<(), &'static str> {
        let step = async { *clock.0.lock().unwrap() += Duration::from_secs(seconds) };
        left.within(part, step).await.map_err(|over| over.says)
    }

    #[tokio::test]
    async fn the_steps_of_a_part_share_its_time() {
        let clock = Moved::default();
        let whole = Bound { time: Duration::from_secs(30), says: "whole" };
        let mut left = Left::of(Times { connect: CONNECT, answer: ANSWER, whole }, &clock);
        assert_eq!(spend(&mut left, &clock, Part::Connect, 3).await, Ok(()));
        assert_eq!(left.left(Part::Connect), (Duration::from_secs(2), CONNECT));
        assert_eq!(spend(&mut left, &clock, Part::Answer, 10).await, Ok(()));
        assert_eq!(spend(&mut left, &clock, Part::Connect, 2).await, Ok(()), "what answers takes is its own");
        for (part, says) in [(Part::Connect, "connect"), (Part::Answer, "answer")] {
            assert_eq!(spend(&mut left, &clock, part, 0).await, Err(says));
        }
    }

    #[tokio::test]
    async fn whoever_slept_finds_out_before_anything_is_sent() {
        let clock = Moved::default();
        let mut left = Left::of(Times { connect: CONNECT, answer: ANSWER, whole: ANSWER }, &clock);
        assert_eq!(spend(&mut left, &clock, Part::Connect, 4).await, Ok(()));
        assert_eq!(spend(&mut left, &clock, Part::Answer, 30).await, Ok(()));
        assert!(!left.slept(), "a backend that is slow is no sleep");
        *clock.0.lock().unwrap() += Duration::from_secs(11);
        assert!(!left.slept(), "a full disk's turn may take that long");
        *clock.0.lock().unwrap() += Duration::from_secs(1);
        assert!(left.slept());
    }

    #[tokio::test]
    async fn a_sleep_while_it_dials_counts() {
        let clock = Moved::default();
        let mut left = Left::of(Times { connect: CONNECT, answer: ANSWER, whole: ANSWER }, &clock);
        assert_eq!(spend(&mut left, &clock, Part::Connect, 40).await, Ok(()));
        assert!(left.slept());
    }

    #[tokio::test]
    async fn all_of_a_request_takes_no_longer_than_the_whole_may() {
        let clock = Moved::default();
        let whole = Bound { time: Duration::from_secs(12), says: "whole" };
        let mut left = Left::of(Times { connect: CONNECT, answer: ANSWER, whole }, &clock);
        assert_eq!(spend(&mut left, &clock, Part::Connect, 4).await, Ok(()));
        assert_eq!(left.left(Part::Answer), (Duration::from_secs(8), whole));
        assert_eq!(spend(&mut left, &clock, Part::Answer, 8).await, Ok(()));
        assert_eq!(spend(&mut left, &clock, Part::Answer, 0).await, Err("whole"));
    }
}
