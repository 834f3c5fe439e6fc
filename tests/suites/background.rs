//! Calls in the background: nobody waits for them, a worker makes them, and their time is bounded; the backend's counts are
//! the judge.

mod anew;
mod asleep;
mod clocks;
mod keys;
mod worker;

use std::sync::Arc;
use std::time::Duration;

use airlock::host::{Host, Request};
use airlock::model::clock::Clock as _;
use airlock::model::reply::Reply;
use airlock_tests::backend::{Fault, Moment};
use airlock_tests::world::{SetClock, body, code, keyed, request};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::call::{NOON, Scene, standing, text};

/// A call that nobody waits for.
fn left(call: Request) -> Request {
    Request { background: true, ..call }
}

/// The run that a call waits as.
#[track_caller]
fn run_of(reply: &Reply) -> String {
    assert_eq!(code(reply), "STILL_RUNNING", "{}", text(reply));
    body(reply)["details"]["run"].as_str().unwrap().to_owned()
}

/// Leaves a call to the background, and gives its run.
async fn leave(host: &Host, call: Request) -> String {
    run_of(&host.call(left(call)).await)
}

/// What became of a run, as its caller is told.
async fn result(host: &Host, run: &str) -> Reply {
    host.result(&request("", &Value::Null).caller, None, run, Some(Duration::ZERO)).await
}

/// How the attempts of a run ended, where it stands and what happened to it.
fn story(host: &Host, run: &str) -> String {
    let record = host.run(run).unwrap();
    let ends: Vec<_> = record.attempts.iter().map(|one| one.outcome.as_deref().unwrap_or("-")).collect();
    let events: Vec<_> = record.events.iter().map(|event| event.event.as_str()).collect();
    format!("[{}] {}: {}", ends.join(", "), standing(&record), events.join(", "))
}

/// Lets time pass until the run is due, and drives it.
async fn driven(host: &Host, clock: &Arc<SetClock>, run: &str) {
    let wakes = host.run(run).unwrap().wakes.expect("it waits");
    clock.pass(wakes.since(clock.now()));
    assert_eq!(host.drive_due().await, Ok(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_left_to_the_background_is_answered_at_once_and_made_by_a_worker() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    let reply = host.call(left(keyed("courier.post_once", &scene.mail("a"), "k"))).await;
    let run = run_of(&reply);
    assert_snapshot!(serde_json::to_string_pretty(&body(&reply)).unwrap().replace(&run, "RUN"), @r#"
    {
      "code": "STILL_RUNNING",
      "kind": "waiting",
      "message": "the call is made in the background, as run RUN",
      "retryable": false,
      "action": "wait",
      "retry_after_ms": 0,
      "details": {
        "run": "RUN"
      }
    }
    "#);
    assert_eq!(scene.mails(), 0);
    assert_snapshot!(story(&host, &run), @"[] backing_off []: queued");
    assert_eq!(code(&result(&host, &run).await), "STILL_RUNNING");
    assert_eq!(host.drive_due().await, Ok(1));
    assert_snapshot!(story(&host, &run), @"[ok] completed [done 202]: queued, driven, completed");
    let told = result(&host, &run).await;
    assert!(told.ok() && told.meta.replayed, "{}", text(&told));
    assert_eq!((host.drive_due().await, scene.mails()), (Ok(0), 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reading_call_can_be_left_to_the_background_too() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    let run = leave(&host, request("courier.fetch", &scene.job("GET", "/orders/A-1001"))).await;
    assert_eq!(scene.backend.counts().under("").requests, 0);
    assert_eq!(host.drive_due().await, Ok(1));
    assert!(result(&host, &run).await.ok());
    assert_snapshot!(story(&host, &run), @"[ok] completed []: queued, driven, completed");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_called_is_refused_at_once_and_leaves_nothing() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    for (call, refusal) in [
        (request("courier.none", &scene.mail("a")), "UNKNOWN_TOOL"),
        (request("courier.post_once", &json!({ "method": 1 })), "INVALID_INPUT"),
        (keyed("courier.post_once", &scene.mail("a"), "no key"), "INVALID_KEY"),
    ] {
        assert_eq!(code(&host.call(left(call)).await), refusal);
    }
    assert!(host.runs(None, 9).unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backend_that_is_down_for_hours_is_asked_ten_times_more_with_nothing_held_meanwhile() {
    let scene = Scene::retrying("[breaker]\nin_a_row = 10000\nleast = 10000\n").await;
    let clock = SetClock::at(NOON);
    let host = scene.open_at(&clock).await;
    scene.backend.fault("/mails", Fault::status(Moment::BeforeWork, 503), 11);
    let run = leave(&host, keyed("courier.post_once", &scene.mail("a"), "k")).await;
    for attempt in 1..=11 {
        driven(&host, &clock, &run).await;
        let record = host.run(&run).unwrap();
        assert_eq!(record.attempts.len(), attempt);
        if let Some(wakes) = record.wakes {
            let pause = wakes.since(record.attempts[attempt - 1].ended.unwrap()).as_millis();
            let most = 60_000.min(1000 << (attempt - 1));
            assert!(pause <= most, "{pause} ms after attempt {attempt}");
        }
    }
    let reply = result(&host, &run).await;
    assert_eq!((code(&reply).as_str(), reply.meta.attempts), ("BACKEND_FAILED", 11));
    assert_eq!((host.run(&run).unwrap().summary.state.word(), scene.mails()), ("failed", 0));
    // Its key goes on where it ended, in the background or not.
    let again = host.call(keyed("courier.post_once", &scene.mail("a"), "k")).await;
    assert_eq!((again.ok(), again.meta.attempts, scene.mails()), (true, 12, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backend_is_left_alone_for_as_long_as_it_asks_up_to_a_quarter_of_an_hour() {
    let scene = Scene::retrying("").await;
    let clock = SetClock::at(NOON);
    let host = scene.open_at(&clock).await;
    scene.backend.fault("/mails", Fault::status(Moment::BeforeWork, 503).retry_after(900), 1);
    let run = leave(&host, request("courier.post_once", &scene.mail("a"))).await;
    driven(&host, &clock, &run).await;
    let record = host.run(&run).unwrap();
    assert_eq!(record.wakes.unwrap().since(record.attempts[0].ended.unwrap()).as_secs(), 900);
    clock.pass(Duration::from_secs(899));
    assert_eq!(host.drive_due().await, Ok(0));
    driven(&host, &clock, &run).await;
    assert_snapshot!(story(&host, &run), @"[BACKEND_FAILED, ok] completed [failed_clean 503, done 202]: queued, driven, backed_off, driven, completed");
    scene.backend.fault("/mails", Fault::status(Moment::BeforeWork, 503).retry_after(901), 1);
    let run = leave(&host, request("courier.post_once", &scene.mail("b"))).await;
    driven(&host, &clock, &run).await;
    let reply = result(&host, &run).await;
    assert_eq!(body(&reply)["kind"], "throttled", "{}", text(&reply));
    assert_eq!(scene.mails(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_must_not_happen_twice_is_not_tried_again_in_the_background_either() {
    let scene = Scene::retrying("").await;
    let host = scene.open().await;
    scene.backend.fault("/mails", Fault::cut(Moment::AfterWork), 1);
    let run = leave(&host, request("courier.post_once", &scene.mail("a"))).await;
    assert_eq!(host.drive_due().await, Ok(1));
    assert_snapshot!(story(&host, &run), @"[OUTCOME_UNKNOWN] suspended: unknown [open]: queued, driven, suspended: unknown");
    assert_eq!((host.drive_due().await, scene.mails()), (Ok(0), 1));
    assert_eq!(code(&result(&host, &run).await), "OUTCOME_UNKNOWN");
}
