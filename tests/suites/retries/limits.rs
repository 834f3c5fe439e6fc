//! Three layers of time, each within the next: a request, an attempt, all attempts of a call.

use std::time::Duration;

use airlock::model::reply::Reply;
use airlock_tests::backend::{Fault, Moment};
use airlock_tests::world::{body, code, keyed, request};
use serde_json::json;

use super::super::call::{Scene, record, text, with};
use super::{SOON, story};

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_too_slow_fails_its_attempt_and_the_log_says_which_setting_moves_it() {
    let scene = Scene::retrying(&format!("{SOON}[limits]\nread = \"100ms\"\n")).await;
    let host = scene.open().await;
    scene.backend.fault("/orders", Fault::hang(Moment::BeforeWork), 1);
    let reply = host.call(keyed("courier.fetch", &scene.job("GET", "/orders/A-1001"), "k")).await;
    assert_eq!((code(&reply).as_str(), reply.meta.attempts), ("ok", 2), "{}", text(&reply));
    let log = &record(&host, &reply).attempts[0].log;
    assert!(log.contains("no answer within 100ms ([limits] read)"), "{log}");
    scene.backend.fault("/orders", Fault::hang(Moment::BeforeWork), 1);
    let hasty = with(scene.job("GET", "/orders/A-1001"), json!({ "timeout_ms": 50 }));
    let reply = host.call(keyed("courier.fetch", &hasty, "hasty")).await;
    let log = &record(&host, &reply).attempts[0].log;
    assert!(log.contains("no answer within 50ms (as the tool asks)"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_that_is_too_slow_is_followed_by_another() {
    let scene = Scene::retrying(&format!("{SOON}[limits]\nattempt = \"300ms\"\n")).await;
    let host = scene.open().await;
    for end in ["sleep", "loop"] {
        let input = with(scene.mail("a"), json!({ "before": end, "attempts": 1 }));
        let reply = host.call(request("courier.post_once", &input)).await;
        assert_eq!((code(&reply).as_str(), reply.meta.attempts), ("ok", 2), "{}", text(&reply));
        assert!(story(&host, &reply).starts_with("TIME_LIMIT, ok"), "{}", story(&host, &reply));
    }
    let input = with(scene.mail("a"), json!({ "before": "sleep" }));
    let never = host.call(request("courier.post_once", &input)).await;
    assert_eq!((code(&never).as_str(), never.meta.attempts), ("TIME_LIMIT", 4));
    assert_eq!(body(&never)["message"], "the attempt took longer than 300ms ([limits] attempt)");
    assert_eq!(scene.mails(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn all_attempts_together_end_with_the_time_of_the_run() {
    let scene = Scene::retrying(&format!("{SOON}[limits]\nattempt = \"600ms\"\nrun = \"900ms\"\n")).await;
    let host = scene.open().await;
    let input = with(scene.mail("a"), json!({ "before": "sleep" }));
    let reply = host.call(request("courier.post_once", &input)).await;
    assert_eq!((code(&reply).as_str(), reply.meta.attempts), ("TIME_LIMIT", 2));
    assert_eq!(body(&reply)["message"], "all attempts together took longer than 900ms ([limits] run)");
    assert_eq!(scene.backend.counts().connections, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_attempt_begins_later_than_is_set() {
    let scene = Scene::retrying(&format!("{SOON}within = \"200ms\"\n[limits]\nattempt = \"300ms\"\n")).await;
    let host = scene.open().await;
    let input = with(scene.mail("a"), json!({ "before": "sleep" }));
    let reply = host.call(request("courier.post_once", &input)).await;
    assert_eq!((code(&reply).as_str(), reply.meta.attempts), ("TIME_LIMIT", 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_too_slow_each_time_is_told_as_the_requests_limit_and_with_its_setting() {
    let scene = Scene::retrying(&format!("{SOON}[limits]\nread = \"100ms\"\n")).await;
    let host = scene.open().await;
    let message = |reply: &Reply| body(reply)["message"].as_str().unwrap().to_owned();
    scene.backend.fault("/orders", Fault::hang(Moment::BeforeWork), 4);
    let read = host.call(request("courier.fetch", &scene.job("GET", "/orders/A-1001"))).await;
    assert_eq!(message(&read), "the answer broke off; a request took longer than 100ms ([limits] read)");
    scene.backend.fault("/mails", Fault::hang(Moment::AfterWork), 1);
    let write = host.call(request("courier.post_once", &scene.mail("a"))).await;
    assert_eq!(code(&write), "OUTCOME_UNKNOWN");
    assert!(
        message(&write).ends_with("; a request took longer than 100ms ([limits] read)"),
        "{}",
        message(&write)
    );
    // One that answers in time after one that did not is not to blame.
    scene.backend.fault("/orders", Fault::hang(Moment::BeforeWork), 1);
    let jobs = [
        with(scene.job("GET", "/orders/A-1001"), json!({ "any_answer": true })),
        with(scene.job("GET", "/orders/A-1002"), json!({ "then": "transient" })),
    ];
    let other = host.call(request("courier.sequence", &json!({ "jobs": jobs }))).await;
    assert_eq!(message(&other), "as the job says");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_that_leaves_a_request_open_is_told_as_the_attempts_limit() {
    let lines = format!("{SOON}[limits]\nread = \"1s\"\nattempt = \"1200ms\"\n");
    let scene = Scene::retrying(&lines).await;
    let host = scene.open().await;
    scene.backend.fault("/mails", Fault::slow(Moment::BeforeWork, Duration::from_millis(600)), 1);
    scene.backend.fault("/mails", Fault::hang(Moment::BeforeWork), 1);
    let twice = with(scene.mail("a"), json!({ "times": 2 }));
    let reply = host.call(request("courier.post_once", &twice)).await;
    assert_eq!(code(&reply), "OUTCOME_UNKNOWN", "{}", text(&reply));
    let message = body(&reply)["message"].as_str().unwrap().to_owned();
    assert!(message.ends_with("; the attempt took longer than 1.2s ([limits] attempt)"), "{message}");
}
