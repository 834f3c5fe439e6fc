//! Writes that share a commit: one that is at fault does not take the others down.

use std::fs::OpenOptions;
use std::time::Duration;

use airlock::model::clock::Timestamp;
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
    Charge, End, Journal as _, Kept, KeyLife, Ledger as _, NewAttempt, NewRun, Reserved, SqliteStore,
    StoreFailure, Take, Taken,
};

use super::integrity;
use crate::call::NOON;

const PROCESS: ProcessId = ProcessId([7; 16]);

fn id(number: u8) -> RunId {
    RunId::from_bytes([number; 16])
}

fn run(number: u8, key: &str) -> NewRun {
    NewRun {
        run: id(number),
        key: Some(Key::parse(key).unwrap()),
        caller: CallerName("local".to_owned()),
        user: None,
        tool: "echo.echo_write".parse().unwrap(),
        repeat: Repeat::Idempotent,
        action: Digest([1; 32]),
        input: "{}".to_owned(),
        attachments: Vec::new(),
        unshown: Unshown::default(),
        trace: TraceId::new([3; 16]),
        told: Told::default(),
        guard: None,
        owner: PROCESS,
        background: None,
        attempt: NewAttempt { attempt: 1, does: Does::Call, plugin: Digest([2; 32]), at: NOON },
        charge: Charge::default(),
    }
}

/// Submits writes while no group can be committed, so that they share one.
async fn together(
    writes: Vec<NewRun>,
) -> (tempfile::TempDir, SqliteStore, Vec<Result<Reserved, StoreFailure>>) {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("state"), PROCESS, Durability::Full).unwrap();
    let gate = OpenOptions::new().write(true).open(folder.path().join("state/write.lock")).unwrap();
    gate.lock().unwrap();
    let pending: Vec<_> = writes.into_iter().map(|new| store.reserve(new)).collect();
    gate.unlock().unwrap();
    let mut ends = Vec::new();
    for write in pending {
        ends.push(write.await);
    }
    (folder, store, ends)
}

#[tokio::test]
async fn a_write_that_cannot_be_is_refused_alone() {
    let mut writes: Vec<_> = (1..=20).map(|number| run(number, &format!("k{number}"))).collect();
    // The same run a second time, under a key of its own.
    writes.insert(10, run(5, "twin"));
    let (folder, store, ends) = together(writes).await;
    for (place, end) in ends.iter().enumerate() {
        match (place, end) {
            (10, Err(StoreFailure::Failed(..))) => {}
            (10, end) => panic!("a run was made twice: {end:?}"),
            (_, end) => assert!(matches!(end, Ok(Reserved::Won(_))), "{place}: {end:?}"),
        }
    }
    for number in 1..=20 {
        assert!(store.run(id(number)).unwrap().is_some(), "{number}");
    }
    let twin = Key::parse("twin").unwrap().scope(&CallerName("local".to_owned()), None);
    assert!(store.key(twin, NOON).unwrap().is_none(), "nothing of the refused write is left");
    assert_eq!(integrity(&folder.path().join("state")), "ok");
}

#[tokio::test]
async fn of_writes_that_want_one_key_the_first_has_it() {
    let (_folder, store, ends) = together((1..=20).map(|number| run(number, "one")).collect()).await;
    let won: Vec<_> = ends.iter().map(|end| matches!(end, Ok(Reserved::Won(_)))).collect();
    assert_eq!(won.iter().filter(|won| **won).count(), 1);
    assert!(won[0], "writes of one process are in the order in which they were submitted");
    assert!(ends[1..].iter().all(|end| *end == Ok(Reserved::Lost)), "{ends:?}");
    assert!(store.run(id(1)).unwrap().is_some() && store.run(id(2)).unwrap().is_none());
}

#[tokio::test]
async fn a_write_whose_future_is_dropped_is_done_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("state"), PROCESS, Durability::Full).unwrap();
    drop(store.reserve(run(1, "k")));
    // Writes of one process become durable in order.
    assert_eq!(store.sweep(Timestamp(0), Duration::MAX, 0).await, Ok(0));
    assert!(store.run(id(1)).unwrap().is_some());
}

#[tokio::test]
async fn the_key_of_a_run_that_is_open_again_does_not_lapse() {
    let (_folder, store, ends) = together(vec![run(1, "k")]).await;
    let Ok(Reserved::Won(lease)) = ends[0] else { panic!("the key was free") };
    let scope = Key::parse("k").unwrap().scope(&CallerName("local".to_owned()), None);
    let life = KeyLife { keep: Duration::from_secs(8), guard: Duration::ZERO };
    assert!(store.settle(lease, failed(life)).await.unwrap());
    let found = store.key(scope, NOON).unwrap().unwrap();
    let attempt = NewAttempt { attempt: 2, does: Does::Call, plugin: Digest([2; 32]), at: NOON };
    let take = Take {
        background: None,
        lease: found.lease,
        event: Event::Rearmed,
        state: RunState::Running,
        by: None,
        owner: PROCESS,
        at: NOON,
        attempt: Some(attempt),
        charge: Charge::default(),
    };
    let Ok(Taken::Held(open)) = store.take(take.clone()).await else { panic!("nobody else took it") };
    let later = NOON.plus(Duration::from_secs(3600));
    assert_eq!(store.sweep(later, Duration::MAX, 100).await, Ok(0), "its run is open");
    let mut other = run(2, "k");
    other.attempt.at = later;
    assert_eq!(store.reserve(other).await, Ok(Reserved::Lost), "one key, one run");
    // Once the run has ended and its key was swept, nobody goes on with it under that key.
    assert!(store.settle(open, failed(life)).await.unwrap());
    assert_eq!(store.sweep(later, Duration::MAX, 100).await, Ok(1));
    let lease = store.run(id(1)).unwrap().unwrap().lease;
    assert_eq!(store.take(Take { lease, ..take }).await, Ok(Taken::Lost));
}

fn failed(life: KeyLife) -> End {
    End {
        event: Event::Failed,
        state: RunState::Failed,
        attempt: 1,
        stored: Stored::new(false, "{}".to_owned()),
        kept: Kept::default(),
        word: "X".to_owned(),
        rearms: true,
        usage: Usage::default(),
        log: String::new(),
        outcomes: Vec::new(),
        past: Vec::new(),
        reports: None,
        staged: Staged::default(),
        fingerprint: None,
        cleanup: None,
        life,
        at: NOON,
    }
}
