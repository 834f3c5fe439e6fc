//! Backends that keep failing are left alone, tried by one call at a time, and asked again when that goes well.

mod origins;

use std::sync::Arc;
use std::time::Duration;

use airlock::host::{BackendState, Cancel, Host, Request, Seams};
use airlock::model::breaker::Forced;
use airlock::model::reply::Reply;
use airlock_tests::backend::{Fault, Moment};
use airlock_tests::guests;
use airlock_tests::world::{SetClock, World, body, code, keyed, request};
use insta::assert_snapshot;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::call::{NOON, Scene, assert_stored, hold, once, spawn, text, with};

const OPEN: Duration = Duration::from_secs(30);

/// A scene on a clock that stands, whose attempts are told one by one.
async fn scene() -> (Scene, Arc<SetClock>, Host) {
    let scene = Scene::retrying(&once("")).await;
    let clock = SetClock::at(NOON);
    let host = scene.open_at(&clock).await;
    (scene, clock, host)
}

fn order(scene: &Scene) -> Value {
    scene.job("GET", "/orders/A-1001")
}

async fn fetch(host: &Host, scene: &Scene) -> Reply {
    host.call(request("courier.fetch", &order(scene))).await
}

/// Fails so often that the breaker opens.
async fn open(host: &Host, scene: &Scene) {
    scene.backend.fault("/orders", Fault::status(Moment::BeforeWork, 500), 5);
    for _ in 0..5 {
        assert_eq!(code(&fetch(host, scene).await), "BACKEND_FAILED");
    }
    assert_eq!(state(host), Some(BackendState::Open));
}

fn state(host: &Host) -> Option<BackendState> {
    host.backends().unwrap().first().map(|backend| backend.state)
}

fn requests(scene: &Scene) -> u64 {
    scene.backend.counts().under("").requests
}

#[tokio::test(flavor = "multi_thread")]
async fn after_five_failures_in_a_row_the_backend_is_left_alone_and_nothing_is_left_of_a_refusal() {
    let (scene, _, host) = scene().await;
    let before = host.call(keyed("courier.fetch", &order(&scene), "before")).await;
    open(&host, &scene).await;
    let (runs, sent) = (host.runs(None, 100).unwrap().len(), requests(&scene));
    let refused = host.call(keyed("courier.fetch", &order(&scene), "k")).await;
    assert_snapshot!(scene.shown(&refused), @r#"
    {
      "ok": false,
      "error": {
        "code": "CIRCUIT_OPEN",
        "kind": "transient",
        "message": "a backend that courier.fetch needs keeps failing, so it is left alone for now; nothing was run",
        "retryable": true,
        "action": "retry_later",
        "retry_after_ms": 30000
      },
      "meta": {
        "attempts": 0,
        "duration_ms": "COUNTED",
        "fuel": 0,
        "memory_bytes": 0,
        "effects": 0,
        "cost_micros": 0,
        "replayed": false,
        "trace_id": "TRACE"
      }
    }
    "#);
    assert_eq!((host.runs(None, 100).unwrap().len(), requests(&scene)), (runs, sent));
    // What was done before is told all the same, and other tools go on.
    assert_stored(&before, &host.call(keyed("courier.fetch", &order(&scene), "before")).await);
    assert!(host.call(request("courier.put", &scene.setting("a"))).await.ok());
    let other = host.call(keyed("courier.put", &scene.setting("a"), "k")).await;
    assert!(other.ok(), "the key of a refused call is free: {}", text(&other));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_fifty_callers_in_two_processes_tries_and_two_that_go_well_close_it() {
    let (scene, clock, first) = scene().await;
    let second = scene.open_at(&clock).await;
    open(&first, &scene).await;
    assert_eq!(code(&fetch(&second, &scene).await), "CIRCUIT_OPEN");
    clock.forward(OPEN);
    let release = hold(&scene.backend, "/orders", Moment::BeforeWork, 1);
    let call = || request("courier.fetch", &order(&scene));
    let mut calls = JoinSet::new();
    for n in 0..50 {
        let (host, call) = (if n % 2 == 0 { first.clone() } else { second.clone() }, call());
        calls.spawn(async move { host.call(call).await });
    }
    // All but the one that tries are answered while it does.
    for _ in 0..49 {
        assert_eq!(code(&calls.join_next().await.unwrap().unwrap()), "CIRCUIT_OPEN");
    }
    drop(release);
    assert!(calls.join_next().await.unwrap().unwrap().ok());
    assert_eq!(requests(&scene), 6);
    assert_eq!(state(&first), Some(BackendState::HalfOpen));
    assert!(fetch(&second, &scene).await.ok());
    assert_eq!(first.backends().unwrap(), [], "it is as if nothing had been");
    assert!(fetch(&first, &scene).await.ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_tries_and_fails_leaves_the_backend_alone_for_twice_as_long() {
    let (scene, clock, host) = scene().await;
    open(&host, &scene).await;
    clock.forward(OPEN);
    scene.backend.fault("/orders", Fault::status(Moment::BeforeWork, 500), 1);
    assert_eq!(code(&fetch(&host, &scene).await), "BACKEND_FAILED");
    clock.forward(OPEN);
    let refused = fetch(&host, &scene).await;
    assert_eq!(
        (code(&refused).as_str(), body(&refused)["retry_after_ms"].as_u64()),
        ("CIRCUIT_OPEN", Some(30_000))
    );
    clock.forward(OPEN);
    assert!(fetch(&host, &scene).await.ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn it_stays_open_over_a_restart_and_a_clock_that_was_set_back_does_not_keep_it_so() {
    let (scene, clock, host) = scene().await;
    open(&host, &scene).await;
    host.close().await;
    let host = scene.open_at(&clock).await;
    assert_eq!(code(&fetch(&host, &scene).await), "CIRCUIT_OPEN");
    clock.back(Duration::from_secs(3600));
    assert_eq!(code(&fetch(&host, &scene).await), "CIRCUIT_OPEN");
    clock.forward(OPEN);
    assert!(fetch(&host, &scene).await.ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_tries_and_is_withdrawn_gives_its_place_back() {
    let (scene, clock, host) = scene().await;
    open(&host, &scene).await;
    clock.forward(OPEN);
    let cancel = Cancel::default();
    let call = with(order(&scene), json!({ "before": "sleep" }));
    let call = Request { cancel: Some(cancel.clone()), ..request("courier.fetch", &call) };
    let trying = spawn(&host, call);
    while state(&host) != Some(BackendState::HalfOpen) {
        tokio::task::yield_now().await;
    }
    assert_eq!(code(&fetch(&host, &scene).await), "CIRCUIT_OPEN");
    cancel.ask();
    assert_eq!(code(&trying.await.unwrap()), "INTERRUPTED");
    // The clock stands still: nothing but the place that is given back ends this.
    let reply = loop {
        let reply = fetch(&host, &scene).await;
        if code(&reply) != "CIRCUIT_OPEN" {
            break reply;
        }
    };
    assert!(reply.ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_tries_and_loses_its_key_gives_its_place_back() {
    let (scene, clock, first) = scene().await;
    let seams = Seams::system(&scene.world.config()).unwrap();
    let flaky = airlock_tests::flaky::Flaky::over(Arc::clone(&seams.store));
    let seams = Seams { clock: Arc::clone(&clock) as _, store: flaky.clone(), ..seams };
    let second = scene.world.open_with(seams).await;
    scene.backend.fault("/mails", Fault::status(Moment::BeforeWork, 503), 5);
    for _ in 0..5 {
        first.call(request("courier.post_once", &scene.mail("a"))).await;
    }
    clock.forward(OPEN);
    // Its place is given, and then its run cannot be made.
    flaky.fail(airlock_tests::flaky::When::Only(2), airlock_tests::flaky::Way::Refused);
    assert_eq!(code(&second.call(request("courier.post_once", &scene.mail("a"))).await), "STORE_UNAVAILABLE");
    assert_eq!(flaky.writes(), ["ask", "reserve", "hear"]);
    flaky.heal();
    // Nobody waits for the place to be given back.
    let reply = loop {
        let reply = first.call(request("courier.post_once", &scene.mail("a"))).await;
        if code(&reply) != "CIRCUIT_OPEN" {
            break reply;
        }
    };
    assert!(reply.ok(), "{}", text(&reply));
}

#[tokio::test(flavor = "multi_thread")]
async fn half_of_ten_calls_within_the_window_open_it_and_what_went_well_before_counts() {
    let (scene, clock, host) = scene().await;
    let fail = async || {
        scene.backend.fault("/orders", Fault::status(Moment::BeforeWork, 500), 1);
        fetch(&host, &scene).await
    };
    for _ in 0..5 {
        assert!(fetch(&host, &scene).await.ok());
    }
    for _ in 0..3 {
        assert_eq!(code(&fail().await), "BACKEND_FAILED");
    }
    assert!(fetch(&host, &scene).await.ok());
    assert_eq!(code(&fail().await), "BACKEND_FAILED");
    assert_eq!(state(&host), Some(BackendState::Closed), "four of ten are less than half");
    assert_eq!(code(&fail().await), "BACKEND_FAILED");
    assert_eq!(state(&host), Some(BackendState::Closed), "and five of eleven");
    assert_eq!(code(&fail().await), "BACKEND_FAILED");
    assert_eq!(state(&host), Some(BackendState::Open));
    clock.forward(OPEN);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_business_refuses_and_who_asks_to_slow_down_opens_nothing() {
    let (scene, _, host) = scene().await;
    for status in [404, 401, 422, 429] {
        scene.backend.fault("/orders", Fault::status(Moment::BeforeWork, status), 10);
        for _ in 0..10 {
            assert!(!fetch(&host, &scene).await.ok());
        }
    }
    assert_eq!(host.backends().unwrap(), []);
    // No answer at all does; a connection that was kept is cut first, and the read sent over another.
    scene.backend.fault("/orders", Fault::cut(Moment::BeforeWork), 6);
    for _ in 0..5 {
        assert_eq!(code(&fetch(&host, &scene).await), "ANSWER_BROKEN");
    }
    assert_eq!(code(&fetch(&host, &scene).await), "CIRCUIT_OPEN");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_sends_nothing_has_no_backend_that_could_be_left_alone() {
    let lines = once("[plugin.notebook]\nkey_value = true\n[tools.\"notebook.read\"]\ntimeout = \"100ms\"\n");
    let world = World::in_memory().with_plugins(&[guests::NOTEBOOK]).with_config(&lines);
    let host = world.open().await;
    for _ in 0..6 {
        let failed = host.call(request("notebook.bare", &json!({ "lines": ["fail"] }))).await;
        assert_eq!(code(&failed), "NOT_NOW");
    }
    assert!(host.call(request("notebook.bare", &json!({ "lines": [] }))).await.ok());
    for _ in 0..6 {
        let slow = host.call(request("notebook.read", &json!({ "lines": ["spin"] }))).await;
        assert_eq!(code(&slow), "TIME_LIMIT", "one endless input shuts the tool for nobody");
    }
    assert!(host.call(request("notebook.read", &json!({ "lines": [] }))).await.ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_that_opens_the_breaker_is_not_made() {
    let scene = Scene::retrying("[retries]\nbase = \"2ms\"\nmost = 10\n").await;
    let host = scene.open().await;
    scene.backend.fault("/orders", Fault::status(Moment::BeforeWork, 500), 100);
    let reply = host.call(keyed("courier.fetch", &order(&scene), "k")).await;
    assert_eq!((code(&reply).as_str(), reply.meta.attempts), ("BACKEND_FAILED", 5));
    let wait = body(&reply)["retry_after_ms"].as_u64().unwrap();
    assert!((20_000..=30_000).contains(&wait), "{wait}");
    assert_eq!(requests(&scene), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_operator_says_holds_until_the_operator_says_otherwise() {
    let (scene, clock, host) = scene().await;
    assert_eq!(
        host.force("courier.fetch", None, Some(Forced::Open)).await.unwrap(),
        std::slice::from_ref(&scene.backend.url)
    );
    let refused = fetch(&host, &scene).await;
    assert_eq!(
        (code(&refused).as_str(), body(&refused)["retry_after_ms"].as_u64()),
        ("CIRCUIT_OPEN", Some(0))
    );
    assert_eq!(
        body(&refused)["message"],
        "an operator lets no call of courier.fetch through for now; nothing was run"
    );
    clock.forward(Duration::from_secs(24 * 3600));
    host.close().await;
    let host = scene.open_at(&clock).await;
    assert_eq!(code(&fetch(&host, &scene).await), "CIRCUIT_OPEN");
    host.force("courier.fetch", Some(&scene.backend.url), Some(Forced::Closed)).await.unwrap();
    scene.backend.fault("/orders", Fault::status(Moment::BeforeWork, 500), 7);
    for _ in 0..7 {
        assert_eq!(code(&fetch(&host, &scene).await), "BACKEND_FAILED");
    }
    assert!(fetch(&host, &scene).await.ok());
    host.force("courier.fetch", None, None).await.unwrap();
    assert_eq!(
        code(&fetch(&host, &scene).await),
        "CIRCUIT_OPEN",
        "what happened meanwhile was taken note of"
    );
    let elsewhere = host.force("courier.fetch", Some("http://elsewhere.test"), None).await.unwrap_err();
    assert!(elsewhere.message.contains("courier.fetch does not go there"), "{}", elsewhere.message);
    let unknown = host.force("courier.fetsh", None, None).await.unwrap_err();
    assert!(unknown.message.contains("did you mean courier.fetch"), "{}", unknown.message);
}
