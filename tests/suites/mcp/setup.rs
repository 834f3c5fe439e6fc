//! The lines by which clients start the host.

use std::process::Command;

use airlock_tests::guests;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{AIRLOCK, Scene};

fn setup(scene: &Scene, arguments: &[&str]) -> (String, String) {
    scene.world.write_config();
    let ran = Command::new(AIRLOCK)
        .arg("setup")
        .args(arguments)
        .current_dir(scene.world.folder())
        .env_clear()
        .env("HOME", scene.world.folder())
        .output()
        .unwrap();
    let folder = scene.world.folder().to_str().unwrap().to_owned();
    let text = |bytes: Vec<u8>| {
        String::from_utf8(bytes).unwrap().replace(AIRLOCK, "/bin/airlock").replace(&folder, "/world")
    };
    (text(ran.stdout), text(ran.stderr))
}

#[test]
fn every_client_is_told_in_its_own_words() {
    let scene = Scene::with(&[], "");
    let mut told = Vec::new();
    for client in ["claude-code", "claude-desktop", "codex", "cursor", "gemini", "vscode", "windsurf", "zed"]
    {
        let (lines, place) = setup(&scene, &[client]);
        told.push(format!("{place}{lines}"));
    }
    assert_snapshot!(told.join("\n"), @r#"
    say this in a shell:
    the client starts it with an environment of its own: what [secrets] names must be there too
    claude mcp add airlock -- /bin/airlock --config /world/airlock.toml mcp

    write this into claude_desktop_config.json (Settings, Developer, Edit Config), and start the client again:
    the client starts it with an environment of its own: what [secrets] names must be there too
    {
      "mcpServers": {
        "airlock": {
          "command": "/bin/airlock",
          "args": [
            "--config",
            "/world/airlock.toml",
            "mcp"
          ]
        }
      }
    }

    write this into ~/.codex/config.toml:
    the client starts it with an environment of its own: what [secrets] names must be there too
    [mcp_servers.airlock]
    command = "/bin/airlock"
    args = ["--config", "/world/airlock.toml", "mcp"]

    write this into ~/.cursor/mcp.json, or .cursor/mcp.json of a project:
    the client starts it with an environment of its own: what [secrets] names must be there too
    {
      "mcpServers": {
        "airlock": {
          "command": "/bin/airlock",
          "args": [
            "--config",
            "/world/airlock.toml",
            "mcp"
          ]
        }
      }
    }

    write this into ~/.gemini/settings.json:
    the client starts it with an environment of its own: what [secrets] names must be there too
    {
      "mcpServers": {
        "airlock": {
          "command": "/bin/airlock",
          "args": [
            "--config",
            "/world/airlock.toml",
            "mcp"
          ]
        }
      }
    }

    write this into .vscode/mcp.json of a project, or into the user's (`MCP: Open User Configuration`):
    the client starts it with an environment of its own: what [secrets] names must be there too
    {
      "servers": {
        "airlock": {
          "command": "/bin/airlock",
          "args": [
            "--config",
            "/world/airlock.toml",
            "mcp"
          ],
          "type": "stdio"
        }
      }
    }

    write this into ~/.codeium/windsurf/mcp_config.json:
    the client starts it with an environment of its own: what [secrets] names must be there too
    {
      "mcpServers": {
        "airlock": {
          "command": "/bin/airlock",
          "args": [
            "--config",
            "/world/airlock.toml",
            "mcp"
          ]
        }
      }
    }

    write this into settings.json (`zed: open settings`):
    the client starts it with an environment of its own: what [secrets] names must be there too
    {
      "context_servers": {
        "airlock": {
          "command": "/bin/airlock",
          "args": [
            "--config",
            "/world/airlock.toml",
            "mcp"
          ]
        }
      }
    }
    "#);
}

#[test]
fn the_lines_start_a_host_that_serves() {
    let scene = Scene::with(&[guests::ECHO], "[callers.agent]\nmax_risk = \"L3\"\n");
    scene.world.write_config();
    let (document, _) = setup(&scene, &["cursor", "--as", "agent", "--json"]);
    let folder = scene.world.folder().to_str().unwrap();
    let document: Value =
        serde_json::from_str(&document.replace("/bin/airlock", AIRLOCK).replace("/world", folder)).unwrap();
    let start = &document["data"];
    let arguments = start["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap());
    let mut command = Command::new(start["command"].as_str().unwrap());
    // From anywhere: the paths are whole.
    command.args(arguments).current_dir("/").env_clear().env("HOME", folder);
    let mut client = airlock_tests::mcp::Client::spawn(&mut command);
    client.begin();
    let said = client.call("echo__echo_write", &json!({ "text": "x" }), &json!({}));
    assert_eq!(said["structuredContent"], json!({ "text": "x" }));
}

#[test]
fn a_client_or_a_caller_that_nobody_knows_is_not_set_up() {
    let scene = Scene::with(&[], "");
    let (lines, told) = setup(&scene, &["emacs"]);
    assert!(lines.is_empty() && told.contains("possible values: claude-code"), "{told}");
    let (lines, told) = setup(&scene, &["cursor", "--as", "nobody"]);
    assert!(lines.is_empty() && told.contains("there is no caller nobody"), "{told}");
}
