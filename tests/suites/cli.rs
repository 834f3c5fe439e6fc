//! The command line as a person and as a program meet it: what it prints where, and how it ends.

mod authors;
mod background;
mod breakers;
mod callers;
mod calls;
mod check;
mod codes;
mod costs;
mod decisions;
mod doctor;
mod files;
mod log;
mod preview;
mod readme;
mod runs;
mod secrets;
mod stats;
mod stores;
mod terminal;
mod tools;
mod trust;
mod usage;

use std::fmt;
use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use airlock_tests::backend::{Backend, Fault, Moment, Options};
use airlock_tests::guests;
use serde_json::Value;
use tempfile::TempDir;

/// The binary, from the very file that the real one is made of.
const AIRLOCK: &str = env!("CARGO_BIN_EXE_airlock-under-test");

/// A ticket and a mail that the desk takes.
const TICKET: &str = r#"{"order_id":"A-1003","subject":"Lamp","body":"It broke."}"#;
const MAIL: &str = r#"{"to":"ada@example.com","subject":"Lamp","body":"A new one comes."}"#;

/// A folder of its own, with a home there.
struct Place {
    folder: TempDir,
    /// Where the desk is; nowhere, where no desk is needed.
    desk: String,
}

/// All that a command leaves.
struct Ran {
    exit: Option<i32>,
    out: String,
    err: String,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), desk: "http://127.0.0.1:9".to_owned() }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn with_config(text: &str) -> Self {
        let place = Self::new();
        let file = place.path().join("airlock.toml");
        fs::write(&file, text).unwrap();
        // Whatever the umask is: what others can write is not obeyed.
        fs::set_permissions(file, Permissions::from_mode(0o644)).unwrap();
        fs::create_dir(place.path().join("plugins")).unwrap();
        place
    }

    /// A desk, and a place where its plugin is granted what it needs; then these lines. The host tries nothing again by
    /// itself and asks no plugin what became of a call, so that what one attempt comes to is to be seen.
    fn with_desk(lines: &str) -> (Self, Backend) {
        Self::with_desk_retrying(&(crate::call::once(lines) + "[probe]\ntries = 0\n"))
    }

    /// The same, where the host tries again.
    fn with_desk_retrying(lines: &str) -> (Self, Backend) {
        let desk = Options { token: Some("desk-token".to_owned()), ..Options::default() }.start().unwrap();
        let grants = format!(
            r#"
[plugin.desk]
config = {{ desk_url = "{url}" }}
secrets = ["desk_token"]

[[plugin.desk.http]]
origin = "{url}"
methods = ["GET", "POST", "PUT"]
paths = ["/orders", "/orders/*", "/tickets", "/tickets/**", "/mails"]
addresses = ["127.0.0.1"]

[secrets]
desk_token = {{ env = "DESK_TOKEN" }}
{lines}"#,
            url = desk.url
        );
        let mut place = Self::with_config(&grants);
        place.desk = desk.url.clone();
        place.with_plugin(guests::DESK);
        (place, desk)
    }

    fn with_plugin(&self, component: &str) {
        let folder = self.path().join("plugins");
        fs::create_dir_all(&folder).unwrap();
        fs::copy(component, folder.join(Path::new(component).file_name().unwrap())).unwrap();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(AIRLOCK);
        command
            .args(arguments)
            .current_dir(self.path())
            .env_clear()
            .env("HOME", self.path())
            .env("DESK_TOKEN", "desk-token")
            .stdin(Stdio::null());
        command
    }

    fn airlock(&self, arguments: &[&str]) -> Ran {
        self.ran(&mut self.command(arguments))
    }

    /// The same with a text on standard input.
    fn airlock_reading(&self, arguments: &[&str], input: &str) -> Ran {
        let (read, mut write) = std::io::pipe().unwrap();
        write.write_all(input.as_bytes()).unwrap();
        drop(write);
        self.ran(self.command(arguments).stdin(read))
    }

    /// Runs to the end; what is of this place and this moment is taken out of what is said.
    fn ran(&self, command: &mut Command) -> Ran {
        let ran = command.output().unwrap();
        let text = |bytes: Vec<u8>| {
            let text = String::from_utf8(bytes).unwrap();
            text.replace(self.path().to_str().unwrap(), "HOME").replace(&self.desk, "http://desk.test:12345")
        };
        Ran { exit: ran.status.code(), out: text(ran.stdout), err: text(ran.stderr) }
    }

    /// The id of the latest run.
    fn latest(&self) -> String {
        let document = self.airlock(&["runs", "--limit", "1", "--json"]).document();
        document["data"]["runs"][0]["run"].as_str().unwrap().to_owned()
    }
}

impl Ran {
    /// The one document on standard output.
    fn document(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self}"))
    }

    /// All of it, with what differs from run to run made equal.
    fn told(&self) -> String {
        told(&self.to_string())
    }
}

impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exit = self.exit.map_or("a signal".to_owned(), |code| code.to_string());
        write!(f, "exit {exit}\n-- out\n{}-- err\n{}", self.out, self.err)
    }
}

/// A backend whose answer to the next request is lost: the work is done, or it is not.
fn lose_answer(desk: &Backend, place: &str, moment: Moment) {
    desk.fault(place, Fault::cut(moment), 1);
}

/// A text in which ids, times and measures stand as placeholders, as wide as what they stand for.
pub(crate) fn told(text: &str) -> String {
    let mut runs: Vec<String> = Vec::new();
    let mut told = String::new();
    let mut before = String::new();
    for piece in text.split_inclusive(|letter: char| !letter.is_alphanumeric() && !"-:.".contains(letter)) {
        let word = piece.trim_end_matches(|letter: char| !letter.is_alphanumeric());
        told.push_str(&stands_for(word, &before, &mut runs));
        told.push_str(&piece[word.len()..]);
        word.clone_into(&mut before);
    }
    told
}

fn stands_for(word: &str, before: &str, runs: &mut Vec<String>) -> String {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let hex = word.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let is_run = |word: &str| word.len() == 26 && word.starts_with("01") && word.to_uppercase() == word;
    let id = word.strip_prefix("airlock-").unwrap_or(word);
    if is_run(id) {
        let known = runs.iter().position(|run| run == id).unwrap_or_else(|| {
            runs.push(id.to_owned());
            runs.len() - 1
        });
        return word.replace(id, &format!("01{:0>24}", format!("RUN{}", known + 1)));
    }
    match (word.len(), before) {
        (24, _) if word.ends_with('Z') && word.contains('T') => "2026-01-31T08:00:00.000Z".to_owned(),
        (32, _) if hex => "f".repeat(32),
        (12, "plugin") if hex => "f".repeat(12),
        (_, "fuel" | "memory") if digits(word) => "1000".to_owned(),
        (_, "after") if word.strip_suffix("ms").is_some_and(digits) => "1ms".to_owned(),
        (2 | 3, _) if word.strip_suffix('s').is_some_and(digits) => "0s".to_owned(),
        (_, _) => word.to_owned(),
    }
}

#[test]
fn what_differs_from_run_to_run_is_made_equal() {
    let text = "run 01M8PM06JFCZS3FDXA31XSMHR6, began 2026-11-30T16:18:25.487Z (3s ago), after 12ms: \
                `--key airlock-01M8PM06JFCZS3FDXA31XSMHR6`";
    assert_eq!(
        told(text),
        "run 0100000000000000000000RUN1, began 2026-01-31T08:00:00.000Z (0s ago), after 1ms: \
         `--key airlock-0100000000000000000000RUN1`"
    );
}
