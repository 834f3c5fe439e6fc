//! What is held while calls run, and what becomes of it: by their end, in a pause, when asked again, over midnight.

use std::sync::Arc;
use std::time::Duration;

use airlock::host::{Cancel, Host, Request};
use airlock_tests::backend::{Fault, Moment};
use airlock_tests::world::{SetClock, body, code, keyed, request};
use serde_json::json;

use super::super::call::{NOON, Scene, hold, record, spawn, text};
use super::{REST_OF_DAY, answers, open, spends_keyed, sums, sums_of, world};

/// Each call of the courier, which declares nothing, may cost 400 millionths, and two of them fit into a day.
const TWO: &str = "[budgets]\nday = \"0.0011\"\ncall = \"0.0004\"\n";

async fn two() -> (Scene, Arc<SetClock>, Host) {
    let scene = Scene::courier(TWO).await;
    let clock = SetClock::at(NOON);
    let host = scene.open_at(&clock).await;
    (scene, clock, host)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_runs_holds_what_it_may_cost_and_gives_it_back_when_it_ends() {
    let (scene, _clock, host) = two().await;
    let elsewhere = scene.open_at(&SetClock::at(NOON)).await;
    let release = hold(&scene.backend, "/orders", Moment::BeforeWork, 2);
    let order = || request("courier.fetch", &scene.job("GET", "/orders/A-1001"));
    let calls = [spawn(&host, order()), spawn(&elsewhere, order())];
    scene.backend.wait_until(|counts| counts.under("").requests == 2);
    assert_eq!(sums(&host, "all callers"), sums_of(0, 800));
    let refused = host.call(request("courier.post_once", &scene.mail("a"))).await;
    assert_eq!(
        (code(&refused).as_str(), &body(&refused)["details"]["left_micros"]),
        ("BUDGET_EXCEEDED", &json!(300))
    );
    drop(release);
    for call in calls {
        assert!(call.await.unwrap().ok());
    }
    assert_eq!(sums(&host, "all callers"), sums_of(0, 0));
    assert!(host.call(request("courier.post_once", &scene.mail("a"))).await.ok());
    assert_eq!(scene.mails(), 1, "the refused call sent nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn however_a_call_ends_it_holds_nothing_more_and_what_it_spent_is_spent() {
    let (host, _clock) =
        open(&world("[budgets]\nday = \"1\"\n[tools.\"notebook.priced\"]\ntimeout = \"200ms\"\n")).await;
    let mut spent = 0;
    for (place, end) in ["done", "fail", "reject", "trap", "spin"].into_iter().enumerate() {
        let lines = json!({ "lines": ["spend 7 tea", end] });
        let reply = host.call(keyed("notebook.priced", &lines, &format!("k{place}"))).await;
        spent += 7;
        assert_eq!(reply.meta.cost_micros, 7, "{end}: {}", text(&reply));
        assert_eq!(sums(&host, "all callers"), sums_of(spent, 0), "{end}");
    }
    let cancel = Cancel::default();
    let call = request("notebook.priced", &json!({ "lines": ["spend 7 tea", "spin"] }));
    let call = spawn(&host, Request { cancel: Some(cancel.clone()), ..call });
    while sums(&host, "all callers").held == 0 && !call.is_finished() {
        tokio::task::yield_now().await;
    }
    cancel.ask();
    let reply = call.await.unwrap();
    assert_eq!(sums(&host, "all callers"), sums_of(spent + reply.meta.cost_micros, 0), "withdrawn");
    assert_eq!(host.costs(REST_OF_DAY, None).unwrap().costs.micros, spent + reply.meta.cost_micros);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_suspended_run_holds_nothing_and_holds_again_when_it_is_tried_again() {
    let (scene, _clock, host) = two().await;
    scene.backend.fault("/tickets", Fault::cut(Moment::AfterWork), 1);
    let ticket = || keyed("courier.post_keyed", &scene.ticket("a"), "k");
    let first = host.call(ticket()).await;
    assert_eq!(code(&first), "OUTCOME_UNKNOWN");
    assert_eq!(sums(&host, "all callers"), sums_of(0, 0));
    // Two others hold all that there is: the run is as it was, and can be asked for again.
    let release = hold(&scene.backend, "/orders", Moment::BeforeWork, 2);
    let order = || request("courier.fetch", &scene.job("GET", "/orders/A-1001"));
    let calls = [spawn(&host, order()), spawn(&host, order())];
    scene.backend.wait_until(|counts| counts.of("GET /orders/A-1001").requests == 2);
    let before = record(&host, &first);
    let refused = host.call(ticket()).await;
    assert_eq!(code(&refused), "BUDGET_EXCEEDED");
    assert_eq!(record(&host, &first), before);
    drop(release);
    for call in calls {
        assert!(call.await.unwrap().ok());
    }
    let again = host.call(ticket()).await;
    assert!(again.ok() && again.meta.run == first.meta.run, "{}", text(&again));
    assert_eq!(sums(&host, "all callers"), sums_of(0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_attempt_spent_is_not_there_for_the_next_one() {
    let world = world("[budgets]\nday = \"0.0009\"\n");
    let (host, _clock) = open(&world).await;
    let lines = json!({ "lines": ["spend 300 tea", "fail", "spend 201 tea"] });
    let first = host.call(keyed("notebook.priced", &lines, "k")).await;
    assert_eq!((code(&first).as_str(), first.meta.cost_micros), ("NOT_NOW", 300));
    // 600 are left, and it can cost only 200 more.
    let other = host.call(spends_keyed("notebook.priced", 400, "other")).await;
    assert_eq!(answers(&other), ["done"]);
    let again = host.call(keyed("notebook.priced", &lines, "k")).await;
    let beyond =
        |all| format!("refused: the call would cost {all} millionths, and its tool declares 500 at most");
    assert_eq!(answers(&again), [beyond(600), "nothing is asked for".to_owned(), beyond(501)]);
    assert_eq!(again.meta.cost_micros, 300);
    assert_eq!(sums(&host, "all callers"), sums_of(700, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_tried_again_at_once_holds_on_but_for_what_it_spent() {
    let lines = "[budgets]\nday = \"0.0009\"\n[retries]\nbase = \"1ms\"\n";
    let world = airlock_tests::world::World::in_memory()
        .with_plugins(&[airlock_tests::guests::NOTEBOOK])
        .with_config(lines);
    let (host, _clock) = open(&world).await;
    let lines = json!({ "lines": ["spend 100 tea", "fail", "spend 50 tea"] });
    let reply = host.call(keyed("notebook.priced", &lines, "k")).await;
    assert_eq!((reply.meta.attempts, reply.meta.cost_micros), (2, 250));
    assert_eq!(sums(&host, "all callers"), sums_of(250, 0));
    let events: Vec<_> = record(&host, &reply).events.into_iter().map(|event| event.event).collect();
    assert_eq!(events, ["began", "backed_off", "retried", "completed"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_call_cost_that_runs_over_midnight_is_of_the_day_on_which_it_was_held() {
    let (scene, clock, host) = two().await;
    let release = hold(&scene.backend, "/mails", Moment::BeforeWork, 1);
    let call = spawn(&host, keyed("courier.post_once", &scene.mail("a"), "k"));
    scene.backend.wait_until(|counts| counts.under("").requests == 1);
    clock.forward(REST_OF_DAY + Duration::from_secs(1));
    assert_eq!(sums(&host, "all callers"), sums_of(0, 0), "nothing of the new day is held");
    clock.back(Duration::from_secs(2));
    assert_eq!(sums(&host, "all callers"), sums_of(0, 400));
    clock.forward(Duration::from_secs(2));
    drop(release);
    assert!(call.await.unwrap().ok());
    assert_eq!(sums(&host, "all callers"), sums_of(0, 0));
    clock.back(Duration::from_secs(2));
    assert_eq!(sums(&host, "all callers"), sums_of(0, 0), "and of the old one no more");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reading_call_that_holds_and_is_interrupted_can_be_asked_for_again_by_the_key_it_is_told() {
    let (scene, _clock, host) = two().await;
    scene.backend.fault("/orders", Fault::status(Moment::BeforeWork, 503), 1);
    let order = scene.job("GET", "/orders/A-1001");
    let failed = host.call(request("courier.fetch", &order)).await;
    let key = body(&failed)["details"]["key"].as_str().unwrap().to_owned();
    let again = host.call(keyed("courier.fetch", &order, &key)).await;
    assert!(again.ok() && again.meta.run == failed.meta.run, "{}", text(&again));
}
