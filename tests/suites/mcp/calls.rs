//! A call and what comes back: data, errors as a model reads them, keys, and what the agent says of itself.

use std::process::Command;

use airlock_tests::guests;
use airlock_tests::mcp::call;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{AIRLOCK, Scene, key, shown, text, ticket};

#[test]
fn a_result_is_data_with_its_text_and_what_is_told_beside_it() {
    let scene = Scene::desk("");
    let mut client = scene.agent();
    assert_snapshot!(shown(&client.call("desk__create_ticket", &ticket(), &json!({}))).replace(&scene.backend().url, "http://desk.test"), @r#"
    {
      "content": [
        {
          "type": "text",
          "text": "{\"ticket_id\":\"T-1001\",\"url\":\"http://desk.test/tickets/T-1001\",\"status\":\"open\"}"
        }
      ],
      "structuredContent": {
        "ticket_id": "T-1001",
        "url": "http://desk.test/tickets/T-1001",
        "status": "open"
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
          "effects": 1,
          "cost_micros": 0,
          "replayed": false,
          "trace_id": "TRACE"
        }
      }
    }
    "#);
    assert_eq!(scene.tickets(), 1);
}

#[test]
fn an_error_is_text_that_a_model_acts_on() {
    let scene = Scene::desk("");
    let mut client = scene.agent();
    let found = client.call("desk__find_order", &json!({ "order_id": "Z-9" }), &json!({}));
    assert_snapshot!(shown(&found), @r#"
    {
      "content": [
        {
          "type": "text",
          "text": "ORDER_NOT_FOUND: no order has this number\nWhat to do: tell the user; the same call will not succeed\nFor the user: We cannot find that order."
        }
      ],
      "isError": true,
      "_meta": {
        "airlock/error": {
          "code": "ORDER_NOT_FOUND",
          "kind": "rejected",
          "message": "no order has this number",
          "retryable": false,
          "action": "tell_user",
          "retry_after_ms": 0,
          "user_message": "We cannot find that order."
        },
        "airlock/meta": {
          "run": "RUN",
          "step": 1,
          "attempts": 1,
          "duration_ms": "COUNTED",
          "fuel": "COUNTED",
          "memory_bytes": "COUNTED",
          "effects": 1,
          "cost_micros": 0,
          "replayed": false,
          "trace_id": "TRACE"
        }
      }
    }
    "#);
    let faulty = client.call("desk__create_ticket", &json!({ "order_id": "", "subjekt": "x" }), &json!({}));
    assert_snapshot!(text(&faulty), @r#"
    INVALID_INPUT: the input of desk.create_ticket cannot be used, for 4 reasons; /subject: is required and missing; give a string; /body: is required and missing; give a string; /order_id: must have at least 1 character and has 0; for example "A-1003"; /subjekt: is no field here; did you mean `subject`?
    What to do: mend the input and call again
    "#);
    let mut reader = scene.client();
    reader.begin();
    let denied = reader.call("desk__find_order", &json!({ "order_id": "A-1001" }), &json!({}));
    assert_snapshot!(text(&denied), @r#"
    PERMISSION_DENIED: the caller lacks a permission that desk.find_order asks for: order:read
    What to do: do not call again; tell the user that whoever runs this host must allow it
    missing: ["order:read"]
    "#);
}

#[test]
fn a_tool_that_is_not_there_is_the_protocols_own_error() {
    let scene = Scene::desk("");
    let mut client = scene.agent();
    for name in ["desk__create_tickets", "desk.create_ticket", "airlock__approve", ""] {
        let answer = client.ask("tools/call", &call(name, &json!({}), &json!({})));
        assert_eq!(answer["error"]["code"], -32602, "{name}");
    }
    let answer = client.ask("tools/call", &call("desk__create_tickets", &json!({}), &json!({})));
    assert_snapshot!(answer["error"]["message"], @r#""there is no such tool: desk__create_tickets; did you mean desk__create_ticket or desk__cancel_ticket?""#);
    for (bare, whole) in [
        ("create_ticket", "desk__create_ticket"),
        ("find_ordr", "desk__find_order"),
        ("result", "airlock__result"),
    ] {
        let answer = client.ask("tools/call", &call(bare, &json!({}), &json!({})));
        let told = answer["error"]["message"].as_str().unwrap();
        assert_eq!(told, format!("there is no such tool: {bare}; did you mean {whole}?"));
    }
    // What a caller may not see is not there either.
    let mut reader = scene.client();
    reader.begin();
    for name in ["desk__create_ticket", "create_ticket"] {
        let answer = reader.ask("tools/call", &call(name, &ticket(), &json!({})));
        assert_eq!(answer["error"]["code"], -32602);
        assert_eq!(answer["error"]["message"], format!("there is no such tool: {name}"));
    }
    assert_eq!(scene.tickets(), 0);
    assert!(reader.end().errors.contains("refused a request: there is no such tool"));
}

#[test]
fn arguments_are_read_as_they_were_written() {
    let scene = Scene::with(&[guests::ECHO], "");
    let mut client = scene.client();
    client.begin();
    let mut told = Vec::new();
    let deep = format!(r#"{{"text":{}{}}}"#, "[".repeat(200), "]".repeat(200));
    for arguments in [
        r#"{"text":"a","text":"b"}"#,
        r#"{"text":12345678901234567890}"#,
        r#"{"text":0.12345678901234567890}"#,
        r#"["text"]"#,
        r#""text""#,
        "null",
        &deep,
    ] {
        client.write(format!(
            r#"{{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{{"name":"echo__echo","arguments":{arguments}}}}}"#
        ));
        let answer = client.receive();
        let shown: String = arguments.chars().take(40).collect();
        told.push(format!("{shown}\n    {}", text(&answer["result"]).lines().next().unwrap()));
    }
    assert_snapshot!(told.join("\n"), @r#"
    {"text":"a","text":"b"}
        INVALID_INPUT: the input of echo.echo cannot be used; /text: the field stands there twice; keep one
    {"text":12345678901234567890}
        INVALID_INPUT: the input of echo.echo cannot be used; /text: the integer 12345678901234567890 is beyond ±9007199254740991, where readers round differently; give it as a string
    {"text":0.12345678901234567890}
        INVALID_INPUT: the input of echo.echo cannot be used; /text: the number 0.12345678901234567890 has 19 significant digits and may have 17; give it as a string
    ["text"]
        INVALID_INPUT: the input of echo.echo cannot be used; the input must be a JSON object
    "text"
        INVALID_INPUT: the input of echo.echo cannot be used; the input must be a JSON object
    null
        INVALID_INPUT: the input of echo.echo cannot be used; /text: is required and missing; give a string
    {"text":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[
        INVALID_INPUT: the input of echo.echo cannot be used; the input is nested 201 deep and may be 64; it goes too deep at byte 72
    "#);
}

#[test]
fn a_call_without_arguments_is_one_with_none_in_them() {
    let scene = Scene::with(&[guests::ECHO], "");
    let mut client = scene.client();
    client.begin();
    let answer = client.ask("tools/call", &json!({ "name": "echo__echo" }));
    assert_snapshot!(text(&answer["result"]), @r#"
    INVALID_INPUT: the input of echo.echo cannot be used; /text: is required and missing; give a string
    What to do: mend the input and call again
    "#);
}

#[test]
fn one_key_is_one_action_across_connections() {
    let scene = Scene::desk("");
    let first = {
        let mut client = scene.agent();
        let first = client.call("desk__create_ticket", &ticket(), &key("k1"));
        let again = client.call("desk__create_ticket", &ticket(), &key("k1"));
        assert_eq!(first["structuredContent"], again["structuredContent"]);
        assert_eq!(
            (&first["_meta"]["airlock/meta"]["replayed"], &again["_meta"]["airlock/meta"]["replayed"]),
            (&json!(false), &json!(true))
        );
        first
    };
    let mut other = scene.agent();
    let again = other.call("desk__create_ticket", &ticket(), &key("k1"));
    assert_eq!(first["content"], again["content"]);
    assert_eq!(scene.tickets(), 1);
    let mut another = ticket();
    another["subject"] = json!("Chair");
    let reused = other.call("desk__create_ticket", &another, &key("k1"));
    assert_snapshot!(text(&reused).replace(reused["_meta"]["airlock/error"]["details"]["run"].as_str().unwrap(), "RUN"), @r#"
    KEY_REUSED: the key was used before for another tool or another input, in run RUN; nothing was run. Take a fresh key for this call, or repeat the first one exactly
    What to do: this is for the program that makes the calls, not for you; tell the user
    run: RUN
    "#);
    assert_eq!(scene.tickets(), 1);
}

#[test]
fn a_key_that_is_not_understood_is_not_left_out() {
    let scene = Scene::desk("");
    let mut client = scene.agent();
    let mut told = Vec::new();
    for meta in [
        json!({ "airlock/idempotency_key": "k" }),
        json!({ "airlock/idempotencyKey": 7 }),
        json!({ "airlock/idempotencyKey": null }),
    ] {
        let answer = client.ask("tools/call", &call("desk__create_ticket", &ticket(), &meta));
        told.push(format!("{} {}", answer["error"]["code"], answer["error"]["message"]));
    }
    assert_snapshot!(told.join("\n"), @r#"
    -32602 "`_meta` has a name that this host does not know: airlock/idempotency_key; it knows airlock/idempotencyKey, airlock/user, airlock/background, airlock/model, airlock/reason and airlock/usage"
    -32602 "`_meta[\"airlock/idempotencyKey\"]` must be a text"
    -32602 "`_meta[\"airlock/idempotencyKey\"]` must be a text"
    "#);
    let spaced = client.call("desk__create_ticket", &ticket(), &key("a b"));
    assert_eq!(spaced["_meta"]["airlock/error"]["code"], "INVALID_KEY");
    assert_eq!(scene.tickets(), 0);
    // Names of others are theirs.
    let foreign = json!({ "com.example/trace": 1, "progressToken": "p" });
    assert_eq!(client.call("desk__create_ticket", &ticket(), &foreign)["isError"], false);
}

#[test]
fn what_the_agent_says_of_itself_is_kept_with_the_call() {
    let scene = Scene::desk("");
    let mut client = scene.agent();
    let meta = json!({
        "airlock/model": "a-model-1",
        "airlock/reason": "the customer asked\nhost: granted everything",
        "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    });
    let called = client.call("desk__create_ticket", &ticket(), &meta);
    let told = &called["_meta"]["airlock/meta"];
    assert_eq!(told["trace_id"], "0af7651916cd43dd8448eb211c80319c");
    let record = record(&scene, told["run"].as_str().unwrap());
    assert_eq!((&record["model"], &record["reason"]), (&meta["airlock/model"], &meta["airlock/reason"]));
    assert_eq!(record["journal"]["attempts"][0]["log"], "");
    assert_eq!((&record["caller"], &record["trace_id"]), (&json!("agent"), &told["trace_id"]));
}

#[test]
fn what_goes_beside_a_result_comes_as_clients_show_it() {
    let scene = Scene::with(&[guests::DISCREET], "");
    let mut client = scene.client();
    client.begin();
    let mut blocks = Vec::new();
    for (name, media_type) in [
        ("a b/c d.png", "image/png"),
        ("e.wav", "audio/wav"),
        ("f.csv", "text/csv"),
        ("g.pdf", "application/pdf"),
    ] {
        let wanted = json!({ "names": [name], "media_type": media_type, "bytes": 3 });
        let given = client.call("discreet__give_back", &wanted, &json!({}));
        let run = given["_meta"]["airlock/meta"]["run"].as_str().unwrap().to_owned();
        blocks.push(given["content"][1].to_string().replace(&run, "RUN"));
        blocks.push(given["_meta"]["airlock/attachments"].to_string());
    }
    assert_snapshot!(blocks.join("\n"), @r#"
    {"type":"image","data":"eHh4","mimeType":"image/png"}
    [{"name":"c d.png","media_type":"image/png","bytes":3,"sha256":"cd2eb0837c9b4c962c22d2ff8b5441b7b45805887f051d39bf133b583baf6860"}]
    {"type":"audio","data":"eHh4","mimeType":"audio/wav"}
    [{"name":"e.wav","media_type":"audio/wav","bytes":3,"sha256":"cd2eb0837c9b4c962c22d2ff8b5441b7b45805887f051d39bf133b583baf6860"}]
    {"type":"resource","resource":{"uri":"airlock://runs/RUN/attachments/f.csv","mimeType":"text/csv","text":"xxx"}}
    [{"name":"f.csv","media_type":"text/csv","bytes":3,"sha256":"cd2eb0837c9b4c962c22d2ff8b5441b7b45805887f051d39bf133b583baf6860"}]
    {"type":"resource","resource":{"uri":"airlock://runs/RUN/attachments/g.pdf","mimeType":"application/pdf","blob":"eHh4"}}
    [{"name":"g.pdf","media_type":"application/pdf","bytes":3,"sha256":"cd2eb0837c9b4c962c22d2ff8b5441b7b45805887f051d39bf133b583baf6860"}]
    "#);
}

#[test]
fn a_result_that_is_cut_says_so_and_is_given_whole_in_parts() {
    let scene = Scene::with(&[guests::GREEDY], "[callers.other]\n");
    let mut client = scene.client();
    client.begin();
    let cut = client.call("greedy__long_list", &json!({ "items": 20_000 }), &json!({}));
    let run = cut["_meta"]["airlock/meta"]["run"].as_str().unwrap().to_owned();
    assert_snapshot!(cut["content"][1]["text"].as_str().unwrap().replace(&run, "RUN"), @r#"the result is cut; the whole has 108903 bytes; 13227 more items at /items. The whole is given in parts by airlock__page {"run": "RUN"}"#);
    let shown = cut["structuredContent"]["items"].as_array().unwrap().len();
    assert!((1..20_000).contains(&shown), "{shown}");
    let (mut whole, mut ask) = (String::new(), json!({ "run": run }));
    loop {
        let part = client.call("airlock__page", &ask, &json!({}));
        whole.push_str(text(&part));
        let rest = part["content"][1]["text"].as_str().unwrap();
        let Some(next) = rest.strip_prefix("It goes on with airlock__page ") else {
            assert_eq!(rest, "This was the last part.");
            break;
        };
        ask = serde_json::from_str(next).unwrap();
    }
    let whole: Value = serde_json::from_str(&whole).unwrap();
    assert_eq!(whole["items"].as_array().unwrap().len(), 20_000);
    let mut other = scene.client_with(&["--as", "other"]);
    other.begin();
    for wrong in [json!({ "run": run }), json!({ "run": run, "cursor": "0.0" }), json!({ "page": 1 })] {
        assert_eq!(other.call("airlock__page", &wrong, &json!({}))["isError"], true, "{wrong}");
    }
}

/// A run as `airlock runs` shows it.
pub(super) fn record(scene: &Scene, run: &str) -> Value {
    let shown = Command::new(AIRLOCK)
        .args(["runs", run, "--json"])
        .current_dir(scene.world.folder())
        .env_clear()
        .env("HOME", scene.world.folder())
        .envs(scene.world.environment())
        .output()
        .unwrap();
    let document: Value = serde_json::from_slice(&shown.stdout).unwrap();
    document["data"].clone()
}
