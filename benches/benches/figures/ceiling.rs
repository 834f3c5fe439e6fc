//! SQLite's own ceiling: the same rows through the same writer, with no guest and no path before it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use airlock::model::clock::{Clock as _, SystemClock, Timestamp};
use airlock::model::effect::{Effect, EffectState};
use airlock::model::id::{CallerName, Digest, ProcessId, RunId, TraceId};
use airlock::model::key::Key;
use airlock::model::manifest::Repeat;
use airlock::model::pointer::Unshown;
use airlock::model::reply::{Stored, Usage};
use airlock::model::run::{Does, Told};
use airlock::model::staged::Staged;
use airlock::model::state::{Event, RunState};
use airlock::store::sqlite::Durability;
use airlock::store::{
    Charge, End, Journal as _, Kept, KeyLife, NewAttempt, NewRun, Outcome, Reserved, SqliteStore,
};
use airlock_benches::figure::Figure;
use airlock_benches::load::{kilobyte, rate};
use airlock_benches::place;
use serde_json::json;

use crate::Bench;

/// As many as the calls that are measured beside it.
const IN_FLIGHT: usize = 256;

/// What the store does by itself, per second.
pub(crate) struct Ceiling {
    pub(crate) reading: f64,
    pub(crate) writing: f64,
}

pub(crate) fn measure(bench: &Bench) -> Ceiling {
    let reading = bench.runtime.block_on(run(bench, bench.count(60_000), Kind::Reading));
    let writing = bench.runtime.block_on(run(bench, bench.count(20_000), Kind::Writing));
    Ceiling { reading, writing }
}

#[derive(Clone, Copy)]
enum Kind {
    Reading,
    Writing,
}

async fn run(bench: &Bench, count: usize, kind: Kind) -> f64 {
    let store = Arc::new(place::store(&place::folder(bench.disk.path()), Durability::Full));
    let next = Arc::new(AtomicUsize::new(0));
    let clock = SystemClock::start();
    let before = store.commits();
    let clients = (0..IN_FLIGHT).map(|_| {
        let (store, next) = (Arc::clone(&store), Arc::clone(&next));
        tokio::spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return;
                }
                match kind {
                    Kind::Reading => read(&store, number).await,
                    Kind::Writing => write(&store, number).await,
                }
            }
        })
    });
    for client in clients.collect::<Vec<_>>() {
        client.await.expect("the store takes every write");
    }
    let took = clock.steady();
    let rate = rate(count, took);
    let what = match kind {
        Kind::Reading => "the store alone: a run recorded whole",
        Kind::Writing => "the store alone: reserve, intent, outcome, end",
    };
    let commits = usize::try_from(store.commits() - before).unwrap_or(0);
    Figure::new("ceiling", what, rate, "/s")
        .note(format!("{} commits, {:.1} runs in each", commits, per(count, commits)))
        .print();
    rate
}

async fn read(store: &SqliteStore, number: usize) {
    let made = store.record(new_run(number, Repeat::Reads), end(Vec::new())).await.expect("the store writes");
    assert!(matches!(made, Reserved::Won(_)), "the key is of this bench alone");
}

async fn write(store: &SqliteStore, number: usize) {
    let Reserved::Won(lease) = store.reserve(new_run(number, Repeat::Keyed)).await.expect("the store writes")
    else {
        panic!("the key is of this bench alone");
    };
    assert!(store.intend(lease, effect(), None, NOW).await.expect("the store writes"), "the lease is held");
    let outcome = Outcome {
        attempt: 1,
        ordinal: 1,
        state: EffectState::Done,
        status: Some(201),
        answered: None,
        at: NOW,
    };
    drop(store.outcome(lease.run, outcome.clone()));
    assert!(store.settle(lease, end(vec![outcome])).await.expect("the store writes"), "the lease is held");
}

const NOW: Timestamp = Timestamp(1_700_000_000_000);

pub(crate) fn new_run(number: usize, repeat: Repeat) -> NewRun {
    let mut random = [0; 10];
    random.copy_from_slice(&Digest::of(&number.to_le_bytes()).0[..10]);
    let at = Timestamp(NOW.0 + i64::try_from(number / 20).unwrap_or(0));
    NewRun {
        run: RunId::new(at, random),
        key: Key::parse(&format!("ceiling-{number}")).ok(),
        caller: CallerName("first".to_owned()),
        user: None,
        tool: "echo.echo".parse().expect("it names a tool"),
        action: Digest([number.to_le_bytes()[0]; 32]),
        repeat,
        input: json!({ "text": kilobyte() }).to_string(),
        attachments: Vec::new(),
        unshown: Unshown::default(),
        trace: TraceId("4bf92f3577b34da6a3ce929d0e0e4736".to_owned()),
        told: Told::default(),
        guard: None,
        owner: ProcessId([3; 16]),
        background: None,
        attempt: NewAttempt { attempt: 1, does: Does::Call, plugin: Digest([5; 32]), at },
        charge: Charge::default(),
    }
}

fn effect() -> Effect {
    Effect {
        attempt: 1,
        ordinal: 1,
        repeat: Repeat::Keyed,
        method: "POST".to_owned(),
        target: "http://127.0.0.1:43121/tickets".to_owned(),
        request: Digest([6; 32]),
        key: Some("3c1b4f7a9d2e80653c1b4f7a9d2e8065".to_owned()),
        state: EffectState::Open,
        status: None,
    }
}

pub(crate) fn end(outcomes: Vec<Outcome>) -> End {
    End {
        event: Event::Completed,
        state: RunState::Completed,
        attempt: 1,
        stored: Stored::new(true, json!({ "text": kilobyte() }).to_string()),
        kept: Kept::default(),
        word: "ok".to_owned(),
        rearms: false,
        usage: Usage { fuel: 12_345, memory: 1 << 20, effects: 1, time: Duration::from_millis(1), cost: 0 },
        log: String::new(),
        outcomes,
        past: Vec::new(),
        reports: None,
        staged: Staged::default(),
        fingerprint: None,
        cleanup: None,
        life: KeyLife { keep: Duration::from_secs(86_400), guard: Duration::ZERO },
        at: NOW,
    }
}

/// How many of these come to one of those.
pub(crate) fn per(count: usize, of: usize) -> f64 {
    let narrow = |wide: usize| f64::from(u32::try_from(wide).unwrap_or(u32::MAX));
    narrow(count) / narrow(of.max(1))
}
