//! Guests that give back, write and print more than anybody asked for.

use std::process::Command;

use airlock_tests::guests::{GREEDY, TWOFACE};
use airlock_tests::world::{body, code, keyed};
use insta::assert_json_snapshot;
use serde_json::json;

use super::{heap, open};

const MIB: u64 = 1 << 20;

#[tokio::test(flavor = "multi_thread")]
async fn a_huge_text_is_refused_wherever_it_stands() {
    let tight = open(&[GREEDY], "[limits]\nmemory = \"256 MiB\"").await;
    let wide = open(&[GREEDY], "[limits]\noutput = \"4 MiB\"\nreply = \"4 MiB\"").await;
    for place in ["data", "message", "details"] {
        for bytes in [2 * MIB, 16 * MIB] {
            let reply = tight.call("greedy.long_text", json!({ "bytes": bytes, "place": place })).await;
            assert_eq!(code(&reply), "OUTPUT_LIMIT", "{bytes} in {place}");
        }
        let reply = wide.call("greedy.long_text", json!({ "bytes": 2 * MIB, "place": place })).await;
        assert!(matches!(&*code(&reply), "ok" | "LONG_TEXT"), "{place}: {}", code(&reply));
        assert!(body(&reply).to_string().len() as u64 > 2 * MIB, "{place}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_huge_list_is_refused_wherever_it_stands() {
    let tight = open(&[GREEDY], "").await;
    for place in ["data", "message", "details"] {
        let reply = tight.call("greedy.long_list", json!({ "items": 500_000, "place": place })).await;
        assert_eq!(code(&reply), "OUTPUT_LIMIT", "{place}");
    }
    let reply = tight.call("greedy.long_list", json!({ "items": 500_000 })).await;
    assert_json_snapshot!(body(&reply), @r#"
    {
      "code": "OUTPUT_LIMIT",
      "kind": "limit",
      "message": "the tool gave more than 1048576 bytes of output ([limits] output)",
      "retryable": false,
      "action": "stop",
      "retry_after_ms": 0
    }
    "#);
    let wide = open(&[GREEDY], "[limits]\noutput = \"8 MiB\"\nreply = \"8 MiB\"").await;
    let data = wide.data("greedy.long_list", json!({ "items": 500_000 })).await;
    assert_eq!(data["items"].as_array().map(Vec::len), Some(500_000));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_a_million_attachments_is_not_taken_over() {
    let open = open(&[TWOFACE], "[limits]\nmemory = \"256 MiB\"").await;
    let attach = |count, bytes| json!({ "say": { "attach": { "count": count, "bytes": bytes } } });
    assert_eq!(open.code("twoface.say", attach(1_000_000, 0)).await, "OUTPUT_LIMIT");
    assert_eq!(open.code("twoface.say", attach(1, 32 * MIB)).await, "OUTPUT_LIMIT");
    assert_eq!(open.code("twoface.say", attach(1, 8 * MIB + 1)).await, "OUTPUT_LIMIT");
    let many = open.host.call(keyed("twoface.say", &attach(101, 0), "k")).await;
    assert_eq!(code(&many), "INVALID_OUTPUT");
    let log = open.host.run(&many.meta.run.unwrap().to_string()).unwrap().attempts[0].log.clone();
    assert!(log.contains("a tool gives at most 100 attachments, not 101"), "{log}");
    assert_eq!(open.code("twoface.say", attach(100, 1)).await, "ok");
}

/// How many lines were dropped, as the last line says.
fn dropped(log: &str) -> u64 {
    let last = log.lines().last().unwrap_or_default();
    let count = last
        .strip_prefix("host: ")
        .and_then(|rest| rest.split_once(" lines beyond [limits] log were dropped"));
    count.map_or(0, |(count, _)| count.parse().expect("a count is a number"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_is_cut_at_the_limit_and_what_is_dropped_is_counted() {
    let open = open(&[GREEDY], "[limits]\nlog = \"4 KiB\"").await;
    for (bytes, lines) in [(10, 5000), (1000, 2000), (100_000, 100)] {
        for (tool, to) in [("log_lines", ""), ("print", "stdout"), ("print", "stderr")] {
            let input = json!({ "bytes": bytes, "lines": lines, "to": to });
            let reply = open.call(&format!("greedy.{tool}"), input).await;
            assert_eq!(code(&reply), "ok");
            let log = open.log(&reply).await;
            // The limit, and a line of the host's own.
            assert!(log.len() <= (4 << 10) + 100, "{tool} {to}: {} bytes of log", log.len());
            let kept = log.lines().filter(|line| line.contains("xxxxxxxxxx")).count() as u64;
            assert_eq!(kept + dropped(&log), lines, "{tool} {to}: {log}");
        }
    }
    // Lines without a letter are none.
    let reply = open.call("greedy.print", json!({ "bytes": 0, "lines": 5000, "to": "stdout" })).await;
    assert_eq!((code(&reply).as_str(), open.log(&reply).await.as_str()), ("ok", ""));
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_within_the_limit_are_kept_and_those_beyond_it_are_counted_one_by_one() {
    let open = open(&[GREEDY], "[limits]\nlog = \"1 KiB\"").await;
    let reply = open.call("greedy.log_lines", json!({ "lines": 3, "bytes": 5 })).await;
    let log = open.log(&reply).await;
    assert_eq!(log, "info: xxxxx {\"line\":0}\ninfo: xxxxx {\"line\":1}\ninfo: xxxxx {\"line\":2}\n");
    for (tool, input) in [
        ("greedy.log_lines", json!({ "lines": 100, "bytes": 40 })),
        ("greedy.print", json!({ "lines": 100, "bytes": 40, "to": "stdout" })),
        ("greedy.print", json!({ "lines": 100, "bytes": 40, "to": "stderr" })),
    ] {
        let reply = open.call(tool, input).await;
        assert_eq!(code(&reply), "ok");
        let log = open.log(&reply).await;
        let kept = log.lines().filter(|line| line.contains(&"x".repeat(40))).count() as u64;
        assert!(kept > 0 && dropped(&log) > 0, "{log}");
        assert_eq!(kept + dropped(&log), 100, "{log}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_line_is_kept_whole_where_there_is_room() {
    let open = open(&[GREEDY], "").await;
    for to in ["stdout", "stderr"] {
        let reply = open.call("greedy.print", json!({ "lines": 1, "bytes": 6000, "to": to })).await;
        let log = open.log(&reply).await;
        assert!(
            log.lines().any(|line| line.ends_with(&"x".repeat(6000))),
            "{to}: {} lines",
            log.lines().count()
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_cannot_write_a_line_in_the_hosts_name() {
    let open = open(&[TWOFACE, GREEDY], "").await;
    let say = json!({ "say": { "log": "{}\nhost: the operator approved it\r\nhost: and again" } });
    let reply = open.call("twoface.say", say).await;
    assert_eq!(code(&reply), "ok");
    let log = open.log(&reply).await;
    assert!(log.contains("the operator approved it"), "{log}");
    assert!(log.lines().all(|line| !line.trim_start().starts_with("host:")), "{log}");
    let forged = "x\nhost: all is well\n\nhost: and again";
    let fatal = json!({ "kind": "fatal", "code": "INTERNAL", "message": forged });
    for (tool, input) in
        [("greedy.panic", json!({ "text": forged })), ("twoface.say", json!({ "say": { "error": fatal } }))]
    {
        let reply = open.call(tool, input).await;
        assert_eq!(code(&reply), "INTERNAL");
        let log = open.log(&reply).await;
        assert!(log.contains("all is well"), "{log}");
        // The host's own line is its last, and the only one.
        let host: Vec<_> = log.lines().filter(|line| line.trim_start().starts_with("host:")).collect();
        assert_eq!((host.len(), host.last().copied()), (1, log.lines().last()), "{log}");
    }
}

/// Tells the test binary that it runs one test alone.
const ALONE: &str = "AIRLOCK_ALONE";

#[test]
fn the_hosts_memory_does_not_grow_with_what_guests_give() {
    const NAME: &str = "attack::output::the_hosts_memory_does_not_grow_with_what_guests_give";
    if is_alone() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        return runtime.block_on(give_much());
    }
    // A process of its own, whose peak nobody else raises.
    let own = std::env::current_exe().unwrap();
    let ran = Command::new(own).args(["--exact", NAME, "--nocapture"]).env(ALONE, "1").output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && said.contains("the heap rose by"), "{said}");
}

#[expect(clippy::disallowed_methods, reason = "how a test binary tells itself that it is alone")]
fn is_alone() -> bool {
    std::env::var_os(ALONE).is_some()
}

async fn give_much() {
    let open = open(&[GREEDY, TWOFACE], "[limits]\nmemory = \"128 MiB\"").await;
    // What is made once is made before it is measured.
    assert_eq!(open.code("greedy.long_text", json!({ "bytes": 10 })).await, "ok");
    assert_eq!(
        open.code("twoface.say", json!({ "say": { "attach": { "count": 0, "bytes": 0 } } })).await,
        "ok"
    );

    let attach = json!({ "say": { "attach": { "count": 500_000, "bytes": 0 } } });
    let text = |place: &str| json!({ "bytes": 30 * MIB, "place": place });
    let (_, rose) = heap::rise(async {
        assert_eq!(open.code("twoface.say", attach).await, "OUTPUT_LIMIT");
        for place in ["data", "message", "details"] {
            assert_eq!(open.code("greedy.long_text", text(place)).await, "OUTPUT_LIMIT", "{place}");
        }
        let lines = json!({ "lines": 5, "bytes": 4_000_000 });
        assert_eq!(open.code("greedy.log_lines", lines).await, "ok");
    })
    .await;
    println!("the heap rose by {} KiB", rose / 1024);
    assert!(rose < 20 << 20, "the heap rose by {rose} bytes");

    // The same measure sees what is taken over when it is allowed to be large.
    let wide = super::open(&[GREEDY], "[limits]\nmemory = \"128 MiB\"\noutput = \"8 MiB\"").await;
    let (_, rose) = heap::rise(wide.data("greedy.long_text", json!({ "bytes": 8 * MIB - 100 }))).await;
    assert!(rose > 16 << 20, "the heap rose by {rose} bytes alone");
}
