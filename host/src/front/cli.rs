//! The command line: data on standard output, everything else on standard error.

mod attach;
mod breakers;
mod build;
mod call;
mod check;
mod clean;
mod completions;
mod costs;
mod decide;
mod doctor;
mod events;
mod explain;
mod fields;
mod hints;
mod init;
mod late;
mod layout;
mod log;
mod mcp;
mod new;
mod output;
mod place;
mod preview;
mod problem;
mod progress;
mod runs;
mod serve;
mod setup;
mod stats;
mod tool;
mod toolchain;
mod tools;
mod trace;
mod trust;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::host;
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
    /// Say how the calls of each tool went: how many, how they ended, how long they took, what they cost
    Stats(stats::Arguments),
    /// Say what calls cost, and what is left of budgets
    Costs(costs::Arguments),
    /// Show all that was called in one conversation
    Trace(trace::Arguments),
    /// List the backends that are left alone, or say what holds for one
    Breakers(breakers::Arguments),
    /// Serve an MCP client over standard input and output
    Mcp(mcp::Arguments),
    /// Make the calls that are left to the background, until it is ended
    Serve,
    /// Print the lines by which an MCP client starts this host
    Setup(setup::Arguments),
    /// Accept a plugin that changed, or list those that wait for it
    Trust(trust::Arguments),
    /// Begin a plugin in Rust: a folder that builds
    New(new::Arguments),
    /// Build a plugin, put it into the folder of plugins, and accept it there
    Build(build::Arguments),
    /// Say what a component declares, imports and would be granted
    Check(check::Arguments),
    /// Say whether everything here is as it should be, and what would mend it
    Doctor,
    /// Say what a code means and what to do about it
    Explain(explain::Arguments),
    /// Print what a shell needs to complete this command
    Completions(completions::Arguments),
    /// Compile the component on standard input; the host calls this
    #[command(name = host::COMPILE, hide = true)]
    Compile {
        /// The most memory to hold, in bytes
        memory: u64,
    },
}

/// Does what the arguments, the program's name first, ask for.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let given: Vec<OsString> = arguments.into_iter().collect();
    let arguments = match Arguments::try_parse_from(&given) {
        Ok(arguments) => arguments,
        Err(error) => return refuse(&error, given.iter().any(|argument| argument == "--json")),
    };
    if let Command::Compile { memory } = arguments.command {
        return host::compile(memory);
    }
    let output = Output { json: arguments.json };
    log::begin();
    let done = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime.block_on(dispatch(arguments, output)),
        Err(error) => Err(Problem::system("no threads can be started", &error)),
    };
    log::finish();
    let exit = done.unwrap_or_else(|problem| output.problem(&problem));
    exit.into()
}

async fn dispatch(arguments: Arguments, output: Output) -> Result<Exit, Problem> {
    let config = arguments.config.as_deref();
    match arguments.command {
        Command::Init => init::run(config, output),
        Command::Explain(arguments) => explain::run(&arguments, output),
        Command::New(arguments) => new::run(&arguments, output),
        Command::Build(arguments) => build::run(&arguments, config, output).await,
        Command::Check(arguments) => check::run(&arguments, config, output).await,
        Command::Completions(arguments) => completions::run(&arguments, output),
        Command::Doctor => doctor::run(config, output).await,
        // Done before there are threads.
        Command::Compile { .. } => Ok(Exit::Done),
        Command::Mcp(arguments) => mcp::run(&arguments, config, output).await,
        Command::Serve => serve::run(config, output).await,
        Command::Setup(arguments) => setup::run(&arguments, config, output),
        Command::Trust(arguments) => trust::run(&arguments, config, output).await,
        Command::Tools(arguments) => tools::run(&arguments, config, output).await,
        Command::Call(arguments) => call::run(arguments, config, output).await,
        Command::Runs(arguments) => runs::run(&arguments, config, output).await,
        Command::Decide(arguments) => decide::run(arguments, config, output).await,
        Command::Breakers(arguments) => breakers::run(&arguments, config, output).await,
        Command::Stats(arguments) => stats::run(&arguments, config, output).await,
        Command::Costs(arguments) => costs::run(&arguments, config, output).await,
        Command::Trace(arguments) => trace::run(&arguments, config, output).await,
    }
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
