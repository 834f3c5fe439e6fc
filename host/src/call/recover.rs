//! Runs whose process died: each is closed by the rules of the journal, without executing anything.

use std::collections::HashMap;
use std::sync::Arc;

use futures::stream::{self, TryStreamExt as _};

use super::{Parts, folders, retry, rollback, settle};
use crate::model::classify::{Ended, classify};
use crate::model::id::RunId;
use crate::model::state::{Event, RunState, deaths};
use crate::sandbox::logbook::Logbook;
use crate::store::{Charge, StoreFailure, Take, Taken};

/// A call that takes its process down so often is not likely to meet a power cut each time.
const POISON: u32 = 3;

/// How many are closed side by side, so that their writes share commits.
const SIDE_BY_SIDE: usize = 32;

/// Closes every run that nobody drives: its process is gone, or it is this one and could not write the end down. Gives
/// how many there were.
///
/// # Errors
/// Where the store cannot be read or written.
pub async fn close_all(parts: &Arc<Parts>) -> Result<u32, StoreFailure> {
    close_some(parts, usize::MAX).await
}

/// The same, of so many at most.
///
/// # Errors
/// Where the store cannot be read or written.
pub async fn close_some(parts: &Arc<Parts>, most: usize) -> Result<u32, StoreFailure> {
    let mut gone = HashMap::new();
    let mut is_gone = |owner| *gone.entry(owner).or_insert_with(|| parts.store.gone(owner));
    let own = parts.store.process();
    let lost = parts
        .store
        .unfinished()?
        .into_iter()
        .filter(|(run, owner)| (*owner != own && is_gone(*owner)) || parts.lapsed_or_own(*run, *owner));
    let lost: Vec<RunId> = lost.map(|(run, _)| run).take(most).collect();
    let closed = u32::try_from(lost.len()).unwrap_or(u32::MAX);
    let closing = stream::iter(lost.into_iter().map(Ok));
    closing.try_for_each_concurrent(SIDE_BY_SIDE, |run| close(parts, run)).await?;
    Ok(closed)
}

/// Closes one run whose process is gone: nothing left behind, and it failed; else it waits for its key or a person. One in
/// the background goes on by itself, as far as that is safe.
///
/// # Errors
/// Where the store cannot be read or written.
pub(super) async fn close(parts: &Arc<Parts>, run: RunId) -> Result<(), StoreFailure> {
    let Some(record) = parts.store.run(run)? else { return Ok(()) };
    // Whoever met the run without an owner may come late: another has closed it by now, or goes on with it.
    let Ok(state) = record.summary.state.apply(Event::Adopted) else { return Ok(()) };
    if !parts.abandoned(run, record.owner) {
        return Ok(());
    }
    let driven = parts.drive(run);
    let take = Take {
        lease: record.lease,
        event: Event::Adopted,
        state,
        by: None,
        owner: parts.store.process(),
        at: parts.clock.now(),
        background: None,
        attempt: None,
        charge: Charge::default(),
    };
    // One process takes it; for the others it is no longer there to be closed.
    let Taken::Held(lease) = parts.store.take(take).await? else { return Ok(()) };
    // Looked at again under the lease: until then the dead process' last writes may have been under way.
    let Some(mut record) = parts.store.run(run)? else { return Ok(()) };
    if state == RunState::RollingBack {
        return rollback::close(parts, &record, lease).await;
    }
    let setting = parts.setting();
    let log = Logbook::new(setting.config.limits.log);
    let granted = setting.config.grants.get(&record.summary.tool.plugin);
    let restored = folders::put_back(parts, run, granted, &mut record.effects, &log).await?;
    let verdict = classify(Ended::Interrupted, &record.effects);
    let verdict = verdict.explained(&record.effects, &restored.not_put_back());
    let deaths = deaths(record.events.iter().map(|happened| happened.event.as_str()));
    let verdict = if deaths >= POISON { verdict.poisoned(deaths) } else { verdict };
    if record.background.is_some() && verdict.rearms() {
        let word = settle::word(&verdict, &setting.mask);
        return retry::interrupted(parts, lease, &record, (word, restored.outcomes(), log.text())).await;
    }
    let life = settle::key_life(&setting.config.limits, record.repeat);
    let shaping = settle::Shaping { entry: None, unshown: &record.unshown, setting: &setting };
    let mut end = settle::end(verdict, record.key.as_deref(), life, shaping);
    end.attempt = record.summary.attempts;
    end.at = parts.clock.now();
    end.outcomes = restored.outcomes();
    end.staged.unsaved = folders::unsaved(&record.effects);
    end.log.push_str(&log.text());
    parts.store.settle(lease, end).await?;
    drop(driven);
    Ok(())
}
