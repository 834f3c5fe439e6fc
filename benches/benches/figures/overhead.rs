//! P2: what the host adds around the guest, in processor time, stage by stage.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use airlock::model::clock::{Clock as _, SystemClock};
use airlock::model::limits::Limits;
use airlock::sandbox::Prepared;
use airlock::store::sqlite::Durability;
use airlock_benches::bare::Bare;
use airlock_benches::cpu::{Meter, Used};
use airlock_benches::figure::Figure;
use airlock_benches::load::{self, drive, kilobyte, readings};
use airlock_benches::samples::micros;
use airlock_benches::stages;
use airlock_tests::forgetful::Forgetful;
use airlock_tests::guests;
use airlock_tests::sandbox::Sandbox;
use serde_json::json;

use crate::Bench;

/// Enough that no thread waits for work.
const IN_FLIGHT: usize = 64;

/// Calls before those that count.
const WARM: usize = 2_000;

pub(crate) fn measure(bench: &Bench) {
    let count = bench.count(40_000);
    let bare = micros(bench.runtime.block_on(bare(count / 4)));
    let engine = micros(bench.runtime.block_on(engine(count)).each(count));
    let without = micros(bench.runtime.block_on(without_store(bench, count)).each(count));
    let used = bench.runtime.block_on(with_store(bench, count));
    let whole = micros(used.each(count));

    Figure::new("P2", "CPU around the guest, a reading call with a key", whole - bare, "µs")
        .at_most(40.0)
        .note(format!("whole call {whole:.1} µs, wasmtime alone {bare:.1} µs; no fsync"))
        .note(format!("by thread: {}", used.told(count)))
        .print();
    let mut stages_sum = 0.0;
    for (name, stage) in stages::all() {
        let time = micros(per_call(stage, bench.count(20_000)));
        stages_sum += time;
        Figure::new("P2", format!("  {name}"), time, "µs").print();
    }
    Figure::new("P2", "  limits and the guests' threads", engine - bare, "µs").print();
    Figure::new("P2", "  places, tasks and all else", without - engine - stages_sum, "µs").print();
    let writer = micros(used.by("store", count));
    Figure::new("P2", "  write the record (the store's thread)", writer, "µs").print();
    Figure::new("P2", "  look the key up, hand over to the store", whole - without - writer, "µs").print();
}

fn per_call(mut stage: Box<dyn FnMut()>, count: usize) -> Duration {
    (0..count / 10).for_each(|_| stage());
    let clock = SystemClock::start();
    (0..count).for_each(|_| stage());
    clock.steady() / u32::try_from(count).unwrap_or(u32::MAX)
}

async fn bare(count: usize) -> Duration {
    let bare = Bare::compile(Path::new(guests::ECHO)).expect("the component is a plugin");
    let input = json!({ "text": kilobyte() }).to_string();
    let mut meter = Meter::start();
    for call in 0..WARM + count {
        if call == WARM {
            meter = Meter::start();
        }
        bare.call("echo", &input).await.expect("the guest replies");
    }
    meter.used().each(count)
}

async fn engine(count: usize) -> Used {
    let sandbox = Arc::new(Sandbox::start(Limits::default()));
    let echo = sandbox.load(Path::new(guests::ECHO));
    let input: Arc<str> = json!({ "text": kilobyte() }).to_string().into();
    attempts(&sandbox, &echo, &input, WARM).await;
    let meter = Meter::start();
    attempts(&sandbox, &echo, &input, count).await;
    meter.used()
}

async fn attempts(sandbox: &Arc<Sandbox>, echo: &Prepared, input: &Arc<str>, count: usize) {
    let clients = (0..IN_FLIGHT).map(|_| {
        let (sandbox, echo, input) = (Arc::clone(sandbox), echo.clone(), Arc::clone(input));
        tokio::spawn(async move {
            for _ in 0..count / IN_FLIGHT {
                sandbox.attempt(&echo, "echo", &input).await;
            }
        })
    });
    for client in clients.collect::<Vec<_>>() {
        client.await.expect("no attempt panics");
    }
}

fn echoes(keys: Option<&str>) -> load::Make {
    // Every second reading call is one of `echo.echo`.
    let make = readings(keys.map(str::to_owned));
    Arc::new(move |number| make(number * 2))
}

async fn without_store(bench: &Bench, count: usize) -> Used {
    let place = bench.place();
    let host = place.open_on(Arc::new(Forgetful)).await;
    drive(&host, WARM, IN_FLIGHT, &echoes(Some("warm")), load::nobody).await;
    let meter = Meter::start();
    drive(&host, count, IN_FLIGHT, &echoes(Some("overhead")), load::nobody).await;
    meter.used()
}

async fn with_store(bench: &Bench, count: usize) -> Used {
    let place = bench.place();
    let (host, _store) = place.open(Durability::None).await;
    drive(&host, WARM, IN_FLIGHT, &echoes(Some("warm")), load::nobody).await;
    let meter = Meter::start();
    drive(&host, count, IN_FLIGHT, &echoes(Some("overhead")), load::nobody).await;
    let used = meter.used();
    host.close().await;
    used
}
