//! `airlock trace`: all that was called in one conversation, in its order.

use std::path::Path;
use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::clean::clean;
use super::events;
use super::layout::moment;
use super::output::Output;
use super::problem::{Exit, Problem};
use super::runs;
use crate::host::{Config, Host, Traced};
use crate::model::effect::Effect;
use crate::model::probe::Finding;
use crate::model::refused::Refused;
use crate::model::run::{Attempt, Record};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The trace, as results name it in `trace_id`; a run of it will do
    trace: String,
}

pub(super) async fn run(
    arguments: &Arguments,
    config: Option<&Path>,
    output: Output,
) -> Result<Exit, Problem> {
    let host = Host::open(Config::load_to_look(config)?).await?;
    let traced = host.trace(&arguments.trace);
    host.close().await;
    let traced = traced?;
    let document = || {
        let runs: Vec<_> = traced.runs.iter().map(runs::document).collect();
        json!({ "trace_id": traced.trace, "more": traced.more, "runs": runs, "refused": traced.refused })
    };
    output.data(|| shown(&traced), document).map(|()| Exit::Done)
}

fn shown(traced: &Traced) -> String {
    let ok = traced.runs.iter().filter(|record| code(record) == "ok").count();
    let mut lines = vec![format!("trace  {}", clean(&traced.trace.0))];
    let refused = match traced.refused.len() {
        0 => String::new(),
        some => format!(", {some} refused"),
    };
    let all = traced.runs.len() + traced.refused.len();
    lines.push(format!("calls  {all}, {ok} of them ok{refused}"));
    let mut refused = traced.refused.iter().peekable();
    let mut place = 0;
    for record in &traced.runs {
        while let Some(earlier) = refused.next_if(|one| one.at < record.summary.began) {
            place += 1;
            lines.push(turned_away(place, earlier));
        }
        place += 1;
        lines.push(call(place, record));
    }
    lines.extend(refused.zip(place + 1..).map(|(one, place)| turned_away(place, one)));
    if traced.more {
        lines.push(format!("\nthese are the first {all}; `airlock runs` lists the latest"));
    }
    lines.join("\n")
}

/// A call that was refused before it had a run.
fn turned_away(place: usize, refused: &Refused) -> String {
    let Refused { at, tool, caller, user, code, trace: _ } = refused;
    let user = user.as_ref().map(|user| format!(" for {user}")).unwrap_or_default();
    let asked = clean(&format!("{}{user}", caller.0));
    format!("\n{place}. {}  {}  {}\n   refused, by {asked}", moment(*at), clean(tool), clean(code))
}

/// How a call ended, or where it stands.
fn code(record: &Record) -> &str {
    match (&record.summary.code, &record.summary.ended) {
        (Some(code), _) => code,
        (None, Some(_)) => "ok",
        (None, None) => record.summary.state.word(),
    }
}

fn call(place: usize, record: &Record) -> String {
    let run = &record.summary;
    let took = run.ended.map(|ended| format!(" after {}", span(ended.since(run.began))));
    let head = format!("{place}. {}  {}", moment(run.began), run.tool);
    let mut lines = vec![format!("\n{head}  {}{}", clean(code(record)), took.unwrap_or_default())];
    lines.push(format!("   run {}, by {}", run.run, clean(&runs::asked(run))));
    let said = [("model", &record.told.model), ("reason", &record.told.reason)];
    lines.extend(said.iter().filter_map(|(name, text)| Some(format!("   {name} {}", clean(text.as_ref()?)))));
    let mut before: Option<&Attempt> = None;
    for attempt in &record.attempts {
        let waited = before.and_then(|before| Some(attempt.began.since(before.ended?)));
        lines.extend(waited.map(|waited| format!("   again after {}", span(waited))));
        lines.push(tried(attempt));
        let effects = record.effects.iter().filter(|effect| effect.attempt == attempt.attempt);
        lines.extend(effects.map(effect));
        before = Some(attempt);
    }
    let findings = record.events.iter().filter_map(|happened| Finding::of_event(&happened.event));
    lines.extend(findings.map(|finding| format!("   {}", events::found(finding))));
    lines.join("\n")
}

fn tried(attempt: &Attempt) -> String {
    let outcome = attempt.outcome.as_deref().map_or("under way".to_owned(), clean);
    let took = attempt.ended.map(|ended| format!(" after {}", span(ended.since(attempt.began))));
    format!("   attempt {}  {outcome}{}", attempt.attempt, took.unwrap_or_default())
}

fn effect(effect: &Effect) -> String {
    let status = effect.status.map(|status| format!(" {status}")).unwrap_or_default();
    let target = clean(&format!("{} {}", effect.method, effect.target));
    format!("     {target}  {} {}{status}", effect.repeat.word(), effect.state.word())
}

fn span(span: Duration) -> String {
    humantime::format_duration(span).to_string()
}
