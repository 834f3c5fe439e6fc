//! Calls that are over, as their plugins are told of them: the state of what one touched, and whether it took effect.

use std::sync::Arc;

use super::decide::refusal;
use super::look::{Look, look};
use super::shape::result;
use super::validate::Valid;
use super::{Parts, Setting};
use crate::model::canonical;
use crate::model::classify::Ended;
use crate::model::code;
use crate::model::effect::{Answered, Effect, EffectState, Left};
use crate::model::failure::{Failure, Kind};
use crate::model::id::RunId;
use crate::model::manifest::Cleanup;
use crate::model::past::{PastCall, PastEffect, Probed, TookEffect};
use crate::model::reply::Output;
use crate::model::run::{Does, Record};
use crate::plugin::Entry;
use crate::sandbox::capability::secrets::derived;
use crate::sandbox::logbook::Logbook;
use crate::sandbox::question::{Fingerprint, Probe};
use crate::store::Outcome;

/// A call whose attempt has just ended.
#[derive(Debug)]
pub(super) struct Touched<'a> {
    pub(super) valid: &'a Valid,
    pub(super) run: RunId,
    /// What came of it, where it succeeded.
    pub(super) output: Option<&'a Output>,
    pub(super) effects: &'a [Effect],
    pub(super) outcomes: &'a [Outcome],
    pub(super) saved: Option<Vec<u8>>,
}

/// The state of what an attempt touched, as its reply tells it.
pub(super) fn told(setting: &Setting, ended: &Ended) -> Option<String> {
    match ended {
        Ended::Replied(output) => output.fingerprint.as_ref().map(|state| masked(setting, state)),
        Ended::Declared(_)
        | Ended::Trapped(_)
        | Ended::BadOutput(_)
        | Ended::Limit(_)
        | Ended::NoRoom(_)
        | Ended::StoreFailed(_)
        | Ended::Drifted(_)
        | Ended::Withdrawn
        | Ended::Interrupted => None,
    }
}

/// The state of what a call touched whose reply does not tell it: as its plugin does, where that can take it back. Nobody
/// knows it where the plugin does not answer.
pub(super) async fn touched(parts: &Parts, touched: Touched<'_>, log: &Logbook) -> Option<String> {
    let Touched { valid, run, output, effects, outcomes, saved } = touched;
    let resolved = valid.fresh().authorized().resolved();
    let (setting, entry) = (resolved.setting(), resolved.tool());
    let asks = matches!(entry.tool.cleanup, Cleanup::Release | Cleanup::Automatic | Cleanup::Destructive);
    if !asks || Left::by(effects).nothing() || !entry.code.prepared().await.ok()?.rolls_back() {
        return None;
    }
    let answered = |effect: &Effect| {
        let of = |outcome: &&Outcome| (outcome.attempt, outcome.ordinal) == (effect.attempt, effect.ordinal);
        outcomes.iter().find(of).and_then(|outcome| outcome.answered.clone())
    };
    let past = PastCall {
        tool: entry.tool.name.clone(),
        input: valid.input().to_owned(),
        output: output.map(|output| output.data.clone()),
        happened: happened(effects, output.is_some()),
        key: call_key(parts, run),
        effects: effects.iter().filter_map(|effect| carried_out(effect, answered(effect))).collect(),
        fingerprint: None,
        saved: saved.clone(),
    };
    let at = Look {
        setting,
        entry,
        caller: resolved.asker().caller(),
        user: resolved.asker().user(),
        trace: resolved.trace(),
        run,
        saved,
        attachments: resolved.attachments().to_vec(),
        cancel: None,
        progress: None,
        log,
    };
    match look(parts, at, Fingerprint(past)).await {
        Ok((state, _)) => state.map(|state| masked(setting, &state)),
        Err(failure) => {
            let why = failure.log.unwrap_or(failure.message);
            log.host(&format!("nothing tells the state of what was touched: {why}"));
            None
        }
    }
}

/// A run that is looked back at, with what its plugin is told of it.
#[derive(Debug)]
pub(super) struct Past {
    pub(super) setting: Arc<Setting>,
    pub(super) entry: Arc<Entry>,
    pub(super) call: PastCall,
    pub(super) log: Logbook,
}

/// Reads what a plugin is told of a run.
///
/// # Errors
/// Where its tool is there no longer, or what it was called with is not.
pub(super) fn read(parts: &Parts, record: &Record) -> Result<Past, Failure> {
    let setting = parts.setting();
    let wrong = |text: String| Failure::new(Kind::InvalidInput, code::INVALID_INPUT, text);
    let (run, tool) = (record.summary.run, &record.summary.tool);
    let Some(entry) = setting.registry.get(tool).map(Arc::clone) else {
        return Err(wrong(format!("the tool of the run is not there: {tool}")));
    };
    let Some(input) = &record.input else {
        return Err(wrong(format!("what the run was called with is no longer kept: {run}")));
    };
    let kept = parts.store.kept(run).map_err(|failure| refusal(&failure))?;
    let output = record.stored.as_ref().filter(|stored| stored.ok);
    let output = output.map(|stored| kept.output.or(kept.whole).unwrap_or_else(|| stored.body.clone()));
    let effects: Vec<Effect> = record.effects_of(Does::Call).cloned().collect();
    let call = PastCall {
        tool: entry.tool.name.clone(),
        input: as_given(&setting, &entry, input),
        happened: happened(&effects, output.is_some()),
        output,
        key: call_key(parts, run),
        effects: carried_out_all(parts, run, &effects)?,
        fingerprint: record.fingerprint.clone(),
        saved: record.saved.clone(),
    };
    let log = Logbook::new(setting.config.limits.log);
    Ok(Past { setting, entry, call, log })
}

impl Past {
    /// The look at it.
    ///
    /// # Errors
    /// Where what came beside the input cannot be read.
    pub(super) fn look<'a>(&'a self, parts: &Parts, record: &'a Record) -> Result<Look<'a>, Failure> {
        let run = record.summary.run;
        Ok(Look {
            setting: &self.setting,
            entry: &self.entry,
            caller: &record.summary.caller,
            user: record.summary.user.as_ref(),
            trace: &record.trace,
            run,
            saved: record.saved.clone(),
            attachments: parts.store.brought(run).map_err(|failure| refusal(&failure))?,
            cancel: None,
            progress: None,
            log: &self.log,
        })
    }

    /// The state of what the run touched, now.
    ///
    /// # Errors
    /// Where its plugin has no way back, or does not answer.
    pub(super) async fn state(&self, parts: &Parts, record: &Record) -> Result<Option<String>, Failure> {
        let (state, _) = look(parts, self.look(parts, record)?, Fingerprint(self.call.clone())).await?;
        Ok(state.map(|state| masked(&self.setting, &state)))
    }
}

/// The state of what a run touched, now, as its plugin tells it.
///
/// # Errors
/// Where its plugin has no way back or does not answer.
pub async fn fingerprint(parts: &Parts, record: &Record) -> Result<Option<String>, Failure> {
    read(parts, record)?.state(parts, record).await
}

/// Whether a run took effect, as its plugin finds out.
///
/// # Errors
/// Where its plugin has no way back or does not answer.
pub async fn probe(parts: &Parts, record: &Record) -> Result<Probed, Failure> {
    let past = read(parts, record)?;
    let (probed, _) = look(parts, past.look(parts, record)?, Probe(past.call.clone())).await?;
    Ok(match probed {
        Probed::Yes(Some(data)) => {
            let output = crate::model::reply::Output { data, ..Default::default() };
            Probed::Yes(Some(result::output(Some(&past.entry), &past.setting, output).stored.body))
        }
        probed @ (Probed::Yes(None) | Probed::No | Probed::Unknown) => probed,
    })
}

/// The input as the tool got it; where the tool has changed since, as it was received.
fn as_given(setting: &Setting, entry: &Entry, input: &str) -> String {
    let Ok(mut value) = canonical::read(input, &setting.config.limits) else { return input.to_owned() };
    match entry.input.check_input(&mut value) {
        Ok(_) => value.to_string(),
        Err(_) => input.to_owned(),
    }
}

/// The key that the attempts of a call have.
pub(super) fn call_key(parts: &Parts, run: RunId) -> String {
    derived(&parts.store.secret(), &[b"call", &run.bytes()])
}

/// Whether a call took effect, as far as its effects tell.
fn happened(effects: &[Effect], replied: bool) -> TookEffect {
    let left = Left::by(effects);
    match (left.open, left.done || replied) {
        (true, _) => TookEffect::Unknown,
        (false, true) => TookEffect::Yes,
        (false, false) => TookEffect::No,
    }
}

fn carried_out_all(parts: &Parts, run: RunId, effects: &[Effect]) -> Result<Vec<PastEffect>, Failure> {
    let answers = parts.store.answers(run).map_err(|failure| refusal(&failure))?;
    let answered = |effect: &Effect| {
        let of = |(attempt, ordinal, _): &&(u32, u32, Answered)| {
            (*attempt, *ordinal) == (effect.attempt, effect.ordinal)
        };
        answers.iter().find(of).map(|(_, _, answered)| Arc::new(answered.clone()))
    };
    Ok(effects.iter().filter_map(|effect| carried_out(effect, answered(effect))).collect())
}

/// An effect as a plugin is told of it; none where it is known that nothing left the host.
fn carried_out(effect: &Effect, answered: Option<Arc<Answered>>) -> Option<PastEffect> {
    match effect.state {
        EffectState::NotSent | EffectState::NotDone | EffectState::PutBack => None,
        EffectState::Open
        | EffectState::Done
        | EffectState::Refused
        | EffectState::FailedClean
        | EffectState::SetAside => Some(PastEffect {
            method: effect.method.clone(),
            target: effect.target.clone(),
            key: effect.key.clone(),
            status: effect.status,
            answered,
        }),
    }
}

fn masked(setting: &Setting, text: &str) -> String {
    setting.mask.text(text).unwrap_or_else(|| text.to_owned())
}
