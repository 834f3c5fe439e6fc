//! Where the log goes, and what it looks like: text for people, lines of JSON for programs.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tracing::field::{Field, Visit};
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

use super::clean::{clean, clean_json};
use super::layout::moment;
use super::problem::Problem;
use crate::host::{LINES, LogFormat, LogTo};
use crate::model::clock::{Clock as _, SystemClock};

/// Lines that wait to be written; beyond it they are counted and dropped: whoever does not read its standard error must
/// not keep calls from being answered.
const AHEAD: u64 = 10_000;

/// How long the last lines may take to be written.
const LAST_LINES: Duration = Duration::from_secs(1);

/// Settled once the configuration is read.
static SETTLED: OnceLock<Settled> = OnceLock::new();

struct Settled {
    format: LogFormat,
    /// Whether this process serves others, who read everything that it says in one place.
    serves: bool,
    /// Where lines go; none where nobody asked for them.
    writer: Option<Writer>,
}

/// Begins to log: warnings, as text on standard error, for the person at the command line.
pub(super) fn begin() {
    tracing_subscriber::registry().with(Log).init();
}

/// Goes on as the configuration says: a process that serves logs there, and so does every call where there is a file.
///
/// # Errors
/// Where the file cannot be written, or no thread be started.
pub(super) fn settle(to: &LogTo, serves: bool) -> Result<(), Problem> {
    let out: Option<Box<dyn Write + Send>> = match &to.file {
        Some(path) => Some(Box::new(open(path)?)),
        None if serves => Some(Box::new(io::stderr())),
        None => None,
    };
    let writer = out.map(|out| Writer::start(out, to.format)).transpose();
    let writer = writer.map_err(|error| Problem::system("the log cannot be written", &error))?;
    let _ = SETTLED.set(Settled { format: to.format, serves, writer });
    // What was decided about places in the code before this is decided anew.
    tracing::callsite::rebuild_interest_cache();
    Ok(())
}

/// Waits until what was logged is written.
pub(super) fn finish() {
    if let Some(writer) = SETTLED.get().and_then(|settled| settled.writer.as_ref()) {
        writer.flush();
    }
}

fn open(path: &std::path::Path) -> Result<File, Problem> {
    let opened = OpenOptions::new().create(true).append(true).mode(0o600).open(path);
    opened.map_err(|error| {
        let text = format!("the log cannot be written to {}: {error}", path.display());
        let hint = "make its folder, or name another file under [log] of airlock.toml".to_owned();
        Problem::Usage(text, Some(hint))
    })
}

/// A thread that writes lines, so that nobody waits for whoever reads them.
struct Writer {
    lines: Sender<Message>,
}

static WAITING: AtomicU64 = AtomicU64::new(0);
static DROPPED: AtomicU64 = AtomicU64::new(0);

enum Message {
    Line(String),
    Flush(SyncSender<()>),
}

impl Writer {
    fn start(out: Box<dyn Write + Send>, format: LogFormat) -> io::Result<Self> {
        let (lines, waiting) = mpsc::channel();
        std::thread::Builder::new().name("log".to_owned()).spawn(move || write(out, &waiting, format))?;
        Ok(Self { lines })
    }

    fn line(&self, line: String) {
        if WAITING.fetch_add(1, Ordering::Relaxed) >= AHEAD {
            WAITING.fetch_sub(1, Ordering::Relaxed);
            DROPPED.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let _ = self.lines.send(Message::Line(line));
    }

    fn flush(&self) {
        let (done, written) = mpsc::sync_channel(1);
        if self.lines.send(Message::Flush(done)).is_ok() {
            let _ = written.recv_timeout(LAST_LINES);
        }
    }
}

/// Writes what comes. Each line in one piece: several processes may share a file.
fn write(mut out: Box<dyn Write + Send>, waiting: &Receiver<Message>, format: LogFormat) {
    while let Ok(message) = waiting.recv() {
        match message {
            Message::Line(line) => {
                WAITING.fetch_sub(1, Ordering::Relaxed);
                let _ = out.write_all(line.as_bytes());
                let dropped = DROPPED.swap(0, Ordering::Relaxed);
                if dropped > 0 {
                    let text = format!("{dropped} lines of the log were dropped: nobody read them in time");
                    let fields = Map::from_iter([("message".to_owned(), json!(text))]);
                    let _ = out.write_all(host_line(format, Level::WARN, fields).as_bytes());
                }
            }
            Message::Flush(done) => {
                let _ = out.flush();
                let _ = done.send(());
            }
        }
    }
}

/// Takes what is logged, and gives it to whoever reads it.
struct Log;

impl<S: Subscriber> Layer<S> for Log {
    fn register_callsite(&self, _metadata: &'static Metadata<'static>) -> Interest {
        // Who reads what is settled later.
        Interest::sometimes()
    }

    fn enabled(&self, metadata: &Metadata<'_>, _context: Context<'_, S>) -> bool {
        let level = metadata.level();
        match metadata.target() {
            LINES => SETTLED.get().is_some_and(|settled| settled.writer.is_some()),
            // The MCP door tells itself what it refuses.
            target if target.starts_with("rmcp") => *level <= Level::ERROR,
            _ => *level <= Level::WARN,
        }
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::INFO)
    }

    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let level = *event.metadata().level();
        let settled = SETTLED.get();
        let writer = settled.and_then(|settled| settled.writer.as_ref());
        match (event.metadata().target(), settled, writer) {
            (LINES, Some(settled), Some(writer)) => {
                if let Some(Value::String(line)) = fields.0.get("line") {
                    writer.line(own_line(settled.format, level, line));
                }
            }
            (LINES, _, _) => {}
            (_, Some(settled), Some(writer)) if settled.serves => {
                writer.line(host_line(settled.format, level, fields.0));
            }
            (_, _, _) => {
                // Where standard error is gone, nobody is there to be told.
                let _ = io::stderr().lock().write_all(text(level, fields.0).as_bytes());
            }
        }
    }
}

/// The fields of an event, in their order.
#[derive(Default)]
struct Fields(Map<String, Value>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name().to_owned(), json!(format!("{value:?}")));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), json!(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name().to_owned(), json!(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().to_owned(), json!(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name().to_owned(), json!(value));
    }
}

/// The line of a call or an attempt, which comes as JSON.
fn own_line(format: LogFormat, level: Level, line: &str) -> String {
    match format {
        LogFormat::Json => {
            let rest = line.strip_prefix('{').unwrap_or(line);
            let head = format!("{{\"time\":\"{}\",\"level\":\"{}\",", now(), word(level));
            clean_json(&(head + rest)) + "\n"
        }
        LogFormat::Text => {
            let fields: Map<String, Value> = serde_json::from_str(line).unwrap_or_default();
            format!("{} {}", now(), text(level, fields))
        }
    }
}

/// A line of what else the host has to say.
fn host_line(format: LogFormat, level: Level, fields: Map<String, Value>) -> String {
    match format {
        LogFormat::Json => {
            let mut line = Map::from_iter([("line".to_owned(), json!("host"))]);
            line.extend(fields);
            own_line(format, level, &Value::Object(line).to_string())
        }
        LogFormat::Text => format!("{} {}", now(), text(level, fields)),
    }
}

/// Level, message and fields on one line.
fn text(level: Level, mut fields: Map<String, Value>) -> String {
    let mut line = format!("{level:>5}");
    // What the host says in words stands first; a call begins with what it is.
    let first = if fields.contains_key("line") { "line" } else { "message" };
    let head = fields.shift_remove(first).map(|value| (first.to_owned(), value));
    for (name, value) in head.into_iter().chain(fields) {
        match (name.as_str(), value) {
            (name, Value::String(text)) if name == first => line += &format!(" {text}"),
            (_, Value::String(text)) if !text.contains([' ', '"', '=']) => line += &format!(" {name}={text}"),
            (_, value) => line += &format!(" {name}={value}"),
        }
    }
    clean(&line) + "\n"
}

fn word(level: Level) -> &'static str {
    match level {
        Level::ERROR => "error",
        Level::WARN => "warn",
        Level::INFO => "info",
        Level::DEBUG => "debug",
        Level::TRACE => "trace",
    }
}

fn now() -> String {
    moment(SystemClock::start().now())
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;

    fn fields(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn text_is_one_line_whatever_is_in_it() {
        let said = fields(json!({ "message": "refused: a\nb", "code": -32602, "what": "x\u{1b}[2J y" }));
        assert_snapshot!(text(Level::WARN, said), @r#" WARN refused: a\nb code=-32602 what="x\u001b[2J y""#);
        let call =
            fields(json!({ "line": "call", "tool": "desk.find", "result": "ok", "message": "no order" }));
        assert_snapshot!(text(Level::INFO, call), @r#" INFO call tool=desk.find result=ok message="no order""#);
    }

    #[test]
    fn json_begins_with_time_and_level() {
        let line = own_line(LogFormat::Json, Level::INFO, r#"{"line":"call","tool":"desk.find\u202e"}"#);
        let read: Value = serde_json::from_str(&line).unwrap();
        let names: Vec<_> = read.as_object().unwrap().keys().collect();
        assert_eq!(names, ["time", "level", "line", "tool"]);
        assert!(line.ends_with("}\n") && !line.contains('\u{202e}'));
    }
}
