//! The worker: takes what is due of any process, shares it with others, and leaves places to calls that are waited for.

use std::time::Duration;

use airlock::host::Host;
use airlock::model::state::RunState;
use airlock_tests::backend::{Fault, Moment};
use airlock_tests::world::{SetClock, code, request};
use insta::assert_snapshot;

use super::super::call::{NOON, Scene, as_caller, hold, text};
use super::{driven, leave, left, result, run_of, story};

/// Waits until a run has ended, as whoever asks for it does.
async fn ended(host: &Host, run: &str) {
    let caller = host.run(run).unwrap().summary.caller;
    while code(&host.result(&caller, None, run, None).await) == "STILL_RUNNING" {}
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_makes_what_its_own_process_and_another_leave_to_it() {
    let scene = Scene::courier("").await;
    let (works, other) = (scene.open().await, scene.open().await);
    assert!(!other.is_worked());
    let before = leave(&other, request("courier.post_once", &scene.mail("a"))).await;
    let worker = works.work().unwrap();
    assert!(other.is_worked() && works.is_worked());
    let own = leave(&works, request("courier.post_once", &scene.mail("b"))).await;
    let others = leave(&other, request("courier.post_once", &scene.mail("c"))).await;
    for run in [&before, &own, &others] {
        ended(&other, run).await;
        assert!(result(&other, run).await.ok());
    }
    assert_eq!(scene.mails(), 3);
    drop(worker);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_workers_make_each_call_once() {
    let scene = Scene::courier("").await;
    let (one, other) = (scene.open().await, scene.open().await);
    let mut runs = Vec::new();
    for number in 0..40 {
        runs.push(leave(&one, request("courier.post_once", &scene.mail(&number.to_string()))).await);
    }
    let workers = (one.work().unwrap(), other.work().unwrap());
    for run in &runs {
        ended(&one, run).await;
        assert_eq!(one.run(run).unwrap().attempts.len(), 1);
    }
    assert_eq!((scene.mails(), scene.backend.counts().of("POST /mails").requests), (40, 40));
    drop(workers);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_told_to_stop_takes_nothing_more_and_ends_what_it_is_at() {
    let scene = Scene::courier("").await;
    let (host, next) = (scene.open().await, scene.open().await);
    let worker = host.work().unwrap();
    let release = hold(&scene.backend, "/mails", Moment::BeforeWork, 1);
    let first = leave(&host, request("courier.post_once", &scene.mail("a"))).await;
    scene.backend.wait_until(|counts| counts.of("POST /mails").requests == 1);
    drop(worker);
    // Two looks of a worker that has gone on would take it.
    let second = leave(&host, request("courier.post_once", &scene.mail("b"))).await;
    drop(release);
    ended(&host, &first).await;
    assert!(result(&host, &first).await.ok());
    assert_eq!(host.run(&second).unwrap().summary.state, RunState::BackingOff);
    assert_eq!(next.drive_due().await, Ok(1));
    assert_eq!(scene.mails(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_leaves_half_of_the_places_to_calls_that_are_waited_for() {
    let scene = Scene::courier("[limits]\nat_once = 4\n[callers.agent]\nmax_risk = \"L3\"\n").await;
    let host = scene.open().await;
    let _worker = host.work().unwrap();
    let release = hold(&scene.backend, "/mails", Moment::BeforeWork, 9);
    for number in 0..9 {
        let call = as_caller("agent", request("courier.post_once", &scene.mail(&number.to_string())));
        run_of(&host.call(left(call)).await);
    }
    scene.backend.wait_until(|counts| counts.of("POST /mails").requests == 2);
    let standing = host.runs(None, 20).unwrap();
    let running = standing.iter().filter(|run| run.state == RunState::Running).count();
    assert_eq!(running, 2);
    drop(release);
    for run in standing {
        ended(&host, &run.run.to_string()).await;
    }
    assert_eq!(scene.mails(), 9);
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_take_turns_in_the_background() {
    let scene = Scene::courier("[limits]\nat_once = 4\n[callers.agent]\nmax_risk = \"L3\"\n").await;
    let host = scene.open().await;
    for number in 0..20 {
        leave(&host, request("courier.post_once", &scene.mail(&format!("many {number}")))).await;
    }
    let one = host.call(left(as_caller("agent", request("courier.post_once", &scene.mail("one"))))).await;
    let one = run_of(&one);
    // Two places are all that a worker takes here, so that one of each caller comes first.
    assert_eq!(host.drive_due().await, Ok(2));
    assert_eq!(host.run(&one).unwrap().summary.state, RunState::Completed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backend_that_is_left_alone_is_waited_for_and_no_attempt_is_lost_on_it() {
    let scene = Scene::retrying("[breaker]\nin_a_row = 1\nopen = \"60s\"\n").await;
    let clock = SetClock::at(NOON);
    let host = scene.open_at(&clock).await;
    scene.backend.fault("/mails", Fault::status(Moment::BeforeWork, 503), 1);
    let first = leave(&host, request("courier.post_once", &scene.mail("a"))).await;
    driven(&host, &clock, &first).await;
    // The failure has opened the breaker, so that it waits for that.
    assert_snapshot!(story(&host, &first), @"[BACKEND_FAILED] backing_off [failed_clean 503]: queued, driven, backed_off");
    let second = leave(&host, request("courier.post_once", &scene.mail("b"))).await;
    driven(&host, &clock, &second).await;
    assert_snapshot!(story(&host, &second), @"[] backing_off []: queued");
    for run in [&first, &second] {
        let wakes = host.run(run).unwrap().wakes.unwrap();
        assert!((60..=62).contains(&wakes.since(NOON).as_secs()), "{}", wakes.since(NOON).as_secs());
    }
    assert_eq!(scene.backend.counts().of("POST /mails").requests, 1);
    clock.pass(Duration::from_secs(62));
    while host.run(&second).unwrap().summary.state.under_way() {
        clock.pass(Duration::from_secs(1));
        host.drive_due().await.unwrap();
    }
    let reply = result(&host, &second).await;
    assert!(reply.ok(), "{}", text(&reply));
    assert_eq!(scene.mails(), 2);
}
