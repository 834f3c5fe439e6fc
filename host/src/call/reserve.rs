//! Makes the run, its key and its first attempt in one transaction, or takes the run that the key re-arms.

use std::sync::Arc;
use std::time::Duration;

use super::admit::Place;
use super::breaker::{Passed, Permit};
use super::parts::Driven;
use super::recall::unavailable;
use super::validate::Valid;
use super::{Parts, Turn, checkpoint};
use crate::model::clock::Timestamp;
use crate::model::code;
use crate::model::effect::{Effect, EffectState, Left};
use crate::model::failure::{Failure, Kind};
use crate::model::id::RunId;
use crate::model::key::Key;
use crate::model::run::{Lease, Record};
use crate::model::state::Event;
use crate::sandbox::Prepared;
use crate::store::{KeyFound, NewRun, Past, Reserved as Made, Take};

/// A call whose run exists, or, where it only reads, will exist when it ends.
#[derive(Debug)]
pub struct Reserved {
    held: Held,
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
    /// The number of its first attempt.
    pub(super) first: u32,
    /// Its attempts so far, where the run is written when it ends.
    pub(super) past: Vec<Past>,
}

/// What earlier attempts of the step left.
#[derive(Debug, Default)]
pub(super) struct Earlier {
    /// Their effects.
    pub(super) effects: Vec<Effect>,
    /// What they saved.
    pub(super) saved: Option<Vec<u8>>,
    /// What they cost, in millionths.
    pub(super) cost: u64,
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
    pub(super) fn into_held(self) -> Held {
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
    let new = new_run(parts, &valid, run, began);
    let hold = if valid.fresh().authorized().resolved().tool().tool.reads() {
        Hold::Unwritten(Box::new(new))
    } else {
        match parts.store.reserve(new).await.map_err(|failure| unavailable(&failure))? {
            Made::Won(lease) => Hold::Leased(lease),
            Made::Lost => return Err(Turn::Again),
        }
    };
    Ok(Reserved {
        held: Held {
            valid,
            place,
            prepared,
            hold,
            attempt: 1,
            earlier: Earlier::default(),
            sitting: Sitting { clock: began, began: parts.clock.steady(), first: 1, past: Vec::new() },
            driven,
            permit,
        },
    })
}

async fn take(parts: &Arc<Parts>, passed: Passed, found: &KeyFound) -> Result<Reserved, Turn> {
    let driven = parts.drive(found.run);
    let began = parts.clock.now();
    let record = parts.store.run(found.run).map_err(|failure| unavailable(&failure))?;
    let Some(record) = record.filter(|record| record.lease == found.lease) else {
        return Err(Turn::Again);
    };
    let Ok(state) = record.summary.state.apply(Event::Rearmed) else { return Err(Turn::Again) };
    // A late answer may have told of what must not be done twice, after the run was said to be safe to go on.
    let again = record.events.last().is_some_and(|last| last.event == Event::DecidedAgain.word());
    if Left::by(&record.effects).once && !again {
        return Err(Turn::Refuse(late(found.run)));
    }
    let attempt = record.summary.attempts + 1;
    let (admitted, permit) = passed.into_parts();
    let (valid, place, prepared) = admitted.into_parts();
    let take = Take {
        lease: found.lease,
        event: Event::Rearmed,
        state,
        by: None,
        owner: parts.store.process(),
        at: began,
        attempt: Some(checkpoint::attempt(valid.fresh().authorized().resolved().tool(), attempt, began)),
    };
    match parts.store.take(take).await.map_err(|failure| unavailable(&failure))? {
        Some(lease) => {
            let hold = Hold::Leased(lease);
            let clock = sitting(&record).unwrap_or(began);
            let sitting = Sitting { clock, began: parts.clock.steady(), first: attempt, past: Vec::new() };
            let earlier = Earlier { effects: record.effects, saved: record.saved, cost: record.usage.cost };
            Ok(Reserved {
                held: Held { valid, place, prepared, hold, attempt, earlier, sitting, driven, permit },
            })
        }
        None => Err(Turn::Again),
    }
}

/// The refusal to go on with a run of which a late answer tells more than its end knew.
fn late(run: RunId) -> Failure {
    let text = "an answer came late and tells that what must happen once did happen, or may have; nothing was run \
                again: do not repeat it";
    Failure::new(Kind::UnknownOutcome, code::OUTCOME_UNKNOWN, text).with_detail("run", run.to_string())
}

/// When the sitting began that an attempt goes on with: what was sent under a key and may have been done must be
/// built again as it was. Where nothing binds, the clock starts afresh.
fn sitting(record: &Record) -> Option<Timestamp> {
    let binds = |state| matches!(state, EffectState::Open | EffectState::Done);
    let first = record.effects.iter().find(|effect| effect.key.is_some() && binds(effect.state))?;
    // The attempts that follow one that failed are of its sitting.
    let sat_down = |at: Timestamp| {
        let begins = [Event::Began, Event::Rearmed].map(Event::word);
        record.events.iter().any(|happened| happened.at == at && begins.contains(&happened.event.as_str()))
    };
    let earlier = record.attempts.iter().filter(|attempt| attempt.attempt <= first.attempt);
    let begun = earlier.filter(|attempt| attempt.attempt == first.attempt || sat_down(attempt.began));
    begun
        .map(|attempt| (sat_down(attempt.began), attempt.attempt, attempt.began))
        .max()
        .map(|(.., began)| began)
}

fn new_run(parts: &Parts, valid: &Valid, run: RunId, began: Timestamp) -> NewRun {
    let fresh = valid.fresh();
    let resolved = fresh.authorized().resolved();
    let entry = resolved.tool();
    let key = match resolved.key() {
        Some(key) => Some(key.clone()),
        None if entry.tool.reads() => None,
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
        owner: parts.store.process(),
        attempt: checkpoint::attempt(entry, 1, began),
    }
}
