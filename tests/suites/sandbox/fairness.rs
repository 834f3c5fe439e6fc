//! Whose turn it is, and that whoever is stopped leaves its place.

use airlock::model::id::CallerName;
use airlock_tests::guests::{ECHO, GREEDY};
use airlock_tests::world::{code, request};
use serde_json::json;
use tokio::task::JoinSet;

use crate::attack::{Open, open};

/// A tool that loops for ever in so many calls at once, asked for by this caller.
fn loops(open: &Open, caller: &str, count: usize) -> JoinSet<String> {
    let mut set = JoinSet::new();
    for _ in 0..count {
        let host = open.host.clone();
        let mut request = request("greedy.spin", &json!({}));
        request.caller = CallerName(caller.to_owned());
        set.spawn(async move { code(&host.call(request).await) });
    }
    set
}

/// Waits until so many calls have been begun and none has ended.
async fn all_begun(open: &Open) {
    // A call that gets through has been behind or beside them: the loops were asked for before it.
    assert_eq!(open.code("echo.echo", json!({ "text": "first" })).await, "ok");
}

#[tokio::test(flavor = "multi_thread")]
async fn endless_loops_of_one_caller_keep_nobody_else_from_being_served() {
    let open = open(&[GREEDY, ECHO], "[callers.other]\nmax_risk = \"L1\"").await;
    let mut looping = loops(&open, "other", 100);
    all_begun(&open).await;
    for number in 0..20 {
        let said = json!({ "text": format!("{number}") });
        assert_eq!(open.data("echo.echo", said.clone()).await, said);
    }
    assert!(looping.try_join_next().is_none(), "the loops were to go on all the while");
}

#[tokio::test(flavor = "multi_thread")]
async fn endless_loops_of_one_plugin_keep_no_other_plugin_from_being_called_by_the_same_caller() {
    let config = "[limits]\nat_once = 4\nwait = \"60s\"\n[tools.\"greedy.spin\"]\ntimeout = \"200ms\"";
    let open = open(&[GREEDY, ECHO], config).await;
    let mut looping = loops(&open, "local", 20);
    assert_eq!(open.code("echo.echo", json!({ "text": "hello" })).await, "ok");
    while let Some(ended) = looping.join_next().await {
        assert_eq!(ended.unwrap(), "TIME_LIMIT");
    }
    assert_eq!(open.code("echo.echo", json!({ "text": "hello" })).await, "ok");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_calls_that_run_out_of_time_leave_no_slot_behind() {
    let config = "[limits]\nat_once = 2\n[tools.\"greedy.spin\"]\ntimeout = \"5ms\"\n[tools.\"greedy.sleep\"]\ntimeout = \"5ms\"";
    let open = open(&[GREEDY], config).await;
    for number in 0..200 {
        let (tool, input) = match number % 2 {
            0 => ("greedy.spin", json!({})),
            _ => ("greedy.sleep", json!({ "ms": 3_600_000 })),
        };
        assert_eq!(open.code(tool, input).await, "TIME_LIMIT", "call {number}");
    }
    assert_eq!(open.code("greedy.busy", json!({ "ms": 1 })).await, "ok");
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_at_once_that_run_out_of_time_leave_no_slot_behind() {
    let config = "[limits]\nat_once = 4\nwait = \"60s\"\n[tools.\"greedy.spin\"]\ntimeout = \"20ms\"";
    let open = open(&[GREEDY], config).await;
    for _ in 0..3 {
        let mut looping = loops(&open, "local", 40);
        while let Some(ended) = looping.join_next().await {
            assert_eq!(ended.unwrap(), "TIME_LIMIT");
        }
    }
    assert_eq!(open.code("greedy.busy", json!({ "ms": 1 })).await, "ok");
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_who_went_away_keep_neither_place_nor_slot() {
    let config = "[limits]\nat_once = 2\nwait = \"60s\"\n[tools.\"greedy.spin\"]\ntimeout = \"20ms\"";
    let open = open(&[GREEDY], config).await;
    drop(loops(&open, "local", 50));
    assert_eq!(open.code("greedy.busy", json!({ "ms": 1 })).await, "ok");
}
