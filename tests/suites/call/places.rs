//! Places: how many calls run at once, who waits, and who is told to come back.

use airlock::host::{Host, Request};
use airlock_tests::backend::Moment;
use airlock_tests::guests;
use airlock_tests::world::{body, code, keyed, request};
use insta::assert_snapshot;
use serde_json::json;

use super::{Scene, as_caller, hold, spawn};

const CALLERS: &str =
    "[callers.a]\nmax_risk = \"L3\"\n[callers.b]\nmax_risk = \"L3\"\n[callers.c]\nmax_risk = \"L3\"\n";

/// A host with four places and the courier beside a plugin that needs nobody.
async fn office(limits: &str) -> (Scene, Host) {
    let Scene { world, backend } = Scene::courier(&format!("{CALLERS}[limits]\nat_once = 4\n{limits}")).await;
    let scene = Scene { world: world.with_plugins(&[guests::ECHO]), backend };
    let host = scene.open().await;
    (scene, host)
}

fn mail(scene: &Scene, caller: &str) -> Request {
    as_caller(caller, request("courier.post_once", &scene.mail("a")))
}

fn echo(caller: &str) -> Request {
    as_caller(caller, request("echo.echo", &json!({ "text": "a" })))
}

#[tokio::test(flavor = "multi_thread")]
async fn one_plugin_has_half_of_the_places_and_others_run_beside_it() {
    let (scene, host) = office("wait = \"200ms\"\n").await;
    let release = hold(&scene.backend, "/mails", Moment::BeforeWork, 2);
    let held = [spawn(&host, mail(&scene, "a")), spawn(&host, mail(&scene, "b"))];
    scene.backend.wait_until(|counts| counts.of("POST /mails").requests == 2);
    let refused = host.call(mail(&scene, "c")).await;
    assert_eq!(code(&refused), "OVERLOADED");
    assert!(host.call(echo("c")).await.ok());
    drop(release);
    for call in held {
        assert!(call.await.unwrap().ok());
    }
    assert_eq!(scene.mails(), 2, "who was told to come back was not run");
    assert!(host.call(mail(&scene, "c")).await.ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn one_caller_has_half_of_the_places_and_others_run_beside_it() {
    let (scene, host) = office("wait = \"200ms\"\n").await;
    let release = hold(&scene.backend, "/mails", Moment::BeforeWork, 2);
    let held = [spawn(&host, mail(&scene, "a")), spawn(&host, mail(&scene, "a"))];
    scene.backend.wait_until(|counts| counts.of("POST /mails").requests == 2);
    assert_eq!(code(&host.call(echo("a")).await), "OVERLOADED");
    assert!(host.call(echo("b")).await.ok());
    drop(release);
    for call in held {
        assert!(call.await.unwrap().ok());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_told_to_come_back_is_told_when_and_leaves_nothing_behind() {
    let (scene, host) = office("wait = \"200ms\"\n").await;
    let release = hold(&scene.backend, "/mails", Moment::BeforeWork, 2);
    let held = [spawn(&host, mail(&scene, "a")), spawn(&host, mail(&scene, "a"))];
    scene.backend.wait_until(|counts| counts.of("POST /mails").requests == 2);
    let asked = || as_caller("a", keyed("courier.post_once", &scene.mail("b"), "k"));
    let refused = host.call(asked()).await;
    assert_snapshot!(scene.shown(&refused), @r#"
    {
      "ok": false,
      "error": {
        "code": "OVERLOADED",
        "kind": "throttled",
        "message": "no place became free within 200ms; nothing was run",
        "retryable": true,
        "action": "retry_later",
        "retry_after_ms": 1000
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
    assert!(body(&refused)["retry_after_ms"].as_u64().unwrap() > 0);
    assert_eq!(host.runs(None, 10).unwrap().len(), 2);
    drop(release);
    for call in held {
        assert!(call.await.unwrap().ok());
    }
    let again = host.call(asked()).await;
    assert!(again.ok() && !again.meta.replayed, "its key was free");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_waits_gets_the_place_that_becomes_free() {
    let (scene, host) = office("").await;
    let release = hold(&scene.backend, "/mails", Moment::BeforeWork, 2);
    let calls: Vec<_> = (0..6).map(|_| spawn(&host, mail(&scene, "a"))).collect();
    scene.backend.wait_until(|counts| counts.of("POST /mails").requests == 2);
    assert!(host.call(echo("b")).await.ok());
    assert_eq!(scene.backend.counts().of("POST /mails").requests, 2, "no more than half at once");
    drop(release);
    for call in calls {
        assert!(call.await.unwrap().ok());
    }
    assert_eq!(scene.mails(), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn beyond_those_who_may_wait_a_call_is_told_at_once() {
    let (scene, host) = office("waiting = 1\n").await;
    let release = hold(&scene.backend, "/mails", Moment::BeforeWork, 2);
    let mut calls: Vec<_> = (0..2).map(|_| spawn(&host, mail(&scene, "a"))).collect();
    scene.backend.wait_until(|counts| counts.of("POST /mails").requests == 2);
    let mut refused = 0;
    // One of these waits, and the others learn that before anything else can happen.
    let (told, mut heard) = tokio::sync::mpsc::unbounded_channel();
    for _ in 0..5 {
        let (told, call) = (told.clone(), spawn(&host, mail(&scene, "a")));
        calls.push(tokio::spawn(async move {
            let reply = call.await.unwrap();
            let _ = told.send(code(&reply));
            reply
        }));
    }
    while refused < 4 {
        assert_eq!(heard.recv().await.as_deref(), Some("OVERLOADED"));
        refused += 1;
    }
    drop(release);
    let mut done = 0;
    for call in calls {
        done += usize::from(call.await.unwrap().ok());
    }
    assert_eq!((done, scene.mails()), (3, 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_wants_the_whole_queue_leaves_room_for_another() {
    let (scene, host) = office("waiting = 4\n").await;
    let release = hold(&scene.backend, "/mails", Moment::BeforeWork, 2);
    let mut calls: Vec<_> = (0..2).map(|_| spawn(&host, mail(&scene, "a"))).collect();
    scene.backend.wait_until(|counts| counts.of("POST /mails").requests == 2);
    let (told, mut heard) = tokio::sync::mpsc::unbounded_channel();
    for _ in 0..6 {
        let (told, call) = (told.clone(), spawn(&host, mail(&scene, "a")));
        calls.push(tokio::spawn(async move {
            let reply = call.await.unwrap();
            let _ = told.send(reply.clone());
            reply
        }));
    }
    let mut refused = Vec::new();
    while refused.len() < 4 {
        refused.extend(heard.recv().await);
    }
    for reply in &refused {
        assert_eq!((code(reply).as_str(), &body(reply)["retry_after_ms"]), ("OVERLOADED", &json!(1000)));
    }
    assert_snapshot!(body(&refused[0])["message"].as_str().unwrap(), @"every place that this caller may have is taken, and 2 of its calls wait already: the rest of the queue is for other callers; nothing was run");
    let other = spawn(&host, mail(&scene, "b"));
    // By the time that this one is refused, the other has been let in.
    assert_eq!(code(&host.call(mail(&scene, "a")).await), "OVERLOADED");
    drop(release);
    assert!(other.await.unwrap().ok());
    let mut done = 0;
    for call in calls {
        done += usize::from(call.await.unwrap().ok());
    }
    assert_eq!((done, scene.mails()), (4, 5));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_no_longer_waits_keeps_nobody_else_from_waiting() {
    let (scene, host) = office("wait = \"100ms\"\nwaiting = 1\n").await;
    let release = hold(&scene.backend, "/mails", Moment::BeforeWork, 2);
    let held = [spawn(&host, mail(&scene, "a")), spawn(&host, mail(&scene, "a"))];
    scene.backend.wait_until(|counts| counts.of("POST /mails").requests == 2);
    for _ in 0..2 {
        let refused = host.call(mail(&scene, "a")).await;
        let message = body(&refused)["message"].as_str().unwrap().to_owned();
        assert!(message.starts_with("no place became free within 100ms"), "{message}");
    }
    drop(release);
    for call in held {
        assert!(call.await.unwrap().ok());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_is_given_back_while_an_effect_outlives_its_guest() {
    let (scene, host) = office("[tools.\"courier.post_once\"]\ntimeout = \"400ms\"\n").await;
    let release = hold(&scene.backend, "/mails", Moment::BeforeWork, 2);
    let held = [spawn(&host, mail(&scene, "a")), spawn(&host, mail(&scene, "a"))];
    scene.backend.wait_until(|counts| counts.of("POST /mails").requests == 2);
    // The guests end after 400 ms, their requests do not: these two wait for the guests alone.
    let order = scene.job("GET", "/orders/A-1001");
    let release_orders = hold(&scene.backend, "/orders", Moment::BeforeWork, 2);
    let read = || as_caller("a", request("courier.fetch", &order));
    let reads = [spawn(&host, read()), spawn(&host, read())];
    scene.backend.wait_until(|counts| counts.under("GET").requests == 2);
    drop(release_orders);
    for call in reads {
        assert!(call.await.unwrap().ok());
    }
    drop(release);
    for call in held {
        assert_eq!(code(&call.await.unwrap()), "PARTLY_DONE");
    }
    assert_eq!(scene.mails(), 2);
}
