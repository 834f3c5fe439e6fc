//! What becomes of a run by what its attempt means, and what its caller is told beside that.

use std::time::Duration;

use super::{NotPutBack, listed};
use crate::model::code;
use crate::model::effect::{Effect, EffectState};
use crate::model::failure::{Failure, Kind};
use crate::model::reply::Output;
use crate::model::state::{Event, Reason};

/// What becomes of the run.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// It did what was asked.
    Done(Output),
    /// It failed and left nothing that matters behind.
    Failed {
        /// Why.
        failure: Failure,
        /// Whether the key, given again, runs it again.
        rearms: bool,
    },
    /// Part of it was done, and it failed.
    Partial {
        /// Why.
        failure: Failure,
        /// Whether the key, given again, runs it again.
        rearms: bool,
    },
    /// It may have happened.
    Unknown {
        /// Why.
        failure: Failure,
        /// Whether the key, given again, runs it again.
        rearms: bool,
    },
    /// It took its process down again and again.
    Poisoned {
        /// Why.
        failure: Failure,
    },
}

impl Verdict {
    /// The event that the run is told.
    pub fn event(&self) -> Event {
        match self {
            Self::Done(_) => Event::Completed,
            Self::Failed { .. } => Event::Failed,
            Self::Partial { .. } => Event::Suspended(Reason::HalfDone),
            Self::Unknown { .. } => Event::Suspended(Reason::Unknown),
            Self::Poisoned { .. } => Event::Suspended(Reason::Poison),
        }
    }

    /// What came of it, where it did what was asked.
    pub fn output(&self) -> Option<&Output> {
        match self {
            Self::Done(output) => Some(output),
            Self::Failed { .. } | Self::Partial { .. } | Self::Unknown { .. } | Self::Poisoned { .. } => None,
        }
    }

    /// Why it did not do what was asked; none where it did.
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Done(_) => None,
            Self::Failed { failure, .. }
            | Self::Partial { failure, .. }
            | Self::Unknown { failure, .. }
            | Self::Poisoned { failure } => Some(failure),
        }
    }

    /// Says when asking again makes sense, where it does and nothing earlier is known; `throttled` where the wait is
    /// what stands against another attempt.
    #[must_use]
    pub fn later(mut self, wait: Duration, throttled: bool) -> Self {
        if let Self::Failed { failure, .. } = &mut self
            && failure.kind.retryable()
        {
            failure.retry_after = failure.retry_after.max(wait);
            if throttled {
                failure.kind = Kind::Throttled;
            }
        }
        self
    }

    /// Changes what is said of a call that failed and left nothing that matters behind.
    #[must_use]
    pub fn or_else(self, say: impl FnOnce(Failure) -> Failure) -> Self {
        match self {
            Self::Failed { failure, rearms } => Self::Failed { failure: say(failure), rearms },
            Self::Done(_) | Self::Partial { .. } | Self::Unknown { .. } | Self::Poisoned { .. } => self,
        }
    }

    /// Says which limit a request met, where its tool failed with that.
    #[must_use]
    pub fn slow(mut self, request: Option<String>) -> Self {
        let failure = match &mut self {
            Self::Failed { failure, .. } | Self::Partial { failure, .. } | Self::Unknown { failure, .. } => {
                failure
            }
            Self::Done(_) | Self::Poisoned { .. } => return self,
        };
        let of_the_system = match failure.kind {
            Kind::Transient | Kind::UnknownOutcome | Kind::Partial => true,
            Kind::InvalidInput
            | Kind::Rejected
            | Kind::Ambiguous
            | Kind::Denied
            | Kind::Throttled
            | Kind::Waiting
            | Kind::Limit
            | Kind::Fatal
            | Kind::Internal
            | Kind::Duplicate => false,
        };
        if let Some(request) = request.filter(|_| of_the_system) {
            failure.message.push_str("; ");
            failure.message.push_str(&request);
        }
        self
    }

    /// Says of each change that is left in a lent folder why it was not put back.
    #[must_use]
    pub fn explained(self, effects: &[Effect], left: &[NotPutBack]) -> Self {
        match self {
            Self::Partial { failure, rearms } if !left.is_empty() => {
                let done = listed(effects, EffectState::Done, left);
                Self::Partial { failure: failure.with_detail("done", done), rearms }
            }
            verdict @ (Self::Done(_)
            | Self::Failed { .. }
            | Self::Partial { .. }
            | Self::Unknown { .. }
            | Self::Poisoned { .. }) => verdict,
        }
    }

    /// What becomes of a run whose attempts took their process down so often.
    #[must_use]
    pub fn poisoned(self, deaths: u32) -> Self {
        let text = format!(
            "the process that ran the call ended {deaths} times before the call did; do not repeat it: a person decides \
             what becomes of it"
        );
        let mut failure = match self {
            Self::Failed { .. } | Self::Done(_) => Failure::new(Kind::Internal, code::INTERNAL, ""),
            Self::Partial { failure, .. } | Self::Unknown { failure, .. } | Self::Poisoned { failure } => {
                failure
            }
        };
        failure.message = text;
        Self::Poisoned { failure }
    }

    /// Tells the caller the key under which asking again is of use, where that is so.
    #[must_use]
    pub fn under(self, key: Option<&str>) -> Self {
        let Some(key) = key.filter(|_| self.rearms()) else { return self };
        match self {
            Self::Failed { failure, rearms } => {
                Self::Failed { failure: failure.with_detail("key", key), rearms }
            }
            Self::Partial { failure, rearms } => {
                Self::Partial { failure: failure.with_detail("key", key), rearms }
            }
            Self::Unknown { failure, rearms } => {
                Self::Unknown { failure: failure.with_detail("key", key), rearms }
            }
            Self::Done(_) | Self::Poisoned { .. } => self,
        }
    }

    /// Whether the key, given again, runs the same run again.
    pub fn rearms(&self) -> bool {
        match self {
            Self::Failed { rearms, .. } | Self::Partial { rearms, .. } | Self::Unknown { rearms, .. } => {
                *rearms
            }
            Self::Done(_) | Self::Poisoned { .. } => false,
        }
    }
}
