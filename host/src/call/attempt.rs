//! Runs the tool once, and waits for what it set going.

use std::sync::Arc;
use std::time::Duration;

use super::admit::Place;
use super::breaker::Permit;
use super::checkpoint::Started;
use super::parts::Driven;
use super::past;
use super::reserve::{Earlier, Held, Hold, Sitting};
use super::resolve::Resolved;
use super::validate::Valid;
use super::{Parts, charge, folders};
use crate::model::attachment::{self, Attachment, is_media_type};
use crate::model::canonical::repeated;
use crate::model::classify::{self, Ended, NotPutBack};
use crate::model::clock::Timestamp;
use crate::model::effect::{Effect, Left};
use crate::model::health::Met;
use crate::model::limits::{AttemptTime, Limit, Limits};
use crate::model::reply::{Output, Usage};
use crate::model::run::{LONE_STEP, Lease};
use crate::model::staged::Staged;
use crate::plugin::Entry;
use crate::sandbox::Prepared;
use crate::sandbox::attempt::{self, Attempt, Context};
use crate::sandbox::capability::effects::Effects;
use crate::sandbox::capability::secrets::of_step;
use crate::sandbox::capability::staging::{Bounds, Staging};
use crate::sandbox::logbook::Logbook;
use crate::sandbox::question::Call;
use crate::sandbox::threads::Group;
use crate::store::Outcome;

/// A call whose attempt has ended, with nothing under way.
#[derive(Debug)]
pub struct Tried {
    ran: Box<Ran>,
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
    /// What the tool spent, earlier attempts included.
    pub(super) spent: u64,
    /// What this attempt, or one before, saved for the next.
    pub(super) saved: Option<Vec<u8>>,
    /// Its place, where the state of what it touched may still be asked about in it.
    pub(super) place: Option<Place>,
    /// When its time is over, by the steady clock.
    pub(super) ends: Duration,
    /// What it changed in lent folders and could not be put back.
    pub(super) not_put_back: Vec<NotPutBack>,
    pub(super) sitting: Sitting,
    /// Whether it ended before a pause: what it touched may have been changed by others since.
    pub(super) rested: bool,
    pub(super) driven: Driven,
    pub(super) permit: Permit,
    /// The origins that it met.
    pub(super) met: Vec<Met>,
    /// The longest that one of them asks to be left alone.
    pub(super) asked_for: Duration,
    /// What its last request took longer than, where it did.
    pub(super) slow: Option<String>,
    /// Whether it gave a request up, so that the backend may be at it still.
    pub(super) gave_up: bool,
}

impl Tried {
    /// Takes it apart for the stage that follows.
    pub(super) fn into_ran(self) -> Box<Ran> {
        self.ran
    }
}

/// Runs the attempt. The place is given back when the guest has ended, but where its plugin is to be asked what it touched; its
/// effects are waited for all the same.
pub(super) async fn attempt(parts: &Arc<Parts>, started: Started) -> Tried {
    let Held { valid, place, prepared, hold, attempt, earlier, sitting, driven, permit } =
        *started.into_held();
    let resolved = valid.fresh().authorized().resolved();
    let entry = Arc::clone(resolved.tool());
    let limits = &resolved.setting().config.limits;
    let log = Logbook::new(limits.log);
    let Earlier { effects, saved, cost, spent } = earlier;
    let effects = journal(parts, &hold, attempt, effects, limits.requests);
    effects.behind(permit.gate());
    let staging = staging(parts, resolved, &effects, spent);
    let clock = parts.clock.steady();
    let time = entry.attempt.clone().within(sitting.ends.saturating_sub(clock), sitting.says.clone());
    let (ends, asks) = (clock + time.time, past::is_asked(&entry, prepared.rolls_back()));
    let times = (sitting.clock, time);
    let prepared = prepare(parts, &valid, prepared, saved.clone(), times, &effects, &staging, &log);
    let question = Call { tool: entry.tool.name.clone(), input: valid.input().to_owned() };
    let finished = parts.engine.attempt(question, prepared).await;
    let ended = finished.said.map_or_else(|ended| ended, Ended::Replied);
    let fingerprint = past::told(resolved.setting(), &ended);
    let place = Some(place).filter(|_| asks && fingerprint.is_none() && !Left::by(&effects.all()).nothing());
    let place = close(&effects, place).await;
    let ended = permit.gate().seen_in(effects.stopped().unwrap_or(ended));
    let ended = checked(&entry, beside(ended, resolved.attachments(), limits)).await;
    let time = parts.clock.steady().saturating_sub(clock);
    let mut staged = staging.close();
    let (cost, spent) = (cost.saturating_add(staged.spent()), spent.saturating_add(staged.spent()));
    let usage = Usage { time, effects: effects.requests(), cost, ..finished.usage };
    let LeftBehind { all, outcomes, not_put_back, unsaved } =
        left_behind(parts, resolved, &ended, &effects, &log).await;
    let saved = saved_last(staging.latest(), saved, attempt, &unsaved);
    staged.unsaved = unsaved;
    let (slow, gave_up) = effects.slow();
    let ran = Ran {
        fingerprint: fingerprint.filter(|_| matches!(ended, Ended::Replied(_))),
        place: place.filter(|_| !Left::by(&all).nothing()),
        ends,
        not_put_back,
        met: effects.met(),
        asked_for: effects.asked_for(),
        slow,
        gave_up,
        valid,
        hold,
        attempt,
        ended,
        usage,
        log,
        effects: all,
        outcomes,
        staged,
        spent,
        saved,
        sitting,
        rested: false,
        driven,
        permit,
    };
    Tried { ran: Box::new(ran) }
}

/// Waits for what the attempt set going. What is still under way when the guest has ended is waited for without its place.
async fn close(effects: &Effects, place: Option<Place>) -> Option<Place> {
    let place = place.filter(|_| effects.quiet());
    effects.close().await;
    place
}

/// What is left of an attempt.
struct LeftBehind {
    /// The effects of the step.
    all: Vec<Effect>,
    /// What became of them.
    outcomes: Vec<Outcome>,
    /// What could not be put back in lent folders.
    not_put_back: Vec<NotPutBack>,
    /// The attempts of which something was put back, so that what they saved is of no use.
    unsaved: Vec<u32>,
}

/// The effects of the step once the attempt ended so, and what became of those of this attempt: where it came to nothing, what
/// it changed in folders is put back, as far as that can be.
async fn left_behind(
    parts: &Parts,
    resolved: &Resolved,
    ended: &Ended,
    effects: &Effects,
    log: &Logbook,
) -> LeftBehind {
    let (mut all, mut outcomes, mut not_put_back) = (effects.all(), effects.outcomes(), Vec::new());
    let before = folders::unsaved(&all);
    if !matches!(ended, Ended::Replied(_)) {
        let granted = resolved.setting().config.grants.get(&resolved.tool().name.plugin);
        match folders::put_back(parts, effects.lease().run, granted, &mut all, log).await {
            Ok(restored) => {
                outcomes.extend(restored.outcomes());
                not_put_back = restored.not_put_back();
            }
            Err(failure) => log.host(&format!("could not put back what was changed in folders: {failure}")),
        }
    }
    let mut unsaved = folders::unsaved(&all);
    unsaved.retain(|attempt| !before.contains(attempt));
    LeftBehind { all, outcomes, not_put_back, unsaved }
}

/// What was saved last and is of use to an attempt that follows.
fn saved_last(
    latest: Option<Vec<u8>>,
    earlier: Option<Vec<u8>>,
    attempt: u32,
    unsaved: &[u32],
) -> Option<Vec<u8>> {
    match unsaved {
        [] => latest.or(earlier),
        [own] if *own == attempt => earlier,
        [..] => None,
    }
}

fn journal(parts: &Parts, hold: &Hold, attempt: u32, earlier: Vec<Effect>, requests: u64) -> Arc<Effects> {
    let lease = match hold {
        Hold::Leased(lease) => *lease,
        // A run that is not written yet has no lease; what it reads needs none.
        Hold::Unwritten(new) => Lease { run: new.run, number: 0 },
    };
    Effects::new(lease, attempt, parts.store.secret(), earlier, requests)
}

fn staging(parts: &Parts, resolved: &Resolved, effects: &Effects, spent: u64) -> Arc<Staging> {
    let bounds = Bounds {
        attempt: effects.attempt(),
        plugin: resolved.tool().name.plugin.clone(),
        room: resolved.setting().config.limits.key_value,
        spent,
        cost: charge::terms(resolved).bound,
        saves: true,
    };
    Staging::new(Arc::clone(&parts.store), effects.lease(), bounds)
}

#[expect(clippy::too_many_arguments, reason = "each is one fact of the attempt, told once")]
fn prepare(
    parts: &Parts,
    valid: &Valid,
    prepared: Prepared,
    saved: Option<Vec<u8>>,
    (start, time): (Timestamp, AttemptTime),
    effects: &Arc<Effects>,
    staging: &Arc<Staging>,
    log: &Logbook,
) -> Box<Attempt> {
    let run = effects.lease().run;
    let resolved = valid.fresh().authorized().resolved();
    let entry = resolved.tool();
    let secret = parts.store.secret();
    Box::new(Attempt {
        prepared,
        grants: Arc::clone(&entry.grants),
        context: Context {
            run: run.to_string(),
            attempt: effects.attempt(),
            key: past::call_key(parts, run),
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
            .then(|| attempt::Sitting { seed: of_step(&secret, b"seed", run, LONE_STEP), start }),
        group: Group::of(&entry.name.plugin, &resolved.asker().caller().0),
        log: log.clone(),
        limits: resolved.setting().config.limits.clone(),
        time,
        cancel: resolved.cancel().cloned(),
        progress: resolved.progress().map(|progress| progress.masked(&resolved.setting().mask)),
    })
}

/// Looks at what a guest gave beside its output.
fn beside(ended: Ended, brought: &[Attachment], limits: &Limits) -> Ended {
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
    let brought = attachment::size(brought);
    if attachment::size(attachments).saturating_add(brought) > limits.attachments {
        return Ended::Limit(Limit::Attachments(limits.attachments));
    }
    ended
}

/// A result that did not come from an attempt, where the tool may give such a one.
///
/// # Errors
/// Why it may not; the text is for the log.
pub(super) async fn fits(
    entry: &Arc<Entry>,
    output: Output,
    brought: &[Attachment],
    limits: &Limits,
) -> Result<Output, String> {
    let ended = checked(entry, beside(Ended::Replied(output), brought, limits)).await;
    if let Ended::Replied(output) = ended {
        return Ok(output);
    }
    let failure = classify::failure(ended);
    Err(failure.log.unwrap_or(failure.message))
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
