//! What may be done is looked at anew when a call in the background is made: more than is granted then is never done.

use airlock::config::Config;
use airlock::host::Host;
use airlock::model::id::CallerName;
use airlock_tests::backend::{Fault, Moment};
use airlock_tests::changeling;
use airlock_tests::world::{SetClock, World, body, code, open, request};
use insta::assert_snapshot;
use serde_json::json;

use super::super::call::{NOON, Scene, as_caller, text};
use super::{driven, leave, left, story};

/// A world in which an agent may send mail as long as the lines of its configuration say so.
struct Allowed {
    scene: Scene,
    granted: String,
}

impl Allowed {
    async fn new() -> Self {
        let scene = Scene::retrying("").await;
        let granted = format!(
            "[[plugin.courier.http]]\norigin = \"{}\"\nmethods = [\"POST\"]\naddresses = [\"127.0.0.1\"]\n",
            scene.backend.url
        );
        Self { scene, granted }
    }

    /// A host under these lines.
    async fn host(&self, lines: &str) -> Host {
        let file = self.scene.world.folder().join("airlock.toml");
        let config = Config::parse(lines, &file, &|_| None).unwrap_or_else(|faults| panic!("{faults}"));
        let host = open(config).await.unwrap();
        host.load().await;
        host
    }

    /// Leaves a mail to the background while all is allowed, drives it under other lines, and says what became of it.
    async fn under(&self, lines: &str) -> String {
        let before = self.host(&format!("{}[callers.agent]\nmax_risk = \"L3\"\n", self.granted)).await;
        let call = left(as_caller("agent", request("courier.post_once", &self.scene.mail("a"))));
        let reply = before.call(call).await;
        let run = super::run_of(&reply);
        before.close().await;
        let host = self.host(lines).await;
        assert_eq!(host.drive_due().await, Ok(1));
        assert_eq!(self.scene.mails(), 0);
        let told = host.result(&CallerName("agent".to_owned()), None, &run, None).await;
        format!("{}\n{}", story(&host, &run), body(&told)["message"].as_str().unwrap())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_was_removed_meanwhile_gets_nothing_done() {
    let allowed = Allowed::new().await;
    assert_snapshot!(allowed.under(&allowed.granted).await, @"
    [] failed []: queued, failed
    the caller is not known; add [callers.agent] to airlock.toml: agent
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_may_do_less_meanwhile_gets_nothing_done() {
    let allowed = Allowed::new().await;
    let less = format!("{}[callers.agent]\nmax_risk = \"L1\"\n", allowed.granted);
    assert_snapshot!(allowed.under(&less).await, @"
    [] failed []: queued, failed
    there is no such tool: courier.post_once
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_a_person_must_confirm_by_now_is_not_made() {
    let allowed = Allowed::new().await;
    let asks = format!(
        "{}[callers.agent]\nmax_risk = \"L3\"\nconfirm = {{ \"courier.post_once\" = \"person\" }}\n",
        allowed.granted
    );
    assert_snapshot!(allowed.under(&asks).await, @"
    [] failed []: queued, failed
    a person must say yes to courier.post_once, and nobody can be asked here
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grant_that_was_withdrawn_meanwhile_is_not_used() {
    let allowed = Allowed::new().await;
    assert_snapshot!(allowed.under("[callers.agent]\nmax_risk = \"L3\"\n").await, @"
    [REQUEST_REFUSED] failed []: queued, driven, failed
    the operator has not granted this origin
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_is_gone_by_now_is_not_called() {
    let scene = Scene::retrying("").await;
    let host = scene.open().await;
    let run = leave(&host, request("courier.post_once", &scene.mail("a"))).await;
    host.close().await;
    std::fs::remove_file(scene.world.plugins().join("courier.wasm")).unwrap();
    let host = scene.open().await;
    assert_eq!(host.drive_due().await, Ok(1));
    assert_snapshot!(story(&host, &run), @"[] failed []: queued, failed");
    assert_eq!((code(&super::result(&host, &run).await).as_str(), scene.mails()), ("UNKNOWN_TOOL", 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_changed_meanwhile_and_waits_for_its_operator_is_not_called() {
    let (world, mut nature) = (World::new(), changeling::nature());
    changeling::put(&world.plugins(), "changeling.wasm", &nature);
    let host = world.open().await;
    let run = leave(&host, request("changeling.turn", &json!({}))).await;
    nature["tool"]["risk"] = json!(2);
    changeling::put(&world.plugins(), "changeling.wasm", &nature);
    host.reload().await;
    assert_eq!(host.drive_due().await, Ok(1));
    let told = super::result(&host, &run).await;
    assert_eq!(code(&told), "PERMISSION_DENIED", "{}", text(&told));
    assert!(host.run(&run).unwrap().attempts.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_begun_and_may_not_go_on_waits_for_a_person() {
    let (scene, clock) = (Scene::retrying("").await, SetClock::at(NOON));
    scene.backend.fault("/tickets", Fault::cut(Moment::AfterWork), 1);
    let before = scene.open_at(&clock).await;
    let run = leave(&before, request("courier.post_keyed", &scene.ticket("a"))).await;
    driven(&before, &clock, &run).await;
    before.close().await;
    std::fs::remove_file(scene.world.plugins().join("courier.wasm")).unwrap();
    let host = scene.open_at(&clock).await;
    driven(&host, &clock, &run).await;
    assert_snapshot!(story(&host, &run), @"[OUTCOME_UNKNOWN] suspended: unknown [open]: queued, driven, backed_off, suspended: unknown");
    assert_eq!(scene.backend.counts().tickets.len(), 1);
}
