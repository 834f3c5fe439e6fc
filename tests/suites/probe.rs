//! Calls of which nobody knows what became: their plugin is asked, and the backend's counts say whether it told the truth.

use std::time::Duration;

use airlock::host::{Host, Request};
use airlock::model::reply::Reply;
use airlock_tests::backend::{Backend, Fault, Moment};
use airlock_tests::guests;
use airlock_tests::world::{SetClock, World, body, code, keyed, request};
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::call::{NOON, Scene, assert_stored, record, standing};

/// Who sends mails that nobody need confirm, waits for nothing, and asks no backend to be left alone.
const LINES: &str =
    "[tools.\"desk.send_mail\"]\nconfirm = \"none\"\n[breaker]\nin_a_row = 10000\nleast = 10000\n";

/// A desk that is asked what became of its calls, and whose calls are tried again so often.
async fn desk(retries: u32, lines: &str) -> (Scene, Host) {
    let retries = format!("[retries]\nmost = {retries}\nbase = \"1ms\"\ncap = \"1ms\"\n");
    let scene = Scene::asked_desk(&format!("{LINES}{retries}{lines}")).await;
    let host = scene.open().await;
    assert_eq!(host.faults(), [], "every plugin loads");
    (scene, host)
}

fn a_mail() -> Value {
    json!({ "to": "ada@example.com", "subject": "Lamp", "body": "Another one is on its way." })
}

fn mail() -> Request {
    request("desk.send_mail", &a_mail())
}

/// How a call ended, where its run stands, and what happened to it.
fn told(host: &Host, reply: &Reply) -> String {
    let record = record(host, reply);
    let events: Vec<&str> = record.events.iter().map(|happened| happened.event.as_str()).collect();
    format!("{}, {}: {}", code(reply), standing(&record), events.join(", "))
}

fn asked(scene: &Scene) -> u64 {
    scene.backend.counts().of("GET /mails").requests
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mail_whose_answer_is_lost_is_found_and_its_result_is_the_calls() {
    let (scene, host) = desk(3, "").await;
    scene.backend.fault("POST /mails", Fault::cut(Moment::AfterWork), 1);
    let call = || keyed("desk.send_mail", &a_mail(), "k1");
    let first = host.call(call()).await;
    assert_eq!(body(&first), json!({ "mail_id": "M-1001", "status": "queued" }));
    assert_snapshot!(told(&host, &first), @"ok, completed [done]: began, probed: happened, completed");
    assert_stored(&first, &host.call(call()).await);
    assert_eq!((scene.mails(), asked(&scene), first.meta.attempts), (1, 1, 1));
    let log = record(&host, &first).attempts[0].log.clone();
    assert!(log.contains("host: its plugin found that it happened\n"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mail_that_was_not_sent_is_sent_by_another_attempt() {
    let (scene, host) = desk(3, "").await;
    scene.backend.fault("POST /mails", Fault::cut(Moment::BeforeWork), 1);
    let reply = host.call(mail()).await;
    assert_snapshot!(told(&host, &reply), @"ok, completed [not_done, done 202]: began, probed: did-not, backed_off, retried, completed");
    assert_eq!((scene.mails(), reply.meta.attempts), (1, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn that_a_mail_was_not_sent_yet_tells_nothing_while_the_desk_may_be_at_it() {
    let lines = format!("{LINES}[limits]\nread = \"200ms\"\n");
    let (scene, clock) = (Scene::asked_desk(&lines).await, SetClock::at(NOON));
    let host = scene.open_at(&clock).await;
    scene.backend.fault("POST /mails", Fault::hang(Moment::BeforeWork), 1);
    let call = || keyed("desk.send_mail", &a_mail(), "k1");
    let reply = host.call(call()).await;
    assert_snapshot!(told(&host, &reply), @"OUTCOME_UNKNOWN, suspended: unknown [open]: began, suspended: unknown");
    // Nor does it for who asks again at once.
    assert_eq!(code(&host.call(call()).await), "OUTCOME_UNKNOWN");
    assert_eq!(scene.backend.counts().of("POST /mails").requests, 1);
    clock.forward(Duration::from_secs(61));
    assert_eq!(host.find_out().await, Ok(1));
    assert_snapshot!(told(&host, &reply), @"OUTCOME_UNKNOWN, failed [not_done]: began, suspended: unknown, probed: did-not");
}

#[tokio::test(flavor = "multi_thread")]
async fn where_the_host_does_not_try_again_the_same_key_sends_it() {
    let (scene, host) = desk(0, "").await;
    scene.backend.fault("POST /mails", Fault::cut(Moment::BeforeWork), 1);
    let first = host.call(mail()).await;
    assert_snapshot!(told(&host, &first), @"ANSWER_BROKEN, failed [not_done]: began, probed: did-not, failed");
    let run = first.meta.run.unwrap().to_string();
    let error = body(&first);
    assert_eq!((error["kind"].as_str(), error["action"].as_str()), (Some("transient"), Some("retry_later")));
    assert_eq!(error["details"]["key"], format!("airlock-{run}"));
    let again = host.call(keyed("desk.send_mail", &a_mail(), &format!("airlock-{run}"))).await;
    assert_eq!((again.ok(), again.meta.run, scene.mails()), (true, first.meta.run, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_gives_no_answer_is_asked_so_often_and_then_a_person_decides() {
    let (scene, host) = desk(3, "").await;
    scene.backend.fault("POST /mails", Fault::cut(Moment::AfterWork), 1);
    scene.backend.fault("GET /mails", Fault::status(Moment::BeforeWork, 503), 100);
    let reply = host.call(mail()).await;
    assert_snapshot!(told(&host, &reply), @"OUTCOME_UNKNOWN, suspended: unknown [open]: began, probed: no answer, probed: no answer, probed: no answer, probed: no answer, probed: no answer, suspended: unknown");
    assert_eq!(asked(&scene), 5);
    scene.backend.clear_faults();
    // Nobody asks once more than that.
    assert_eq!(host.find_out().await, Ok(0));
    let run = reply.meta.run.unwrap().to_string();
    let happened = airlock::host::Decision::Happened {
        data: Some(json!({ "mail_id": "M-1001", "status": "queued" }).to_string()),
    };
    assert!(host.decide(&run, happened, "Li").await.unwrap().ok());
    assert_eq!((asked(&scene), scene.mails()), (5, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_whose_backend_is_left_alone_is_asked_once_that_comes_back() {
    let confirm =
        "[tools.\"desk.send_mail\"]\nconfirm = \"none\"\n[breaker]\nin_a_row = 1\n[retries]\nmost = 0\n";
    let (scene, clock) = (Scene::asked_desk(confirm).await, SetClock::at(NOON));
    let host = scene.open_at(&clock).await;
    scene.backend.fault("POST /mails", Fault::cut(Moment::AfterWork), 1);
    scene.backend.fault("GET /mails", Fault::status(Moment::BeforeWork, 503), 1);
    let reply = host.call(mail()).await;
    // The failure of the first asking is what opens the breaker.
    assert_snapshot!(told(&host, &reply), @"OUTCOME_UNKNOWN, suspended: unknown [open]: began, probed: no answer, suspended: unknown");
    assert_eq!((host.find_out().await, asked(&scene)), (Ok(0), 1));
    clock.forward(Duration::from_secs(31));
    assert_eq!(host.find_out().await, Ok(1));
    assert_snapshot!(told(&host, &reply), @"OUTCOME_UNKNOWN, completed [done]: began, probed: no answer, suspended: unknown, probed: happened");
    assert_eq!((scene.mails(), asked(&scene)), (1, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_comes_at_the_third_asking_will_do() {
    let (scene, host) = desk(0, "").await;
    scene.backend.fault("POST /mails", Fault::cut(Moment::AfterWork), 1);
    scene.backend.fault("GET /mails", Fault::status(Moment::BeforeWork, 503), 2);
    let reply = host.call(mail()).await;
    assert_snapshot!(told(&host, &reply), @"ok, completed [done]: began, probed: no answer, probed: no answer, probed: happened, completed");
    assert_eq!((scene.mails(), asked(&scene)), (1, 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_takes_too_long_is_none() {
    let (scene, host) = desk(0, "[probe]\ntries = 2\ntime = \"100ms\"\n").await;
    scene.backend.fault("POST /mails", Fault::cut(Moment::AfterWork), 1);
    scene.backend.fault("GET /mails", Fault::hang(Moment::BeforeWork), 2);
    let reply = host.call(mail()).await;
    assert_snapshot!(told(&host, &reply), @"OUTCOME_UNKNOWN, suspended: unknown [open]: began, probed: no answer, probed: no answer, suspended: unknown");
    let log = record(&host, &reply).attempts[0].log.clone();
    let why = "finding out what became of it took longer than 100ms ([probe] time)";
    assert!(log.contains(&format!("host: its plugin does not tell what became of it: {why}")), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_plugin_is_asked_that_must_not_be_or_has_nothing_to_tell() {
    let (scene, host) = desk(0, "[probe]\ntries = 0\n").await;
    scene.backend.fault("POST /mails", Fault::cut(Moment::AfterWork), 1);
    assert_snapshot!(told(&host, &host.call(mail()).await), @"OUTCOME_UNKNOWN, suspended: unknown [open]: began, suspended: unknown");
    assert_eq!((host.find_out().await, asked(&scene)), (Ok(0), 0));
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    scene.backend.fault("/mails", Fault::cut(Moment::AfterWork), 1);
    let reply = host.call(request("courier.post_once", &scene.mail("x"))).await;
    assert_snapshot!(told(&host, &reply), @"OUTCOME_UNKNOWN, suspended: unknown [open]: began, suspended: unknown");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_is_asked_for_again_by_its_key_first() {
    let (scene, host) = desk(1, "").await;
    let ticket = json!({ "order_id": "A-1003", "subject": "Lamp", "body": "It broke." });
    scene.backend.fault("POST /tickets", Fault::cut(Moment::AfterWork), 1);
    let reply = host.call(request("desk.create_ticket", &ticket)).await;
    assert_snapshot!(told(&host, &reply), @"ok, completed [open, done 201]: began, backed_off, retried, completed");
    assert_eq!(scene.backend.counts().of("GET /tickets").requests, 0);
    // Where that is not enough, its plugin is asked.
    scene.backend.fault("POST /tickets", Fault::cut(Moment::AfterWork), 2);
    let reply = host.call(request("desk.create_ticket", &ticket)).await;
    assert_snapshot!(told(&host, &reply), @"ok, completed [done, done]: began, backed_off, retried, probed: happened, completed");
    assert_eq!(body(&reply)["ticket_id"], "T-1002");
    assert_eq!(scene.backend.counts().of("POST /tickets").works, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_the_tool_does_not_give_is_none() {
    let backend = Backend::start().await;
    let world = World::in_memory()
        .with_plugins(&[guests::MEDDLER])
        .with_config("[retries]\nmost = 0\n[probe]\ntries = 1\n")
        .with_grant("meddler", &backend.url, &["127.0.0.1"]);
    let host = world.open().await;
    assert_eq!(host.faults(), [], "every plugin loads");
    let mut ends = Vec::new();
    for found in ["bare", "too_much"] {
        backend.fault("PUT /settings", Fault::cut(Moment::AfterWork), 1);
        let reply =
            host.call(request("meddler.meddle", &json!({ "url": backend.url, "found": found }))).await;
        let log = record(&host, &reply).attempts[0].log.clone();
        let why = log.lines().filter(|line| line.starts_with("host: ") && line.contains("its plugin "));
        ends.push(format!("{}\n{}", told(&host, &reply), why.collect::<Vec<_>>().join("\n")));
    }
    assert_snapshot!(ends.join("\n\n"), @"
    OUTCOME_UNKNOWN, suspended: unknown [open]: began, probed: unknown, suspended: unknown
    host: its plugin found that it happened, and cannot tell with what result: a person can

    OUTCOME_UNKNOWN, suspended: unknown [open]: began, probed: no answer, suspended: unknown
    host: what its plugin tells of it is none of its results: the output is not as declared: /said: must have at most 20 items and has 21
    ");
}
