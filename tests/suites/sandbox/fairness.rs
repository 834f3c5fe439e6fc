//! Whose turn it is, and that whoever is stopped leaves its place.

use airlock::model::id::CallerName;
use airlock::model::state::RunState;
use airlock_tests::guests::{COURIER, ECHO, GREEDY};
use airlock_tests::world::{code, request};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::attack::{Open, open};

/// So many calls at once that this caller asks for.
fn loops(open: &Open, caller: &str, tool: &str, input: &Value, count: usize) -> JoinSet<String> {
    let mut set = JoinSet::new();
    for _ in 0..count {
        let host = open.host.clone();
        let mut request = request(tool, input);
        request.caller = CallerName(caller.to_owned());
        set.spawn(async move { code(&host.call(request).await) });
    }
    set
}

/// Runs that are under way, of tools that write.
fn under_way(open: &Open) -> usize {
    let runs = open.host.runs(None, 1000).unwrap();
    runs.iter().filter(|run| run.state == RunState::Running).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn endless_loops_of_one_caller_keep_nobody_else_from_being_served() {
    let config = "[limits]\nat_once = 8\n[callers.other]\nmax_risk = \"L3\"";
    let open = open(&[COURIER, ECHO], config).await;
    let job = json!({ "method": "PUT", "url": "http://nowhere.test/", "before": "loop" });
    let mut looping = loops(&open, "other", "courier.put", &job, 20);
    // Half of the places are the most for one caller; the others wait.
    while under_way(&open) < 4 {
        tokio::task::yield_now().await;
    }
    for number in 0..20 {
        let said = json!({ "text": format!("{number}") });
        assert_eq!(open.data("echo.echo", said.clone()).await, said);
    }
    assert_eq!(under_way(&open), 4, "the loops were to go on all the while");
    assert!(looping.try_join_next().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn endless_loops_of_one_plugin_keep_no_other_plugin_from_being_called_by_the_same_caller() {
    let config = "[limits]\nat_once = 4\nwait = \"60s\"\n[tools.\"greedy.spin\"]\ntimeout = \"200ms\"";
    let open = open(&[GREEDY, ECHO], config).await;
    let mut looping = loops(&open, "local", "greedy.spin", &json!({}), 20);
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
        let mut looping = loops(&open, "local", "greedy.spin", &json!({}), 40);
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
    drop(loops(&open, "local", "greedy.spin", &json!({}), 50));
    assert_eq!(open.code("greedy.busy", json!({ "ms": 1 })).await, "ok");
}
