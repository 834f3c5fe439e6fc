//! Calls with several effects: what is told of those that were done when a later one fails.

use airlock_tests::backend::{Fault, Moment};
use airlock_tests::world::{body, code, keyed};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{Scene, assert_stored, record, standing, twice, with};

/// A read, then one effect of each kind.
fn jobs(scene: &Scene, last: Value) -> Value {
    let mail = with(scene.mail("a"), last);
    let order = scene.job("GET", "/orders/A-1001");
    json!({ "jobs": [order, scene.setting("a"), scene.ticket("a"), mail] })
}

#[tokio::test(flavor = "multi_thread")]
async fn all_of_it_is_done_and_told_once() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    let (reply, again) = twice(&host, "courier.sequence", &jobs(&scene, json!({})), "k").await;
    assert_eq!(standing(&record(&host, &reply)), "completed [done 200, done 201, done 202]");
    assert_eq!(reply.meta.effects, 4, "reads count among the requests");
    assert_stored(&reply, &again);
    assert_eq!(scene.backend.counts().under("").works, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_gives_up_after_three_effects_is_partly_done_and_they_are_listed() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    let input = jobs(&scene, json!({ "then": "rejected" }));
    let (reply, again) = twice(&host, "courier.sequence", &input, "k").await;
    assert_snapshot!(scene.shown(&reply), @r#"
    {
      "ok": false,
      "error": {
        "code": "PARTLY_DONE",
        "kind": "partial",
        "message": "part of the work was done before the call failed (TOLD_REJECTED: as the job says); do not repeat it: a person decides what becomes of it",
        "retryable": false,
        "action": "do_not_repeat",
        "retry_after_ms": 0,
        "details": {
          "done": [
            {
              "attempt": 1,
              "effect": "PUT /settings/a",
              "status": 200
            },
            {
              "attempt": 1,
              "effect": "POST /tickets",
              "status": 201
            },
            {
              "attempt": 1,
              "effect": "POST /mails",
              "status": 202
            }
          ]
        }
      },
      "meta": {
        "run": "RUN",
        "step": 1,
        "attempts": 1,
        "duration_ms": "COUNTED",
        "fuel": "COUNTED",
        "memory_bytes": "COUNTED",
        "effects": 4,
        "cost_micros": 0,
        "replayed": false,
        "trace_id": "TRACE"
      }
    }
    "#);
    assert_stored(&reply, &again);
    assert_eq!(scene.backend.counts().under("").works, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_fails_last_those_before_it_stay_done() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    for (fault, ends, stands) in [
        (
            Fault::status(Moment::BeforeWork, 422),
            "PARTLY_DONE",
            "suspended: half_done [done 200, done 201, refused 422]",
        ),
        (
            Fault::status(Moment::BeforeWork, 429),
            "PARTLY_DONE",
            "suspended: half_done [done 200, done 201, failed_clean 429]",
        ),
        (Fault::cut(Moment::AfterHead), "PARTLY_DONE", "suspended: half_done [done 200, done 201, done 202]"),
        (Fault::cut(Moment::BeforeWork), "OUTCOME_UNKNOWN", "suspended: unknown [done 200, done 201, open]"),
        (
            Fault::status(Moment::AfterWork, 500),
            "OUTCOME_UNKNOWN",
            "suspended: unknown [done 200, done 201, open 500]",
        ),
    ] {
        let key = fault.to_string().replace(' ', "-");
        scene.backend.fault("/mails", fault, 1);
        let (reply, again) = twice(&host, "courier.sequence", &jobs(&scene, json!({})), &key).await;
        assert_eq!(
            (code(&reply).as_str(), standing(&record(&host, &reply)).as_str()),
            (ends, stands),
            "{key}"
        );
        assert_stored(&reply, &again);
    }
    assert_eq!(scene.backend.counts().of("POST /tickets").works, 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_end_lists_what_is_open() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    scene.backend.fault("/mails", Fault::cut(Moment::AfterWork), 1);
    let reply = host.call(keyed("courier.sequence", &jobs(&scene, json!({})), "k")).await;
    assert_snapshot!(scene.shown(&reply), @r#"
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
              "effect": "POST /mails"
            }
          ]
        }
      },
      "meta": {
        "run": "RUN",
        "step": 1,
        "attempts": 1,
        "duration_ms": "COUNTED",
        "fuel": "COUNTED",
        "memory_bytes": "COUNTED",
        "effects": 4,
        "cost_micros": 0,
        "replayed": false,
        "trace_id": "TRACE"
      }
    }
    "#);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_request_among_repeatable_ones_goes_on_under_its_key() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    let input = json!({ "jobs": [scene.setting("a"), scene.ticket("a"), scene.ticket("b")] });
    scene.backend.fault("/tickets", Fault::slow(Moment::BeforeWork, std::time::Duration::from_millis(1)), 1);
    scene.backend.fault("/tickets", Fault::cut(Moment::AfterWork), 1);
    let first = host.call(keyed("courier.sequence_keyed", &input, "k")).await;
    assert_eq!(body(&first)["details"]["key"], "k");
    assert_eq!(standing(&record(&host, &first)), "suspended: unknown [done 200, done 201, open]");
    let again = host.call(keyed("courier.sequence_keyed", &input, "k")).await;
    assert!(again.ok(), "{}", super::text(&again));
    let counts = scene.backend.counts();
    assert_eq!((counts.tickets.len(), counts.of("POST /tickets").requests), (2, 4));
    assert_eq!(counts.keys.len(), 2, "each ticket has one key in both attempts: {:?}", counts.keys);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_request_twice_in_one_call_is_two_effects_with_two_keys() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    let input = json!({ "jobs": [scene.ticket("a"), scene.ticket("a")] });
    assert!(host.call(keyed("courier.sequence_keyed", &input, "k")).await.ok());
    let counts = scene.backend.counts();
    assert_eq!((counts.tickets.len(), counts.keys.len()), (2, 2));
}
