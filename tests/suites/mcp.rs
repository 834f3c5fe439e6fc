//! The MCP door as clients meet it: real lines to a real process, and a backend that counts what really happened.

mod background;
mod callers;
mod calls;
mod clients;
mod conformance;
mod conversations;
mod costs;
mod leaving;
mod listing;
mod log;
mod protocol;
mod reach;
mod setup;
mod waiting;

use std::path::Path;

use airlock_tests::backend::{Backend, Options};
use airlock_tests::guests;
use airlock_tests::mcp::Client;
use airlock_tests::world::World;
use serde_json::{Value, json};

/// The binary, from the very file that the real one is made of.
const AIRLOCK: &str = env!("CARGO_BIN_EXE_airlock-under-test");

/// A caller that may do all that the desk does.
const AGENT: &str = r#"
[callers.agent]
permissions = ["order:read", "ticket:write", "mail:send"]
max_risk = "L4"

[tools."desk.send_mail"]
confirm = "none"
"#;

/// A world with these plugins, and what a client starts there.
pub(crate) struct Scene {
    pub(crate) world: World,
    desk: Option<Backend>,
}

impl Scene {
    /// A world with these plugins that asks nothing of a backend.
    fn with(plugins: &[&str], config: &str) -> Self {
        Self { world: World::in_memory().with_plugins(plugins).with_config(config), desk: None }
    }

    /// The desk, and a caller `agent` who may do all that it does.
    pub(crate) fn desk(config: &str) -> Self {
        let desk = Options { token: Some("desk-token".to_owned()), ..Options::default() }.start().unwrap();
        let grants = format!(
            r#"{config}
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
{AGENT}"#,
            url = desk.url
        );
        let world = World::in_memory()
            .with_plugins(&[guests::DESK, guests::ECHO])
            .with_config(&grants)
            .with_variable("DESK_TOKEN", "desk-token");
        Self { world, desk: Some(desk) }
    }

    pub(crate) fn backend(&self) -> &Backend {
        self.desk.as_ref().unwrap()
    }

    /// Tickets that were opened.
    pub(crate) fn tickets(&self) -> u64 {
        self.backend().counts().of("POST /tickets").works
    }

    /// A client whose caller is the built-in one.
    fn client(&self) -> Client {
        self.client_with(&[])
    }

    /// A client whose caller is `agent`, its session begun.
    pub(crate) fn agent(&self) -> Client {
        let mut client = self.client_with(&["--as", "agent"]);
        client.begin();
        client
    }

    pub(crate) fn client_with(&self, arguments: &[&str]) -> Client {
        Client::start(Path::new(AIRLOCK), &self.world, arguments)
    }
}

/// A ticket that the desk takes.
pub(crate) fn ticket() -> Value {
    json!({ "order_id": "A-1003", "subject": "Lamp", "body": "It broke." })
}

/// The key of a call.
pub(crate) fn key(key: &str) -> Value {
    json!({ "airlock/idempotencyKey": key })
}

/// The text of a result.
pub(crate) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("it has no text: {result}"))
}

/// A message in lines, with what differs from run to run made equal.
pub(crate) fn shown(message: &Value) -> String {
    let mut message = message.clone();
    redact(&mut message);
    serde_json::to_string_pretty(&message).unwrap()
}

fn redact(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match name.as_str() {
                    "duration_ms" | "fuel" | "memory_bytes" if value.is_u64() => *value = json!("COUNTED"),
                    "run" if value.is_string() => *value = json!("RUN"),
                    "trace_id" => *value = json!("TRACE"),
                    _ => redact(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(redact),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
