//! `airlock breakers`: which backends are left alone, and what an operator says of it.

use std::path::Path;

use clap::{Args, Subcommand};
use serde_json::json;

use super::clean::clean;
use super::layout::{moment, table};
use super::output::Output;
use super::problem::{Exit, Problem};
use super::progress::loaded;
use crate::host::{Backend, BackendState, Config, Host};
use crate::model::breaker::Forced;

#[derive(Debug, Args)]
#[command(after_help = COLUMNS)]
pub(super) struct Arguments {
    /// What holds from now on; where it is left out, breakers are listed
    #[command(subcommand)]
    say: Option<Say>,
}

const COLUMNS: &str = "FAILED IN A ROW: failures since the last success; [breaker] in_a_row of them open the breaker
RETRY TOKENS: what is left of 100 for trying again by itself; a retry takes 10, a success gives 1 back, and with less than 10 nothing is tried again";

#[derive(Debug, Subcommand)]
enum Say {
    /// Let no call through
    Open(Which),
    /// Let every call through
    Close(Which),
    /// Leave it to the host again
    Auto(Which),
}

#[derive(Debug, Args)]
struct Which {
    /// The tool
    tool: String,

    /// One of the origins that it goes to; else all of them
    #[arg(long)]
    origin: Option<String>,
}

pub(super) async fn run(
    arguments: &Arguments,
    config: Option<&Path>,
    output: Output,
) -> Result<Exit, Problem> {
    let host = Host::open(Config::load_to_look(config)?).await?;
    let done = match &arguments.say {
        None => host.backends().map_err(Problem::from).and_then(|backends| listed(&backends, output)),
        Some(say) => forced(&host, say, output).await,
    };
    host.close().await;
    done.map(|()| Exit::Done)
}

async fn forced(host: &Host, say: &Say, output: Output) -> Result<(), Problem> {
    loaded(host).await;
    let (which, forced) = match say {
        Say::Open(which) => (which, Some(Forced::Open)),
        Say::Close(which) => (which, Some(Forced::Closed)),
        Say::Auto(which) => (which, None),
    };
    let origins = host.force(&which.tool, which.origin.as_deref(), forced).await?;
    let tool = &which.tool;
    let line = |origin: &String| match say {
        Say::Open(_) => format!("no call of {tool} is let through to {origin}"),
        Say::Close(_) => format!("every call of {tool} is let through to {origin}"),
        Say::Auto(_) => format!("the host decides which calls of {tool} are let through to {origin}"),
    };
    let text = || origins.iter().map(|origin| clean(&line(origin))).collect::<Vec<_>>().join("\n");
    output.data(text, || json!({ "tool": which.tool, "origins": origins, "forced": forced }))
}

fn listed(backends: &[Backend], output: Output) -> Result<(), Problem> {
    if backends.is_empty() && !output.json {
        output.note("every breaker is closed: no backend failed of late, and no operator said anything");
        return Ok(());
    }
    output.data(|| list(backends), || json!({ "breakers": backends }))
}

fn list(backends: &[Backend]) -> String {
    let row = |backend: &Backend| {
        let until = backend.until.filter(|_| backend.forced.is_none());
        [
            backend.tool.to_string(),
            clean(place(&backend.origin)),
            stands(backend),
            backend.failures_in_a_row.to_string(),
            backend.retry_tokens.to_string(),
            until.map(moment).unwrap_or_default(),
        ]
    };
    let header = ["TOOL", "ORIGIN", "BREAKER", "FAILED IN A ROW", "RETRY TOKENS", "OPEN UNTIL"];
    table(header, backends.iter().map(row).collect())
}

fn stands(backend: &Backend) -> String {
    match (backend.forced, backend.state) {
        (Some(Forced::Open), _) => "open, by an operator".to_owned(),
        (Some(Forced::Closed), _) => "closed, by an operator".to_owned(),
        (None, BackendState::Closed) => "closed".to_owned(),
        (None, BackendState::Open) => "open".to_owned(),
        (None, BackendState::HalfOpen) => "half open".to_owned(),
    }
}

/// Where calls go.
fn place(origin: &str) -> &str {
    if origin.is_empty() { "(no requests)" } else { origin }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::model::clock::Timestamp;

    #[test]
    fn breakers_are_listed_with_what_an_operator_said() {
        let backend = |origin: &str, state, forced| Backend {
            tool: "desk.find_order".parse().unwrap(),
            origin: origin.into(),
            state,
            forced,
            since: None,
            until: (state == BackendState::Open).then_some(Timestamp(1_700_000_030_000)),
            failures_in_a_row: 2,
            retry_tokens: 70,
        };
        let all = [
            backend("https://a.example.com", BackendState::Open, None),
            backend("https://b.example.com", BackendState::Open, Some(Forced::Closed)),
            backend("", BackendState::HalfOpen, None),
        ];
        assert_snapshot!(list(&all), @"
        TOOL             ORIGIN                 BREAKER                 FAILED IN A ROW  RETRY TOKENS  OPEN UNTIL
        desk.find_order  https://a.example.com  open                    2                70            2023-11-14T22:13:50.000Z
        desk.find_order  https://b.example.com  closed, by an operator  2                70
        desk.find_order  (no requests)          half open               2                70
        ");
    }
}
