//! The same folders through WASI: read only, and no way out.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use super::{Lent, pipe};

fn errand(what: &str, path: &str) -> Value {
    json!({ "do": what, "path": path, "to": "drafts/other.txt" })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_reads_lent_folders_under_their_names() {
    let lent = Lent::to_clerk("").await;
    for (what, path, said) in [
        ("read", "inbox/note.txt", "a note"),
        ("read", "/inbox/old/letter.txt", "a letter"),
        ("list", "inbox", "note.txt, old"),
        ("list", "inbox/old", "letter.txt"),
        ("read", "drafts/plan.txt", "a plan"),
        ("read", "inbox/missing.txt", "NotFound"),
        ("read", "archive/any.txt", "NotFound"),
    ] {
        assert_eq!(lent.said("clerk.std", errand(what, path)).await, said, "{what} {path}");
    }
    let sparse = fs::File::create(lent.path("inbox/sparse")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    let far = json!({ "do": "read", "path": "inbox/sparse", "offset": (1_u64 << 40) - 3 });
    assert_eq!(lent.said("clerk.std", far).await, "\0\0\0");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_changes_nothing_also_where_the_folder_is_granted_for_writing() {
    let lent = Lent::to_clerk("").await;
    fs::create_dir(lent.path("drafts/empty")).unwrap();
    for (what, path) in [
        ("write", "drafts/plan.txt"),
        ("write", "drafts/new.txt"),
        ("create", "drafts/new.txt"),
        ("append", "drafts/plan.txt"),
        ("truncate", "drafts/plan.txt"),
        ("set_length", "drafts/plan.txt"),
        ("set_times", "drafts/plan.txt"),
        ("create_dir", "drafts/folder"),
        ("remove_file", "drafts/plan.txt"),
        ("remove_dir", "drafts/empty"),
        ("rename", "drafts/plan.txt"),
        ("hard_link", "drafts/plan.txt"),
        ("sym_link", "drafts/link"),
    ] {
        let said = lent.said("clerk.std", errand(what, path)).await;
        assert!(matches!(said.as_str(), "PermissionDenied" | "ReadOnlyFilesystem"), "{what}: {said}");
    }
    let mut left: Vec<_> =
        fs::read_dir(lent.path("drafts")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["empty", "plan.txt"]);
    assert_eq!(fs::read_to_string(lent.path("drafts/plan.txt")).unwrap(), "a plan");
    let modified = fs::metadata(lent.path("drafts/plan.txt")).unwrap().modified().unwrap();
    assert_ne!(modified, std::time::UNIX_EPOCH);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_finds_no_way_out() {
    let lent = Lent::to_clerk("[limits]\nattempt = \"20s\"").await;
    symlink(lent.path("outside/diary.txt"), lent.path("inbox/link")).unwrap();
    symlink("link", lent.path("inbox/chain")).unwrap();
    symlink("../outside", lent.path("inbox/door")).unwrap();
    pipe(&lent.path("inbox/pipe"));
    let whole = lent.path("outside/diary.txt").display().to_string();
    for path in [
        "inbox/../outside/diary.txt",
        "inbox/link",
        "inbox/chain",
        "inbox/door/diary.txt",
        "inbox/pipe",
        "/etc/passwd",
        "../../../etc/passwd",
        &whole,
    ] {
        let said = lent.said("clerk.std", errand("read", path)).await;
        assert!(matches!(said.as_str(), "PermissionDenied" | "NotFound"), "{path}: {said}");
    }
    let said = lent.said("clerk.std", errand("list", "inbox/door")).await;
    assert!(matches!(said.as_str(), "PermissionDenied" | "NotFound"), "{said}");
    assert_eq!(lent.said("clerk.std", errand("read", "inbox/old/letter.txt")).await, "a letter");
}
