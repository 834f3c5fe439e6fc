//! `airlock trace`: all that was called in one conversation, in its order.

use std::path::Path;
use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::clean::clean;
use super::layout::moment;
use super::output::Output;
use super::problem::{Exit, Problem};
use super::runs;
use crate::host::{Config, Host, Traced};
use crate::model::effect::Effect;
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
        json!({ "trace_id": traced.trace, "more": traced.more, "runs": runs })
    };
    output.data(|| shown(&traced), document).map(|()| Exit::Done)
}

fn shown(traced: &Traced) -> String {
    let ok = traced.runs.iter().filter(|record| code(record) == "ok").count();
    let mut lines = vec![format!("trace  {}", clean(&traced.trace.0))];
    lines.push(format!("calls  {}, {ok} of them ok", traced.runs.len()));
    lines.extend(traced.runs.iter().enumerate().map(|(place, record)| call(place + 1, record)));
    if traced.more {
        let text = format!("\nthese are the first {}; `airlock runs` lists the latest", traced.runs.len());
        lines.push(text);
    }
    lines.join("\n")
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
