//! `airlock decide`: a person says what became of a run that nobody else can tell.

use std::path::Path;

use clap::{Args, ValueEnum};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::clean::clean;
use super::hints::Asked;
use super::log;
use super::output::Output;
use super::problem::{Exit, Problem};
use super::progress::{ready, watched};
use crate::host::{Config, Decision, Host, configuration, os_user};
use crate::model::id::{CallerName, UserName};
use crate::model::reply::Reply;
use crate::model::state::RunState;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The run, or the beginning of its id
    run: String,

    /// What you found out
    found: Found,

    /// With happened: what the call is to answer
    #[arg(long, value_name = "JSON")]
    data: Option<String>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Found {
    /// It happened: the run is completed
    Happened,
    /// It did not: the run is failed, and nothing is left of it
    DidNot,
    /// Do it again: another attempt
    Again,
}

pub(super) async fn run(
    arguments: Arguments,
    config: Option<&Path>,
    output: Output,
) -> Result<Exit, Problem> {
    let decision = decision(&arguments)?;
    // Only another attempt needs what tools need.
    let config = match arguments.found {
        Found::Again => configuration(config)?,
        Found::Happened | Found::DidNot => Config::load_to_look(config)?,
    };
    log::settle(&config.log, false)?;
    let host = Host::open(config).await?;
    let shown = settle(&host, &arguments, decision, output).await;
    host.close().await;
    shown
}

async fn settle(
    host: &Host,
    arguments: &Arguments,
    decision: Decision,
    output: Output,
) -> Result<Exit, Problem> {
    if matches!(arguments.found, Found::Again) {
        ready(host).await?;
    }
    let run = host.run(&arguments.run)?.summary;
    let (id, tool) = (run.run.to_string(), run.tool.to_string());
    let user = run.user.as_ref().map(UserName::as_str);
    let asked = Asked { tool: &tool, input: None, caller: &run.caller.0, user, scene: None };
    let reply = watched(&tool, host.decide(&id, decision, &os_user())).await?;
    if reply.meta.replayed {
        output.note(&format!("the run {id} was decided before, and nothing was changed; its answer is:"));
        return output.reply(&reply, &asked);
    }
    match arguments.found {
        Found::DidNot => {
            output.data(|| undone(&reply, &id, &asked), || ended(&reply, &id)).map(|()| Exit::Done)
        }
        Found::Happened => {
            let local = CallerName("local".to_owned());
            if host.tool(&local, None, &tool).is_err() {
                output.note(&format!(
                    "{tool} is not there now, so nobody looked whether it could have given this"
                ));
            }
            output.note(&format!("the run {id} is completed; this is its answer from now on:"));
            output.reply(&reply, &asked)
        }
        Found::Again => output.reply(&reply, &asked),
    }
}

/// What is left of a run that did not happen: its key, where it has one.
fn key(reply: &Reply) -> Option<String> {
    let error: Value = serde_json::from_str(reply.body.as_ref().err()?.get()).ok()?;
    error["details"]["key"].as_str().map(str::to_owned)
}

fn undone(reply: &Reply, run: &str, asked: &Asked<'_>) -> String {
    let failed = format!("the run {run} has failed, and nothing is left of it");
    match key(reply) {
        Some(key) => clean(&format!("{failed}; to have it done, ask again: {}", asked.again(&key))),
        None => failed,
    }
}

fn ended(reply: &Reply, run: &str) -> Value {
    json!({ "run": run, "state": RunState::Failed.word(), "key": key(reply) })
}

fn decision(arguments: &Arguments) -> Result<Decision, Problem> {
    match (arguments.found, &arguments.data) {
        (Found::Happened, data) => {
            if let Some(Err(error)) = data.as_deref().map(serde_json::from_str::<&RawValue>) {
                return Err(Problem::usage(format!("what --data gives is no JSON: {error}")));
            }
            Ok(Decision::Happened { data: data.clone() })
        }
        (Found::DidNot, None) => Ok(Decision::DidNot),
        (Found::Again, None) => Ok(Decision::Again),
        (Found::DidNot | Found::Again, Some(_)) => {
            let hint = "leave --data out, or say `happened`".to_owned();
            Err(Problem::Usage("--data is the answer of what happened".to_owned(), Some(hint)))
        }
    }
}
