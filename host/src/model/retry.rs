//! When a step that failed is tried again, how soon, and when no more.

use std::time::{Duration, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::clock::Timestamp;

/// Whoever asks for longer than a year is not understood any better.
const LONGEST_ASKED: Duration = Duration::from_secs(366 * 24 * 3600);

/// How often a step is tried again, and how soon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// How often at most, the first attempt apart.
    pub most: u32,
    /// The first pause is drawn from zero to this, and each that follows from twice as much.
    pub base: Duration,
    /// No pause is drawn from more than this.
    pub cap: Duration,
    /// No attempt begins later than this after the first.
    pub within: Duration,
    /// A backend may ask for no longer a pause than this.
    pub asked: Duration,
}

/// Where a step stands when an attempt of it has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Attempts that failed in a row, this one among them.
    pub failed: u32,
    /// How long ago the first of them began.
    pub since: Duration,
    /// How long the backend asks to be left alone; zero where it does not.
    pub asked: Duration,
}

/// What follows a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Another, after this long.
    After(Duration),
    /// None.
    End(Why),
}

/// Why a step is not tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// It was tried as often as it may be.
    Often,
    /// The next attempt would begin too late.
    Late,
    /// The backend asks for a longer pause than there is time for.
    Asked,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            most: 3,
            base: Duration::from_millis(100),
            cap: Duration::from_secs(2),
            within: Duration::from_secs(20),
            asked: Duration::from_secs(15 * 60),
        }
    }
}

impl Policy {
    /// The usual policy of calls in the background, whose time alone bounds when an attempt may begin.
    pub fn patient() -> Self {
        Self {
            most: 10,
            base: Duration::from_secs(1),
            cap: Duration::from_secs(60),
            within: Duration::MAX,
            ..Self::default()
        }
    }

    /// Decides what follows; `random` is any number, drawn anew for each decision.
    pub fn next(&self, standing: Standing, random: u64) -> Next {
        if standing.failed > self.most {
            return Next::End(Why::Often);
        }
        if standing.asked > self.asked || standing.since.saturating_add(standing.asked) > self.within {
            let why = if standing.asked > Duration::ZERO { Why::Asked } else { Why::Late };
            return Next::End(why);
        }
        let pause = self.pause(standing.failed, random).max(standing.asked);
        if standing.since.saturating_add(pause) > self.within {
            return Next::End(Why::Late);
        }
        Next::After(pause)
    }

    /// How many retries there is time for, where each pause is as long as it is on average.
    pub fn fitting(&self) -> u32 {
        let mut spent = Duration::ZERO;
        for failed in 1..=self.most {
            spent = spent.saturating_add(self.longest(failed) / 2);
            if spent > self.within {
                return failed - 1;
            }
        }
        self.most
    }

    fn longest(&self, failed: u32) -> Duration {
        let doubled = 1_u32.checked_shl(failed.saturating_sub(1)).unwrap_or(u32::MAX);
        self.base.saturating_mul(doubled).min(self.cap)
    }

    /// Full jitter: anything from zero to a bound that doubles with each failure.
    pub fn pause(&self, failed: u32, random: u64) -> Duration {
        let nanos = u64::try_from(self.longest(failed).as_nanos()).unwrap_or(u64::MAX);
        Duration::from_nanos(nanos.checked_add(1).map_or(random, |bound| random % bound))
    }
}

/// Reads how long a backend asks to be left alone (RFC 9110, 10.2.3): seconds, or a date in any of the three forms.
pub fn asked(retry_after: &str, now: Timestamp) -> Option<Duration> {
    let text = retry_after.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(text.parse().map_or(LONGEST_ASKED, Duration::from_secs).min(LONGEST_ASKED));
    }
    let date = httpdate::parse_http_date(text).ok()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    let date = Timestamp(i64::try_from(date.as_millis()).unwrap_or(i64::MAX));
    Some(date.since(now).min(LONGEST_ASKED))
}

/// What keeps retries from becoming a storm: each costs, and each success gives a little back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tokens {
    /// How many there are.
    pub left: u32,
}

/// What a tool has at one origin, what a retry costs of it, and what a success gives back.
pub const TOKENS: u32 = 100;
const RETRY: u32 = 10;
const SUCCESS: u32 = 1;

impl Default for Tokens {
    fn default() -> Self {
        Self { left: TOKENS }
    }
}

impl Tokens {
    /// Takes what a retry costs; `false` where that is not there, and nothing is taken.
    pub fn take(&mut self) -> bool {
        let Some(left) = self.left.checked_sub(RETRY) else { return false };
        self.left = left;
        true
    }

    /// Gives back for a success.
    pub fn give(&mut self) {
        self.left = (self.left + SUCCESS).min(TOKENS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(failed: u32, since_ms: u64, asked_ms: u64) -> Standing {
        Standing { failed, since: Duration::from_millis(since_ms), asked: Duration::from_millis(asked_ms) }
    }

    fn policy() -> impl Strategy<Value = Policy> {
        (0_u32..20, 0_u64..5_000, 0_u64..60_000, 0_u64..200_000, 0_u64..2_000_000).prop_map(
            |(most, base, cap, within, asked)| Policy {
                most,
                base: Duration::from_millis(base),
                cap: Duration::from_millis(cap),
                within: Duration::from_millis(within),
                asked: Duration::from_millis(asked),
            },
        )
    }

    proptest! {
        #[test]
        fn pauses_stay_below_a_bound_that_doubles(failed in 1_u32..100, random: u64) {
            let policy = Policy { most: u32::MAX, within: Duration::MAX, ..Policy::default() };
            let Next::After(pause) = policy.next(at(failed, 0, 0), random) else { panic!("there is time") };
            let bound = 100_u64.saturating_mul(1 << (failed - 1).min(20)).min(2_000);
            prop_assert!(pause <= Duration::from_millis(bound));
        }

        #[test]
        fn no_attempt_begins_too_late_or_too_early(
            policy in policy(),
            failed in 1_u32..30,
            since in 0_u64..300_000,
            asked in 0_u64..3_000_000,
            random: u64,
        ) {
            let standing = at(failed, since, asked);
            if let Next::After(pause) = policy.next(standing, random) {
                prop_assert!(failed <= policy.most);
                prop_assert!(standing.since + pause <= policy.within);
                prop_assert!(pause >= standing.asked && standing.asked <= policy.asked);
            }
        }

        #[test]
        fn every_policy_comes_to_an_end(policy in policy(), random: u64) {
            let (mut since, mut failed) = (Duration::ZERO, 1);
            while let Next::After(pause) = policy.next(Standing { failed, since, asked: Duration::ZERO }, random) {
                since += pause;
                failed += 1;
            }
            prop_assert!(failed <= policy.most + 1 && since <= policy.within);
        }

        #[test]
        fn a_dead_backend_gets_few_retries_more_than_calls(calls in 50_u32..2_000, succeed in 0_u32..4) {
            // Each call fails and would be tried again three times; one in so many succeeds first.
            let (mut tokens, mut attempts) = (Tokens::default(), 0);
            for call in 0..calls {
                attempts += 1;
                if succeed > 0 && call % (succeed + 1) == 0 {
                    tokens.give();
                    continue;
                }
                for _ in 0..3 {
                    if !tokens.take() {
                        break;
                    }
                    attempts += 1;
                }
            }
            let (most, even) = (f64::from(calls) * 1.1 + 10.0, f64::from(calls) * 1.2);
            prop_assert!(f64::from(attempts) <= most);
            prop_assert!(succeed > 0 || f64::from(attempts) <= even);
        }
    }

    #[test]
    fn as_many_retries_fit_as_there_is_time_for_on_average() {
        let usual = Policy::default();
        assert_eq!(usual.fitting(), 3);
        // 50, 100, 200, 400 and 800 ms, and a second each from then on.
        let many = Policy { most: 100, ..usual };
        assert_eq!(many.fitting(), 5 + 18);
        assert_eq!(Policy { within: Duration::ZERO, ..usual }.fitting(), 0);
        assert_eq!(Policy { most: 0, within: Duration::ZERO, ..usual }.fitting(), 0);
    }

    #[test]
    fn in_the_background_it_is_tried_ten_times_more_with_pauses_of_up_to_a_minute() {
        let policy = Policy::patient();
        assert!(matches!(policy.next(at(10, 86_000_000, 0), 7), Next::After(_)));
        assert_eq!(policy.next(at(11, 0, 0), 7), Next::End(Why::Often));
        assert_eq!(policy.next(at(1, 0, 0), 1_000_000_000), Next::After(Duration::from_secs(1)));
        assert_eq!(policy.next(at(9, 0, 0), 60_000_000_000), Next::After(Duration::from_secs(60)));
        assert_eq!(policy.next(at(1, 0, 900_000), 0), Next::After(Duration::from_secs(900)));
        assert_eq!(policy.next(at(1, 0, 900_001), 0), Next::End(Why::Asked));
    }

    #[test]
    fn the_last_of_three_retries_is_followed_by_none() {
        let policy = Policy::default();
        assert!(matches!(policy.next(at(3, 0, 0), 7), Next::After(_)));
        assert_eq!(policy.next(at(4, 0, 0), 7), Next::End(Why::Often));
    }

    #[test]
    fn what_a_backend_asks_for_is_waited_for_where_there_is_time() {
        let policy = Policy::default();
        assert_eq!(policy.next(at(1, 0, 5_000), 0), Next::After(Duration::from_secs(5)));
        assert_eq!(policy.next(at(1, 16_000, 5_000), 0), Next::End(Why::Asked));
        let patient = Policy { within: Duration::from_secs(86_400), ..policy };
        assert_eq!(patient.next(at(1, 0, 900_000), 0), Next::After(Duration::from_secs(900)));
        assert_eq!(patient.next(at(1, 0, 900_001), 0), Next::End(Why::Asked));
    }

    #[test]
    fn a_backend_asks_by_seconds_or_by_a_date() {
        let now = Timestamp(1_700_000_000_000);
        for (text, seconds) in [
            ("0", Some(0)),
            (" 120 ", Some(120)),
            ("Tue, 14 Nov 2023 22:13:50 GMT", Some(30)),
            ("Tuesday, 14-Nov-23 22:13:50 GMT", Some(30)),
            ("Tue Nov 14 22:13:50 2023", Some(30)),
            ("Tue, 14 Nov 2023 22:13:10 GMT", Some(0)),
            ("99999999999999999999999", Some(366 * 24 * 3600)),
            ("-1", None),
            ("1.5", None),
            ("soon", None),
            ("", None),
        ] {
            assert_eq!(asked(text, now), seconds.map(Duration::from_secs), "{text:?}");
        }
    }

    #[test]
    fn tokens_run_out_and_come_back_by_success() {
        let mut tokens = Tokens::default();
        assert!((0..10).all(|_| tokens.take()) && !tokens.take());
        (0..9).for_each(|_| tokens.give());
        assert!(!tokens.take());
        tokens.give();
        assert!(tokens.take());
        (0..500).for_each(|_| tokens.give());
        assert_eq!(tokens, Tokens::default());
    }
}
