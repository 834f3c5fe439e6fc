//! Computes what an attempt means; the decision itself is `model::classify`.

use super::attempt::{Ran, Tried};
use crate::model::classify::{self, Verdict};

/// A call whose attempt is understood.
#[derive(Debug)]
pub struct Classified {
    ran: Ran,
    verdict: Verdict,
}

impl Classified {
    /// Takes it apart for the stage that follows.
    pub(super) fn into_parts(self) -> (Ran, Verdict) {
        (self.ran, self.verdict)
    }
}

/// Reads the attempt's end beside the journal of its effects.
pub(super) fn classify(tried: Tried) -> Classified {
    let mut ran = tried.into_ran();
    let ended = std::mem::replace(&mut ran.ended, classify::Ended::Interrupted);
    let verdict = classify::classify(ended, &ran.effects);
    Classified { ran, verdict }
}
