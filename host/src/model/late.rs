//! Answers that come after somebody settled an effect without them, and tell otherwise.

use serde::Serialize;

use super::effect::{Effect, EffectState, Left};
use super::run::Record;
use super::state::RunState;

/// What was said of an effect, where an answer came later and tells otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Late {
    /// The effect's attempt.
    pub attempt: u32,
    /// Its ordinal.
    pub ordinal: u32,
    /// What was said of it; what the answer tells is the effect's state.
    pub said: EffectState,
}

impl Late {
    /// What was said of an effect, where it stands otherwise by now.
    pub fn of(effect: &Effect, said: EffectState) -> Option<Self> {
        use EffectState::{Done, FailedClean, NotDone, NotSent, Open, PutBack, Refused, SetAside};
        let otherwise = match (said, effect.state) {
            (NotDone | SetAside, Done) | (Done, Refused | FailedClean | NotSent) => true,
            // An answer that bears it out, none at all, or what became of it since.
            (NotDone | SetAside, Refused | FailedClean | NotSent | Open | NotDone | SetAside | PutBack)
            | (Done, Done | Open | NotDone | SetAside | PutBack)
            | (Open | Refused | FailedClean | NotSent | PutBack, _) => false,
        };
        otherwise.then_some(Self { attempt: effect.attempt, ordinal: effect.ordinal, said })
    }
}

/// Whether a run that was said to have done nothing turned out to have done something: a person may decide again.
pub fn turned_out_otherwise(record: &Record) -> bool {
    matches!(record.summary.state, RunState::Failed | RunState::TimedOut)
        && !Left::by(&record.effects).nothing()
}

/// Whether such a run is not gone on with under its key: what was done must not be done twice.
pub fn bars_its_key(record: &Record) -> bool {
    turned_out_otherwise(record) && Left::by(&record.effects).once
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::id::Digest;
    use crate::model::manifest::Repeat;

    #[test]
    fn an_answer_is_told_where_it_contradicts_what_was_said() {
        use EffectState::{Done, FailedClean, NotDone, NotSent, Open, PutBack, Refused, SetAside};
        let late = |said, state| {
            let effect = Effect {
                attempt: 1,
                ordinal: 2,
                repeat: Repeat::Once,
                method: "POST".into(),
                target: "http://x/".into(),
                request: Digest([1; 32]),
                key: None,
                state,
                status: None,
            };
            Late::of(&effect, said)
        };
        for (said, state) in
            [(NotDone, Done), (SetAside, Done), (Done, Refused), (Done, FailedClean), (Done, NotSent)]
        {
            assert_eq!(late(said, state), Some(Late { attempt: 1, ordinal: 2, said }), "{said:?} {state:?}");
        }
        for (said, state) in [
            (NotDone, NotDone),
            (NotDone, Refused),
            (SetAside, NotSent),
            (Done, Done),
            (Done, PutBack),
            (SetAside, Open),
        ] {
            assert_eq!(late(said, state), None, "{said:?} {state:?}");
        }
    }
}
