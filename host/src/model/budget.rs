//! Budgets: how much may be spent in a day, what calls hold of it, and what one call may spend.

use std::fmt;

use serde::Serialize;

use super::amount::Currency;
use super::clock::Timestamp;
use super::id::{CallerName, UserName};

/// The most that a sum is, in millionths: the store keeps 63 bits.
pub const MOST_SUM: u64 = u64::MAX >> 1;

const MILLIS_A_DAY: i64 = 24 * 3600 * 1000;

/// How much may be spent, in millionths; anything where nothing is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Allowance {
    /// By one call.
    pub call: Option<u64>,
    /// In one day.
    pub day: Option<u64>,
}

/// What all budgets have in common, and what all callers together may spend.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Budgets {
    /// The currency of every amount, where one is named.
    pub currency: Option<Currency>,
    /// What all callers together may spend in a day, and each call.
    pub all: Allowance,
}

/// Whose budget it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Budget {
    /// That of all callers together.
    All,
    /// That of one caller.
    Caller(CallerName),
    /// That of one user of a caller.
    User(CallerName, UserName),
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all callers"),
            Self::Caller(caller) => write!(f, "the caller {caller}"),
            Self::User(caller, user) => write!(f, "the user {user} of the caller {caller}"),
        }
    }
}

/// A day in UTC, counted from that on which 1970 began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(pub i64);

impl Day {
    /// The day of a moment.
    pub fn of(at: Timestamp) -> Self {
        Self(at.0.div_euclid(MILLIS_A_DAY))
    }

    /// When it begins.
    pub fn begins(self) -> Timestamp {
        Timestamp(self.0.saturating_mul(MILLIS_A_DAY))
    }

    /// When it is over: at midnight, UTC.
    pub fn ends(self) -> Timestamp {
        Self(self.0.saturating_add(1)).begins()
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Counted from a 1 March, so that what leap years add comes last.
        let days = self.0 + 719_468;
        let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
        let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let month = (5 * of_year + 2) / 153;
        let day = of_year - (153 * month + 2) / 5 + 1;
        let month = if month < 10 { month + 3 } else { month - 9 };
        write!(f, "{:04}-{month:02}-{day:02}", year + era * 400 + i64::from(month <= 2))
    }
}

/// What was spent of one budget in one day, and what calls that are under way hold of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Sums {
    /// In millionths.
    #[serde(rename = "spent_micros")]
    pub spent: u64,
    /// In millionths.
    #[serde(rename = "held_micros")]
    pub held: u64,
}

impl Sums {
    /// Whether so much more can be held of a day's budget. A sum that cannot be counted is not below any limit.
    pub fn fits(self, asked: u64, limit: Option<u64>) -> bool {
        let all = self.spent.checked_add(self.held).and_then(|all| all.checked_add(asked));
        all.is_some_and(|all| all <= limit.unwrap_or(MOST_SUM).min(MOST_SUM))
    }

    /// What is left of a day's budget.
    pub fn left(self, limit: u64) -> u64 {
        limit.saturating_sub(self.spent.saturating_add(self.held))
    }

    /// Holds so much, once it fits.
    #[must_use]
    pub fn hold(self, asked: u64) -> Self {
        Self { held: self.held.saturating_add(asked).min(MOST_SUM), ..self }
    }

    /// Gives so much back of what is held, and takes note of what was spent. What was spent and nobody held can make
    /// the sum more than is counted: it then stays at the most, and nothing fits any more.
    #[must_use]
    pub fn settle(self, given_back: u64, spent: u64) -> Self {
        Self {
            spent: self.spent.saturating_add(spent).min(MOST_SUM),
            held: self.held.saturating_sub(given_back),
        }
    }
}

/// How much one call may spend, and who says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// Its tool, which declares what it costs at most.
    Declared(u64),
    /// The operator.
    Budget(u64),
    /// Nobody, though what is spent in a day is bounded: then nothing.
    Undeclared,
}

impl Bound {
    /// In millionths.
    pub fn micros(self) -> u64 {
        match self {
            Self::Declared(micros) | Self::Budget(micros) => micros,
            Self::Undeclared => 0,
        }
    }
}

/// What budgets mean for one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Terms {
    /// What it may spend; anything where absent.
    pub bound: Option<Bound>,
    /// What may be spent in a day by all callers, by its caller, and by its user.
    pub days: [Option<u64>; 3],
}

impl Terms {
    /// The terms of a call whose tool declares this, by what all callers, its own and its user may spend.
    pub fn of(declared: Option<u64>, allowances: [Allowance; 3]) -> Self {
        let days = allowances.map(|allowance| allowance.day);
        let call = allowances.iter().filter_map(|allowance| allowance.call).min();
        let bound = match (declared, call) {
            (Some(declared), Some(call)) if call < declared => Some(Bound::Budget(call)),
            (Some(declared), Some(_) | None) => Some(Bound::Declared(declared)),
            (None, Some(call)) => Some(Bound::Budget(call)),
            (None, None) if days.iter().any(Option::is_some) => Some(Bound::Undeclared),
            (None, None) => None,
        };
        Self { bound, days }
    }

    /// What is to be held for the call once so much of it is spent: nothing where no day is bounded, or it can spend
    /// nothing and its agent did not either.
    pub fn hold(&self, spent: u64, told: bool) -> Option<Hold> {
        let micros = self.bound.map_or(0, Bound::micros).saturating_sub(spent);
        let concerns = self.days.iter().any(Option::is_some) && (micros > 0 || told);
        concerns.then_some(Hold { micros, days: self.days })
    }
}

/// What is to be held for a call before it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hold {
    /// In millionths.
    pub micros: u64,
    /// What may be spent in a day by all callers, by its caller, and by its user.
    pub days: [Option<u64>; 3],
}

/// Too little is left of a budget for a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Short {
    /// Whose it is.
    pub budget: Budget,
    /// What may be spent in a day, in millionths.
    pub limit: u64,
    /// What is spent and held of it.
    pub sums: Sums,
    /// What was to be held, in millionths.
    pub asked: u64,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn of_any_calls_exactly_what_fits_is_held_and_books_balance(
            limit in 0u64..1000,
            asked in prop::collection::vec((0u64..100, 0u64..=100), 0..50),
        ) {
            let (mut sums, mut held, mut spent) = (Sums::default(), Vec::new(), 0);
            for (ask, share) in asked {
                let fits = sums.spent + sums.held + ask <= limit;
                prop_assert_eq!(sums.fits(ask, Some(limit)), fits);
                if fits {
                    sums = sums.hold(ask);
                    held.push((ask, ask * share / 100));
                }
                prop_assert!(sums.spent + sums.held <= limit);
                prop_assert_eq!(sums.held, held.iter().map(|(ask, _)| ask).sum::<u64>());
                // Half of them end at once, the others later.
                if held.len() % 2 == 0 && let Some((ask, cost)) = held.pop() {
                    sums = sums.settle(ask, cost);
                    spent += cost;
                }
            }
            for (ask, cost) in held {
                sums = sums.settle(ask, cost);
                spent += cost;
            }
            prop_assert_eq!(sums, Sums { spent, held: 0 });
        }
    }

    #[test]
    fn a_sum_that_cannot_be_counted_fits_nowhere_and_never_begins_anew() {
        let full = Sums { spent: MOST_SUM, held: 0 };
        assert!(full.fits(0, None) && !full.fits(1, None));
        assert!(!Sums { spent: u64::MAX, held: u64::MAX }.fits(0, None));
        assert_eq!(full.settle(0, u64::MAX), full);
    }

    #[test]
    fn the_strictest_word_bounds_a_call() {
        let call = |call| Allowance { call: Some(call), day: None };
        let day = Allowance { call: None, day: Some(9) };
        let none = Allowance::default();
        let bound = |declared, allowances| Terms::of(declared, allowances).bound;
        assert_eq!(bound(None, [none; 3]), None);
        assert_eq!(bound(Some(5), [none; 3]), Some(Bound::Declared(5)));
        assert_eq!(bound(Some(5), [call(7), call(3), none]), Some(Bound::Budget(3)));
        assert_eq!(bound(None, [call(7), none, call(2)]), Some(Bound::Budget(2)));
        assert_eq!(bound(None, [none, day, none]), Some(Bound::Undeclared));
    }

    #[test]
    fn a_call_that_no_day_bounds_or_that_can_spend_nothing_holds_nothing() {
        let day = Allowance { call: None, day: Some(9) };
        let none = Allowance::default();
        let hold = |declared, all, spent, told| Terms::of(declared, [all, none, none]).hold(spent, told);
        assert_eq!(hold(Some(5), none, 0, true), None);
        assert_eq!(hold(None, day, 0, false), None);
        assert_eq!(hold(Some(0), day, 0, false), None);
        assert_eq!(hold(Some(5), day, 2, false).unwrap().micros, 3);
        assert_eq!(hold(Some(5), day, 7, false), None);
        assert_eq!(hold(None, day, 0, true).unwrap().micros, 0);
    }

    #[test]
    fn a_day_ends_at_midnight_before_1970_too() {
        let noon = Timestamp(1_700_006_400_000 - 1);
        assert_eq!(Day::of(noon), Day(19_675));
        assert_eq!(Day::of(noon).ends(), Timestamp(1_700_006_400_000));
        assert_eq!(Day::of(Timestamp(1_700_006_400_000)), Day(19_676));
        assert_eq!(Day::of(Timestamp(-1)), Day(-1));
        let shown = [-1, 0, 59, 789, 11_016, 11_017, 19_675].map(|day| Day(day).to_string());
        let days = [
            "1969-12-31",
            "1970-01-01",
            "1970-03-01",
            "1972-02-29",
            "2000-02-29",
            "2000-03-01",
            "2023-11-14",
        ];
        assert_eq!(shown, days);
    }
}
