//! How one tool stands with one origin: whether it is asked at all, and how many retries it may still cost.

use super::breaker::{Breaker, Policy, Told};
use super::classify::Ended;
use super::clock::Timestamp;
use super::failure::Kind;
use super::id::ToolName;
use super::retry::Tokens;

/// How one tool stands with one origin.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Health {
    /// Whether it is asked.
    pub breaker: Breaker,
    /// What is left for retries.
    pub tokens: Tokens,
}

/// What an attempt did at one origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Met {
    /// The origin; empty for an attempt that sent nothing.
    pub origin: String,
    /// Whether it failed there: no answer, or one that says so.
    pub failed: bool,
    /// Whether the last of its requests did.
    pub last_failed: bool,
    /// Whether it was asked to slow down.
    pub slowed: bool,
}

/// What becomes of the tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Budget {
    /// Nothing.
    Stays,
    /// A success gives back.
    Gains,
    /// A retry is paid for.
    Pays,
}

/// What is told of one origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The origin.
    pub origin: String,
    /// How the attempt ended, as far as it goes.
    pub told: Told,
    /// Earlier attempts that went well and were not told of: when, and how many.
    pub before: Vec<(Timestamp, u32)>,
    /// What becomes of its tokens.
    pub budget: Budget,
}

/// What an attempt tells of the origins that its tool stands with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reports {
    /// The tool.
    pub tool: ToolName,
    /// The attempt's own number.
    pub by: u64,
    /// When breakers open.
    pub policy: Policy,
    /// Each origin once.
    pub list: Vec<Report>,
    /// When it ended.
    pub at: Timestamp,
}

/// Why a retry may not be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoRetry {
    /// The tokens are spent.
    Spent,
    /// The breaker is open: until then, or until an operator says otherwise.
    Open(Option<Timestamp>),
}

impl Health {
    /// Whether it is as if nothing had ever happened, so that it need not be kept.
    pub fn is_clear(&self) -> bool {
        self.breaker.is_clear() && self.tokens == Tokens::default()
    }

    /// Takes note of what an attempt tells.
    ///
    /// # Errors
    /// Where a retry was to be paid for and may not be; what is here is then of no use.
    pub fn hear(&mut self, report: &Report, by: u64, policy: &Policy, at: Timestamp) -> Result<(), NoRetry> {
        self.breaker.remember(&report.before);
        self.breaker.tell(policy, by, report.told, at);
        match report.budget {
            Budget::Stays => Ok(()),
            Budget::Gains => {
                self.tokens.give();
                Ok(())
            }
            Budget::Pays => match self.breaker.refuses(at) {
                Some(until) => Err(NoRetry::Open(until)),
                None if self.tokens.take() => Ok(()),
                None => Err(NoRetry::Spent),
            },
        }
    }
}

/// What the end of an attempt says of one of the origins that it met.
pub fn told(ended: &Ended, here: &Met, all: &[Met]) -> Told {
    let system = if here.failed { Told::Ill } else { Told::Nothing };
    match ended {
        // What replied all the same may have made do with another backend in the place of this one.
        Ended::Replied(_) if here.last_failed && all.iter().any(|met| !met.last_failed) => Told::Ill,
        Ended::Replied(_) => Told::Well,
        Ended::Declared(failure) => match failure.kind {
            Kind::Transient
            | Kind::UnknownOutcome
            | Kind::Fatal
            | Kind::Internal
            | Kind::Limit
            | Kind::Partial => system,
            Kind::InvalidInput
            | Kind::Rejected
            | Kind::Ambiguous
            | Kind::Denied
            | Kind::Throttled
            | Kind::Duplicate
            | Kind::Waiting => Told::Nothing,
        },
        Ended::Trapped(_) | Ended::BadOutput(_) | Ended::Limit(_) | Ended::LeftAlone { .. } => system,
        Ended::NoRoom(_)
        | Ended::StoreFailed(_)
        | Ended::Drifted(_)
        | Ended::Withdrawn
        | Ended::Interrupted => Told::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::model::failure::Failure;
    use crate::model::limits::{AttemptTime, Limit, Says};
    use crate::model::reply::Output;

    fn report(told: Told, budget: Budget) -> Report {
        Report { origin: "http://desk.test".into(), told, before: Vec::new(), budget }
    }

    fn hear(health: &mut Health, told: Told, budget: Budget) -> Result<(), NoRetry> {
        health.hear(&report(told, budget), 1, &Policy::default(), Timestamp(1_000_000))
    }

    #[test]
    fn a_failure_that_opens_the_breaker_is_not_retried() {
        let mut health = Health::default();
        for _ in 0..4 {
            assert_eq!(hear(&mut health, Told::Ill, Budget::Pays), Ok(()));
        }
        assert_eq!(
            hear(&mut health, Told::Ill, Budget::Pays),
            Err(NoRetry::Open(Some(Timestamp(1_030_000))))
        );
    }

    #[test]
    fn retries_end_when_they_are_paid_for_no_more() {
        let mut health = Health::default();
        for _ in 0..10 {
            assert_eq!(hear(&mut health, Told::Nothing, Budget::Pays), Ok(()));
        }
        assert_eq!(hear(&mut health, Told::Nothing, Budget::Pays), Err(NoRetry::Spent));
        (0..100).for_each(|_| assert_eq!(hear(&mut health, Told::Well, Budget::Gains), Ok(())));
        assert!(health.is_clear());
    }

    #[test]
    fn only_the_systems_failures_count() {
        let declared = |kind| Ended::Declared(Failure::new(kind, "X", "x"));
        let time = Limit::Time(AttemptTime { time: Duration::from_secs(1), says: Says::Limits });
        for (ended, where_it_failed) in [
            (Ended::Replied(Output::default()), Told::Well),
            (declared(Kind::Transient), Told::Ill),
            (declared(Kind::UnknownOutcome), Told::Ill),
            (declared(Kind::Throttled), Told::Nothing),
            (declared(Kind::Rejected), Told::Nothing),
            (declared(Kind::Denied), Told::Nothing),
            (declared(Kind::InvalidInput), Told::Nothing),
            (Ended::Limit(time), Told::Ill),
            (Ended::Trapped("x".into()), Told::Ill),
            (Ended::Withdrawn, Told::Nothing),
            (Ended::StoreFailed("x".into()), Told::Nothing),
            (Ended::LeftAlone { wait: None, log: "x".into() }, Told::Ill),
        ] {
            let (bad, good) = (met(true), met(false));
            assert_eq!(told(&ended, &bad, std::slice::from_ref(&bad)), where_it_failed, "{ended:?}");
            let well = if where_it_failed == Told::Well { Told::Well } else { Told::Nothing };
            assert_eq!(told(&ended, &good, std::slice::from_ref(&good)), well, "{ended:?}");
        }
    }

    fn met(failed: bool) -> Met {
        Met { origin: "http://desk.test".into(), failed, last_failed: failed, slowed: false }
    }

    #[test]
    fn whoever_made_do_with_another_backend_has_met_one_that_failed() {
        let replied = Ended::Replied(Output::default());
        let all = [met(true), met(false)];
        assert_eq!(told(&replied, &all[0], &all), Told::Ill);
        assert_eq!(told(&replied, &all[1], &all), Told::Well);
        let recovered = [Met { last_failed: false, ..met(true) }, met(false)];
        assert_eq!(told(&replied, &recovered[0], &recovered), Told::Well);
        // A failure that the tool takes for an answer is one.
        assert_eq!(told(&replied, &met(true), &[met(true)]), Told::Well);
    }
}
