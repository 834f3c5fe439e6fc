//! A look ahead of a call or back at one: a fresh instance that only reads, under the same limits, with a budget of its own.

use std::sync::Arc;

use super::admit::{self, Place};
use super::breaker::{self, Permit};
use super::{Cancel, Parts, Progress, Setting};
use crate::model::attachment::Attachment;
use crate::model::budget::Bound;
use crate::model::classify;
use crate::model::failure::Failure;
use crate::model::id::{CallerName, RunId, TraceId, UserName};
use crate::model::limits::AttemptTime;
use crate::model::reply::Usage;
use crate::model::run::Lease;
use crate::plugin::Entry;
use crate::sandbox::Finished;
use crate::sandbox::attempt::{Attempt, Context, Sitting};
use crate::sandbox::capability::effects::Effects;
use crate::sandbox::capability::secrets::derived;
use crate::sandbox::capability::staging::{Bounds, Staging};
use crate::sandbox::gate::Gate;
use crate::sandbox::grants::Grants;
use crate::sandbox::logbook::Logbook;
use crate::sandbox::question::Question;
use crate::sandbox::threads::Group;

/// At what is looked, and for whom.
#[derive(Debug, Clone)]
pub(super) struct Look<'a> {
    pub(super) setting: &'a Setting,
    pub(super) entry: &'a Arc<Entry>,
    pub(super) caller: &'a CallerName,
    pub(super) user: Option<&'a UserName>,
    pub(super) trace: &'a TraceId,
    /// The run that is looked at, or one that will never be.
    pub(super) run: RunId,
    pub(super) saved: Option<Vec<u8>>,
    pub(super) attachments: Vec<Attachment>,
    pub(super) cancel: Option<Cancel>,
    pub(super) progress: Option<Progress>,
    /// How long it may take.
    pub(super) time: AttemptTime,
    pub(super) log: &'a Logbook,
}

/// What a plugin is asked with: a place for its instance, and the right to go to its backends.
#[derive(Debug)]
pub(super) struct Room {
    pub(super) place: Place,
    pub(super) permit: Permit,
}

/// Waits for a place, and asks whether the plugin's backends may be asked.
///
/// # Errors
/// Where there is no place, or every backend is left alone.
pub(super) async fn room(
    parts: &Arc<Parts>,
    setting: &Setting,
    entry: &Entry,
    caller: &CallerName,
) -> Result<Room, Failure> {
    let place = admit::place(parts, &entry.name.plugin, caller, setting.config.limits.wait).await?;
    match breaker::permit(parts, setting, entry).await {
        Ok(permit) => Ok(Room { place, permit }),
        Err(closed) => Err(breaker::refusal(&entry.name, &closed)),
    }
}

/// What the guest may do, and under which key.
#[derive(Debug)]
pub(super) struct Means {
    pub(super) grants: Arc<Grants>,
    pub(super) effects: Arc<Effects>,
    pub(super) staging: Arc<Staging>,
    pub(super) key: String,
    pub(super) sitting: Option<Sitting>,
}

/// Asks a plugin, with nothing but what reads.
///
/// # Errors
/// Where there is no place for it, or the plugin does not answer.
pub(super) async fn look<Q: Question>(
    parts: &Arc<Parts>,
    look: Look<'_>,
    question: Q,
) -> Result<(Q::Answer, Usage), Failure> {
    let Room { place, permit } = room(parts, look.setting, look.entry, look.caller).await?;
    let means = reading(parts, &look);
    let effects = Arc::clone(&means.effects);
    let Finished { said, usage } = ask(parts, place, permit.gate(), look, means, question).await?;
    permit.tell(&said, &effects.met()).await;
    said.map(|answer| (answer, usage)).map_err(classify::failure)
}

/// What a guest may do that only looks.
pub(super) fn reading(parts: &Parts, look: &Look<'_>) -> Means {
    let lease = Lease { run: look.run, number: 0 };
    let secret = parts.store.secret();
    Means {
        grants: Arc::new(look.entry.grants.reading()),
        effects: Effects::new(lease, 1, secret, Vec::new(), look.setting.config.limits.requests),
        staging: Staging::new(Arc::clone(&parts.store), lease, bounds(look, 1)),
        // Not the call's: what is sent under that is the call.
        key: derived(&secret, &[b"look", &look.run.bytes()]),
        sitting: None,
    }
}

/// What bounds what the guest sets aside.
pub(super) fn bounds(look: &Look<'_>, attempt: u32) -> Bounds {
    Bounds {
        attempt,
        plugin: look.entry.name.plugin.clone(),
        room: look.setting.config.limits.key_value,
        spent: 0,
        // What is taken back is not held to the budget of a call, nor to that of a day.
        cost: look.entry.tool.cost_micros.map(Bound::Declared),
        saves: false,
    }
}

/// Asks a plugin in this place, where its requests pass this gate, and waits for what it set going.
///
/// # Errors
/// Where its code cannot be loaded.
pub(super) async fn ask<Q: Question>(
    parts: &Parts,
    place: Place,
    gate: &Arc<Gate>,
    look: Look<'_>,
    means: Means,
    question: Q,
) -> Result<Finished<Q::Answer>, Failure> {
    let Look { setting, entry, caller, .. } = look;
    let Means { grants, effects, staging, key, sitting } = means;
    let limits = &setting.config.limits;
    effects.behind(gate);
    let prepared = entry.code.prepared().await.map_err(Failure::internal)?;
    let attempt = Attempt {
        prepared,
        grants,
        context: Context {
            run: look.run.to_string(),
            attempt: effects.attempt(),
            key,
            caller: caller.0.clone(),
            user: look.user.map(ToString::to_string),
            trace: look.trace.0.clone(),
            saved: look.saved,
            attachments: look.attachments,
        },
        effects: Arc::clone(&effects),
        staging,
        egress: setting.egress.clone(),
        files: parts.files.clone(),
        limits: limits.clone(),
        time: look.time,
        sitting,
        group: Group::of(&entry.name.plugin, &caller.0),
        log: look.log.clone(),
        cancel: look.cancel,
        progress: look.progress.map(|progress| progress.masked(&setting.mask)),
    };
    let began = parts.clock.steady();
    let finished = parts.engine.attempt(question, Box::new(attempt)).await;
    drop(place);
    effects.close().await;
    let time = parts.clock.steady().saturating_sub(began);
    let usage = Usage { time, effects: effects.requests(), ..finished.usage };
    let said = effects.stopped().map_or(finished.said, Err).map_err(|ended| gate.seen_in(ended));
    Ok(Finished { said, usage })
}
