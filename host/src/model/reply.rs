//! The one form of result that every door gives.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::attachment::Attachment;
use super::failure::Failure;
use super::id::{RunId, TraceId};
use super::loops::Rounds;
use super::manifest::Cleanup;

/// What an attempt used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Fuel, instantiation apart.
    pub fuel: u64,
    /// The most memory held at once, in bytes.
    pub memory: u64,
    /// Requests that left the sandbox, reads included.
    pub effects: u32,
    /// From the attempt's beginning to its end.
    pub time: Duration,
    /// What the call has cost by then, earlier attempts included, in millionths of the budget's currency.
    pub cost: u64,
}

/// What is told beside the result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Meta {
    /// The run, once it exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The step inside the run, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// Attempts that were begun.
    pub attempts: u32,
    /// How long the caller waited, in milliseconds.
    pub duration_ms: u64,
    /// Fuel of the last attempt.
    pub fuel: u64,
    /// The most memory that the last attempt held, in bytes.
    pub memory_bytes: u64,
    /// Requests of the last attempt that left the sandbox.
    pub effects: u32,
    /// What all attempts cost, in millionths of the budget's currency.
    pub cost_micros: u64,
    /// Fields of the input that the schema does not know and that were left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<String>,
    /// What is left out of the result, where it is longer than a reply may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trimmed: Option<Trimmed>,
    /// Whether the result is a stored one.
    pub replayed: bool,
    /// The run of the same call, made before, whose result this is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicate_of: Option<RunId>,
    /// How often the conversation has gone the same round, where it goes round in circles.
    #[serde(rename = "loop", skip_serializing_if = "Option::is_none")]
    pub rounds: Option<Rounds>,
    /// Joins the log lines of this call.
    pub trace_id: TraceId,
}

/// What was left out of a result; a text that was cut says so at its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trimmed {
    /// How long the whole is, in bytes; it is given by page.
    pub bytes: u64,
    /// Lists and objects that were cut, as far as they are told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cuts: Vec<Cut>,
    /// How many more were cut.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more_cuts: u64,
}

/// A list or an object that was cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cut {
    /// Where it is, as a JSON pointer.
    pub at: String,
    /// Items that are left out at its end.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub items: u64,
    /// Fields that are left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub fields: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl std::fmt::Display for Trimmed {
    /// What is left out, in one sentence.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the result is cut; the whole has {} bytes", self.bytes)?;
        for Cut { at, items, fields } in &self.cuts {
            let (number, what) = if *items > 0 { (items, "items") } else { (fields, "fields") };
            let place = if at.is_empty() { "at its root" } else { at };
            write!(f, "; {number} more {what} at {place}")?;
        }
        if self.more_cuts > 0 { write!(f, "; and {} more such", self.more_cuts) } else { Ok(()) }
    }
}

/// A part of a whole result: JSON text, cut between two characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Page {
    /// The part.
    pub text: String,
    /// What the next one is asked for with; none where this is the last.
    pub next: Option<String>,
}

/// What a guest gave: JSON text, and what goes beside it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Output {
    /// JSON text.
    pub data: String,
    /// What goes beside it.
    pub attachments: Vec<Attachment>,
    /// The state of what the call touched.
    pub fingerprint: Option<String>,
    /// Where this outcome needs a stricter clean-up than the tool declares.
    pub cleanup: Option<Cleanup>,
}

/// A result: `data` or `error` as JSON text, kept byte for byte, and `meta`.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The output, or the error.
    pub body: Result<Box<RawValue>, Box<RawValue>>,
    /// What goes beside the output.
    pub attachments: Vec<Attachment>,
    /// What is told beside it.
    pub meta: Meta,
    /// The run that is to be told once its result has reached whoever asked.
    pub undelivered: Option<RunId>,
}

impl Reply {
    /// Whether the tool did what was asked.
    pub fn ok(&self) -> bool {
        self.body.is_ok()
    }

    /// The code of the error, where there is one.
    pub fn code(&self) -> Option<String> {
        let error: serde_json::Value = serde_json::from_str(self.body.as_ref().err()?.get()).ok()?;
        error["code"].as_str().map(str::to_owned)
    }
}

impl Serialize for Reply {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct as _;
        let mut reply = serializer.serialize_struct("Reply", 4)?;
        reply.serialize_field("ok", &self.ok())?;
        match &self.body {
            Ok(data) => reply.serialize_field("data", data)?,
            Err(error) => reply.serialize_field("error", error)?,
        }
        if !self.attachments.is_empty() {
            reply.serialize_field("attachments", &self.attachments)?;
        }
        reply.serialize_field("meta", &self.meta)?;
        reply.end()
    }
}

/// What is stored of a run's end, and given again whenever it is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Whether `body` is `data` or `error`.
    pub ok: bool,
    /// JSON text.
    pub body: String,
    /// What is left out of it.
    pub trimmed: Option<Trimmed>,
    /// How many attachments go with it.
    pub attached: u32,
}

impl Stored {
    /// A result that stands alone and is whole.
    pub fn new(ok: bool, body: impl Into<String>) -> Self {
        Self { ok, body: body.into(), trimmed: None, attached: 0 }
    }

    /// The error as it is stored.
    pub fn error(failure: &Failure) -> Self {
        Self::new(false, failure.to_json().to_string())
    }

    /// The body of a reply; what is stored was JSON when it was written.
    pub fn to_body(&self) -> Result<Box<RawValue>, Box<RawValue>> {
        let raw = RawValue::from_string(self.body.clone()).or_else(|_| {
            RawValue::from_string(Failure::internal("stored body is no JSON").to_json().to_string())
        });
        match raw {
            Ok(body) if self.ok => Ok(body),
            Ok(body) => Err(body),
            Err(_) => Err(Box::default()),
        }
    }
}
