//! Finds the tool and the caller; what a caller may not see is not there.

use std::sync::Arc;

use super::shape::Call;
use super::{Parts, Turn};
use crate::model::caller::Caller;
use crate::model::code;
use crate::model::failure::{Failure, Kind};
use crate::model::id::{CallerName, ToolName, TraceId};
use crate::model::key::Key;
use crate::model::nearest;
use crate::plugin::Entry;

/// A call as it comes in.
#[derive(Debug, Clone)]
pub struct Request {
    /// The tool's whole name.
    pub tool: String,
    /// JSON text.
    pub input: String,
    /// Who asks.
    pub caller: CallerName,
    /// The caller's key.
    pub key: Option<String>,
    /// The trace that the call belongs to.
    pub trace: Option<TraceId>,
}

/// A request whose tool and caller are known.
#[derive(Debug)]
pub struct Resolved {
    tool: Arc<Entry>,
    caller: Caller,
    key: Option<Key>,
    input: String,
    trace: TraceId,
}

impl Resolved {
    /// The tool.
    pub fn tool(&self) -> &Arc<Entry> {
        &self.tool
    }

    /// The caller.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// The caller's key.
    pub fn key(&self) -> Option<&Key> {
        self.key.as_ref()
    }

    /// The input as it came.
    pub fn input(&self) -> &str {
        &self.input
    }

    /// The trace.
    pub fn trace(&self) -> &TraceId {
        &self.trace
    }
}

/// Finds tool and caller.
pub(super) fn resolve(parts: &Parts, request: &Request, call: &Call) -> Result<Resolved, Turn> {
    let refuse = |code, text| Turn::Refuse(Failure::new(Kind::InvalidInput, code, text));
    let caller = parts.config.callers.get(&request.caller).ok_or_else(|| {
        let text = format!("the caller is not known; add [callers.{0}] to airlock.toml: {0}", request.caller);
        Turn::Refuse(Failure::new(Kind::Denied, code::PERMISSION_DENIED, text))
    })?;
    let key = match request.key.as_deref().map(Key::parse) {
        None => None,
        Some(Ok(key)) => Some(key),
        Some(Err(fault)) => return Err(refuse(code::INVALID_KEY, fault.to_string())),
    };
    let name: Result<ToolName, _> = request.tool.parse();
    let registry = parts.registry.get();
    let found = name.ok().and_then(|name| registry?.get(&name).cloned());
    let Some(tool) = found.filter(|tool| caller.sees(&tool.name, tool.tool.risk)) else {
        return Err(Turn::Refuse(unknown(parts, caller, &request.tool)));
    };
    Ok(Resolved {
        tool,
        caller: caller.clone(),
        key,
        input: request.input.clone(),
        trace: call.trace().clone(),
    })
}

fn unknown(parts: &Parts, caller: &Caller, asked: &str) -> Failure {
    let seen: Vec<String> = parts
        .registry
        .get()
        .into_iter()
        .flat_map(|registry| registry.tools())
        .filter(|tool| caller.sees(&tool.name, tool.tool.risk))
        .map(|tool| tool.name.to_string())
        .collect();
    let near = nearest::nearest(asked, seen.iter().map(String::as_str))
        .into_iter()
        .take(3)
        .map(str::to_owned)
        .collect::<Vec<String>>();
    let asked: String = asked.chars().filter(|c| !c.is_control()).take(100).collect();
    let text = match near.as_slice() {
        [] => format!("there is no such tool: {asked}"),
        [one] => format!("there is no such tool; did you mean {one}?: {asked}"),
        several => format!("there is no such tool; did you mean one of {}?: {asked}", several.join(", ")),
    };
    Failure::new(Kind::InvalidInput, code::UNKNOWN_TOOL, text).with_detail("closest", near)
}
