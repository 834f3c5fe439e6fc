//! Writes that share a commit: one that is at fault does not take the others down.

use std::fs::OpenOptions;

use airlock::model::clock::Timestamp;
use airlock::model::id::{CallerName, Digest, ProcessId, RunId, TraceId};
use airlock::model::key::Key;
use airlock::model::manifest::Repeat;
use airlock::store::sqlite::Durability;
use airlock::store::{Journal as _, Ledger as _, NewAttempt, NewRun, Reserved, SqliteStore, StoreFailure};

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
        tool: "echo.echo_write".parse().unwrap(),
        repeat: Repeat::Idempotent,
        action: Digest([1; 32]),
        input: "{}".to_owned(),
        trace: TraceId::new([3; 16]),
        owner: PROCESS,
        attempt: NewAttempt { attempt: 1, plugin: Digest([2; 32]), at: NOON },
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
    let twin = Key::parse("twin").unwrap().scope(&CallerName("local".to_owned()));
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
    assert_eq!(store.sweep(Timestamp(0), 0).await, Ok(0));
    assert!(store.run(id(1)).unwrap().is_some());
}
