//! Finds the tool and the caller; what a caller may not see is not there.

use std::sync::Arc;

use super::shape::Call;
use super::{Cancel, Progress, Setting, Turn};
use crate::model::attachment::Attachment;
use crate::model::caller::Asker;
use crate::model::code;
use crate::model::failure::{Failure, Kind};
use crate::model::id::{CallerName, SceneName, ToolName, TraceId, UserName};
use crate::model::key::Key;
use crate::model::nearest::nearest_tools;
pub use crate::model::run::Told;
use crate::plugin::Entry;

/// A call as it comes in.
#[derive(Debug, Clone)]
pub struct Request {
    /// The tool's whole name.
    pub tool: String,
    /// JSON text.
    pub input: String,
    /// What comes beside it.
    pub attachments: Vec<Attachment>,
    /// Who asks.
    pub caller: CallerName,
    /// For whom, where the caller says so.
    pub user: Option<UserName>,
    /// The scene, where one was chosen: never by a model.
    pub scene: Option<SceneName>,
    /// The caller's key.
    pub key: Option<String>,
    /// The trace that the call belongs to.
    pub trace: Option<TraceId>,
    /// Whether its caller, an agent, makes other calls of that trace: if they go round in circles, it is told so.
    pub conversation: bool,
    /// By which the caller says that it wants no more of it.
    pub cancel: Option<Cancel>,
    /// Where it is told how far the call is.
    pub progress: Option<Progress>,
    /// What the agent says of itself.
    pub told: Told,
}

impl Request {
    /// A request with nothing beside what every one has.
    pub fn new(tool: impl Into<String>, input: impl Into<String>, caller: CallerName) -> Self {
        Self {
            tool: tool.into(),
            input: input.into(),
            attachments: Vec::new(),
            caller,
            user: None,
            scene: None,
            key: None,
            trace: None,
            conversation: false,
            cancel: None,
            progress: None,
            told: Told::default(),
        }
    }
}

/// A request whose tool and caller are known.
#[derive(Debug)]
pub struct Resolved {
    setting: Arc<Setting>,
    tool: Arc<Entry>,
    asker: Asker,
    key: Option<Key>,
    input: String,
    attachments: Vec<Attachment>,
    trace: TraceId,
    cancel: Option<Cancel>,
    progress: Option<Progress>,
    told: Told,
}

impl Resolved {
    /// What holds for this call, to its end.
    pub fn setting(&self) -> &Arc<Setting> {
        &self.setting
    }

    /// The tool.
    pub fn tool(&self) -> &Arc<Entry> {
        &self.tool
    }

    /// Who asks.
    pub fn asker(&self) -> &Asker {
        &self.asker
    }

    /// The caller's key.
    pub fn key(&self) -> Option<&Key> {
        self.key.as_ref()
    }

    /// The input as it came.
    pub fn input(&self) -> &str {
        &self.input
    }

    /// What came beside it.
    pub fn attachments(&self) -> &[Attachment] {
        &self.attachments
    }

    /// The trace.
    pub fn trace(&self) -> &TraceId {
        &self.trace
    }

    /// By which the caller withdraws it.
    pub fn cancel(&self) -> Option<&Cancel> {
        self.cancel.as_ref()
    }

    /// Where it is told how far the call is.
    pub fn progress(&self) -> Option<&Progress> {
        self.progress.as_ref()
    }

    /// What the agent says of itself.
    pub fn told(&self) -> &Told {
        &self.told
    }
}

/// Finds tool and caller.
pub(super) fn resolve(request: &Request, call: &Call) -> Result<Resolved, Turn> {
    let setting = call.setting();
    let asker = asker(setting, &request.caller, request.user.as_ref(), request.scene.as_ref())
        .map_err(Turn::Refuse)?;
    let key = request.key.as_deref().map(Key::parse).transpose().map_err(|fault| {
        Turn::Refuse(Failure::new(Kind::InvalidInput, code::INVALID_KEY, fault.to_string()))
    })?;
    let tool = tool(setting, &asker, &request.tool).map_err(Turn::Refuse)?;
    call.goes_round().map_err(Turn::Refuse)?;
    Ok(Resolved {
        setting: Arc::clone(setting),
        tool: Arc::clone(tool),
        asker,
        key,
        input: request.input.clone(),
        attachments: request.attachments.clone(),
        trace: call.trace().clone(),
        cancel: request.cancel.clone(),
        progress: request.progress.clone(),
        told: request.told.bounded(&setting.mask),
    })
}

/// Who asks, by the names of caller, user and scene.
///
/// # Errors
/// Where the configuration knows no such caller, or no such scene of it.
pub(crate) fn asker(
    setting: &Setting,
    caller: &CallerName,
    user: Option<&UserName>,
    scene: Option<&SceneName>,
) -> Result<Asker, Failure> {
    let denied = |text: String| Failure::new(Kind::Denied, code::PERMISSION_DENIED, text);
    let known = setting.config.callers.get(caller).ok_or_else(|| {
        denied(format!("the caller is not known; add [callers.{caller}] to airlock.toml: {caller}"))
    })?;
    Asker::new(known, user, scene, &setting.config.scenes).map_err(|none| denied(none.to_string()))
}

/// The tools that are there for who asks.
pub(crate) fn seen<'a>(setting: &'a Setting, asker: &'a Asker) -> impl Iterator<Item = &'a Arc<Entry>> {
    setting.registry.tools().filter(|tool| asker.sees(&tool.name, tool.tool.risk))
}

/// The tool of this name that is there for who asks.
///
/// # Errors
/// Where there is none; the closest names that are there are told.
pub(crate) fn tool<'a>(setting: &'a Setting, asker: &Asker, name: &str) -> Result<&'a Arc<Entry>, Failure> {
    let found = name.parse().ok().and_then(|name: ToolName| setting.registry.get(&name));
    found.filter(|tool| asker.sees(&tool.name, tool.tool.risk)).ok_or_else(|| {
        let parsed = name.parse().ok();
        parsed
            .and_then(|name| suspended(setting, asker, &name))
            .unwrap_or_else(|| unknown(setting, asker, name))
    })
}

/// The refusal for a tool of a plugin that waits for its operator; none where it is another, or not for this caller.
fn suspended(setting: &Setting, asker: &Asker, name: &ToolName) -> Option<Failure> {
    let waiting = setting.registry.waiting().get(&name.plugin)?;
    let risk = waiting.tools.get(&name.tool)?;
    let why = if waiting.changes.is_empty() { "was never accepted" } else { "changed since it was accepted" };
    let text = format!("the plugin of {name} {why}, and waits for its operator; nothing was run");
    asker.sees(name, *risk).then(|| {
        Failure::new(Kind::Denied, code::PERMISSION_DENIED, text)
            .with_detail("suspended", name.plugin.as_str())
    })
}

fn unknown(setting: &Setting, asker: &Asker, asked: &str) -> Failure {
    let seen: Vec<String> = seen(setting, asker).map(|tool| tool.name.to_string()).collect();
    let names: Vec<&str> = seen.iter().map(String::as_str).collect();
    let near = nearest_tools(asked, ".", &names);
    let asked: String = asked.chars().filter(|c| !c.is_control()).take(100).collect();
    let text = match near.as_slice() {
        [] => format!("there is no such tool: {asked}"),
        near => format!("there is no such tool: {asked}; did you mean {}?", near.join(" or ")),
    };
    Failure::new(Kind::InvalidInput, code::UNKNOWN_TOOL, text).with_detail("closest", near)
}
