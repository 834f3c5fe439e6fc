//! A child process as its parent sees it: started, given the word, killed where it halts.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::child::Order;
use super::point::Point;

/// The signal of `kill -9`.
const KILL: i32 = 9;

/// A child process; it dies with this at the latest.
#[derive(Debug)]
pub struct Process {
    child: Child,
    word: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
    said: Said,
}

/// What a child has said by now.
#[derive(Debug, Clone, Default)]
pub struct Said {
    /// The points that it has passed.
    pub points: Vec<Point>,
    /// How many of them it had passed when it was ready.
    pub before_ready: usize,
    /// The replies that it has acknowledged, each as JSON.
    pub replies: Vec<String>,
    /// What it was refused by the host itself, each as JSON.
    pub refusals: Vec<String>,
    /// Whether it was killed.
    pub killed: bool,
}

impl Process {
    /// Starts the child's program with an order; `set` sees the command before it runs.
    ///
    /// # Panics
    /// If it does not start.
    pub fn start(program: &Path, order: &Order, set: impl FnOnce(&mut Command)) -> Self {
        let mut command = Command::new(program);
        let order = serde_json::to_string(order).expect("an order is JSON");
        command.arg(order).stdin(Stdio::piped()).stdout(Stdio::piped());
        set(&mut command);
        let mut child = command.spawn().expect("the child's program was built");
        let word = child.stdin.take();
        let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        Self { child, word, lines, said: Said::default() }
    }

    /// Its number, for those who kill it.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it is ready, or dead.
    ///
    /// # Panics
    /// If it says something that children do not say.
    pub fn wait_until_ready(&mut self) {
        while let Some(line) = self.line() {
            if line == "ready" {
                return;
            }
        }
    }

    /// Gives it the word: it goes to work once it is ready.
    pub fn go(&mut self) {
        if let Some(mut word) = self.word.take() {
            // One that is dead by now needs no word.
            let _ = word.write_all(b"\n");
        }
    }

    /// Kills it, as `kill -9` does.
    ///
    /// # Panics
    /// If it is not there any more.
    pub fn kill(&mut self) {
        self.child.kill().expect("the child is ours");
    }

    /// Waits until it is gone, and its locks with it.
    ///
    /// # Panics
    /// If it is not ours to wait for.
    pub fn wait_until_gone(&mut self) {
        self.child.wait().expect("the child is ours");
    }

    /// Gives it the word, waits for its end, and tells what it has said.
    ///
    /// # Panics
    /// If it ended by itself, and not well.
    pub fn end(mut self) -> Said {
        self.go();
        while self.line().is_some() {}
        let status = self.child.wait().expect("the child is ours");
        self.said.killed = status.signal() == Some(KILL);
        assert!(status.success() || self.said.killed, "the child failed ({status}): {:?}", self.said);
        std::mem::take(&mut self.said)
    }

    /// The next line; one that halts is killed.
    fn line(&mut self) -> Option<String> {
        let line = self.lines.next()?.ok()?;
        let (what, rest) = line.split_once(' ').unwrap_or((&line, ""));
        match what {
            "ready" => self.said.before_ready = self.said.points.len(),
            "point" => self.said.points.push(rest.parse().expect("a point has a name")),
            "reply" => self.said.replies.push(rest.to_owned()),
            "refused" => self.said.refusals.push(rest.to_owned()),
            "halted" => self.kill(),
            other => panic!("children do not say this: {other}"),
        }
        Some(line)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // One that was waited for is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
