//! Leaves a call to be made in the background: it is written down with its key, and nobody holds anything for it.

use std::sync::Arc;

use super::recall::unavailable;
use super::reserve::{bearable, new_run};
use super::shape::Call;
use super::validate::Valid;
use super::{Parts, Turn, awaited, charge};
use crate::model::clock::Timestamp;
use crate::model::id::{ProcessId, RunId};
use crate::model::run::{Background, Happened, Record};
use crate::model::state::Event;
use crate::store::{KeyFound, Reserved as Made, Take, Taken};

/// What a run in the background has behind it since it was left to that.
#[derive(Debug)]
pub(super) struct Queued {
    /// When that was.
    at: Timestamp,
    /// When its time is over.
    until: Timestamp,
    /// When its attempts began.
    pub(super) driven: Vec<Timestamp>,
}

impl Queued {
    /// That of a run.
    pub(super) fn of(record: &Record) -> Self {
        let is = |what: Event| move |event: &&Happened| event.event == what.word();
        let last = record.events.iter().rposition(|event| is(Event::Queued)(&event)).unwrap_or(0);
        let since = record.events.get(last..).unwrap_or_default();
        let began = record.summary.began;
        Self {
            at: since.first().map_or(began, |event| event.at),
            until: record.background.as_ref().map_or(began, |background| background.until),
            driven: since.iter().filter(is(Event::Driven)).map(|event| event.at).collect(),
        }
    }

    /// How many attempts that were.
    pub(super) fn attempts(&self) -> u32 {
        u32::try_from(self.driven.len()).unwrap_or(u32::MAX)
    }

    /// When its time is over by the wall clock, whatever that did meanwhile.
    pub(super) fn over(&self, parts: &Parts) -> Timestamp {
        parts.over(self.at, self.until)
    }
}

/// Leaves the call to whoever drives those; the answer is that it goes on. Who loses the key looks again at what became of it.
pub(super) async fn queue(parts: &Arc<Parts>, call: &Call, valid: Valid) -> Turn {
    let left = match valid.fresh().again().cloned() {
        Some(found) => leave(parts, &valid, &found).await,
        None => make(parts, &valid).await,
    };
    match left {
        Ok(run) => {
            call.begun(run);
            parts.queued.notify_one();
            Turn::Refuse(awaited::queued(run))
        }
        Err(turn) => turn,
    }
}

async fn make(parts: &Arc<Parts>, valid: &Valid) -> Result<RunId, Turn> {
    let (run, began) = (parts.new_run(), parts.clock.now());
    let resolved = valid.fresh().authorized().resolved();
    let charge = charge::charge(resolved, 1, 0)?;
    let new = new_run(parts, valid, run, began, (charge, Some(background(valid, began))));
    match parts.store.reserve(new).await.map_err(|failure| unavailable(&failure))? {
        Made::Won(_) => Ok(run),
        Made::Lost => Err(Turn::Again),
        Made::Short(short) => Err(charge::exceeded(resolved.setting(), &short, began)),
    }
}

/// Leaves a run that ended, and that its key lets run again.
async fn leave(parts: &Arc<Parts>, valid: &Valid, found: &KeyFound) -> Result<RunId, Turn> {
    let began = parts.clock.now();
    let record = parts.store.run(found.run).map_err(|failure| unavailable(&failure))?;
    let Some(record) = record.filter(|record| record.lease == found.lease) else { return Err(Turn::Again) };
    let Ok(state) = record.summary.state.apply(Event::Queued) else { return Err(Turn::Again) };
    bearable(&record)?;
    let resolved = valid.fresh().authorized().resolved();
    let take = Take {
        lease: found.lease,
        event: Event::Queued,
        state,
        by: None,
        owner: ProcessId::NOBODY,
        at: began,
        background: Some(background(valid, began)),
        attempt: None,
        charge: charge::charge(resolved, record.summary.attempts + 1, 0)?,
    };
    match parts.store.take(take).await.map_err(|failure| unavailable(&failure))? {
        Taken::Held(_) => Ok(found.run),
        Taken::Lost => Err(Turn::Again),
        Taken::Short(short) => Err(charge::exceeded(resolved.setting(), &short, began)),
    }
}

fn background(valid: &Valid, began: Timestamp) -> Background {
    let resolved = valid.fresh().authorized().resolved();
    Background {
        until: began.plus(resolved.setting().config.limits.background),
        scene: resolved.scene().cloned(),
    }
}
