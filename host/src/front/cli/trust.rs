//! `airlock trust`: a person accepts a plugin as it is now.

use std::io::{self, BufRead as _, IsTerminal as _};
use std::path::Path;

use clap::Args;
use serde_json::json;

use super::clean::clean;
use super::output::Output;
use super::problem::{Exit, Problem};
use super::{progress, tools};
use crate::host::{Host, Waiting, configuration};
use crate::model::nearest::nearest;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The plugin; where it is left out, those that wait are listed
    plugin: Option<String>,

    /// Accept it without being asked
    #[arg(long, requires = "plugin")]
    yes: bool,
}

pub(super) async fn run(
    arguments: &Arguments,
    config: Option<&Path>,
    output: Output,
) -> Result<Exit, Problem> {
    let host = Host::open(configuration(config)?).await?;
    progress::loaded(&host).await;
    let done = match &arguments.plugin {
        Some(plugin) => one(&host, plugin, arguments.yes, output).await,
        None => all(&host, output),
    };
    host.close().await;
    done
}

fn all(host: &Host, output: Output) -> Result<Exit, Problem> {
    let waiting = host.waiting();
    let text = || match waiting.as_slice() {
        [] => "every plugin is accepted as it is".to_owned(),
        some => some.iter().flat_map(lines).collect::<Vec<_>>().join("\n"),
    };
    output.data(text, || json!({ "waiting": tools::waiting_documents(&waiting) })).map(|()| Exit::Done)
}

async fn one(host: &Host, plugin: &str, yes: bool, output: Output) -> Result<Exit, Problem> {
    let all = host.waiting();
    let Some(waiting) = all.iter().find(|waiting| waiting.plugin == plugin) else {
        return Err(unknown(host, plugin, &all, output));
    };
    lines(waiting).iter().for_each(|line| output.note(line));
    if !yes && !agreed(&format!("trust {plugin} as it is now?"))? {
        output.note("nothing was changed");
        return Ok(Exit::Refused);
    }
    host.trust(plugin, waiting.digest).await?;
    let document = || json!({ "plugin": plugin, "digest": waiting.digest.to_string() });
    output.data(|| format!("{plugin} is accepted as it is"), document)?;
    Ok(Exit::Done)
}

fn unknown(host: &Host, plugin: &str, waiting: &[Waiting], output: Output) -> Problem {
    tools::faults(&host.faults(), output);
    let near = nearest(plugin, waiting.iter().map(|waiting| waiting.plugin.as_str()));
    let hint = match near.as_slice() {
        [] => "`airlock trust` lists the plugins that wait".to_owned(),
        near => format!("did you mean {}?", near.join(" or ")),
    };
    Problem::not_there(format!("no plugin of this name waits to be trusted: {plugin}"), hint)
}

/// What a person reads of a plugin that waits.
pub(super) fn lines(waiting: &Waiting) -> Vec<String> {
    let file = waiting.file.to_string_lossy();
    let mut lines = vec![if waiting.changes.is_empty() {
        format!("{} was never accepted ({}):", waiting.plugin, clean(&file))
    } else {
        format!("{} changed since it was accepted ({}):", waiting.plugin, clean(&file))
    }];
    lines.extend(waiting.changes.iter().map(|change| format!("  - {}", clean(change))));
    if waiting.changes.is_empty() {
        let tool = |(name, risk): (&String, &crate::model::manifest::Risk)| {
            format!("  - tool {name}, risk {}", risk.word())
        };
        lines.extend(waiting.tools.iter().map(tool));
    }
    lines
}

/// Asks the person at the terminal; nobody else can answer.
fn agreed(question: &str) -> Result<bool, Problem> {
    if !io::stdin().is_terminal() {
        let hint = "where no terminal is, say it with `--yes`".to_owned();
        return Err(Problem::Usage(
            "nobody can be asked: standard input is no terminal".to_owned(),
            Some(hint),
        ));
    }
    let _ = io::Write::write_all(&mut io::stderr(), format!("{question} [y/N] ").as_bytes());
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    read.map_err(|error| Problem::system("the answer cannot be read", &error))?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
