//! What a person is told of answers that came after somebody settled a run without them.

use super::clean::clean;
use super::hints::deciding;
use crate::model::code;
use crate::model::effect::{Effect, EffectState};
use crate::model::late::{Late, bars_its_key, turned_out_otherwise};
use crate::model::run::Record;
use crate::model::state::RunState;

/// What came later than what was said, and what can be done about it; nothing where nothing did.
pub(super) fn told(record: &Record) -> Vec<String> {
    if record.late.is_empty() {
        return Vec::new();
    }
    let mut lines = vec!["\nan answer came after this was settled, and tells otherwise".to_owned()];
    lines.extend(record.late.iter().filter_map(|late| line(record, *late)));
    lines.extend(next(record));
    lines
}

fn line(record: &Record, late: Late) -> Option<String> {
    let found = |effect: &&Effect| (effect.attempt, effect.ordinal) == (late.attempt, late.ordinal);
    let effect = record.effects.iter().find(found)?;
    let answered = effect.status.map(|status| format!(" (answered {status})")).unwrap_or_default();
    let said = match late.said {
        EffectState::NotDone => "it was said not to have been",
        EffectState::SetAside => "it was set aside",
        EffectState::Done => "it was said to have been",
        EffectState::Open
        | EffectState::Refused
        | EffectState::FailedClean
        | EffectState::NotSent
        | EffectState::PutBack => return None,
    };
    let is = if effect.state == EffectState::Done { "was done" } else { "was not done" };
    let request = clean(&format!("{} {}", effect.method, effect.target));
    Some(format!("{request} of attempt {} {is}{answered}; {said}", effect.attempt))
}

fn next(record: &Record) -> Option<String> {
    let run = record.summary.run;
    let done = record.late.iter().any(|late| late.said != EffectState::Done);
    match record.summary.state {
        RunState::Failed | RunState::TimedOut if turned_out_otherwise(record) => {
            let key = if bars_its_key(record) {
                "its key runs nothing until that is decided"
            } else {
                "its key goes on with it, and does nothing twice"
            };
            Some(format!("{key}; {}", deciding(code::PARTLY_DONE, &run.to_string())))
        }
        RunState::Completed | RunState::Failed | RunState::TimedOut if done => Some(
            "so it may have been done more often than was wanted; what is too much can only be undone at the backend"
                .to_owned(),
        ),
        RunState::Completed | RunState::Failed | RunState::TimedOut => {
            Some("its key gives what was said all the same; to have it done, ask for it under a fresh key".to_owned())
        }
        // What can be decided is told below.
        RunState::Suspended(_)
        | RunState::Running
        | RunState::BackingOff
        | RunState::RollingBack
        | RunState::RolledBack
        => None,
    }
}
