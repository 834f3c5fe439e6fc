//! The log: one line for each call and each attempt, with what is private and secret masked.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use tracing::Level;

use super::resolve::{Request, Told};
use super::shape::private;
use super::validate::Valid;
use super::{Parts, Setting};
use crate::model::classify::Verdict;
use crate::model::failure::Kind;
use crate::model::id::{CallerName, RunId, UserName};
use crate::model::loops::Rounds;
use crate::model::pointer::Unshown;
use crate::model::reply::{Reply, Usage};
use crate::plugin::Entry;

/// Under which target the lines are told, each as JSON in the field `line`.
pub const LINES: &str = "airlock::line";

/// How much of an input stands in a line, in bytes; the run has the whole.
const INPUT: usize = 8 << 10;

/// What was asked, as far as the log tells it.
#[derive(Debug)]
pub struct Asked {
    tool: String,
    entry: Option<Arc<Entry>>,
    caller: CallerName,
    user: Option<UserName>,
    told: Told,
    input: String,
}

impl Asked {
    /// What a request asks; none where nobody reads the lines.
    pub fn of(request: &Request, setting: &Setting) -> Option<Self> {
        told().then(|| Self {
            tool: request.tool.chars().filter(|letter| !letter.is_control()).take(200).collect(),
            entry: setting.registry.named(&request.tool).cloned(),
            caller: request.caller.clone(),
            user: request.user.clone(),
            told: request.told.bounded(&setting.mask),
            input: request.input.clone(),
        })
    }
}

/// One line.
#[derive(Debug, Serialize)]
struct Line<'a> {
    line: &'static str,
    trace_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<RunId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<u32>,
    tool: &'a str,
    caller: &'a CallerName,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<&'a UserName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    /// `ok`, or the kind of the failure.
    result: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    /// What the caller is not told.
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<Value>,
    retryable: bool,
    duration_ms: u64,
    /// Of an attempt: which one. Of a call: how many were begun.
    #[serde(skip_serializing_if = "Option::is_none")]
    attempt: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attempts: Option<u32>,
    fuel: u64,
    memory_bytes: u64,
    effects: u32,
    cost_micros: u64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    replayed: bool,
    #[serde(rename = "loop", skip_serializing_if = "Option::is_none")]
    rounds: Option<Rounds>,
}

/// Tells of a call that was answered.
pub(super) fn call(parts: &Parts, setting: &Setting, asked: &Asked, reply: &Reply) {
    let error: Value = reply
        .body
        .as_ref()
        .err()
        .and_then(|error| serde_json::from_str(error.get()).ok())
        .unwrap_or_default();
    let text = |name: &str| error[name].as_str();
    let mut message = text("message").unwrap_or_default().to_owned();
    let mut reason = asked.told.reason.clone().unwrap_or_default();
    let unshown = asked.entry.as_ref().map(|entry| &entry.tool.unshown);
    // What is private in it is known of tools that are there, and of no other.
    let input = Some(asked.input.as_str()).filter(|_| unshown.is_some());
    let words = &mut [&mut message, &mut reason];
    let secret = parts.store.secret();
    let nothing = Unshown::default();
    let input = private::logged(
        input.unwrap_or_default(),
        words,
        unshown.unwrap_or(&nothing),
        &setting.mask,
        &secret,
    );
    let result = text("kind").unwrap_or("ok");
    let meta = &reply.meta;
    let line = Line {
        line: "call",
        trace_id: &meta.trace_id.0,
        run: meta.run,
        step: meta.step,
        tool: &asked.tool,
        caller: &asked.caller,
        user: asked.user.as_ref(),
        model: asked.told.model.as_deref(),
        reason: asked.told.reason.as_ref().map(|_| reason.as_str()),
        result,
        code: text("code"),
        message: text("message").map(|_| message.as_str()),
        cause: None,
        input: input.filter(|_| !reply.ok()).map(cut),
        retryable: error["retryable"] == true,
        duration_ms: meta.duration_ms,
        attempt: None,
        attempts: Some(meta.attempts),
        fuel: meta.fuel,
        memory_bytes: meta.memory_bytes,
        effects: meta.effects,
        cost_micros: meta.cost_micros,
        replayed: meta.replayed,
        rounds: meta.rounds,
    };
    tell(level(result), &line);
}

/// Tells of an attempt that ended so.
pub(super) fn attempt(
    parts: &Parts,
    valid: &Valid,
    run: RunId,
    attempt: u32,
    usage: Usage,
    verdict: &Verdict,
) {
    if !told() {
        return;
    }
    let resolved = valid.fresh().authorized().resolved();
    let (entry, asker, setting) = (resolved.tool(), resolved.asker(), resolved.setting());
    let failure = verdict.failure();
    let mut message = failure.map(|failure| failure.message.clone()).unwrap_or_default();
    let mut cause = failure.and_then(|failure| failure.log.clone()).unwrap_or_default();
    let mut reason = resolved.told().reason.clone().unwrap_or_default();
    let words = &mut [&mut message, &mut cause, &mut reason];
    let unshown = &entry.tool.unshown;
    let input = private::logged(resolved.input(), words, unshown, &setting.mask, &parts.store.secret());
    let code = failure.map(|failure| setting.mask.text(&failure.code).unwrap_or(failure.code.to_string()));
    let result = failure.map_or("ok", |failure| failure.kind.word());
    let tool = entry.name.to_string();
    let line = Line {
        line: "attempt",
        trace_id: &resolved.trace().0,
        run: Some(run),
        step: Some(1),
        tool: &tool,
        caller: asker.caller(),
        user: asker.user(),
        model: resolved.told().model.as_deref(),
        reason: resolved.told().reason.as_ref().map(|_| reason.as_str()),
        result,
        code: code.as_deref(),
        message: failure.map(|_| message.as_str()),
        cause: failure.and_then(|failure| failure.log.as_ref()).map(|_| cause.as_str()),
        input: input.filter(|_| failure.is_some()).map(cut),
        retryable: failure.is_some_and(|failure| failure.kind.retryable()),
        duration_ms: u64::try_from(usage.time.as_millis()).unwrap_or(u64::MAX),
        attempt: Some(attempt),
        attempts: None,
        fuel: usage.fuel,
        memory_bytes: usage.memory,
        effects: usage.effects,
        cost_micros: usage.cost,
        replayed: false,
        rounds: None,
    };
    tell(level(result), &line);
}

/// Whether anybody reads the lines: making one takes as long as a small call.
fn told() -> bool {
    tracing::enabled!(target: LINES, Level::INFO)
}

/// How loud a line is: what passes or what the caller must mend is no fault of the host's.
fn level(result: &str) -> Level {
    let is = |kinds: &[Kind]| kinds.iter().any(|kind| kind.word() == result);
    if is(&[Kind::Internal, Kind::Fatal]) {
        Level::ERROR
    } else if is(&[Kind::Transient, Kind::Throttled, Kind::UnknownOutcome, Kind::Partial, Kind::Limit]) {
        Level::WARN
    } else {
        Level::INFO
    }
}

fn tell(level: Level, line: &Line<'_>) {
    let Ok(line) = serde_json::to_string(line) else { return };
    if level == Level::ERROR {
        tracing::error!(target: LINES, line);
    } else if level == Level::WARN {
        tracing::warn!(target: LINES, line);
    } else {
        tracing::info!(target: LINES, line);
    }
}

/// An input that is too long for a line, as the beginning of its text.
fn cut(input: Value) -> Value {
    let text = input.to_string();
    if text.len() <= INPUT {
        return input;
    }
    let head: String = text.chars().take(INPUT).collect();
    let left = text.chars().count() - head.chars().count();
    Value::String(format!("{head}… [{left} characters more]"))
}
