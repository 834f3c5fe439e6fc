//! Calls that the host tries again by itself: when, how often, and what comes of it; the backend's counts are the judge.

mod limits;
mod repeats;
mod waits;

use airlock::host::Host;
use airlock::model::reply::Reply;
use airlock_tests::backend::{Fault, Moment};
use airlock_tests::world::{body, code, keyed, request};
use insta::assert_snapshot;
use serde_json::json;

use super::call::{Scene, assert_stored, record, standing, text, with};

/// Pauses so short that tests wait for them.
pub(crate) const SOON: &str = "[retries]\nbase = \"2ms\"\n";

/// How the attempts of a run ended, and what happened to it.
pub(crate) fn story(host: &Host, reply: &Reply) -> String {
    let record = record(host, reply);
    let ends: Vec<_> = record.attempts.iter().map(|one| one.outcome.as_deref().unwrap_or("-")).collect();
    let events: Vec<_> = record.events.iter().map(|event| event.event.as_str()).collect();
    format!("{}: {}; {}", ends.join(", "), standing(&record), events.join(", "))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backend_that_fails_twice_and_then_works_is_one_call() {
    let scene = Scene::retrying(SOON).await;
    let host = scene.open().await;
    for (tool, input, place) in [
        ("courier.fetch", scene.job("GET", "/orders/A-1001"), "/orders"),
        ("courier.put", scene.setting("door"), "/settings"),
        ("courier.post_keyed", scene.ticket("a"), "/tickets"),
        ("courier.post_once", scene.mail("a"), "/mails"),
    ] {
        scene.backend.fault(place, Fault::status(Moment::BeforeWork, 503), 2);
        let reply = host.call(keyed(tool, &input, tool)).await;
        assert!(reply.ok(), "{tool}: {}", text(&reply));
        assert_eq!(reply.meta.attempts, 3, "{tool}");
        let again = host.call(keyed(tool, &input, tool)).await;
        assert_stored(&reply, &again);
        assert_eq!(again.meta.attempts, 3, "{tool}");
    }
    assert_eq!(scene.backend.counts().under("").works, 4);
    assert_eq!(scene.backend.counts().under("").requests, 12);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_attempt_and_each_wait_is_on_record() {
    let scene = Scene::retrying(SOON).await;
    let host = scene.open().await;
    scene.backend.fault("/tickets", Fault::status(Moment::BeforeWork, 503), 1);
    scene.backend.fault("/tickets", Fault::status(Moment::BeforeWork, 429), 1);
    let writes = host.call(request("courier.post_keyed", &scene.ticket("a"))).await;
    assert_snapshot!(story(&host, &writes), @"BACKEND_FAILED, BACKEND_THROTTLED, ok: completed [failed_clean 503, failed_clean 429, done 201]; began, backed_off, retried, backed_off, retried, completed");
    scene.backend.fault("/orders", Fault::status(Moment::BeforeWork, 503), 1);
    let reads = host.call(keyed("courier.fetch", &scene.job("GET", "/orders/A-1001"), "k")).await;
    assert_snapshot!(story(&host, &reads), @"BACKEND_FAILED, ok: completed []; began, backed_off, retried, completed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_that_is_cut_is_tried_again_where_nothing_was_done_or_all_may_be_done_twice() {
    let scene = Scene::retrying(SOON).await;
    let host = scene.open().await;
    for (tool, input, place, moment) in [
        ("courier.fetch", scene.job("GET", "/orders/A-1001"), "/orders", Moment::AfterHead),
        ("courier.put", scene.setting("door"), "/settings", Moment::AfterWork),
        ("courier.post_keyed", scene.ticket("a"), "/tickets", Moment::AfterWork),
    ] {
        scene.backend.fault(place, Fault::cut(moment), 1);
        let reply = host.call(request(tool, &input)).await;
        assert_eq!((code(&reply).as_str(), reply.meta.attempts), ("ok", 2), "{tool}: {}", text(&reply));
    }
    assert_eq!(scene.backend.counts().tickets.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_other_input_would_mend_and_what_the_business_refuses_is_not_tried_again() {
    let scene = Scene::retrying(SOON).await;
    let host = scene.open().await;
    for end in ["invalid_input", "rejected", "denied", "unknown_outcome", "fatal", "foreign", "trap"] {
        let input = with(scene.mail("a"), json!({ "before": end, "attempts": 1 }));
        let reply = host.call(request("courier.post_once", &input)).await;
        assert!(!reply.ok(), "{end}");
        assert_eq!(reply.meta.attempts, 1, "{end}");
    }
    let refused = host.call(request("courier.fetch", &scene.job("GET", "/orders/none"))).await;
    assert_eq!((code(&refused).as_str(), refused.meta.attempts), ("NOT_FOUND", 1));
    assert_eq!(scene.backend.counts().under("").requests, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn when_retries_are_used_up_the_last_word_stands_and_the_key_goes_on_later() {
    let scene = Scene::retrying(SOON).await;
    let host = scene.open().await;
    scene.backend.fault("/mails", Fault::status(Moment::BeforeWork, 503), 4);
    let reply = host.call(keyed("courier.post_once", &scene.mail("a"), "k")).await;
    assert_snapshot!(scene.shown(&reply), @r#"
    {
      "ok": false,
      "error": {
        "code": "BACKEND_FAILED",
        "kind": "transient",
        "message": "the backend failed, and nothing was done",
        "retryable": true,
        "action": "retry_later",
        "retry_after_ms": 0,
        "details": {
          "key": "k"
        }
      },
      "meta": {
        "run": "RUN",
        "step": 1,
        "attempts": 4,
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
    let again = host.call(keyed("courier.post_once", &scene.mail("a"), "k")).await;
    assert_eq!((again.ok(), again.meta.attempts, again.meta.run), (true, 5, reply.meta.run));
    assert_eq!((scene.mails(), scene.backend.counts().of("POST /mails").requests), (1, 5));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_has_its_own_number_of_retries_where_it_is_set() {
    let lines =
        format!("{SOON}[tools.\"courier.fetch\"]\nretries = 1\n[tools.\"courier.put\"]\nretries = 0\n");
    let scene = Scene::retrying(&lines).await;
    let host = scene.open().await;
    for (tool, input, attempts) in [
        ("courier.fetch", scene.job("GET", "/orders/A-1001"), 2),
        ("courier.put", scene.setting("door"), 1),
        ("courier.post_once", scene.mail("a"), 4),
    ] {
        let input = with(input, json!({ "before": "transient" }));
        let reply = host.call(request(tool, &input)).await;
        assert_eq!((body(&reply)["code"].as_str(), reply.meta.attempts), (Some("TOLD_TRANSIENT"), attempts));
    }
    assert_eq!(scene.backend.counts().connections, 0);
}
