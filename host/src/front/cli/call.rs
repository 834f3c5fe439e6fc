//! `airlock call`: one call of one tool.

use std::io::{IsTerminal as _, Read as _};
use std::path::Path;

use clap::Args;

use super::output::Output;
use super::problem::{Exit, Problem};
use super::progress::watched;
use super::tools;
use crate::host::{Config, Host, Request};
use crate::model::code;
use crate::model::id::CallerName;
use crate::model::nearest::nearest;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The tool, such as desk.find_order
    tool: String,

    /// Its input as JSON, or - for standard input; where it is left out, what is piped in, else {}
    input: Option<String>,

    /// One key for one action: the same call with the same key is done once
    #[arg(long)]
    key: Option<String>,

    /// The caller to act as: one under [callers] of the configuration
    #[arg(long = "as", value_name = "CALLER", default_value = "local")]
    caller: String,
}

/// More than any configuration lets input have, so that reading ends.
const MOST_INPUT: u64 = 256 << 20;

pub(super) async fn run(
    arguments: Arguments,
    config: Option<&Path>,
    output: Output,
) -> Result<Exit, Problem> {
    let config = Config::load(config)?;
    let caller = known(&config, &arguments.caller)?;
    let input = input(arguments.input)?;
    let host = Host::open(config).await?;
    let tool = arguments.tool;
    let request = Request { tool: tool.clone(), input, caller, key: arguments.key, trace: None };
    let reply = watched(&tool, host.call(request)).await;
    if reply.code().as_deref() == Some(code::UNKNOWN_TOOL) {
        tools::faults(host.faults(), output);
    }
    let exit = output.reply(&reply, Some(&tool));
    host.close().await;
    exit
}

/// The caller that is meant, where the configuration has it.
pub(super) fn known(config: &Config, name: &str) -> Result<CallerName, Problem> {
    let name = CallerName(name.to_owned());
    if config.callers.contains_key(&name) {
        return Ok(name);
    }
    let near = nearest(&name.0, config.callers.keys().map(|known| known.0.as_str()));
    let hint = match near.as_slice() {
        [] => format!("define it in {}: [callers.{name}]", config.file.display()),
        near => format!("did you mean {}?", near.join(" or ")),
    };
    Err(Problem::Usage(format!("there is no caller {name}"), Some(hint)))
}

/// The input as text: as it was given, or what stands on standard input.
fn input(given: Option<String>) -> Result<String, Problem> {
    let explicit = match given {
        Some(text) if text != "-" => return Ok(text),
        Some(_) => true,
        None if std::io::stdin().is_terminal() => return Ok("{}".to_owned()),
        None => false,
    };
    let mut text = String::new();
    let read = std::io::stdin().lock().take(MOST_INPUT).read_to_string(&mut text);
    read.map_err(|error| Problem::usage(format!("standard input cannot be read: {error}")))?;
    let nothing = !explicit && text.trim().is_empty();
    Ok(if nothing { "{}".to_owned() } else { text })
}
