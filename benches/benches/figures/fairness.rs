//! P9: beside endless loops of one plugin, how long doors and another plugin's short calls take, and how far past its
//! deadline a loop goes on.

use std::sync::Arc;
use std::time::Duration;

use airlock::host::Host;
use airlock::model::clock::{Clock as _, SystemClock};
use airlock::model::id::CallerName;
use airlock_benches::figure::Figure;
use airlock_benches::load;
use airlock_benches::samples::{Samples, micros};
use airlock_tests::forgetful::Forgetful;
use serde_json::json;

use crate::Bench;

/// Endless loops, as many as one plugin and one caller may have places.
const LOOPS: usize = 256;

/// How long a loop may go on, and how far apart the loops begin, so that they do not all end at once.
const LIMIT: Duration = Duration::from_secs(6);
const APART: Duration = Duration::from_millis(5);

/// The pause between two looks at a door.
const PAUSE: Duration = Duration::from_millis(2);

pub(crate) fn measure(bench: &Bench) {
    let (doors, calls) = (bench.count(600), bench.count(300));
    let limit = if bench.quick { LIMIT / 3 } else { LIMIT };
    let measured = bench.runtime.block_on(beside_loops(bench, limit, doors, calls));
    let Measured { idle_door, door, idle_call, call, past } = measured;
    Figure::new("P9", format!("a door beside {LOOPS} endless loops, p99"), millis(door.p99()), "ms")
        .at_most(10.0)
        .beside("idle", millis(idle_door.p99()))
        .note(format!("p50 {:.3} ms", millis(door.p50())))
        .print();
    Figure::new(
        "P9",
        "a tool of 1 ms beside them, p99, against idle",
        millis(call.p99()) / millis(idle_call.p99()),
        "×",
    )
    .at_most(4.0)
    .note(format!("p99 {:.2} ms, idle {:.2} ms", millis(call.p99()), millis(idle_call.p99())))
    .note(format!("p50 {:.2} ms, idle {:.2} ms", millis(call.p50()), millis(idle_call.p50())))
    .print();
    Figure::new("P9", "how far past its deadline a loop's reply comes, p99", millis(past.p99()), "ms")
        .at_most(10.0)
        .note(format!("p50 {:.2} ms, most {:.2} ms", millis(past.p50()), millis(past.most())))
        .print();
}

struct Measured {
    idle_door: Samples,
    door: Samples,
    idle_call: Samples,
    call: Samples,
    past: Samples,
}

async fn beside_loops(bench: &Bench, limit: Duration, doors: usize, calls: usize) -> Measured {
    let place = bench.place();
    let rule = format!("[tools.\"courier.fetch\"]\ntimeout = \"{}ms\"\n", limit.as_millis());
    let place = place.with_config(&rule);
    let host = place.open_on(Arc::new(Forgetful)).await;
    busy(&host, 50).await;
    let idle_door = door(&host, doors).await;
    let idle_call = busy(&host, calls).await;
    let loops = start(&host);
    tokio::time::sleep(APART * u32::try_from(LOOPS).unwrap_or(0) + APART * 20).await;
    let (door, call) = tokio::join!(door(&host, doors), busy(&host, calls));
    let mut past = Vec::new();
    for one in loops {
        let took: Duration = one.await.expect("no loop panics");
        past.push(took.saturating_sub(limit));
    }
    Measured { idle_door, door, idle_call, call, past: Samples::of(past) }
}

/// Starts the loops; each gives how long its call took.
fn start(host: &Host) -> Vec<tokio::task::JoinHandle<Duration>> {
    let job = json!({ "method": "GET", "url": "http://127.0.0.1:9/", "before": "loop" });
    let call = load::request("first", "courier.fetch", &job);
    (0..LOOPS)
        .map(|number| {
            let (host, call) = (host.clone(), call.clone());
            tokio::spawn(async move {
                tokio::time::sleep(APART * u32::try_from(number).unwrap_or(0)).await;
                let clock = SystemClock::start();
                let reply = host.call(call).await;
                let took = clock.steady();
                assert_eq!(reply.code().as_deref(), Some("TIME_LIMIT"), "{:?}", reply.body);
                took
            })
        })
        .collect()
}

/// How long a door takes to list the tools, from when somebody asks.
async fn door(host: &Host, count: usize) -> Samples {
    let caller = CallerName("second".to_owned());
    let mut times = Vec::new();
    for _ in 0..count {
        tokio::time::sleep(PAUSE).await;
        let (host, caller) = (host.clone(), caller.clone());
        let clock = SystemClock::start();
        let answered = tokio::spawn(async move {
            let tools = host.tools(&caller, None).expect("the caller is known");
            assert!(!tools.is_empty(), "there are tools");
            clock.steady()
        });
        times.push(answered.await.expect("no door panics"));
    }
    Samples::of(times)
}

/// How long a tool takes that computes for 1 ms.
async fn busy(host: &Host, count: usize) -> Samples {
    let call = load::request("second", "greedy.busy", &json!({ "ms": 1 }));
    let (host, clock) = (host.clone(), SystemClock::start());
    let calls = tokio::spawn(async move {
        let mut times = Vec::new();
        for _ in 0..count {
            let start = clock.steady();
            let reply = host.call(call.clone()).await;
            times.push(clock.steady() - start);
            assert!(reply.ok(), "{:?}", reply.body);
        }
        times
    });
    Samples::of(calls.await.expect("no call panics"))
}

fn millis(duration: Duration) -> f64 {
    micros(duration) / 1000.0
}
