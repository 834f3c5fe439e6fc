//! Finds the tool and the caller; what a caller may not see is not there.

use std::sync::Arc;

use super::shape::Call;
use super::{Cancel, Parts, Progress, Setting, Turn};
use crate::model::attachment::Attachment;
use crate::model::caller::Asker;
use crate::model::code;
use crate::model::failure::{Failure, Kind};
use crate::model::id::{CallerName, SceneName, ToolName, TraceId, UserName};
use crate::model::key::Key;
use crate::model::nearest::nearest_tools;
use crate::model::price::ModelUsage;
pub use crate::model::run::Told;
use crate::model::run::{Record, Summary};
use crate::plugin::Entry;
use crate::store::StoreFailure;

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
    /// What its model was used for the call, as the agent says.
    pub usage: Option<ModelUsage>,
    /// Whether nobody waits for it: it is written down, and made in the background.
    pub background: bool,
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
            usage: None,
            background: false,
        }
    }

    /// The call that a run was made for, as far as it is written down: made again, nobody waits for it in its conversation.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub(super) fn of(parts: &Parts, record: &Record) -> Result<Self, StoreFailure> {
        let Summary { run, tool, caller, user, .. } = &record.summary;
        // What goes on has its input still.
        let input = record.input.clone().unwrap_or_default();
        Ok(Self {
            attachments: parts.store.brought(*run)?,
            key: record.key.clone(),
            user: user.clone(),
            scene: record.background.as_ref().and_then(|background| background.scene.clone()),
            trace: Some(record.trace.clone()),
            told: record.told.clone(),
            ..Self::new(tool.to_string(), input, caller.clone())
        })
    }

    /// The conversation that it belongs to: its trace, where others of that are its caller's too.
    pub fn of_conversation(&self) -> Option<&TraceId> {
        self.trace.as_ref().filter(|_| self.conversation)
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
    conversation: bool,
    cancel: Option<Cancel>,
    progress: Option<Progress>,
    told: Told,
    usage: Option<ModelUsage>,
    scene: Option<SceneName>,
    background: bool,
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

    /// The conversation that it belongs to, where it has one.
    pub fn conversation(&self) -> Option<&TraceId> {
        self.conversation.then_some(&self.trace)
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

    /// What its model was used for the call.
    pub fn usage(&self) -> Option<&ModelUsage> {
        self.usage.as_ref()
    }

    /// The scene that it is asked for in, where one was chosen.
    pub fn scene(&self) -> Option<&SceneName> {
        self.scene.as_ref()
    }

    /// Whether it is to be made in the background.
    pub fn background(&self) -> bool {
        self.background
    }
}

/// Finds tool and caller.
pub(super) fn resolve(request: &Request, call: &Call) -> Result<Resolved, Turn> {
    let setting = call.setting();
    let asker = asker(setting, &request.caller, request.user.as_ref(), request.scene.as_ref())
        .map_err(Turn::Refuse)?;
    call.goes_round().map_err(Turn::Refuse)?;
    let key = request.key.as_deref().map(Key::parse).transpose().map_err(|fault| {
        Turn::Refuse(Failure::new(Kind::InvalidInput, code::INVALID_KEY, fault.to_string()))
    })?;
    let tool = tool(setting, &asker, &request.tool).map_err(Turn::Refuse)?;
    Ok(Resolved {
        setting: Arc::clone(setting),
        tool: Arc::clone(tool),
        asker,
        key,
        input: request.input.clone(),
        attachments: request.attachments.clone(),
        trace: call.trace().clone(),
        conversation: request.of_conversation().is_some(),
        cancel: request.cancel.clone(),
        progress: request.progress.clone(),
        told: request.told.bounded(&setting.mask),
        usage: request.usage.clone(),
        scene: request.scene.clone(),
        background: request.background,
    })
}

/// Why a tool that is there under no name is not called.
pub(super) fn absent(request: &Request, call: &Call) -> Failure {
    let setting = call.setting();
    let asker = asker(setting, &request.caller, request.user.as_ref(), request.scene.as_ref());
    let asked = asker.and_then(|asker| call.goes_round().map(|()| asker));
    asked.map_or_else(|refusal| refusal, |asker| unknown(setting, &asker, &request.tool))
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
    let found = setting.registry.named(name);
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
