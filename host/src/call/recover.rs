//! Runs whose process died: each is closed by the rules of the journal, without executing anything.

use std::sync::Arc;

use super::{Parts, folders, rollback, settle};
use crate::model::classify::{Ended, classify};
use crate::model::id::RunId;
use crate::model::state::{Event, RunState, deaths};
use crate::sandbox::logbook::Logbook;
use crate::store::{StoreFailure, Take};

/// A call that takes its process down so often is not likely to meet a power cut each time.
const POISON: u32 = 3;

/// Closes every run that nobody drives: its process is gone, or it is this one and could not write the end down. Gives
/// how many there were.
///
/// # Errors
/// Where the store cannot be read or written.
pub async fn close_all(parts: &Arc<Parts>) -> Result<u32, StoreFailure> {
    let mut closed = 0;
    for (run, owner) in parts.store.unfinished()? {
        if parts.abandoned(run, owner) {
            close(parts, run).await?;
            closed += 1;
        }
    }
    Ok(closed)
}

/// Closes one run whose process is gone: nothing left behind, and it failed; else it waits for its key or a person.
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
        attempt: None,
    };
    // One process takes it; for the others it is no longer there to be closed.
    let Some(lease) = parts.store.take(take).await? else { return Ok(()) };
    // Looked at again under the lease: until then the dead process' last writes may have been under way.
    let Some(mut record) = parts.store.run(run)? else { return Ok(()) };
    if state == RunState::RollingBack {
        return rollback::close(parts, &record, lease).await;
    }
    let setting = parts.setting();
    let log = Logbook::new(setting.config.limits.log);
    let granted = setting.config.grants.get(&record.summary.tool.plugin);
    let outcomes = folders::put_back(parts, run, granted, &mut record.effects, &log).await?;
    let verdict = classify(Ended::Interrupted, &record.effects);
    let deaths = deaths(record.events.iter().map(|happened| happened.event.as_str()));
    let verdict = if deaths >= POISON { verdict.poisoned(deaths) } else { verdict };
    let life = settle::key_life(&setting.config.limits, record.repeat);
    let shaping = settle::Shaping { entry: None, unshown: &record.unshown, setting: &setting };
    let mut end = settle::end(verdict, record.key.as_deref(), life, shaping);
    end.attempt = record.summary.attempts;
    end.at = parts.clock.now();
    end.outcomes = outcomes;
    end.log.push_str(&log.text());
    parts.store.settle(lease, end).await?;
    drop(driven);
    Ok(())
}
