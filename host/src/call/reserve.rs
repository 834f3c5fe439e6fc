//! Makes the run, its key and its first attempt in one transaction, or takes the run that the key re-arms.

use std::sync::Arc;
use std::time::Duration;

use super::admit::Place;
use super::breaker::{Passed, Permit};
use super::parts::Driven;
use super::queue::Queued;
use super::recall::unavailable;
use super::resolve::Resolved;
use super::validate::Valid;
use super::{Parts, Turn, charge, checkpoint};
use crate::model::clock::Timestamp;
use crate::model::code;
use crate::model::effect::{Effect, EffectState, Left};
use crate::model::failure::{Failure, Kind};
use crate::model::id::{ProcessId, RunId};
use crate::model::key::Key;
use crate::model::limits::Says;
use crate::model::run::{Background, Does, Happened, Lease, Record};
use crate::model::staged::Category;
use crate::model::state::{Event, may_be_tried_again};
use crate::sandbox::Prepared;
use crate::store::{Charge, KeyFound, NewRun, Past, Reserved as Made, Take, Taken};

/// A call whose run exists, or, where it only reads, will exist when it ends.
#[derive(Debug)]
pub struct Reserved {
    held: Box<Held>,
}

/// What a reserved call consists of.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) valid: Valid,
    pub(super) place: Place,
    /// What the attempt's instance is made from.
    pub(super) prepared: Prepared,
    pub(super) hold: Hold,
    pub(super) attempt: u32,
    pub(super) earlier: Earlier,
    pub(super) sitting: Sitting,
    pub(super) driven: Driven,
    pub(super) permit: Permit,
}

/// What holds for all attempts that one call makes.
#[derive(Debug)]
pub(super) struct Sitting {
    /// Where the clock of the guest starts, if its requests are keyed.
    pub(super) clock: Timestamp,
    /// When its first attempt began, by the steady clock.
    pub(super) began: Duration,
    /// When its time is over, by the steady clock.
    pub(super) ends: Duration,
    /// Who says so.
    pub(super) says: Says,
    /// The number of its first attempt.
    pub(super) first: u32,
    /// Its attempts so far, where the run is written when it ends.
    pub(super) past: Vec<Past>,
}

impl Sitting {
    /// That of a call whose caller waits.
    fn now(parts: &Parts, resolved: &Resolved, clock: Timestamp, first: u32) -> Self {
        let (began, run) = (parts.clock.steady(), resolved.setting().config.limits.run);
        Self { clock, began, ends: began + run, says: Says::Run(run), first, past: Vec::new() }
    }

    /// That of a run in the background, as far as its attempts go since it was left to that.
    fn of(parts: &Parts, resolved: &Resolved, record: &Record, (began, attempt): (Timestamp, u32)) -> Self {
        let queued = Queued::of(record);
        let left = queued.over(parts).since(began);
        let background = resolved.setting().config.limits.background;
        Self {
            clock: sitting(record).or(queued.driven.first().copied()).unwrap_or(began),
            began: parts.clock.steady(),
            ends: parts.clock.steady() + left,
            says: Says::Background(background),
            first: attempt.saturating_sub(queued.attempts()),
            past: Vec::new(),
        }
    }

    /// Whether nobody waits for the call.
    pub(super) fn in_background(&self) -> bool {
        matches!(self.says, Says::Background(_))
    }
}

/// What earlier attempts of the step left.
#[derive(Debug, Default)]
pub(super) struct Earlier {
    /// Their effects.
    pub(super) effects: Vec<Effect>,
    /// What they saved.
    pub(super) saved: Option<Vec<u8>>,
    /// What the call cost, its agent's model included, in millionths.
    pub(super) cost: u64,
    /// What its tool spent of that.
    pub(super) spent: u64,
}

/// How the run is held.
#[derive(Debug)]
pub enum Hold {
    /// It exists, and this lease drives it.
    Leased(Lease),
    /// It only reads: it is written down whole when it ends.
    Unwritten(Box<NewRun>),
}

impl Hold {
    /// The run.
    pub fn run(&self) -> RunId {
        match self {
            Self::Leased(lease) => lease.run,
            Self::Unwritten(new) => new.run,
        }
    }
}

impl Reserved {
    /// The run.
    pub(super) fn run(&self) -> RunId {
        self.held.hold.run()
    }

    /// Takes it apart for the stage that follows.
    pub(super) fn into_held(self) -> Box<Held> {
        self.held
    }
}

/// Makes or takes the run. Who loses the key looks again at what became of it.
pub(super) async fn reserve(parts: &Arc<Parts>, passed: Passed) -> Result<Reserved, Turn> {
    match passed.admitted().valid().fresh().again().cloned() {
        Some(found) => take(parts, passed, &found).await,
        None => make(parts, passed).await,
    }
}

async fn make(parts: &Arc<Parts>, passed: Passed) -> Result<Reserved, Turn> {
    let run = parts.new_run();
    let (admitted, permit) = passed.into_parts();
    let (valid, place, prepared) = admitted.into_parts();
    let driven = parts.drive_new(run, valid.fresh().authorized().resolved().asker());
    let began = parts.clock.now();
    let resolved = valid.fresh().authorized().resolved();
    let charge = charge::charge(resolved, 1, 0)?;
    let earlier = Earlier { cost: charge.model.as_ref().map_or(0, |cost| cost.micros), ..Earlier::default() };
    // A call that reads and is held against a budget is as good as one that writes.
    let unwritten = resolved.tool().tool.reads() && charge.hold.is_none();
    let setting = Arc::clone(resolved.setting());
    let new = new_run(parts, &valid, run, began, (charge, None));
    let hold = if unwritten {
        Hold::Unwritten(Box::new(new))
    } else {
        match parts.store.reserve(new).await.map_err(|failure| unavailable(&failure))? {
            Made::Won(lease) => Hold::Leased(lease),
            Made::Lost => return Err(Turn::Again),
            Made::Short(short) => return Err(charge::exceeded(&setting, &short, began)),
        }
    };
    let sitting = Sitting::now(parts, valid.fresh().authorized().resolved(), began, 1);
    let held = Held { valid, place, prepared, hold, attempt: 1, earlier, sitting, driven, permit };
    Ok(Reserved { held: Box::new(held) })
}

async fn take(parts: &Arc<Parts>, passed: Passed, found: &KeyFound) -> Result<Reserved, Turn> {
    let driven = parts.drive(found.run);
    let began = parts.clock.now();
    let record = parts.store.run(found.run).map_err(|failure| unavailable(&failure))?;
    let Some(record) = record.filter(|record| record.lease == found.lease) else {
        return Err(Turn::Again);
    };
    let event = if passed.admitted().valid().fresh().driven() { Event::Driven } else { Event::Rearmed };
    let Ok(state) = record.summary.state.apply(event) else { return Err(Turn::Again) };
    let effects = bearable(&record)?;
    // Whoever was to take it back made attempts too, and may have touched nothing.
    let attempt = record.attempts.last().map_or(record.summary.attempts, |last| last.attempt) + 1;
    let (admitted, permit) = passed.into_parts();
    let (valid, place, prepared) = admitted.into_parts();
    let resolved = valid.fresh().authorized().resolved();
    let of_tool = record.costs.iter().filter(|cost| cost.category == Category::Tool);
    let spent = of_tool.fold(0, |sum: u64, cost| sum.saturating_add(cost.micros));
    let charge = charge::charge(resolved, attempt, spent)?;
    let cost = charge.model.as_ref().map_or(0, |cost| cost.micros).saturating_add(record.usage.cost);
    let take = Take {
        lease: found.lease,
        event,
        state,
        by: None,
        owner: parts.store.process(),
        at: began,
        background: None,
        attempt: Some(checkpoint::attempt(resolved.tool(), attempt, began)),
        charge,
    };
    match parts.store.take(take).await.map_err(|failure| unavailable(&failure))? {
        Taken::Held(lease) => {
            let hold = Hold::Leased(lease);
            let sitting = if event == Event::Driven {
                Sitting::of(parts, resolved, &record, (began, attempt))
            } else {
                Sitting::now(parts, resolved, sitting(&record).unwrap_or(began), attempt)
            };
            let earlier = Earlier { effects, saved: record.saved, cost, spent };
            let held = Held { valid, place, prepared, hold, attempt, earlier, sitting, driven, permit };
            Ok(Reserved { held: Box::new(held) })
        }
        Taken::Lost => Err(Turn::Again),
        Taken::Short(short) => Err(charge::exceeded(resolved.setting(), &short, began)),
    }
}

/// What the call of a run did before. A late answer may have told of what must not be done twice, after the run was said to
/// be safe to go on: it is refused then.
pub(super) fn bearable(record: &Record) -> Result<Vec<Effect>, Turn> {
    let again = may_be_tried_again(record.events.iter().map(|happened| happened.event.as_str()));
    let effects: Vec<Effect> = record.effects_of(Does::Call).cloned().collect();
    if Left::by(&effects).once && !again {
        return Err(Turn::Refuse(late(record.summary.run)));
    }
    Ok(effects)
}

/// The refusal to go on with a run of which a late answer tells more than its end knew.
fn late(run: RunId) -> Failure {
    let text = "an answer came late and tells that what must happen once did happen; nothing was run again: do not repeat \
                it, a person decides what becomes of it";
    Failure::new(Kind::Partial, code::PARTLY_DONE, text).with_detail("run", run.to_string())
}

/// When the sitting began that an attempt goes on with: what was sent under a key and may have been done must be
/// built again as it was. Where nothing binds, the clock starts afresh.
fn sitting(record: &Record) -> Option<Timestamp> {
    let binds = |state| matches!(state, EffectState::Open | EffectState::Done);
    let first = record.effects.iter().find(|effect| effect.key.is_some() && binds(effect.state))?;
    let earlier = record.attempts.iter().filter(|attempt| attempt.attempt <= first.attempt);
    let own = earlier.clone().find(|attempt| attempt.attempt == first.attempt).map(|attempt| attempt.began);
    // The attempts that follow one that failed are of its sitting.
    let sat_down = earlier.filter_map(|attempt| Some((attempt.attempt, sat_down(record, attempt.began)?)));
    sat_down.max().map(|(_, at)| at).or(own)
}

/// When the sitting began whose attempt began then; none where that attempt followed one that failed.
fn sat_down(record: &Record, began: Timestamp) -> Option<Timestamp> {
    let begins = [Event::Began, Event::Rearmed, Event::Driven].map(Event::word);
    let begun = |event: &Happened| event.at == began && begins.contains(&event.event.as_str());
    let place = record.events.iter().position(begun)?;
    let events = &record.events[..=place];
    // In the background, that of the first attempt since the run was left to that.
    let is = |event: &Happened, what: Event| event.event == what.word();
    if !events.last().is_some_and(|event| is(event, Event::Driven)) {
        return Some(began);
    }
    let queued = events.iter().rposition(|event| is(event, Event::Queued)).unwrap_or(0);
    events[queued..].iter().find(|event| is(event, Event::Driven)).map(|event| event.at)
}

/// The run of a call that is made now, or in the background.
pub(super) fn new_run(
    parts: &Parts,
    valid: &Valid,
    run: RunId,
    began: Timestamp,
    (charge, background): (Charge, Option<Background>),
) -> NewRun {
    let fresh = valid.fresh();
    let resolved = fresh.authorized().resolved();
    let entry = resolved.tool();
    let key = match fresh.key() {
        Some(key) => Some(key.clone()),
        None if entry.tool.reads() && charge.hold.is_none() && background.is_none() => None,
        // A key of the host's own, told only where it is of use: when the call may be made again under it.
        None => Key::parse(&format!("airlock-{run}")).ok(),
    };
    NewRun {
        run,
        key,
        caller: resolved.asker().caller().clone(),
        user: resolved.asker().user().cloned(),
        tool: entry.name.clone(),
        action: fresh.action(),
        repeat: entry.tool.repeat,
        input: resolved.input().to_owned(),
        attachments: resolved.attachments().to_vec(),
        unshown: entry.tool.unshown.clone(),
        trace: resolved.trace().clone(),
        told: resolved.told().clone(),
        guard: fresh.guard().copied(),
        owner: if background.is_some() { ProcessId::NOBODY } else { parts.store.process() },
        background,
        attempt: checkpoint::attempt(entry, 1, began),
        charge,
    }
}
