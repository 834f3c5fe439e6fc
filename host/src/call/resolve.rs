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
    let caller = caller(parts, &request.caller).map_err(Turn::Refuse)?;
    let key = request.key.as_deref().map(Key::parse).transpose().map_err(|fault| {
        Turn::Refuse(Failure::new(Kind::InvalidInput, code::INVALID_KEY, fault.to_string()))
    })?;
    let tool = tool(parts, caller, &request.tool).map_err(Turn::Refuse)?;
    Ok(Resolved {
        tool: Arc::clone(tool),
        caller: caller.clone(),
        key,
        input: request.input.clone(),
        trace: call.trace().clone(),
    })
}

/// The caller of this name.
///
/// # Errors
/// Where the configuration knows none.
pub(crate) fn caller<'a>(parts: &'a Parts, name: &CallerName) -> Result<&'a Caller, Failure> {
    parts.config.callers.get(name).ok_or_else(|| {
        let text = format!("the caller is not known; add [callers.{name}] to airlock.toml: {name}");
        Failure::new(Kind::Denied, code::PERMISSION_DENIED, text)
    })
}

/// The tools that are there for a caller.
pub(crate) fn seen<'a>(parts: &'a Parts, caller: &'a Caller) -> impl Iterator<Item = &'a Arc<Entry>> {
    let tools = parts.registry.get().into_iter().flat_map(|registry| registry.tools());
    tools.filter(|tool| caller.sees(&tool.name, tool.tool.risk))
}

/// The tool of this name that is there for a caller.
///
/// # Errors
/// Where there is none; the closest names that the caller may see are told.
pub(crate) fn tool<'a>(parts: &'a Parts, caller: &'a Caller, name: &str) -> Result<&'a Arc<Entry>, Failure> {
    let found = name.parse().ok().and_then(|name: ToolName| parts.registry.get()?.get(&name));
    found.filter(|tool| caller.sees(&tool.name, tool.tool.risk)).ok_or_else(|| unknown(parts, caller, name))
}

fn unknown(parts: &Parts, caller: &Caller, asked: &str) -> Failure {
    let seen: Vec<String> = seen(parts, caller).map(|tool| tool.name.to_string()).collect();
    let near: Vec<&str> =
        nearest::nearest(asked, seen.iter().map(String::as_str)).into_iter().take(3).collect();
    let asked: String = asked.chars().filter(|c| !c.is_control()).take(100).collect();
    let text = match near.as_slice() {
        [] => format!("there is no such tool: {asked}"),
        near => format!("there is no such tool: {asked}; did you mean {}?", near.join(" or ")),
    };
    Failure::new(Kind::InvalidInput, code::UNKNOWN_TOOL, text).with_detail("closest", near)
}
