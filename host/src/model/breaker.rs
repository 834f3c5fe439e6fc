//! Whether a backend that keeps failing is asked at all: a state machine without a clock or a store of its own.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::clock::Timestamp;

/// When it opens, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Failures in a row that open it.
    pub in_a_row: u32,
    /// Failures among a hundred calls of the window that open it.
    pub percent: u32,
    /// Calls that the window must hold before a share of them means anything.
    pub least: u32,
    /// How far back calls count.
    pub window: Duration,
    /// How long it stays open the first time; twice as long each time that follows.
    pub open: Duration,
    /// How long at most.
    pub longest: Duration,
    /// Successes of probes that close it.
    pub successes: u32,
}

/// How an attempt ended, as far as its backend's health goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Told {
    /// The backend did its part.
    Well,
    /// The system failed.
    Ill,
    /// It says nothing of the backend: the business said no, a caller withdrew, it asked to slow down.
    Nothing,
}

/// What an operator has said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Forced {
    /// Nothing is let through.
    Open,
    /// Everything is.
    Closed,
}

/// The one call that is let through to try a backend, and until when its place is kept for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// A number of the attempt's own.
    pub by: u64,
    /// When the place goes to another, whatever became of it.
    pub until: Timestamp,
}

/// How a backend stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It is asked.
    #[default]
    Closed,
    /// It is not, until this moment.
    Open {
        /// When that was decided.
        since: Timestamp,
        /// When one may try.
        until: Timestamp,
    },
    /// One at a time may try.
    HalfOpen {
        /// Who tries.
        probe: Option<Probe>,
        /// How many have tried and succeeded.
        well: u32,
    },
}

/// The calls of one part of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Slice {
    begins: Timestamp,
    calls: u32,
    ill: u32,
}

/// Slices that make up a window.
const SLICES: u32 = 6;

/// One backend as one tool sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Breaker {
    /// How it stands.
    pub state: State,
    /// What an operator said, which holds whatever happens.
    pub forced: Option<Forced>,
    /// How often in a row it opened without closing in between.
    opened: u32,
    /// Failures in a row.
    ill: u32,
    slices: Vec<Slice>,
}

/// Whether an attempt may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// It may.
    Pass,
    /// It may, as the one that tries.
    Probe,
    /// It may not, before this moment; none where an operator must say so.
    Refuse(Option<Timestamp>),
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            in_a_row: 5,
            percent: 50,
            least: 10,
            window: Duration::from_secs(30),
            open: Duration::from_secs(30),
            longest: Duration::from_secs(300),
            successes: 2,
        }
    }
}

impl Breaker {
    /// Asks whether an attempt may begin, and keeps the place of the one that tries for it until `until`.
    pub fn ask(&mut self, by: u64, until: Timestamp, now: Timestamp) -> Answer {
        match self.forced {
            Some(Forced::Open) => return Answer::Refuse(None),
            Some(Forced::Closed) => return Answer::Pass,
            None => {}
        }
        match &mut self.state {
            State::Closed => Answer::Pass,
            State::Open { since, until: over } => {
                if now < *since {
                    // The clock was set back: what is left is counted from here, and no longer than it was.
                    *over = now.plus(over.since(*since));
                    *since = now;
                }
                if now < *over {
                    return Answer::Refuse(Some(*over));
                }
                self.state = State::HalfOpen { probe: Some(Probe { by, until }), well: 0 };
                Answer::Probe
            }
            State::HalfOpen { probe, .. } => match probe {
                // A place that is kept for far longer than it ever would be was given under another clock.
                Some(kept) if now < kept.until && kept.until <= until.plus(until.since(now)) => {
                    Answer::Refuse(Some(kept.until))
                }
                Some(_) | None => {
                    *probe = Some(Probe { by, until });
                    Answer::Probe
                }
            },
        }
    }

    /// Takes note of how an attempt ended. Of those that began before it opened nothing is taken note of any more.
    pub fn tell(&mut self, policy: &Policy, by: u64, told: Told, now: Timestamp) {
        match self.state {
            State::Closed => self.count(policy, told, now),
            State::Open { .. } => {}
            State::HalfOpen { probe, well } => {
                if probe.is_none_or(|probe| probe.by != by) {
                    return;
                }
                match told {
                    Told::Nothing => self.state = State::HalfOpen { probe: None, well },
                    Told::Well if well + 1 >= policy.successes => {
                        let forced = self.forced;
                        *self = Self { forced, ..Self::default() };
                    }
                    Told::Well => self.state = State::HalfOpen { probe: None, well: well + 1 },
                    Told::Ill => self.open(policy, now),
                }
            }
        }
    }

    /// Takes note of calls that went well while there was no failure to count them against: when, and how many.
    pub fn remember(&mut self, well: &[(Timestamp, u32)]) {
        if self.state == State::Closed {
            self.slices.extend(well.iter().map(|(begins, calls)| Slice {
                begins: *begins,
                calls: *calls,
                ill: 0,
            }));
            self.slices.sort_by_key(|slice| slice.begins);
        }
    }

    /// Why nothing is let through at this moment: until when, or until an operator says so.
    pub fn refuses(&self, now: Timestamp) -> Option<Option<Timestamp>> {
        match (self.forced, self.state) {
            (Some(Forced::Open), _) => Some(None),
            (None, State::Open { until, .. }) if now < until => Some(Some(until)),
            (Some(Forced::Closed), _)
            | (None, State::Open { .. } | State::Closed | State::HalfOpen { .. }) => None,
        }
    }

    /// Failures in a row.
    pub fn in_a_row(&self) -> u32 {
        self.ill
    }

    /// The latest moment that it knows of: as long as that is not past, it matters.
    pub fn latest(&self) -> Timestamp {
        let counted = self.slices.last().map_or(Timestamp(0), |slice| slice.begins);
        match self.state {
            State::Closed => counted,
            State::Open { until, .. } => until,
            State::HalfOpen { probe, .. } => probe.map_or(counted, |probe| probe.until),
        }
    }

    /// Whether it is as if nothing had ever happened, so that it need not be kept.
    pub fn is_clear(&self) -> bool {
        *self == Self::default()
    }

    fn count(&mut self, policy: &Policy, told: Told, now: Timestamp) {
        if told == Told::Nothing {
            return;
        }
        let ill = u32::from(told == Told::Ill);
        self.ill = if told == Told::Ill { self.ill + 1 } else { 0 };
        let oldest = now.minus(policy.window);
        self.slices.retain(|slice| slice.begins > oldest && slice.begins <= now);
        let width = policy.window / SLICES;
        match self.slices.last_mut().filter(|slice| now < slice.begins.plus(width)) {
            Some(slice) => {
                slice.calls += 1;
                slice.ill += ill;
            }
            None => self.slices.push(Slice { begins: now, calls: 1, ill }),
        }
        let calls: u64 = self.slices.iter().map(|slice| u64::from(slice.calls)).sum();
        let failed: u64 = self.slices.iter().map(|slice| u64::from(slice.ill)).sum();
        let share = calls >= u64::from(policy.least) && failed * 100 >= calls * u64::from(policy.percent);
        if self.ill >= policy.in_a_row || (told == Told::Ill && share) {
            self.open(policy, now);
        } else if failed == 0 && self.ill == 0 {
            // Nothing is left to count successes against.
            self.slices.clear();
        }
    }

    fn open(&mut self, policy: &Policy, now: Timestamp) {
        let doubled = 1_u32.checked_shl(self.opened).unwrap_or(u32::MAX);
        let stays = policy.open.saturating_mul(doubled).min(policy.longest);
        self.state = State::Open { since: now, until: now.plus(stays) };
        self.opened = self.opened.saturating_add(1);
        self.ill = 0;
        self.slices.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const POLICY: fn() -> Policy = Policy::default;

    fn at(ms: i64) -> Timestamp {
        Timestamp(1_700_000_000_000 + ms)
    }

    /// Asks with a place that is kept for half a minute.
    fn ask(breaker: &mut Breaker, by: u64, ms: i64) -> Answer {
        breaker.ask(by, at(ms + 30_000), at(ms))
    }

    fn opened() -> Breaker {
        let mut breaker = Breaker::default();
        (0..5).for_each(|by| breaker.tell(&POLICY(), by, Told::Ill, at(0)));
        breaker
    }

    #[test]
    fn five_failures_in_a_row_open_it_and_a_success_between_starts_anew() {
        let mut breaker = Breaker::default();
        for told in [
            Told::Ill,
            Told::Ill,
            Told::Ill,
            Told::Ill,
            Told::Well,
            Told::Ill,
            Told::Ill,
            Told::Ill,
            Told::Ill,
        ] {
            breaker.tell(&POLICY(), 1, told, at(0));
            assert_eq!(ask(&mut breaker, 1, 0), Answer::Pass);
        }
        breaker.tell(&POLICY(), 1, Told::Ill, at(0));
        assert_eq!(ask(&mut breaker, 1, 1), Answer::Refuse(Some(at(30_000))));
    }

    #[test]
    fn half_of_at_least_ten_calls_within_the_window_open_it() {
        let mut breaker = Breaker::default();
        let tell = |breaker: &mut Breaker, told, ms| breaker.tell(&POLICY(), 1, told, at(ms));
        // Half of eight, then an old half that no longer counts.
        (0..4).for_each(|n| {
            tell(&mut breaker, Told::Ill, n);
            tell(&mut breaker, Told::Well, n)
        });
        (0..4).for_each(|n| {
            tell(&mut breaker, Told::Ill, 40_000 + n);
            tell(&mut breaker, Told::Well, 40_000 + n)
        });
        assert_eq!(breaker.state, State::Closed);
        tell(&mut breaker, Told::Well, 41_000);
        tell(&mut breaker, Told::Ill, 41_000);
        assert!(matches!(breaker.state, State::Open { .. }));
    }

    #[test]
    fn when_the_last_failure_has_left_the_window_it_is_as_if_there_had_been_none() {
        let mut breaker = Breaker::default();
        breaker.tell(&POLICY(), 1, Told::Ill, at(0));
        breaker.tell(&POLICY(), 1, Told::Well, at(29_000));
        assert!(!breaker.is_clear());
        breaker.tell(&POLICY(), 1, Told::Well, at(30_001));
        assert!(breaker.is_clear());
    }

    #[test]
    fn what_went_well_before_the_first_failure_counts_against_it() {
        let opens = |well: u32| {
            let mut breaker = Breaker::default();
            breaker.remember(&[(at(-40_000), 50), (at(-1_000), well)]);
            for n in 0..9 {
                // Never enough in a row.
                let told = if n % 4 == 3 { Told::Well } else { Told::Ill };
                breaker.tell(&POLICY(), 1, told, at(n));
            }
            matches!(breaker.state, State::Open { .. })
        };
        assert!(opens(2) && !opens(20));
    }

    #[test]
    fn what_says_nothing_of_the_backend_neither_opens_nor_closes() {
        let mut breaker = Breaker::default();
        (0..100).for_each(|_| breaker.tell(&POLICY(), 1, Told::Nothing, at(0)));
        assert!(breaker.is_clear());
        let mut breaker = opened();
        assert_eq!(ask(&mut breaker, 7, 30_000), Answer::Probe);
        breaker.tell(&POLICY(), 7, Told::Nothing, at(30_001));
        assert_eq!(ask(&mut breaker, 8, 30_002), Answer::Probe);
    }

    #[test]
    fn one_at_a_time_tries_and_two_successes_close_it() {
        let mut breaker = opened();
        assert!(matches!(ask(&mut breaker, 6, 29_999), Answer::Refuse(_)));
        let asked: Vec<_> = (10..60).map(|by| ask(&mut breaker, by, 30_000)).collect();
        assert_eq!(asked.iter().filter(|answer| **answer == Answer::Probe).count(), 1);
        assert!(asked.iter().all(|answer| *answer != Answer::Pass));
        // One that began before it opened has no say.
        breaker.tell(&POLICY(), 3, Told::Well, at(30_001));
        assert!(matches!(ask(&mut breaker, 60, 30_001), Answer::Refuse(_)));
        breaker.tell(&POLICY(), 10, Told::Well, at(30_002));
        assert_eq!(ask(&mut breaker, 61, 30_003), Answer::Probe);
        breaker.tell(&POLICY(), 61, Told::Well, at(30_004));
        assert!(breaker.is_clear());
    }

    #[test]
    fn each_time_that_it_opens_again_it_stays_open_twice_as_long_up_to_a_bound() {
        let mut breaker = opened();
        let mut now = 0;
        for stays in [30_000, 60_000, 120_000, 240_000, 300_000, 300_000] {
            assert!(matches!(ask(&mut breaker, 9, now + stays - 1), Answer::Refuse(_)), "{stays}");
            now += stays;
            assert_eq!(ask(&mut breaker, 9, now), Answer::Probe, "{stays}");
            breaker.tell(&POLICY(), 9, Told::Ill, at(now));
        }
    }

    #[test]
    fn a_place_that_nobody_gave_back_goes_to_another_when_its_time_is_over() {
        let mut breaker = opened();
        assert_eq!(ask(&mut breaker, 1, 30_000), Answer::Probe);
        assert!(matches!(ask(&mut breaker, 2, 59_999), Answer::Refuse(_)));
        assert_eq!(ask(&mut breaker, 2, 60_000), Answer::Probe);
        // The first comes back late.
        breaker.tell(&POLICY(), 1, Told::Ill, at(60_001));
        assert!(matches!(breaker.state, State::HalfOpen { .. }));
    }

    #[test]
    fn a_clock_that_jumps_does_not_keep_it_open() {
        let mut breaker = opened();
        assert!(matches!(ask(&mut breaker, 1, -3_600_000), Answer::Refuse(_)));
        assert_eq!(ask(&mut breaker, 1, -3_600_000 + 30_000), Answer::Probe);
        // Nor does it keep a place for the one that had it before the jump.
        assert_eq!(ask(&mut breaker, 2, -7_200_000), Answer::Probe);
        // A year forward: one tries.
        let mut breaker = opened();
        let year = 365 * 86_400_000;
        assert_eq!(ask(&mut breaker, 1, year), Answer::Probe);
        assert!(matches!(ask(&mut breaker, 2, year), Answer::Refuse(_)));
    }

    #[test]
    fn what_an_operator_says_holds() {
        let mut breaker = opened();
        breaker.forced = Some(Forced::Closed);
        assert_eq!(ask(&mut breaker, 1, 0), Answer::Pass);
        let mut breaker = Breaker { forced: Some(Forced::Open), ..Breaker::default() };
        breaker.tell(&POLICY(), 1, Told::Well, at(0));
        assert_eq!(ask(&mut breaker, 1, 0), Answer::Refuse(None));
    }

    fn told() -> impl Strategy<Value = Told> {
        prop_oneof![Just(Told::Well), Just(Told::Ill), Just(Told::Nothing)]
    }

    proptest! {
        #[test]
        fn at_most_one_tries_and_it_is_never_shut_for_good(
            steps in prop::collection::vec((0_u64..8, told(), 0_i64..40_000, any::<bool>()), 0..200),
        ) {
            let mut breaker = Breaker::default();
            let (mut now, mut probes): (i64, Vec<u64>) = (0, Vec::new());
            for (by, told, later, ends) in steps {
                now += later;
                match breaker.ask(by, at(now + 1_000_000_000), at(now)) {
                    Answer::Probe => {
                        prop_assert!(probes.is_empty());
                        probes.push(by);
                    }
                    Answer::Pass => prop_assert!(matches!(breaker.state, State::Closed)),
                    Answer::Refuse(until) => prop_assert!(until.is_some_and(|until| until > at(now))),
                }
                if ends {
                    breaker.tell(&POLICY(), by, told, at(now));
                    probes.retain(|probe| *probe != by);
                }
            }
            // Whatever happened, somebody may try in the end.
            let end = now + 2_000_000_000;
            prop_assert!(!matches!(breaker.ask(99, at(end + 1_000_000_000), at(end)), Answer::Refuse(_)));
        }

        #[test]
        fn only_a_failure_opens_it_and_so_many_in_a_row_always_do(
            in_a_row in 1_u32..8,
            percent in 1_u32..=100,
            least in 1_u32..20,
            steps in prop::collection::vec((told(), 0_i64..20_000), 0..100),
        ) {
            let policy = Policy { in_a_row, percent, least, ..Policy::default() };
            let (mut breaker, mut now, mut ill) = (Breaker::default(), 0, 0);
            for (told, later) in steps {
                now += later;
                ill = match told {
                    Told::Ill => ill + 1,
                    Told::Well => 0,
                    Told::Nothing => ill,
                };
                breaker.tell(&policy, 1, told, at(now));
                let opened = matches!(breaker.state, State::Open { .. });
                prop_assert!(!opened || told == Told::Ill);
                prop_assert!(opened || ill < in_a_row);
                if opened {
                    (breaker, ill) = (Breaker::default(), 0);
                }
            }
        }

        #[test]
        fn each_probe_that_fails_keeps_it_open_for_longer_up_to_the_bound(
            open in 1_u64..120,
            longest in 120_u64..2_000,
            fails in 1_usize..12,
        ) {
            let policy = Policy { open: Duration::from_secs(open), longest: Duration::from_secs(longest), ..Policy::default() };
            let (mut breaker, mut now, mut before) = (Breaker::default(), 0, Duration::ZERO);
            (0..policy.in_a_row).for_each(|by| breaker.tell(&policy, u64::from(by), Told::Ill, at(now)));
            for _ in 0..fails {
                let State::Open { since, until } = breaker.state else { panic!("nobody tried it") };
                let stays = until.since(since);
                prop_assert!(stays >= before && stays <= policy.longest);
                prop_assert!(stays == policy.longest || before.is_zero() || stays == before * 2);
                now = until.0 - at(0).0;
                prop_assert_eq!(ask(&mut breaker, 9, now), Answer::Probe);
                breaker.tell(&policy, 9, Told::Ill, at(now));
                before = stays;
            }
        }

        #[test]
        fn what_is_stored_is_what_there_was(steps in prop::collection::vec((told(), 0_i64..5_000), 0..40)) {
            let mut breaker = Breaker::default();
            let mut now = 0;
            for (told, later) in steps {
                now += later;
                breaker.tell(&POLICY(), 1, told, at(now));
            }
            let text = serde_json::to_string(&breaker).unwrap();
            prop_assert_eq!(serde_json::from_str::<Breaker>(&text).unwrap(), breaker);
        }
    }
}
