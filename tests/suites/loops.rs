//! Agents that go round in circles: they are told so, and stopped in the end; what makes progress goes on.

mod apart;
mod settings;

use airlock::host::{Host, Request};
use airlock::model::id::TraceId;
use airlock::model::reply::Reply;
use airlock_tests::guests;
use airlock_tests::world::{World, code, request};
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::call::{shown, text};

/// A call in the conversation of this trace.
fn said_in(trace: &str, tool: &str, input: &Value) -> Request {
    of_trace(trace, request(tool, input))
}

fn of_trace(trace: &str, call: Request) -> Request {
    Request { trace: Some(TraceId(trace.to_owned())), conversation: true, ..call }
}

fn echo(text: &str) -> Request {
    said_in("a", "echo.echo", &json!({ "text": text }))
}

/// The code, and how often the same round was gone: `ok`, `ok 3×1`.
fn told(reply: &Reply) -> String {
    match reply.meta.rounds {
        Some(rounds) => format!("{} {}×{}", code(reply), rounds.times, rounds.calls),
        None => code(reply),
    }
}

/// What each of these calls ended in, one after another.
async fn ends(host: &Host, calls: impl IntoIterator<Item = Request>) -> String {
    let mut ends = Vec::new();
    for call in calls {
        ends.push(told(&host.call(call).await));
    }
    ends.join(", ")
}

fn world() -> World {
    World::in_memory().with_plugins(&[guests::ECHO, guests::GREEDY, guests::NOTEBOOK])
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_call_with_the_same_reply_is_told_the_third_time_and_refused_the_eighth() {
    let host = world().open().await;
    assert_snapshot!(
        ends(&host, (0..7).map(|_| echo("x"))).await,
        @"ok, ok, ok 3×1, ok 4×1, ok 5×1, ok 6×1, ok 7×1"
    );
    assert_snapshot!(shown(&host.call(echo("x")).await), @r#"
    {
      "ok": false,
      "error": {
        "code": "LOOP_DETECTED",
        "kind": "denied",
        "message": "echo.echo was called with this input and gave the same reply 7 times in a row, so calling once more gives nothing new; nothing was run. Do something else: other input, another tool, or tell the user what is missing",
        "retryable": false,
        "action": "stop",
        "retry_after_ms": 0,
        "details": {
          "rounds": 8
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
        "loop": {
          "rounds": 8,
          "calls": 1
        },
        "trace_id": "TRACE"
      }
    }
    "#);
    // Nobody waited for what reads to be written down.
    host.clone().close().await;
    assert_eq!(host.runs(None, 100).unwrap().len(), 7, "what was refused made no run");
    assert_snapshot!(ends(&host, (0..3).map(|_| echo("x"))).await, @"LOOP_DETECTED 9×1, LOOP_DETECTED 10×1, LOOP_DETECTED 11×1");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_call_ends_the_circle() {
    let host = world().open().await;
    ends(&host, (0..8).map(|_| echo("x"))).await;
    assert_snapshot!(ends(&host, [echo("y"), echo("x"), echo("x"), echo("x")]).await, @"ok, ok, ok, ok 3×1");
}

#[tokio::test(flavor = "multi_thread")]
async fn circles_of_up_to_four_calls_are_seen() {
    let host = world().open().await;
    for calls in 2..=4 {
        let turns = (0..8 * calls).map(|turn| {
            let call =
                said_in(&format!("{calls}"), "echo.echo", &json!({ "text": (turn % calls).to_string() }));
            if turn % calls == 1 { Request { tool: "echo.echo_write".to_owned(), ..call } } else { call }
        });
        let mut last = None;
        for (turn, call) in turns.enumerate() {
            let reply = host.call(call).await;
            assert_eq!(reply.ok(), turn + 1 < 8 * calls, "{calls} {turn}: {}", text(&reply));
            assert_eq!(reply.meta.rounds.is_some(), turn + 1 >= 3 * calls, "{calls} {turn}");
            last = Some(reply);
        }
        let last = last.unwrap();
        assert_eq!(told(&last), format!("LOOP_DETECTED 8×{calls}"));
        if calls == 3 {
            assert_snapshot!(text(&last), @r#"{"code":"LOOP_DETECTED","kind":"denied","message":"the same 3 calls gave the same replies (echo.echo, then echo.echo_write, then echo.echo) 7 times in a row, so calling once more gives nothing new; nothing was run. Do something else: other input, another tool, or tell the user what is missing","retryable":false,"action":"stop","retry_after_ms":0,"details":{"rounds":8}}"#);
        }
    }
    let of_five = (0..60).map(|turn| echo(&(turn % 5).to_string()));
    assert!(!ends(&host, of_five).await.contains('×'), "five calls in turn are no circle");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_changes_is_progress() {
    let world = world().with_config("[plugin.notebook]\nkey_value = true");
    let host = world.open().await;
    let read = || said_in("a", "notebook.read", &json!({ "lines": ["get a"] }));
    let write =
        |value: usize| said_in("a", "notebook.write", &json!({ "lines": [format!("set a {value}")] }));
    for value in 0..12 {
        assert_eq!(told(&host.call(write(value)).await), "ok");
        assert_eq!(told(&host.call(read()).await), "ok", "{value}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_is_there_to_be_asked_again_and_again_is_left_out() {
    let host = world().open().await;
    let poll = || said_in("a", "greedy.random", &json!({ "bytes": 0 }));
    assert!(host.tool(&poll().caller, None, "greedy.random").unwrap().tool.poll);
    assert!(!ends(&host, (0..12).map(|_| poll())).await.contains('×'));
    // Neither does it end a circle of others.
    let between = (0..6).map(|turn| if turn % 2 == 0 { echo("x") } else { poll() });
    assert_snapshot!(ends(&host, between).await, @"ok, ok, ok, ok, ok 3×1, ok");
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_and_refusals_count_as_replies() {
    let config =
        "[callers.agent]\nmax_risk = \"L4\"\n[callers.agent.confirm]\n\"echo.echo_write\" = \"person\"";
    let host = world().with_config(config).open().await;
    let faulty = || said_in("a", "echo.echo", &json!({ "txet": "x" }));
    assert_snapshot!(ends(&host, (0..8).map(|_| faulty())).await, @"INVALID_INPUT, INVALID_INPUT, INVALID_INPUT 3×1, INVALID_INPUT 4×1, INVALID_INPUT 5×1, INVALID_INPUT 6×1, INVALID_INPUT 7×1, LOOP_DETECTED 8×1");
    let broken = || Request { input: "{".to_owned(), ..faulty() };
    assert_snapshot!(ends(&host, (0..3).map(|_| broken())).await, @"INVALID_INPUT, INVALID_INPUT, INVALID_INPUT 3×1");
    let asked = || crate::call::as_caller("agent", said_in("a", "echo.echo_write", &json!({ "text": "x" })));
    assert_snapshot!(ends(&host, (0..3).map(|_| asked())).await, @"NEEDS_PERSON, NEEDS_PERSON, NEEDS_PERSON 3×1");
    let nowhere = || said_in("a", "echo.nowhere", &json!({}));
    assert_snapshot!(ends(&host, (0..3).map(|_| nowhere())).await, @"UNKNOWN_TOOL, UNKNOWN_TOOL, UNKNOWN_TOOL 3×1");
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_and_replays_count_and_what_differs_each_time_does_not() {
    let host = world().with_config("[plugin.notebook]\nkey_value = true").open().await;
    // The host names a run and a key of its own in each.
    let trap = || said_in("a", "notebook.write", &json!({ "lines": ["trap"] }));
    assert_snapshot!(ends(&host, (0..8).map(|_| trap())).await, @"INTERNAL, INTERNAL, INTERNAL 3×1, INTERNAL 4×1, INTERNAL 5×1, INTERNAL 6×1, INTERNAL 7×1, LOOP_DETECTED 8×1");
    let keyed =
        || Request { key: Some("k1".to_owned()), ..said_in("b", "echo.echo_write", &json!({ "text": "x" })) };
    assert_snapshot!(ends(&host, (0..4).map(|_| keyed())).await, @"ok, ok, ok 3×1, ok 4×1");
    let reused =
        || Request { key: Some("k1".to_owned()), ..said_in("b", "echo.echo_write", &json!({ "text": "y" })) };
    assert_snapshot!(ends(&host, (0..3).map(|_| reused())).await, @"KEY_REUSED, KEY_REUSED, KEY_REUSED 3×1");
}

#[tokio::test(flavor = "multi_thread")]
async fn input_is_the_same_in_whatever_order_and_spacing() {
    let host = world().open().await;
    let ways = [
        r#"{"bytes":0,"x":{"a":1,"b":[1,2]}}"#,
        r#"{ "x": { "b": [1, 2], "a": 1 }, "bytes": 0 }"#,
        r#"{"x":{"a":1,"b":[1,2]},"bytes":0}"#,
    ];
    let calls = |tool: &'static str| {
        ways.map(|input| Request { input: input.to_owned(), ..said_in(tool, tool, &json!({})) })
    };
    assert_snapshot!(ends(&host, calls("echo.echo")).await, @"INVALID_INPUT, INVALID_INPUT, INVALID_INPUT 3×1");
    let other = [r#"{"x":[1,2]}"#, r#"{"x":[2,1]}"#, r#"{"x":["1",2]}"#];
    let other =
        other.map(|input| Request { input: input.to_owned(), ..said_in("o", "echo.echo", &json!({})) });
    assert!(!ends(&host, other).await.contains('×'));
}
