//! P3: durable calls per second, from two callers over two plugins, each call under a key of its own.

use std::sync::Arc;

use airlock::store::sqlite::Durability;
use airlock_benches::cpu::{Meter, Used};
use airlock_benches::figure::Figure;
use airlock_benches::load::{self, Driven, Make, drive, readings, writings};
use airlock_benches::samples::micros;

use crate::Bench;
use crate::ceiling::{self, per};
use crate::killed;

/// Calls in flight, half of them for each caller and each plugin.
pub(crate) const IN_FLIGHT: usize = 256;

/// What Restate 1.7.12 did with a durable call of one step and 64 clients, on a machine of two cores. It is not measured
/// in this run.
const RESTATE: f64 = 534.0;

/// A load on the store, and how often the store made something durable meanwhile.
struct Loaded {
    driven: Driven,
    calls: usize,
    commits: usize,
    used: Used,
}

pub(crate) fn measure(bench: &Bench) {
    let ceiling = ceiling::measure(bench);
    let reading =
        bench.runtime.block_on(load(bench, bench.count(60_000), readings(Some("reading".to_owned()))));
    print("a reading call", &reading, 20_000.0, ceiling.reading);
    let writes = writings(&bench.desk.url, Some("writing".to_owned()));
    let writing = bench.runtime.block_on(load(bench, bench.count(20_000), writes));
    print("a writing call, one effect", &writing, 5_000.0, ceiling.writing);
    Figure::new(
        "P3",
        "  writing, as a share of the store's own ceiling",
        writing.driven.rate() / ceiling.writing,
        "×",
    )
    .at_least(0.3)
    .print();
    // A reading call is one write, and a writing one with an effect four: start, intent, outcome, end.
    for (what, loaded, writes) in [("  reading", &reading, 1), ("  writing", &writing, 4)] {
        let each = per(loaded.calls * writes, loaded.commits);
        Figure::new("P3", format!("{what}, writes acknowledged by each fsync"), each, "")
            .at_least(50.0)
            .note(format!("{:.1} calls by each", per(loaded.calls, loaded.commits)))
            .print();
    }
    killed::measure(bench);
}

async fn load(bench: &Bench, calls: usize, make: Make) -> Loaded {
    let place = bench.place();
    let (host, store) = place.open(Durability::Full).await;
    // The first calls make sandboxes and connections that all others use.
    let warm: Make = {
        let make = Arc::clone(&make);
        Arc::new(move |number| make(calls + number))
    };
    drive(&host, calls / 10, IN_FLIGHT, &warm, load::nobody).await;
    let (meter, before) = (Meter::start(), store.commits());
    let driven = drive(&host, calls, IN_FLIGHT, &make, load::nobody).await;
    let (used, commits) = (meter.used(), usize::try_from(store.commits() - before).unwrap_or(0));
    host.close().await;
    Loaded { driven, calls, commits, used }
}

fn print(what: &str, loaded: &Loaded, target: f64, ceiling: f64) {
    let driven = &loaded.driven;
    Figure::new("P3", format!("durable calls, {IN_FLIGHT} in flight: {what}"), driven.rate(), "/s")
        .at_least(target)
        .beside("the store alone", ceiling)
        .note(format!("{:.1} × Restate as recorded ({RESTATE} /s)", driven.rate() / RESTATE))
        .note(format!("p50 {:.1} ms, p99 {:.1} ms", millis(driven.each.p50()), millis(driven.each.p99())))
        .note(format!(
            "µs CPU a call: {:.1} ({})",
            micros(loaded.used.each(loaded.calls)),
            loaded.used.told(loaded.calls)
        ))
        .print();
}

fn millis(duration: std::time::Duration) -> f64 {
    micros(duration) / 1000.0
}
