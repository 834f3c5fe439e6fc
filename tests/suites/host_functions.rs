//! What the host keeps for plugins: values under keys of their own, what attempts save, what calls cost.

mod costs;
mod saved;
mod values;

use airlock::host::Host;
use airlock::model::reply::Reply;
use airlock_tests::guests::NOTEBOOK;
use airlock_tests::world::{World, body, code, keyed, request};
use serde_json::json;

/// A world with the notebook, which may keep values.
fn world() -> World {
    // One attempt is told apart from the next by its key.
    let lines = "[plugin.notebook]\nkey_value = true\n[retries]\nmost = 0";
    World::in_memory().with_plugins(&[NOTEBOOK]).with_config(lines)
}

async fn call(host: &Host, tool: &str, lines: &[&str]) -> Reply {
    host.call(request(tool, &json!({ "lines": lines }))).await
}

async fn call_keyed(host: &Host, tool: &str, lines: &[&str], key: &str) -> Reply {
    host.call(keyed(tool, &json!({ "lines": lines }), key)).await
}

/// What the guest was given, a line each; or how the call ended.
fn answers(reply: &Reply) -> String {
    let body = body(reply);
    match body["answers"].as_array() {
        Some(answers) => answers.iter().filter_map(|answer| answer.as_str()).collect::<Vec<_>>().join("\n"),
        None => format!("{}: {}", code(reply), body["message"].as_str().unwrap_or_default()),
    }
}

/// What a call is given for these lines.
async fn asked(host: &Host, tool: &str, lines: &[&str]) -> String {
    answers(&call(host, tool, lines).await)
}
