//! Effects: requests that left the sandbox, and what became of them.

use serde::Serialize;

use super::id::Digest;
use super::manifest::Repeat;

/// What is known of an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectState {
    /// It may have happened.
    Open,
    /// It happened.
    Done,
    /// The backend answered that it will not.
    Refused,
    /// The backend answered that it did nothing, and might later.
    FailedClean,
    /// Nothing left the host.
    NotSent,
    /// It may have happened, and a person found that it did not.
    NotDone,
    /// It may have happened, and a person chose to go on without knowing.
    SetAside,
    /// What it had changed, or may have, is as it was before.
    PutBack,
}

impl EffectState {
    /// The word that is stored and shown.
    pub fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Done => "done",
            Self::Refused => "refused",
            Self::FailedClean => "failed_clean",
            Self::NotSent => "not_sent",
            Self::NotDone => "not_done",
            Self::SetAside => "set_aside",
            Self::PutBack => "put_back",
        }
    }

    /// The state that was stored as this word.
    pub fn from_word(word: &str) -> Option<Self> {
        const ALL: [EffectState; 8] = [
            EffectState::Open,
            EffectState::Done,
            EffectState::Refused,
            EffectState::FailedClean,
            EffectState::NotSent,
            EffectState::NotDone,
            EffectState::SetAside,
            EffectState::PutBack,
        ];
        ALL.into_iter().find(|state| state.word() == word)
    }

    /// What the head of an answer says; `clean` are the statuses by which this backend says that nothing was done.
    pub fn of_status(status: u16, clean: &[u16]) -> Self {
        match status {
            200..=299 | 303 => Self::Done,
            429 => Self::FailedClean,
            500..=599 if clean.contains(&status) => Self::FailedClean,
            408 => Self::Open,
            300..=499 => Self::Refused,
            _ => Self::Open,
        }
    }
}

/// An effect that is no mere read, as the journal holds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Effect {
    /// The attempt that sent it, from 1.
    pub attempt: u32,
    /// Its place among the requests of its attempt, from 1.
    pub ordinal: u32,
    /// What repeating it does.
    pub repeat: Repeat,
    /// The method, in capitals.
    pub method: String,
    /// The URL, with placeholders unfilled.
    pub target: String,
    /// A hash over method, URL and body, with placeholders unfilled.
    #[serde(skip)]
    pub request: Digest,
    /// The key that the host sent with it.
    pub key: Option<String>,
    /// What is known of it.
    pub state: EffectState,
    /// The status of the answer, where one came.
    pub status: Option<u16>,
}

/// What came back for an effect, as far as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// Where what was made lies.
    pub location: Option<String>,
    /// The state of what was touched.
    pub etag: Option<String>,
    /// The first bytes of the body.
    pub body: Vec<u8>,
}

impl Answered {
    /// How much of a body is kept, in bytes.
    pub const BODY: usize = 64 << 10;
}

/// What the effects of a step amount to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Left {
    /// Some happened.
    pub done: bool,
    /// Some may have happened.
    pub open: bool,
    /// One that must not be done twice happened or may have.
    pub once: bool,
}

impl Effect {
    /// Whether the other is the same request, which does nothing more when it is sent again.
    fn is_same(&self, other: &Self) -> bool {
        other.request == self.request
            && other.key == self.key
            && matches!(self.repeat, Repeat::Idempotent | Repeat::Keyed)
    }
}

/// Each request once, however often it was sent, as it stands at last. What was done once stays done, and no later answer
/// says of one that may have been done that it was not.
pub fn each_once(effects: &[Effect]) -> impl Iterator<Item = &Effect> {
    let known = |effect: &Effect| match effect.state {
        EffectState::Done => 2,
        EffectState::Open | EffectState::SetAside => 1,
        EffectState::Refused
        | EffectState::FailedClean
        | EffectState::NotSent
        | EffectState::NotDone
        | EffectState::PutBack => 0,
    };
    effects
        .iter()
        .enumerate()
        .filter(move |(place, effect)| {
            let stands = (known(effect), *place);
            let other = |(at, other): (usize, &Effect)| effect.is_same(other) && (known(other), at) > stands;
            !effects.iter().enumerate().any(other)
        })
        .map(|(_, effect)| effect)
}

impl Left {
    /// Sums up all effects of a step, of this attempt and of earlier ones. An open effect that a later one
    /// repeated under the same key, or idempotently, and that was then done, is done and no longer open.
    pub fn by(effects: &[Effect]) -> Self {
        let mut left = Self::default();
        for (place, effect) in effects.iter().enumerate() {
            let repeated = || {
                let later = |later: &Effect| later.state == EffectState::Done && effect.is_same(later);
                effects.iter().skip(place + 1).any(later)
            };
            match effect.state {
                EffectState::Open if repeated() => left.done = true,
                EffectState::Open => {
                    left.open = true;
                    left.once |= effect.repeat == Repeat::Once;
                }
                EffectState::Done => {
                    left.done = true;
                    left.once |= effect.repeat == Repeat::Once;
                }
                EffectState::Refused
                | EffectState::FailedClean
                | EffectState::NotSent
                | EffectState::NotDone
                | EffectState::SetAside
                | EffectState::PutBack => {}
            }
        }
        left
    }

    /// Whether a person may be told that nothing was left behind.
    pub fn nothing(self) -> bool {
        !self.done && !self.open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effect(attempt: u32, repeat: Repeat, state: EffectState, request: u8) -> Effect {
        Effect {
            attempt,
            ordinal: 1,
            repeat,
            method: "POST".into(),
            target: "http://x/".into(),
            request: Digest([request; 32]),
            key: (repeat == Repeat::Keyed).then(|| "k".into()),
            state,
            status: None,
        }
    }

    #[test]
    fn the_head_of_the_answer_decides() {
        for (status, state) in [
            (200, EffectState::Done),
            (201, EffectState::Done),
            (303, EffectState::Done),
            (302, EffectState::Refused),
            (404, EffectState::Refused),
            (422, EffectState::Refused),
            (408, EffectState::Open),
            (429, EffectState::FailedClean),
            (500, EffectState::Open),
            (503, EffectState::Open),
            (199, EffectState::Open),
            (600, EffectState::Open),
        ] {
            assert_eq!(EffectState::of_status(status, &[]), state, "{status}");
        }
        assert_eq!(EffectState::of_status(503, &[503]), EffectState::FailedClean);
        assert_eq!(EffectState::of_status(200, &[200]), EffectState::Done);
    }

    #[test]
    fn a_keyed_effect_done_at_last_is_done_and_not_open() {
        let open = effect(1, Repeat::Keyed, EffectState::Open, 1);
        let done = effect(2, Repeat::Keyed, EffectState::Done, 1);
        let left = Left::by(&[open.clone(), done]);
        assert_eq!(left, Left { done: true, open: false, once: false });
        let other = effect(2, Repeat::Keyed, EffectState::Done, 2);
        assert!(Left::by(&[open, other]).open);
    }

    #[test]
    fn a_request_is_told_once_as_it_stands_at_last() {
        use EffectState::{Done, NotSent, Open, Refused};
        for (states, told) in [
            (&[Open, Done][..], Done),
            (&[Open, Open], Open),
            (&[Open, Refused], Open),
            (&[Done, Open], Done),
            (&[Refused, NotSent], NotSent),
        ] {
            let sent: Vec<_> =
                (1..).zip(states).map(|(attempt, state)| effect(attempt, Repeat::Keyed, *state, 1)).collect();
            let once: Vec<_> = each_once(&sent).map(|effect| effect.state).collect();
            assert_eq!(once, [told], "{states:?}");
        }
        let mails = [effect(1, Repeat::Once, Done, 1), effect(2, Repeat::Once, Done, 1)];
        assert_eq!(each_once(&mails).count(), 2, "what happens each time is told each time");
        let others = [effect(1, Repeat::Keyed, Done, 1), effect(1, Repeat::Keyed, Done, 2)];
        assert_eq!(each_once(&others).count(), 2);
    }

    #[test]
    fn nothing_closes_an_effect_that_happens_each_time() {
        let open = effect(1, Repeat::Once, EffectState::Open, 1);
        let done = effect(2, Repeat::Once, EffectState::Done, 1);
        assert_eq!(Left::by(&[open, done]), Left { done: true, open: true, once: true });
    }
}
