//! What an attempt saves, and the attempt that follows finds.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use airlock::host::Seams;
use airlock_tests::crash::{Commit, Disk, Job, Order, Point, Process};
use airlock_tests::flaky::{Flaky, Way, When};
use airlock_tests::world::code;
use insta::assert_snapshot;
use serde_json::json;

use super::{answers, asked, call, call_keyed, world};

#[tokio::test(flavor = "multi_thread")]
async fn the_next_attempt_finds_what_was_saved_last_and_no_other_call_does() {
    let host = world().open().await;
    for tool in ["notebook.write", "notebook.read"] {
        let lines = ["saved", "save first", "save second", "fail", "saved"];
        let first = call_keyed(&host, tool, &lines, tool).await;
        assert_eq!(code(&first), "NOT_NOW");
        let again = call_keyed(&host, tool, &lines, tool).await;
        assert_eq!((again.meta.run, again.meta.attempts), (first.meta.run, 2));
        // It saves for itself too, and what it was given stays.
        assert_eq!(answers(&again), "second\ndone\ndone\nnothing is asked for\nsecond");
        assert_eq!(asked(&host, tool, &["saved"]).await, "nothing");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_saved_survives_the_process() {
    let world = world();
    let saved = Point::After(Commit::Save, 1);
    let lines = json!({ "lines": ["saved", "save halfway", "attempt"] });
    let order = Order {
        ahead: 0,
        config: world.write_config(),
        process: 1,
        disk: Disk::Synced,
        halt: Some(saved.to_string()),
        jobs: vec![Job::Call {
            tool: "notebook.write".to_owned(),
            input: lines,
            key: Some("k".to_owned()),
            background: false,
        }],
    };
    let said = Process::start(Path::new(env!("CARGO_BIN_EXE_crash-child")), &order, |_| {}).end();
    assert!(said.killed && said.points.contains(&saved));
    let host = world.open().await;
    let again = call_keyed(&host, "notebook.write", &["saved", "save halfway", "attempt"], "k").await;
    assert_eq!(answers(&again), "halfway\ndone\n2");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_saved_goes_with_the_texts_of_its_run() {
    let world = world();
    let seams = Seams::system(&world.config()).unwrap();
    let (store, now) = (Arc::clone(&seams.store), seams.clock.now());
    let host = world.open_with(seams).await;
    let run = call(&host, "notebook.write", &["save x"]).await.meta.run.unwrap();
    let saved = || store.run(run).unwrap().unwrap().saved;
    assert_eq!(saved().as_deref(), Some(&b"x"[..]));
    // The key goes first, and then what it could have given.
    let later = now.plus(Duration::from_secs(365 * 24 * 3600));
    for _ in 0..2 {
        store.sweep(later, Duration::from_secs(30 * 24 * 3600), 100).await.unwrap();
    }
    assert_eq!(saved(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_so_much_is_saved_and_only_so_often() {
    let host = world().open().await;
    assert_snapshot!(asked(&host, "notebook.bare", &["bulk 1048576", "bulk 1048577"]).await, @r"
    done
    refused: at most 1048576 bytes are saved, and these are 1048577
    ");
    let times = asked(&host, "notebook.bare", &["save x"; 101]).await;
    let (done, refused) = times.rsplit_once('\n').unwrap();
    assert!(done.lines().all(|line| line == "done"));
    assert_eq!(refused, "refused: one attempt saves at most 100 times");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_is_not_told_that_it_saved_what_could_not_be_written() {
    let world = world();
    let seams = Seams::system(&world.config()).unwrap();
    let flaky = Flaky::over(Arc::clone(&seams.store));
    let host = world.open_with(Seams { store: flaky.clone(), ..seams }).await;
    flaky.fail(When::Only(2), Way::Refused);
    let reply = call(&host, "notebook.bare", &["save x", "set a 1"]).await;
    assert_snapshot!(answers(&reply), @"STORE_UNAVAILABLE: the host could not use its store, so what the tool was about to do was not done");
    assert_eq!(flaky.writes(), ["reserve", "save", "settle"]);
}
