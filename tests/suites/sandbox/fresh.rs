//! Instances that nothing is left in, and effects that outlive them.

use std::sync::{Mutex, mpsc};

use airlock_tests::backend::{Backend, Fault, Moment};
use airlock_tests::guests::{COURIER, GREEDY};
use airlock_tests::world::{World, body, code, request};
use serde_json::{Value, json};

use crate::attack::{Open, get, open, open_world};

/// More calls than there are slots, so that every slot is used again.
const MORE_THAN_SLOTS: usize = 40;

#[tokio::test(flavor = "multi_thread")]
async fn a_call_finds_nothing_of_the_calls_before_it() {
    let open = open(&[GREEDY], "[limits]\nat_once = 2\nmemory = \"16 MiB\"").await;
    for number in 0..MORE_THAN_SLOTS {
        let input = json!({ "word": format!("secret {number}"), "pages": 64 });
        let found = open.data("greedy.remember", input).await;
        assert_eq!(found, json!({ "word": null, "left_over": 0, "looked_at": 64 * 65536 }), "call {number}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_finds_nothing_of_a_call_that_trapped_or_ran_out_of_time() {
    let config = "[limits]\nat_once = 2\n[tools.\"greedy.spin\"]\ntimeout = \"20ms\"";
    let open = open(&[GREEDY], config).await;
    let remember = || json!({ "word": "x", "pages": 16 });
    open.data("greedy.remember", remember()).await;
    for _ in 0..MORE_THAN_SLOTS / 2 {
        assert_eq!(open.code("greedy.spin", json!({})).await, "TIME_LIMIT");
        assert_eq!(open.code("greedy.panic", json!({ "text": "x" })).await, "INTERNAL");
        let found = open.data("greedy.remember", remember()).await;
        assert_eq!((&found["word"], &found["left_over"]), (&Value::Null, &json!(0)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn random_bytes_differ_between_calls() {
    let open = open(&[GREEDY], "").await;
    let first = open.data("greedy.random", json!({ "bytes": 16 })).await;
    let second = open.data("greedy.random", json!({ "bytes": 16 })).await;
    assert_ne!(first["random"], second["random"]);
    assert_ne!(first["seed"], second["seed"]);
}

async fn poster(backend: &Backend, config: &str) -> Open {
    let world = World::new().with_plugins(&[COURIER]).with_grant("courier", &backend.url, &["127.0.0.1"]);
    open_world(world.with_config(config)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_that_runs_out_of_time_takes_its_place_with_it_and_not_its_request() {
    let backend = Backend::start().await;
    // One place for one plugin.
    let config = "[limits]\nat_once = 2\nwait = \"60s\"\n[tools.\"courier.post_once\"]\ntimeout = \"2s\"";
    let open = poster(&backend, config).await;
    let (let_go, held) = mpsc::channel::<()>();
    let held = Mutex::new(held);
    let hold = move || {
        // It is let go when the other end is dropped.
        let _ = held.lock().unwrap().recv();
    };
    backend.fault("POST /mails", Fault::call(Moment::BeforeWork, hold), 1);
    let job = json!({ "method": "POST", "url": format!("{}/mails", backend.url), "body": "{\"to\":\"a\"}" });
    let host = open.host.clone();
    let posting = tokio::spawn(async move { host.call(request("courier.post_once", &job)).await });
    tokio::task::block_in_place(|| backend.wait_until(|counts| counts.of("POST /mails").requests == 1));

    // Served, since the guest has gone and its place is free, while its request is still under way.
    assert_eq!(open.code("courier.fetch", get(&format!("{}/orders/A-1002", backend.url))).await, "ok");
    assert_eq!((backend.counts().mails.len(), posting.is_finished()), (0, false));
    drop(let_go);

    // The mail went out after the guest had gone, and the host knows both.
    let reply = posting.await.unwrap();
    assert_eq!(code(&reply), "PARTLY_DONE");
    assert!(body(&reply)["message"].as_str().unwrap().contains("TIME_LIMIT"), "{}", body(&reply));
    assert_eq!(backend.counts().mails.len(), 1);
    let record = open.host.run(&reply.meta.run.unwrap().to_string()).unwrap();
    assert_eq!((record.effects[0].state.word(), record.effects[0].status), ("done", Some(202)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_that_traps_after_its_request_leaves_it_done_and_recorded() {
    let backend = Backend::start().await;
    let open = poster(&backend, "").await;
    let url = format!("{}/mails", backend.url);
    let job = json!({ "method": "POST", "url": url, "body": "{\"to\":\"a\"}", "then": "trap" });
    let reply = open.call("courier.post_once", job).await;
    assert_eq!(code(&reply), "PARTLY_DONE");
    assert_eq!(
        body(&reply)["details"],
        json!({ "done": [{ "attempt": 1, "effect": "POST /mails", "status": 202 }] })
    );
    assert_eq!(backend.counts().mails.len(), 1);
}
