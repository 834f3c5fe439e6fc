//! How soon a call is refused whose backend is left alone.

use airlock::model::breaker::Forced;
use airlock::model::clock::{Clock as _, SystemClock};
use airlock::store::sqlite::Durability;
use airlock_benches::figure::Figure;
use airlock_benches::load::writings;
use airlock_benches::samples::{Samples, micros};

use crate::Bench;

pub(crate) fn measure(bench: &Bench) {
    let count = bench.count(20_000);
    let make = writings(&bench.desk.url, None);
    let (refused, closed) = bench.runtime.block_on(async {
        let place = bench.place();
        let (host, store) = place.open(Durability::Full).await;
        // Of the two that take turns, both go to the one desk.
        for tool in ["courier.post_keyed", "desk.create_ticket"] {
            host.force(tool, None, Some(Forced::Open)).await.expect("the tool has a breaker");
        }
        let clock = SystemClock::start();
        let mut times = Vec::new();
        for number in 0..count / 4 + count {
            let start = clock.steady();
            let reply = host.call(make(number)).await;
            times.push(clock.steady() - start);
            assert_eq!(reply.code().as_deref(), Some("CIRCUIT_OPEN"));
        }
        let commits = store.commits();
        host.close().await;
        (Samples::of(times.split_off(count / 4)), commits)
    });
    Figure::new("breaker", "a call whose breaker is open, to its refusal, p50", micros(refused.p50()), "µs")
        .at_most(100.0)
        .note(format!("p99 {:.0} µs", micros(refused.p99())))
        .note(format!("{closed} commits beside it, which nobody waits for"))
        .print();
}
