//! `airlock decide`: a person says what became of a run that nobody else can tell.

use std::path::Path;

use clap::{Args, ValueEnum};
use serde_json::value::RawValue;

use super::output::Output;
use super::problem::{Exit, Problem};
use super::progress::watched;
use crate::host::{Decision, os_user};

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
    let host = super::open(config).await?;
    let decided = watched(&arguments.run, host.decide(&arguments.run, decision, &os_user())).await;
    let exit = decided.map_err(Problem::from).and_then(|reply| output.reply(&reply, None));
    host.close().await;
    exit
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
