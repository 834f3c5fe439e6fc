//! Previews, fingerprints and probes read, and do nothing else.

use airlock::model::failure::Kind;
use airlock::model::past::Probed;
use airlock_tests::guests;
use airlock_tests::world::{World, body, code, keyed, request};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::Meddling;

/// What is said to each thing that a guest tries where it may only look.
const SAID: [&str; 11] = [
    "post: only what reads is allowed here",
    "put: only what reads is allowed here",
    "search: 200",
    "get: 200",
    "write: only what reads is allowed here",
    "list: done",
    "set: only what reads is allowed here",
    "delete: only what reads is allowed here",
    "value: done",
    "save: only what reads is allowed here",
    "spend: only what reads is allowed here",
];

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_reads_and_nothing_else() {
    let meddling = Meddling::begin().await;
    let reply = meddling.preview().await;
    assert_eq!(body(&reply)["changes"], json!(SAID));
    meddling.untouched();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_probe_reads_and_nothing_else() {
    let meddling = Meddling::begin().await;
    let run = meddling.meddle("nothing").await;
    let Probed::Yes(Some(output)) = meddling.host.probe(&run).await.unwrap() else { panic!("it happened") };
    assert_eq!(serde_json::from_str::<Value>(&output).unwrap()["said"], json!(SAID));
    meddling.untouched();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fingerprint_reads_and_nothing_else() {
    let meddling = Meddling::begin().await;
    let run = meddling.meddle("nothing").await;
    let state = meddling.host.fingerprint(&run).await.unwrap();
    assert_eq!(state.as_deref(), Some(r#"{"name":"meddled","value":1}"#));
    meddling.untouched();
    // It was asked for when the call ended too, and what it was refused then is in the log of the attempt.
    let record = meddling.record(&run);
    assert_eq!(record.fingerprint, state);
    assert!(record.attempts[0].log.contains("refused POST"), "{}", record.attempts[0].log);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_look_makes_no_run_and_uses_no_key() {
    let meddling = Meddling::begin().await;
    let input = meddling.place("nothing");
    let looked = meddling.host.preview(keyed("meddler.meddle", &input, "k1")).await;
    assert!(looked.ok() && looked.meta.run.is_none() && looked.meta.step.is_none());
    assert_eq!(meddling.host.runs(None, 10).unwrap(), []);
    let reply = meddling.host.call(keyed("meddler.meddle", &input, "k1")).await;
    assert!(reply.ok() && !reply.meta.replayed, "{}", body(&reply));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_look_back_leaves_no_trace_in_the_run() {
    let meddling = Meddling::begin().await;
    let run = meddling.meddle("nothing").await;
    let before = meddling.record(&run);
    meddling.host.probe(&run).await.unwrap();
    meddling.host.fingerprint(&run).await.unwrap();
    assert_eq!(meddling.record(&run), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_may_not_be_called_may_not_be_previewed() {
    let meddling = Meddling::begin().await;
    let preview = |tool: &str, input: Value| meddling.host.preview(request(tool, &input));
    assert_eq!(code(&preview("meddler.nothing", json!({})).await), "UNKNOWN_TOOL");
    assert_eq!(code(&preview("meddler.meddle", json!({ "url": 1 })).await), "INVALID_INPUT");
    let world = World::in_memory()
        .with_plugins(&[guests::DESK])
        .with_config("[callers.bot]\nmax_risk = \"L3\"\npermissions = [\"order:read\"]");
    let host = world.open().await;
    let asked = |tool: &str| {
        let mut asked = request(tool, &json!({ "order_id": "A-1", "subject": "s", "body": "b" }));
        asked.caller = airlock::model::id::CallerName("bot".to_owned());
        asked
    };
    assert_eq!(code(&host.preview(asked("desk.create_ticket")).await), "PERMISSION_DENIED");
    assert_eq!(code(&host.preview(asked("desk.send_mail")).await), "UNKNOWN_TOOL");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_cannot_look_says_so() {
    let world = World::in_memory()
        .with_plugins(&[guests::NOTEBOOK, guests::ECHO])
        .with_config("[plugin.notebook]\nkey_value = true");
    let host = world.open().await;
    let reply = host.preview(request("echo.echo", &json!({ "text": "hello" }))).await;
    assert_snapshot!(serde_json::to_string_pretty(&body(&reply)).unwrap(), @r#"
    {
      "code": "NOT_OFFERED",
      "kind": "fatal",
      "message": "echo.echo does not say ahead what a call of it would do",
      "retryable": false,
      "action": "stop",
      "retry_after_ms": 0
    }
    "#);
    let called = host.call(keyed("echo.echo", &json!({ "text": "hello" }), "k")).await;
    let run = called.meta.run.unwrap().to_string();
    for failure in [host.fingerprint(&run).await.unwrap_err(), host.probe(&run).await.unwrap_err()] {
        assert_eq!((failure.kind, &*failure.code), (Kind::Fatal, "NOT_OFFERED"));
        assert_eq!(failure.message, "the tool's plugin has no way back");
    }
}
