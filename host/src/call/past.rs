//! Calls that are over, as their plugins are told of them: the state of what one touched, and whether it took effect.

use std::sync::Arc;

use super::attempt::Ran;
use super::decide::refusal;
use super::look::{self, Look, look};
use super::shape::result;
use super::{Parts, Setting};
use crate::model::canonical;
use crate::model::classify::{self, Ended};
use crate::model::code;
use crate::model::effect::{Answered, Effect, EffectState, Left, each_once};
use crate::model::failure::{Failure, Kind};
use crate::model::guard::take_out;
use crate::model::id::RunId;
use crate::model::limits::AttemptTime;
use crate::model::manifest::Cleanup;
use crate::model::past::{PastCall, PastEffect, Probed, TookEffect};
use crate::model::reply::Output;
use crate::model::run::{Does, LONE_STEP, Record};
use crate::plugin::Entry;
use crate::sandbox::capability::secrets::{hex, of_step};
use crate::sandbox::logbook::Logbook;
use crate::sandbox::question::{Fingerprint, Probe};
use crate::store::StoreFailure;

/// The state of what an attempt touched, as its reply tells it.
pub(super) fn told(setting: &Setting, ended: &Ended) -> Option<String> {
    let Ended::Replied(output) = ended else { return None };
    output.fingerprint.as_ref().map(|state| masked(setting, state))
}

/// Whether the plugin of a call is asked about the state of what that touched, where its reply does not tell it.
pub(super) fn is_asked(entry: &Entry, rolls_back: bool) -> bool {
    rolls_back && matches!(entry.tool.cleanup, Cleanup::Release | Cleanup::Automatic | Cleanup::Destructive)
}

/// The state of what a call touched whose reply does not tell it: as its plugin does, in the place that the call still
/// has, and in what is left of its time. Nobody knows it where the plugin does not answer.
pub(super) async fn touched(parts: &Arc<Parts>, ran: &mut Ran, output: Option<&Output>) -> Option<String> {
    let place = ran.place.take()?;
    let unknown = |why: &str| ran.log.host(&format!("nothing tells the state of what was touched: {why}"));
    let resolved = ran.valid.fresh().authorized().resolved();
    let (setting, entry) = (resolved.setting(), resolved.tool());
    let left = ran.ends.saturating_sub(parts.clock.steady());
    if left.is_zero() {
        unknown("the attempt's time is over");
        return None;
    }
    let past = match ended(parts, ran, output) {
        Ok(past) => past,
        Err(failure) => {
            unknown(&failure.to_string());
            return None;
        }
    };
    let time = AttemptTime { time: left, says: entry.attempt.says.clone() };
    let at = Look { cancel: resolved.cancel().cloned(), ..back_at(ran, time) };
    let means = look::reading(parts, &at);
    let (effects, question) = (Arc::clone(&means.effects), Fingerprint(past));
    let said = match look::ask(parts, place, ran.permit.gate(), at, means, question).await {
        Ok(finished) => finished.said,
        Err(failure) => Err(Ended::Declared(failure)),
    };
    ran.permit.tell_ill(&said, &effects.met()).await;
    match said {
        Ok(state) => state.map(|state| masked(setting, &state)),
        Err(ended) => {
            let failure = classify::failure(ended);
            unknown(&failure.log.unwrap_or(failure.message));
            None
        }
    }
}

/// A call whose attempt has just ended, as its plugin is told of it.
pub(super) fn ended(parts: &Parts, ran: &Ran, output: Option<&Output>) -> Result<PastCall, StoreFailure> {
    let facts = Facts {
        input: ran.valid.input().to_owned(),
        output: output.map(|output| output.data.clone()),
        effects: &ran.effects,
        answers: answers(parts, ran)?,
        fingerprint: None,
        saved: ran.saved.clone(),
    };
    Ok(facts.past(parts, ran.valid.fresh().authorized().resolved().tool(), ran.hold.run()))
}

/// The look at it.
pub(super) fn back_at(ran: &Ran, time: AttemptTime) -> Look<'_> {
    let resolved = ran.valid.fresh().authorized().resolved();
    Look {
        setting: resolved.setting(),
        entry: resolved.tool(),
        caller: resolved.asker().caller(),
        user: resolved.asker().user(),
        trace: resolved.trace(),
        run: ran.hold.run(),
        saved: ran.saved.clone(),
        attachments: resolved.attachments().to_vec(),
        cancel: None,
        progress: None,
        time,
        log: &ran.log,
    }
}

/// What came back for an effect, with its attempt and ordinal.
type Answer = (u32, u32, Arc<Answered>);

/// What came back for the effects of a step whose attempt has just ended.
fn answers(parts: &Parts, ran: &Ran) -> Result<Vec<Answer>, StoreFailure> {
    let earlier = ran.effects.iter().any(|effect| effect.attempt != ran.attempt);
    let mut answers = if earlier { kept_answers(parts, ran.hold.run())? } else { Vec::new() };
    let own = ran.outcomes.iter().filter_map(|outcome| {
        outcome.answered.clone().map(|answered| (outcome.attempt, outcome.ordinal, answered))
    });
    answers.extend(own);
    Ok(answers)
}

fn kept_answers(parts: &Parts, run: RunId) -> Result<Vec<Answer>, StoreFailure> {
    let answers = parts.store.answers(run)?;
    let shared = |(attempt, ordinal, answered)| (attempt, ordinal, Arc::new(answered));
    Ok(answers.into_iter().map(shared).collect())
}

/// What is known of a call that its plugin is to look back at.
struct Facts<'a> {
    input: String,
    output: Option<String>,
    effects: &'a [Effect],
    answers: Vec<Answer>,
    fingerprint: Option<String>,
    saved: Option<Vec<u8>>,
}

impl Facts<'_> {
    /// What its plugin is told: of each request once, as it stands at last.
    fn past(self, parts: &Parts, entry: &Entry, run: RunId) -> PastCall {
        let Self { input, output, effects, answers, fingerprint, saved } = self;
        let answered = |effect: &Effect| {
            let of =
                |(attempt, ordinal, _): &&Answer| (*attempt, *ordinal) == (effect.attempt, effect.ordinal);
            answers.iter().find(of).map(|(_, _, answered)| Arc::clone(answered))
        };
        PastCall {
            tool: entry.tool.name.clone(),
            input,
            happened: happened(effects, output.is_some()),
            output,
            key: call_key(parts, run),
            effects: each_once(effects).filter_map(|effect| carried_out(effect, answered(effect))).collect(),
            fingerprint,
            saved,
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
    let facts = Facts {
        input: as_given(&setting, &entry, input),
        output,
        effects: &effects,
        answers: kept_answers(parts, run).map_err(|failure| refusal(&failure))?,
        fingerprint: record.fingerprint.clone(),
        saved: record.saved.clone(),
    };
    let call = facts.past(parts, &entry, run);
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
            time: self.entry.attempt.clone(),
            log: &self.log,
        })
    }

    /// The state of what the run touched, now.
    ///
    /// # Errors
    /// Where its plugin has no way back, or does not answer.
    pub(super) async fn state(&self, parts: &Arc<Parts>, record: &Record) -> Result<Option<String>, Failure> {
        let (state, _) = look(parts, self.look(parts, record)?, Fingerprint(self.call.clone())).await?;
        Ok(state.map(|state| masked(&self.setting, &state)))
    }
}

/// The state of what a run touched, now, as its plugin tells it.
///
/// # Errors
/// Where its plugin has no way back or does not answer.
pub async fn fingerprint(parts: &Arc<Parts>, record: &Record) -> Result<Option<String>, Failure> {
    read(parts, record)?.state(parts, record).await
}

/// Whether a run took effect, as its plugin finds out.
///
/// # Errors
/// Where its plugin has no way back or does not answer.
pub async fn probe(parts: &Arc<Parts>, record: &Record) -> Result<Probed<String>, Failure> {
    let past = read(parts, record)?;
    let probed = ask(parts, past.look(parts, record)?, past.call.clone()).await?;
    let shown = |output| result::output(Some(&past.entry), &past.setting, output).stored.body;
    Ok(match probed {
        Probed::Yes(output) => Probed::Yes(output.map(shown)),
        Probed::No => Probed::No,
        Probed::Unknown => Probed::Unknown,
    })
}

/// Asks a plugin whether a call of its own took effect.
///
/// # Errors
/// Where it has no way back or does not answer.
pub(super) async fn ask(parts: &Arc<Parts>, at: Look<'_>, call: PastCall) -> Result<Probed<Output>, Failure> {
    look(parts, at, Probe(call)).await.map(|(probed, _)| probed)
}

/// The input as the tool got it; where the tool has changed since, as it was received.
fn as_given(setting: &Setting, entry: &Entry, input: &str) -> String {
    let Ok(mut value) = canonical::read(input, &setting.config.limits) else { return input.to_owned() };
    take_out(entry.tool.repeat, &mut value);
    match entry.input.check_input(&mut value) {
        Ok(_) => value.to_string(),
        Err(_) => input.to_owned(),
    }
}

/// The key that the attempts of a call have.
pub(super) fn call_key(parts: &Parts, run: RunId) -> String {
    hex(&of_step(&parts.store.secret(), b"call", run, LONE_STEP))
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

pub(super) fn masked(setting: &Setting, text: &str) -> String {
    setting.mask.text(text).unwrap_or_else(|| text.to_owned())
}
