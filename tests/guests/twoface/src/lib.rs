//! Breaks its word in what it returns. Its declaration is in order; its `say` tool answers with whatever
//! the input holds, unread.

use airlock_sdk::Context;
use airlock_sdk::bindings::reader::airlock::plugin::host;
use airlock_sdk::bindings::reader::airlock::plugin::types::{ErrorKind, Tool};
use airlock_sdk::export::host::{Manifest, Reply, ToolError, tools};
use airlock_sdk::{Attachment, Cleanup, Repeat, Risk};
use serde::Deserialize;

struct Twoface;

/// What comes back, each text as it stands, JSON or not.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Say {
    /// A reply with this text as its data.
    Reply(String),
    Error(Refusal),
    /// A log line whose fields are this text, then a good reply.
    Log(String),
    /// A good reply with so many attachments of so many bytes.
    Attach {
        count: usize,
        bytes: usize,
    },
}

#[derive(Deserialize)]
struct Refusal {
    kind: Kind,
    code: String,
    message: String,
    user_message: Option<String>,
    retry_after_ms: Option<u32>,
    details: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    InvalidInput,
    Rejected,
    Ambiguous,
    Denied,
    Transient,
    Throttled,
    UnknownOutcome,
    Fatal,
}

const INPUT: &str = r#"{
    "type": "object",
    "properties": { "say": { "type": "object" }, "secret": { "type": "string" } },
    "required": ["say"],
    "additionalProperties": false
}"#;

const OUTPUT: &str = r#"{
    "type": "object",
    "properties": {
        "count": { "type": "integer" },
        "secret": { "type": "string" },
        "note": { "type": "string" }
    },
    "required": ["count"]
}"#;

impl tools::Guest for Twoface {
    fn describe() -> Manifest {
        let tool = |name: &str, risk, repeat| Tool {
            name: name.to_owned(),
            title: "Say".to_owned(),
            description: "Says what it is told to say.".to_owned(),
            input_schema: INPUT.to_owned(),
            output_schema: Some(OUTPUT.to_owned()),
            risk,
            repeat,
            cleanup: Cleanup::Nothing,
            permissions: Vec::new(),
            needs: Vec::new(),
            hidden: vec!["/secret".to_owned()],
            private: vec!["/note".to_owned()],
            same_action: Vec::new(),
            poll: false,
            timeout_ms: None,
            cost_micros: None,
        };
        Manifest {
            name: "twoface".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            description: env!("CARGO_PKG_DESCRIPTION").to_owned(),
            tools: vec![
                tool("say", Risk::PublicRead, Repeat::Reads),
                tool("say_writing", Risk::LowRiskWrite, Repeat::Once),
            ],
        }
    }

    fn call(_tool: String, input: String, _context: Context) -> Result<Reply, ToolError> {
        #[derive(Deserialize)]
        struct Input {
            say: Say,
        }
        let input: Input = serde_json::from_str(&input).expect("the input says what to say");
        match input.say {
            Say::Reply(data) => Ok(reply(data)),
            Say::Error(refusal) => Err(refusal.into()),
            Say::Log(fields) => {
                host::log(host::Level::Info, "with fields", &fields);
                Ok(reply(r#"{"count":1}"#.to_owned()))
            }
            Say::Attach { count, bytes } => {
                let attachment = |number| Attachment {
                    name: format!("{number}.bin"),
                    media_type: "application/octet-stream".to_owned(),
                    bytes: vec![0; bytes],
                };
                let attachments = (0..count).map(attachment).collect();
                Ok(Reply { attachments, ..reply(r#"{"count":1}"#.to_owned()) })
            }
        }
    }
}

airlock_sdk::__export_tools!(Twoface);

fn reply(data: String) -> Reply {
    Reply { data, attachments: Vec::new(), fingerprint: None, cleanup: None }
}

impl From<Refusal> for ToolError {
    fn from(refusal: Refusal) -> Self {
        Self {
            kind: match refusal.kind {
                Kind::InvalidInput => ErrorKind::InvalidInput,
                Kind::Rejected => ErrorKind::Rejected,
                Kind::Ambiguous => ErrorKind::Ambiguous,
                Kind::Denied => ErrorKind::Denied,
                Kind::Transient => ErrorKind::Transient,
                Kind::Throttled => ErrorKind::Throttled,
                Kind::UnknownOutcome => ErrorKind::UnknownOutcome,
                Kind::Fatal => ErrorKind::Fatal,
            },
            code: refusal.code,
            message: refusal.message,
            user_message: refusal.user_message,
            retry_after_ms: refusal.retry_after_ms,
            details: refusal.details,
        }
    }
}
