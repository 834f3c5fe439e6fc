//! One tool in full, as a person reads it: what it takes and gives, what it risks, and what it needs beside what it is granted.

use humantime::format_duration;
use serde_json::{Value, json};

use super::clean::clean;
use super::fields::fields;
use super::layout::table;
use crate::host::{Beside, Granted, ToolView};
use crate::model::limits::{AttemptTime, Says};
use crate::model::manifest::{Cleanup, DeclaredOrigin, HttpNeed, Need, Repeat, Risk, SecretNeed};

/// A tool, and what the host knows of it beside its declaration.
pub(super) struct Shown {
    pub(super) view: ToolView,
    pub(super) beside: Vec<Beside>,
    /// The lines of configuration that would grant what it lacks.
    pub(super) lines: Option<String>,
    pub(super) attempt: Option<AttemptTime>,
}

pub(super) fn full(shown: &Shown) -> String {
    let Shown { view, beside, lines, attempt } = shown;
    let tool = &view.tool;
    let permissions =
        if tool.permissions.is_empty() { "none".to_owned() } else { tool.permissions.join(", ") };
    let mut text = vec![
        format!("{}: {}", view.name, clean(&tool.title)),
        String::new(),
        tool.description.lines().map(clean).collect::<Vec<_>>().join("\n"),
        String::new(),
        format!("plugin       {} {}", view.name.plugin, clean(&view.plugin_version)),
        format!("risk         {}", described_risk(tool.risk)),
        format!("repeat       {}", described_repeat(tool.repeat)),
        format!("cleanup      {}", cleanup(tool.cleanup)),
        format!("asks         {}", if view.confirm { "a person, before each call" } else { "nobody" }),
        format!("permissions  {}", clean(&permissions)),
    ];
    text.extend(attempt.as_ref().map(|attempt| format!("time         {}", time(attempt))));
    text.extend(view.mcp_name.as_ref().map(|name| format!("over MCP     {}", clean(name))));
    text.push(String::new());
    text.push(needs(beside, false));
    text.extend(lines.as_ref().map(|lines| to_add(lines)));
    text.push(format!("\n{}", fields(&tool.input_schema, "INPUT")));
    text.extend(tool.output_schema.as_ref().map(|schema| format!("\n{}", fields(schema, "OUTPUT"))));
    text.join("\n")
}

pub(super) fn document(shown: &Shown) -> Value {
    let Shown { view, beside, lines, attempt } = shown;
    let mut document = summary(view);
    document["needs"] = needs_document(beside);
    document["lines"] = json!(lines);
    document["attempt_ms"] = json!(attempt.as_ref().map(|attempt| attempt.time.as_millis()));
    document
}

/// A tool as lists have it.
pub(super) fn summary(view: &ToolView) -> Value {
    let mut document =
        json!({ "name": view.name, "plugin_version": view.plugin_version, "confirm": view.confirm });
    document["tool"] = serde_json::to_value(&view.tool).unwrap_or_default();
    document
}

/// What is declared beside what is granted, with the tools' names where there are several.
pub(super) fn needs(beside: &[Beside], named: bool) -> String {
    if beside.is_empty() {
        return "it needs nothing".to_owned();
    }
    let row = |one: &Beside| [one.tool.clone(), described(&one.need), granted(&one.granted)];
    if named {
        return table(["TOOL", "DECLARED", "GRANTED"], beside.iter().map(row).collect());
    }
    let row = |one: &Beside| {
        let [_, declared, granted] = row(one);
        [declared, granted]
    };
    table(["DECLARED", "GRANTED"], beside.iter().map(row).collect())
}

pub(super) fn needs_document(beside: &[Beside]) -> Value {
    let document = |one: &Beside| {
        let (granted, given, missing) = match &one.granted {
            Granted::Whole(given) => ("whole", Some(given), Vec::new()),
            Granted::Part(given, missing) => ("part", Some(given), missing.clone()),
            Granted::Nothing => ("nothing", None, Vec::new()),
        };
        json!({ "tool": one.tool, "declared": one.need, "granted": granted, "given": given, "missing": missing })
    };
    beside.iter().map(document).collect()
}

/// What an operator writes to grant the rest.
pub(super) fn to_add(lines: &str) -> String {
    let lines: Vec<String> =
        lines.lines().map(|line| format!("  {}", clean(line)).trim_end().to_owned()).collect();
    format!("\nto grant the rest, write into the configuration:\n{}", lines.join("\n"))
}

fn granted(granted: &Granted) -> String {
    match granted {
        Granted::Whole(what) if what.is_empty() => "yes".to_owned(),
        Granted::Whole(what) => format!("yes: {what}"),
        Granted::Part(what, missing) => format!("in part: {what}; not {}", missing.join(", ")),
        Granted::Nothing => "no".to_owned(),
    }
}

fn time(AttemptTime { time, says }: &AttemptTime) -> String {
    let says = match says {
        Says::Limits => "[limits] attempt".to_owned(),
        Says::Rule(name) => format!("[tools.\"{name}\"] timeout"),
        Says::Tool => "the tool's own word".to_owned(),
        Says::Run(_) => "[limits] run".to_owned(),
        Says::Background(_) => "[limits] background".to_owned(),
        Says::Probe => "[probe] time".to_owned(),
    };
    format!("{} an attempt, by {says}", format_duration(*time))
}

/// A need in words.
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
    use super::*;

    #[test]
    fn what_a_tool_declares_is_told_in_words() {
        let risks = [Risk::L1, Risk::L2, Risk::L3, Risk::L4].map(described_risk);
        let repeats = [Repeat::Reads, Repeat::Idempotent, Repeat::Keyed, Repeat::Once].map(described_repeat);
        let cleanups =
            [Cleanup::Nothing, Cleanup::Release, Cleanup::Automatic, Cleanup::Destructive, Cleanup::Manual];
        let origins = vec![DeclaredOrigin::Granted, DeclaredOrigin::Configured("url".to_owned())];
        let secret = SecretNeed { name: "token".to_owned(), origins, in_body: true };
        let needs = [
            Need::KeyValue,
            Need::Directory("inbox".to_owned(), false),
            Need::Directory("outbox".to_owned(), true),
            Need::Config("url".to_owned()),
            Need::Secret(secret),
        ];
        let says = [Says::Limits, Says::Rule("a.b".parse().unwrap()), Says::Tool];
        let times = says.map(|says| time(&AttemptTime { time: std::time::Duration::from_secs(3), says }));
        let grants = [
            Granted::Whole(String::new()),
            Granted::Whole("token".to_owned()),
            Granted::Part("/srv, read".to_owned(), vec!["writing".to_owned()]),
            Granted::Nothing,
        ];
        let mut told: Vec<String> = risks.into_iter().chain(repeats).map(str::to_owned).collect();
        told.extend(cleanups.map(|one| cleanup(one).to_owned()));
        told.extend(needs.iter().map(described));
        told.extend(times);
        told.extend(grants.iter().map(granted));
        insta::assert_snapshot!(told.join("\n"), @r#"
        L1: reads what anyone may read
        L2: reads what the business keeps to itself
        L3: writes what is easily put right
        L4: writes what is not easily put right
        reads: changes nothing
        idempotent: a second time changes nothing more
        keyed: the backend takes a key and does it once
        once: a second time does it twice
        nothing is left behind
        given back when the run ends
        a rollback may put it right unattended
        a person confirms a rollback first
        a person decides
        a store of its own
        folder: inbox, read
        folder: outbox, written
        config: url
        secret: token, sent to whatever origin is granted and the origin in config url, also in a body
        3s an attempt, by [limits] attempt
        3s an attempt, by [tools."a.b"] timeout
        3s an attempt, by the tool's own word
        yes
        yes: token
        in part: /srv, read; not writing
        no
        "#);
    }
}
