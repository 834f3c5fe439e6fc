//! Answers without an end, without haste, and larger than anybody wanted.

use airlock_tests::backend::{Backend, Fault, Moment};
use airlock_tests::guests::COURIER;
use airlock_tests::world::World;
use serde_json::{Value, json};

use super::wire::Wire;
use super::{Open, get, open_world, told};

/// A host whose courier may send to one place.
async fn toward(url: &str, config: &str) -> Open {
    let world = World::new().with_plugins(&[COURIER]).with_grant("courier", url, &["127.0.0.1"]);
    open_world(world.with_config(config)).await
}

/// What the guest gets from servers of which each answers with these bytes, and then with these again and again.
async fn each_answered(bytes: &[(&str, &str)]) -> Vec<(Wire, Value)> {
    let wires: Vec<Wire> = bytes.iter().map(|(first, again)| Wire::start(*first, *again)).collect();
    let world =
        World::new().with_plugins(&[COURIER]).with_config("[limits]\nread = \"2s\"\nbody = \"64 KiB\"");
    let grant = |world: World, wire: &Wire| world.with_grant("courier", &wire.url(), &["127.0.0.1"]);
    let open = open_world(wires.iter().fold(world, grant)).await;
    let mut answered = Vec::new();
    for wire in wires {
        let data = open.data("courier.fetch", get(&format!("{}/", wire.url()))).await;
        answered.push((wire, data));
    }
    answered
}

async fn answered(first: &str, again: &str) -> (Wire, Value) {
    each_answered(&[(first, again)]).await.remove(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_larger_than_the_limit_is_not_taken_and_one_as_large_is() {
    let backend = Backend::start().await;
    let open = toward(&backend.url, "[limits]\nbody = \"64 KiB\"").await;
    let data = open.data("courier.fetch", get(&format!("{}/bytes?n=65537", backend.url))).await;
    assert_eq!(told(&data), "TooLarge");
    let data = open.data("courier.fetch", get(&format!("{}/bytes?n=65536", backend.url))).await;
    assert_eq!((&data["status"], &data["length"]), (&json!(200), &json!(65536)));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endless_answer_ends_at_the_limit() {
    let backend = Backend::start().await;
    let open = toward(&backend.url, "[limits]\nbody = \"1 MiB\"").await;
    let data = open.data("courier.fetch", get(&format!("{}/endless", backend.url))).await;
    assert_eq!(told(&data), "TooLarge");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_drips_ends_when_reading_may_take_no_longer() {
    let backend = Backend::start().await;
    let open = toward(&backend.url, "[limits]\nread = \"1s\"").await;
    let data = open.data("courier.fetch", get(&format!("{}/slow-body?ms=5", backend.url))).await;
    assert_eq!(told(&data), "BrokenRead(\"the answer broke off after its head, which said 200\")");

    let wide = toward(&backend.url, "").await;
    let data = wide.data("courier.fetch", get(&format!("{}/slow-body?ms=5&n=60", backend.url))).await;
    assert_eq!((&data["status"], &data["length"]), (&json!(200), &json!(60)));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_never_begins_ends_when_reading_may_take_no_longer() {
    let backend = Backend::start().await;
    let open = toward(&backend.url, "[limits]\nread = \"500ms\"").await;
    let url = format!("{}/orders/A-1002", backend.url);
    backend.fault("/orders", Fault::hang(Moment::BeforeWork), 1);
    let data = open.data("courier.fetch", get(&url)).await;
    assert_eq!(told(&data), "BrokenRead(\"no answer within 500ms ([limits] read)\")");
    assert_eq!(open.data("courier.fetch", get(&url)).await["status"], 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_may_ask_for_less_time_and_never_for_more() {
    let backend = Backend::start().await;
    let url = format!("{}/orders/A-1002", backend.url);
    let mut job = get(&url);
    job["timeout_ms"] = json!(3_600_000);
    let open = toward(&backend.url, "[limits]\nread = \"500ms\"").await;
    backend.fault("/orders", Fault::hang(Moment::BeforeWork), 2);
    let data = open.data("courier.fetch", job.clone()).await;
    assert!(told(&data).starts_with("BrokenRead(\"no answer within 500ms"), "{data}");
    job["timeout_ms"] = json!(300);
    let data = open.data("courier.fetch", job).await;
    assert!(told(&data).starts_with("BrokenRead(\"no answer within 300ms"), "{data}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_that_waits_for_an_answer_ends_at_its_own_time() {
    let backend = Backend::start().await;
    let own = "[limits]\nread = \"2s\"\n[tools.\"courier.fetch\"]\ntimeout = \"200ms\"\nretries = 0";
    let open = toward(&backend.url, own).await;
    let url = format!("{}/orders/A-1002", backend.url);
    backend.fault("/orders", Fault::hang(Moment::AfterHead), 1);
    assert_eq!(open.code("courier.fetch", get(&url)).await, "TIME_LIMIT");
    let wide = toward(&backend.url, "").await;
    assert_eq!(wide.code("courier.fetch", get(&url)).await, "ok");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_without_an_end_is_not_taken() {
    let (wire, data) = answered("HTTP/1.1 200 OK\r\n", "x-a: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n").await;
    assert!(told(&data).starts_with("BrokenRead("), "{data}");
    assert!(wire.written() < 16 << 20, "{} bytes were taken", wire.written());
    let (wire, data) = answered("HTTP/1.1 200 OK\r\nx-a: ", &"a".repeat(1024)).await;
    assert!(told(&data).starts_with("BrokenRead("), "{data}");
    assert!(wire.written() < 16 << 20, "{} bytes were taken", wire.written());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_of_many_fields_is_taken_up_to_a_hundred() {
    let head = |fields: usize, length: usize| {
        let fields: String =
            (0..fields).map(|number| format!("x-{number}: {}\r\n", "y".repeat(length))).collect();
        format!("HTTP/1.1 200 OK\r\n{fields}content-length: 2\r\n\r\nok")
    };
    let heads = [head(101, 1), head(50, 4000), head(1, 200_000), head(90, 100)];
    let mut all = each_answered(&heads.each_ref().map(|head| (head.as_str(), ""))).await;
    let (_, taken) = all.pop().unwrap();
    assert_eq!((&taken["status"], &taken["body"]), (&json!(200), &json!("ok")));
    for (_, data) in all {
        assert!(told(&data).starts_with("BrokenRead("), "{data}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn interim_answers_without_an_end_are_no_answer() {
    let (wire, data) = answered("HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 102 Processing\r\n\r\n").await;
    assert!(told(&data).starts_with("BrokenRead("), "{data}");
    assert!(wire.written() > 0);
    let (_wire, data) =
        answered("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", "").await;
    assert_eq!(data["status"], 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_no_http_is_none() {
    let bad = [
        "garbage\r\n\r\n",
        "HTTP/9.9 200 OK\r\n\r\n",
        "HTTP/1.1 99999 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
        "HTTP/1.1 200 OK\r\nna me: x\r\n\r\n",
        "\0\0\0\0",
        "",
    ];
    let all = each_answered(&bad.map(|bytes| (bytes, ""))).await;
    for ((_, data), bytes) in all.iter().zip(bad) {
        assert!(told(data).starts_with("BrokenRead("), "{bytes:?}: {data}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_follows_an_answer_is_not_the_answer_to_the_next_request() {
    let two =
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nfirstHTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nsecond";
    let wire = Wire::start(two, "");
    let open = toward(&wire.url(), "").await;
    for _ in 0..3 {
        let data = open.data("courier.fetch", get(&format!("{}/", wire.url()))).await;
        assert_eq!((&data["status"], &data["body"]), (&json!(200), &json!("first")));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_promises_more_than_it_gives_is_broken_and_one_that_gives_more_is_cut_there() {
    let (_wire, data) =
        answered("HTTP/1.1 200 OK\r\ncontent-length: 10\r\nconnection: close\r\n\r\nabc", "").await;
    assert!(told(&data).starts_with("BrokenRead("), "{data}");
    let (_wire, data) =
        answered("HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabcHTTP/1.1 200 OK\r\n\r\n", "").await;
    assert_eq!((&data["status"], &data["body"]), (&json!(200), &json!("abc")));
    // A chunk that says that it is larger than everything.
    let endless = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffff\r\n";
    let (_wire, data) = answered(endless, &"x".repeat(16 * 1024)).await;
    assert!(matches!(told(&data), "TooLarge") || told(&data).starts_with("BrokenRead("), "{data}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_compressed_stays_so() {
    let body = "\x1f\u{8b}bomb";
    let head =
        format!("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let (_wire, data) = answered(&head, "").await;
    assert_eq!((&data["body"], &data["length"]), (&json!(body), &json!(body.len())));
}
