//! P4: how long one client waits for a durable call, against the fsyncs that the call needs.

use std::sync::Arc;

use airlock::store::sqlite::Durability;
use airlock_benches::disk::{self, Log};
use airlock_benches::figure::Figure;
use airlock_benches::load::{self, Make, drive, readings, writings};
use airlock_benches::samples::{Samples, micros};

use crate::Bench;
use crate::ceiling::per;

pub(crate) fn measure(bench: &Bench) {
    let count = bench.count(2_000);
    // Before and after, for a disk that others use too is not always as fast.
    let before = syncs(bench);
    let (reading, reading_commits) =
        bench.runtime.block_on(one_client(bench, count, &readings(Some("one-reading".to_owned()))));
    let writes = writings(&bench.desk.url, Some("one-writing".to_owned()));
    let (writing, writing_commits) = bench.runtime.block_on(one_client(bench, count, &writes));
    let after = syncs(bench);
    let fsync = (before.0 + after.0) / 2.0;
    let has_room = (before.1 + after.1) / 2.0;

    Figure::new("P4", "fsync of 4 KiB at the end of a file, p50", fsync, "µs")
        .note(format!("in room that the file has: {has_room:.1} µs"))
        .note(format!("32 KiB at the end: {:.1} µs", before.2))
        .print();
    for (what, samples, commits, needed) in [
        ("a reading call with a key", &reading, reading_commits, 1.0),
        ("a writing call with one effect", &writing, writing_commits, 3.0),
    ] {
        let took = micros(samples.p50());
        Figure::new("P4", format!("{what}, against {needed} fsync"), took / (needed * fsync), "×")
            .at_most(1.3)
            .note(format!("p50 {took:.0} µs, p99 {:.0} µs", micros(samples.p99())))
            .note(format!("{commits:.2} commits a call"))
            .note(format!("{:.2} × against fsync in room that the file has", took / (needed * has_room)))
            .print();
    }
}

/// At the end of a file, in room that it has, and 32 KiB at the end.
fn syncs(bench: &Bench) -> (f64, f64, f64) {
    let count = bench.count(1_000);
    let p50 = |log, size| micros(disk::syncs(&bench.disk, log, size, count).p50());
    (p50(Log::Grows, 4 << 10), p50(Log::HasRoom, 4 << 10), p50(Log::Grows, 32 << 10))
}

/// How long each of the calls took, one after the other, and how many commits came to one.
async fn one_client(bench: &Bench, count: usize, make: &Make) -> (Samples, f64) {
    let place = bench.place();
    let (host, store) = place.open(Durability::Full).await;
    let warm = count / 10;
    drive(&host, warm, 1, make, load::nobody).await;
    let before = store.commits();
    let shifted: Make = {
        let make = Arc::clone(make);
        Arc::new(move |number| make(warm + number))
    };
    let driven = drive(&host, count, 1, &shifted, load::nobody).await;
    let commits =
        per(usize::try_from(store.commits() - before).unwrap_or(0), u64::try_from(count).unwrap_or(1));
    host.close().await;
    (driven.each, commits)
}
