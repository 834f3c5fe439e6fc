//! What an attempt left behind decides whether there is another, and what that one finds.

use std::collections::BTreeSet;
use std::sync::Arc;

use airlock::host::Seams;
use airlock_tests::backend::{Fault, Moment};
use airlock_tests::flaky::{Flaky, Way, When};
use airlock_tests::guests;
use airlock_tests::world::{World, body, code, keyed, request};
use insta::assert_snapshot;
use serde_json::json;

use super::super::call::{Scene, end, record, standing, text, with};
use super::{SOON, story};

#[tokio::test(flavor = "multi_thread")]
async fn a_mail_that_was_sent_or_may_have_been_is_not_sent_again() {
    let scene = Scene::retrying(SOON).await;
    let host = scene.open().await;
    let sent = with(scene.mail("a"), json!({ "then": "transient" }));
    let sent = host.call(request("courier.post_once", &sent)).await;
    assert_eq!(end(&host, &sent), "PARTLY_DONE, suspended: half_done [done 202]");
    scene.backend.fault("/mails", Fault::cut(Moment::AfterWork), 1);
    let perhaps = host.call(request("courier.post_once", &scene.mail("b"))).await;
    assert_eq!(end(&host, &perhaps), "OUTCOME_UNKNOWN, suspended: unknown [open]");
    scene.backend.fault("/mails", Fault::status(Moment::AfterWork, 500), 1);
    let perhaps = host.call(request("courier.post_once", &scene.mail("c"))).await;
    assert_eq!(end(&host, &perhaps), "OUTCOME_UNKNOWN, suspended: unknown [open 500]");
    assert_eq!((scene.mails(), scene.backend.counts().of("POST /mails").requests), (3, 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_keyed_write_that_may_have_happened_is_sent_again_with_the_same_key_and_the_same_bytes() {
    let scene = Scene::retrying(SOON).await;
    let host = scene.open().await;
    let body = json!({ "body": "{\"now\":{now},\"random\":\"{random}\"}" });
    scene.backend.fault("/tickets", Fault::cut(Moment::AfterWork), 1);
    scene.backend.fault("/tickets", Fault::status(Moment::AfterWork, 500), 1);
    scene.backend.fault("/tickets", Fault::cut(Moment::AfterHead), 1);
    let reply = host.call(request("courier.post_keyed", &with(scene.ticket("a"), body))).await;
    assert!(reply.ok(), "{}", text(&reply));
    assert_snapshot!(story(&host, &reply), @"OUTCOME_UNKNOWN, OUTCOME_UNKNOWN, PARTLY_DONE, ok: completed [open, open 500, done 201, done 201]; began, backed_off, retried, backed_off, retried, backed_off, retried, completed");
    let seen: Vec<_> =
        scene.backend.requests().into_iter().filter(|seen| seen.target == "/tickets").collect();
    let bodies: BTreeSet<&[u8]> = seen.iter().map(|seen| seen.body.as_slice()).collect();
    let keys: BTreeSet<_> = seen.iter().map(|seen| seen.header("idempotency-key")).collect();
    assert_eq!((seen.len(), bodies.len(), keys.len()), (4, 1, 1));
    assert_eq!(scene.backend.counts().tickets.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_goes_on_with_a_call_that_was_retried_sends_the_same_bytes() {
    let scene = Scene::retrying(SOON).await;
    let host = scene.open().await;
    // The first attempt leaves nothing that binds; its clock is that of those which follow.
    scene.backend.fault("/tickets", Fault::status(Moment::BeforeWork, 429), 1);
    scene.backend.fault("/tickets", Fault::cut(Moment::AfterWork), 3);
    let body = json!({ "body": "{\"now\":{now},\"random\":\"{random}\"}" });
    let call = with(scene.ticket("a"), body);
    let reply = host.call(keyed("courier.post_keyed", &call, "k")).await;
    assert_eq!(code(&reply), "OUTCOME_UNKNOWN", "{}", text(&reply));
    let again = host.call(keyed("courier.post_keyed", &call, "k")).await;
    assert!(again.ok(), "{}", text(&again));
    let seen: Vec<_> =
        scene.backend.requests().into_iter().filter(|seen| seen.target == "/tickets").collect();
    let bodies: BTreeSet<&[u8]> = seen.iter().map(|seen| seen.body.as_slice()).collect();
    assert_eq!((seen.len(), bodies.len(), scene.backend.counts().tickets.len()), (5, 1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_keyed_write_that_stays_unknown_is_told_so_with_its_key() {
    let scene = Scene::retrying(SOON).await;
    let host = scene.open().await;
    scene.backend.fault("/tickets", Fault::cut(Moment::AfterWork), 4);
    let reply = host.call(keyed("courier.post_keyed", &scene.ticket("a"), "k")).await;
    assert_eq!(end(&host, &reply), "OUTCOME_UNKNOWN+key, suspended: unknown [open, open, open, open]");
    let again = host.call(keyed("courier.post_keyed", &scene.ticket("a"), "k")).await;
    assert_eq!((again.ok(), again.meta.attempts), (true, 5));
    assert_eq!(scene.backend.counts().tickets.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_attempts_saved_and_spent_goes_with_the_next_one() {
    let world = World::in_memory().with_plugins(&[guests::NOTEBOOK]).with_config(SOON);
    let host = world.open().await;
    for tool in ["notebook.bare", "notebook.read"] {
        let lines = json!({ "lines": ["saved", "save halfway", "spend 5 tea", "fail", "attempt"] });
        let reply = host.call(request(tool, &lines)).await;
        assert_eq!(
            body(&reply)["answers"],
            json!(["halfway", "done", "done", "nothing is asked for", "2"]),
            "{tool}"
        );
        assert_eq!((reply.meta.attempts, reply.meta.cost_micros), (2, 10), "{tool}");
        let costs: Vec<_> =
            record(&host, &reply).costs.iter().map(|cost| (cost.attempt, cost.micros)).collect();
        assert_eq!(costs, [(1, 5), (2, 5)], "{tool}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_attempt_changed_in_folders_is_put_back_before_the_next_one() {
    let lent = tempfile::tempdir().unwrap();
    let path = lent.path();
    let lend =
        format!("[plugin.scribe.directories]\noutbox = {{ path = {path:?}, access = \"write\" }}\n{SOON}");
    let world = World::new().with_plugins(&[guests::SCRIBE]).with_config(&lend);
    let host = world.open().await;
    let step = json!({ "do": "append", "path": "log", "text": "line\n" });
    let steps = json!({ "steps": [step], "then": "transient", "attempts": 2 });
    let reply = host.call(request("scribe.change", &steps)).await;
    assert_eq!((code(&reply).as_str(), reply.meta.attempts), ("ok", 3), "{}", text(&reply));
    assert_eq!(std::fs::read_to_string(path.join("log")).unwrap(), "line\n");
    assert_eq!(standing(&record(&host, &reply)), "completed [put_back, put_back, done]");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_fails_between_two_attempts_ends_the_call_and_its_key_goes_on() {
    let scene = Scene::retrying(SOON).await;
    for (tool, input, writes) in [
        ("courier.post_once", scene.mail("a"), &["rest", "take"][..]),
        ("courier.fetch", scene.job("GET", "/orders/A-1001"), &["hear"][..]),
    ] {
        let input = with(input, json!({ "before": "transient", "attempts": 1 }));
        let seams = Seams::system(&scene.world.config()).unwrap();
        let flaky = Flaky::over(Arc::clone(&seams.store));
        let host = scene.world.open_with(Seams { store: flaky.clone(), ..seams }).await;
        flaky.heal();
        assert!(host.call(keyed(tool, &input, tool)).await.ok());
        let undisturbed = flaky.writes();
        for (write, way) in writes.iter().flat_map(|write| [(*write, Way::Refused), (*write, Way::Unheard)]) {
            let place = undisturbed.iter().position(|known| *known == write).unwrap();
            flaky.fail(When::Only(place + 1), way);
            let key = format!("{tool}-{write}-{way:?}");
            let reply = host.call(keyed(tool, &input, &key)).await;
            assert_eq!(code(&reply), "STORE_UNAVAILABLE", "{key}");
            flaky.heal();
            let again = host.call(keyed(tool, &input, &key)).await;
            assert!(again.ok(), "{key}: {}", text(&again));
        }
    }
    assert_eq!(scene.mails(), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_dead_backend_retries_stay_few() {
    // A breaker that never opens, so that nothing but the budget holds them.
    let lines = format!("{SOON}[breaker]\nin_a_row = 10000\nleast = 10000\n");
    let scene = Scene::retrying(&lines).await;
    let host = scene.open().await;
    scene.backend.fault("/orders", Fault::status(Moment::BeforeWork, 503), 1000);
    let input = scene.job("GET", "/orders/A-1001");
    let mut attempts = Vec::new();
    for _ in 0..100 {
        attempts.push(host.call(request("courier.fetch", &input)).await.meta.attempts);
    }
    assert!(attempts.iter().all(|attempts| *attempts <= 4));
    assert_eq!(attempts.iter().sum::<u32>(), 110, "ten retries are paid for, and no success brings any back");
    assert_eq!(scene.backend.counts().under("").requests, 110);
    let last = host.call(keyed("courier.fetch", &input, "k")).await;
    assert!(record(&host, &last).attempts[0].log.contains("its retries are spent"));
}

#[tokio::test(flavor = "multi_thread")]
async fn successes_bring_retries_back() {
    let lines = format!("{SOON}[breaker]\nin_a_row = 10000\nleast = 10000\n");
    let scene = Scene::retrying(&lines).await;
    let host = scene.open().await;
    let input = scene.job("GET", "/orders/A-1001");
    scene.backend.fault("/orders", Fault::status(Moment::BeforeWork, 503), 17);
    for _ in 0..7 {
        host.call(request("courier.fetch", &input)).await;
    }
    assert_eq!(host.backends().unwrap()[0].retry_tokens, 0);
    for _ in 0..10 {
        assert!(host.call(request("courier.fetch", &input)).await.ok());
    }
    scene.backend.fault("/orders", Fault::status(Moment::BeforeWork, 503), 1);
    let reply = host.call(request("courier.fetch", &input)).await;
    assert_eq!((reply.ok(), reply.meta.attempts), (true, 2));
}
