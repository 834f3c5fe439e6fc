//! Attempts that end badly while something was done, and what the attempt after them sees.

use std::collections::BTreeSet;
use std::time::Duration;

use airlock_tests::backend::{Fault, Moment, Seen};
use airlock_tests::world::{SetClock, body, code, keyed, request};
use insta::assert_snapshot;
use serde_json::json;

use super::{NOON, Scene, assert_stored, record, standing, text, twice, with};

/// One attempt's time, so short that a test can wait for its end.
const SHORT: &str = "[tools.\"courier.post_once\"]\ntimeout = \"400ms\"\n\
                     [tools.\"courier.post_keyed\"]\ntimeout = \"400ms\"\n\
                     [tools.\"courier.fetch\"]\ntimeout = \"400ms\"\n";

/// Longer than an attempt and shorter than a request may take.
const LATE: Duration = Duration::from_millis(1200);

#[tokio::test(flavor = "multi_thread")]
async fn a_trap_after_the_request_leaves_it_done_and_says_nothing_of_itself() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    for (tool, input) in [
        ("courier.post_once", scene.mail("a")),
        ("courier.post_keyed", scene.ticket("a")),
        ("courier.put", scene.setting("a")),
    ] {
        let input = with(input, json!({ "then": "trap" }));
        let (reply, again) = twice(&host, tool, &input, tool).await;
        assert_eq!(code(&reply), "PARTLY_DONE");
        assert_stored(&reply, &again);
        assert!(!text(&reply).contains("as the job says"), "{}", text(&reply));
        let record = record(&host, &reply);
        assert!(standing(&record).starts_with("suspended: half_done [done 20"), "{}", standing(&record));
        assert!(record.attempts[0].log.contains("as the job says"), "{}", record.attempts[0].log);
    }
    assert_eq!(scene.backend.counts().under("").works, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trap_before_the_request_leaves_nothing_and_is_not_tried_again() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    let input = with(scene.mail("a"), json!({ "before": "trap" }));
    let (reply, again) = twice(&host, "courier.post_once", &input, "k").await;
    assert_eq!((code(&reply).as_str(), standing(&record(&host, &reply)).as_str()), ("INTERNAL", "failed []"));
    assert_stored(&reply, &again);
    assert_eq!(scene.backend.counts().connections, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn time_that_runs_out_after_the_request_leaves_it_done() {
    let scene = Scene::courier(SHORT).await;
    let host = scene.open().await;
    for (key, end) in [("k1", "loop"), ("k2", "sleep")] {
        let input = with(scene.mail("a"), json!({ "then": end }));
        let reply = host.call(keyed("courier.post_once", &input, key)).await;
        assert_eq!(code(&reply), "PARTLY_DONE");
        assert!(text(&reply).contains("(TIME_LIMIT: "), "{}", text(&reply));
        assert_eq!(standing(&record(&host, &reply)), "suspended: half_done [done 202]");
    }
    assert_eq!(scene.mails(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_outlives_its_attempt_is_waited_for_and_recorded() {
    let scene = Scene::courier(SHORT).await;
    let host = scene.open().await;
    scene.backend.fault("", Fault::slow(Moment::BeforeWork, LATE), 100);
    let nowhere = scene.job("POST", "/nothing-is-here");
    for (tool, input, ends, stands) in [
        ("courier.post_once", scene.mail("a"), "PARTLY_DONE", "suspended: half_done [done 202]"),
        ("courier.post_keyed", scene.ticket("a"), "PARTLY_DONE", "suspended: half_done [done 201]"),
        ("courier.post_once", nowhere, "TIME_LIMIT", "failed [refused 404]"),
        ("courier.fetch", scene.job("GET", "/orders/A-1001"), "TIME_LIMIT", "failed []"),
    ] {
        let reply = host.call(keyed(tool, &input, &format!("{tool}-{ends}"))).await;
        assert_eq!(code(&reply), ends, "{tool}");
        assert!(text(&reply).contains("TIME_LIMIT"), "{}", text(&reply));
        assert_eq!(standing(&record(&host, &reply)), stands, "{tool}");
    }
    assert_eq!(scene.backend.counts().under("POST").works, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_never_answered_ends_at_its_own_limit_and_stays_open() {
    let scene = Scene::courier(&format!("[limits]\nread = \"900ms\"\n{SHORT}")).await;
    let host = scene.open().await;
    scene.backend.fault("", Fault::hang(Moment::AfterWork), 2);
    let once = host.call(keyed("courier.post_once", &scene.mail("a"), "k1")).await;
    assert_eq!(code(&once), "OUTCOME_UNKNOWN");
    assert_eq!(standing(&record(&host, &once)), "suspended: unknown [open]");
    let bearing_a_key = host.call(keyed("courier.post_keyed", &scene.ticket("a"), "k2")).await;
    assert_eq!(body(&bearing_a_key)["details"]["key"], "k2");
    assert_eq!(standing(&record(&host, &bearing_a_key)), "suspended: unknown [open]");
    assert_eq!((scene.mails(), scene.backend.counts().tickets.len()), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn fuel_that_runs_out_after_the_request_leaves_it_done() {
    let scene = Scene::courier("[limits]\nfuel = 200_000_000\n").await;
    let host = scene.open().await;
    let after = with(scene.mail("a"), json!({ "then": "loop" }));
    let (reply, again) = twice(&host, "courier.post_once", &after, "k1").await;
    assert_eq!(code(&reply), "PARTLY_DONE");
    assert!(text(&reply).contains("(FUEL_LIMIT: "), "{}", text(&reply));
    assert_stored(&reply, &again);
    let before = with(scene.mail("a"), json!({ "before": "loop" }));
    let (reply, again) = twice(&host, "courier.post_once", &before, "k2").await;
    assert_eq!((code(&reply), standing(&record(&host, &reply))), ("FUEL_LIMIT".into(), "failed []".into()));
    assert_stored(&reply, &again);
    assert_eq!(scene.mails(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn more_requests_than_may_be_end_the_attempt_and_those_before_are_done() {
    let scene = Scene::courier("[limits]\nrequests = 2\n").await;
    let host = scene.open().await;
    let three = with(scene.mail("a"), json!({ "times": 3, "any_answer": true }));
    let reply = host.call(keyed("courier.post_once", &three, "k")).await;
    assert!(text(&reply).contains("(REQUEST_LIMIT: "), "{}", text(&reply));
    assert_eq!(standing(&record(&host, &reply)), "suspended: half_done [done 202, done 202]");
    assert_eq!(scene.mails(), 2);
    let two = with(scene.mail("a"), json!({ "times": 2 }));
    assert!(host.call(keyed("courier.post_once", &two, "k2")).await.ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_may_pass_and_left_nothing_goes_on_as_the_same_run() {
    let scene = Scene::courier(SHORT).await;
    let host = scene.open().await;
    for (end, ends) in
        [("transient", "TOLD_TRANSIENT"), ("throttled", "TOLD_THROTTLED"), ("sleep", "TIME_LIMIT")]
    {
        let input = with(scene.mail("a"), json!({ "before": end, "attempts": 1 }));
        let (first, again) = twice(&host, "courier.post_once", &input, end).await;
        assert_eq!(code(&first), ends);
        assert_eq!(body(&first)["details"]["key"], end);
        assert!(again.ok() && !again.meta.replayed);
        assert_eq!((again.meta.run, again.meta.attempts), (first.meta.run, 2));
        let record = record(&host, &again);
        let outcomes: Vec<_> = record.attempts.iter().map(|attempt| attempt.outcome.as_deref()).collect();
        assert_eq!(outcomes, [Some(ends), Some("ok")]);
        let events: Vec<_> = record.events.iter().map(|event| event.event.as_str()).collect();
        assert_eq!(events, ["began", "failed", "rearmed", "completed"]);
    }
    assert_eq!(scene.mails(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_definite_is_given_again_and_never_tried_again() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    for end in ["invalid_input", "rejected", "denied", "unknown_outcome", "fatal", "foreign", "trap"] {
        let input = with(scene.mail("a"), json!({ "before": end, "attempts": 1 }));
        let (first, again) = twice(&host, "courier.post_once", &input, end).await;
        assert_stored(&first, &again);
        assert_eq!(record(&host, &first).summary.attempts, 1, "{end}");
        assert!(!text(&first).contains("\"key\""), "{end}: {}", text(&first));
    }
    assert_eq!(scene.backend.counts().connections, 0);
}

/// The requests for tickets that arrived.
fn tickets(scene: &Scene) -> Vec<Seen> {
    scene.backend.requests().into_iter().filter(|seen| seen.target == "/tickets").collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_keyed_request_is_the_same_in_every_attempt_whatever_clock_and_chance_say() {
    let scene = Scene::courier("").await;
    let clock = SetClock::at(NOON);
    let host = scene.open_at(&clock).await;
    let input = with(scene.ticket("a"), json!({ "body": "{\"now\":{now},\"random\":\"{random}\"}" }));
    scene.backend.fault("/tickets", Fault::cut(Moment::AfterWork), 2);
    for ends in ["OUTCOME_UNKNOWN", "OUTCOME_UNKNOWN", "ok"] {
        let reply = host.call(keyed("courier.post_keyed", &input, "k")).await;
        assert_eq!(code(&reply), ends, "{}", text(&reply));
        clock.forward(Duration::from_secs(3600));
    }
    let seen = tickets(&scene);
    assert_eq!(seen.len(), 3);
    let bodies: BTreeSet<&[u8]> = seen.iter().map(|seen| seen.body.as_slice()).collect();
    let keys: BTreeSet<_> = seen.iter().map(|seen| seen.header("idempotency-key")).collect();
    assert_eq!((bodies.len(), keys.len()), (1, 1));
    let now = format!("{}000000", NOON.0);
    assert!(String::from_utf8_lossy(&seen[0].body).contains(&now), "the clock starts at the run's beginning");
    assert_eq!(scene.backend.counts().tickets.len(), 1);

    let other = host.call(keyed("courier.post_keyed", &input, "k2")).await;
    assert!(other.ok());
    assert_ne!(tickets(&scene)[3].body, seen[0].body, "another run has its own clock and chance");
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_without_keyed_requests_see_chance_as_it_is() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    let input = with(scene.mail("a"), json!({ "body": "{\"r\":\"{random}\"}", "times": 2 }));
    for _ in 0..2 {
        assert!(host.call(request("courier.post_once", &input)).await.ok());
    }
    let sent: BTreeSet<Vec<u8>> = scene.backend.requests().into_iter().map(|seen| seen.body).collect();
    assert_eq!(sent.len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_keyed_request_that_differs_from_the_open_one_is_not_sent() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    let input = with(scene.ticket("a"), json!({ "body": "{\"attempt\":{attempt}}" }));
    scene.backend.fault("/tickets", Fault::cut(Moment::AfterWork), 1);
    let (first, again) = twice(&host, "courier.post_keyed", &input, "k").await;
    assert_eq!(body(&first)["details"]["key"], "k");
    assert_snapshot!(scene.shown(&again), @r#"
    {
      "ok": false,
      "error": {
        "code": "OUTCOME_UNKNOWN",
        "kind": "unknown_outcome",
        "message": "the action may have happened and may not; do not repeat it: a person can find out and decide",
        "retryable": false,
        "action": "do_not_repeat",
        "retry_after_ms": 0,
        "details": {
          "open": [
            {
              "attempt": 1,
              "effect": "POST /tickets"
            }
          ]
        }
      },
      "meta": {
        "run": "RUN",
        "step": 1,
        "attempts": 2,
        "duration_ms": "COUNTED",
        "fuel": "COUNTED",
        "memory_bytes": "COUNTED",
        "effects": 0,
        "cost_micros": 0,
        "replayed": false,
        "trace_id": "TRACE"
      }
    }
    "#);
    assert_eq!(scene.backend.counts().of("POST /tickets").requests, 1);
    let record = record(&host, &again);
    assert_eq!(standing(&record), "suspended: unknown [open]");
    assert!(record.attempts[1].log.contains("it was not sent"), "{}", record.attempts[1].log);
    assert_stored(&again, &host.call(keyed("courier.post_keyed", &input, "k")).await);
    assert_eq!(scene.backend.counts().of("POST /tickets").requests, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_keyed_request_may_differ_from_one_that_did_nothing_and_then_has_another_key() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    let input = with(scene.ticket("a"), json!({ "body": "{\"attempt\":{attempt}}" }));
    scene.backend.fault("/tickets", Fault::status(Moment::BeforeWork, 503), 1);
    let (_, again) = twice(&host, "courier.post_keyed", &input, "k").await;
    assert!(again.ok(), "{}", text(&again));
    let seen = tickets(&scene);
    assert_ne!(seen[0].header("idempotency-key"), seen[1].header("idempotency-key"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_host_writes_the_key_of_a_request_whatever_the_guest_wrote() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    let headers =
        json!([["authorization", "Bearer t"], ["Idempotency-Key", "mine"], ["idempotency-key", "too"]]);
    let input = with(scene.ticket("a"), json!({ "headers": headers, "times": 2 }));
    for key in ["k1", "k2"] {
        assert!(host.call(keyed("courier.post_keyed", &input, key)).await.ok());
    }
    let mut keys = BTreeSet::new();
    for seen in tickets(&scene) {
        let sent: Vec<_> = seen.headers.iter().filter(|(name, _)| name == "idempotency-key").collect();
        assert_eq!(sent.len(), 1, "{sent:?}");
        keys.insert(sent[0].1.clone());
    }
    assert_eq!(keys.len(), 4, "two requests of two runs have four keys");
    assert!(keys.iter().all(|key| !["mine", "too", "k1", "k2"].contains(&key.as_str())), "{keys:?}");
}
