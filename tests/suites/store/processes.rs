//! Several processes on one state folder: what each was told is kept, whoever wrote it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use airlock::model::id::ProcessId;
use airlock::model::state::RunState;
use airlock::store::sqlite::Durability;
use airlock::store::{Ledger as _, SqliteStore, StoreFailure};
use airlock_tests::crowd::{Call, Crowd, Task};
use airlock_tests::guests;
use airlock_tests::world::{World, keyed};
use serde_json::{Value, json};

use super::integrity;

const PROGRAM: &str = env!("CARGO_BIN_EXE_call-at-once");

/// Calls of each process.
const EACH: usize = 60;

/// A process that calls nothing.
fn task(config: PathBuf) -> Task {
    Task { config, environment: BTreeMap::new(), compiler: None, calls: Vec::new() }
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_that_write_at_once_lose_nothing() {
    let world = World::new().with_plugins(&[guests::ECHO]);
    let config = world.write_config();
    let calls = |process: usize| {
        let call = |number| {
            let key = format!("k{process}-{number}");
            Call { tool: "echo.echo_write".to_owned(), input: json!({ "text": key }), key }
        };
        (0..EACH).map(call).collect()
    };
    let tasks: Vec<Task> =
        (0..3).map(|process| Task { calls: calls(process), ..task(config.clone()) }).collect();
    let told = Crowd::gather(Path::new(PROGRAM), &tasks).go();

    let host = world.open().await;
    for (task, replies) in tasks.iter().zip(&told) {
        assert_eq!(replies.len(), EACH);
        for (call, reply) in task.calls.iter().zip(replies) {
            let reply: Value = serde_json::from_str(reply).unwrap();
            assert_eq!((&reply["ok"], &reply["data"]), (&json!(true), &call.input));
            let again = host.call(keyed(&call.tool, &call.input, &call.key)).await;
            assert!(again.meta.replayed, "{} was lost", call.key);
            assert_eq!(again.meta.run.unwrap().to_string(), reply["meta"]["run"].as_str().unwrap());
        }
    }
    let runs = host.runs(None, 1000).unwrap();
    assert_eq!(runs.len(), 3 * EACH);
    assert!(runs.iter().all(|run| run.state == RunState::Completed));
    assert_eq!(integrity(&world.state()), "ok");
}

#[test]
fn all_who_open_a_fresh_folder_at_once_can_use_it() {
    for round in 0..20 {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        let open = |number: u8| SqliteStore::open(&state, ProcessId([number; 16]), Durability::Full);
        let secrets = std::thread::scope(|scope| {
            let opening: Vec<_> = (0..8)
                .map(|number| {
                    let open = &open;
                    scope.spawn(move || open(number))
                })
                .collect();
            let opened = opening.into_iter().map(|thread| thread.join().unwrap());
            opened
                .map(|store| store.unwrap_or_else(|failure| panic!("round {round}: {failure}")).secret())
                .collect::<BTreeSet<_>>()
        });
        assert_eq!(secrets.len(), 1, "all have the secret of the one database");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn locks_of_processes_that_ended_do_not_stay() {
    let world = World::new().with_plugins(&[guests::ECHO]);
    let task = task(world.write_config());
    drop(Crowd::gather(Path::new(PROGRAM), &[task.clone(), task]).go());
    let _host = world.open().await;
    let locks = std::fs::read_dir(world.state().join("processes")).unwrap().count();
    assert_eq!(locks, 1, "the lock of this process alone");
}

#[test]
fn a_process_that_stays_inside_is_waited_for_only_so_long() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    drop(SqliteStore::open(&state, ProcessId([1; 16]), Durability::Full).unwrap());
    let gate = std::fs::OpenOptions::new().write(true).open(state.join("write.lock")).unwrap();
    gate.lock().unwrap();
    let refused = SqliteStore::open(&state, ProcessId([2; 16]), Durability::Full).unwrap_err();
    assert_eq!(refused, StoreFailure::Locked(state.join("airlock.db")));
    gate.unlock().unwrap();
    assert!(SqliteStore::open(&state, ProcessId([2; 16]), Durability::Full).is_ok());
}
