//! Input that cannot be used: every fault in words, nothing runs, and what is left out is told.

use airlock::host::{Host, Request};
use airlock_tests::guests;
use airlock_tests::world::{World, body, code, keyed, request};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{Scene, record, shown};

fn raw(tool: &str, input: &str) -> Request {
    Request { input: input.to_owned(), ..request(tool, &json!({})) }
}

/// The faults of an input, one a line, after the input itself where it is short.
async fn faults(host: &Host, tool: &str, input: &str) -> String {
    let refused = host.call(raw(tool, input)).await;
    let error = body(&refused);
    assert_eq!(code(&refused), "INVALID_INPUT", "{input}");
    assert_eq!(
        (error["kind"].as_str(), error["action"].as_str()),
        (Some("invalid_input"), Some("fix_input"))
    );
    assert_eq!((refused.meta.run, refused.meta.attempts), (None, 0));
    let faults = error["details"]["faults"].as_array().unwrap();
    let lines = faults.iter().map(|fault| format!("  {}", fault.as_str().unwrap()));
    let message = error["message"].as_str().unwrap();
    assert!(faults.iter().all(|fault| message.contains(fault.as_str().unwrap())), "{message}");
    let input: String = input.chars().take(80).collect();
    format!("{input}\n{}", lines.collect::<Vec<_>>().join("\n"))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_fault_is_told_at_once_in_words() {
    let scene = Scene::desk("").await;
    let host = scene.open().await;
    let long = format!(r#"{{"order_id":"","subject":"{}","body":7,"priority":"urgent"}}"#, "s".repeat(201));
    let mut told = Vec::new();
    for (tool, input) in [
        ("desk.create_ticket", "{}"),
        ("desk.create_ticket", r#"{"order_id":null,"subject":["s"],"body":{},"priority":2}"#),
        ("desk.create_ticket", long.as_str()),
        ("desk.find_order", "{}"),
        ("desk.find_order", r#"{"order_id":"A 1003"}"#),
        ("desk.find_order", r#"{"name":""}"#),
    ] {
        told.push(faults(&host, tool, input).await);
    }
    assert_snapshot!(told.join("\n"), @r#"
    {}
      /order_id: is required and missing; give a string; for example "A-1003"
      /subject: is required and missing; give a string
      /body: is required and missing; give a string
    {"order_id":null,"subject":["s"],"body":{},"priority":2}
      /order_id: must be a string and is null; for example "A-1003"
      /subject: must be a string and is the list ["s"]
      /body: must be a string and is an object without fields
      /priority: must be a string and is the number 2; for example "normal"
      /priority: must be "low", "normal" or "high" and is 2
    {"order_id":"","subject":"ssssssssssssssssssssssssssssssssssssssssssssssssssssss
      /order_id: must have at least 1 character and has 0; for example "A-1003"
      /subject: must have at most 200 characters and has 201
      /body: must be a string and is the number 7
      /priority: must be "low", "normal" or "high" and is "urgent"
    {}
      give the order's number or the customer's name
    {"order_id":"A 1003"}
      /order_id: an order's number is made of letters, digits and hyphens: A-1003
    {"name":""}
      /name: must have at least 1 character and has 0
    "#);
    assert_eq!(scene.backend.counts().connections, 0);
    assert!(host.runs(None, 10).unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_in_full() {
    let scene = Scene::desk("").await;
    let host = scene.open().await;
    let input = json!({ "order_id": "A-1001", "subjct": "late", "body": "b" });
    assert_snapshot!(scene.shown(&host.call(request("desk.create_ticket", &input)).await), @r#"
    {
      "ok": false,
      "error": {
        "code": "INVALID_INPUT",
        "kind": "invalid_input",
        "message": "the input of desk.create_ticket cannot be used, for 2 reasons; /subject: is required and missing; give a string; /subjct: is no field here; did you mean `subject`?",
        "retryable": false,
        "action": "fix_input",
        "retry_after_ms": 0,
        "details": {
          "faults": [
            "/subject: is required and missing; give a string",
            "/subjct: is no field here; did you mean `subject`?"
          ]
        }
      },
      "meta": {
        "attempts": 0,
        "duration_ms": "COUNTED",
        "fuel": 0,
        "memory_bytes": 0,
        "effects": 0,
        "cost_micros": 0,
        "replayed": false,
        "trace_id": "TRACE"
      }
    }
    "#);
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_that_nobody_knows_are_left_out_and_named() {
    let scene = Scene::desk("").await;
    let host = scene.open().await;
    let input = json!({ "order_id": "A-1001", "subject": "s", "body": "b", "colour": "red", "a/b": [1] });
    let reply = host.call(keyed("desk.create_ticket", &input, "k")).await;
    assert!(reply.ok());
    assert_eq!(reply.meta.dropped, ["/colour", "/a~1b"]);
    let sent: Value = serde_json::from_slice(&scene.backend.requests()[0].body).unwrap();
    assert_eq!(sent, json!({ "order_id": "A-1001", "subject": "s", "body": "b", "priority": "normal" }));
    assert_eq!(record(&host, &reply).input, Some(input.to_string()), "the run keeps what was received");
    let none = json!({ "order_id": "A-1001", "subject": "s", "body": "b" });
    assert!(host.call(request("desk.create_ticket", &none)).await.meta.dropped.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_field_that_resembles_a_known_one_or_steers_the_call_is_refused() {
    let scene = Scene::desk("").await;
    let host = scene.open().await;
    let mut told = Vec::new();
    for field in ["orderId", "Subject", "bdy", "dry_run", "confirm", "idempotency_key", "airlock_repeat_of"] {
        let input = json!({ "order_id": "A-1", "subject": "s", "body": "b", field: "x" });
        told.push(faults(&host, "desk.create_ticket", &input.to_string()).await);
    }
    assert_snapshot!(told.join("\n"), @r#"
    {"order_id":"A-1","subject":"s","body":"b","orderId":"x"}
      /orderId: is no field here; did you mean `order_id`?
    {"order_id":"A-1","subject":"s","body":"b","Subject":"x"}
      /Subject: is no field here; did you mean `subject`?
    {"order_id":"A-1","subject":"s","body":"b","bdy":"x"}
      /bdy: is no field here; did you mean `body`?
    {"order_id":"A-1","subject":"s","body":"b","dry_run":"x"}
      /dry_run: is no field here, and the input does not decide how the call is done; leave it out
    {"order_id":"A-1","subject":"s","body":"b","confirm":"x"}
      /confirm: is no field here, and the input does not decide how the call is done; leave it out
    {"order_id":"A-1","subject":"s","body":"b","idempotency_key":"x"}
      /idempotency_key: is no field here, and the input does not decide how the call is done; leave it out
    {"order_id":"A-1","subject":"s","body":"b","airlock_repeat_of":"x"}
      /airlock_repeat_of: names no earlier call of this tool with this input; give the run that an ALREADY_DONE or ALREADY_RUNNING answer names, or leave it out
    "#);
    assert_eq!(scene.backend.counts().connections, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn text_that_is_no_clean_json_is_refused_with_the_place() {
    let world = World::new().with_plugins(&[guests::ECHO]);
    let host = world.open().await;
    let deep = format!(r#"{{"text":"a","x":{}1{}}}"#, "[".repeat(64), "]".repeat(64));
    let large = format!(r#"{{"text":"{}"}}"#, "x".repeat(1 << 20));
    let mut told = Vec::new();
    for input in [
        "",
        "{",
        "{\"text\":\"a\"} {}",
        "[]",
        "null",
        "\"text\"",
        r#"{"text":"a","text":"b"}"#,
        r#"{"text":"a","t\u0065xt":"b"}"#,
        r#"{"text":"a","n":9007199254740992,"m":[-9007199254740992]}"#,
        r#"{"text":"a","n":0.123456789012345678}"#,
        "{\"text\":\"\u{0}\"}",
        r#"{"text":"\ud800"}"#,
        "{'text':'a'}",
        "{\"text\":NaN}",
        &deep,
        &large,
    ] {
        told.push(faults(&host, "echo.echo", input).await.replace('\0', "NUL"));
    }
    assert_snapshot!(told.join("\n"), @r#"

      the input is no JSON: EOF while parsing a value at line 1 column 0
    {
      the input is no JSON: EOF while parsing an object at line 1 column 1
    {"text":"a"} {}
      the input is no JSON: trailing characters at line 1 column 14
    []
      the input must be a JSON object
    null
      the input must be a JSON object
    "text"
      the input must be a JSON object
    {"text":"a","text":"b"}
      /text: the field stands there twice; keep one
    {"text":"a","t\u0065xt":"b"}
      /text: the field stands there twice; keep one
    {"text":"a","n":9007199254740992,"m":[-9007199254740992]}
      /n: the integer 9007199254740992 is beyond ±9007199254740991, where readers round differently; give it as a string
      /m/0: the integer -9007199254740992 is beyond ±9007199254740991, where readers round differently; give it as a string
    {"text":"a","n":0.123456789012345678}
      /n: the number 0.123456789012345678 has 18 significant digits and may have 17; give it as a string
    {"text":"NUL"}
      the input is no JSON: control character (\u0000-\u001F) found while parsing a string at line 1 column 10
    {"text":"\ud800"}
      the input is no JSON: unexpected end of hex escape at line 1 column 16
    {'text':'a'}
      the input is no JSON: key must be a string at line 1 column 2
    {"text":NaN}
      the input is no JSON: expected value at line 1 column 9
    {"text":"a","x":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[
      the input is nested 65 deep and may be 64; it goes too deep at byte 80
    {"text":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
      the input has 1048587 bytes and may have 1048576
    "#);
    assert!(host.runs(None, 10).unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn at_the_limits_input_is_taken() {
    let world = World::new().with_plugins(&[guests::ECHO]);
    let host = world.open().await;
    let deep = format!(r#"{{"text":"a","x":{}1{}}}"#, "[".repeat(63), "]".repeat(63));
    let large = format!(r#"{{"text":"{}"}}"#, "x".repeat((1 << 20) - 11));
    assert_eq!(large.len(), 1 << 20);
    for input in
        [deep.as_str(), r#"{"text":"a","n":9007199254740991,"m":-9007199254740991,"f":0.12345678901234567}"#]
    {
        let reply = host.call(raw("echo.echo", input)).await;
        assert!(reply.ok(), "{}", shown(&reply));
    }
    // What comes back has the size of what was given, and fits too.
    assert!(host.call(raw("echo.echo", &large)).await.ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_limits_of_input_are_configured() {
    let world =
        World::new().with_plugins(&[guests::ECHO]).with_config("[limits]\ninput = \"100 B\"\ndepth = 3\n");
    let host = world.open().await;
    let large = format!(r#"{{"text":"{}"}}"#, "x".repeat(90));
    let told =
        [faults(&host, "echo.echo", &large).await, faults(&host, "echo.echo", r#"{"text":[[[1]]]}"#).await];
    assert_snapshot!(told.join("\n"), @r#"
    {"text":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
      the input has 101 bytes and may have 100
    {"text":[[[1]]]}
      the input is nested 4 deep and may be 3; it goes too deep at byte 11
    "#);
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_faults_are_told_and_no_more() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    let jobs: Vec<Value> = (0..30).map(|number| json!({ "method": number })).collect();
    let refused = host.call(request("courier.sequence", &json!({ "jobs": jobs }))).await;
    assert_eq!(body(&refused)["details"]["faults"].as_array().unwrap().len(), 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn more_fields_that_nobody_knows_than_can_be_named_are_refused_at_once() {
    let world = World::new().with_plugins(&[guests::ECHO]);
    let host = world.open().await;
    let with = |fields: usize| {
        let fields: String = (0..fields).map(|field| format!(r#","x{field}":1"#)).collect();
        format!(r#"{{"text":"a"{fields}}}"#)
    };
    let many = host.call(raw("echo.echo", &with(1000))).await;
    assert!(many.ok() && many.meta.dropped.len() == 1000, "{}", shown(&many));
    let long = format!(r#"{{"text":"a","{}":1}}"#, "x".repeat(20_000));
    for input in [with(80_000), long] {
        let told = faults(&host, "echo.echo", &input).await;
        let (_, told) = told.split_once('\n').unwrap();
        let wanted =
            "has too many fields, or too long ones, that its schema does not know; give the known ones alone";
        assert_eq!(told.trim(), wanted);
    }
}
