//! Another tool that may do instead: told where the operator names one and the caller may call it, and called by nobody else.

use airlock::host::{Cancel, Request};
use airlock::model::breaker::Forced;
use airlock::model::reply::Reply;
use airlock_tests::backend::{Fault, Moment};
use airlock_tests::world::{body, code, keyed, request};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::call::{Scene, as_caller};

const FALLBACK: &str = "[tools.\"desk.find_order\"]\nfallback = \"desk.create_ticket\"\n";

fn order() -> Value {
    json!({ "order_id": "A-1001" })
}

/// The code, what to do, and which tool may do instead.
fn told(reply: &Reply) -> String {
    let error = body(reply);
    let other = error["details"]["fallback"].as_str().unwrap_or("-");
    format!("{} {} {other}", code(reply), error["action"].as_str().unwrap_or("-"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_fails_for_what_may_pass_names_the_one_that_may_do_instead() {
    let scene = Scene::desk(FALLBACK).await;
    let host = scene.open().await;
    scene.backend.fault("/orders", Fault::status(Moment::BeforeWork, 503), 1);
    let failed = host.call(keyed("desk.find_order", &order(), "k")).await;
    assert_snapshot!(scene.shown(&failed), @r#"
    {
      "ok": false,
      "error": {
        "code": "BACKEND_FAILED",
        "kind": "transient",
        "message": "the backend failed, and nothing was done",
        "retryable": true,
        "action": "use_fallback",
        "retry_after_ms": 0,
        "details": {
          "fallback": "desk.create_ticket",
          "key": "k"
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
    scene.backend.fault("/orders", Fault::status(Moment::BeforeWork, 429), 1);
    let throttled = host.call(request("desk.find_order", &order())).await;
    assert_eq!(told(&throttled), "BACKEND_THROTTLED use_fallback desk.create_ticket");
    host.force("desk.find_order", None, Some(Forced::Open)).await.unwrap();
    let shut = host.call(request("desk.find_order", &order())).await;
    assert_eq!(told(&shut), "CIRCUIT_OPEN use_fallback desk.create_ticket");
    host.force("desk.find_order", None, None).await.unwrap();
    // Nothing was called by itself, and the same key is as good as before.
    assert_eq!(scene.backend.counts().tickets.len(), 0);
    assert!(host.call(keyed("desk.find_order", &order(), "k")).await.ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_tool_would_not_change_names_none() {
    let scene = Scene::desk(FALLBACK).await;
    let host = scene.open().await;
    let missing = host.call(request("desk.find_order", &json!({ "order_id": "Z-9" }))).await;
    assert_eq!(told(&missing), "ORDER_NOT_FOUND tell_user -");
    let wrong = host.call(request("desk.find_order", &json!({ "order": 1 }))).await;
    assert_eq!(told(&wrong), "INVALID_INPUT fix_input -");
    let cancel = Cancel::default();
    cancel.ask();
    let call = Request { cancel: Some(cancel), ..request("desk.find_order", &order()) };
    let withdrawn = host.call(call).await;
    assert_eq!(told(&withdrawn), "INTERRUPTED retry_later -");
    assert_eq!(body(&withdrawn)["message"], "the caller withdrew the call; nothing was run");
    // A tool of which nothing is said has none.
    scene.backend.fault("/tickets", Fault::status(Moment::BeforeWork, 503), 1);
    let ticket = json!({ "order_id": "A-1001", "subject": "late", "body": "where is it" });
    let failed = host.call(request("desk.create_ticket", &ticket)).await;
    assert_eq!(told(&failed), "BACKEND_FAILED retry_later -");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_is_named_only_to_a_caller_that_may_call_it() {
    let lines = format!(
        "{FALLBACK}[callers.may]\npermissions = [\"order:read\", \"ticket:write\"]\nmax_risk = \"L3\"\n\
         [callers.lacks]\npermissions = [\"order:read\"]\nmax_risk = \"L3\"\n\
         [callers.low]\npermissions = [\"order:read\", \"ticket:write\"]\nmax_risk = \"L2\"\n\
         [callers.narrow]\npermissions = [\"order:read\", \"ticket:write\"]\nmax_risk = \"L3\"\ntools = [\"desk.find_order\"]\n\
         [callers.asks]\npermissions = [\"order:read\", \"ticket:write\"]\nmax_risk = \"L3\"\n\
         confirm = {{ \"desk.create_ticket\" = \"person\" }}\n"
    );
    let scene = Scene::desk(&lines).await;
    let host = scene.open().await;
    let mut ends = Vec::new();
    for caller in ["may", "lacks", "low", "narrow", "asks"] {
        scene.backend.fault("/orders", Fault::status(Moment::BeforeWork, 503), 1);
        let reply = host.call(as_caller(caller, request("desk.find_order", &order()))).await;
        ends.push(format!("{caller}: {}", told(&reply)));
    }
    assert_snapshot!(ends.join("\n"), @"
    may: BACKEND_FAILED use_fallback desk.create_ticket
    lacks: BACKEND_FAILED retry_later -
    low: BACKEND_FAILED retry_later -
    narrow: BACKEND_FAILED retry_later -
    asks: BACKEND_FAILED retry_later -
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fallback_that_no_plugin_has_is_a_fault_of_the_configuration() {
    let scene = Scene::desk("[tools.\"desk.find_order\"]\nfallback = \"desk.create_tikcet\"\n").await;
    let host = scene.open().await;
    let faults = host.missing().expect("there is no such tool").to_string();
    let from = faults.find("error").unwrap_or_default();
    assert!(faults.contains("desk.create_tikcet"), "{faults}");
    assert!(faults.contains("did you mean `desk.create_ticket`?"), "{}", &faults[from..]);
}
