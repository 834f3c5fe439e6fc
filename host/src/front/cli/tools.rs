//! `airlock tools`: what can be called, and what one tool takes, needs and risks.

use std::path::Path;

use clap::Args;
use serde_json::{Value, json};

use super::call::known;
use super::clean::clean;
use super::layout::{pretty, table};
use super::output::Output;
use super::problem::{Exit, Problem};
use crate::host::{Config, Host, PluginFault, ToolView};
use crate::model::id::CallerName;
use crate::model::manifest::{Cleanup, DeclaredOrigin, HttpNeed, Need, Repeat, Risk, SecretNeed};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The tool to show in full
    name: Option<String>,

    /// As this caller sees them: one under [callers] of the configuration
    #[arg(long = "as", value_name = "CALLER", default_value = "local")]
    caller: String,
}

pub(super) async fn run(
    arguments: &Arguments,
    config: Option<&Path>,
    output: Output,
) -> Result<Exit, Problem> {
    let config = Config::load(config)?;
    let caller = known(&config, &arguments.caller)?;
    let plugins = config.plugins.clone();
    let host = Host::open(config).await?;
    host.load().await;
    let shown = match &arguments.name {
        Some(name) => one(&host, &caller, name, output),
        None => all(&host, &caller, &plugins, output),
    };
    host.close().await;
    shown
}

fn all(host: &Host, caller: &CallerName, plugins: &Path, output: Output) -> Result<Exit, Problem> {
    let tools = host.tools(caller)?;
    faults(host.faults(), output);
    if tools.is_empty() && !output.json {
        output.note(&none(host, caller, plugins));
        return Ok(Exit::Done);
    }
    let document =
        || json!({ "tools": tools.iter().map(document).collect::<Value>(), "faults": broken(host.faults()) });
    output.data(|| list(&tools), document).map(|()| Exit::Done)
}

fn none(host: &Host, caller: &CallerName, plugins: &Path) -> String {
    match (host.faults(), &*caller.0) {
        ([], "local") => format!("no tools yet; put plugins (.wasm files) into {}", plugins.display()),
        ([], caller) => format!("no tools are there for {caller}; look at [callers.{caller}]"),
        (_, _) => format!("no tools: none of the plugins in {} can be used", plugins.display()),
    }
}

fn one(host: &Host, caller: &CallerName, name: &str, output: Output) -> Result<Exit, Problem> {
    let view = host.tool(caller, name).inspect_err(|_| faults(host.faults(), output))?;
    output.data(|| full(&view), || document(&view)).map(|()| Exit::Done)
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

fn broken(faults: &[PluginFault]) -> Vec<Value> {
    let document =
        |fault: &PluginFault| json!({ "file": fault.file, "faults": fault.faults, "remedy": fault.remedy });
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

fn document(view: &ToolView) -> Value {
    let mut document =
        json!({ "name": view.name, "plugin_version": view.plugin_version, "confirm": view.confirm });
    document["tool"] = serde_json::to_value(&view.tool).unwrap_or_default();
    document
}

fn full(view: &ToolView) -> String {
    let tool = &view.tool;
    let plain = |text: &str| clean(text);
    let mut lines = vec![
        format!("{}: {}", view.name, plain(&tool.title)),
        String::new(),
        tool.description.lines().map(clean).collect::<Vec<_>>().join("\n"),
        String::new(),
        format!("plugin       {} {}", view.name.plugin, plain(&view.plugin_version)),
        format!("risk         {}", described_risk(tool.risk)),
        format!("repeat       {}", described_repeat(tool.repeat)),
        format!("cleanup      {}", cleanup(tool.cleanup)),
        format!("asks         {}", if view.confirm { "a person, before each call" } else { "nobody" }),
        format!(
            "permissions  {}",
            if tool.permissions.is_empty() { "none".to_owned() } else { plain(&tool.permissions.join(", ")) }
        ),
    ];
    let needs: Vec<String> =
        tool.needs.iter().map(|need| format!("  - {}", plain(&described(need)))).collect();
    lines.push(if needs.is_empty() {
        "needs        nothing".to_owned()
    } else {
        format!("needs\n{}", needs.join("\n"))
    });
    lines.push(format!("\ninput\n{}", pretty(&tool.input_schema.to_string())));
    lines.extend(
        tool.output_schema.as_ref().map(|schema| format!("\noutput\n{}", pretty(&schema.to_string()))),
    );
    lines.join("\n")
}

fn described(need: &Need) -> String {
    match need {
        Need::Http(HttpNeed { origin: place, methods, paths, repeat: class, idempotency_header, .. }) => {
            let paths: Vec<String> = paths.iter().map(ToString::to_string).collect();
            let paths = if paths.is_empty() { "every path".to_owned() } else { paths.join(" ") };
            let key =
                idempotency_header.as_ref().map(|header| format!(", key in {header}")).unwrap_or_default();
            format!("http: {} {}, {paths} ({}{key})", methods.join(" "), origin(place), class.word())
        }
        Need::Directory(name, writes) => {
            format!("folder: {name}, {}", if *writes { "written" } else { "read" })
        }
        Need::Secret(SecretNeed { name, origins, in_body }) => {
            let origins: Vec<String> = origins.iter().map(origin).collect();
            let body = if *in_body { ", also in a body" } else { "" };
            format!("secret: {name}, sent to {}{body}", origins.join(" and "))
        }
        Need::Config(key) => format!("config: {key}"),
        Need::KeyValue => "a store of its own".to_owned(),
    }
}

fn origin(origin: &DeclaredOrigin) -> String {
    match origin {
        DeclaredOrigin::Fixed(pattern) => pattern.to_string(),
        DeclaredOrigin::Configured(key) => format!("the origin in config {key}"),
        DeclaredOrigin::Granted => "whatever origin is granted".to_owned(),
    }
}

fn described_risk(risk: Risk) -> &'static str {
    match risk {
        Risk::L1 => "L1: reads what anyone may read",
        Risk::L2 => "L2: reads what the business keeps to itself",
        Risk::L3 => "L3: writes what is easily put right",
        Risk::L4 => "L4: writes what is not easily put right",
    }
}

fn described_repeat(repeat: Repeat) -> &'static str {
    match repeat {
        Repeat::Reads => "reads: changes nothing",
        Repeat::Idempotent => "idempotent: a second time changes nothing more",
        Repeat::Keyed => "keyed: the backend takes a key and does it once",
        Repeat::Once => "once: a second time does it twice",
    }
}

fn cleanup(cleanup: Cleanup) -> &'static str {
    match cleanup {
        Cleanup::Nothing => "nothing is left behind",
        Cleanup::Release => "given back when the run ends",
        Cleanup::Automatic => "a rollback may put it right unattended",
        Cleanup::Destructive => "a person confirms a rollback first",
        Cleanup::Manual => "a person decides",
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::model::manifest::Tool;

    fn view() -> ToolView {
        let backend = || DeclaredOrigin::Configured("backend".into());
        let tool = Tool {
            name: "create_ticket".into(),
            title: "Create a ticket".into(),
            description: "Creates one ticket.\nAnswers with its \u{202e}id.".into(),
            input_schema: json!({ "type": "object", "properties": { "title": { "type": "string" } } }),
            output_schema: None,
            risk: Risk::L3,
            repeat: Repeat::Keyed,
            cleanup: Cleanup::Manual,
            permissions: vec!["ticket:write".into()],
            needs: vec![
                Need::Http(HttpNeed {
                    origin: backend(),
                    methods: vec!["POST".into()],
                    paths: vec!["/tickets".parse().unwrap()],
                    repeat: Repeat::Keyed,
                    idempotency_header: Some("Idempotency-Key".into()),
                    clean_statuses: vec![503],
                }),
                Need::Secret(SecretNeed {
                    name: "desk_token".into(),
                    origins: vec![backend()],
                    in_body: false,
                }),
                Need::Config("backend".into()),
            ],
            timeout: None,
        };
        let name = "desk.create_ticket".parse().unwrap();
        ToolView { name, tool, plugin_version: "1.0.0".into(), confirm: false }
    }

    #[test]
    fn tools_are_listed_with_what_they_risk() {
        assert_snapshot!(list(&[view()]), @r#"
        TOOL                RISK  REPEAT  ASKS    TITLE
        desk.create_ticket  L3    keyed   nobody  Create a ticket
        "#);
    }

    #[test]
    fn a_tool_is_shown_with_all_that_it_declares() {
        assert_snapshot!(full(&view()), @r#"
        desk.create_ticket: Create a ticket

        Creates one ticket.
        Answers with its \u{202e}id.

        plugin       desk 1.0.0
        risk         L3: writes what is easily put right
        repeat       keyed: the backend takes a key and does it once
        cleanup      a person decides
        asks         nobody
        permissions  ticket:write
        needs
          - http: POST the origin in config backend, /tickets (keyed, key in Idempotency-Key)
          - secret: desk_token, sent to the origin in config backend
          - config: backend

        input
        {
          "type": "object",
          "properties": {
            "title": {
              "type": "string"
            }
          }
        }
        "#);
    }
}
