//! A client of MCP over standard input and output: it writes lines and reads lines, and knows nothing of what they mean.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};

use crate::world::World;

/// Bounds how long a test waits for a line; nothing of a test takes nearly so long.
const WAIT_LIMIT: Duration = Duration::from_secs(60);

/// A host that serves this client.
#[derive(Debug)]
pub struct Client {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    errors: Option<JoinHandle<String>>,
    /// Messages that came while another was waited for.
    aside: VecDeque<Value>,
    ids: u64,
}

/// How a host ended, and what it left.
#[derive(Debug)]
pub struct Ended {
    /// Its exit.
    pub status: ExitStatus,
    /// The messages that nobody had read.
    pub left: Vec<Value>,
    /// All of standard error.
    pub errors: String,
}

impl Client {
    /// Starts `airlock mcp` in a world, with these arguments after it.
    ///
    /// # Panics
    /// Where it does not start.
    pub fn start(airlock: &Path, world: &World, arguments: &[&str]) -> Self {
        let mut command = Command::new(airlock);
        command
            .arg("--config")
            .arg(world.write_config())
            .arg("mcp")
            .args(arguments)
            .current_dir(world.folder())
            .env_clear()
            .env("HOME", world.folder())
            .envs(world.environment());
        Self::spawn(&mut command)
    }

    /// Starts a command that serves on its standard streams.
    ///
    /// # Panics
    /// Where it does not start.
    pub fn spawn(command: &mut Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let (output, mut errors) = (child.stdout.take(), child.stderr.take().expect("it was piped"));
        let output = BufReader::new(output.expect("it was piped"));
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines() {
                let Ok(line) = line else { return };
                if send.send(line).is_err() {
                    return;
                }
            }
        });
        let errors = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = errors.read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        });
        let input = child.stdin.take();
        Self { child, input, lines, errors: Some(errors), aside: VecDeque::new(), ids: 0 }
    }

    /// The process of the host.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Writes a line as it is.
    ///
    /// # Panics
    /// Where standard input is closed.
    pub fn write(&mut self, line: impl AsRef<[u8]>) {
        let input = self.input.as_mut().expect("standard input is open");
        input.write_all(line.as_ref()).and_then(|()| input.write_all(b"\n")).expect("the host reads");
        input.flush().expect("the host reads");
    }

    /// Sends a request and gives its id.
    pub fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.ids += 1;
        let id = self.ids;
        self.write(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string());
        id
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: &Value) {
        self.write(json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string());
    }

    /// The next message, whichever it is.
    ///
    /// # Panics
    /// Where none comes, or a line is no message.
    pub fn receive(&mut self) -> Value {
        match self.aside.pop_front() {
            Some(message) => message,
            None => self.read(),
        }
    }

    fn read(&mut self) -> Value {
        match self.lines.recv_timeout(WAIT_LIMIT) {
            Ok(line) => message(&line),
            Err(RecvTimeoutError::Timeout) => panic!("no line came in {WAIT_LIMIT:?}"),
            Err(RecvTimeoutError::Disconnected) => panic!("the host closed standard output"),
        }
    }

    /// The answer to a request; whatever else comes meanwhile is kept.
    ///
    /// # Panics
    /// Where none comes.
    pub fn answer(&mut self, id: u64) -> Value {
        let is_it = |message: &Value| message["id"] == id && message.get("method").is_none();
        if let Some(at) = self.aside.iter().position(is_it) {
            return self.aside.remove(at).unwrap_or_default();
        }
        loop {
            let message = self.read();
            if is_it(&message) {
                return message;
            }
            self.aside.push_back(message);
        }
    }

    /// Sends a request and gives its answer.
    pub fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.send(method, params);
        self.answer(id)
    }

    /// Begins a session as clients of 2025-11-25 do, and gives what the host said.
    pub fn begin(&mut self) -> Value {
        let client = json!({ "name": "a client", "version": "1" });
        let version = "2025-11-25";
        let hello = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": client });
        let said = self.ask("initialize", &hello);
        self.notify("notifications/initialized", &json!({}));
        said
    }

    /// Calls a tool, and gives its result.
    ///
    /// # Panics
    /// Where the protocol itself refuses it.
    pub fn call(&mut self, tool: &str, arguments: &Value, meta: &Value) -> Value {
        let mut answer = self.ask("tools/call", &call(tool, arguments, meta));
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].take()
    }

    /// The tools that are listed.
    pub fn tools(&mut self) -> Vec<Value> {
        let answer = self.ask("tools/list", &json!({}));
        answer["result"]["tools"].as_array().cloned().unwrap_or_default()
    }

    /// Closes standard input, and gives how the host ended.
    ///
    /// # Panics
    /// Where it does not end.
    pub fn end(mut self) -> Ended {
        drop(self.input.take());
        let left = self.rest();
        self.ended(left)
    }

    /// The messages that nobody read, up to the end of standard output.
    fn rest(&mut self) -> Vec<Value> {
        let mut left: Vec<Value> = self.aside.drain(..).collect();
        loop {
            match self.lines.recv_timeout(WAIT_LIMIT) {
                Ok(line) => left.push(message(&line)),
                Err(RecvTimeoutError::Disconnected) => return left,
                Err(RecvTimeoutError::Timeout) => panic!("the host goes on, and was asked to end"),
            }
        }
    }

    /// Asks the host to end by SIGTERM, its standard input left open.
    ///
    /// # Panics
    /// Where it cannot be asked.
    pub fn terminate(&self) {
        let sent = Command::new("sh").arg("-c").arg(format!("kill -TERM {}", self.process())).status();
        assert!(sent.is_ok_and(|status| status.success()), "the host can be asked to end");
    }

    /// Waits, its standard input left open, until the host ends of itself, and gives how it did.
    ///
    /// # Panics
    /// Where it does not end.
    pub fn outlive(mut self) -> Ended {
        let left = self.rest();
        self.ended(left)
    }

    /// Kills the host, and gives what it said to that end.
    ///
    /// # Panics
    /// Where it cannot be killed.
    pub fn kill(mut self) -> Ended {
        self.child.kill().expect("the host can be killed");
        self.ended(Vec::new())
    }

    fn ended(&mut self, left: Vec<Value>) -> Ended {
        let status = self.child.wait().expect("the host can be waited for");
        let errors = self.errors.take().and_then(|errors| errors.join().ok()).unwrap_or_default();
        Ended { status, left, errors }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // A test that fails leaves no host behind; one that has ended is not there to be killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The parameters of a call.
pub fn call(tool: &str, arguments: &Value, meta: &Value) -> Value {
    json!({ "name": tool, "arguments": arguments, "_meta": meta })
}

fn message(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("a line is no message: {error}: {line}"))
}
