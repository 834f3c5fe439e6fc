//! The official clients, of both lines of the protocol, judged by what the backend counted.
//!
//! `scripts/mcp-clients.sh` brings them; where they are not there, these tests say that they are skipped.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::Sender;

use airlock_tests::skip::skip;
use serde_json::{Value, json};

use super::waiting::gate;
use super::{AIRLOCK, Scene};
use crate::source::root;

/// A client that is taken through its steps.
struct Steps {
    child: Child,
    say: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Steps {
    fn start(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (say, out) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, say, lines: BufReader::new(out).lines() }
    }

    /// What the client tells of its next step, which is this one.
    fn step(&mut self, name: &str) -> Value {
        let line = self.lines.next().unwrap_or_else(|| panic!("the client ended before `{name}`")).unwrap();
        let told: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(told["step"], name, "{told}");
        told
    }

    fn say(&mut self, word: &str) {
        writeln!(self.say, "{word}").unwrap();
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How a client starts the host.
fn start(scene: &Scene) -> String {
    let folder = scene.world.folder();
    let mut environment = scene.world.environment().clone();
    environment.insert("HOME".to_owned(), folder.to_str().unwrap().to_owned());
    json!({
        "command": AIRLOCK,
        "args": ["--config", scene.world.write_config(), "mcp", "--as", "agent"],
        "env": environment,
        "cwd": folder,
    })
    .to_string()
}

/// Where a client was installed; none, and it is said, where it was not.
fn installed(what: &str) -> Option<PathBuf> {
    let folder = root().join("target/mcp-clients");
    if folder.join(format!("{what}.installed")).exists() {
        return Some(folder.join(what));
    }
    skip(&format!("the official {what} client of MCP is not there; scripts/mcp-clients.sh brings it"));
    None
}

/// Holds the next ticket, its work done.
fn hold(scene: &Scene) -> Sender<()> {
    let (open, gate) = gate();
    scene.backend().fault("POST /tickets", gate, 1);
    open
}

/// The process of the host that the client started.
fn host_of(client: u32) -> String {
    let children = std::fs::read_to_string(format!("/proc/{client}/task/{client}/children")).unwrap();
    let is_host = |pid: &&str| {
        let command = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        command.starts_with(AIRLOCK)
    };
    children.split_whitespace().find(is_host).unwrap_or_else(|| panic!("no host among {children}")).to_owned()
}

fn is_ticket(told: &Value, number: u64) {
    assert_eq!(told["isError"], false, "{told}");
    assert_eq!(told["structured"]["ticket_id"], format!("T-{number}"), "{told}");
}

/// Takes a client through all steps: list, call, fail, cancel, lose the connection and ask again.
fn taken_through(version: &str, command: impl Fn(&str) -> Command) {
    let scene = Scene::desk("");
    let mut client = Steps::start(&mut command(&start(&scene)));
    let listed = client.step("listed");
    assert_eq!(listed["names"].as_array().unwrap().len(), 9, "{listed}");
    assert!(listed["version"].is_null() || listed["version"] == version, "{listed}");
    is_ticket(&client.step("called"), 1001);
    let failed = client.step("failed");
    assert_eq!(failed["isError"], true);
    assert!(failed["text"].as_str().unwrap().starts_with("ORDER_NOT_FOUND: "), "{failed}");
    assert_eq!(client.step("refused")["code"], -32602);
    let works =
        |tickets| move |counts: &airlock_tests::backend::Counts| counts.of("POST /tickets").works == tickets;

    let open = hold(&scene);
    client.say("go");
    client.step("begun");
    scene.backend().wait_until(works(2));
    client.say("cancel");
    client.step("cancelled");
    open.send(()).unwrap();
    client.say("go");
    is_ticket(&client.step("again"), 1002);

    let open = hold(&scene);
    client.say("go");
    client.step("begun");
    scene.backend().wait_until(works(3));
    client.say(&host_of(client.child.id()));
    assert_eq!(client.step("lost")["heard"], true);
    drop(open);
    client.say("go");
    is_ticket(&client.step("again"), 1003);
    assert_eq!(scene.tickets(), 3);
}

#[test]
fn the_python_client_of_the_older_line_is_served() {
    python("legacy", "2025-11-25");
}

#[test]
fn the_python_client_of_the_newer_line_is_served() {
    python("auto", "2026-07-28");
}

#[test]
fn the_typescript_client_of_the_older_line_is_served() {
    typescript("sdk", "2025-11-25");
}

#[test]
fn the_typescript_client_of_the_newer_line_is_served() {
    typescript("client", "2026-07-28");
}

fn python(mode: &str, version: &str) {
    let Some(folder) = installed("python") else { return };
    taken_through(version, |start| {
        let mut command = Command::new(folder.join("bin/python"));
        command.arg(root().join("tests/clients/steps.py")).args([start, mode]);
        command
    });
}

fn typescript(package: &str, version: &str) {
    let Some(folder) = installed("node") else { return };
    taken_through(version, |start| {
        let mut command = Command::new("node");
        command.arg(root().join("tests/clients/steps.mjs")).arg(&folder).args([start, package]);
        command
    });
}
