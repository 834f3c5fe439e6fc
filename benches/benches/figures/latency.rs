//! P4: how long one client waits for a durable call, against the fsyncs that the call needs.

use std::sync::Arc;
use std::time::Duration;

use airlock::host::Host;
use airlock::model::clock::{Clock as _, SystemClock};
use airlock::store::sqlite::Durability;
use airlock_benches::disk::Disk;
use airlock_benches::figure::Figure;
use airlock_benches::load::{Make, readings, writings};
use airlock_benches::samples::{Samples, micros};

use crate::Bench;
use crate::ceiling::per;

/// Calls and fsyncs take turns in rounds, for a disk that others use too is not always as fast.
const ROUND: usize = 50;

/// What one client saw, and the disk meanwhile.
struct Seen {
    calls: Samples,
    commits: f64,
    /// 4 KiB at the end of a file, and in room that the file has.
    grows: Samples,
    has_room: Samples,
}

pub(crate) fn measure(bench: &Bench) {
    let count = bench.count(2_000);
    let reads = readings(Some("one-reading".to_owned()));
    let reading = bench.runtime.block_on(one_client(bench, count, reads));
    let writes = writings(&bench.desk.url, Some("one-writing".to_owned()));
    let writing = bench.runtime.block_on(one_client(bench, count, writes));
    print("a reading call with a key", 1, &reading);
    print("a writing call with one effect", 3, &writing);
}

fn print(what: &str, needed: u32, seen: &Seen) {
    let (took, fsyncs) = (micros(seen.calls.p50()), f64::from(needed));
    let (grows, has_room) = (micros(seen.grows.p50()), micros(seen.has_room.p50()));
    Figure::new("P4", format!("{what}, one client, against {needed} fsync"), took / (fsyncs * grows), "×")
        .at_most(1.3)
        .note(format!("p50 {took:.0} µs, p99 {:.0} µs", micros(seen.calls.p99())))
        .note(format!("fsync of 4 KiB at a file's end {grows:.0} µs"))
        .note(format!("in room that the file has {has_room:.0} µs: {:.2} ×", took / (fsyncs * has_room)))
        .note(format!("{:.2} commits a call", seen.commits))
        .print();
}

/// Calls one after the other, with the disk measured in between.
async fn one_client(bench: &Bench, count: usize, make: Make) -> Seen {
    let place = bench.place();
    let (host, store) = place.open(Durability::Full).await;
    let mut disk = Disk::probe(bench.disk.path());
    let mut seen = (Vec::new(), Vec::new(), Vec::new());
    let warm = count / 4;
    round(&host, &make, 0..warm).await;
    let before = store.commits();
    for first in (warm..warm + count).step_by(ROUND) {
        seen.0.extend(round(&host, &make, first..first + ROUND).await);
        seen.1.extend((0..ROUND).map(|_| disk.at_the_end()));
        seen.2.extend((0..ROUND).map(|_| disk.in_room()));
    }
    let commits = per(usize::try_from(store.commits() - before).unwrap_or(0), seen.0.len());
    host.close().await;
    Seen { calls: Samples::of(seen.0), commits, grows: Samples::of(seen.1), has_room: Samples::of(seen.2) }
}

async fn round(host: &Host, make: &Make, numbers: std::ops::Range<usize>) -> Vec<Duration> {
    let (host, make) = (host.clone(), Arc::clone(make));
    let calls = tokio::spawn(async move {
        let clock = SystemClock::start();
        let mut times = Vec::new();
        for number in numbers {
            let start = clock.steady();
            let reply = host.call(make(number)).await;
            times.push(clock.steady() - start);
            assert!(reply.ok(), "a call of the bench failed: {:?}", reply.body);
        }
        times
    });
    calls.await.expect("no call of the bench panics")
}
