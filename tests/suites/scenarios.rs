//! What goes wrong on an agent's day, from its side: each with its right end, and with the backend's own count.

use std::time::Duration;

use airlock::host::{Host, Request};
use airlock::model::id::TraceId;
use airlock::model::reply::Reply;
use airlock_tests::backend::{Fault, Moment, Options};
use airlock_tests::guests;
use airlock_tests::world::{SetClock, World, body, code, keyed, request};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::call::{NOON, Scene, assert_stored, end, text, with};
use super::retries::SOON;

/// A call in the agent's conversation.
fn said(tool: &str, input: &Value) -> Request {
    Request { trace: Some(TraceId("day".to_owned())), conversation: true, ..request(tool, input) }
}

/// What the agent is told: the code, what to do, when to come back, and after how many attempts.
fn told(reply: &Reply) -> String {
    let error = body(reply);
    let action = error["action"].as_str().unwrap_or("-");
    let after = error["retry_after_ms"].as_u64().unwrap_or_default();
    format!("{}, {action}, after {after} ms, attempts {}", code(reply), reply.meta.attempts)
}

/// How often a place was asked, and how often it did its work.
fn counted(scene: &Scene, place: &str) -> (u64, u64) {
    let count = scene.backend.counts().under(place);
    (count.requests, count.works)
}

async fn open(lines: &str) -> (Scene, Host) {
    let scene = Scene::retrying(&format!("{SOON}{lines}")).await;
    let host = scene.open().await;
    (scene, host)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_is_cut() {
    let (scene, host) = open("").await;
    scene.backend.fault("/orders", Fault::cut(Moment::AfterHead), 1);
    let read = host.call(said("courier.fetch", &scene.job("GET", "/orders/A-1001"))).await;
    assert_eq!(told(&read), "ok, -, after 0 ms, attempts 2");
    scene.backend.fault("/tickets", Fault::cut(Moment::AfterWork), 1);
    let keyed = host.call(said("courier.post_keyed", &scene.ticket("a"))).await;
    assert_eq!(told(&keyed), "ok, -, after 0 ms, attempts 2");
    assert_eq!((counted(&scene, "GET /orders"), counted(&scene, "POST /tickets")), ((2, 2), (2, 1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_goes_round_in_a_circle() {
    let (scene, host) = open("").await;
    let orders = [scene.job("GET", "/orders/A-1001"), scene.job("GET", "/orders/A-1002")];
    let mut ends = Vec::new();
    for order in orders.iter().cycle().take(16) {
        let reply = host.call(said("courier.fetch", order)).await;
        ends.push((code(&reply), reply.meta.rounds.map_or(0, |rounds| rounds.times)));
    }
    // The sixth call completes the third round; the sixteenth would complete the eighth.
    let told: Vec<usize> = ends.iter().map(|(_, rounds)| *rounds).collect();
    assert_eq!(told, [0, 0, 0, 0, 0, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8]);
    assert!(ends[..15].iter().all(|(code, _)| code == "ok"), "{ends:?}");
    assert_eq!(ends[15].0, "LOOP_DETECTED");
    assert_eq!(counted(&scene, "").0, 15);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_may_have_happened() {
    let (scene, host) = open("").await;
    scene.backend.fault("/mails", Fault::hang(Moment::AfterWork), 1);
    let host = {
        drop(host);
        let world = World::new()
            .with_plugins(&[guests::COURIER])
            .with_grant("courier", &scene.backend.url, &["127.0.0.1"])
            .with_config(&format!("{SOON}[limits]\nread = \"200ms\"\n"));
        world.open().await
    };
    let mail = Request { key: Some("m1".to_owned()), ..said("courier.post_once", &scene.mail("a")) };
    let perhaps = host.call(mail.clone()).await;
    assert_eq!(told(&perhaps), "OUTCOME_UNKNOWN, do_not_repeat, after 0 ms, attempts 1");
    assert_eq!(end(&host, &perhaps), "OUTCOME_UNKNOWN, suspended: unknown [open]");
    assert_stored(&perhaps, &host.call(mail).await);
    assert_eq!(counted(&scene, "POST /mails"), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mail_is_sent_already() {
    let (scene, host) = open("").await;
    let mail = with(scene.mail("a"), json!({ "then": "transient" }));
    let call = Request { key: Some("m1".to_owned()), ..said("courier.post_once", &mail) };
    let half = host.call(call.clone()).await;
    assert_eq!(told(&half), "PARTLY_DONE, do_not_repeat, after 0 ms, attempts 1");
    assert_eq!(end(&host, &half), "PARTLY_DONE, suspended: half_done [done 202]");
    assert_stored(&half, &host.call(call).await);
    assert_eq!(counted(&scene, "POST /mails"), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backend_asks_to_be_left_alone_until_a_date() {
    const TEN_MINUTES_LATER: &str = "Fri, 15 Jan 2027 08:10:00 GMT";
    let scene = Scene::retrying(SOON).await;
    let clock = SetClock::at(NOON);
    let host = scene.open_at(&clock).await;
    scene.backend.fault("/mails", Fault::status(Moment::BeforeWork, 429).retry_after(TEN_MINUTES_LATER), 1);
    let call = keyed("courier.post_once", &scene.mail("a"), "m1");
    let later = host.call(call.clone()).await;
    assert_eq!(told(&later), "BACKEND_THROTTLED, retry_later, after 600000 ms, attempts 1");
    assert_eq!(counted(&scene, "POST /mails"), (1, 0));
    clock.forward(Duration::from_secs(600));
    let done = host.call(call).await;
    assert_eq!(told(&done), "ok, -, after 0 ms, attempts 2");
    assert_eq!(counted(&scene, "POST /mails"), (2, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backend_is_not_there_for_a_while() {
    // An address of its own, so that no other test's listener comes to stand there.
    let vacant = std::net::TcpListener::bind("127.77.0.2:0").and_then(|taken| taken.local_addr()).unwrap();
    let url = format!("http://{vacant}");
    let world = World::new()
        .with_plugins(&[guests::COURIER])
        .with_grant("courier", &url, &["127.77.0.2"])
        .with_config(SOON);
    let clock = SetClock::at(NOON);
    let seams = airlock::host::Seams::system(&world.config()).unwrap();
    let host =
        world.open_with(airlock::host::Seams { clock: std::sync::Arc::clone(&clock) as _, ..seams }).await;
    let mail = json!({ "method": "POST", "url": format!("{url}/mails"), "body": "{\"subject\":\"a\"}" });
    let call = |key: &str| keyed("courier.post_once", &mail, key);
    // Four attempts of the first call, and the second call's opens the breaker.
    assert_eq!(
        told(&host.call(call("m1")).await),
        "BACKEND_UNREACHABLE, retry_later, after 0 ms, attempts 4"
    );
    assert_eq!(
        told(&host.call(call("m2")).await),
        "BACKEND_UNREACHABLE, retry_later, after 30000 ms, attempts 1"
    );
    assert_eq!(told(&host.call(call("m3")).await), "CIRCUIT_OPEN, retry_later, after 30000 ms, attempts 0");
    let backend = Options { address: vacant, ..Options::default() }.start().unwrap();
    assert_eq!(code(&host.call(call("m1")).await), "CIRCUIT_OPEN", "nobody looks before the time is over");
    clock.forward(Duration::from_secs(30));
    for key in ["m1", "m2", "m3"] {
        let done = host.call(call(key)).await;
        assert!(done.ok(), "{key}: {}", text(&done));
    }
    let count = backend.counts().of("POST /mails");
    assert_eq!((count.requests, count.works), (3, 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_sends_the_same_wrong_input_again_and_again() {
    let (scene, host) = open("").await;
    let wrong = json!({ "methd": "GET", "url": format!("{}/orders/A-1001", scene.backend.url) });
    let mut ends = Vec::new();
    for _ in 0..9 {
        let reply = host.call(said("courier.fetch", &wrong)).await;
        let rounds = reply.meta.rounds.map_or(0, |rounds| rounds.times);
        ends.push(format!("{} {} {rounds}", code(&reply), body(&reply)["action"].as_str().unwrap()));
    }
    assert_snapshot!(ends.join("\n"), @"
    INVALID_INPUT fix_input 0
    INVALID_INPUT fix_input 0
    INVALID_INPUT fix_input 3
    INVALID_INPUT fix_input 4
    INVALID_INPUT fix_input 5
    INVALID_INPUT fix_input 6
    INVALID_INPUT fix_input 7
    LOOP_DETECTED stop 8
    LOOP_DETECTED stop 9
    ");
    assert_eq!(counted(&scene, "").0, 0);
    // The right one goes on, and is told as what it is.
    assert!(host.call(said("courier.fetch", &scene.job("GET", "/orders/A-1001"))).await.ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_is_not_there_is_asked_for_again_and_again() {
    let (_scene, host) = open("").await;
    let mut ends = Vec::new();
    for tool in ["courier.fetsh", "fetsh"] {
        for _ in 0..8 {
            let call = said(tool, &json!({}));
            let reply = if tool.contains('.') { host.call(call).await } else { host.absent(call).await };
            ends.push(format!("{} {}", code(&reply), reply.meta.rounds.map_or(0, |rounds| rounds.times)));
        }
    }
    let once = ["UNKNOWN_TOOL 0", "UNKNOWN_TOOL 0", "UNKNOWN_TOOL 3", "UNKNOWN_TOOL 4", "UNKNOWN_TOOL 5"];
    let once = [&once[..], &["UNKNOWN_TOOL 6", "UNKNOWN_TOOL 7", "LOOP_DETECTED 8"]].concat();
    assert_eq!(ends, [&once[..], &once[..]].concat());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backend_is_too_slow_for_each_layer_of_time() {
    let slow = |times| Fault::slow(Moment::BeforeWork, Duration::from_millis(times));
    let fetch = |scene: &Scene| scene.job("GET", "/orders/A-1001");
    let message = |reply: &Reply| body(reply)["message"].as_str().unwrap().to_owned();
    // A request: attempts and the run have seconds left.
    let (scene, host) = open("[limits]\nread = \"100ms\"\n").await;
    scene.backend.fault("/orders", slow(5_000), 4);
    let reply = host.call(said("courier.fetch", &fetch(&scene))).await;
    assert_eq!(told(&reply), "ANSWER_BROKEN, retry_later, after 0 ms, attempts 4");
    assert_eq!(message(&reply), "the answer broke off; a request took longer than 100ms ([limits] read)");
    assert_eq!(counted(&scene, "").0, 4);
    // An attempt: no request of it is too slow, and the run has time for four.
    let (scene, host) = open("[limits]\nread = \"400ms\"\nattempt = \"500ms\"\n").await;
    scene.backend.fault("/orders", slow(300), 8);
    let twice = with(fetch(&scene), json!({ "times": 2 }));
    let reply = host.call(said("courier.fetch", &twice)).await;
    assert_eq!(told(&reply), "TIME_LIMIT, stop, after 0 ms, attempts 4");
    assert_eq!(message(&reply), "the attempt took longer than 500ms ([limits] attempt)");
    assert!((4..=8).contains(&counted(&scene, "").0));
    // The whole: no request and no attempt is too slow, and there is no time for another.
    let (scene, host) = open("[limits]\nread = \"900ms\"\nattempt = \"1s\"\nrun = \"1300ms\"\n").await;
    scene.backend.fault("/orders", slow(600), 1);
    scene.backend.fault("/orders", Fault::status(Moment::BeforeWork, 503), 1);
    scene.backend.fault("/orders", slow(800), 2);
    let reply = host.call(said("courier.fetch", &with(fetch(&scene), json!({ "times": 2 })))).await;
    assert_eq!(told(&reply), "TIME_LIMIT, stop, after 0 ms, attempts 2");
    assert_eq!(message(&reply), "all attempts together took longer than 1.3s ([limits] run)");
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_dead_backend_many_callers_together_ask_it_hardly_more_often_than_they_call() {
    // No breaker: what holds them is how often one call may be tried again, and what a tool's retries may cost together.
    let (scene, host) = open("[breaker]\nin_a_row = 10000\nleast = 10000\n").await;
    scene.backend.fault("/orders", Fault::status(Moment::BeforeWork, 503), 10_000);
    const CALLS: u64 = 200;
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..CALLS {
        let (host, call) = (host.clone(), request("courier.fetch", &scene.job("GET", "/orders/A-1001")));
        calls.spawn(async move { host.call(call).await.meta.attempts });
    }
    let attempts = calls.join_all().await;
    assert!(attempts.iter().all(|attempts| (1..=4).contains(attempts)), "{attempts:?}");
    let sent = counted(&scene, "").0;
    assert_eq!(sent, attempts.iter().map(|attempts| u64::from(*attempts)).sum::<u64>());
    assert!(sent * 10 < CALLS * 12, "{sent}");
    // With a breaker there are hardly any.
    let (scene, host) = open("").await;
    scene.backend.fault("/orders", Fault::status(Moment::BeforeWork, 503), 10_000);
    for _ in 0..CALLS {
        host.call(request("courier.fetch", &scene.job("GET", "/orders/A-1001"))).await;
    }
    assert_eq!(counted(&scene, "").0, 5);
}
