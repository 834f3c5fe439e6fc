//! A session as one conversation: its calls go round in circles together, and are shown together.

use std::process::Command;

use airlock_tests::backend::{Fault, Moment};
use airlock_tests::guests;
use airlock_tests::mcp::call;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{AIRLOCK, Scene, key, shown, text, ticket};

/// What a command at this place prints: standard output, else standard error.
pub(super) fn airlock(scene: &Scene, arguments: &[&str]) -> String {
    let ran = Command::new(AIRLOCK)
        .args(arguments)
        .current_dir(scene.world.folder())
        .env_clear()
        .env("HOME", scene.world.folder())
        .envs(scene.world.environment())
        .output()
        .unwrap();
    let printed = if ran.stdout.is_empty() { ran.stderr } else { ran.stdout };
    String::from_utf8(printed).unwrap()
}

/// The same with ids and times made equal.
fn told(scene: &Scene, text: &str) -> String {
    let text = scene
        .desk
        .as_ref()
        .map_or_else(|| text.to_owned(), |desk| text.replace(&desk.url, "http://desk.test"));
    let line = |line: &str| match line.split_once(" after ") {
        Some((head, _)) => format!("{head} after SPAN"),
        None => line.to_owned(),
    };
    crate::cli::told(&text).lines().map(line).collect::<Vec<_>>().join("\n")
}

fn blocks(result: &Value) -> Vec<&str> {
    result["content"].as_array().unwrap().iter().filter_map(|block| block["text"].as_str()).collect()
}

#[test]
fn a_model_reads_that_it_goes_round_in_circles() {
    let scene = Scene::with(&[guests::ECHO], "");
    let mut client = scene.client();
    client.begin();
    let mut echo = || client.call("echo__echo", &json!({ "text": "x" }), &json!({}));
    let called: Vec<_> = (0..8).map(|_| echo()).collect();
    assert_eq!(blocks(&called[1]).len(), 1);
    assert_snapshot!(shown(&called[2]), @r#"
    {
      "content": [
        {
          "type": "text",
          "text": "{\"text\":\"x\"}"
        },
        {
          "type": "text",
          "text": "This call has now given the same reply 3 times in a row: once more gives nothing new. Try another way: other input, another tool, or ask the user."
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
          "loop": {
            "rounds": 3,
            "calls": 1
          },
          "trace_id": "TRACE"
        }
      }
    }
    "#);
    assert_snapshot!(text(&called[7]), @"
    LOOP_DETECTED: echo.echo was called with this input and gave the same reply 7 times in a row, so calling once more gives nothing new; nothing was run. Do something else: other input, another tool, or tell the user what is missing
    What to do: do not make these calls again; do something else, or tell the user what is missing
    rounds: 8
    ");
    assert_eq!(blocks(&called[7]).len(), 1);
    let mut faulty = || client.call("echo__echo", &json!({ "txet": "x" }), &json!({}));
    let called: Vec<_> = (0..3).map(|_| faulty()).collect();
    assert_snapshot!(blocks(&called[2]).join("\n--\n"), @"
    INVALID_INPUT: the input of echo.echo cannot be used, for 2 reasons; /txet: is no field here; did you mean `text`?; /text: is required and missing; give a string
    What to do: mend the input and call again
    --
    This call has now given the same reply 3 times in a row: once more gives nothing new. Try another way: other input, another tool, or ask the user.
    ");
}

#[test]
fn a_trace_of_the_clients_own_is_a_conversation_of_its_own() {
    let scene = Scene::with(&[guests::ECHO], "");
    let mut client = scene.client();
    client.begin();
    for trace in ["0af7651916cd43dd8448eb211c80319c", "1af7651916cd43dd8448eb211c80319c"] {
        let parent = json!({ "traceparent": format!("00-{trace}-b7ad6b7169203331-01") });
        for _ in 0..5 {
            let called = client.call("echo__echo", &json!({ "text": "x" }), &parent);
            assert_eq!(called["isError"], false);
            assert_eq!(called["_meta"]["airlock/meta"]["trace_id"], trace);
        }
    }
}

#[test]
fn a_session_is_shown_as_one_trace() {
    let scene = Scene::desk("[retries]\nmost = 0\n[probe]\ntries = 0\n");
    let mut client = scene.agent();
    scene.backend().fault("POST /tickets", Fault::cut(Moment::AfterWork), 1);
    let meta = json!({ "airlock/model": "a-model-1", "airlock/reason": "the customer\nasked", "airlock/idempotencyKey": "k1" });
    client.call("desk__find_order", &json!({ "order_id": "A-1003" }), &json!({}));
    client.call("desk__create_ticket", &ticket(), &meta);
    let done = client.call("desk__create_ticket", &ticket(), &meta);
    client.call("desk__find_order", &json!({ "order_id": "Z-9" }), &key("k2"));
    client.end();
    let trace = done["_meta"]["airlock/meta"]["trace_id"].as_str().unwrap();
    let shown = airlock(&scene, &["trace", trace]);
    assert_snapshot!(told(&scene, &shown), @r"
    trace  ffffffffffffffffffffffffffffffff
    calls  3, 2 of them ok

    1. 2026-01-31T08:00:00.000Z  desk.find_order  ok after SPAN
       run 0100000000000000000000RUN1, by agent
       attempt 1  ok after SPAN

    2. 2026-01-31T08:00:00.000Z  desk.create_ticket  ok after SPAN
       run 0100000000000000000000RUN2, by agent
       model a-model-1
       reason the customer\nasked
       attempt 1  OUTCOME_UNKNOWN after SPAN
         POST http://desk.test/tickets  keyed open
       again after SPAN
       attempt 2  ok after SPAN
         POST http://desk.test/tickets  keyed done 201

    3. 2026-01-31T08:00:00.000Z  desk.find_order  ORDER_NOT_FOUND after SPAN
       run 0100000000000000000000RUN3, by agent
       attempt 1  ORDER_NOT_FOUND after SPAN
    ");
    assert_eq!(airlock(&scene, &["trace", &trace.to_uppercase()]), shown);
    let run = done["_meta"]["airlock/meta"]["run"].as_str().unwrap();
    assert_eq!(airlock(&scene, &["trace", run]), shown, "a run stands for its conversation");
    let document: Value = serde_json::from_str(&airlock(&scene, &["trace", trace, "--json"])).unwrap();
    let runs = document["data"]["runs"].as_array().unwrap();
    assert_eq!((&document["data"]["trace_id"], &document["data"]["more"]), (&json!(trace), &json!(false)));
    assert_eq!(
        (runs.len(), &runs[1]["model"], &runs[1]["reason"]),
        (3, &json!("a-model-1"), &json!("the customer\nasked"))
    );
    assert_eq!(runs[1]["journal"]["effects"].as_array().unwrap().len(), 2);
}

#[test]
fn what_is_private_stands_in_no_trace() {
    let scene = Scene::with(&[guests::DISCREET], "");
    let mut client = scene.client();
    client.begin();
    let reason = json!({ "airlock/reason": "mail of li@example.com" });
    let asked = json!({ "email": "li@example.com", "pin": "0042", "fail": true });
    let called = client.call("discreet__customer", &asked, &reason);
    let log = client.end().errors;
    let trace = called["_meta"]["airlock/meta"]["trace_id"].as_str().unwrap();
    let shown = airlock(&scene, &["trace", trace]) + &airlock(&scene, &["trace", trace, "--json"]);
    for hidden in ["li@example.com", "0042", "tok-1234567"] {
        assert!(!shown.contains(hidden) && !log.contains(hidden), "{hidden}: {shown}{log}");
    }
    assert!(shown.contains("reason mail of [private "), "{shown}");
}

#[test]
fn a_trace_that_is_not_there_is_told_so() {
    let scene = Scene::with(&[guests::ECHO], "");
    scene.world.write_config();
    assert_snapshot!(airlock(&scene, &["trace", "0af7651916cd43dd8448eb211c80319c"]), @"error[INVALID_INPUT]: no run belongs to this trace; results name theirs in `trace_id`, `airlock runs` lists the latest runs, and each of them will do: 0af7651916cd43dd8448eb211c80319c");
    assert_snapshot!(airlock(&scene, &["trace", "01ZZ"]), @"error[INVALID_INPUT]: no run belongs to this trace; results name theirs in `trace_id`, `airlock runs` lists the latest runs, and each of them will do: 01ZZ");
}

#[test]
fn a_tool_that_is_not_there_goes_round_in_circles_too() {
    let scene = Scene::with(&[guests::ECHO], "");
    let mut client = scene.client();
    client.begin();
    for name in ["ekho__echo", "ekho"] {
        let mut told = Vec::new();
        for _ in 0..7 {
            let answer = client.ask("tools/call", &call(name, &json!({}), &json!({})));
            assert_eq!(answer["error"]["code"], -32602, "{name}: {answer}");
            told.push(answer["error"]["message"].as_str().unwrap().to_owned());
        }
        assert_eq!(told[0], told[1]);
        let third = "This call has now given the same reply 3 times in a row: once more gives nothing new.";
        assert!(told[2].starts_with(&told[0]) && told[2].contains(third), "{}", told[2]);
        let eighth = client.call(name, &json!({}), &json!({}));
        assert!(text(&eighth).starts_with("LOOP_DETECTED: "), "{eighth}");
    }
    // Another call ends the circle.
    client.call("echo__echo", &json!({ "text": "x" }), &json!({}));
    assert_eq!(client.ask("tools/call", &call("ekho", &json!({}), &json!({})))["error"]["code"], -32602);
}

#[test]
fn what_may_do_instead_and_which_layer_of_time_ended_a_call_are_told_in_the_models_words() {
    let lines = "[retries]\nmost = 0\n[limits]\nread = \"100ms\"\n[tools.\"desk.find_order\"]\nfallback = \"echo.echo\"\n\
                 [mcp]\nnames = { \"echo.echo\" = \"say_it\" }\n";
    let scene = Scene::desk(lines);
    let mut client = scene.agent();
    scene.backend().fault("/orders", Fault::hang(Moment::BeforeWork), 1);
    let slow = client.call("desk__find_order", &json!({ "order_id": "A-1001" }), &json!({}));
    assert_snapshot!(text(&slow), @"
    ANSWER_BROKEN: the answer broke off; a request took longer than 100ms ([limits] read)
    What to do: nothing was left behind; call say_it, which may do instead, or call this again later
    ");
    assert_eq!(slow["_meta"]["airlock/error"]["details"]["fallback"], "say_it");
}
