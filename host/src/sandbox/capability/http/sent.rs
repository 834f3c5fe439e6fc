//! What became of a request, and what that says of the backend.

use std::time::Duration;

use crate::model::clock::Timestamp;
use crate::model::health::Met;
use crate::model::origin::Origin;
use crate::model::retry;

/// What became of a request.
#[derive(Debug)]
pub(super) enum Sent {
    /// A whole answer came.
    Answered { status: u16, headers: Vec<(String, String)>, body: Vec<u8> },
    /// The head of an answer came, and its body broke off, came too late or is too large.
    BrokeOff { status: u16, too_large: bool },
    /// Nothing left the host.
    Unsent(String),
    /// Something left, and no answer came in time.
    Late(String),
    /// Something left, and the line was cut before an answer came.
    Broken(String),
    /// It must not go there.
    Forbidden(String),
}

impl Sent {
    /// What it says of the backend at this origin. Where the tool itself was not patient for as long as it may be, no answer
    /// says nothing.
    pub(super) fn met(&self, origin: &Origin, hasty: bool) -> Met {
        let status = match self {
            Self::Answered { status, .. } | Self::BrokeOff { status, .. } => Some(*status),
            Self::Unsent(_) | Self::Late(_) | Self::Broken(_) | Self::Forbidden(_) => None,
        };
        let failed = match self {
            Self::Answered { status, .. } | Self::BrokeOff { status, too_large: true } => {
                matches!(status, 408 | 500..=599)
            }
            Self::BrokeOff { too_large: false, .. } | Self::Unsent(_) | Self::Late(_) | Self::Broken(_) => {
                true
            }
            Self::Forbidden(_) => false,
        };
        let answered = matches!(self, Self::Answered { .. } | Self::BrokeOff { too_large: true, .. });
        let failed = failed && (answered || !hasty);
        Met { origin: origin.to_string(), failed, last_failed: failed, slowed: status == Some(429) }
    }

    /// How long the backend asks to be left alone, where it refused or failed.
    pub(super) fn asked(&self, now: Timestamp) -> Option<Duration> {
        let Self::Answered { status: 400.., headers, .. } = self else { return None };
        let (_, text) = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("retry-after"))?;
        retry::asked(text, now)
    }
}
