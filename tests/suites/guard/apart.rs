//! What is held against what: callers, users and conversations are apart, and the time is bounded.

use std::time::Duration;

use airlock::host::Request;
use airlock_tests::world::{SetClock, code, request};

use super::{ends, heard, mail, said_in};
use crate::call::{NOON, Scene, as_caller};

/// Two callers who may send mails, and whose users may.
const CALLERS: &str = "[callers.bot]\nmax_risk = \"L4\"\n[callers.other]\nmax_risk = \"L4\"\n";

#[tokio::test(flavor = "multi_thread")]
async fn callers_users_and_conversations_are_apart() {
    let scene = Scene::courier(CALLERS).await;
    let host = scene.open().await;
    let plain = || request("courier.post_once", &scene.mail("x"));
    let of = |user: &str| Request { user: Some(user.parse().unwrap()), ..as_caller("bot", plain()) };
    let calls = || {
        [
            said_in("a", plain()),
            said_in("b", plain()),
            said_in("a", as_caller("bot", plain())),
            said_in("a", as_caller("other", plain())),
            said_in("a", of("ada")),
            said_in("a", of("bea")),
        ]
    };
    assert_eq!(ends(&host, calls()).await, ["ok"; 6]);
    assert_eq!(scene.mails(), 6);
    assert_eq!(ends(&host, calls()).await, ["ALREADY_DONE"; 6]);
    assert_eq!(scene.mails(), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_of_no_conversation_is_another_each_time() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    let plain = || request("courier.post_once", &scene.mail("x"));
    let traced = || Request { conversation: false, ..said_in("a", plain()) };
    assert_eq!(ends(&host, [plain(), plain(), traced(), traced()]).await, ["ok"; 4]);
    assert_eq!(scene.mails(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn after_ten_minutes_it_is_another_action() {
    let scene = Scene::courier("").await;
    let clock = SetClock::at(NOON);
    let host = scene.open_at(&clock).await;
    assert_eq!(code(&heard(&host, mail(&scene, "x")).await), "ok");
    clock.forward(Duration::from_secs(600));
    assert_eq!(code(&heard(&host, mail(&scene, "x")).await), "ALREADY_DONE");
    clock.back(Duration::from_secs(3600));
    assert_eq!(code(&heard(&host, mail(&scene, "x")).await), "ALREADY_DONE");
    clock.forward(Duration::from_millis(3_600_001));
    assert_eq!(code(&heard(&host, mail(&scene, "x")).await), "ok");
    assert_eq!(scene.mails(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn how_long_is_the_operators_to_say_and_so_is_whether_at_all() {
    let scene = Scene::courier("[limits]\nsame_action = \"2s\"").await;
    let clock = SetClock::at(NOON);
    let host = scene.open_at(&clock).await;
    assert_eq!(ends(&host, [mail(&scene, "x"), mail(&scene, "x")]).await, ["ok", "ALREADY_DONE"]);
    clock.forward(Duration::from_secs(3));
    assert_eq!(ends(&host, [mail(&scene, "x")]).await, ["ok"]);
    let scene = Scene::courier("[limits]\nsame_action = \"0s\"").await;
    let host = scene.open().await;
    assert_eq!(ends(&host, [mail(&scene, "x"), mail(&scene, "x")]).await, ["ok", "ok"]);
    assert_eq!(scene.mails(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_changes_nothing() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    assert_eq!(ends(&host, [mail(&scene, "x")]).await, ["ok"]);
    host.close().await;
    let host = scene.open().await;
    assert_eq!(ends(&host, [mail(&scene, "x"), mail(&scene, "y")]).await, ["ALREADY_DONE", "ok"]);
    assert_eq!(scene.mails(), 2);
}
