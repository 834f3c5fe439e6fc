//! What a guest answers, read within its limits.

use std::time::Duration;

use super::wit::types;
use crate::model::attachment::Attachment;
use crate::model::classify::Ended;
use crate::model::code;
use crate::model::failure::{Failure, Kind};
use crate::model::limits::{Limit, Limits};
use crate::model::reply::Output;

/// Details of errors that only the host gives.
const OWN_DETAILS: &[&str] = &["key", "run", "open", "done", "faults"];

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
pub(super) fn replied(reply: types::Reply, limits: &Limits) -> Ended {
    if u64::try_from(reply.data.len()).unwrap_or(u64::MAX) > limits.output {
        return Ended::Limit(Limit::Output(limits.output));
    }
    let attachment = |given: types::Attachment| Attachment::new(&given.name, &given.media_type, given.bytes);
    let attachments = reply.attachments.into_iter().map(attachment).collect();
    Ended::Replied(Output { data: reply.data, attachments })
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
    if code::page(&error.code).is_some() && !shared {
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
