//! What a guest answers, read within its limits.

use std::time::Duration;

use super::wit::{preview, rollback, types};
use crate::model::attachment::Attachment;
use crate::model::classify::Ended;
use crate::model::code::{self, Whose};
use crate::model::failure::{Failure, Kind};
use crate::model::limits::{Limit, Limits};
use crate::model::past::{PastCall, PastEffect, Planned, Probed, TookEffect, Undone};
use crate::model::reply::Output;

/// Details of errors that only the host gives.
const OWN_DETAILS: &[&str] = &["key", "run", "open", "done", "faults", "fallback"];

/// The longest that a tool may ask a caller to wait.
const LONGEST_WAIT: Duration = Duration::from_secs(15 * 60);

/// An attachment as a guest takes it.
pub(super) fn to_wit(attachment: &Attachment) -> types::Attachment {
    types::Attachment {
        name: attachment.name.clone(),
        media_type: attachment.media_type.clone(),
        bytes: attachment.bytes.to_vec(),
    }
}

/// A guest's reply.
pub(super) fn replied(reply: types::Reply, limits: &Limits) -> Result<Output, Ended> {
    let types::Reply { data, attachments, fingerprint, cleanup } = reply;
    bounded([Some(&data), fingerprint.as_ref()].into_iter().flatten(), limits)?;
    let attachment = |given: types::Attachment| Attachment::new(&given.name, &given.media_type, given.bytes);
    let attachments = attachments.into_iter().map(attachment).collect();
    Ok(Output { data, attachments, fingerprint, cleanup: cleanup.map(Into::into) })
}

/// What a guest says that a call would do.
pub(super) fn planned(planned: preview::Planned, limits: &Limits) -> Result<Planned, Ended> {
    let preview::Planned { summary, changes, fingerprint, risk } = planned;
    bounded([&summary].into_iter().chain(&changes).chain(&fingerprint), limits)?;
    Ok(Planned { summary, changes, fingerprint, risk: risk.map(Into::into) })
}

/// What a guest says that it undid.
pub(super) fn undone(undone: rollback::Undone, limits: &Limits) -> Result<Undone, Ended> {
    let rollback::Undone { summary, left } = undone;
    bounded([&summary].into_iter().chain(&left), limits)?;
    Ok(Undone { summary, left })
}

/// The state that a guest found.
pub(super) fn state(state: Option<String>, limits: &Limits) -> Result<Option<String>, Ended> {
    bounded(&state, limits).map(|()| state)
}

/// What a guest found out about a call.
pub(super) fn probed(probed: rollback::Probed, limits: &Limits) -> Result<Probed<Output>, Ended> {
    match probed {
        rollback::Probed::Yes(reply) => {
            Ok(Probed::Yes(reply.map(|reply| replied(reply, limits)).transpose()?))
        }
        rollback::Probed::No => Ok(Probed::No),
        rollback::Probed::Unknown => Ok(Probed::Unknown),
    }
}

/// A past call as a guest is told of it.
pub(super) fn past(past: PastCall) -> rollback::PastCall {
    let effect = |effect: PastEffect| {
        let answered = effect.answered.as_deref().cloned();
        let (location, etag, body) = answered
            .map_or((None, None, None), |answered| (answered.location, answered.etag, Some(answered.body)));
        rollback::PastEffect {
            method: effect.method,
            target: effect.target,
            idempotency_key: effect.key,
            status: effect.status,
            location,
            etag,
            body,
        }
    };
    rollback::PastCall {
        tool: past.tool,
        input: past.input,
        output: past.output,
        happened: match past.happened {
            TookEffect::Yes => rollback::Happened::Yes,
            TookEffect::No => rollback::Happened::No,
            TookEffect::Unknown => rollback::Happened::Unknown,
        },
        idempotency_key: past.key,
        effects: past.effects.into_iter().map(effect).collect(),
        fingerprint: past.fingerprint,
        saved: past.saved,
    }
}

fn bounded<'a>(texts: impl IntoIterator<Item = &'a String>, limits: &Limits) -> Result<(), Ended> {
    let size = texts.into_iter().map(|text| u64::try_from(text.len()).unwrap_or(u64::MAX));
    if size.fold(0, u64::saturating_add) > limits.output {
        return Err(Ended::Limit(Limit::Output(limits.output)));
    }
    Ok(())
}

/// A tool's own error, in the host's words where the tool must not choose them.
pub(super) fn declared(error: types::ToolError, limits: &Limits) -> Ended {
    let texts =
        [Some(&error.message), error.user_message.as_ref(), error.details.as_ref(), Some(&error.code)];
    let size: usize = texts.into_iter().flatten().map(String::len).sum();
    if u64::try_from(size).unwrap_or(u64::MAX) > limits.output {
        return Ended::Limit(Limit::Output(limits.output));
    }
    let details = match error.details.as_deref().map(serde_json::from_str::<serde_json::Value>) {
        None => None,
        Some(Ok(mut details)) => {
            // What these say, the host says: which key is safe, and which run stands in the way.
            if let Some(fields) = details.as_object_mut() {
                fields.retain(|name, _| !OWN_DETAILS.contains(&name.as_str()));
            }
            Some(details)
        }
        Some(Err(fault)) => return Ended::BadOutput(format!("the details of an error are no JSON: {fault}")),
    };
    let kind = match error.kind {
        types::ErrorKind::InvalidInput => Kind::InvalidInput,
        types::ErrorKind::Rejected => Kind::Rejected,
        types::ErrorKind::Ambiguous => Kind::Ambiguous,
        types::ErrorKind::Denied => Kind::Denied,
        types::ErrorKind::Transient => Kind::Transient,
        types::ErrorKind::Throttled => Kind::Throttled,
        types::ErrorKind::UnknownOutcome => Kind::UnknownOutcome,
        types::ErrorKind::Fatal => Kind::Fatal,
    };
    let plain = !error.code.is_empty()
        && error.code.len() <= 64
        && error.code.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    if !plain {
        return Ended::BadOutput(format!(
            "the code of an error is not in capitals: {}",
            error.code.escape_default()
        ));
    }
    // The host's codes are the host's word, all but the two that a tool shares with it.
    let shared = matches!(
        (kind, error.code.as_str()),
        (Kind::InvalidInput, code::INVALID_INPUT) | (Kind::Fatal, code::INTERNAL)
    );
    if code::page(&error.code).is_some_and(|page| page.whose == Whose::Host) && !shared {
        return Ended::BadOutput(format!("the code of an error is one of the host's own: {}", error.code));
    }
    if kind == Kind::Fatal && (error.code == code::INTERNAL || error.message.is_empty()) {
        return Ended::Declared(Failure::internal(format!("fatal {}: {}", error.code, error.message)));
    }
    Ended::Declared(Failure {
        kind,
        code: error.code.into(),
        message: error.message,
        user_message: error.user_message,
        retry_after: Duration::from_millis(error.retry_after_ms.map_or(0, u64::from)).min(LONGEST_WAIT),
        details,
        log: None,
    })
}
