//! How long a key lives: while its run is open, a day after it ended, and a week more where nothing may repeat.

use std::sync::Arc;
use std::time::Duration;

use airlock::host::Seams;
use airlock::model::clock::Clock as _;
use airlock_tests::backend::{Fault, Moment};
use airlock_tests::world::{SetClock, code, keyed};

use super::{NOON, Scene, assert_stored, happened, record};

const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);
const MOMENT: Duration = Duration::from_millis(1);

#[tokio::test(flavor = "multi_thread")]
async fn a_day_after_the_end_a_key_that_may_repeat_is_free_again() {
    let scene = Scene::courier("").await;
    for (tool, input, other) in [
        ("courier.post_keyed", scene.ticket("a"), scene.ticket("b")),
        ("courier.put", scene.setting("a"), scene.setting("b")),
        ("courier.fetch", scene.job("GET", "/orders/A-1001"), scene.job("GET", "/orders/A-1002")),
    ] {
        let clock = SetClock::at(NOON);
        let host = scene.open_at(&clock).await;
        let first = host.call(keyed(tool, &input, tool)).await;
        assert!(first.ok());
        clock.forward(DAY - MOMENT);
        assert_stored(&first, &host.call(keyed(tool, &input, tool)).await);
        assert_eq!(code(&host.call(keyed(tool, &other, tool)).await), "KEY_REUSED");
        clock.forward(2 * MOMENT);
        let fresh = host.call(keyed(tool, &other, tool)).await;
        assert!(fresh.ok() && !fresh.meta.replayed && fresh.meta.run != first.meta.run, "{tool}");
        assert!(record(&host, &first).key.is_none(), "the key is the second run's by now");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_must_not_repeat_is_refused_for_a_week_more() {
    let scene = Scene::courier("").await;
    let clock = SetClock::at(NOON);
    let host = scene.open_at(&clock).await;
    let mail = scene.mail("a");
    let first = host.call(keyed("courier.post_once", &mail, "k")).await;
    clock.forward(DAY - MOMENT);
    assert_stored(&first, &host.call(keyed("courier.post_once", &mail, "k")).await);
    for wait in [2 * MOMENT, DAY, 6 * DAY - 3 * MOMENT] {
        clock.forward(wait);
        assert_eq!(code(&host.call(keyed("courier.post_once", &mail, "k")).await), "KEY_EXPIRED");
        assert_eq!(code(&host.call(keyed("courier.post_once", &scene.mail("b"), "k")).await), "KEY_REUSED");
    }
    assert_eq!(scene.mails(), 1);
    let expired = host.call(keyed("courier.post_once", &mail, "k")).await;
    let run = first.meta.run.unwrap().to_string();
    insta::assert_snapshot!(scene.shown(&expired).replace(&run, "FIRST"), @r#"
    {
      "ok": false,
      "error": {
        "code": "KEY_EXPIRED",
        "kind": "invalid_input",
        "message": "the key's result is no longer kept, and running again would do the work of run FIRST a second time; nothing was run",
        "retryable": false,
        "action": "fix_input",
        "retry_after_ms": 0,
        "details": {
          "key": "k",
          "run": "FIRST"
        }
      },
      "meta": {
        "attempts": 0,
        "duration_ms": "COUNTED",
        "fuel": 0,
        "memory_bytes": 0,
        "effects": 0,
        "cost_micros": 0,
        "replayed": false,
        "trace_id": "TRACE"
      }
    }
    "#);
    clock.forward(3 * MOMENT);
    assert!(host.call(keyed("courier.post_once", &mail, "k")).await.ok());
    assert_eq!(scene.mails(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_keys_time_runs_from_the_end_and_is_not_prolonged_by_asking() {
    let scene = Scene::courier("").await;
    let clock = SetClock::at(NOON);
    let host = scene.open_at(&clock).await;
    let slow = Arc::clone(&clock);
    scene.backend.fault("/tickets", Fault::call(Moment::BeforeWork, move || slow.forward(20 * HOUR)), 1);
    let first = host.call(keyed("courier.post_keyed", &scene.ticket("a"), "k")).await;
    assert_eq!(clock.now(), NOON.plus(20 * HOUR));
    for _ in 0..2 {
        clock.forward(11 * HOUR);
        assert_stored(&first, &host.call(keyed("courier.post_keyed", &scene.ticket("a"), "k")).await);
    }
    clock.forward(3 * HOUR);
    let fresh = host.call(keyed("courier.post_keyed", &scene.ticket("a"), "k")).await;
    assert!(fresh.ok() && !fresh.meta.replayed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_never_lapses_while_its_run_waits_for_a_person() {
    let scene = Scene::courier("").await;
    let clock = SetClock::at(NOON);
    let config = scene.world.config();
    let seams = Seams::system(&config).unwrap();
    let store = Arc::clone(&seams.store);
    let host = scene.world.open_with(Seams { clock: Arc::clone(&clock) as _, ..seams }).await;
    scene.backend.fault("/mails", Fault::cut(Moment::AfterWork), 1);
    let mail = scene.mail("a");
    let first = host.call(keyed("courier.post_once", &mail, "k")).await;
    assert_eq!(code(&first), "OUTCOME_UNKNOWN");
    clock.forward(400 * DAY);
    assert_eq!(store.sweep(clock.now(), Duration::MAX, 100).await, Ok(0));
    assert_stored(&first, &host.call(keyed("courier.post_once", &mail, "k")).await);
    assert_eq!(code(&host.call(keyed("courier.post_once", &scene.mail("b"), "k")).await), "KEY_REUSED");

    let run = first.meta.run.unwrap().to_string();
    let decided = host.decide(&run, happened(), "ada").await.unwrap();
    clock.forward(DAY - MOMENT);
    assert_stored(&decided, &host.call(keyed("courier.post_once", &mail, "k")).await);
    clock.forward(2 * MOMENT);
    assert_eq!(code(&host.call(keyed("courier.post_once", &mail, "k")).await), "KEY_EXPIRED");
    assert_eq!(scene.mails(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_its_key_re_arms_can_go_on_a_year_later() {
    let scene = Scene::courier("").await;
    let clock = SetClock::at(NOON);
    let host = scene.open_at(&clock).await;
    scene.backend.fault("/tickets", Fault::cut(Moment::AfterWork), 1);
    let first = host.call(keyed("courier.post_keyed", &scene.ticket("a"), "k")).await;
    assert_eq!(code(&first), "OUTCOME_UNKNOWN");
    clock.forward(400 * DAY);
    let again = host.call(keyed("courier.post_keyed", &scene.ticket("a"), "k")).await;
    assert!(again.ok() && again.meta.run == first.meta.run);
    assert_eq!(scene.backend.counts().tickets.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_whose_time_is_over_are_removed_and_no_others() {
    let scene = Scene::courier("").await;
    let clock = SetClock::at(NOON);
    let seams = Seams::system(&scene.world.config()).unwrap();
    let store = Arc::clone(&seams.store);
    let host = scene.world.open_with(Seams { clock: Arc::clone(&clock) as _, ..seams }).await;
    for key in ["a", "b", "c"] {
        assert!(host.call(keyed("courier.put", &scene.setting(key), key)).await.ok());
    }
    let mail = scene.mail("a");
    assert!(host.call(keyed("courier.post_once", &mail, "once")).await.ok());
    assert_eq!(store.sweep(NOON.plus(DAY), Duration::MAX, 100).await, Ok(0));
    let day_after = NOON.plus(DAY + MOMENT);
    assert_eq!(store.sweep(day_after, Duration::MAX, 2).await, Ok(2), "no more at a time than was asked for");
    assert_eq!(store.sweep(day_after, Duration::MAX, 100).await, Ok(1));
    clock.forward(DAY + MOMENT);
    assert_eq!(code(&host.call(keyed("courier.post_once", &mail, "once")).await), "KEY_EXPIRED");
    assert_eq!(store.sweep(NOON.plus(8 * DAY), Duration::MAX, 100).await, Ok(0));
    assert_eq!(store.sweep(NOON.plus(8 * DAY + MOMENT), Duration::MAX, 100).await, Ok(1));
    assert_eq!(host.runs(None, 10).unwrap().len(), 4, "runs stay when their keys go");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_removes_old_keys_when_it_opens() {
    let scene = Scene::courier("").await;
    let clock = SetClock::at(NOON);
    let host = scene.open_at(&clock).await;
    let reply = host.call(keyed("courier.put", &scene.setting("a"), "k")).await;
    clock.forward(DAY + MOMENT);
    let second = scene.open_at(&clock).await;
    let swept = async {
        while record(&second, &reply).key.is_some() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), swept).await.expect("the old key stays");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_goes_back_frees_no_key() {
    let scene = Scene::courier("").await;
    let clock = SetClock::at(NOON);
    let host = scene.open_at(&clock).await;
    let mail = scene.mail("a");
    let first = host.call(keyed("courier.post_once", &mail, "k")).await;
    clock.back(30 * DAY);
    assert_stored(&first, &host.call(keyed("courier.post_once", &mail, "k")).await);
    assert_eq!(scene.mails(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn how_long_keys_are_kept_is_configured() {
    let scene = Scene::courier("[limits]\nkeep = \"1h\"\ntombstone = \"2h\"\n").await;
    let clock = SetClock::at(NOON);
    let host = scene.open_at(&clock).await;
    let mail = scene.mail("a");
    let mut told = Vec::new();
    for _ in 0..5 {
        told.push(code(&host.call(keyed("courier.post_once", &mail, "k")).await));
        clock.forward(HOUR - 5 * MOMENT);
        told.push(code(&host.call(keyed("courier.post_once", &mail, "k")).await));
        clock.forward(6 * MOMENT);
    }
    assert_eq!(
        told,
        [
            "ok",
            "ok",
            "KEY_EXPIRED",
            "KEY_EXPIRED",
            "KEY_EXPIRED",
            "KEY_EXPIRED",
            "ok",
            "ok",
            "KEY_EXPIRED",
            "KEY_EXPIRED"
        ]
    );
    assert_eq!(scene.mails(), 2);
}
