//! Keys of calls in the background: one action, whoever asks for it and however.

use airlock_tests::backend::{Fault, Moment};
use airlock_tests::world::{body, code, keyed, request};
use insta::assert_snapshot;

use super::super::call::{Scene, assert_stored, spawn, text};
use super::{leave, left, result, story};

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_left_twice_is_one_run_and_its_result_replays() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    let call = keyed("courier.post_once", &scene.mail("a"), "k");
    let run = leave(&host, call.clone()).await;
    assert_eq!(leave(&host, call.clone()).await, run);
    assert_eq!(host.drive_due().await, Ok(1));
    let told = result(&host, &run).await;
    for again in [host.call(left(call.clone())).await, host.call(call).await] {
        assert_stored(&told, &again);
    }
    assert_eq!(scene.mails(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_waits_with_the_key_of_a_call_in_the_background_gets_its_result() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    let call = keyed("courier.post_once", &scene.mail("a"), "k");
    let run = leave(&host, call.clone()).await;
    let waits = spawn(&host, call);
    assert_eq!(host.drive_due().await, Ok(1));
    let reply = waits.await.unwrap();
    assert_eq!((reply.ok(), reply.meta.run.unwrap().to_string()), (true, run), "{}", text(&reply));
    assert_eq!(scene.mails(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_with_another_input_is_refused_while_its_call_waits() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    leave(&host, keyed("courier.post_once", &scene.mail("a"), "k")).await;
    let other = host.call(left(keyed("courier.post_once", &scene.mail("b"), "k"))).await;
    assert_eq!(code(&other), "KEY_REUSED");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_failed_and_whose_key_comes_again_can_be_left_to_the_background() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    scene.backend.fault("/mails", Fault::status(Moment::BeforeWork, 503), 1);
    let call = keyed("courier.post_once", &scene.mail("a"), "k");
    let first = host.call(call.clone()).await;
    assert_eq!(code(&first), "BACKEND_FAILED");
    let run = leave(&host, call.clone()).await;
    assert_eq!(first.meta.run.unwrap().to_string(), run);
    assert_eq!(host.drive_due().await, Ok(1));
    assert_snapshot!(story(&host, &run), @"[BACKEND_FAILED, ok] completed [failed_clean 503, done 202]: began, failed, queued, driven, completed");
    assert_eq!(scene.mails(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_else_is_told_what_became_of_a_call_in_the_background() {
    let scene = Scene::courier("[callers.other]\n").await;
    let host = scene.open().await;
    let run = leave(&host, request("courier.post_once", &scene.mail("a"))).await;
    let other = airlock::model::id::CallerName("other".to_owned());
    let told = host.result(&other, None, &run, None).await;
    assert_eq!(code(&told), "INVALID_INPUT");
    assert_eq!(host.drive_due().await, Ok(1));
    let told = host.result(&other, None, &run, None).await;
    assert_eq!(body(&told)["message"], format!("there is no such run of this caller: {run}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_under_a_key_is_the_same_in_every_attempt_in_the_background() {
    let scene = Scene::retrying("[retries.background]\nbase = \"1ms\"\n").await;
    let host = scene.open().await;
    scene.backend.fault("/tickets", Fault::cut(Moment::AfterWork), 2);
    let run = leave(&host, request("courier.post_keyed", &scene.ticket("a"))).await;
    while host.run(&run).unwrap().summary.state.under_way() {
        host.drive_due().await.unwrap();
    }
    assert_snapshot!(story(&host, &run), @"[OUTCOME_UNKNOWN, OUTCOME_UNKNOWN, ok] completed [open, open, done 201]: queued, driven, backed_off, driven, backed_off, driven, completed");
    assert_eq!(scene.backend.counts().tickets.len(), 1);
    assert_eq!(scene.backend.counts().keys.len(), 1);
}
