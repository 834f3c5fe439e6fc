//! The command line: data on standard output, everything else on standard error.

mod call;
mod clean;
mod decide;
mod explain;
mod hints;
mod init;
mod layout;
mod output;
mod problem;
mod progress;
mod runs;
mod tools;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::host::{Config, Host};
use output::Output;
use problem::{Exit, Problem};

pub use clean::{clean, clean_json};

/// Runs the tools that AI agents call: each in a sandbox, once, and with a record of what was done.
#[derive(Debug, Parser)]
#[command(name = "airlock", bin_name = "airlock", version, after_help = EXITS)]
struct Arguments {
    /// The configuration; else ./airlock.toml, else the one in your configuration folder
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Give one JSON document on standard output, also for errors
    #[arg(long, global = true)]
    json: bool,

    #[command(subcommand)]
    command: Command,
}

const EXITS: &str = "Exit: 0 done, 1 the answer is `ok: false`, 2 usage or configuration, 3 the host or its store is at fault";

#[derive(Debug, Subcommand)]
enum Command {
    /// Write a commented airlock.toml and a folder for plugins
    Init,
    /// List the tools, or show one in full
    Tools(tools::Arguments),
    /// Call a tool
    Call(call::Arguments),
    /// List the latest runs, or show one in full
    Runs(runs::Arguments),
    /// Settle a run of which nobody knows whether it happened
    Decide(decide::Arguments),
    /// Say what a code means and what to do about it
    Explain(explain::Arguments),
}

/// Does what the arguments, the program's name first, ask for.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let given: Vec<OsString> = arguments.into_iter().collect();
    let arguments = match Arguments::try_parse_from(&given) {
        Ok(arguments) => arguments,
        Err(error) => return refuse(&error, given.iter().any(|argument| argument == "--json")),
    };
    let output = Output { json: arguments.json };
    log_to_standard_error();
    let done = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime.block_on(dispatch(arguments, output)),
        Err(error) => Err(Problem::system("no threads can be started", &error)),
    };
    let exit = done.unwrap_or_else(|problem| output.problem(&problem));
    exit.into()
}

async fn dispatch(arguments: Arguments, output: Output) -> Result<Exit, Problem> {
    let config = arguments.config.as_deref();
    match arguments.command {
        Command::Init => init::run(config, output),
        Command::Explain(arguments) => explain::run(&arguments, output),
        Command::Tools(arguments) => tools::run(&arguments, config, output).await,
        Command::Call(arguments) => call::run(arguments, config, output).await,
        Command::Runs(arguments) => runs::run(&arguments, config, output).await,
        Command::Decide(arguments) => decide::run(arguments, config, output).await,
    }
}

/// What callers are not told, the person at the command line is.
fn log_to_standard_error() {
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_max_level(tracing::Level::WARN)
        .with_ansi(false)
        .with_target(false)
        .without_time()
        .init();
}

/// What clap says: help and version are answers, the rest is a refusal.
fn refuse(error: &clap::Error, json: bool) -> ExitCode {
    if error.use_stderr() && json {
        let text = error.render().to_string();
        let text = text.trim_end().trim_start_matches("error: ");
        return Output { json }.problem(&Problem::usage(text)).into();
    }
    // A reader that went away has no use for the answer.
    let _ = error.print();
    if error.use_stderr() { Exit::Usage.into() } else { Exit::Done.into() }
}

/// Opens the host by the configuration that holds here.
async fn open(config: Option<&Path>) -> Result<Host, Problem> {
    Ok(Host::open(Config::load(config)?).await?)
}
