//! How long a host keeps what was said in a call, and what it answers after that.

use std::sync::Arc;
use std::time::Duration;

use airlock::host::{Host, Seams};
use airlock::model::id::{CallerName, Digest};
use airlock::model::reply::Reply;
use airlock::model::run::Record;
use airlock_tests::backend::{Fault, Moment};
use airlock_tests::world::{SetClock, body, code, keyed, request};

use super::{NOON, Scene, assert_stored, record, text};

const DAY: Duration = Duration::from_secs(24 * 3600);
const MOMENT: Duration = Duration::from_millis(1);

/// The record of a run once a host that was just opened has removed its texts.
async fn emptied(host: &Host, reply: &Reply) -> Record {
    let swept = async {
        while record(host, reply).removed.is_none() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), swept).await.expect("the texts stay");
    record(host, reply)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_opens_removes_what_was_said_a_month_ago_and_keeps_what_was_done() {
    let scene = Scene::courier("").await;
    let clock = SetClock::at(NOON);
    let host = scene.open_at(&clock).await;
    let mail = scene.mail("a");
    let first = host.call(keyed("courier.post_once", &mail, "k")).await;
    let read = host.call(request("courier.fetch", &scene.job("GET", "/orders/A-1001"))).await;
    assert!(first.ok() && read.ok());
    clock.forward(30 * DAY + MOMENT);
    let later = scene.open_at(&clock).await;
    let record = emptied(&later, &first).await;
    let removed = record.removed.unwrap();
    assert_eq!(removed.input, Digest::of(mail.to_string().as_bytes()));
    assert_eq!(removed.result, Some(Digest::of(text(&first).as_bytes())));
    assert_eq!((record.effects.len(), record.attempts.len(), record.events.len()), (1, 1, 2));
    emptied(&later, &read).await;
    let (caller, run) = (CallerName("local".to_owned()), first.meta.run.unwrap().to_string());
    let told = body(&later.result(&caller, None, &run, None).await);
    assert_eq!(told["message"], format!("the result of the run is no longer kept: {run}"), "{told}");
    // The key's own time was over before, so that nothing was to be given from there.
    assert!(later.call(keyed("courier.post_once", &mail, "k")).await.ok());
    assert_eq!(scene.mails(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn how_long_it_is_kept_is_configured_and_a_run_that_waits_for_a_person_keeps_all() {
    let scene = Scene::courier("[limits]\nkeep = \"1h\"\npayloads = \"2h\"\n").await;
    let clock = SetClock::at(NOON);
    let host = scene.open_at(&clock).await;
    scene.backend.fault("/mails", Fault::cut(Moment::AfterWork), 1);
    let lost = host.call(keyed("courier.post_once", &scene.mail("lost"), "lost")).await;
    assert_eq!(code(&lost), "OUTCOME_UNKNOWN");
    let mail = scene.mail("a");
    let done = host.call(keyed("courier.post_once", &mail, "k")).await;
    clock.forward(Duration::from_secs(2 * 3600) + MOMENT);
    let later = scene.open_at(&clock).await;
    emptied(&later, &done).await;
    assert_stored(&lost, &later.call(keyed("courier.post_once", &scene.mail("lost"), "lost")).await);
    assert!(record(&later, &lost).removed.is_none());
    // Its tombstone stands, and what it once gave is gone.
    assert_eq!(code(&later.call(keyed("courier.post_once", &mail, "k")).await), "KEY_EXPIRED");
    clock.back(Duration::from_secs(2 * 3600));
    assert_eq!(code(&later.call(keyed("courier.post_once", &mail, "k")).await), "KEY_EXPIRED");
    assert_eq!(scene.mails(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_that_are_over_all_go_when_a_host_opens() {
    let scene = Scene::courier("").await;
    let clock = SetClock::at(NOON);
    let seams = Seams::system(&scene.world.config()).unwrap();
    let host = scene.world.open_with(Seams { clock: Arc::clone(&clock) as _, ..seams }).await;
    let mut calls = Vec::new();
    for number in 0..40 {
        let order = scene.job("GET", &format!("/orders/A-{number}"));
        calls.push(host.call(keyed("courier.fetch", &order, &format!("k{number}"))).await);
    }
    clock.forward(31 * DAY);
    let later = scene.open_at(&clock).await;
    for reply in &calls {
        emptied(&later, reply).await;
    }
}
