//! How it is found out whether a call took effect: how long its plugin may take to tell, and how often it is asked.

use std::time::Duration;

use serde::Serialize;

use super::state::{Event, RunState};

/// What came of asking a plugin whether a call took effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// It did.
    Happened,
    /// It did not.
    DidNot,
    /// Nobody can tell.
    Unknown,
    /// The plugin gave no answer.
    NoAnswer,
}

/// How a plugin is asked what became of a call of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// How often, where it gives no answer; never where this is nothing.
    pub tries: u32,
    /// How long one answer may take.
    pub time: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Self { tries: 5, time: Duration::from_secs(10) }
    }
}

impl Policy {
    /// How often it may still be asked about a run, by the words of the run's events in order. Where it said that nobody
    /// can tell, it is not asked again.
    pub fn left<'a>(&self, events: impl Iterator<Item = &'a str>) -> u32 {
        let begins = [Event::Began, Event::Driven, Event::Rearmed, Event::Retried].map(Event::word);
        let mut left = self.tries;
        for event in events {
            if begins.contains(&event) {
                left = self.tries;
            } else if event == Event::Probed(Finding::Unknown).word() {
                left = 0;
            } else if event == Event::Probed(Finding::NoAnswer).word() {
                left = left.saturating_sub(1);
            }
        }
        left
    }
}

impl Finding {
    /// Where a run goes of which nobody knew what became.
    pub fn settles(self, unknown: RunState) -> RunState {
        match self {
            Self::Happened => RunState::Completed,
            Self::DidNot => RunState::Failed,
            Self::Unknown | Self::NoAnswer => unknown,
        }
    }

    /// What was found, by the word of an event; none where it is another event.
    pub fn of_event(word: &str) -> Option<Self> {
        let all = [Self::Happened, Self::DidNot, Self::Unknown, Self::NoAnswer];
        all.into_iter().find(|finding| Event::Probed(*finding).word() == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tries_without_an_answer_are_counted_since_the_last_attempt_began() {
        let left = |events: &str| Policy { tries: 3, ..Policy::default() }.left(events.split(", "));
        assert_eq!(left("began, suspended: unknown"), 3);
        assert_eq!(left("began, probed: no answer, adopted, suspended: unknown, probed: no answer"), 1);
        assert_eq!(
            left("queued, driven, probed: no answer, suspended: unknown, rearmed, driven, adopted"),
            3
        );
        assert_eq!(
            left("queued, driven, probed: unknown, backed_off, driven, adopted, suspended: unknown"),
            3
        );
        assert_eq!(left("began, probed: no answer, probed: unknown, suspended: unknown"), 0);
        assert_eq!(left("began, probed: unknown, suspended: unknown, rearmed, suspended: unknown"), 3);
        // Whoever heard that it happened died before it could write the end down.
        assert_eq!(left("began, probed: happened, adopted, suspended: unknown"), 3);
        assert_eq!(left(&format!("began{}", ", probed: no answer".repeat(9))), 0);
    }
}
