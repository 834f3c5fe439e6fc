//! Several processes with a host each, on one state folder, that make their calls at the same moment.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What one process is told; it reads it from its standard input.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Task {
    /// The file of the configuration.
    pub config: PathBuf,
    /// The environment that the configuration is read with.
    pub environment: BTreeMap<String, String>,
    /// What compiles its plugins, where it is not the host's own.
    pub compiler: Option<PathBuf>,
    /// The calls, all at once.
    pub calls: Vec<Call>,
}

/// One call.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Call {
    /// The tool.
    pub tool: String,
    /// Its input.
    pub input: Value,
    /// The key. Where it is empty, the call has none, and is one of a conversation.
    pub key: String,
}

/// What a process says once its host is open.
pub const READY: &str = "ready";

/// Processes that are open and have not called yet.
#[derive(Debug)]
pub struct Crowd {
    members: Vec<Member>,
}

#[derive(Debug)]
struct Member {
    child: Child,
    start: ChildStdin,
    said: BufReader<ChildStdout>,
}

impl Crowd {
    /// Starts a process for each task and waits until every one of them has opened its host.
    ///
    /// # Panics
    /// Where one does not come so far.
    pub fn gather(program: &Path, tasks: &[Task]) -> Self {
        let mut members: Vec<Member> = tasks.iter().map(|task| Member::start(program, task)).collect();
        for member in &mut members {
            assert_eq!(member.line().as_deref(), Some(READY), "the process cannot open its host");
        }
        Self { members }
    }

    /// Lets all of them call at once; gives the replies as they were printed, process by process.
    ///
    /// # Panics
    /// Where a process does not answer every call.
    pub fn go(mut self) -> Vec<Vec<String>> {
        for member in &mut self.members {
            writeln!(member.start, "go").expect("the process waits for this");
        }
        self.members.into_iter().map(Member::replies).collect()
    }
}

impl Member {
    fn start(program: &Path, task: &Task) -> Self {
        let started = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = started.expect("the program was built with the tests");
        let mut start = child.stdin.take().expect("its input is a pipe");
        let said = BufReader::new(child.stdout.take().expect("its output is a pipe"));
        let task = serde_json::to_string(task).expect("a task is JSON");
        writeln!(start, "{task}").expect("the process reads its task");
        Self { child, start, said }
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        self.said.read_line(&mut line).expect("the process writes text");
        line.strip_suffix('\n').map(str::to_owned)
    }

    fn replies(mut self) -> Vec<String> {
        let mut replies = Vec::new();
        while let Some(line) = self.line() {
            replies.push(line);
        }
        let ended = self.child.wait().expect("the process was started here");
        assert!(ended.success(), "a process ended with {ended}");
        replies
    }
}
