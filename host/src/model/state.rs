//! Where a run stands, and which events take it where: one pure function, used live and in recovery.

use std::fmt;

use serde::Serialize;

/// The state of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// A process drives it.
    Running,
    /// A process drives it, and waits before the next attempt.
    BackingOff,
    /// It did what was asked.
    Completed,
    /// It did not, and left nothing behind.
    Failed,
    /// It waits for a person.
    Suspended(Reason),
    /// A process takes back what it did.
    RollingBack,
    /// What it did is undone, all of it.
    RolledBack,
}

/// Why a run waits for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Part of it was done.
    HalfDone,
    /// Something may have been done.
    Unknown,
    /// Its attempts took the process down.
    Poison,
    /// It was to be taken back, and something of it is left.
    NotUndone,
}

/// Where a run stands, whatever the reason: what a list can be narrowed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// A process drives it.
    Running,
    /// It did what was asked.
    Completed,
    /// It did not, and left nothing behind.
    Failed,
    /// It waits for a person.
    Suspended,
    /// What it did is undone.
    RolledBack,
}

/// What happens to a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// It came into being, and its first attempt with it.
    Began,
    /// Its attempt succeeded.
    Completed,
    /// Its attempt failed and left nothing behind.
    Failed,
    /// Its attempt left something that only a person can settle.
    Suspended(Reason),
    /// Its attempt failed, and another follows.
    BackedOff,
    /// That other attempt.
    Retried,
    /// Its key came again and its end allows another attempt.
    Rearmed,
    /// Another process took it from one that died.
    Adopted,
    /// A person found that it happened.
    DecidedHappened,
    /// A person found that it did not.
    DecidedDidNot,
    /// A person lets it be tried again; its key then re-arms it.
    DecidedAgain,
    /// A person lets it be taken back.
    RollbackBegan,
    /// All that it did is undone.
    RolledBack,
}

/// Every state.
const STATES: [RunState; 10] = [
    RunState::Running,
    RunState::BackingOff,
    RunState::Completed,
    RunState::Failed,
    RunState::Suspended(Reason::HalfDone),
    RunState::Suspended(Reason::Unknown),
    RunState::Suspended(Reason::Poison),
    RunState::Suspended(Reason::NotUndone),
    RunState::RollingBack,
    RunState::RolledBack,
];

impl RunState {
    /// The state after an event.
    ///
    /// # Errors
    /// Where the event cannot happen in this state.
    pub fn apply(self, event: Event) -> Result<Self, NotAllowed> {
        match (self, event) {
            (Self::Running, Event::Completed) => Ok(Self::Completed),
            // While it waits for its next attempt, it may be withdrawn, or find that it can have none.
            (Self::Running | Self::BackingOff, Event::Failed) => Ok(Self::Failed),
            (
                Self::Running | Self::BackingOff,
                Event::Suspended(reason @ (Reason::HalfDone | Reason::Unknown | Reason::Poison)),
            ) => Ok(Self::Suspended(reason)),
            (Self::Running, Event::BackedOff) => Ok(Self::BackingOff),
            (Self::BackingOff, Event::Retried) => Ok(Self::Running),
            (Self::Running | Self::BackingOff, Event::Adopted) => Ok(Self::Running),
            (
                Self::Failed | Self::Suspended(Reason::HalfDone | Reason::Unknown | Reason::Poison),
                Event::Rearmed,
            ) => Ok(Self::Running),
            // Whatever became of it, and as often as it takes: what was undone once is not there the next time.
            (Self::Completed | Self::Suspended(_), Event::RollbackBegan) => Ok(Self::RollingBack),
            (Self::RollingBack, Event::Adopted) => Ok(Self::RollingBack),
            (Self::RollingBack, Event::RolledBack) => Ok(Self::RolledBack),
            (Self::RollingBack, Event::Suspended(reason @ Reason::NotUndone)) => Ok(Self::Suspended(reason)),
            (Self::Suspended(_), Event::DecidedHappened) => Ok(Self::Completed),
            (Self::Suspended(Reason::Unknown | Reason::Poison), Event::DecidedDidNot) => Ok(Self::Failed),
            // It waits on until its key comes: what is to be tried again may not be there to be tried.
            (Self::Suspended(reason @ (Reason::HalfDone | Reason::Unknown)), Event::DecidedAgain) => {
                Ok(Self::Suspended(reason))
            }
            (
                Self::Running
                | Self::BackingOff
                | Self::Completed
                | Self::Failed
                | Self::Suspended(_)
                | Self::RollingBack
                | Self::RolledBack,
                Event::Began
                | Event::BackedOff
                | Event::Retried
                | Event::Completed
                | Event::Failed
                | Event::Suspended(_)
                | Event::Rearmed
                | Event::Adopted
                | Event::DecidedHappened
                | Event::DecidedDidNot
                | Event::DecidedAgain
                | Event::RollbackBegan
                | Event::RolledBack,
            ) => Err(NotAllowed { state: self, event }),
        }
    }

    /// Whether nothing more happens unless somebody asks: the key's time runs from here.
    pub fn ended(self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::RolledBack => true,
            Self::Running | Self::BackingOff | Self::Suspended(_) | Self::RollingBack => false,
        }
    }

    /// Whether a process drives it.
    pub fn under_way(self) -> bool {
        match self {
            Self::Running | Self::BackingOff | Self::RollingBack => true,
            Self::Completed | Self::Failed | Self::Suspended(_) | Self::RolledBack => false,
        }
    }

    /// The word that is stored and shown.
    pub fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::BackingOff => "backing_off",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Suspended(Reason::HalfDone) => "suspended: half_done",
            Self::Suspended(Reason::Unknown) => "suspended: unknown",
            Self::Suspended(Reason::Poison) => "suspended: poison",
            Self::Suspended(Reason::NotUndone) => "suspended: not_undone",
            Self::RollingBack => "rolling_back",
            Self::RolledBack => "rolled_back",
        }
    }

    /// The state that was stored as this word.
    pub fn from_word(word: &str) -> Option<Self> {
        STATES.into_iter().find(|state| state.word() == word)
    }

    /// The same, the reason apart.
    pub fn standing(self) -> Standing {
        match self {
            Self::Running | Self::BackingOff | Self::RollingBack => Standing::Running,
            Self::RolledBack => Standing::RolledBack,
            Self::Completed => Standing::Completed,
            Self::Failed => Standing::Failed,
            Self::Suspended(Reason::HalfDone | Reason::Unknown | Reason::Poison | Reason::NotUndone) => {
                Standing::Suspended
            }
        }
    }

    /// What a lone call's step is called in this state; one that is taken back was completed, at least in part.
    pub fn step_word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::BackingOff => "pending",
            Self::Completed | Self::RollingBack | Self::RolledBack | Self::Suspended(Reason::NotUndone) => {
                "completed"
            }
            Self::Failed | Self::Suspended(Reason::HalfDone | Reason::Poison) => "failed",
            Self::Suspended(Reason::Unknown) => "unknown",
        }
    }
}

impl Standing {
    /// The states in which a run stands so.
    pub fn states(self) -> impl Iterator<Item = RunState> {
        STATES.into_iter().filter(move |state| state.standing() == self)
    }
}

impl Event {
    /// The word that is stored and shown.
    pub fn word(self) -> &'static str {
        match self {
            Self::Began => "began",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Suspended(Reason::HalfDone) => "suspended: half_done",
            Self::Suspended(Reason::Unknown) => "suspended: unknown",
            Self::Suspended(Reason::NotUndone) => "suspended: not_undone",
            Self::Suspended(Reason::Poison) => "suspended: poison",
            Self::BackedOff => "backed_off",
            Self::Retried => "retried",
            Self::Rearmed => "rearmed",
            Self::Adopted => "adopted",
            Self::DecidedHappened => "decided: happened",
            Self::DecidedDidNot => "decided: did-not",
            Self::DecidedAgain => "decided: again",
            Self::RollbackBegan => "rolling_back",
            Self::RolledBack => "rolled_back",
        }
    }
}

/// How many attempts took their process down, by the words of a run's events in order.
pub fn deaths<'a>(events: impl Iterator<Item = &'a str>) -> u32 {
    let begins = [Event::Began, Event::Rearmed, Event::Retried].map(Event::word);
    let (mut deaths, mut at_work) = (0, false);
    for event in events {
        if event == Event::Adopted.word() {
            // Whoever takes a run over may die too; no attempt of it was at work then.
            deaths += u32::from(at_work);
            at_work = false;
        } else {
            at_work = begins.contains(&event);
        }
    }
    deaths
}

/// The event cannot happen in this state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAllowed {
    /// Where the run stands.
    pub state: RunState,
    /// What was to happen.
    pub event: Event,
}

impl fmt::Display for NotAllowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a run that is {} cannot be {}", self.state.word(), self.event.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_completed_run_stays_completed() {
        for event in [Event::Completed, Event::Failed, Event::Rearmed, Event::Adopted, Event::DecidedAgain] {
            assert!(RunState::Completed.apply(event).is_err());
        }
    }

    #[test]
    fn a_half_done_run_cannot_be_declared_undone() {
        assert!(RunState::Suspended(Reason::HalfDone).apply(Event::DecidedDidNot).is_err());
    }

    #[test]
    fn what_was_begun_to_be_taken_back_is_never_run_again() {
        let left = RunState::Suspended(Reason::NotUndone);
        for event in [Event::Rearmed, Event::DecidedAgain, Event::DecidedDidNot] {
            assert!(left.apply(event).is_err() && RunState::RollingBack.apply(event).is_err());
        }
        assert_eq!(left.apply(Event::RollbackBegan), Ok(RunState::RollingBack));
        assert_eq!(left.apply(Event::DecidedHappened), Ok(RunState::Completed));
    }

    #[test]
    fn only_what_may_have_left_something_is_taken_back() {
        for state in [RunState::Running, RunState::Failed, RunState::RollingBack, RunState::RolledBack] {
            assert!(state.apply(Event::RollbackBegan).is_err());
        }
    }

    #[test]
    fn who_waits_for_a_person_stands_so_whatever_the_reason() {
        let suspended: Vec<_> = Standing::Suspended.states().map(RunState::word).collect();
        assert_eq!(
            suspended,
            ["suspended: half_done", "suspended: unknown", "suspended: poison", "suspended: not_undone"]
        );
        let driven: Vec<_> = Standing::Running.states().map(RunState::word).collect();
        assert_eq!(driven, ["running", "backing_off", "rolling_back"]);
        assert!(Standing::Running.states().all(RunState::under_way));
    }

    #[test]
    fn a_run_that_waits_for_its_next_attempt_goes_on_or_comes_to_an_end_that_is_none_of_success() {
        assert_eq!(RunState::Running.apply(Event::BackedOff), Ok(RunState::BackingOff));
        assert_eq!(RunState::BackingOff.apply(Event::Retried), Ok(RunState::Running));
        assert_eq!(RunState::BackingOff.apply(Event::Failed), Ok(RunState::Failed));
        for event in [Event::Completed, Event::BackedOff, Event::Rearmed, Event::DecidedAgain] {
            assert!(RunState::BackingOff.apply(event).is_err());
        }
    }

    #[test]
    fn attempts_that_were_at_work_when_their_process_died_are_counted() {
        let counted = |events: &str| deaths(events.split(' '));
        assert_eq!(counted("began completed"), 0);
        assert_eq!(counted("began adopted failed rearmed adopted failed"), 2);
        assert_eq!(counted("began backed_off adopted failed"), 0);
        assert_eq!(counted("began backed_off retried adopted adopted failed"), 1);
    }

    #[test]
    fn words_read_back() {
        for state in [RunState::Running, RunState::Failed, RunState::Suspended(Reason::Unknown)] {
            assert_eq!(RunState::from_word(state.word()), Some(state));
        }
        assert_eq!(RunState::from_word("lost"), None);
    }
}
