//! The reply: one form for every end.

use std::time::Duration;

use super::Parts;
use super::recall::Replay;
use super::resolve::Request;
use super::settle::Finished;
use crate::model::failure::Failure;
use crate::model::id::TraceId;
use crate::model::reply::{Meta, Reply, Stored};
use crate::model::run::Record;

/// A call from its caller's point of view: when it came in, and under which trace.
#[derive(Debug)]
pub struct Call {
    came: Duration,
    trace: TraceId,
}

impl Call {
    pub(super) fn begin(parts: &Parts, request: &Request) -> Self {
        let trace = request.trace.clone().unwrap_or_else(|| parts.new_trace());
        Self { came: parts.clock.steady(), trace }
    }

    /// The trace.
    pub fn trace(&self) -> &TraceId {
        &self.trace
    }

    fn meta(&self, parts: &Parts) -> Meta {
        let took = parts.clock.steady().saturating_sub(self.came);
        Meta {
            run: None,
            step: None,
            attempts: 0,
            duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            fuel: 0,
            memory_bytes: 0,
            effects: 0,
            dropped: Vec::new(),
            replayed: false,
            trace_id: self.trace.clone(),
        }
    }
}

/// The reply to a call that was carried out.
pub(super) fn reply(parts: &Parts, call: &Call, finished: &Finished) -> Reply {
    let usage = finished.usage();
    let meta = Meta {
        run: Some(finished.run()),
        step: Some(1),
        attempts: finished.attempts(),
        fuel: usage.fuel,
        memory_bytes: usage.memory,
        effects: usage.effects,
        dropped: finished.dropped().to_vec(),
        ..call.meta(parts)
    };
    Reply { body: finished.stored().to_body(), meta }
}

/// The reply to a call that was made before: the stored result, byte for byte, and a `meta` of its own.
pub(super) fn replay(parts: &Parts, call: &Call, replay: &Replay) -> Reply {
    let meta = Meta {
        run: Some(replay.run),
        step: Some(1),
        attempts: replay.attempts,
        fuel: replay.usage.fuel,
        memory_bytes: replay.usage.memory,
        effects: replay.usage.effects,
        replayed: true,
        ..call.meta(parts)
    };
    Reply { body: replay.stored.to_body(), meta }
}

/// The reply to a call that was not carried out.
pub(super) fn refusal(parts: &Parts, call: &Call, failure: &Failure) -> Reply {
    if let Some(log) = &failure.log {
        tracing::error!(trace = %call.trace, code = %failure.code, "{}", parts.mask.text(log).unwrap_or_else(|| log.clone()));
    }
    let mut error = failure.to_json();
    parts.mask.json(&mut error);
    Reply { body: Stored { ok: false, body: error.to_string() }.to_body(), meta: call.meta(parts) }
}

/// The reply to a decision: the result as it stands from now on.
pub(super) fn decided(parts: &Parts, record: &Record, stored: &Stored) -> Reply {
    let call = Call { came: parts.clock.steady(), trace: record.trace.clone() };
    let usage = record.usage;
    let meta = Meta {
        run: Some(record.summary.run),
        step: Some(1),
        attempts: record.summary.attempts,
        fuel: usage.fuel,
        memory_bytes: usage.memory,
        effects: usage.effects,
        ..call.meta(parts)
    };
    Reply { body: stored.to_body(), meta }
}
