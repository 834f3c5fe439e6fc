//! The one form of every answer: its meta, the kinds of errors, and words that never leave.

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
    assert_snapshot!(shown(&reply), @"");
    let mail = json!({ "method": "POST", "url": format!("{}/mails", scene.backend.url), "body": "{}", "times": 2 });
    let sent = host.call(keyed("courier.post_once", &mail, "k")).await;
    let again = host.call(keyed("courier.post_once", &mail, "k")).await;
    let meta = |reply: &airlock::model::reply::Reply| {
        let Value::Object(meta) = serde_json::to_value(&reply.meta).unwrap() else { panic!("meta is an object") };
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
    let ends = ["invalid_input", "rejected", "denied", "transient", "throttled", "unknown_outcome", "fatal", "foreign", "trap"];
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
    assert_snapshot!(lines.join("\n"), @"");
}

#[tokio::test(flavor = "multi_thread")]
async fn several_candidates_are_listed_so_that_one_can_be_asked_for() {
    let scene = Scene::desk("").await;
    let host = scene.open().await;
    assert_snapshot!(scene.shown(&host.call(request("desk.find_order", &json!({ "name": "Li" }))).await), @"");
    let one = host.call(request("desk.find_order", &json!({ "order_id": "A-1002", "name": "Li" }))).await;
    assert_eq!(body(&one)["name"], "Li Na");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_user_may_be_told_stands_apart() {
    let scene = Scene::desk("").await;
    let host = scene.open().await;
    let reply = host.call(request("desk.find_order", &json!({ "order_id": "A-9999" }))).await;
    assert_snapshot!(scene.shown(&reply), @"");
}

/// What the guest that breaks its word is told to say, by a tool that writes.
async fn said(say: Value) -> (String, String, String) {
    let world = World::new().with_plugins(&[guests::TWOFACE]).with_config("[limits]\noutput = \"2 KiB\"\n");
    let host = world.open().await;
    let reply = host.call(keyed("twoface.say_writing", &json!({ "say": say }), "k")).await;
    let record = record(&host, &reply);
    assert!(record.summary.state.word() == "failed" || reply.ok(), "{}", standing(&record));
    (code(&reply), text(&reply).to_owned(), record.attempts[0].log.clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn output_that_is_not_what_the_tool_declares_never_leaves() {
    for data in ["", "{", "no json: SECRET", "[]", "7", "\"SECRET\"", "null", "{}", r#"{"count":"SECRET"}"#, r#"{"count":1} {}"#] {
        let (code, text, log) = said(json!({ "reply": data })).await;
        assert_eq!(code, "INVALID_OUTPUT", "{data}");
        assert!(!text.contains("SECRET"), "{text}");
        assert!(log.starts_with("host: the output is "), "{data}: {log}");
    }
    let (code, text, _) = said(json!({ "reply": r#"{"count":1,"more":"x"}"# })).await;
    assert_eq!((code.as_str(), text.as_str()), ("ok", r#"{"count":1,"more":"x"}"#));
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_that_break_the_contract_never_leave() {
    let error = |more: Value| {
        json!({ "error": with(json!({ "kind": "rejected", "code": "NO", "message": "SECRET" }), more) })
    };
    for bad in [
        json!({ "code": "" }),
        json!({ "code": "no" }),
        json!({ "code": "SECRET CODE" }),
        json!({ "code": "Ü" }),
        json!({ "code": "X".repeat(65) }),
        json!({ "details": "SECRET {" }),
    ] {
        let (code, text, _) = said(error(bad.clone())).await;
        assert_eq!(code, "INVALID_OUTPUT", "{bad}");
        assert!(!text.contains("SECRET"), "{text}");
    }
    let good = json!({ "user_message": "sorry", "details": "{\"a\":1}", "retry_after_ms": 5 });
    let (_, text, _) = said(error(good)).await;
    assert_snapshot!(text, @"");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fatal_error_is_shown_where_it_has_words_of_its_own() {
    let fatal = |code: &str, message: &str| {
        json!({ "error": { "kind": "fatal", "code": code, "message": message, "details": "{\"why\":\"SECRET\"}" } })
    };
    let (code, text, _) = said(fatal("WORN_OUT", "it will never work")).await;
    assert_eq!(code, "WORN_OUT");
    assert!(text.contains("it will never work"));
    for (code, message) in [("INTERNAL", "SECRET"), ("WORN_OUT", ""), ("INTERNAL", "")] {
        let (code, text, _) = said(fatal(code, message)).await;
        assert_eq!(code, "INTERNAL");
        assert!(!text.contains("SECRET"), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn output_beyond_its_limit_is_no_output() {
    let long = |length: usize| json!({ "reply": format!("{{\"count\":1,\"x\":\"{}\"}}", "x".repeat(length)) });
    assert_eq!(said(long(1000)).await.0, "ok");
    let (code, text, _) = said(long(2048)).await;
    assert_eq!(code, "OUTPUT_LIMIT");
    assert!(text.contains("[limits] output"), "{text}");
    let error = json!({ "error": { "kind": "rejected", "code": "NO", "message": "x".repeat(3000) } });
    assert_eq!(said(error).await.0, "OUTPUT_LIMIT");
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
