//! Whose calls make a circle: those of one conversation, of one caller and its user.

use std::time::Duration;

use airlock::host::Request;
use airlock_tests::guests;
use airlock_tests::world::{World, code, keyed, request};
use insta::assert_snapshot;
use serde_json::json;

use super::{ends, of_trace, said_in, told};
use crate::call::as_caller;

const AGENT: &str = "[callers.agent]\nmax_risk = \"L4\"\n";

#[tokio::test(flavor = "multi_thread")]
async fn conversations_users_and_callers_are_apart() {
    let host = World::in_memory().with_plugins(&[guests::ECHO]).with_config(AGENT).open().await;
    let input = json!({ "text": "x" });
    let echo = |trace: &str| said_in(trace, "echo.echo", &input);
    let user = |name: &str, call: Request| Request { user: Some(name.parse().unwrap()), ..call };
    for _ in 0..7 {
        host.call(echo("a")).await;
    }
    let others = [
        echo("b"),
        as_caller("agent", echo("a")),
        user("ada@example.com", echo("a")),
        user("eve@example.com", echo("a")),
        request("echo.echo", &input),
    ];
    assert_snapshot!(ends(&host, others).await, @"ok, ok, ok, ok, ok");
    assert_eq!(told(&host.call(echo("a")).await), "LOOP_DETECTED 8×1");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_belongs_to_no_conversation_is_never_part_of_a_circle() {
    let host = World::in_memory().with_plugins(&[guests::ECHO]).open().await;
    let lone = || request("echo.echo", &json!({ "text": "x" }));
    let traced = || Request { conversation: false, ..of_trace("a", lone()) };
    assert!(!ends(&host, (0..10).map(|_| lone())).await.contains('×'));
    assert!(!ends(&host, (0..10).map(|_| traced())).await.contains('×'));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_too_many_conversations_the_one_that_was_not_used_for_longest_is_forgotten() {
    const MOST: usize = 1024;
    let host = World::in_memory().with_plugins(&[guests::ECHO]).open().await;
    let echo = |trace: &str| said_in(trace, "echo.echo", &json!({ "text": "x" }));
    for _ in 0..7 {
        host.call(echo("forgotten")).await;
    }
    for _ in 0..7 {
        host.call(echo("used")).await;
    }
    for other in 0..MOST {
        host.call(said_in(&other.to_string(), "echo.nowhere", &json!({}))).await;
        if other == MOST / 2 {
            assert_eq!(code(&host.call(echo("used")).await), "LOOP_DETECTED");
        }
    }
    assert_eq!(code(&host.call(echo("used")).await), "LOOP_DETECTED");
    assert_eq!(told(&host.call(echo("forgotten")).await), "ok");
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_asks_after_a_call_that_goes_on_goes_in_no_circle() {
    let world = World::in_memory().with_plugins(&[guests::PATIENT]).with_config("[limits]\nwait = \"1ms\"");
    let host = world.open().await;
    let cancel = airlock::host::Cancel::default();
    let walk = || of_trace("a", keyed("patient.walk", &json!({}), "k1"));
    let first = Request { cancel: Some(cancel.clone()), ..walk() };
    assert_eq!(code(&host.call_within(first).await), "STILL_RUNNING");
    assert!(!ends(&host, (0..12).map(|_| walk())).await.contains('×'));
    cancel.ask();
    host.quiet(Duration::from_secs(60)).await;
}
