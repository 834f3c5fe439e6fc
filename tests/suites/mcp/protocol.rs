//! The protocol itself: both of its lines, what is no message, what is not served, and what stands on which stream.

use airlock_tests::guests;
use airlock_tests::mcp::{Client, call};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{Scene, shown, ticket};

/// What each request of the newer line brings.
fn meta(version: &str) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {}
    })
}

fn echo() -> Scene {
    Scene::with(&[guests::ECHO], "")
}

fn echoes(client: &mut Client) -> bool {
    client.call("echo__echo", &json!({ "text": "x" }), &json!({}))["structuredContent"]["text"] == "x"
}

#[test]
fn a_client_that_begins_a_session_is_told_what_there_is_and_how_to_use_it() {
    let scene = echo();
    let mut client = scene.client();
    assert_snapshot!(shown(&client.begin()).replace(env!("CARGO_PKG_VERSION"), "VERSION"), @r#"
    {
      "jsonrpc": "2.0",
      "id": 1,
      "result": {
        "protocolVersion": "2025-11-25",
        "capabilities": {
          "tools": {
            "listChanged": true
          }
        },
        "serverInfo": {
          "name": "airlock",
          "version": "VERSION"
        },
        "instructions": "Every call is carried out in a sandbox and written down. An error says what happened and what to do: do that, and nothing else.\n- A call that takes long answers STILL_RUNNING with its run, and goes on. Ask for its result with airlock__result {\"run\": \"…\"}; do not call the tool again.\n- A result that was cut says so. The whole is given in parts by airlock__page {\"run\": \"…\"}.\n- The same call made twice in a row is done once: the second answers ALREADY_DONE or ALREADY_RUNNING, with the first result, and nothing runs. Where a second one is truly wanted, make the same call with \"airlock_repeat_of\": \"the run that the answer names\".\n- OUTCOME_UNKNOWN and PARTLY_DONE: it may have been done, or part of it was. Do not call again in whatever form; tell the user that a person must look at it. Neither you nor this server can settle it.\n- LOOP_DETECTED: the same calls gave the same replies again and again. Do something else, or tell the user what is missing.\n- NEEDS_PERSON and PERMISSION_DENIED: whoever runs this host must allow it. Nothing that you call can."
      }
    }
    "#);
}

#[test]
fn a_client_that_knows_another_version_is_offered_one_that_is_known_here() {
    let scene = echo();
    for (asked, offered) in [
        ("2025-06-18", "2025-06-18"),
        ("2025-03-26", "2025-03-26"),
        ("1999-01-01", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
    ] {
        let mut client = scene.client();
        let hello = json!({ "protocolVersion": asked, "capabilities": {}, "clientInfo": { "name": "c", "version": "1" } });
        let said = client.ask("initialize", &hello);
        assert_eq!(said["result"]["protocolVersion"], offered, "{asked}");
        assert!(echoes(&mut client), "{asked}");
    }
}

#[test]
fn a_client_of_the_newer_line_needs_no_session() {
    let scene = echo();
    let mut client = scene.client();
    let meta = meta("2026-07-28");
    let discovered = client.ask("server/discover", &json!({ "_meta": meta }));
    assert_snapshot!(shown(&discovered).replace(env!("CARGO_PKG_VERSION"), "VERSION"), @r#"
    {
      "jsonrpc": "2.0",
      "id": 1,
      "result": {
        "resultType": "complete",
        "supportedVersions": [
          "2024-11-05",
          "2025-03-26",
          "2025-06-18",
          "2025-11-25",
          "2026-07-28"
        ],
        "capabilities": {
          "tools": {
            "listChanged": true
          }
        },
        "instructions": "Every call is carried out in a sandbox and written down. An error says what happened and what to do: do that, and nothing else.\n- A call that takes long answers STILL_RUNNING with its run, and goes on. Ask for its result with airlock__result {\"run\": \"…\"}; do not call the tool again.\n- A result that was cut says so. The whole is given in parts by airlock__page {\"run\": \"…\"}.\n- The same call made twice in a row is done once: the second answers ALREADY_DONE or ALREADY_RUNNING, with the first result, and nothing runs. Where a second one is truly wanted, make the same call with \"airlock_repeat_of\": \"the run that the answer names\".\n- OUTCOME_UNKNOWN and PARTLY_DONE: it may have been done, or part of it was. Do not call again in whatever form; tell the user that a person must look at it. Neither you nor this server can settle it.\n- LOOP_DETECTED: the same calls gave the same replies again and again. Do something else, or tell the user what is missing.\n- NEEDS_PERSON and PERMISSION_DENIED: whoever runs this host must allow it. Nothing that you call can.",
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": {
          "io.modelcontextprotocol/serverInfo": {
            "name": "airlock",
            "version": "VERSION"
          }
        }
      }
    }
    "#);
    let listed = client.ask("tools/list", &json!({ "_meta": meta }));
    assert_eq!(listed["result"]["tools"][2]["name"], "echo__echo");
    let called = client.ask("tools/call", &call("echo__echo", &json!({ "text": "x" }), &meta));
    assert_snapshot!(shown(&called), @r#"
    {
      "jsonrpc": "2.0",
      "id": 3,
      "result": {
        "resultType": "complete",
        "content": [
          {
            "type": "text",
            "text": "{\"text\":\"x\"}"
          }
        ],
        "structuredContent": {
          "text": "x"
        },
        "isError": false,
        "_meta": {
          "airlock/meta": {
            "run": "RUN",
            "step": 1,
            "attempts": 1,
            "duration_ms": "COUNTED",
            "fuel": "COUNTED",
            "memory_bytes": "COUNTED",
            "effects": 0,
            "cost_micros": 0,
            "replayed": false,
            "trace_id": "TRACE"
          }
        }
      }
    }
    "#);
}

#[test]
fn a_request_of_a_version_that_nobody_knows_is_refused_with_those_that_are() {
    let scene = echo();
    let mut client = scene.client();
    let refused = client.ask("tools/list", &json!({ "_meta": meta("2031-01-01") }));
    assert_snapshot!(shown(&refused), @r#"
    {
      "jsonrpc": "2.0",
      "id": 1,
      "error": {
        "code": -32022,
        "message": "Unsupported protocol version",
        "data": {
          "requested": "2031-01-01",
          "supported": [
            "2024-11-05",
            "2025-03-26",
            "2025-06-18",
            "2025-11-25",
            "2026-07-28"
          ]
        }
      }
    }
    "#);
    assert!(client.ask("tools/list", &json!({ "_meta": meta("2026-07-28") }))["result"]["tools"].is_array());
    let ended = client.end();
    assert!(ended.errors.contains("refused a request: "), "{}", ended.errors);
}

#[test]
fn what_is_no_message_is_answered_with_the_protocols_own_error_and_told_in_the_log() {
    let scene = echo();
    let mut client = scene.client();
    client.begin();
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{}1{}}}"#,
        "[".repeat(500),
        "]".repeat(500)
    );
    let lines = [
        "{",
        "[]",
        "null",
        "{}",
        r#"{"jsonrpc":"1.0","id":1,"method":"tools/list"}"#,
        r#"{"id":2,"method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","id":{},"method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","id":6,"params":{}}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"notifications/cancelled"}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"tools/call"}"#,
        r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":5}}"#,
        r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"echo__echo","_meta":[]}}"#,
        &deep,
        "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"tools/list\",\"params\":{\"x\":\"\"}",
    ];
    let mut told = Vec::new();
    for line in lines {
        client.write(line);
        let answer = client.receive();
        let shown: String = line.chars().take(90).collect();
        told.push(format!(
            "{shown}\n    {}: {} {}",
            answer["id"], answer["error"]["code"], answer["error"]["message"]
        ));
    }
    client.write([b"{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"".as_slice(), &[0xff, 0xfe], b"\"}"].concat());
    told.push(format!("not UTF-8\n    {}", client.receive()["error"]["code"]));
    assert_snapshot!(told.join("\n"), @r#"
    {
        null: -32700 "the line is no JSON: EOF while parsing an object at line 1 column 1"
    []
        null: -32600 "a message is one JSON object"
    null
        null: -32600 "a message is one JSON object"
    {}
        null: -32600 "the message does not say `\"jsonrpc\": \"2.0\"`"
    {"jsonrpc":"1.0","id":1,"method":"tools/list"}
        1: -32600 "the message does not say `\"jsonrpc\": \"2.0\"`"
    {"id":2,"method":"tools/list"}
        2: -32600 "the message does not say `\"jsonrpc\": \"2.0\"`"
    {"jsonrpc":"2.0","id":{},"method":"tools/list"}
        null: -32600 "the line is no message: Expect number or string at line 1 column 24"
    {"jsonrpc":"2.0","id":6,"params":{}}
        6: -32600 "the message names no `method`"
    {"jsonrpc":"2.0","id":null,"method":"tools/list"}
        null: -32600 "the `id` of a request is a number or a text, and not null"
    {"jsonrpc":"2.0","id":null,"method":"notifications/cancelled"}
        null: -32600 "the `id` of a request is a number or a text, and not null"
    {"jsonrpc":"2.0","id":3,"method":"tools/call"}
        3: -32602 "the parameters of tools/call are missing"
    {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":5}}
        4: -32602 "the parameters of tools/call cannot be read: invalid type: integer `5`, expected a string at line 1 column 9"
    {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"echo__echo","_meta":[]}}
        5: -32602 "the parameters of tools/call cannot be read: invalid type: sequence, expected a map at line 1 column 29"
    {"jsonrpc":"2.0","id":7,"method":"tools/list","params":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[
        7: -32602 "the parameters of tools/list cannot be read: recursion limit exceeded at line 1 column 182"
    {"jsonrpc":"2.0","id":8,"method":"tools/list","params":{"x":""}
        null: -32700 "the line is no JSON: EOF while parsing an object at line 1 column 63"
    not UTF-8
        -32700
    "#);
    assert!(echoes(&mut client));
    let ended = client.end();
    assert_eq!(ended.errors.matches("refused a request: ").count(), lines.len() + 1, "{}", ended.errors);
}

#[test]
fn what_asks_for_no_answer_gets_none() {
    let scene = echo();
    let mut client = scene.client();
    // Before anything else, and after.
    for _ in 0..2 {
        client.write("");
        client.write("  \r");
        client.write(r#"{"jsonrpc":"2.0","method":"notifications/unheard_of"}"#);
        client.write(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}"#);
        client.write(r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#);
        client.write(r#"{"jsonrpc":"2.0","method":"tools/list"}"#);
        client.write(r#"{"jsonrpc":"2.0","id":"theirs","result":{}}"#);
        client.write(r#"{"jsonrpc":"2.0","id":"theirs","error":{"code":1,"message":"no"}}"#);
        // Whoever could not read what they were sent answers so.
        client.write(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}"#);
        client.begin();
        assert!(echoes(&mut client));
    }
    assert_eq!(client.end().left, Vec::<Value>::new());
}

#[test]
fn a_message_that_is_too_long_is_dropped_and_the_next_is_served() {
    let scene = Scene::with(&[guests::ECHO], "[limits]\ninput = \"1 KiB\"\n");
    let mut client = scene.client();
    client.begin();
    let arguments = json!({ "text": "x".repeat(100_000) });
    let refused = client.send("tools/call", &call("echo__echo", &arguments, &json!({})));
    let answer = client.receive();
    assert!(answer.get("id").is_none_or(Value::is_null), "nothing is known of it, not even id {refused}");
    assert_snapshot!(answer["error"]["message"], @r#""a message has at most 66560 bytes; this one was longer""#);
    assert!(echoes(&mut client));
}

#[test]
fn an_id_that_is_under_way_is_not_given_again() {
    let scene = Scene::desk("");
    let mut client = scene.agent();
    let (open, gate) = super::waiting::gate();
    scene.backend().fault("POST /tickets", gate, 1);
    client.write(json!({ "jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": call("desk__create_ticket", &ticket(), &json!({})) }).to_string());
    scene.backend().wait_until(|counts| counts.of("POST /tickets").requests == 1);
    client.write(json!({ "jsonrpc": "2.0", "id": "a", "method": "ping" }).to_string());
    let refused = client.receive();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!("a"), &json!(-32600)));
    assert_eq!(refused["error"]["message"], "a request with this id is under way");
    open.send(()).unwrap();
    assert_eq!(client.receive()["result"]["isError"], false);
}

#[test]
fn whatever_a_guest_prints_the_streams_bear_the_protocol_alone() {
    let scene = Scene::with(&[guests::GREEDY], "");
    let mut client = scene.client();
    client.begin();
    for to in ["stdout", "stderr"] {
        // Every line that comes is read as a message.
        let printed =
            client.call("greedy__print", &json!({ "to": to, "lines": 100, "bytes": 80 }), &json!({}));
        assert_eq!(printed["structuredContent"], json!({ "done": 100 }));
    }
    let ended = client.end();
    assert!(ended.left.is_empty() && !ended.errors.contains("xxx"), "{ended:?}");
}

#[test]
fn standard_input_that_ends_at_once_ends_the_host_cleanly() {
    let scene = echo();
    let ended = scene.client().end();
    assert!(ended.status.success() && ended.left.is_empty() && ended.errors.is_empty(), "{ended:?}");
}

#[test]
fn what_was_asked_for_is_answered_before_the_host_ends() {
    let scene = echo();
    let mut client = scene.client();
    client.begin();
    let id = client.send("tools/call", &call("echo__echo", &json!({ "text": "x" }), &json!({})));
    let ended = client.end();
    assert!(ended.status.success(), "{ended:?}");
    assert_eq!(ended.left.len(), 1);
    assert_eq!((&ended.left[0]["id"], &ended.left[0]["result"]["isError"]), (&json!(id), &json!(false)));
}
