//! The one form of result that every door gives.

use std::time::Duration;

use serde::Serialize;
use serde_json::value::RawValue;

use super::failure::Failure;
use super::id::{RunId, TraceId};

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
    /// Fields of the input that the schema does not know and that were left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<String>,
    /// Whether the result is a stored one.
    pub replayed: bool,
    /// Joins the log lines of this call.
    pub trace_id: TraceId,
}

/// A result: `data` or `error` as JSON text, kept byte for byte, and `meta`.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The output, or the error.
    pub body: Result<Box<RawValue>, Box<RawValue>>,
    /// What is told beside it.
    pub meta: Meta,
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
        let mut reply = serializer.serialize_struct("Reply", 3)?;
        reply.serialize_field("ok", &self.ok())?;
        match &self.body {
            Ok(data) => reply.serialize_field("data", data)?,
            Err(error) => reply.serialize_field("error", error)?,
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
}

impl Stored {
    /// The error as it is stored.
    pub fn error(failure: &Failure) -> Self {
        Self { ok: false, body: failure.to_json().to_string() }
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
