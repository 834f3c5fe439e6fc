//! Finds out what became of a call of which nobody knows: its plugin is asked, and what that finds settles the call.

use std::sync::Arc;
use std::time::Duration;

use super::attempt::{Ran, fits};
use super::look::Look;
use super::past;
use super::reserve::Hold;
use super::retry::{self, Next};
use super::shape::result;
use super::{Parts, Turn, settle as end};
use crate::model::classify::{Ended, Verdict, classify, may_be_retried};
use crate::model::code;
use crate::model::effect::{Effect, EffectState, Left};
use crate::model::failure::{Failure, Kind};
use crate::model::id::RunId;
use crate::model::limits::{AttemptTime, Says};
use crate::model::manifest::Repeat;
use crate::model::past::{PastCall, Probed};
use crate::model::probe::Finding;
use crate::model::reply::{Output, Stored};
use crate::model::run::{Lease, Record};
use crate::model::state::{Event, Reason, RunState, Standing, may_be_tried_again};
use crate::plugin::Entry;
use crate::store::{Decided, Kept, Outcome, StoreFailure};

/// How many runs that wait for a person are looked through at a time.
const AT_A_TIME: u32 = 1000;

/// How long a backend may be at a request that was given up: until then, that it has not happened yet tells nothing.
const AT_WORK: Duration = Duration::from_secs(60);

/// What was found out.
enum Found {
    /// It happened, with this result.
    Happened(Output),
    /// It did not.
    DidNot,
    /// Nobody can tell, or nobody answers.
    Nothing,
}

/// Why nothing more is asked.
enum Stopped {
    /// Somebody else has the run.
    Lost,
    /// The store cannot be written.
    Store(StoreFailure),
}

/// A run whose plugin is asked.
struct Asking<'a> {
    look: Look<'a>,
    call: PastCall,
    lease: Lease,
    /// How often it may still be asked.
    left: u32,
    /// Until when, by the steady clock, where somebody waits for it.
    until: Option<Duration>,
}

/// Settles the end of a call of which nobody knows, while its caller waits, as far as that has time left.
pub(super) async fn probe(parts: &Arc<Parts>, next: Next) -> Result<Next, Turn> {
    let mut classified = match next {
        Next::End(classified) => classified,
        again @ Next::Again(_) => return Ok(again),
    };
    // One that rests is not driven at this moment; it is asked after when it waits for a person.
    let Some(ended) = classified.doubt.take().filter(|_| !classified.ran.rested) else {
        return Ok(Next::End(classified));
    };
    let ran = &mut classified.ran;
    if ran.fingerprint.is_none() {
        // Before anybody else changes it, and in the place that the call still has: what is asked next waits for another.
        ran.fingerprint = past::touched(parts, ran, None).await;
    }
    match of_attempt(parts, &mut classified.ran).await? {
        Found::Happened(output) => {
            happened(parts, &mut classified.ran, &output);
            classified.verdict = Verdict::Done(output);
            Ok(Next::End(classified))
        }
        Found::DidNot => match did_not(parts, &mut classified.ran, ended) {
            Some(ended) => {
                classified.again = may_be_retried(&ended, &classified.ran.effects);
                classified.verdict = classify(ended, &classified.ran.effects);
                retry::retry(parts, *classified).await
            }
            None => Ok(Next::End(classified)),
        },
        Found::Nothing => Ok(Next::End(classified)),
    }
}

/// Asks after an attempt that has just ended, and notes what is found.
async fn of_attempt(parts: &Arc<Parts>, ran: &mut Ran) -> Result<Found, Turn> {
    let resolved = ran.valid.fresh().authorized().resolved();
    let (setting, entry) = (resolved.setting(), resolved.tool());
    let (Hold::Leased(lease), true) = (&ran.hold, asked(entry, setting.config.probe.tries).await) else {
        return Ok(Found::Nothing);
    };
    let call = match past::ended(parts, ran, None) {
        Ok(call) => call,
        Err(failure) => return Err(end::unwritten(ran, &failure)),
    };
    let mut asking = Asking {
        call,
        look: past::back_at(ran, entry.attempt.clone()),
        lease: *lease,
        left: setting.config.probe.tries,
        until: Some(ran.sitting.ends),
    };
    let found = async {
        let found = match asking.ask(parts).await? {
            Found::DidNot if may_yet_happen(&ran.effects, ran.gave_up) => {
                ran.log
                    .host("its plugin found that it did not happen yet, and the backend may be at it still");
                Found::Nothing
            }
            found @ (Found::Happened(_) | Found::DidNot | Found::Nothing) => found,
        };
        match &found {
            Found::Happened(_) => asking.note(parts, Finding::Happened).await?,
            Found::DidNot => asking.note(parts, Finding::DidNot).await?,
            Found::Nothing => {}
        }
        Ok(found)
    };
    let found = found.await;
    let lease = asking.lease;
    match found {
        Ok(found) => {
            ran.hold = Hold::Leased(lease);
            Ok(found)
        }
        Err(Stopped::Lost) => Err(end::lost(parts, lease.run)),
        Err(Stopped::Store(failure)) => Err(end::unwritten(ran, &failure)),
    }
}

/// Whether a backend may be at something still that must not be done twice: the host gave it up, or whoever stands before the
/// backend did. A line that the backend cut tells that it is done with it.
fn may_yet_happen(effects: &[Effect], gave_up: bool) -> bool {
    let at_work = |status: Option<u16>| status.map_or(gave_up, |status| matches!(status, 408 | 502 | 504));
    let open = |effect: &Effect| effect.state == EffectState::Open && at_work(effect.status);
    effects.iter().any(|effect| effect.repeat == Repeat::Once && open(effect))
}

/// Whether that was so lately that its backend may be at it still.
fn is_early(parts: &Parts, record: &Record) -> bool {
    let ended = record.summary.ended.unwrap_or(record.summary.began);
    may_yet_happen(&record.effects, true) && parts.clock.now().since(ended) < AT_WORK
}

/// Whether a plugin can be asked at all.
async fn asked(entry: &Entry, left: u32) -> bool {
    left > 0 && entry.code.prepared().await.is_ok_and(|prepared| prepared.rolls_back())
}

fn happened(parts: &Parts, ran: &mut Ran, output: &Output) {
    close(parts, ran, EffectState::Done);
    let setting = ran.valid.fresh().authorized().resolved().setting();
    if let Some(state) = &output.fingerprint {
        ran.fingerprint = Some(past::masked(setting, state));
    }
    // They take effect when the call succeeds, and this attempt of it did not.
    ran.staged.values.clear();
    ran.log.host("its plugin found that it happened");
}

/// The end of an attempt that did nothing; none where that cannot be.
fn did_not(parts: &Parts, ran: &mut Ran, ended: Ended) -> Option<Ended> {
    let ended = ended.undone().filter(|_| !Left::by(&ran.effects).done);
    if ended.is_some() {
        close(parts, ran, EffectState::NotDone);
        ran.fingerprint = None;
        ran.log.host("its plugin found that it did not happen");
    } else {
        ran.log.host("its plugin found that it did not happen, and part of it did: a person decides");
    }
    ended
}

/// Closes what is open.
fn close(parts: &Parts, ran: &mut Ran, state: EffectState) {
    let at = parts.clock.now();
    for effect in ran.effects.iter_mut().filter(|effect| effect.state == EffectState::Open) {
        effect.state = state;
        let (attempt, ordinal) = (effect.attempt, effect.ordinal);
        ran.outcomes.retain(|known| (known.attempt, known.ordinal) != (attempt, ordinal));
        ran.outcomes.push(Outcome { attempt, ordinal, state, status: effect.status, answered: None, at });
    }
}

/// Settles what waits for a person only since nobody knows what became of it, as far as plugins find that out. Gives how
/// many runs those were.
///
/// # Errors
/// Where the store cannot be used.
pub async fn settle_all(parts: &Arc<Parts>) -> Result<u32, StoreFailure> {
    let all = (RunId::from_bytes([0; 16]), RunId::from_bytes([0xff; 16]));
    let mut settled = 0;
    for summary in parts.store.runs(all, Some(Standing::Suspended), AT_A_TIME)? {
        if summary.state == RunState::Suspended(Reason::Unknown) {
            settled += u32::from(settle(parts, summary.run).await?);
        }
    }
    Ok(settled)
}

/// Settles a run that waits for a person since nobody knows what became of it, where its plugin finds that out and may
/// still be asked; `true` where it did, or where somebody else has settled it meanwhile.
///
/// # Errors
/// Where the store cannot be used.
pub async fn settle(parts: &Arc<Parts>, run: RunId) -> Result<bool, StoreFailure> {
    let Some(record) = parts.store.run(run)? else { return Ok(false) };
    let left = left(parts, &record);
    let Ok(past) = past::read(parts, &record) else { return Ok(false) };
    if !asked(&past.entry, left).await {
        return Ok(false);
    }
    let Ok(look) = past.look(parts, &record) else { return Ok(false) };
    let mut asking = Asking { look, call: past.call.clone(), lease: record.lease, left, until: None };
    let found = asking.ask(parts).await;
    let lease = asking.lease;
    tell(&past);
    let decided = match found {
        Ok(Found::Happened(output)) => {
            let shaped = result::output(Some(&past.entry), &past.setting, output);
            let event = Event::Probed(Finding::Happened);
            decided(parts, &record, lease, event, (shaped.stored, shaped.kept), "ok".to_owned())
        }
        Ok(Found::DidNot) if is_early(parts, &record) => return Ok(false),
        Ok(Found::DidNot) if !Left::by(&record.effects).done => {
            let failure = undone(&record);
            let stored = (Stored::error(&failure), Kept::default());
            let event = Event::Probed(Finding::DidNot);
            decided(parts, &record, lease, event, stored, failure.code.into_owned())
        }
        // Part of it was done: that this was not is for a person to weigh.
        Ok(Found::DidNot) => {
            parts.store.note(lease, Event::Probed(Finding::Unknown), parts.clock.now()).await?;
            return Ok(false);
        }
        Ok(Found::Nothing) => return Ok(false),
        Err(Stopped::Lost) => return moved_on(parts, run),
        Err(Stopped::Store(failure)) => return Err(failure),
    };
    let settled = match decided {
        Some(decided) => parts.store.decide(decided).await?,
        None => false,
    };
    if settled { Ok(true) } else { moved_on(parts, run) }
}

/// Whether somebody else has settled the run meanwhile.
fn moved_on(parts: &Parts, run: RunId) -> Result<bool, StoreFailure> {
    let record = parts.store.run(run)?;
    Ok(record.is_some_and(|record| record.summary.state != RunState::Suspended(Reason::Unknown)))
}

/// How often the plugin of a run may still be asked; not at all where it does not wait for that.
fn left(parts: &Parts, record: &Record) -> u32 {
    let again = may_be_tried_again(record.events.iter().map(|happened| happened.event.as_str()));
    if record.summary.state != RunState::Suspended(Reason::Unknown) || again {
        return 0;
    }
    parts.setting().config.probe.left(record.events.iter().map(|happened| happened.event.as_str()))
}

/// The end of a suspended run by what was found.
fn decided(
    parts: &Parts,
    record: &Record,
    lease: Lease,
    event: Event,
    (stored, kept): (Stored, Kept),
    word: String,
) -> Option<Decided> {
    let state = record.summary.state.apply(event).ok()?;
    let happened = event == Event::Probed(Finding::Happened);
    Some(Decided {
        lease,
        event,
        state,
        open_effects: if happened { EffectState::Done } else { EffectState::NotDone },
        stored,
        kept,
        word,
        rearms: !happened && record.key.is_some(),
        life: end::key_life(&parts.setting().config.limits, record.repeat),
        by: None,
        at: parts.clock.now(),
    })
}

fn undone(record: &Record) -> Failure {
    let text = "nothing was done, as the tool's plugin found out; ask again with the same key";
    let failure = Failure::new(Kind::Transient, code::INTERRUPTED, text);
    match &record.key {
        Some(key) => failure.with_detail("key", key.as_str()),
        None => failure,
    }
}

/// Tells what the host has to say of it: the log of a run that is settled so is closed already.
fn tell(past: &past::Past) {
    for line in past.log.text().lines().filter(|line| line.starts_with("host: ")) {
        tracing::warn!(tool = %past.entry.name, "{}", past::masked(&past.setting, line));
    }
}

impl Asking<'_> {
    /// Asks until there is an answer, or it may be asked no more. What is no clear answer is noted.
    async fn ask(&mut self, parts: &Arc<Parts>) -> Result<Found, Stopped> {
        let config = &self.look.setting.config;
        for failed in 1..=self.left {
            let Some(time) = self.time(parts, config.probe.time) else { break };
            let look = Look { time, ..self.look.clone() };
            let finding = match past::ask(parts, look, self.call.clone()).await {
                Ok(Probed::Yes(output)) => match self.fitting(output).await {
                    Ok(output) => return Ok(Found::Happened(output)),
                    Err(finding) => finding,
                },
                Ok(Probed::No) => return Ok(Found::DidNot),
                Ok(Probed::Unknown) => Finding::Unknown,
                Err(failure) if failure.code == code::NOT_OFFERED => Finding::Unknown,
                // It was not asked at all, so that this is none of its tries: it is when it can be.
                Err(failure) if [code::CIRCUIT_OPEN, code::OVERLOADED].contains(&&*failure.code) => {
                    self.look.log.host("its plugin could not be asked yet what became of it");
                    break;
                }
                Err(failure) => {
                    let why = failure.log.unwrap_or(failure.message);
                    self.look.log.host(&format!("its plugin does not tell what became of it: {why}"));
                    Finding::NoAnswer
                }
            };
            self.note(parts, finding).await?;
            if finding == Finding::Unknown {
                break;
            }
            if failed < self.left {
                tokio::time::sleep(config.retries.pause(failed, parts.number())).await;
            }
        }
        Ok(Found::Nothing)
    }

    /// How long the next answer may take; none where no time is left.
    fn time(&self, parts: &Parts, most: Duration) -> Option<AttemptTime> {
        let left = self.until.map(|until| until.saturating_sub(parts.clock.steady()));
        let time = left.map_or(most, |left| left.min(most));
        (!time.is_zero()).then_some(AttemptTime { time, says: Says::Probe })
    }

    /// The result that was told, where the tool may give such a one.
    async fn fitting(&self, output: Option<Output>) -> Result<Output, Finding> {
        let Look { entry, setting, attachments, log, .. } = &self.look;
        let told = output.is_some();
        let output = output.unwrap_or_else(|| Output { data: "{}".to_owned(), ..Output::default() });
        fits(entry, output, attachments, &setting.config.limits).await.map_err(|why| {
            if told {
                log.host(&format!("what its plugin tells of it is none of its results: {why}"));
                Finding::NoAnswer
            } else {
                log.host("its plugin found that it happened, and cannot tell with what result: a person can");
                Finding::Unknown
            }
        })
    }

    async fn note(&mut self, parts: &Parts, finding: Finding) -> Result<(), Stopped> {
        match parts.store.note(self.lease, Event::Probed(finding), parts.clock.now()).await {
            Ok(Some(lease)) => {
                self.lease = lease;
                Ok(())
            }
            Ok(None) => Err(Stopped::Lost),
            Err(failure) => Err(Stopped::Store(failure)),
        }
    }
}
