//! Time: what is not done in it is not done at all, downtime counts, and a clock that jumps ends and starts nothing early.

use std::time::Duration;

use airlock::host::Decision;
use airlock_tests::backend::{Backend, Fault, Moment};
use airlock_tests::guests;
use airlock_tests::world::{SetClock, World, body, code, keyed, request};
use insta::assert_snapshot;
use serde_json::json;

use super::super::call::{NOON, Scene};
use super::{driven, leave, result, story};

const HOUR: Duration = Duration::from_secs(3600);
const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_nothing_made_within_a_day_is_not_made_and_its_key_may_ask_for_it_anew() {
    let scene = Scene::courier("").await;
    let clock = SetClock::at(NOON);
    let call = keyed("courier.post_once", &scene.mail("a"), "k");
    let host = scene.open_at(&clock).await;
    let run = leave(&host, call.clone()).await;
    host.close().await;
    // Nothing runs meanwhile.
    clock.pass(24 * HOUR);
    let host = scene.open_at(&clock).await;
    assert_eq!(host.drive_due().await, Ok(1));
    assert_snapshot!(story(&host, &run), @"[] timed_out []: queued, timed_out");
    let reply = result(&host, &run).await;
    assert_eq!(code(&reply), "TIME_LIMIT");
    assert_eq!(
        body(&reply)["message"],
        "the call was not done in the 1day that it may take in the background ([limits] background)"
    );
    assert_eq!(scene.mails(), 0);
    assert!(host.call(call).await.ok());
    assert_eq!(scene.mails(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_began_something_and_runs_out_of_time_waits_for_a_person() {
    let scene = Scene::retrying("[limits]\nbackground = \"1h\"\n").await;
    let clock = SetClock::at(NOON);
    let host = scene.open_at(&clock).await;
    // The setting is written, and the answer lost: it may be written again.
    scene.backend.fault("/settings", Fault::cut(Moment::AfterWork), 1);
    let unknown = leave(&host, request("courier.put", &scene.setting("door"))).await;
    driven(&host, &clock, &unknown).await;
    clock.pass(HOUR);
    assert_eq!(host.drive_due().await, Ok(1));
    assert_snapshot!(story(&host, &unknown), @"[OUTCOME_UNKNOWN] suspended: unknown [open]: queued, driven, backed_off, suspended: unknown");
    assert_eq!(scene.backend.counts().of("PUT /settings/door").requests, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_ends_when_the_time_of_its_call_does() {
    let scene = Scene::retrying("[limits]\nattempt = \"20ms\"\nbackground = \"20ms\"\n").await;
    let host = scene.open().await;
    scene.backend.fault("/orders", Fault::hang(Moment::BeforeWork), 1);
    let run = leave(&host, request("courier.fetch", &scene.job("GET", "/orders/A-1001"))).await;
    while host.run(&run).unwrap().summary.state.under_way() {
        host.drive_due().await.unwrap();
    }
    assert_eq!(host.run(&run).unwrap().summary.state.word(), "timed_out");
    assert_eq!(code(&result(&host, &run).await), "TIME_LIMIT");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_set_a_year_forward_ends_no_call_early() {
    let scene = Scene::retrying("").await;
    let clock = SetClock::at(NOON);
    let host = scene.open_at(&clock).await;
    let run = leave(&host, request("courier.post_once", &scene.mail("a"))).await;
    host.renew_leases().await.unwrap();
    clock.forward(YEAR);
    assert_eq!(host.drive_due().await, Ok(1));
    assert_snapshot!(story(&host, &run), @"[ok] completed [done 202]: queued, driven, completed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_set_a_year_forward_makes_each_call_that_waits_try_once_and_no_storm() {
    let scene = Scene::retrying("[breaker]\nin_a_row = 10000\nleast = 10000\n").await;
    let clock = SetClock::at(NOON);
    let host = scene.open_at(&clock).await;
    scene.backend.fault("/mails", Fault::status(Moment::BeforeWork, 503).retry_after(600), 100);
    for mail in ["a", "b", "c"] {
        leave(&host, request("courier.post_once", &scene.mail(mail))).await;
    }
    assert_eq!(host.drive_due().await, Ok(3));
    clock.forward(YEAR);
    assert_eq!(host.drive_due().await, Ok(3));
    for _ in 0..5 {
        clock.pass(Duration::from_secs(100));
        assert_eq!(host.drive_due().await, Ok(0));
    }
    assert_eq!(scene.backend.counts().of("POST /mails").requests, 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_is_set_back_an_hour_keeps_no_call_waiting_for_it_and_makes_no_storm() {
    let scene = Scene::retrying("[breaker]\nin_a_row = 10000\nleast = 10000\n").await;
    let clock = SetClock::at(NOON);
    let host = scene.open_at(&clock).await;
    scene.backend.fault("/mails", Fault::status(Moment::BeforeWork, 503).retry_after(600), 2);
    let run = leave(&host, request("courier.post_once", &scene.mail("a"))).await;
    assert_eq!(host.drive_due().await, Ok(1));
    clock.back(HOUR);
    assert_eq!(host.drive_due().await, Ok(1));
    for _ in 0..5 {
        clock.pass(Duration::from_secs(100));
        assert_eq!(host.drive_due().await, Ok(0));
    }
    driven(&host, &clock, &run).await;
    assert_eq!((scene.mails(), scene.backend.counts().of("POST /mails").requests), (1, 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_jumps_takes_no_run_from_a_process_that_is_at_it() {
    let scene = Scene::courier("").await;
    let (clock, other_clock) = (SetClock::at(NOON), SetClock::at(NOON));
    let (host, other) = (scene.open_at(&clock).await, scene.open_at(&other_clock).await);
    let release = super::super::call::hold(&scene.backend, "/mails", Moment::BeforeWork, 1);
    let call = super::super::call::spawn(&host, request("courier.post_once", &scene.mail("a")));
    scene.backend.wait_until(|counts| counts.of("POST /mails").requests == 1);
    for jump in [YEAR, HOUR] {
        other.renew_leases().await.unwrap();
        other_clock.forward(jump);
        other.renew_leases().await.unwrap();
        other_clock.back(2 * jump);
        other.renew_leases().await.unwrap();
        assert_eq!(other.close_abandoned().await, Ok(0));
    }
    drop(release);
    assert!(call.await.unwrap().ok());
    assert_eq!(scene.mails(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_did_a_part_and_runs_out_of_time_waits_for_a_person_for_that_reason() {
    let backend = Backend::start().await;
    let world = World::new()
        .with_plugins(&[guests::ERRAND])
        .with_grant("errand", &backend.url, &["127.0.0.1"])
        .with_config("[limits]\nbackground = \"1h\"\n");
    let scene = Scene { world, backend };
    let clock = SetClock::at(NOON);
    let host = scene.open_at(&clock).await;
    scene.backend.fault("POST /tickets", Fault::status(Moment::BeforeWork, 429), 1);
    let input = json!({ "to": scene.backend.url, "requests": "PUT /settings/door,POST /tickets" });
    let run = leave(&host, request("errand.sequence_keyed", &input)).await;
    driven(&host, &clock, &run).await;
    clock.pass(HOUR);
    assert_eq!(host.drive_due().await, Ok(1));
    assert_snapshot!(story(&host, &run), @"[PARTLY_DONE] suspended: time [done 200, failed_clean 429]: queued, driven, backed_off, suspended: time");
    assert_eq!(code(&result(&host, &run).await), "PARTLY_DONE");
    let told = host.decide(&run, Decision::Happened { data: None }, "Li").await.unwrap();
    assert_eq!((told.ok(), host.run(&run).unwrap().summary.state.word()), (true, "completed"));
}
