//! Where words go: data to standard output, the rest to standard error.

use std::io::{self, ErrorKind, Write as _};

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::clean::{clean, clean_json};
use super::hints::{self, Asked};
use super::place::place;
use super::problem::{Exit, Problem};
use crate::model::code;
use crate::model::failure::Failure;
use crate::model::reply::Reply;

/// How this command answers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Output {
    /// As one JSON document.
    pub(super) json: bool,
}

impl Output {
    /// Gives data: the document where JSON is wanted, else the text.
    pub(super) fn data<T: Serialize>(
        self,
        text: impl FnOnce() -> String,
        document: impl FnOnce() -> T,
    ) -> Result<(), Problem> {
        if self.json {
            self.document(&Answer { ok: true, data: document(), meta: Map::new() })
        } else {
            write(&text())
        }
    }

    /// Gives what was found; where that has faults, the document says so by this failure, and so does the end.
    pub(super) fn found(
        self,
        text: impl FnOnce() -> String,
        document: Value,
        faults: Option<Failure>,
    ) -> Result<Exit, Problem> {
        let Some(mut failure) = faults else { return self.data(text, || document).map(|()| Exit::Done) };
        for (name, value) in document.as_object().into_iter().flatten() {
            failure = failure.with_detail(name, value.clone());
        }
        let error = failure.to_json();
        if self.json {
            self.document(&json!({ "ok": false, "error": error, "meta": {} }))?;
        } else {
            write(&text())?;
        }
        Ok(Exit::of(&error))
    }

    /// Gives one JSON document.
    fn document(self, document: &impl Serialize) -> Result<(), Problem> {
        let text = serde_json::to_string(document)
            .map_err(|error| Problem::system("the answer is no JSON", &error))?;
        write(&clean_json(&text))
    }

    /// Gives a reply, and what to do about it where it is none that was hoped for.
    pub(super) fn reply(self, reply: &Reply, asked: &Asked<'_>) -> Result<Exit, Problem> {
        let error = match &reply.body {
            Ok(_) => None,
            Err(error) => Some(serde_json::from_str(error.get()).unwrap_or(Value::Null)),
        };
        let exit = error.as_ref().map_or(Exit::Done, Exit::of);
        match (&reply.body, error) {
            _ if self.json => self.document(reply)?,
            (Ok(data), _) => {
                write(&super::layout::pretty(data.get()))?;
                self.beside(reply);
            }
            (Err(_), error) => {
                let error = error.unwrap_or_default();
                // Where the call was not carried out, the run that stands in its way is in the details.
                let run = reply.meta.run.map(|run| run.to_string());
                let run = run.or_else(|| error["details"]["run"].as_str().map(str::to_owned));
                self.error(&error, run.as_deref(), Some(asked));
                self.beside(reply);
                let nothing_done = reply.meta.effects == 0;
                if reply.meta.replayed
                    && nothing_done
                    && matches!(error["action"].as_str(), Some("stop" | "tell_user"))
                {
                    self.hint("nothing was done by it: another --key, or none, makes the call anew");
                }
            }
        }
        Ok(exit)
    }

    /// Says what went wrong and what to do about it.
    pub(super) fn problem(self, problem: &Problem) -> Exit {
        let failure = problem.failure();
        let error = failure.to_json();
        if self.json {
            // Where not even this can be written, the exit code says it.
            let _ = self.document(&json!({ "ok": false, "error": error, "meta": {} }));
        } else if let Problem::Faulty(faults) = problem {
            say(&faults.styled());
        } else if let (Problem::Closed(_) | Problem::Usage(..) | Problem::Failed(_), Some(hint)) =
            (problem, error["details"]["hint"].as_str())
        {
            self.fault(&error);
            self.hint(hint);
        } else {
            self.error(&error, None, None);
        }
        Exit::of(&error)
    }

    /// Remarks, for people alone.
    pub(super) fn note(self, text: &str) {
        if !self.json {
            say(text);
        }
    }

    /// What would help.
    pub(super) fn hint(self, text: &str) {
        self.note(&format!("{CYAN}hint{PLAIN}: {}", clean(text)));
    }

    fn error(self, error: &Value, run: Option<&str>, asked: Option<&Asked<'_>>) {
        self.fault(error);
        if error["code"] == code::INVALID_INPUT {
            let place = asked.and_then(|asked| place(asked.input?));
            place.iter().flatten().for_each(|line| self.note(&format!("    {line}")));
        }
        for hint in hints::hints(error, run, asked) {
            self.hint(&hint);
        }
    }

    fn fault(self, error: &Value) {
        let field = |name: &str| error[name].as_str().unwrap_or_default();
        let listed = hints::listed(error);
        // What the message says at its end and the list says too is said once.
        let message = field("message");
        let short = message.strip_suffix(&listed.join("; ")).map(|short| short.trim_end_matches("; "));
        let message = short.filter(|short| !short.is_empty()).unwrap_or(message);
        self.note(&format!("{RED}error[{}]{PLAIN}: {}", clean(field("code")), clean(message)));
        for line in listed {
            self.note(&format!("  - {}", clean(&line)));
        }
    }

    fn beside(self, reply: &Reply) {
        if reply.meta.replayed {
            let run = reply.meta.run.map(|run| format!(" of run {run}")).unwrap_or_default();
            self.note(&format!("note: this is the stored result{run}; nothing was run again"));
        }
        for attachment in &reply.attachments {
            let (name, media_type) = (clean(&attachment.name), clean(&attachment.media_type));
            self.note(&format!("attachment: {name}, {media_type}, {} bytes", attachment.size()));
        }
        if let (Some(trimmed), Some(run)) = (&reply.meta.trimmed, reply.meta.run) {
            self.note(&format!("note: {}", clean(&trimmed.to_string())));
            self.hint(&format!("`airlock runs {run} --output` prints the whole"));
        }
        if !reply.meta.dropped.is_empty() {
            let fields = clean(&reply.meta.dropped.join(", "));
            self.note(&format!("note: the tool does not know these fields, so they were left out: {fields}"));
        }
    }
}

/// Data in the one form of results.
#[derive(Serialize)]
struct Answer<T> {
    ok: bool,
    data: T,
    meta: Map<String, Value>,
}

/// Colours; `anstream` takes them out where no terminal wants them.
const RED: &str = "\u{1b}[1;31m";
const CYAN: &str = "\u{1b}[36m";
const PLAIN: &str = "\u{1b}[0m";

/// Writes to standard output. A reader that went away had enough, which is no error.
fn write(text: &str) -> Result<(), Problem> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Problem::system("the answer cannot be written", &error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Writes to standard error; where that is gone, nobody is there to be told.
fn say(text: &str) {
    let _ = writeln!(anstream::stderr().lock(), "{text}");
}
