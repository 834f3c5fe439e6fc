//! Instances that are too many for the memories that there are: who comes too late is told to come back.

use std::fs;

use airlock_tests::backend::{Backend, Moment};
use airlock_tests::guests::{COURIER, ECHO};
use airlock_tests::world::{World, body, code, keyed, request};
use serde_json::json;

use crate::attack::get;
use crate::call::{hold, spawn};

/// A component beside which as many more memories are made with each instance.
fn with_memories(component: &str, more: u8) -> Vec<u8> {
    const MODULE: u8 = 1;
    const CORE_INSTANCES: u8 = 2;
    let mut bytes = fs::read(component).expect("the component was built");
    let modules = sections(&bytes).iter().filter(|section| **section == MODULE).count();
    let index = u8::try_from(modules).expect("a component of few modules");
    assert!(index < 128 && more < 40, "one byte holds each number");
    // A module with one memory of one page, then instances of it without arguments.
    let module = [0, b'a', b's', b'm', 1, 0, 0, 0, 5, 3, 1, 0, 1];
    bytes.extend([MODULE, 13]);
    bytes.extend(module);
    bytes.extend([CORE_INSTANCES, 1 + 3 * more, more]);
    bytes.extend([0, index, 0].repeat(more.into()));
    bytes
}

/// The kinds of a component's sections, in order.
fn sections(component: &[u8]) -> Vec<u8> {
    let mut kinds = Vec::new();
    let mut rest = component.get(8..).expect("a component has a head");
    while let Some((kind, after)) = rest.split_first() {
        let bytes = after.iter().position(|byte| byte & 0x80 == 0).expect("a size ends");
        let size = after[..=bytes].iter().rev().fold(0, |size, byte| size << 7 | usize::from(byte & 0x7f));
        kinds.push(*kind);
        rest = &after[bytes + 1 + size..];
    }
    kinds
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_finds_no_memory_free_is_told_to_come_back_and_its_key_runs_it_then() {
    let backend = Backend::start().await;
    // Room for sixty memories, of which each of these takes thirty.
    let world = World::new()
        .with_plugins(&[ECHO])
        .with_grant("courier", &backend.url, &["127.0.0.1"])
        .with_config("[limits]\nat_once = 8");
    fs::write(world.plugins().join("courier.wasm"), with_memories(COURIER, 29)).unwrap();
    let host = world.open().await;
    assert_eq!(host.faults(), []);
    let job = get(&format!("{}/orders/A-1002", backend.url));
    let release = hold(&backend, "/orders", Moment::BeforeWork, 2);
    let held = [0; 2].map(|_| spawn(&host, request("courier.fetch", &job)));
    backend.wait_until(|counts| counts.of("GET /orders/A-1002").requests == 2);
    let late = host.call(keyed("courier.fetch", &job, "k")).await;
    let error = body(&late);
    assert_eq!(
        error,
        json!({
            "code": "OVERLOADED",
            "kind": "throttled",
            "message": "the sandboxes that run now leave no room for another; nothing was run",
            "retryable": true,
            "action": "retry_later",
            "retry_after_ms": 1000,
            "details": { "key": "k" }
        })
    );
    assert_eq!(late.meta.effects, 0);
    // Whoever else comes meets the same, though it needs one memory alone.
    assert_eq!(code(&host.call(request("echo.echo", &json!({ "text": "a" }))).await), "OVERLOADED");
    drop(release);
    for call in held {
        assert!(call.await.unwrap().ok());
    }
    let again = host.call(keyed("courier.fetch", &job, "k")).await;
    assert_eq!((code(&again).as_str(), again.meta.run), ("ok", late.meta.run));
    assert!(host.call(request("echo.echo", &json!({ "text": "a" }))).await.ok());
    assert_eq!(backend.counts().of("GET /orders/A-1002").requests, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn components_as_large_as_honest_ones_are_fit_into_every_place() {
    let backend = Backend::start().await;
    let world = World::new()
        .with_grant("courier", &backend.url, &["127.0.0.1"])
        .with_config("[limits]\nat_once = 40");
    fs::write(world.plugins().join("courier.wasm"), with_memories(COURIER, 2)).unwrap();
    let host = world.open().await;
    let job = get(&format!("{}/orders/A-1002", backend.url));
    let release = hold(&backend, "/orders", Moment::BeforeWork, 20);
    let held = [0; 20].map(|_| spawn(&host, request("courier.fetch", &job)));
    backend.wait_until(|counts| counts.of("GET /orders/A-1002").requests == 20);
    drop(release);
    for call in held {
        assert!(call.await.unwrap().ok());
    }
}
