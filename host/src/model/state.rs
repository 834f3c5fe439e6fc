//! Where a run stands, and which events take it where: one pure function, used live and in recovery.

use std::fmt;

use serde::Serialize;

/// The state of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// A process drives it.
    Running,
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
const STATES: [RunState; 8] = [
    RunState::Running,
    RunState::Completed,
    RunState::Failed,
    RunState::Suspended(Reason::HalfDone),
    RunState::Suspended(Reason::Unknown),
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
            (Self::Running, Event::Failed) => Ok(Self::Failed),
            (Self::Running, Event::Suspended(reason @ (Reason::HalfDone | Reason::Unknown))) => {
                Ok(Self::Suspended(reason))
            }
            (Self::Running, Event::Adopted) => Ok(Self::Running),
            (Self::Failed | Self::Suspended(Reason::HalfDone | Reason::Unknown), Event::Rearmed) => {
                Ok(Self::Running)
            }
            // Whatever became of it, and as often as it takes: what was undone once is not there the next time.
            (Self::Completed | Self::Suspended(_), Event::RollbackBegan) => Ok(Self::RollingBack),
            (Self::RollingBack, Event::Adopted) => Ok(Self::RollingBack),
            (Self::RollingBack, Event::RolledBack) => Ok(Self::RolledBack),
            (Self::RollingBack, Event::Suspended(reason @ Reason::NotUndone)) => Ok(Self::Suspended(reason)),
            (Self::Suspended(_), Event::DecidedHappened) => Ok(Self::Completed),
            (Self::Suspended(Reason::Unknown), Event::DecidedDidNot) => Ok(Self::Failed),
            // It waits on until its key comes: what is to be tried again may not be there to be tried.
            (Self::Suspended(reason @ (Reason::HalfDone | Reason::Unknown)), Event::DecidedAgain) => {
                Ok(Self::Suspended(reason))
            }
            (
                Self::Running
                | Self::Completed
                | Self::Failed
                | Self::Suspended(_)
                | Self::RollingBack
                | Self::RolledBack,
                Event::Began
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
            Self::Running | Self::Suspended(_) | Self::RollingBack => false,
        }
    }

    /// The word that is stored and shown.
    pub fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Suspended(Reason::HalfDone) => "suspended: half_done",
            Self::Suspended(Reason::Unknown) => "suspended: unknown",
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
            Self::Running | Self::RollingBack => Standing::Running,
            Self::RolledBack => Standing::RolledBack,
            Self::Completed => Standing::Completed,
            Self::Failed => Standing::Failed,
            Self::Suspended(Reason::HalfDone | Reason::Unknown | Reason::NotUndone) => Standing::Suspended,
        }
    }

    /// What a lone call's step is called in this state; one that is taken back was completed, at least in part.
    pub fn step_word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed | Self::RollingBack | Self::RolledBack | Self::Suspended(Reason::NotUndone) => {
                "completed"
            }
            Self::Failed | Self::Suspended(Reason::HalfDone) => "failed",
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
        assert_eq!(suspended, ["suspended: half_done", "suspended: unknown", "suspended: not_undone"]);
    }

    #[test]
    fn words_read_back() {
        for state in [RunState::Running, RunState::Failed, RunState::Suspended(Reason::Unknown)] {
            assert_eq!(RunState::from_word(state.word()), Some(state));
        }
        assert_eq!(RunState::from_word("lost"), None);
    }
}
