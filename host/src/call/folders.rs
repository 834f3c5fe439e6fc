//! Lent folders after an attempt that came to nothing: what it changed there is put back.

use std::path::PathBuf;

use super::Parts;
use crate::config::{DirectoryAccess, PluginGrants};
use crate::model::change::Recorded;
use crate::model::effect::{Effect, EffectState, Left};
use crate::model::id::RunId;
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
) -> Result<Vec<Outcome>, StoreFailure> {
    let may_stand = |effect: &Effect| matches!(effect.state, EffectState::Open | EffectState::Done);
    if !effects.iter().any(may_stand) {
        return Ok(Vec::new());
    }
    let mut changes = parts.store.changes(run)?;
    let is_change = |effect: &Effect| changes.iter().any(|recorded| is_of(recorded, effect));
    let others: Vec<Effect> = effects.iter().filter(|effect| !is_change(effect)).cloned().collect();
    if !Left::by(&others).nothing() {
        return Ok(Vec::new());
    }
    changes.retain(|recorded| effects.iter().any(|effect| may_stand(effect) && is_of(recorded, effect)));
    let lent = |name: &str| -> Option<PathBuf> {
        let directory = granted?.directories.get(name)?;
        (directory.access == DirectoryAccess::Write).then(|| directory.path.clone())
    };
    let mut outcomes = Vec::new();
    for (outcome, put_back) in parts.files.put_back(run, changes, lent).await? {
        let named =
            |effect: &&mut Effect| (effect.attempt, effect.ordinal) == (outcome.attempt, outcome.ordinal);
        if let Some(effect) = effects.iter_mut().find(named) {
            effect.state = outcome.state;
            if let Err(why) = put_back {
                log.host(&format!(
                    "could not put back {} {}: {why}",
                    effect.method,
                    effect.target.escape_debug()
                ));
            }
        }
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

fn is_of(recorded: &Recorded, effect: &Effect) -> bool {
    (recorded.attempt, recorded.ordinal) == (effect.attempt, effect.ordinal)
}
