//! Ends of calls in full, and what the wire, the tool and the journal each have to say in them.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use airlock_tests::backend::{Backend, Fault, Moment, Options};
use airlock_tests::guests;
use airlock_tests::world::{World, body, keyed, request};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{Scene, end, record, text};

#[tokio::test(flavor = "multi_thread")]
async fn the_ends_in_full() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    scene.backend.fault("/mails", Fault::status(Moment::AfterWork, 500), 1);
    let once = host.call(keyed("courier.post_once", &scene.mail("a"), "k1")).await;
    assert_snapshot!(scene.shown(&once), @r#"
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
              "effect": "POST /mails",
              "status": 500
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
        "effects": 1,
        "cost_micros": 0,
        "replayed": false,
        "trace_id": "TRACE"
      }
    }
    "#);
    scene.backend.fault("/tickets", Fault::cut(Moment::AfterWork), 1);
    let bearing_a_key = host.call(request("courier.post_keyed", &scene.ticket("a"))).await;
    assert_snapshot!(scene.shown(&bearing_a_key), @r#"
    {
      "ok": false,
      "error": {
        "code": "OUTCOME_UNKNOWN",
        "kind": "unknown_outcome",
        "message": "the action may have happened and may not; ask again with the key in details.key, and with no other: what was done under it is not done twice",
        "retryable": false,
        "action": "repeat_with_key",
        "retry_after_ms": 0,
        "details": {
          "open": [
            {
              "attempt": 1,
              "effect": "POST /tickets"
            }
          ],
          "key": "airlock-RUN"
        }
      },
      "meta": {
        "run": "RUN",
        "step": 1,
        "attempts": 1,
        "duration_ms": "COUNTED",
        "fuel": "COUNTED",
        "memory_bytes": "COUNTED",
        "effects": 1,
        "cost_micros": 0,
        "replayed": false,
        "trace_id": "TRACE"
      }
    }
    "#);
    scene.backend.fault("/mails", Fault::cut(Moment::AfterHead), 1);
    let done = host.call(keyed("courier.post_once", &scene.mail("a"), "k3")).await;
    assert_snapshot!(scene.shown(&done), @r#"
    {
      "ok": false,
      "error": {
        "code": "PARTLY_DONE",
        "kind": "partial",
        "message": "part of the work was done before the call failed (ANSWER_BROKEN: the answer broke off, and it may have been done); do not repeat it: a person decides what becomes of it",
        "retryable": false,
        "action": "do_not_repeat",
        "retry_after_ms": 0,
        "details": {
          "done": [
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
        "effects": 1,
        "cost_micros": 0,
        "replayed": false,
        "trace_id": "TRACE"
      }
    }
    "#);
    scene.backend.fault("/mails", Fault::status(Moment::BeforeWork, 429).retry_after(2), 1);
    let throttled = host.call(keyed("courier.post_once", &scene.mail("a"), "k4")).await;
    assert_snapshot!(scene.shown(&throttled), @r#"
    {
      "ok": false,
      "error": {
        "code": "BACKEND_THROTTLED",
        "kind": "throttled",
        "message": "the backend asks to slow down",
        "retryable": true,
        "action": "retry_later",
        "retry_after_ms": 2000,
        "details": {
          "key": "k4"
        }
      },
      "meta": {
        "run": "RUN",
        "step": 1,
        "attempts": 1,
        "duration_ms": "COUNTED",
        "fuel": "COUNTED",
        "memory_bytes": "COUNTED",
        "effects": 1,
        "cost_micros": 0,
        "replayed": false,
        "trace_id": "TRACE"
      }
    }
    "#);
}

#[tokio::test(flavor = "multi_thread")]
async fn where_nobody_listens_nothing_was_sent_and_the_key_tries_again() {
    // An address of its own, so that no other test's listener comes to stand there.
    let vacant = TcpListener::bind("127.77.0.1:0").and_then(|listener| listener.local_addr()).unwrap();
    let url = format!("http://{vacant}");
    let world = World::new()
        .with_plugins(&[guests::COURIER])
        .with_grant("courier", &url, &["127.77.0.1"])
        .with_config(&super::singly(""));
    let host = world.open().await;
    let post = |path: &str| {
        json!({ "method": "POST", "url": format!("{url}{path}"), "body": "{}",
                                    "headers": [["authorization", "Bearer t"]] })
    };
    let put = json!({ "method": "PUT", "url": format!("{url}/settings/a"), "body": "1" });
    let get = json!({ "method": "GET", "url": format!("{url}/orders/A-1001") });
    let calls = [
        ("courier.post_once", post("/mails"), "failed [not_sent]", "completed [not_sent, done 202]"),
        ("courier.post_keyed", post("/tickets"), "failed [not_sent]", "completed [not_sent, done 201]"),
        ("courier.put", put, "failed [not_sent]", "completed [not_sent, done 200]"),
        ("courier.fetch", get, "failed []", "completed []"),
    ];
    for (tool, input, stands, _) in &calls {
        let reply = host.call(keyed(tool, input, tool)).await;
        assert_eq!(end(&host, &reply), format!("BACKEND_UNREACHABLE+key, {stands}"), "{tool}");
        assert_eq!(body(&reply)["kind"], "transient");
        assert!(!text(&reply).contains("127.77"), "the address is not the caller's to know");
    }
    let backend: Backend = Options { address: vacant, ..Options::default() }.start().unwrap();
    for (tool, input, _, stands) in &calls {
        let reply = host.call(keyed(tool, input, tool)).await;
        assert_eq!(end(&host, &reply), format!("ok, {stands}"), "{tool}");
    }
    assert_eq!(backend.counts().under("").works, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_that_breaks_off_or_is_none_leaves_it_open() {
    for answer in ["", "HTTP/1.1 20", "HTTP/1.1 201 Created\r\ncontent-le", "SSH-2.0-desk\r\n\r\n"] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let answering = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut head = [0; 4096];
            assert!(stream.read(&mut head).unwrap() > 0);
            stream.write_all(answer.as_bytes()).unwrap();
        });
        let world = World::new().with_plugins(&[guests::COURIER]).with_grant("courier", &url, &["127.0.0.1"]);
        let host = world.open().await;
        let input = json!({ "method": "POST", "url": format!("{url}/mails"), "body": "{}" });
        let reply = host.call(keyed("courier.post_once", &input, "k")).await;
        assert_eq!(end(&host, &reply), "OUTCOME_UNKNOWN, suspended: unknown [open]", "{answer:?}");
        answering.join().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_takes_an_error_for_an_answer_does_not_make_it_known() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    let any = |job: Value| super::with(job, json!({ "any_answer": true }));
    scene.backend.fault("/mails", Fault::cut(Moment::AfterWork), 1);
    let open = host.call(keyed("courier.post_once", &any(scene.mail("a")), "k1")).await;
    assert_eq!(end(&host, &open), "OUTCOME_UNKNOWN, suspended: unknown [open]");
    scene.backend.fault("/mails", Fault::status(Moment::BeforeWork, 422), 1);
    let refused = host.call(keyed("courier.post_once", &any(scene.mail("a")), "k2")).await;
    assert_eq!(end(&host, &refused), "ok, completed [refused 422]");
    scene.backend.fault("/orders", Fault::cut(Moment::AfterWork), 1);
    let read = host.call(keyed("courier.fetch", &any(scene.job("GET", "/orders/A-1001")), "k3")).await;
    assert_eq!(end(&host, &read), "ok, completed []");
    assert_eq!(scene.mails(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_doubts_what_the_host_knows_is_not_believed_over_the_journal() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    let doubting = |then: &str| super::with(scene.mail("a"), json!({ "then": then }));
    let done = host.call(keyed("courier.post_once", &doubting("unknown_outcome"), "k1")).await;
    assert_eq!(end(&host, &done), "PARTLY_DONE, suspended: half_done [done 202]");
    let nothing = super::with(scene.mail("a"), json!({ "before": "unknown_outcome" }));
    let nothing = host.call(keyed("courier.post_once", &nothing, "k2")).await;
    assert_eq!(record(&host, &nothing).effects.len(), 0);
    assert_eq!(body(&nothing)["kind"], "unknown_outcome");
}
