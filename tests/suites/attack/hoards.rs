//! Guests that hold more of the host than it lends, each told which limit it met and whether a setting moves it.

use airlock_tests::guests::{GREEDY, HOARDER};
use airlock_tests::world::{body, code};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{Open, open};

/// The code and the message of a call that a limit ends.
async fn told(open: &Open, tool: &str, input: Value) -> String {
    let reply = open.call(tool, input).await;
    let error = body(&reply);
    assert_eq!(error["kind"], "limit", "{error}; log: {}", open.log(&reply).await);
    format!("{}: {}", code(&reply), error["message"].as_str().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn resources_of_the_host_are_bounded_by_their_number() {
    let open = open(&[HOARDER], "").await;
    let hostile = json!({ "count": 1_000_000 });
    assert_snapshot!(told(&open, "hoarder.timers", hostile).await, @"MEMORY_LIMIT: the tool held more than 1024 resources of the host at once (no setting moves this limit)");
    assert_eq!(open.data("hoarder.timers", json!({ "count": 500 })).await, json!({ "held": 500 }));
}

#[tokio::test(flavor = "multi_thread")]
async fn handles_of_a_guests_own_things_are_bounded_by_their_number() {
    let open = open(&[HOARDER], "").await;
    let hostile = json!({ "count": 1_000_000 });
    assert_snapshot!(told(&open, "hoarder.things", hostile).await, @"MEMORY_LIMIT: the tool held more than 4096 handles at once (no setting moves this limit)");
    assert_eq!(open.data("hoarder.things", json!({ "count": 4000 })).await, json!({ "held": 4000 }));
}

#[tokio::test(flavor = "multi_thread")]
async fn random_bytes_are_bounded_by_the_request() {
    let open = open(&[HOARDER], "").await;
    for insecure in [false, true] {
        let hostile = json!({ "count": 65_537, "insecure": insecure });
        assert_eq!(
            told(&open, "hoarder.noise", hostile).await,
            "MEMORY_LIMIT: the tool asked for more than 65536 random bytes at once (no setting moves this limit)"
        );
        let twin = json!({ "count": 65_536, "insecure": insecure });
        assert_eq!(open.data("hoarder.noise", twin).await, json!({ "held": 65_536 }));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_handed_over_in_one_piece_is_bounded_whatever_it_is_handed_to() {
    let small =
        open(&[GREEDY], "[limits]\noutput = \"1 MiB\"\nattachments = \"1 MiB\"\nbody = \"2 MiB\"").await;
    let log = json!({ "lines": 1, "bytes": 4 << 20 });
    assert_snapshot!(told(&small, "greedy.log_lines", log.clone()).await, @"OUTPUT_LIMIT: the tool handed over more than 3145728 bytes in one piece (1 MiB above the largest of [limits] output, attachments and body)");
    let text = json!({ "bytes": 4 << 20, "place": "data" });
    assert_snapshot!(told(&small, "greedy.long_text", text).await, @"OUTPUT_LIMIT: the tool handed over more than 3145728 bytes in one piece (1 MiB above the largest of [limits] output, attachments and body)");
    let large = open(&[GREEDY], "[limits]\noutput = \"1 MiB\"\nbody = \"4 MiB\"").await;
    assert_eq!(large.code("greedy.log_lines", log).await, "ok");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_ends_a_guest_for_no_limits_sake_is_called_none() {
    let open = open(&[GREEDY], "").await;
    let reply = open.call("greedy.exit", json!({ "status": 3 })).await;
    assert_eq!((code(&reply).as_str(), &body(&reply)["kind"]), ("INTERNAL", &json!("internal")));
}

#[tokio::test(flavor = "multi_thread")]
async fn time_that_is_over_is_told_with_the_setting_that_bounded_it() {
    let everywhere = open(&[HOARDER], "[limits]\nattempt = \"100ms\"").await;
    let rule = open(&[HOARDER], "[tools.\"hoarder.linger\"]\ntimeout = \"300ms\"").await;
    let own = open(&[HOARDER], "").await;
    let job = json!({ "ms": 3_600_000 });
    assert_snapshot!(told(&everywhere, "hoarder.linger", job.clone()).await, @"TIME_LIMIT: the attempt took longer than 100ms ([limits] attempt)");
    assert_snapshot!(told(&rule, "hoarder.linger", job.clone()).await, @r#"TIME_LIMIT: the attempt took longer than 300ms ([tools."hoarder.linger"] timeout)"#);
    assert_snapshot!(told(&own, "hoarder.linger", job).await, @"TIME_LIMIT: the attempt took longer than 200ms (the tool itself declares that, in `timeout-ms`)");
    assert_eq!(own.code("hoarder.linger", json!({ "ms": 0 })).await, "ok");
}
