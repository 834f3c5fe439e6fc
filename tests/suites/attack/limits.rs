//! Guests that take time, fuel, memory, stack and requests to their ends.

use airlock_tests::backend::Backend;
use airlock_tests::guests::{COURIER, GREEDY};
use airlock_tests::world::{World, body, code};
use insta::assert_json_snapshot;
use serde_json::{Value, json};

use super::{get, open, open_world};

/// So little time that a test can wait for its end.
const TIGHT: &str = "[limits]\nattempt = \"200ms\"";

/// Asks the same of a host where time is short and of one where it is not.
async fn stopped_and_granted(tool: &str, hostile: Value, twin: Value) {
    let tight = open(&[GREEDY], TIGHT).await;
    assert_eq!(tight.code(tool, hostile).await, "TIME_LIMIT", "{tool}");
    let wide = open(&[GREEDY], "").await;
    assert_eq!(wide.code(tool, twin).await, "ok", "{tool}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endless_loop_ends_at_its_time_and_the_limit_is_named() {
    let tight = open(&[GREEDY], TIGHT).await;
    let reply = tight.call("greedy.spin", json!({})).await;
    assert_json_snapshot!(body(&reply), @r#"
    {
      "code": "TIME_LIMIT",
      "kind": "limit",
      "message": "the attempt took longer than 200ms ([limits] attempt)",
      "retryable": false,
      "action": "stop",
      "retry_after_ms": 0
    }
    "#);
    assert_eq!(code(&reply), "TIME_LIMIT");
    let wide = open(&[GREEDY], "").await;
    assert_eq!(wide.data("greedy.spin", json!({ "rounds": 1_000_000 })).await, json!({ "done": 1_000_000 }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_loop_of_host_calls_ends_at_its_time() {
    let tight = open(&[GREEDY], TIGHT).await;
    for what in ["config", "log", "clock"] {
        let reply = tight.call("greedy.call_host", json!({ "what": what })).await;
        assert_eq!(code(&reply), "TIME_LIMIT", "{what}");
    }
    let wide = open(&[GREEDY], "").await;
    for what in ["config", "log", "clock"] {
        assert_eq!(
            wide.code("greedy.call_host", json!({ "what": what, "rounds": 1000 })).await,
            "ok",
            "{what}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_that_sleeps_for_an_hour_ends_at_its_time() {
    stopped_and_granted("greedy.sleep", json!({ "ms": 3_600_000 }), json!({ "ms": 300 })).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_that_takes_longer_than_it_may_is_granted_more_time_and_succeeds() {
    stopped_and_granted("greedy.busy", json!({ "ms": 10_000 }), json!({ "ms": 300 })).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_has_a_time_of_its_own_where_the_operator_says_so() {
    let open = open(&[GREEDY], "[tools.\"greedy.sleep\"]\ntimeout = \"200ms\"").await;
    assert_eq!(open.code("greedy.sleep", json!({ "ms": 3_600_000 })).await, "TIME_LIMIT");
    assert_eq!(open.code("greedy.busy", json!({ "ms": 300 })).await, "ok");
}

#[tokio::test(flavor = "multi_thread")]
async fn fuel_ends_what_computes_too_much_long_before_its_time() {
    let job = json!({ "rounds": 20_000_000 });
    let tight = open(&[GREEDY], "[limits]\nfuel = 50_000_000").await;
    let reply = tight.call("greedy.spin", job.clone()).await;
    assert_json_snapshot!(body(&reply), @r#"
    {
      "code": "FUEL_LIMIT",
      "kind": "limit",
      "message": "the tool used up its 50000000 units of fuel ([limits] fuel)",
      "retryable": false,
      "action": "stop",
      "retry_after_ms": 0
    }
    "#);
    assert!(reply.meta.fuel <= 50_000_000, "{} units were used", reply.meta.fuel);
    let wide = open(&[GREEDY], "[limits]\nfuel = 5_000_000_000").await;
    let reply = wide.call("greedy.spin", job).await;
    assert_eq!(code(&reply), "ok");
    assert!((50_000_000..5_000_000_000).contains(&reply.meta.fuel), "{} units were used", reply.meta.fuel);
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_ends_the_guest_that_cannot_say_that_it_has_none_left() {
    let tight = open(&[GREEDY], "[limits]\nmemory = \"16 MiB\"").await;
    let reply = tight.call("greedy.allocate", json!({ "mib": 48, "touch": true })).await;
    assert_json_snapshot!(body(&reply), @r#"
    {
      "code": "MEMORY_LIMIT",
      "kind": "limit",
      "message": "the tool asked for more than 16777216 bytes of memory ([limits] memory)",
      "retryable": false,
      "action": "stop",
      "retry_after_ms": 0
    }
    "#);
    assert!(reply.meta.memory_bytes <= 16 << 20, "{} bytes were held", reply.meta.memory_bytes);
    // Without an end, too.
    let reply = tight.call("greedy.allocate", json!({ "mib": 1_000_000_000 })).await;
    assert_eq!(code(&reply), "MEMORY_LIMIT");
    let wide = open(&[GREEDY], "[limits]\nmemory = \"64 MiB\"").await;
    let reply = wide.call("greedy.allocate", json!({ "mib": 48, "touch": true })).await;
    assert_eq!(body(&reply), json!({ "done": 48 }));
    assert!((48 << 20..=64 << 20).contains(&reply.meta.memory_bytes), "{} bytes", reply.meta.memory_bytes);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_that_can_say_that_memory_is_refused_says_so_in_its_own_words() {
    let tight = open(&[GREEDY], "[limits]\nmemory = \"16 MiB\"").await;
    let reply = tight.call("greedy.allocate", json!({ "mib": 48, "careful": true })).await;
    assert_eq!(code(&reply), "OUT_OF_MEMORY");
    assert_eq!(body(&reply)["kind"], "rejected");
    assert_eq!(tight.code("greedy.allocate", json!({ "mib": 4, "careful": true })).await, "ok");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_that_calls_itself_for_ever_leaves_the_host_alive_and_says_nothing() {
    let open = open(&[GREEDY], "").await;
    for in_memory in [false, true] {
        let hostile = json!({ "depth": 1_000_000_000, "frames_in_memory": in_memory });
        let reply = open.call("greedy.recurse", hostile).await;
        assert_eq!(code(&reply), "INTERNAL");
        let shown = body(&reply).to_string().to_lowercase();
        for word in ["stack", "trap", "wasm", "overflow", "recurse", "0x", "unreachable", "memory"] {
            assert!(!shown.contains(word), "{word} in {shown}");
        }
        assert!(open.log(&reply).await.contains("host: trap: "), "{}", open.log(&reply).await);
        let twin = json!({ "depth": 50, "frames_in_memory": in_memory });
        assert_eq!(open.data("greedy.recurse", twin).await, json!({ "done": 50 }));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_words_of_a_guest_that_traps_are_kept_for_the_operator_alone() {
    let open = open(&[GREEDY], "").await;
    let reply = open.call("greedy.panic", json!({ "text": "at 10.0.0.7 in SELECT * FROM orders" })).await;
    assert_json_snapshot!(body(&reply), @r#"
    {
      "code": "INTERNAL",
      "kind": "internal",
      "message": "the tool failed inside; quote the trace id to whoever runs this host",
      "retryable": false,
      "action": "stop",
      "retry_after_ms": 0
    }
    "#);
    let log = open.log(&reply).await;
    assert!(log.contains("at 10.0.0.7 in SELECT * FROM orders") && log.contains("host: trap: "), "{log}");
    assert_eq!(open.code("greedy.panic", json!({})).await, "ok");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_that_exits_has_failed_whatever_it_says() {
    let open = open(&[GREEDY], "").await;
    for status in [0, 1, 3] {
        let reply = open.call("greedy.exit", json!({ "status": status })).await;
        assert_eq!(code(&reply), "INTERNAL", "{status}");
        assert!(open.log(&reply).await.contains("host: the guest left by `exit`"));
    }
    assert_eq!(open.code("greedy.exit", json!({})).await, "ok");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_sees_no_arguments_no_variables_and_no_folder() {
    let open = open(&[GREEDY], "").await;
    assert_json_snapshot!(open.data("greedy.environment", json!({})).await, @r#"
    {
      "arguments": [],
      "variables": [],
      "folder": "/"
    }
    "#);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_bounded_by_their_number() {
    let backend = Backend::start().await;
    let world = |limit: u32| {
        let world = World::new().with_plugins(&[COURIER]);
        let world = world.with_grant("courier", &backend.url, &["127.0.0.1"]);
        world.with_config(&format!("[limits]\nrequests = {limit}"))
    };
    let mut job = get(&format!("{}/orders/A-1002", backend.url));
    job["times"] = json!(5);
    let tight = open_world(world(3)).await;
    let reply = tight.call("courier.fetch", job.clone()).await;
    assert_json_snapshot!(body(&reply), @r#"
    {
      "code": "REQUEST_LIMIT",
      "kind": "limit",
      "message": "the tool sent more than 3 requests ([limits] requests)",
      "retryable": false,
      "action": "stop",
      "retry_after_ms": 0
    }
    "#);
    assert_eq!(backend.counts().of("GET /orders/A-1002").requests, 3);
    let wide = open_world(world(5)).await;
    assert_eq!(wide.code("courier.fetch", job).await, "ok");
    assert_eq!(backend.counts().of("GET /orders/A-1002").requests, 8);
}
