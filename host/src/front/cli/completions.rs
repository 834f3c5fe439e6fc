//! `airlock completions`: what a shell needs to complete this command.

use clap::{Args, Command, CommandFactory as _};
use clap_complete::Shell;
use serde_json::json;

use super::output::Output;
use super::problem::{Exit, Problem};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The shell
    shell: Shell,
}

pub(super) fn run(arguments: &Arguments, output: Output) -> Result<Exit, Problem> {
    let mut script = Vec::new();
    let whole = super::Arguments::command();
    let shown = whole.get_subcommands().filter(|command| !command.is_hide_set());
    let mut command = Command::new("airlock").args(whole.get_arguments()).subcommands(shown);
    clap_complete::generate(arguments.shell, &mut command, "airlock", &mut script);
    let script =
        String::from_utf8(script).map_err(|error| Problem::system("the script is no text", &error))?;
    let script = script.trim_end();
    let document = || json!({ "shell": arguments.shell.to_string(), "script": script });
    output.data(|| script.to_owned(), document).map(|()| Exit::Done)
}
