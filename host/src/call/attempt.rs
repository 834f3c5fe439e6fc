//! Runs the tool once, and waits for what it set going.

use std::sync::Arc;
use std::time::Duration;

use super::breaker::Permit;
use super::checkpoint::Started;
use super::parts::Driven;
use super::past;
use super::reserve::{Earlier, Held, Hold, Sitting};
use super::resolve::Resolved;
use super::validate::Valid;
use super::{Parts, folders};
use crate::model::attachment::{self, is_media_type};
use crate::model::canonical::repeated;
use crate::model::classify::Ended;
use crate::model::clock::Timestamp;
use crate::model::effect::Effect;
use crate::model::health::Met;
use crate::model::limits::{AttemptTime, Limit, Limits};
use crate::model::reply::{Output, Usage};
use crate::model::run::Lease;
use crate::model::staged::Staged;
use crate::plugin::Entry;
use crate::sandbox::Prepared;
use crate::sandbox::attempt::{self, Attempt, Context};
use crate::sandbox::capability::effects::Effects;
use crate::sandbox::capability::secrets::{derived, derived_bytes};
use crate::sandbox::capability::staging::{Bounds, Staging};
use crate::sandbox::logbook::Logbook;
use crate::sandbox::question::Call;
use crate::sandbox::threads::Group;
use crate::store::Outcome;

/// A call whose attempt has ended, with nothing under way.
#[derive(Debug)]
pub struct Tried {
    ran: Ran,
}

/// What an attempt consists of once it has ended.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) valid: Valid,
    pub(super) hold: Hold,
    pub(super) attempt: u32,
    pub(super) ended: Ended,
    pub(super) usage: Usage,
    pub(super) log: Logbook,
    pub(super) effects: Vec<Effect>,
    pub(super) outcomes: Vec<Outcome>,
    pub(super) staged: Staged,
    /// The state of what it touched, where its reply tells that.
    pub(super) fingerprint: Option<String>,
    /// What this attempt, or one before, saved for the next.
    pub(super) saved: Option<Vec<u8>>,
    pub(super) sitting: Sitting,
    /// Whether it ended before a pause: what it touched may have been changed by others since.
    pub(super) rested: bool,
    pub(super) driven: Driven,
    pub(super) permit: Permit,
    /// The origins that it met.
    pub(super) met: Vec<Met>,
    /// The longest that one of them asks to be left alone.
    pub(super) asked_for: Duration,
}

impl Tried {
    /// Takes it apart for the stage that follows.
    pub(super) fn into_ran(self) -> Ran {
        self.ran
    }
}

/// Runs the attempt. The place is given back when the guest has ended; its effects are waited for all the same.
pub(super) async fn attempt(parts: &Arc<Parts>, started: Started) -> Tried {
    let Held { valid, place, prepared, hold, attempt, earlier, sitting, driven, permit } =
        started.into_held();
    let resolved = valid.fresh().authorized().resolved();
    let entry = Arc::clone(resolved.tool());
    let limits = &resolved.setting().config.limits;
    let log = Logbook::new(limits.log);
    let Earlier { effects, saved, cost } = earlier;
    let effects = journal(parts, &hold, attempt, effects, limits.requests);
    let staging = staging(parts, &entry, &effects, limits.key_value, cost);
    let clock = parts.clock.steady();
    let left = limits.run.saturating_sub(clock.saturating_sub(sitting.began));
    let time = entry.attempt.clone().within(left, limits.run);
    let prepared = prepare(
        parts,
        &valid,
        &entry,
        prepared,
        saved.clone(),
        (sitting.clock, time),
        &effects,
        &staging,
        &log,
    );
    let question = Call { tool: entry.tool.name.clone(), input: valid.input().to_owned() };
    let finished = parts.engine.attempt(question, prepared).await;
    drop(place);
    // A guest whose time is over may still be in its last slice: nothing that it begins now is let through.
    effects.close().await;
    let brought = attachment::size(resolved.attachments());
    let ended = finished.said.map_or_else(|ended| ended, Ended::Replied);
    let ended = beside(effects.stopped().unwrap_or(ended), brought, limits);
    let ended = checked(&entry, ended).await;
    let time = parts.clock.steady().saturating_sub(clock);
    let saved = staging.latest().or(saved);
    let staged = staging.close();
    let cost = cost + staged.costs.iter().map(|cost| cost.micros).sum::<u64>();
    let usage = Usage { time, effects: effects.requests(), cost, ..finished.usage };
    let (all, outcomes) = left_behind(parts, resolved, &ended, &effects, &log).await;
    let ran = Ran {
        fingerprint: past::told(resolved.setting(), &ended),
        met: effects.met(),
        asked_for: effects.asked_for(),
        valid,
        hold,
        attempt,
        ended,
        usage,
        log,
        effects: all,
        outcomes,
        staged,
        saved,
        sitting,
        rested: false,
        driven,
        permit,
    };
    Tried { ran }
}

/// The effects of the step once the attempt ended so, and what became of those of this attempt: where it came to nothing, what
/// it changed in folders is put back.
async fn left_behind(
    parts: &Parts,
    resolved: &Resolved,
    ended: &Ended,
    effects: &Effects,
    log: &Logbook,
) -> (Vec<Effect>, Vec<Outcome>) {
    let (mut all, mut outcomes) = (effects.all(), effects.outcomes());
    if !matches!(ended, Ended::Replied(_)) {
        let granted = resolved.setting().config.grants.get(&resolved.tool().name.plugin);
        match folders::put_back(parts, effects.lease().run, granted, &mut all, log).await {
            Ok(put_back) => outcomes.extend(put_back),
            Err(failure) => log.host(&format!("could not put back what was changed in folders: {failure}")),
        }
    }
    (all, outcomes)
}

fn journal(parts: &Parts, hold: &Hold, attempt: u32, earlier: Vec<Effect>, requests: u64) -> Arc<Effects> {
    let lease = match hold {
        Hold::Leased(lease) => *lease,
        // A run that is not written yet has no lease; what it reads needs none.
        Hold::Unwritten(new) => Lease { run: new.run, number: 0 },
    };
    Effects::new(lease, attempt, parts.store.secret(), earlier, requests)
}

fn staging(parts: &Parts, entry: &Entry, effects: &Effects, room: u64, spent: u64) -> Arc<Staging> {
    let bounds = Bounds {
        attempt: effects.attempt(),
        plugin: entry.name.plugin.clone(),
        room,
        spent,
        cost: entry.tool.cost_micros,
        saves: true,
    };
    Staging::new(Arc::clone(&parts.store), effects.lease(), bounds)
}

#[expect(clippy::too_many_arguments, reason = "each is one fact of the attempt, told once")]
fn prepare(
    parts: &Parts,
    valid: &Valid,
    entry: &Entry,
    prepared: Prepared,
    saved: Option<Vec<u8>>,
    (start, time): (Timestamp, AttemptTime),
    effects: &Arc<Effects>,
    staging: &Arc<Staging>,
    log: &Logbook,
) -> Attempt {
    let run = effects.lease().run;
    let resolved = valid.fresh().authorized().resolved();
    let secret = parts.store.secret();
    Attempt {
        prepared,
        grants: Arc::clone(&entry.grants),
        context: Context {
            run: run.to_string(),
            attempt: effects.attempt(),
            key: derived(&secret, &[b"call", &run.bytes()]),
            caller: resolved.asker().caller().0.clone(),
            user: resolved.asker().user().map(ToString::to_string),
            trace: resolved.trace().0.clone(),
            saved,
            attachments: resolved.attachments().to_vec(),
        },
        effects: Arc::clone(effects),
        staging: Arc::clone(staging),
        egress: resolved.setting().egress.clone(),
        files: parts.files.clone(),
        sitting: entry
            .grants
            .keyed()
            .then(|| attempt::Sitting { seed: derived_bytes(&secret, &[b"seed", &run.bytes()]), start }),
        group: Group::of(&entry.name.plugin, &resolved.asker().caller().0),
        log: log.clone(),
        limits: resolved.setting().config.limits.clone(),
        time,
        cancel: resolved.cancel().cloned(),
        progress: resolved.progress().map(|progress| progress.masked(&resolved.setting().mask)),
    }
}

/// Looks at what a guest gave beside its output.
fn beside(ended: Ended, brought: u64, limits: &Limits) -> Ended {
    let Ended::Replied(Output { attachments, .. }) = &ended else { return ended };
    if attachments.len() > attachment::MOST {
        let count = attachments.len();
        return Ended::BadOutput(format!(
            "a tool gives at most {} attachments, not {count}",
            attachment::MOST
        ));
    }
    if let Some(wrong) = attachments.iter().find(|one| !is_media_type(&one.media_type)) {
        let named = wrong.media_type.escape_debug();
        return Ended::BadOutput(format!("an attachment is of no media type such as image/png: {named}"));
    }
    if attachment::size(attachments).saturating_add(brought) > limits.attachments {
        return Ended::Limit(Limit::Attachments(limits.attachments));
    }
    ended
}

/// Output beyond this is read away from the threads that serve, and so is what its schema makes long to check.
pub(super) const LONG: usize = 16 << 10;

async fn checked(entry: &Arc<Entry>, ended: Ended) -> Ended {
    let quick = |bytes| bytes <= LONG && entry.output.as_ref().is_none_or(|schema| schema.is_quick(bytes));
    let long = matches!(&ended, Ended::Replied(output) if !quick(output.data.len()));
    if !long {
        return check_output(entry, ended);
    }
    let (owned, patience) = (Arc::clone(entry), entry.attempt.time);
    let checking = tokio::task::spawn_blocking(move || check_output(&owned, ended));
    match tokio::time::timeout(patience, checking).await {
        Ok(Ok(ended)) => ended,
        Ok(Err(_)) => Ended::BadOutput("checking the output failed".to_owned()),
        Err(_) => Ended::BadOutput(format!("checking the output took longer than {patience:?}")),
    }
}

fn check_output(entry: &Entry, ended: Ended) -> Ended {
    let Ended::Replied(Output { data: text, .. }) = &ended else { return ended };
    let value: serde_json::Value = match serde_json::from_str(text) {
        Ok(value @ serde_json::Value::Object(_)) => value,
        Ok(_) => return Ended::BadOutput("the output is no JSON object".to_owned()),
        Err(error) => return Ended::BadOutput(format!("the output is no JSON: {error}")),
    };
    if let Some(fault) = repeated(text).first() {
        return Ended::BadOutput(format!("the output is no clean JSON: {fault}"));
    }
    match entry.output.as_ref().map(|schema| schema.check_output(&value)) {
        None | Some(Ok(())) => ended,
        Some(Err(faults)) => {
            Ended::BadOutput(format!("the output is not as declared: {}", faults.join("; ")))
        }
    }
}
