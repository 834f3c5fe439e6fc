//! The one form of every answer: its meta, the kinds of errors, and words that never leave.

use airlock::host::Host;
use airlock::model::id::TraceId;
use airlock_tests::guests;
use airlock_tests::world::{World, body, code, keyed, request};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{Scene, record, shown, standing, text, with};

#[tokio::test(flavor = "multi_thread")]
async fn a_good_answer_in_full() {
    let scene = Scene::courier("").await;
    let world = scene.world.with_plugins(&[guests::ECHO]);
    let host = world.open().await;
    let reply = host.call(request("echo.echo_write", &json!({ "text": "a", "colour": "red" }))).await;
    assert_snapshot!(shown(&reply), @r#"
    {
      "ok": true,
      "data": {
        "text": "a"
      },
      "meta": {
        "run": "RUN",
        "step": 1,
        "attempts": 1,
        "duration_ms": "COUNTED",
        "fuel": "COUNTED",
        "memory_bytes": "COUNTED",
        "effects": 0,
        "cost_micros": 0,
        "dropped": [
          "/colour"
        ],
        "replayed": false,
        "trace_id": "TRACE"
      }
    }
    "#);
    let mail =
        json!({ "method": "POST", "url": format!("{}/mails", scene.backend.url), "body": "{}", "times": 2 });
    let sent = host.call(keyed("courier.post_once", &mail, "k")).await;
    let again = host.call(keyed("courier.post_once", &mail, "k")).await;
    let meta = |reply: &airlock::model::reply::Reply| {
        let Value::Object(meta) = serde_json::to_value(&reply.meta).unwrap() else {
            panic!("meta is an object")
        };
        let counted = ["attempts", "effects", "fuel", "memory_bytes", "run", "step"];
        counted.map(|name| meta[name].clone())
    };
    assert_eq!(sent.meta.effects, 2);
    assert!(sent.meta.fuel > 0 && sent.meta.memory_bytes > 0);
    assert_eq!(meta(&sent), meta(&again), "what it took is told of the run, not of the asking");
    assert_ne!(sent.meta.trace_id, again.meta.trace_id, "each call has its own trace");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trace_that_the_caller_brings_is_kept() {
    let world = World::new().with_plugins(&[guests::ECHO]);
    let host = world.open().await;
    let trace = TraceId::new([7; 16]);
    let mut call = request("echo.echo_write", &json!({ "text": "a" }));
    call.trace = Some(trace.clone());
    let reply = host.call(call).await;
    assert_eq!(reply.meta.trace_id, trace);
    assert_eq!(record(&host, &reply).trace, trace);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_kind_of_a_tools_error_tells_the_caller_what_to_do() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    let mut lines = Vec::new();
    let ends = [
        "invalid_input",
        "rejected",
        "denied",
        "transient",
        "throttled",
        "unknown_outcome",
        "fatal",
        "foreign",
        "trap",
    ];
    for end in ends {
        let input = with(scene.mail("a"), json!({ "before": end }));
        let error = body(&host.call(request("courier.post_once", &input)).await);
        let field = |name: &str| error[name].to_string().replace('"', "");
        lines.push(format!(
            "{end}: {} {} retryable {} after {} do {}: {}",
            field("code"),
            field("kind"),
            field("retryable"),
            field("retry_after_ms"),
            field("action"),
            field("message")
        ));
    }
    assert_snapshot!(lines.join("\n"), @"
    invalid_input: TOLD_INVALID_INPUT invalid_input retryable false after 0 do fix_input: as the job says
    rejected: TOLD_REJECTED rejected retryable false after 0 do tell_user: as the job says
    denied: TOLD_DENIED denied retryable false after 0 do stop: as the job says
    transient: TOLD_TRANSIENT transient retryable true after 0 do retry_later: as the job says
    throttled: TOLD_THROTTLED throttled retryable true after 1000 do retry_later: as the job says
    unknown_outcome: TOLD_UNKNOWN_OUTCOME unknown_outcome retryable false after 0 do do_not_repeat: as the job says
    fatal: TOLD_FATAL fatal retryable false after 0 do stop: as the job says
    foreign: INTERNAL internal retryable false after 0 do stop: the tool failed inside; quote the trace id to whoever runs this host
    trap: INTERNAL internal retryable false after 0 do stop: the tool failed inside; quote the trace id to whoever runs this host
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn several_candidates_are_listed_so_that_one_can_be_asked_for() {
    let scene = Scene::desk("").await;
    let host = scene.open().await;
    assert_snapshot!(scene.shown(&host.call(request("desk.find_order", &json!({ "name": "Li" }))).await), @r#"
    {
      "ok": false,
      "error": {
        "code": "AMBIGUOUS_ORDER",
        "kind": "ambiguous",
        "message": "3 orders fit; ask which one is meant",
        "retryable": false,
        "action": "clarify",
        "retry_after_ms": 0,
        "details": {
          "candidates": [
            {
              "order_id": "A-1001",
              "name": "Li Wei",
              "city": "Hamburg",
              "status": "shipped",
              "total": "129.90",
              "currency": "EUR"
            },
            {
              "order_id": "A-1002",
              "name": "Li Na",
              "city": "Lyon",
              "status": "paid",
              "total": "18.50",
              "currency": "EUR"
            },
            {
              "order_id": "A-1004",
              "name": "Li Wei",
              "city": "Berlin",
              "status": "returned",
              "total": "349.00",
              "currency": "EUR"
            }
          ]
        }
      },
      "meta": {
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
    "#);
    let one = host.call(request("desk.find_order", &json!({ "order_id": "A-1002", "name": "Li" }))).await;
    assert_eq!(body(&one)["name"], "Li Na");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_user_may_be_told_stands_apart() {
    let scene = Scene::desk("").await;
    let host = scene.open().await;
    let reply = host.call(request("desk.find_order", &json!({ "order_id": "A-9999" }))).await;
    assert_snapshot!(scene.shown(&reply), @r#"
    {
      "ok": false,
      "error": {
        "code": "ORDER_NOT_FOUND",
        "kind": "rejected",
        "message": "no order has this number",
        "retryable": false,
        "action": "tell_user",
        "retry_after_ms": 0,
        "user_message": "We cannot find that order."
      },
      "meta": {
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
    "#);
}

/// A host with the guest that breaks its word.
async fn twoface() -> Host {
    let world = World::new().with_plugins(&[guests::TWOFACE]).with_config("[limits]\noutput = \"2 KiB\"\n");
    world.open().await
}

/// What is told of what it says, and what is logged.
async fn said(host: &Host, say: Value) -> (String, String, String) {
    let reply = host.call(request("twoface.say_writing", &json!({ "say": say }))).await;
    let record = record(host, &reply);
    assert!(record.summary.state.word() == "failed" || reply.ok(), "{}", standing(&record));
    (code(&reply), text(&reply).to_owned(), record.attempts[0].log.clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn output_that_is_not_what_the_tool_declares_never_leaves() {
    let host = twoface().await;
    let mut logs = Vec::new();
    for data in [
        "",
        "{",
        "no json: SECRET",
        "[]",
        "7",
        "\"SECRET\"",
        "null",
        "{}",
        r#"{"count":"SECRET"}"#,
        r#"{"count":1} {}"#,
        r#"{"count":1,"count":2}"#,
        r#"{"count":1,"note":"x","co\u0075nt":2}"#,
        r#"{"count":1,"more":[{"a":1,"a":1}]}"#,
    ] {
        let (code, text, log) = said(&host, json!({ "reply": data })).await;
        assert_eq!(code, "INVALID_OUTPUT", "{data}");
        assert!(!text.contains("SECRET"), "{text}");
        logs.push(log.trim_end().to_owned());
    }
    assert_snapshot!(logs.join("\n"), @"
    host: the output is no JSON: EOF while parsing a value at line 1 column 0
    host: the output is no JSON: EOF while parsing an object at line 1 column 1
    host: the output is no JSON: expected ident at line 1 column 2
    host: the output is no JSON object
    host: the output is no JSON object
    host: the output is no JSON object
    host: the output is no JSON object
    host: the output is not as declared: /count: is required and missing; give a whole number
    host: the output is not as declared: /count: must be a whole number and is a string of 6 characters
    host: the output is no JSON: trailing characters at line 1 column 13
    host: the output is no clean JSON: /count: the field stands there twice; keep one
    host: the output is no clean JSON: /count: the field stands there twice; keep one
    host: the output is no clean JSON: /more/0/a: the field stands there twice; keep one
    ");
    let (code, text, _) = said(&host, json!({ "reply": r#"{"count":1,"more":"x"}"# })).await;
    assert_eq!((code.as_str(), text.as_str()), ("ok", r#"{"count":1}"#), "what is not named is not shown");
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_that_break_the_contract_never_leave() {
    let host = twoface().await;
    let error = |more: Value| json!({ "error": with(json!({ "kind": "rejected", "code": "NO", "message": "SECRET" }), more) });
    let mut logs = Vec::new();
    for bad in [
        json!({ "code": "OUTCOME_UNKNOWN" }),
        json!({ "code": "" }),
        json!({ "code": "no" }),
        json!({ "code": "SECRET CODE" }),
        json!({ "code": "Ü" }),
        json!({ "code": "X".repeat(65) }),
        json!({ "details": "SECRET {" }),
    ] {
        let (code, text, log) = said(&host, error(bad.clone())).await;
        assert_eq!(code, "INVALID_OUTPUT", "{bad}");
        assert!(!text.contains("SECRET"), "{text}");
        logs.push(log.replace(&"X".repeat(65), "65 × X").trim_end().to_owned());
    }
    assert_snapshot!(logs.join("\n"), @r#"
    host: the code of an error is one of the host's own: OUTCOME_UNKNOWN
    host: the code of an error is not in capitals:
    host: the code of an error is not in capitals: no
    host: the code of an error is not in capitals: SECRET CODE
    host: the code of an error is not in capitals: \u{dc}
    host: the code of an error is not in capitals: 65 × X
    host: the details of an error are no JSON: expected value at line 1 column 1
    "#);
    let good = json!({ "user_message": "sorry", "details": "{\"a\":1}", "retry_after_ms": 5 });
    let (_, text, _) = said(&host, error(good)).await;
    assert_snapshot!(text, @r#"{"code":"NO","kind":"rejected","message":"SECRET","retryable":false,"action":"tell_user","retry_after_ms":5,"user_message":"sorry","details":{"a":1}}"#);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fatal_error_is_shown_where_it_has_words_of_its_own() {
    let host = twoface().await;
    let fatal = |code: &str, message: &str| json!({ "error": { "kind": "fatal", "code": code, "message": message, "details": "{\"why\":\"SECRET\"}" } });
    let (code, text, _) = said(&host, fatal("WORN_OUT", "it will never work")).await;
    assert_eq!(code, "WORN_OUT");
    assert!(text.contains("it will never work"));
    for (code, message) in [("INTERNAL", "SECRET"), ("WORN_OUT", ""), ("INTERNAL", "")] {
        let (code, text, _) = said(&host, fatal(code, message)).await;
        assert_eq!(code, "INTERNAL");
        assert!(!text.contains("SECRET"), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn output_beyond_its_limit_is_no_output() {
    let host = twoface().await;
    let long =
        |length: usize| json!({ "reply": format!("{{\"count\":1,\"x\":\"{}\"}}", "x".repeat(length)) });
    assert_eq!(said(&host, long(1000)).await.0, "ok");
    let (code, text, _) = said(&host, long(2048)).await;
    assert_eq!(code, "OUTPUT_LIMIT");
    assert!(text.contains("[limits] output"), "{text}");
    let error = json!({ "error": { "kind": "rejected", "code": "NO", "message": "x".repeat(3000) } });
    assert_eq!(said(&host, error).await.0, "OUTPUT_LIMIT");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_falls_through_gives_internal_and_its_text_goes_to_the_log() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    for end in ["foreign", "trap"] {
        let input = with(scene.mail("a"), json!({ "before": end }));
        let reply = host.call(request("courier.post_once", &input)).await;
        assert_eq!(code(&reply), "INTERNAL");
        let whole = serde_json::to_string(&reply).unwrap();
        assert!(!whole.contains("as the job says") && !whole.contains("wasm"), "{whole}");
        assert!(whole.contains("trace_id"));
        assert!(record(&host, &reply).attempts[0].log.contains("as the job says"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_does_not_speak_with_the_codes_and_keys_of_the_host() {
    let world = World::new().with_plugins(&[guests::TWOFACE]);
    let host = world.open().await;
    let say = |kind: &str, code: &str| {
        let error =
            json!({ "kind": kind, "code": code, "message": "m", "details": "{\"key\":\"k\",\"x\":1}" });
        json!({ "say": { "error": error } })
    };
    for (kind, told) in
        [("denied", "NEEDS_PERSON"), ("rejected", "STORE_UNAVAILABLE"), ("transient", "INTERRUPTED")]
    {
        let reply = host.call(request("twoface.say", &say(kind, told))).await;
        assert_eq!(code(&reply), "INVALID_OUTPUT", "{told}");
    }
    let reply = host.call(request("twoface.say", &say("transient", "LATER"))).await;
    assert_eq!((code(&reply).as_str(), &body(&reply)["details"]), ("LATER", &json!({ "x": 1 })));
}
