//! P1: a fresh sandbox for every call, every limit on, 1 KB in and out.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use airlock::model::clock::{Clock as _, SystemClock};
use airlock::model::limits::Limits;
use airlock::sandbox::threads::{Group, Threads};
use airlock_benches::bare::Bare;
use airlock_benches::figure::Figure;
use airlock_benches::load::{self, kilobyte};
use airlock_benches::samples::{Samples, micros};
use airlock_tests::forgetful::Forgetful;
use airlock_tests::guests;
use airlock_tests::sandbox::Sandbox;
use serde_json::json;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::Bench;

/// Calls that warm the pool and the caches before the first that counts.
const WARM: usize = 500;

pub(crate) fn measure(bench: &Bench) {
    let count = bench.count(10_000);
    let input = json!({ "text": kilobyte() }).to_string();
    let bare = bench.runtime.block_on(bare(count, input.clone()));
    let handed = bench.runtime.block_on(hand_over(count));
    let (turn, engine) = bench.runtime.block_on(engine(count, input));
    let host = bench.runtime.block_on(host(bench, count));

    let (alone, handed) = (micros(bare.p50()), micros(handed.p50()));
    Figure::new("P1", "wasmtime alone, fresh instance, no limits, p50", alone, "µs").print();
    Figure::new("P1", "a hand-over to a guests' thread and back, p50", handed, "µs").print();
    Figure::new(
        "P1",
        "fresh sandbox, from its turn on a guests' thread to reply, p50",
        micros(turn.p50()),
        "µs",
    )
    .at_most(20.0)
    .beside("wasmtime alone", alone)
    .note(format!("p99 {:.1} µs", micros(turn.p99())))
    .print();
    Figure::new(
        "P1",
        "the same, with the hand-over to that thread and back, p50",
        micros(engine.p50()),
        "µs",
    )
    .beside("wasmtime alone and a hand-over", alone + handed)
    .note(format!("p99 {:.1} µs", micros(engine.p99())))
    .print();
    Figure::new("P1", "call through the host, without a store, p50", micros(host.p50()), "µs")
        .at_most(60.0)
        .beside("sandbox and hand-over", micros(engine.p50()))
        .note(format!("p99 {:.1} µs", micros(host.p99())))
        .print();
}

async fn bare(count: usize, input: String) -> Samples {
    let bare = Bare::compile(Path::new(guests::ECHO)).expect("the component is a plugin");
    let clock = SystemClock::start();
    let mut times = Vec::new();
    for _ in 0..WARM + count {
        let start = clock.steady();
        let data = bare.call("echo", &input).await.expect("the guest replies");
        times.push(clock.steady() - start);
        assert_eq!(data.len(), input.len(), "the guest gives back what it got");
    }
    measured(times)
}

/// What it costs that guests run on threads of their own, with nothing to run there.
async fn hand_over(count: usize) -> Samples {
    let threads = Threads::start(&Handle::current()).expect("threads start");
    let task = tokio::spawn(async move {
        let clock = SystemClock::start();
        let mut times = Vec::new();
        for _ in 0..WARM + count {
            let start = clock.steady();
            let (reply, answer) = oneshot::channel();
            threads.run(Group::of("echo", "first"), async move { reply.send(()) }).detach();
            answer.await.expect("it is run");
            times.push(clock.steady() - start);
        }
        measured(times)
    });
    task.await.expect("nothing panics")
}

/// How long the call was on its guests' thread, and how long it took for who asked: a task like those that serve doors,
/// so that no time is counted that waits for another thread to begin.
async fn engine(count: usize, input: String) -> (Samples, Samples) {
    let sandbox = Sandbox::start(Limits::default());
    let echo = sandbox.load(Path::new(guests::ECHO));
    let task = tokio::spawn(async move {
        let clock = SystemClock::start();
        let (mut turns, mut times) = (Vec::new(), Vec::new());
        for _ in 0..WARM + count {
            let start = clock.steady();
            let finished = sandbox.attempt(&echo, "echo", &input).await;
            times.push(clock.steady() - start);
            turns.push(finished.usage.time);
            assert!(finished.said.is_ok(), "{:?}", finished.said);
        }
        (measured(turns), measured(times))
    });
    task.await.expect("no attempt panics")
}

async fn host(bench: &Bench, count: usize) -> Samples {
    let place = bench.place();
    let host = place.open_on(Arc::new(Forgetful)).await;
    let call = load::request("first", "echo.echo", &json!({ "text": kilobyte() }));
    let task = tokio::spawn(async move {
        let clock = SystemClock::start();
        let mut times = Vec::new();
        for _ in 0..WARM + count {
            let call = call.clone();
            let start = clock.steady();
            let reply = host.call(call).await;
            times.push(clock.steady() - start);
            assert!(reply.ok(), "{:?}", reply.body);
        }
        measured(times)
    });
    task.await.expect("no call panics")
}

fn measured(mut times: Vec<Duration>) -> Samples {
    Samples::of(times.split_off(WARM))
}
