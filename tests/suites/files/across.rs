//! From one lent folder into another: no name leads there, and what both hold is moved by reading and writing alone.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};

use airlock_tests::world::body;
use serde_json::{Value, json};

use super::{Lent, scribes};

/// Lends the scribe `outbox` and `archive`, both to be written.
async fn both_written() -> Lent {
    let (world, folder) = scribes();
    let archive = folder.path().join("archive");
    fs::create_dir(&archive).unwrap();
    fs::write(archive.join("kept.txt"), "kept").unwrap();
    let line = format!("archive = {{ path = {:?}, access = \"write\" }}", archive.display().to_string());
    Lent::on(world.with_config(&line), folder).await
}

fn moved(directory: &str, path: &str, to: &str) -> Value {
    json!({ "do": "move", "directory": directory, "path": path, "to": to })
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_moved_from_one_folder_into_another_though_both_are_lent_to_be_written() {
    let lent = both_written().await;
    symlink("../archive", lent.path("outbox/door")).unwrap();
    let (outbox, archive) = (lent.tree("outbox"), lent.tree("archive"));
    let whole = lent.path("archive/plan.txt").display().to_string();
    let kept = lent.path("archive/kept.txt").display().to_string();
    for (directory, path, to) in [
        ("outbox", "plan.txt", "../archive/plan.txt"),
        ("outbox", "plan.txt", "sent/../../archive/plan.txt"),
        ("outbox", "plan.txt", &whole),
        ("outbox", "plan.txt", "door/plan.txt"),
        ("outbox", "sent", "../archive/sent"),
        ("outbox", "../archive/kept.txt", "kept.txt"),
        ("outbox", &kept, "kept.txt"),
        ("outbox", "door/kept.txt", "kept.txt"),
        ("archive", "../outbox/plan.txt", "plan.txt"),
    ] {
        let said = lent.steps(json!([moved(directory, path, to)])).await;
        assert!(said[0].starts_with("Forbidden("), "{directory}: {path} to {to}: {said:?}");
    }
    // The name of the other folder is none here.
    assert_eq!(lent.steps(json!([moved("outbox", "plan.txt", "archive/plan.txt")])).await, ["NotFound"]);
    assert_eq!((lent.tree("outbox"), lent.tree("archive")), (outbox, archive));
    // The twin: within each, and from one to the other by what is granted in both.
    let said = lent
        .steps(json!([
            moved("outbox", "plan.txt", "sent/plan.txt"),
            moved("archive", "kept.txt", "old.txt"),
            { "do": "read", "path": "sent/plan.txt" },
            { "do": "write", "directory": "archive", "path": "plan.txt", "text": "a plan" },
            { "do": "remove", "path": "sent/plan.txt" },
        ]))
        .await;
    assert_eq!(said, ["done", "done", "a plan", "done", "done"]);
    let left: Vec<_> = lent.tree("archive").into_keys().collect();
    assert_eq!(
        (left, lent.path("outbox/sent/plan.txt").exists()),
        (vec!["old.txt".into(), "plan.txt".into()], false)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_moves_and_links_nothing_from_one_folder_into_another() {
    let lent = Lent::to_clerk("").await;
    for what in ["rename", "hard_link"] {
        for (path, to) in [
            ("inbox/note.txt", "drafts/note.txt"),
            ("drafts/plan.txt", "inbox/plan.txt"),
            ("inbox/old", "drafts/old"),
            ("drafts/../inbox/note.txt", "drafts/note.txt"),
            ("inbox/note.txt", "drafts/../../outside/note.txt"),
        ] {
            let said = lent.said("clerk.std", json!({ "do": what, "path": path, "to": to })).await;
            let refused = ["PermissionDenied", "ReadOnlyFilesystem", "CrossesDevices", "NotFound"];
            assert!(refused.contains(&said.as_str()), "{what} {path} to {to}: {said}");
        }
    }
    let names = |below: &str| lent.tree(below).into_keys().collect::<Vec<_>>();
    assert_eq!(names("inbox"), ["note.txt", "old/", "old/letter.txt"]);
    assert_eq!(
        (names("drafts"), names("outside")),
        (vec!["plan.txt".to_owned()], vec!["diary.txt".to_owned()])
    );
    assert_eq!(fs::metadata(lent.path("inbox/note.txt")).unwrap().nlink(), 1);
    for (path, text) in [("inbox/note.txt", "a note"), ("drafts/plan.txt", "a plan")] {
        assert_eq!(lent.said("clerk.std", json!({ "do": "read", "path": path })).await, text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_with_a_second_name_outside_is_read_and_moved_and_never_changed() {
    let lent = Lent::to_scribe("").await;
    fs::hard_link(lent.path("outside/plan.txt"), lent.path("outbox/second.txt")).unwrap();
    let steps = json!([
        { "do": "read", "path": "second.txt" },
        { "do": "move", "path": "second.txt", "to": "sent/second.txt" },
        { "do": "append", "path": "sent/second.txt", "text": "by the guest" },
    ]);
    let said = lent.steps(steps.clone()).await;
    let refusal =
        "Forbidden(\"the file has several names, of which some may lie outside, and is not changed\")";
    assert_eq!(said, ["a plan", "done", refusal]);
    let same = |path: &str| {
        let (one, other) = (fs::metadata(lent.path(path)), fs::metadata(lent.path("outside/plan.txt")));
        one.unwrap().ino() == other.unwrap().ino()
    };
    assert!(same("outbox/sent/second.txt"), "it is the same file still");
    assert_eq!(fs::read_to_string(lent.path("outside/plan.txt")).unwrap(), "a plan");
    // What is put back is put back as that file.
    fs::rename(lent.path("outbox/sent/second.txt"), lent.path("outbox/second.txt")).unwrap();
    let failed = lent.call("scribe.change", json!({ "steps": steps, "then": "rejected" })).await;
    assert_eq!(body(&failed)["code"], "TOLD_REJECTED");
    assert!(same("outbox/second.txt") && !lent.path("outbox/sent/second.txt").exists());
}
