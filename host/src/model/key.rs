//! Keys: how one action is asked for once, and what a key that is already there means.

use std::fmt;

use super::id::{CallerName, Digest, UserName};
use super::state::RunState;

/// An idempotency key, 1 to 255 visible ASCII characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key(String);

impl Key {
    /// Reads a key that a caller gave.
    ///
    /// # Errors
    /// Where it is empty, longer than 255 characters, or holds anything but visible ASCII.
    pub fn parse(text: &str) -> Result<Self, NotAKey> {
        let visible = text.bytes().all(|byte| byte.is_ascii_graphic());
        if visible && (1..=255).contains(&text.len()) {
            Ok(Self(text.to_owned()))
        } else {
            Err(NotAKey { length: text.len(), place: text.find(|c: char| !c.is_ascii_graphic()) })
        }
    }

    /// The key's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What makes the key unique: the same text of another caller, or for another user, is another key.
    pub fn scope(&self, caller: &CallerName, user: Option<&UserName>) -> Digest {
        let (caller, text) = (caller.0.as_bytes(), self.0.as_bytes());
        match user {
            None => Digest::of_parts(&[b"key", caller, text]),
            Some(user) => Digest::of_parts(&[b"key", caller, user.as_str().as_bytes(), text]),
        }
    }
}

/// The text cannot be a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotAKey {
    length: usize,
    place: Option<usize>,
}

impl fmt::Display for NotAKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key has 1 to 255 visible ASCII characters and no spaces; this one ")?;
        match self.place {
            Some(place) => write!(f, "has something else at character {}", place + 1),
            None => write!(f, "has {} characters", self.length),
        }
    }
}

/// What the store knows of a key, as far as the decision needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// The action hash of the call that used it first.
    pub action: Digest,
    /// Where its run stands.
    pub state: RunState,
    /// Whether the run's end lets the key run it again.
    pub rearms: bool,
    /// Whether the process that drives the run is gone.
    pub orphaned: bool,
    /// Whether its time is over.
    pub expired: bool,
    /// Whether a tombstone still guards it.
    pub guarded: bool,
}

/// What a call with a known key gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Its time is over and nothing guards it: a first call.
    Fresh,
    /// The key belongs to another action.
    Reused,
    /// The result is gone, and a second execution would not be the same.
    Expired,
    /// The stored result.
    Replay,
    /// The same run goes on where it ended.
    Rearm,
    /// The run's process died: take the run over.
    Adopt,
    /// Somebody is at it.
    Wait,
}

impl Known {
    /// Decides; the same table for every door and every process.
    pub fn answer(&self, action: Digest) -> Answer {
        if self.expired && !self.guarded && self.state.ended() {
            return Answer::Fresh;
        }
        if self.action != action {
            return Answer::Reused;
        }
        match self.state {
            RunState::Running | RunState::BackingOff if self.orphaned => Answer::Adopt,
            RunState::Running | RunState::BackingOff => Answer::Wait,
            // Whoever takes it back says in the end what its key may do.
            RunState::RollingBack => Answer::Replay,
            RunState::Completed
            | RunState::Failed
            | RunState::TimedOut
            | RunState::Suspended(_)
            | RunState::RolledBack => {
                if self.expired && self.state.ended() {
                    Answer::Expired
                } else if self.rearms {
                    Answer::Rearm
                } else {
                    Answer::Replay
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::state::Reason;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn keys_are_visible_ascii_of_bounded_length() {
        assert!(Key::parse("k1").is_ok() && Key::parse(&"x".repeat(255)).is_ok());
        assert!(Key::parse("").is_err() && Key::parse(&"x".repeat(256)).is_err());
        assert_eq!(
            Key::parse("a b").unwrap_err().to_string(),
            "a key has 1 to 255 visible ASCII characters and no spaces; this one has something else at character 2"
        );
    }

    #[test]
    fn the_same_key_of_another_caller_or_user_is_another_key() {
        let key = |text: &str| Key::parse(text).unwrap();
        let (ann, bot) = (CallerName("ann".into()), CallerName("bot".into()));
        let (ada, eve): (UserName, UserName) = ("ada".parse().unwrap(), "eve".parse().unwrap());
        let scopes = [
            key("k").scope(&ann, None),
            key("k").scope(&bot, None),
            key("k").scope(&bot, Some(&ada)),
            key("k").scope(&bot, Some(&eve)),
            key("ada").scope(&bot, None),
            key("l").scope(&bot, Some(&ada)),
        ];
        let different: std::collections::HashSet<_> = scopes.iter().collect();
        assert_eq!(different.len(), scopes.len());
        assert_eq!(key("k").scope(&bot, Some(&ada)), scopes[2]);
    }

    fn known() -> impl Strategy<Value = Known> {
        let state = prop_oneof![
            Just(RunState::Running),
            Just(RunState::BackingOff),
            Just(RunState::Completed),
            Just(RunState::Failed),
            Just(RunState::TimedOut),
            Just(RunState::Suspended(Reason::Unknown)),
            Just(RunState::Suspended(Reason::HalfDone)),
            Just(RunState::Suspended(Reason::NotUndone)),
            Just(RunState::RollingBack),
            Just(RunState::RolledBack),
        ];
        let bit = any::<bool>;
        (bit(), state, bit(), bit(), bit(), bit()).prop_map(
            |(same, state, rearms, orphaned, expired, guarded)| Known {
                action: Digest([u8::from(same); 32]),
                state,
                rearms,
                orphaned,
                expired,
                guarded,
            },
        )
    }

    proptest! {
        #[test]
        fn another_action_never_runs_replays_or_waits_under_a_live_key(known in known()) {
            let answer = known.answer(Digest([1; 32]));
            if known.action != Digest([1; 32]) {
                prop_assert!(matches!(answer, Answer::Reused | Answer::Fresh));
            }
        }

        #[test]
        fn a_run_that_is_open_never_lets_its_key_lapse(known in known()) {
            if !known.state.ended() {
                prop_assert_ne!(known.answer(known.action), Answer::Fresh);
                prop_assert_ne!(known.answer(known.action), Answer::Expired);
            }
        }

        #[test]
        fn nothing_runs_again_but_what_re_arms_or_lost_its_process(known in known()) {
            match known.answer(known.action) {
                Answer::Rearm => prop_assert!(known.rearms && known.state != RunState::RollingBack),
                Answer::Adopt => prop_assert!(known.orphaned),
                Answer::Fresh => prop_assert!(known.expired && !known.guarded),
                Answer::Reused | Answer::Expired | Answer::Replay | Answer::Wait => {}
            }
        }
    }
}
