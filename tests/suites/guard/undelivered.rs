//! A first reply that nobody heard: whoever asks again gets it.

use airlock_tests::world::{body, code};
use serde_json::json;

use super::{heard, mail};
use crate::call::{Scene, hold, spawn, text};
use airlock_tests::backend::Moment;

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_never_arrived_is_delivered_when_it_is_asked_for_again() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    let lost = host.call(mail(&scene, "x")).await;
    let again = host.call(mail(&scene, "x")).await;
    assert_eq!((text(&again), again.meta.duplicate_of), (text(&lost), lost.meta.run));
    assert!(again.ok() && again.meta.replayed && again.meta.run == lost.meta.run);
    assert_eq!(serde_json::to_value(&again).unwrap()["meta"]["duplicate_of"], json!(lost.meta.run));
    // As long as nobody says that it has arrived.
    assert!(heard(&host, mail(&scene, "x")).await.ok());
    assert_eq!(code(&heard(&host, mail(&scene, "x")).await), "ALREADY_DONE");
    assert_eq!(scene.mails(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_left_gets_the_result_once_it_comes_back_to_another_process() {
    let scene = Scene::courier("").await;
    let (host, elsewhere) = (scene.open().await, scene.open().await);
    let release = hold(&scene.backend, "/mails", Moment::AfterWork, 1);
    let first = spawn(&host, mail(&scene, "x"));
    scene.backend.wait_until(|counts| counts.mails.len() == 1);
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    assert_eq!(code(&elsewhere.call(mail(&scene, "x")).await), "ALREADY_RUNNING");
    drop(release);
    host.quiet(std::time::Duration::from_secs(60)).await;
    let again = heard(&elsewhere, mail(&scene, "x")).await;
    assert!(again.ok() && again.meta.duplicate_of.is_some(), "{}", text(&again));
    assert_eq!(code(&host.call(mail(&scene, "x")).await), "ALREADY_DONE");
    assert_eq!(scene.mails(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_was_asked_for_by_its_run_has_arrived() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    let call = mail(&scene, "x");
    let lost = host.call(call.clone()).await;
    let run = lost.meta.run.unwrap().to_string();
    let told = host.result(&call.caller, None, &run, None).await;
    assert_eq!((body(&told), told.undelivered), (body(&lost), lost.meta.run));
    host.delivered(told.undelivered.unwrap()).await;
    assert_eq!(code(&host.call(call).await), "ALREADY_DONE");
}
