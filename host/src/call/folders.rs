//! Lent folders after an attempt that came to nothing: what it changed there is put back.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::Parts;
use crate::config::{DirectoryAccess, PluginGrants};
use crate::model::change::Recorded;
use crate::model::classify::NotPutBack;
use crate::model::effect::{Effect, EffectState, Left};
use crate::model::id::RunId;
use crate::sandbox::capability::files::change::Undone;
use crate::sandbox::logbook::Logbook;
use crate::store::{Outcome, StoreFailure};

/// Puts back what the effects of a run changed in folders, and writes into them how they stand since. Nothing is touched
/// where other effects are left behind: what they did may go with what lies in the folders now, and a person decides.
///
/// # Errors
/// Where what lay there before cannot be read from the store, or what is put back not be written down.
pub(super) async fn put_back(
    parts: &Parts,
    run: RunId,
    granted: Option<&PluginGrants>,
    effects: &mut [Effect],
    log: &Logbook,
) -> Result<Restored, StoreFailure> {
    let may_stand = |effect: &Effect| matches!(effect.state, EffectState::Open | EffectState::Done);
    if !effects.iter().any(may_stand) {
        return Ok(Restored::default());
    }
    let mut changes = parts.store.changes(run)?;
    let others: Vec<Effect> = effects.iter().filter(|effect| !is_change(&changes, effect)).cloned().collect();
    if !Left::by(&others).nothing() {
        return Ok(Restored::default());
    }
    changes.retain(|recorded| effects.iter().any(|effect| may_stand(effect) && is_of(recorded, effect)));
    let restored = restore(parts, run, granted, effects, changes).await?;
    for (effect, _, why) in restored.left() {
        log.host(&format!("could not put back {} {}: {}", effect.method, effect.target.escape_debug(), why));
    }
    Ok(restored)
}

/// The attempts of which something that they changed was put back: what they saved tells of work that is not there.
pub(super) fn unsaved(effects: &[Effect]) -> Vec<u32> {
    let put_back = effects.iter().filter(|effect| effect.state == EffectState::PutBack);
    put_back.map(|effect| effect.attempt).collect::<BTreeSet<u32>>().into_iter().collect()
}

/// What became of changes that were to be put back: each with its effect, as that stands since.
#[derive(Debug, Default)]
pub(super) struct Restored(Vec<(Effect, Outcome, Undone)>);

impl Restored {
    /// How the effects stand.
    pub(super) fn outcomes(&self) -> Vec<Outcome> {
        self.0.iter().map(|(_, outcome, _)| outcome.clone()).collect()
    }

    /// Those that are left, and why: as it is, and in words.
    pub(super) fn left(&self) -> impl Iterator<Item = (&Effect, &Undone, &str)> {
        self.0.iter().filter_map(|(effect, _, undone)| Some((effect, undone, why(undone)?)))
    }

    /// The same, by the effects' own numbers and in words.
    pub(super) fn not_put_back(&self) -> Vec<NotPutBack> {
        let told = |(effect, _, why): (&Effect, &Undone, &str)| NotPutBack {
            attempt: effect.attempt,
            ordinal: effect.ordinal,
            why: why.to_owned(),
        };
        self.left().map(told).collect()
    }

    /// How many changes there were.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }
}

/// Why a change is left, in words; none where it was put back.
fn why(undone: &Undone) -> Option<&str> {
    match undone {
        Undone::PutBack => None,
        Undone::Changed => Some("it was changed by somebody else since"),
        Undone::Left(why) => Some(why),
    }
}

/// Whether the effect changed a lent folder.
pub(super) fn is_change(changes: &[Recorded], effect: &Effect) -> bool {
    changes.iter().any(|recorded| is_of(recorded, effect))
}

/// Puts changes back, and writes into the effects how they stand since.
///
/// # Errors
/// Where that cannot be written down.
pub(super) async fn restore(
    parts: &Parts,
    run: RunId,
    granted: Option<&PluginGrants>,
    effects: &mut [Effect],
    changes: Vec<Recorded>,
) -> Result<Restored, StoreFailure> {
    let lent = |name: &str| -> Option<PathBuf> {
        let directory = granted?.directories.get(name)?;
        (directory.access == DirectoryAccess::Write).then(|| directory.path.clone())
    };
    let mut restored = Vec::new();
    for (outcome, undone) in parts.files.put_back(run, changes, lent).await? {
        let named =
            |effect: &&mut Effect| (effect.attempt, effect.ordinal) == (outcome.attempt, outcome.ordinal);
        if let Some(effect) = effects.iter_mut().find(named) {
            effect.state = outcome.state;
            restored.push((effect.clone(), outcome, undone));
        }
    }
    Ok(Restored(restored))
}

pub(super) fn is_of(recorded: &Recorded, effect: &Effect) -> bool {
    (recorded.attempt, recorded.ordinal) == (effect.attempt, effect.ordinal)
}
