//! Computes what an attempt means; the decision itself is `model::classify`.

use std::time::Duration;

use super::attempt::{Ran, Tried};
use super::{Parts, log};
use crate::model::classify::{self, Ended, Verdict};
use crate::model::health::Report;

/// A call whose attempt is understood.
#[derive(Debug)]
pub struct Classified {
    pub(super) ran: Box<Ran>,
    pub(super) verdict: Verdict,
    /// Whether the host itself may try again, as far as what it left behind goes.
    pub(super) again: bool,
    /// What is to be told of the origins that it met.
    pub(super) reports: Vec<Report>,
    /// How it ended, where nobody knows what became of it.
    pub(super) doubt: Option<classify::Ended>,
}

impl Classified {
    /// How long the tool or a backend asks to be left alone.
    pub(super) fn asked_for(&self) -> Duration {
        let told = self.verdict.failure().map_or(Duration::ZERO, |failure| failure.retry_after);
        told.max(self.ran.asked_for)
    }
}

/// Reads the attempt's end beside the journal of its effects.
pub(super) fn classify(parts: &Parts, tried: Tried) -> Classified {
    let mut ran = tried.into_ran();
    let ended = std::mem::replace(&mut ran.ended, Ended::Interrupted);
    let later = ran.sitting.in_background() && classify::may_be_tried_later(&ended, &ran.effects);
    let again = classify::may_be_retried(&ended, &ran.effects) || later;
    let reports = ran.permit.reports(&ended, &ran.met, parts.clock.now());
    // An attempt that met a limit of its own says which; what it asked for was cut with it.
    let own = matches!(ended, Ended::Limit(_) | Ended::LeftAlone { .. });
    let slow = ran.slow.take().filter(|_| !own);
    let doubt = classify::in_doubt(&ended, &ran.effects).then(|| ended.clone());
    let verdict = classify::classify(ended, &ran.effects).slow(slow);
    let verdict = verdict.explained(&ran.effects, &ran.not_put_back);
    log::attempt(parts, &ran.valid, ran.hold.run(), ran.attempt, ran.usage, &verdict);
    Classified { ran, verdict, again, reports, doubt }
}
