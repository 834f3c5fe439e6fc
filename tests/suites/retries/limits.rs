//! Three layers of time, each within the next: a request, an attempt, all attempts of a call.

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
