//! How long the host waits before it tries again: what backends ask for, and what goes on meanwhile.

use std::time::Duration;

use airlock::host::{Cancel, Progress, Request, Steps};
use airlock::model::state::RunState;
use airlock_tests::backend::{Fault, Moment};
use airlock_tests::world::{SetClock, body, code, keyed, request};
use insta::assert_snapshot;

use super::super::call::{NOON, Scene, assert_stored, hold, record, spawn, text};
use super::{SOON, story};

/// A second after the tests' noon, and ten minutes after.
const A_SECOND_LATER: &str = "Fri, 15 Jan 2027 08:00:01 GMT";
const MUCH_LATER: &str = "Fri, 15 Jan 2027 08:10:00 GMT";

/// A call whose caller can withdraw it, and hears how far it is.
fn watched(call: Request) -> (Request, Cancel, Steps) {
    let (progress, steps) = Progress::new();
    let cancel = Cancel::default();
    (Request { cancel: Some(cancel.clone()), progress: Some(progress), ..call }, cancel, steps)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backend_is_left_alone_for_as_long_as_it_asks() {
    let scene = Scene::retrying(SOON).await;
    let host = scene.open_at(&SetClock::at(NOON)).await;
    for (status, asks) in [(429, "1"), (503, A_SECOND_LATER)] {
        scene.backend.fault("/mails", Fault::status(Moment::BeforeWork, status).retry_after(asks), 1);
        let (call, _, mut steps) = watched(request("courier.post_once", &scene.mail("a")));
        let calling = spawn(&host, call);
        assert_eq!(steps.next().await.unwrap().message, "attempt 2 of 4 in 1000 ms", "{asks}");
        let reply = calling.await.unwrap();
        assert_eq!((code(&reply).as_str(), reply.meta.attempts), ("ok", 2), "{asks}");
    }
    assert_eq!(scene.mails(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backend_that_asks_for_more_than_there_is_time_ends_the_call_as_throttled() {
    let scene = Scene::retrying(SOON).await;
    let host = scene.open_at(&SetClock::at(NOON)).await;
    for (status, asks, wait) in
        [(429, "60", 60_000), (503, "60", 60_000), (503, MUCH_LATER, 600_000), (429, "7200", 7_200_000)]
    {
        scene.backend.fault("/mails", Fault::status(Moment::BeforeWork, status).retry_after(asks), 1);
        let reply = host.call(request("courier.post_once", &scene.mail("a"))).await;
        let error = body(&reply);
        assert_eq!((error["kind"].as_str(), reply.meta.attempts), (Some("throttled"), 1), "{status} {asks}");
        assert_eq!(
            (error["action"].as_str(), error["retry_after_ms"].as_u64()),
            (Some("retry_later"), Some(wait))
        );
    }
    assert_eq!(scene.mails(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_withdrawn_while_it_waits_ends_at_once() {
    let scene = Scene::retrying(SOON).await;
    let host = scene.open().await;
    for (tool, input) in
        [("courier.post_once", scene.mail("a")), ("courier.fetch", scene.job("GET", "/orders/A-1001"))]
    {
        scene.backend.fault("", Fault::status(Moment::BeforeWork, 503).retry_after(15), 1);
        let (call, cancel, mut steps) = watched(keyed(tool, &input, tool));
        let calling = spawn(&host, call);
        assert_eq!(steps.next().await.unwrap().message, "attempt 2 of 4 in 15000 ms");
        cancel.ask();
        let reply = calling.await.unwrap();
        assert_eq!((code(&reply).as_str(), reply.meta.attempts), ("INTERRUPTED", 1), "{tool}");
        let story = story(&host, &reply);
        assert!(story.ends_with("began, backed_off, failed"), "{tool}: {story}");
        let again = host.call(keyed(tool, &input, tool)).await;
        assert_eq!((again.ok(), again.meta.attempts), (true, 2), "{tool}: {}", text(&again));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_call_waits_it_holds_no_place_and_whoever_has_its_key_waits_with_it() {
    let scene = Scene::retrying(&format!("{SOON}[limits]\nat_once = 2\n")).await;
    let host = scene.open().await;
    scene.backend.fault("/mails", Fault::status(Moment::BeforeWork, 503).retry_after(2), 1);
    let (call, _, mut steps) = watched(keyed("courier.post_once", &scene.mail("a"), "k"));
    let first = spawn(&host, call);
    steps.next().await.unwrap();
    let run = host.runs(None, 1).unwrap().remove(0);
    assert_eq!(run.state, RunState::BackingOff);
    let waiting = host.run(&run.run.to_string()).unwrap();
    assert_eq!(waiting.wakes.unwrap().since(waiting.attempts[0].ended.unwrap()), Duration::from_secs(2));
    // One place is all that a plugin may have here.
    let other = host.call(request("courier.fetch", &scene.job("GET", "/orders/A-1001"))).await;
    assert!(other.ok(), "{}", text(&other));
    let second = host.call(keyed("courier.post_once", &scene.mail("a"), "k")).await;
    let first = first.await.unwrap();
    assert!(first.ok());
    assert_stored(&first, &second);
    assert_eq!(record(&host, &first).wakes, None);
    assert_eq!(scene.mails(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reading_call_that_waits_can_be_asked_for() {
    let scene = Scene::retrying(&format!("{SOON}[limits]\nwait = \"50ms\"\n")).await;
    let host = scene.open().await;
    scene.backend.fault("/orders", Fault::status(Moment::BeforeWork, 503).retry_after(1), 1);
    let call = request("courier.fetch", &scene.job("GET", "/orders/A-1001"));
    let waiting = host.call_within(call.clone()).await;
    assert_eq!(code(&waiting), "STILL_RUNNING");
    let run = body(&waiting)["details"]["run"].as_str().unwrap().to_owned();
    let reply = loop {
        let reply = host.result(&call.caller, None, &run, None).await;
        if code(&reply) != "STILL_RUNNING" {
            break reply;
        }
    };
    assert!(reply.ok(), "{}", text(&reply));
    assert_snapshot!(story(&host, &reply), @"BACKEND_FAILED, ok: completed []; began, backed_off, retried, completed");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_that_would_begin_later_than_it_may_is_not_made() {
    let scene = Scene::retrying(SOON).await;
    let clock = SetClock::at(NOON);
    let host = scene.open_at(&clock).await;
    for (tool, input) in
        [("courier.post_once", scene.mail("a")), ("courier.fetch", scene.job("GET", "/orders/A-1001"))]
    {
        scene.backend.fault("", Fault::status(Moment::BeforeWork, 503).retry_after(1), 1);
        let (call, _, mut steps) = watched(keyed(tool, &input, tool));
        let calling = spawn(&host, call);
        assert_eq!(steps.next().await.unwrap().message, "attempt 2 of 4 in 1000 ms");
        // The machine slept meanwhile.
        clock.pass(Duration::from_secs(3600));
        let reply = calling.await.unwrap();
        assert_eq!((code(&reply).as_str(), reply.meta.attempts), ("BACKEND_FAILED", 1), "{tool}");
        host.clone().close().await;
        let log = &record(&host, &reply).attempts[0].log;
        assert!(log.ends_with("host: not tried again: its next attempt would begin too late\n"), "{log}");
        let again = host.call(keyed(tool, &input, tool)).await;
        assert!(again.ok(), "{tool}: {}", text(&again));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_place_is_waited_for_longer_than_an_attempt_may_begin() {
    let lines = "[retries]\nbase = \"2ms\"\nwithin = \"3s\"\n[limits]\nat_once = 2\nwait = \"1h\"\n";
    let scene = Scene::retrying(lines).await;
    let host = scene.open().await;
    scene.backend.fault("/mails", Fault::status(Moment::BeforeWork, 503).retry_after(2), 1);
    let (call, _, mut steps) = watched(keyed("courier.post_once", &scene.mail("a"), "k"));
    let first = spawn(&host, call);
    steps.next().await.unwrap();
    // The one place that the plugin may have here is another's meanwhile.
    let release = hold(&scene.backend, "/orders", Moment::BeforeWork, 1);
    let other = spawn(&host, request("courier.fetch", &scene.job("GET", "/orders/A-1001")));
    scene.backend.wait_until(|counts| counts.under("GET /orders").requests == 1);
    let reply = first.await.unwrap();
    assert_eq!((code(&reply).as_str(), reply.meta.attempts), ("BACKEND_FAILED", 1), "{}", text(&reply));
    host.clone().close().await;
    let log = &record(&host, &reply).attempts[0].log;
    assert!(log.ends_with("host: not tried again: no place became free in time\n"), "{log}");
    drop(release);
    assert!(other.await.unwrap().ok());
}
