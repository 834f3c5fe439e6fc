//! `airlock call`: one call of one tool.

use std::io::{IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value;

use super::attach;
use super::clean::clean;
use super::hints::Asked;
use super::log;
use super::output::Output;
use super::preview;
use super::problem::{Exit, Problem};
use super::progress::{ready, stepped};
use super::tools;
use crate::host::{Config, Host, Progress, Request, configuration};
use crate::model::caller::Asker;
use crate::model::code;
use crate::model::id::{CallerName, SceneName, UserName};
use crate::model::nearest::nearest;
use crate::model::reply::Reply;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The tool, such as desk.find_order
    tool: String,

    /// Its input as JSON, or - for standard input; where it is left out, what is piped in, else {}
    input: Option<String>,

    /// One key for one action: the same call with the same key is done once
    #[arg(long)]
    key: Option<String>,

    /// Say what the call would do, and do nothing: neither --key nor --out goes with it
    #[arg(long)]
    preview: bool,

    /// Do not wait for it: it is made in the background, by `airlock serve` or an MCP server, and goes on for as long as a day
    #[arg(long)]
    background: bool,

    /// A file that goes with the call, with its media type where the ending does not tell it: photo:image/png
    #[arg(long, value_name = "FILE[:TYPE]")]
    attach: Vec<String>,

    /// The folder to save in what comes back beside the output
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,

    /// The caller to act as: one under [callers] of the configuration
    #[arg(long = "as", value_name = "CALLER", default_value = "local")]
    caller: String,

    /// The user on whose behalf that caller asks
    #[arg(long)]
    user: Option<UserName>,

    /// The scene that it asks in: one under [scenes] of the configuration
    #[arg(long)]
    scene: Option<SceneName>,
}

/// More than any configuration lets input have, so that reading ends.
const MOST_INPUT: u64 = 256 << 20;

pub(super) async fn run(
    arguments: Arguments,
    config: Option<&Path>,
    output: Output,
) -> Result<Exit, Problem> {
    alone(&arguments)?;
    let config = configuration(config)?;
    let caller = known(&config, &arguments.caller, arguments.scene.as_ref())?;
    let input = input(arguments.input)?;
    let attachments = attach::read(&arguments.attach, config.limits.attachments)?;
    arguments.out.as_deref().map_or(Ok(()), attach::folder)?;
    log::settle(&config.log, false)?;
    let host = Host::open(config).await?;
    let tool = arguments.tool;
    let Arguments { user, scene, key, background, .. } = arguments;
    let (progress, steps) = Progress::new();
    let progress = Some(progress);
    let request = Request::new(&*tool, input, caller);
    let request = Request { user, scene, key, attachments, progress, background, ..request };
    let (given, user, scene) = (request.input.clone(), request.user.clone(), request.scene.clone());
    let asked = Asked {
        tool: &tool,
        input: Some(&given),
        caller: &arguments.caller,
        user: user.as_ref().map(UserName::as_str),
        scene: scene.as_ref().map(AsRef::as_ref),
    };
    ready(&host).await?;
    let reply = if arguments.preview {
        stepped(&tool, host.preview(request), steps).await
    } else {
        stepped(&tool, host.call(request), steps).await
    };
    if reply.code().as_deref() == Some(code::UNKNOWN_TOOL) {
        tools::faults(&host.faults(), output);
    }
    if reply.code().as_deref() == Some(code::PERMISSION_DENIED) {
        let plugin = tool.split('.').next();
        let waiting = host.waiting().into_iter().filter(|waiting| Some(waiting.plugin.as_str()) == plugin);
        tools::waits(&waiting.collect::<Vec<_>>(), output);
    }
    let saved = arguments.out.map(|folder| attach::save(&folder, &reply.attachments)).transpose();
    let exit = if arguments.preview {
        preview::preview(&reply, &asked, output)
    } else {
        output.reply(&reply, &asked)
    };
    if let (Some(run), Ok(_)) = (reply.undelivered, &exit) {
        host.delivered(run).await;
    }
    if waits_in_vain(&host, &reply) {
        output.hint("nothing makes calls in the background at this moment: `airlock serve` does, for as long as it runs");
    }
    host.close().await;
    for file in saved?.iter().flatten() {
        output.note(&format!("saved {}", clean(&file.to_string_lossy())));
    }
    exit
}

/// Whether the call waits to be made in the background, and nothing does that.
fn waits_in_vain(host: &Host, reply: &Reply) -> bool {
    let Err(error) = &reply.body else { return false };
    let error: Value = serde_json::from_str(error.get()).unwrap_or_default();
    let run = error["details"]["run"].as_str().filter(|_| error["code"] == code::STILL_RUNNING);
    let record = run.and_then(|run| host.run(run).ok());
    record.is_some_and(|record| record.background.is_some()) && !host.is_worked()
}

/// A preview takes no key, for it is no call, and gives nothing to be saved: whoever says otherwise expects what is not done.
fn alone(arguments: &Arguments) -> Result<(), Problem> {
    if arguments.background && (arguments.preview || arguments.out.is_some()) {
        let (text, hint) = if arguments.preview {
            (
                "a preview is waited for, so there is none in the background",
                "leave --background or --preview out",
            )
        } else {
            (
                "a call in the background gives nothing yet that could be saved",
                "leave --out out; with --key, the same call without --background gives its result, and saves it, once it is done",
            )
        };
        return Err(Problem::Usage(text.to_owned(), Some(hint.to_owned())));
    }
    let (text, hint) = match (arguments.preview, &arguments.key, &arguments.out) {
        (false, _, _) | (true, None, None) => return Ok(()),
        (true, Some(_), _) => (
            "a preview does nothing, so it takes no key",
            "leave --key out, and give it with the call itself",
        ),
        (true, None, Some(_)) => (
            "a preview gives nothing that could be saved",
            "leave --out out, and give it with the call itself",
        ),
    };
    Err(Problem::Usage(text.to_owned(), Some(hint.to_owned())))
}

/// The caller that is meant, where the configuration has it and it has this scene.
pub(super) fn known(config: &Config, name: &str, scene: Option<&SceneName>) -> Result<CallerName, Problem> {
    let name = CallerName(name.to_owned());
    let unknown = |text: String, near: &[&str], line: String| {
        let file = config.file.display();
        let hint = match near {
            [] => format!("define it in {file}: {line}"),
            near => format!("did you mean {}? else define it in {file}: {line}", near.join(" or ")),
        };
        Problem::Usage(text, Some(hint))
    };
    let Some(caller) = config.callers.get(&name) else {
        let near = nearest(&name.0, config.callers.keys().map(|known| known.0.as_str()));
        return Err(unknown(format!("there is no caller {name}"), &near, format!("[callers.{name}]")));
    };
    Asker::new(caller, None, scene, &config.scenes).map_err(|none| {
        let near = nearest(none.scene.as_ref(), none.there.iter().map(AsRef::as_ref));
        unknown(none.to_string(), &near, format!("[scenes.{}]", none.scene))
    })?;
    Ok(name)
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
