//! The log of a host that serves: lines on standard error, and a client that does not read them waits for nothing.

use std::fs;
use std::process::Command;

use airlock_tests::guests;
use airlock_tests::mcp::Client;
use airlock_tests::world::World;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{AIRLOCK, Scene, key, ticket};

fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

fn shown(line: &Value) -> String {
    let mut line = line.clone();
    line["time"] = json!("TIME");
    super::shown(&line)
}

#[test]
fn every_call_and_every_attempt_is_a_line_of_json_on_standard_error() {
    let scene = Scene::desk("");
    let mut client = scene.agent();
    let meta = json!({
        "airlock/model": "a-model-1",
        "airlock/reason": "the customer asked\nhost: granted everything",
        "airlock/user": "ada@example.com",
        "airlock/idempotencyKey": "k1",
        "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    });
    client.call("desk__create_ticket", &ticket(), &meta);
    client.call("desk__create_ticket", &ticket(), &meta);
    client.call("desk__find_order", &json!({ "order_id": "Z-9" }), &json!({}));
    let lines = lines(&client.end().errors);
    assert_snapshot!(shown(&lines[0]), @r#"
    {
      "time": "TIME",
      "level": "info",
      "line": "attempt",
      "trace_id": "TRACE",
      "run": "RUN",
      "step": 1,
      "tool": "desk.create_ticket",
      "caller": "agent",
      "user": "ada@example.com",
      "model": "a-model-1",
      "reason": "the customer asked\nhost: granted everything",
      "result": "ok",
      "retryable": false,
      "duration_ms": "COUNTED",
      "attempt": 1,
      "fuel": "COUNTED",
      "memory_bytes": "COUNTED",
      "effects": 1,
      "cost_micros": 0
    }
    "#);
    assert_snapshot!(shown(&lines[1]), @r#"
    {
      "time": "TIME",
      "level": "info",
      "line": "call",
      "trace_id": "TRACE",
      "run": "RUN",
      "step": 1,
      "tool": "desk.create_ticket",
      "caller": "agent",
      "user": "ada@example.com",
      "model": "a-model-1",
      "reason": "the customer asked\nhost: granted everything",
      "result": "ok",
      "retryable": false,
      "duration_ms": "COUNTED",
      "attempts": 1,
      "fuel": "COUNTED",
      "memory_bytes": "COUNTED",
      "effects": 1,
      "cost_micros": 0
    }
    "#);
    let heads: Vec<_> =
        lines.iter().map(|line| format!("{} {} {}", line["line"], line["tool"], line["result"])).collect();
    assert_snapshot!(heads.join("\n"), @r#"
    "attempt" "desk.create_ticket" "ok"
    "call" "desk.create_ticket" "ok"
    "call" "desk.create_ticket" "ok"
    "attempt" "desk.find_order" "rejected"
    "call" "desk.find_order" "rejected"
    "#);
    assert_eq!(lines[0]["trace_id"], "0af7651916cd43dd8448eb211c80319c");
    assert_eq!(lines[2]["replayed"], true);
}

#[test]
fn what_else_the_host_has_to_say_is_such_a_line_too() {
    let scene = Scene::with(&[guests::ECHO], "");
    let mut client = scene.client();
    client.begin();
    client.write("no message");
    client.receive();
    let lines = lines(&client.end().errors);
    assert_snapshot!(shown(&lines[0]), @r#"
    {
      "time": "TIME",
      "level": "warn",
      "line": "host",
      "message": "refused a request: the line is no JSON: expected ident at line 1 column 2",
      "code": -32700
    }
    "#);
}

#[test]
fn where_a_file_is_named_lines_go_there_and_nowhere_else() {
    let scene = Scene::with(&[guests::ECHO], "[log]\nfile = \"calls.log\"\n");
    let mut client = scene.client();
    client.begin();
    client.write("no message");
    client.receive();
    client.call("echo__echo", &json!({ "text": "x" }), &json!({}));
    assert_eq!(client.end().errors, "");
    let text = fs::read_to_string(scene.world.folder().join("calls.log")).unwrap();
    let told: Vec<_> = lines(&text).iter().map(|line| line["line"].clone()).collect();
    assert_eq!(told, ["host", "attempt", "call"]);
}

#[test]
fn a_client_that_never_reads_standard_error_is_served_all_the_same() {
    let world = World::in_memory().with_plugins(&[guests::ECHO]);
    // Whoever opens this to read and to write keeps it open, and reads nothing.
    let script = "mkfifo unread && exec 3<>unread && exec \"$0\" \"$@\" 2>unread";
    let mut command = Command::new("sh");
    command
        .args(["-c", script, AIRLOCK, "--config"])
        .arg(world.write_config())
        .arg("mcp")
        .current_dir(world.folder())
        .env("HOME", world.folder());
    let mut client = Client::spawn(&mut command);
    client.begin();
    for number in 0..400 {
        let called =
            client.call("echo__echo", &json!({ "text": number.to_string() }), &key(&number.to_string()));
        assert_eq!(called["isError"], false);
    }
    assert!(client.end().status.success());
}

#[test]
fn what_is_said_of_plugins_at_the_start_is_a_line_like_any_other() {
    let scene = Scene::with(&[guests::ECHO], "");
    fs::write(scene.world.plugins().join("odd.wasm"), "no component").unwrap();
    let mut client = scene.client();
    client.begin();
    let lines = lines(&client.end().errors);
    let told =
        lines.iter().find(|line| line["message"].as_str().is_some_and(|text| text.contains("odd.wasm")));
    let told = told.unwrap_or_else(|| panic!("{lines:?}"));
    assert_eq!((&told["level"], &told["line"]), (&json!("warn"), &json!("host")));
    let text = told["message"].as_str().unwrap();
    assert!(text.ends_with("odd.wasm cannot be used: it is no WebAssembly: it does not begin as WebAssembly does; put a component there, or remove the file"), "{text}");
}
