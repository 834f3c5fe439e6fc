//! `airlock tools`: what can be called, and what one tool takes, needs and risks.

use std::path::Path;

use clap::Args;
use serde_json::{Value, json};

use super::call::known;
use super::clean::clean;
use super::layout::table;
use super::output::Output;
use super::problem::{Exit, Problem};
use super::progress::loaded;
use super::tool::{Shown, document, full, summary};
use super::trust;
use crate::host::{Doubts, Faults, Host, PluginFault, ToolView, Waiting, configuration_to_list};
use crate::model::id::{CallerName, SceneName};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The tool to show in full
    name: Option<String>,

    /// As this caller sees them: one under [callers] of the configuration
    #[arg(long = "as", value_name = "CALLER", default_value = "local")]
    caller: String,

    /// In this scene: one under [scenes] of the configuration
    #[arg(long)]
    scene: Option<SceneName>,
}

pub(super) async fn run(
    arguments: &Arguments,
    config: Option<&Path>,
    output: Output,
) -> Result<Exit, Problem> {
    let (config, faults) = configuration_to_list(config)?;
    let caller = known(&config, &arguments.caller, arguments.scene.as_ref())?;
    let scene = arguments.scene.as_ref();
    let plugins = config.plugins.clone();
    let host = Host::open(config).await?;
    loaded(&host).await;
    let shown = match &arguments.name {
        Some(name) => one(&host, (&caller, scene), name, faults, output),
        None => all(&host, (&caller, scene), &plugins, faults, output),
    };
    host.close().await;
    shown
}

/// For whom tools are shown: a caller, and the scene that it is in.
type Whose<'a> = (&'a CallerName, Option<&'a SceneName>);

fn all(
    host: &Host,
    (caller, scene): Whose<'_>,
    plugins: &Path,
    wrong: Option<Faults>,
    output: Output,
) -> Result<Exit, Problem> {
    let tools = host.tools(caller, scene)?;
    faults(&host.faults(), output);
    waits(&host.waiting(), output);
    doubted(&host.doubts(), output);
    let document = json!({
        "tools": tools.iter().map(summary).collect::<Value>(),
        "faults": broken(&host.faults()),
        "waiting": waiting_documents(&host.waiting()),
        "doubts": host.doubts().iter().map(doubts_document).collect::<Value>(),
    });
    // Where no plugin can be taken, that says it.
    if tools.is_empty() && host.bar().is_none() {
        output.note(&none(host, caller, plugins));
    }
    shown(wrong.or_else(|| host.missing()), (!tools.is_empty()).then(|| list(&tools)), document, output)
}

/// Shows what there is, so that an operator can look; where grants cannot be read, or the configuration names what is not
/// there, no call is made, and the command says so and ends as a call would.
fn shown(
    missing: Option<Faults>,
    text: Option<String>,
    document: Value,
    output: Output,
) -> Result<Exit, Problem> {
    missing.iter().for_each(|missing| output.note(&missing.styled()));
    match (missing.as_ref().map(Faults::failure), text) {
        (None, None) if !output.json => Ok(Exit::Done),
        (Some(_), None) if !output.json => Ok(Exit::Usage),
        (None, text) => output.data(|| text.unwrap_or_default(), || document).map(|()| Exit::Done),
        (Some(failure), text) => {
            output.found(|| text.unwrap_or_default(), json!({ "shown": document }), Some(failure))
        }
    }
}

fn none(host: &Host, caller: &CallerName, plugins: &Path) -> String {
    if !host.waiting().is_empty() {
        return "no tools: the plugins wait until they are trusted".to_owned();
    }
    match (host.faults().as_slice(), &*caller.0) {
        ([], "local") => format!("no tools yet; put plugins (.wasm files) into {}", plugins.display()),
        ([], caller) => format!("no tools are there for {caller}; look at [callers.{caller}]"),
        (_, _) => format!("no tools: none of the plugins in {} can be used", plugins.display()),
    }
}

fn one(
    host: &Host,
    (caller, scene): Whose<'_>,
    name: &str,
    wrong: Option<Faults>,
    output: Output,
) -> Result<Exit, Problem> {
    let view = host.tool(caller, scene, name).inspect_err(|_| faults(&host.faults(), output))?;
    for doubts in host.doubts().iter().filter(|doubts| doubts.plugin == view.name.plugin) {
        output.note(&format!("look twice at {}:", doubts.plugin));
        doubts.doubts.iter().for_each(|one| output.note(&format!("  - {}", clean(one))));
    }
    let tools = std::slice::from_ref(&view.tool);
    let tool = Shown {
        beside: host.beside(&view.name.plugin, tools),
        lines: host.lines(&view.name.plugin, tools),
        attempt: host.attempt_time(&view.name),
        view,
    };
    shown(wrong.or_else(|| host.missing()), Some(full(&tool)), document(&tool), output)
}

/// Says which plugins wait for a person's word, and why.
pub(super) fn waits(waiting: &[Waiting], output: Output) {
    for one in waiting {
        trust::lines(one).iter().for_each(|line| output.note(line));
        output.hint(&format!("its calls are refused until you accept it: airlock trust {}", one.plugin));
    }
}

fn doubted(doubts: &[Doubts], output: Output) {
    const NAMED: usize = 5;
    let names: Vec<&str> = doubts.iter().take(NAMED).map(|doubts| doubts.plugin.as_str()).collect();
    let names = match doubts.len().saturating_sub(names.len()) {
        _ if names.is_empty() => return,
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    };
    output.note(&format!("look twice at {names}: `airlock tools NAME` says why, for any tool of it"));
}

pub(super) fn waiting_documents(waiting: &[Waiting]) -> Value {
    let document = |waiting: &Waiting| {
        json!({
            "plugin": waiting.plugin,
            "file": waiting.file.display().to_string(),
            "digest": waiting.digest.to_string(),
            "changes": waiting.changes,
        })
    };
    waiting.iter().map(document).collect()
}

fn doubts_document(doubts: &Doubts) -> Value {
    json!({ "plugin": doubts.plugin, "file": doubts.file.display().to_string(), "doubts": doubts.doubts })
}

/// Says which plugins could not be used, and why.
pub(super) fn faults(faults: &[PluginFault], output: Output) {
    for fault in faults {
        output.note(&format!("{} cannot be used:", clean(&fault.file.to_string_lossy())));
        for one in &fault.faults {
            output.note(&format!("  - {}", clean(one)));
        }
        output.hint(&fault.remedy);
    }
}

/// The same as lines of the log, for whoever reads that.
pub(super) fn log_faults(faults: &[PluginFault]) {
    for PluginFault { file, faults, remedy } in faults {
        let file = file.display();
        tracing::warn!("{file} cannot be used: {}; {remedy}", faults.join("; "));
    }
}

fn broken(faults: &[PluginFault]) -> Vec<Value> {
    let document = |fault: &PluginFault| {
        let file = fault.file.display().to_string();
        json!({ "file": file, "faults": fault.faults, "remedy": fault.remedy })
    };
    faults.iter().map(document).collect()
}

fn list(tools: &[ToolView]) -> String {
    let row = |view: &ToolView| {
        let asks = if view.confirm { "a person" } else { "nobody" };
        [
            view.name.to_string(),
            view.tool.risk.word().to_owned(),
            view.tool.repeat.word().to_owned(),
            asks.to_owned(),
            view.tool.title.clone(),
        ]
    };
    table(["TOOL", "RISK", "REPEAT", "ASKS", "TITLE"], tools.iter().map(row).collect())
}
