//! `airlock setup`: the lines by which an MCP client starts this host.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::call::known;
use super::hints::quoted;
use super::layout::pretty;
use super::output::Output;
use super::problem::{Exit, Problem};
use crate::host::Config;
use crate::model::id::SceneName;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The client that is to start it
    client: Client,

    /// The caller that it is to act as: `mcp`, or one under [callers] of the configuration
    #[arg(long = "as", value_name = "CALLER", default_value = "mcp")]
    caller: String,

    /// The scene that it is to be in: one under [scenes] of the configuration
    #[arg(long)]
    scene: Option<SceneName>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Client {
    ClaudeCode,
    ClaudeDesktop,
    Codex,
    Cursor,
    Gemini,
    Vscode,
    Windsurf,
    Zed,
}

/// How the client starts the host.
struct Start {
    command: PathBuf,
    arguments: Vec<String>,
}

pub(super) fn run(arguments: &Arguments, config: Option<&Path>, output: Output) -> Result<Exit, Problem> {
    let config = Config::load_to_look(config)?;
    known(&config, &arguments.caller, arguments.scene.as_ref())?;
    let start = Start::here(&config, &arguments.caller, arguments.scene.as_ref())?;
    let client = arguments.client;
    output.note(client.place());
    output.data(
        || client.lines(&start),
        || json!({ "place": client.place(), "lines": client.lines(&start), "command": start.command, "args": start.arguments }),
    )?;
    output
        .note("the client starts it with an environment of its own: what [secrets] names must be there too");
    Ok(Exit::Done)
}

impl Start {
    fn here(config: &Config, caller: &str, scene: Option<&SceneName>) -> Result<Self, Problem> {
        let command = std::env::current_exe()
            .map_err(|error| Problem::system("this program does not know where it lies", &error))?;
        let file = std::path::absolute(&config.file)
            .map_err(|error| Problem::system("the configuration's folder is not known", &error))?;
        let text = |path: &Path| {
            path.to_str().map(str::to_owned).ok_or_else(|| {
                Problem::usage(format!(
                    "clients take paths in Unicode alone, and this is none: {}",
                    path.display()
                ))
            })
        };
        text(&command)?;
        let mut arguments = vec!["--config".to_owned(), text(&file)?, "mcp".to_owned()];
        if caller != "mcp" {
            arguments.extend(["--as".to_owned(), caller.to_owned()]);
        }
        if let Some(scene) = scene {
            arguments.extend(["--scene".to_owned(), scene.to_string()]);
        }
        Ok(Self { command, arguments })
    }

    fn json(&self) -> Value {
        json!({ "command": self.command, "args": self.arguments })
    }
}

impl Client {
    /// What to do with the lines.
    fn place(self) -> &'static str {
        match self {
            Self::ClaudeCode => "say this in a shell:",
            Self::ClaudeDesktop => {
                "write this into claude_desktop_config.json (Settings, Developer, Edit Config), and start the client again:"
            }
            Self::Codex => "write this into ~/.codex/config.toml:",
            Self::Cursor => "write this into ~/.cursor/mcp.json, or .cursor/mcp.json of a project:",
            Self::Gemini => "write this into ~/.gemini/settings.json:",
            Self::Vscode => {
                "write this into .vscode/mcp.json of a project, or into the user's (`MCP: Open User Configuration`):"
            }
            Self::Windsurf => "write this into ~/.codeium/windsurf/mcp_config.json:",
            Self::Zed => "write this into settings.json (`zed: open settings`):",
        }
    }

    fn lines(self, start: &Start) -> String {
        let under = |key: &str, server: Value| pretty(&json!({ key: { "airlock": server } }).to_string());
        match self {
            Self::ClaudeCode => {
                let words = std::iter::once(start.command.to_string_lossy().into_owned());
                let words: Vec<String> =
                    words.chain(start.arguments.iter().cloned()).map(|word| quoted(&word)).collect();
                format!("claude mcp add airlock -- {}", words.join(" "))
            }
            Self::Codex => {
                let arguments: Vec<String> =
                    start.arguments.iter().map(|word| json!(word).to_string()).collect();
                format!(
                    "[mcp_servers.airlock]\ncommand = {}\nargs = [{}]",
                    json!(start.command),
                    arguments.join(", ")
                )
            }
            Self::Vscode => {
                let mut server = start.json();
                server["type"] = json!("stdio");
                under("servers", server)
            }
            Self::Zed => under("context_servers", start.json()),
            Self::ClaudeDesktop | Self::Cursor | Self::Gemini | Self::Windsurf => {
                under("mcpServers", start.json())
            }
        }
    }
}
