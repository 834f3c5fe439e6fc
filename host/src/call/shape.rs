//! The reply: one form for every end.

pub mod private;
pub mod result;
mod show;
mod trim;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::SetOnce;

use super::loops::Coming;
use super::recall::Replay;
use super::resolve::Request;
use super::settle::Finished;
use super::{Parts, Setting, log};
use crate::model::attachment::Attachment;
use crate::model::code;
use crate::model::failure::{Failure, Kind};
use crate::model::id::{RunId, TraceId};
use crate::model::pointer::Unshown;
use crate::model::reply::{Meta, Reply, Stored, Usage};
use crate::model::run::Record;

/// A call from its caller's point of view: when it came in, under which trace, and what held then.
#[derive(Debug)]
pub struct Call {
    came: Duration,
    trace: TraceId,
    setting: Arc<Setting>,
    run: SetOnce<RunId>,
    /// What was asked; none where a reply is looked up, or nobody reads the log.
    asked: Option<log::Asked>,
    /// The call as a turn of its conversation, where it has one.
    coming: Option<Coming>,
}

impl Call {
    /// A call that comes in now.
    pub fn begin(parts: &Parts, request: &Request) -> Self {
        let call = Self::of(parts, request.trace.clone().unwrap_or_else(|| parts.new_trace()));
        let asked = log::Asked::of(request, &call.setting);
        // Calling some tools again and again is how they are used.
        let polls = || call.setting.registry.named(&request.tool).is_some_and(|entry| entry.tool.poll);
        let goes_round = request.conversation && !polls();
        let coming = goes_round.then(|| parts.loops.coming(request, call.setting.config.loops)).flatten();
        Self { asked, coming, ..call }
    }

    /// Something that is asked for now, of a call that this trace belongs to.
    pub(super) fn of(parts: &Parts, trace: TraceId) -> Self {
        let (came, setting) = (parts.clock.steady(), parts.setting());
        Self { came, trace, setting, run: SetOnce::new(), asked: None, coming: None }
    }

    /// Takes note of the trace that what is asked for turns out to belong to.
    pub(super) fn belongs_to(&mut self, trace: &TraceId) {
        self.trace.clone_from(trace);
    }

    /// Takes note of the run that it made or took. One that is looked at again may take another.
    pub(super) fn begun(&self, run: RunId) {
        let _ = self.run.set(run);
    }

    /// Whether there is a run.
    pub(super) fn has_run(&self) -> bool {
        self.run.initialized()
    }

    /// The run, once there is one.
    pub(super) async fn run(&self) -> RunId {
        *self.run.wait().await
    }

    /// The trace.
    pub fn trace(&self) -> &TraceId {
        &self.trace
    }

    /// What holds for it.
    pub fn setting(&self) -> &Arc<Setting> {
        &self.setting
    }

    /// Refuses a call that goes round in circles.
    pub(super) fn goes_round(&self) -> Result<(), Failure> {
        self.coming.as_ref().map_or(Ok(()), Coming::allowed)
    }

    /// The reply as it leaves: its conversation takes it down, and the log has its line.
    fn answered(&self, parts: &Parts, mut reply: Reply) -> Reply {
        if let Some(coming) = &self.coming {
            let body = reply.body.as_deref().map_err(|error| &**error);
            reply.meta.rounds = parts.loops.answered(coming, body, &reply.attachments);
        }
        if let Some(asked) = &self.asked {
            log::call(parts, &self.setting, asked, &reply);
        }
        reply
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
            cost_micros: 0,
            dropped: Vec::new(),
            trimmed: None,
            replayed: false,
            duplicate_of: None,
            rounds: None,
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
        cost_micros: usage.cost,
        dropped: finished.dropped().to_vec(),
        trimmed: finished.stored().trimmed.clone(),
        ..call.meta(parts)
    };
    let attachments = finished.attachments().to_vec();
    let undelivered = finished.undelivered().then(|| finished.run());
    call.answered(parts, Reply { body: finished.stored().to_body(), attachments, meta, undelivered })
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
        cost_micros: replay.usage.cost,
        trimmed: replay.stored.trimmed.clone(),
        replayed: true,
        duplicate_of: replay.duplicate.then_some(replay.run),
        ..call.meta(parts)
    };
    let undelivered = replay.undelivered.then_some(replay.run);
    match attachments(parts, replay.run, &replay.stored) {
        Ok(attachments) => {
            call.answered(parts, Reply { body: replay.stored.to_body(), attachments, meta, undelivered })
        }
        Err(failure) => refusal(parts, call, &failure),
    }
}

/// The reply to a call that was not carried out.
pub(super) fn refusal(parts: &Parts, call: &Call, failure: &Failure) -> Reply {
    // That a backend is left alone is no fault of the host's: the line of the call says which one.
    if let Some(log) = failure.log.as_ref().filter(|_| failure.code != code::CIRCUIT_OPEN) {
        tracing::error!(trace = %call.trace, code = %failure.code, "{}", call.setting.mask.text(log).unwrap_or_else(|| log.clone()));
    }
    let stored = result::error(failure, &Unshown::default(), &call.setting).stored;
    let meta = Meta { trimmed: stored.trimmed.clone(), ..call.meta(parts) };
    let reply = Reply { body: stored.to_body(), attachments: Vec::new(), meta, undelivered: None };
    // A call that goes on without its caller has its end before it.
    if failure.kind == Kind::Waiting && call.run.initialized() {
        return reply;
    }
    call.answered(parts, reply)
}

/// The reply to a look ahead: no run was made.
pub(super) fn looked(
    parts: &Parts,
    call: &Call,
    stored: &Stored,
    usage: Usage,
    dropped: Vec<String>,
) -> Reply {
    let meta = Meta {
        fuel: usage.fuel,
        memory_bytes: usage.memory,
        effects: usage.effects,
        dropped,
        trimmed: stored.trimmed.clone(),
        ..call.meta(parts)
    };
    Reply { body: stored.to_body(), attachments: Vec::new(), meta, undelivered: None }
}

/// The reply to a decision: the result as it stands from now on.
pub(super) fn decided(parts: &Parts, record: &Record, stored: &Stored) -> Reply {
    let call = Call::of(parts, record.trace.clone());
    let usage = record.usage;
    let meta = Meta {
        run: Some(record.summary.run),
        step: Some(1),
        attempts: record.summary.attempts,
        fuel: usage.fuel,
        memory_bytes: usage.memory,
        effects: usage.effects,
        cost_micros: usage.cost,
        trimmed: stored.trimmed.clone(),
        ..call.meta(parts)
    };
    // What a person says has nothing beside it.
    Reply { body: stored.to_body(), attachments: Vec::new(), meta, undelivered: None }
}

/// What goes beside a stored result.
fn attachments(parts: &Parts, run: RunId, stored: &Stored) -> Result<Vec<Attachment>, Failure> {
    if stored.attached == 0 {
        return Ok(Vec::new());
    }
    parts.store.kept(run).map(|kept| kept.attachments).map_err(|failure| super::decide::refusal(&failure))
}
