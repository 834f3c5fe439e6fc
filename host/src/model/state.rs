//! Where a run stands, and which events take it where: one pure function, used live and in recovery.

use std::fmt;

use serde::Serialize;

use super::probe::Finding;

/// The state of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// A process drives it.
    Running,
    /// It waits for its next attempt: a process does, or nobody where it is made in the background.
    BackingOff,
    /// It did what was asked.
    Completed,
    /// It did not, and left nothing behind.
    Failed,
    /// Its time was over before it did, and it left nothing behind.
    TimedOut,
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
    /// Part of it was done when its time was over.
    Time,
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
    /// It is to be made in the background: it came into being so, or its key came again and asks for that.
    Queued,
    /// A worker took it up, and its next attempt began.
    Driven,
    /// Its attempt succeeded.
    Completed,
    /// Its attempt failed and left nothing behind.
    Failed,
    /// Its time is over, and nothing was left behind.
    TimedOut,
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
    /// Its plugin was asked whether it happened.
    Probed(Finding),
}

/// Every state.
const STATES: [RunState; 12] = [
    RunState::Running,
    RunState::BackingOff,
    RunState::Completed,
    RunState::Failed,
    RunState::TimedOut,
    RunState::Suspended(Reason::HalfDone),
    RunState::Suspended(Reason::Unknown),
    RunState::Suspended(Reason::Time),
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
        self.after(event).ok_or(NotAllowed { state: self, event })
    }

    fn after(self, event: Event) -> Option<Self> {
        // While it waits for its next attempt, it may be withdrawn, or find that it can have none.
        let at_work = matches!(self, Self::Running | Self::BackingOff);
        let known = matches!(
            self,
            Self::Failed
                | Self::TimedOut
                | Self::Suspended(Reason::HalfDone | Reason::Unknown | Reason::Time)
        );
        match event {
            Event::Began => None,
            Event::Completed => matches!(self, Self::Running | Self::RollingBack).then_some(Self::Completed),
            Event::Failed => at_work.then_some(Self::Failed),
            Event::TimedOut => at_work.then_some(Self::TimedOut),
            // Of what was to be taken back, and of which nothing was touched, it is as it was.
            Event::Suspended(reason) => {
                let may = self == Self::RollingBack || (at_work && reason != Reason::NotUndone);
                may.then_some(Self::Suspended(reason))
            }
            Event::BackedOff => (self == Self::Running).then_some(Self::BackingOff),
            Event::Retried | Event::Driven => (self == Self::BackingOff).then_some(Self::Running),
            Event::Adopted if self == Self::RollingBack => Some(self),
            Event::Adopted => at_work.then_some(Self::Running),
            Event::Rearmed => (known || self == Self::Suspended(Reason::Poison)).then_some(Self::Running),
            Event::Queued => (known || self == Self::Suspended(Reason::Poison)).then_some(Self::BackingOff),
            // Whatever became of it, and as often as it takes: what was undone once is not there the next time.
            Event::RollbackBegan => {
                matches!(self, Self::Completed | Self::Suspended(_)).then_some(Self::RollingBack)
            }
            Event::RolledBack => (self == Self::RollingBack).then_some(Self::RolledBack),
            // Of what had failed an answer may come late and tell that it was done.
            Event::DecidedHappened => {
                matches!(self, Self::Suspended(_) | Self::Failed | Self::TimedOut).then_some(Self::Completed)
            }
            Event::DecidedDidNot => {
                matches!(self, Self::Suspended(Reason::Unknown | Reason::Poison)).then_some(Self::Failed)
            }
            // It waits on until its key comes: what is to be tried again may not be there to be tried.
            Event::DecidedAgain => known.then_some(self),
            // As long as a process drives the run, that one settles it.
            Event::Probed(_) if self == Self::Running => Some(self),
            Event::Probed(finding) => (self == Self::Suspended(Reason::Unknown)).then_some(match finding {
                Finding::Happened => Self::Completed,
                Finding::DidNot => Self::Failed,
                Finding::Unknown | Finding::NoAnswer => self,
            }),
        }
    }

    /// Whether nothing more happens unless somebody asks: the key's time runs from here.
    pub fn ended(self) -> bool {
        match self {
            Self::Completed | Self::Failed | Self::TimedOut | Self::RolledBack => true,
            Self::Running | Self::BackingOff | Self::Suspended(_) | Self::RollingBack => false,
        }
    }

    /// Whether a process drives it, or one will by itself.
    pub fn under_way(self) -> bool {
        match self {
            Self::Running | Self::BackingOff | Self::RollingBack => true,
            Self::Completed | Self::Failed | Self::TimedOut | Self::Suspended(_) | Self::RolledBack => false,
        }
    }

    /// The word that is stored and shown.
    pub fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::BackingOff => "backing_off",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::Suspended(Reason::HalfDone) => "suspended: half_done",
            Self::Suspended(Reason::Unknown) => "suspended: unknown",
            Self::Suspended(Reason::Time) => "suspended: time",
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
            Self::Failed | Self::TimedOut => Standing::Failed,
            Self::Suspended(
                Reason::HalfDone | Reason::Unknown | Reason::Time | Reason::Poison | Reason::NotUndone,
            ) => Standing::Suspended,
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
            Self::Failed
            | Self::TimedOut
            | Self::Suspended(Reason::HalfDone | Reason::Time | Reason::Poison) => "failed",
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
            Self::Queued => "queued",
            Self::Driven => "driven",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::Suspended(Reason::HalfDone) => "suspended: half_done",
            Self::Suspended(Reason::Unknown) => "suspended: unknown",
            Self::Suspended(Reason::Time) => "suspended: time",
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
            Self::Probed(Finding::Happened) => "probed: happened",
            Self::Probed(Finding::DidNot) => "probed: did-not",
            Self::Probed(Finding::Unknown) => "probed: unknown",
            Self::Probed(Finding::NoAnswer) => "probed: no answer",
        }
    }
}

/// Every event.
const EVENTS: [Event; 24] = [
    Event::Began,
    Event::Queued,
    Event::Driven,
    Event::Completed,
    Event::Failed,
    Event::TimedOut,
    Event::Suspended(Reason::HalfDone),
    Event::Suspended(Reason::Unknown),
    Event::Suspended(Reason::Time),
    Event::Suspended(Reason::Poison),
    Event::Suspended(Reason::NotUndone),
    Event::BackedOff,
    Event::Retried,
    Event::Rearmed,
    Event::Adopted,
    Event::DecidedHappened,
    Event::DecidedDidNot,
    Event::DecidedAgain,
    Event::RollbackBegan,
    Event::RolledBack,
    Event::Probed(Finding::Happened),
    Event::Probed(Finding::DidNot),
    Event::Probed(Finding::Unknown),
    Event::Probed(Finding::NoAnswer),
];

/// Where a run stood before it was begun to be taken back the last time, by the words of its events in order.
pub fn before_rollback<'a>(events: impl Iterator<Item = &'a str>) -> Option<RunState> {
    // As one that ended, which may be queued.
    let (mut state, mut before) = (RunState::Failed, None);
    for word in events {
        let event = *EVENTS.iter().find(|event| event.word() == word)?;
        if event == Event::RollbackBegan {
            before = Some(state);
        }
        state = if event == Event::Began { RunState::Running } else { state.apply(event).ok()? };
    }
    before
}

/// Whether the last that a person said of a run is that it may be tried again, by the words of its events in order. That
/// it was to be taken back and nothing of it was touched changes nothing.
pub fn may_be_tried_again<'a>(events: impl Iterator<Item = &'a str>) -> bool {
    let (mut said, mut rolling_back) = (false, false);
    for word in events {
        if word == Event::RollbackBegan.word() {
            rolling_back = true;
        } else if !rolling_back {
            said = word == Event::DecidedAgain.word();
        } else if word != Event::Adopted.word() {
            rolling_back = false;
        }
    }
    said
}

/// How many attempts took their process down, by the words of a run's events in order.
pub fn deaths<'a>(events: impl Iterator<Item = &'a str>) -> u32 {
    let begins = [Event::Began, Event::Rearmed, Event::Retried, Event::Driven].map(Event::word);
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
        let refused = RunState::Suspended(Reason::HalfDone).apply(Event::DecidedDidNot).unwrap_err();
        assert_eq!(refused.to_string(), "a run that is suspended: half_done cannot be decided: did-not");
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
            [
                "suspended: half_done",
                "suspended: unknown",
                "suspended: time",
                "suspended: poison",
                "suspended: not_undone"
            ]
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
    fn a_run_in_the_background_waits_for_a_worker_and_may_run_out_of_time_meanwhile() {
        let queued = RunState::Failed.apply(Event::Queued).unwrap();
        assert_eq!(queued, RunState::BackingOff);
        assert_eq!(queued.apply(Event::Driven), Ok(RunState::Running));
        assert_eq!(queued.apply(Event::TimedOut), Ok(RunState::TimedOut));
        assert_eq!(queued.apply(Event::Suspended(Reason::Time)), Ok(RunState::Suspended(Reason::Time)));
        assert_eq!(RunState::TimedOut.apply(Event::Rearmed), Ok(RunState::Running));
        for event in [Event::Queued, Event::Driven] {
            assert!(RunState::Completed.apply(event).is_err() && RunState::Running.apply(event).is_err());
        }
        assert_eq!(
            before_rollback("queued, driven, backed_off, driven, completed, rolling_back".split(", ")),
            Some(RunState::Completed)
        );
    }

    #[test]
    fn a_run_of_which_nothing_was_taken_back_is_as_it_was() {
        for (before, event) in [
            (RunState::Completed, Event::Completed),
            (RunState::Suspended(Reason::Unknown), Event::Suspended(Reason::Unknown)),
        ] {
            let rolling_back = before.apply(Event::RollbackBegan).unwrap();
            assert_eq!(rolling_back.apply(event), Ok(before));
        }
        let before = |events: &str| before_rollback(events.split(", "));
        assert_eq!(before("began, completed, rolling_back"), Some(RunState::Completed));
        assert_eq!(
            before("began, backed_off, retried, suspended: unknown, decided: again, rolling_back, adopted"),
            Some(RunState::Suspended(Reason::Unknown))
        );
        assert_eq!(
            before("began, completed, rolling_back, suspended: not_undone, rolling_back"),
            Some(RunState::Suspended(Reason::NotUndone))
        );
        assert_eq!(before("began, completed"), None);
        assert_eq!(before("began, lost, rolling_back"), None);
    }

    #[test]
    fn that_a_run_may_be_tried_again_stands_until_something_else_happens_to_it() {
        let again = |events: &str| may_be_tried_again(events.split(", "));
        assert!(again("began, suspended: unknown, decided: again"));
        assert!(again("began, suspended: unknown, decided: again, rolling_back, suspended: unknown"));
        assert!(again(
            "began, suspended: unknown, decided: again, rolling_back, adopted, suspended: unknown"
        ));
        assert!(!again("began, suspended: unknown, rolling_back, suspended: unknown"));
        assert!(!again("began, suspended: unknown, decided: again, rearmed, suspended: unknown"));
    }

    #[test]
    fn attempts_that_were_at_work_when_their_process_died_are_counted() {
        let counted = |events: &str| deaths(events.split(' '));
        assert_eq!(counted("began completed"), 0);
        assert_eq!(counted("began adopted failed rearmed adopted failed"), 2);
        assert_eq!(counted("began backed_off adopted failed"), 0);
        assert_eq!(counted("began backed_off retried adopted adopted failed"), 1);
        assert_eq!(counted("queued driven adopted backed_off driven adopted backed_off driven completed"), 2);
    }

    #[test]
    fn words_read_back() {
        for state in [RunState::Running, RunState::Failed, RunState::Suspended(Reason::Unknown)] {
            assert_eq!(RunState::from_word(state.word()), Some(state));
        }
        assert_eq!(RunState::from_word("lost"), None);
    }
}
