//! Attempts that follow one whose folders were put back: they find nothing that tells of work which is not there.

use std::fs;
use std::path::Path;

use airlock_tests::crash::{Commit, Disk, Job, Order, Point, Process};
use airlock_tests::guests::SCRIBE;
use airlock_tests::world::{World, body, keyed};
use serde_json::{Value, json};

use super::Lent;

/// Says what was saved, writes and saves: from the second attempt on.
fn steps() -> Value {
    json!([
        { "do": "saved" },
        { "do": "write", "path": "plan.txt", "text": "half of it", "from": 2 },
        { "do": "save", "text": "the first half is written", "from": 2 },
    ])
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_attempt_saved_goes_with_the_changes_that_are_put_back() {
    let lent = Lent::to_scribe("").await;
    let saved = json!({ "do": "save", "text": "it was looked up", "from": 0 });
    for (key, first, found) in [("k1", json!([]), "nothing"), ("k2", json!([saved]), "it was looked up")] {
        let all: Vec<Value> =
            first.as_array().unwrap().iter().cloned().chain(steps().as_array().unwrap().clone()).collect();
        let input = json!({ "steps": all, "then": "transient", "attempts": 2 });
        for _ in 0..2 {
            assert!(!lent.host.call(keyed("scribe.change", &input, key)).await.ok());
            assert_eq!(fs::read_to_string(lent.path("outbox/plan.txt")).unwrap(), "a plan");
        }
        let run = lent.host.runs(None, 1).unwrap()[0].run.to_string();
        // What it saved beside what stands stays: nothing of the first attempt was put back.
        let kept = lent.host.run(&run).unwrap().saved.map(|saved| String::from_utf8(saved).unwrap());
        assert_eq!(kept.as_deref().unwrap_or("nothing"), found);
        let last = lent.host.call(keyed("scribe.change", &input, key)).await;
        assert!(last.ok() && last.meta.attempts == 3, "{}", body(&last));
        let said = body(&last)["said"].as_array().unwrap().clone();
        assert!(said.contains(&json!(found)), "{said:?}");
        assert_eq!(fs::read_to_string(lent.path("outbox/plan.txt")).unwrap(), "half of it");
        lent.host.rollback(&run, "ada").await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_process_saved_that_died_goes_with_what_it_had_changed() {
    let folder = tempfile::tempdir().unwrap();
    let lend = format!(
        "[retries]\nmost = 0\n[plugin.scribe.directories]\noutbox = {{ path = {:?}, access = \"write\" }}",
        folder.path()
    );
    let world = World::new().with_plugins(&[SCRIBE]).with_config(&lend);
    let input = json!({ "steps": [
        { "do": "saved" },
        { "do": "write", "path": "plan.txt", "text": "half of it" },
        { "do": "save", "text": "the first half is written" },
    ] });
    let saved = Point::After(Commit::Save, 1);
    let order = Order {
        ahead: 0,
        config: world.write_config(),
        process: 1,
        disk: Disk::Synced,
        halt: Some(saved.to_string()),
        jobs: vec![Job::Call {
            tool: "scribe.change".to_owned(),
            input: input.clone(),
            key: Some("k".to_owned()),
            background: false,
        }],
    };
    let said = Process::start(Path::new(env!("CARGO_BIN_EXE_crash-child")), &order, |_| {}).end();
    assert!(said.killed && said.points.contains(&saved));
    assert!(folder.path().join("plan.txt").exists());
    let host = world.open().await;
    let again = host.call(keyed("scribe.change", &input, "k")).await;
    assert_eq!(body(&again)["said"], json!(["nothing", "done", "done"]));
    assert_eq!(fs::read_to_string(folder.path().join("plan.txt")).unwrap(), "half of it");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_put_back_takes_no_room_that_the_next_attempt_needs() {
    let lent = Lent::to_scribe("[limits]\ncontents = \"1 MiB\"").await;
    fs::write(lent.path("outbox/plan.txt"), vec![b'x'; 600 << 10]).unwrap();
    let steps = json!([{ "do": "write", "path": "plan.txt", "text": "short" }]);
    let input = json!({ "steps": steps, "then": "transient", "attempts": 2 });
    for _ in 0..2 {
        assert!(!lent.host.call(keyed("scribe.change", &input, "k")).await.ok());
    }
    let last = lent.host.call(keyed("scribe.change", &input, "k")).await;
    assert_eq!(body(&last)["said"], json!(["done"]));
    // What was kept for the one that stands is still there to be put back.
    lent.host.rollback(&last.meta.run.unwrap().to_string(), "ada").await.unwrap();
    assert_eq!(fs::metadata(lent.path("outbox/plan.txt")).unwrap().len(), 600 << 10);
    // And it counts: a second one finds no room.
    let twice = json!([
        { "do": "write", "path": "plan.txt", "text": "short" },
        { "do": "write", "path": "plan.txt", "text": "y", "repeated": 600 << 10 },
        { "do": "write", "path": "plan.txt", "text": "short" },
    ]);
    assert_eq!(lent.steps(twice).await, ["done", "done", "TooLarge"]);
}
