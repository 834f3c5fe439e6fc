//! Writing, replacing, moving and deleting.

use std::fs;

use airlock_tests::world::{body, keyed};
use insta::assert_snapshot;
use serde_json::json;

use super::{DELETES, Workspace, shown};
use crate::call::shown as whole;

#[tokio::test(flavor = "multi_thread")]
async fn a_write_in_full() {
    let workspace = Workspace::open().await;
    let reply = workspace.call("write", json!({ "path": "notes/2026/may.md", "text": "one\n" })).await;
    assert_snapshot!(whole(&reply), @r#"
    {
      "ok": true,
      "data": {
        "path": "notes/2026/may.md",
        "hash": "2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806",
        "size": 4,
        "summary": "created `notes/2026/may.md` with 1 line"
      },
      "meta": {
        "run": "RUN",
        "step": 1,
        "attempts": 1,
        "duration_ms": "COUNTED",
        "fuel": "COUNTED",
        "memory_bytes": "COUNTED",
        "effects": 3,
        "cost_micros": 0,
        "replayed": false,
        "trace_id": "TRACE"
      }
    }
    "#);
    assert_eq!(workspace.text("notes/2026/may.md"), "one\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_tool_changes_what_it_says() {
    let workspace = Workspace::open().await;
    let mut told = Vec::new();
    for (tool, input) in [
        ("write", json!({ "path": "plan.md", "text": "short\n", "mode": "overwrite" })),
        ("replace", json!({ "path": "src/main.rs", "old": "    run();\n", "new": "" })),
        ("replace", json!({ "path": "src/main.rs", "old": "fn", "new": "pub fn", "all": true })),
        ("move", json!({ "path": "src/parse/word.rs", "to": "src/word.rs" })),
        ("move", json!({ "path": "old/b", "to": "kept/b" })),
        ("delete", json!({ "path": "old", "recursive": true })),
        ("delete", json!({ "path": "src/parse" })),
    ] {
        told.push(format!("{tool} {input}\n{}", shown(&workspace.data(tool, input.clone()).await)));
    }
    assert_snapshot!(told.join("\n"), @r#"
    write {"path":"plan.md","text":"short\n","mode":"overwrite"}
    {
      "path": "plan.md",
      "hash": "c962fa1be311981f0f965857e89b000707f9cea07a069d073461308f3019200f",
      "size": 6,
      "summary": "overwrote `plan.md` with 1 line"
    }
    replace {"path":"src/main.rs","old":"    run();\n","new":""}
    {
      "path": "src/main.rs",
      "replaced": 1,
      "lines": [
        2
      ],
      "hash": "d5f6f56ba6b2f084ce45080a6fa7339c4f64d3ba7c65387f3f24a1c3cfecbf6e",
      "size": 27,
      "summary": "replaced a text at line 2 of `src/main.rs`"
    }
    replace {"path":"src/main.rs","old":"fn","new":"pub fn","all":true}
    {
      "path": "src/main.rs",
      "replaced": 2,
      "lines": [
        1,
        4
      ],
      "hash": "2984cbd42526228eb575eedc11ea532106b77e396d7460d031de2753a4caea0c",
      "size": 35,
      "summary": "replaced a text 2 times in `src/main.rs`"
    }
    move {"path":"src/parse/word.rs","to":"src/word.rs"}
    {
      "path": "src/word.rs",
      "hash": "535a171b45df6f395a9835dd7347a3e343620b8febc51c96585173ec31381d37",
      "summary": "moved the file `src/parse/word.rs` to `src/word.rs`"
    }
    move {"path":"old/b","to":"kept/b"}
    {
      "path": "kept/b",
      "summary": "moved the folder `old/b` to `kept/b`"
    }
    delete {"path":"old","recursive":true}
    {
      "path": "old",
      "deleted": 2,
      "summary": "deleted the folder `old` with 1 entry in it"
    }
    delete {"path":"src/parse"}
    {
      "path": "src/parse",
      "deleted": 1,
      "summary": "deleted the empty folder `src/parse`"
    }
    "#);
    insta::assert_debug_snapshot!(workspace.tree(), @r#"
    {
        "kept/": "",
        "kept/b/": "",
        "kept/b/c.txt": "c\n",
        "plan.md": "short\n",
        "src/": "",
        "src/main.rs": "pub fn main() {\n}\n\npub fn run() {}\n",
        "src/word.rs": "pub fn word() {}\n",
    }
    "#);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_changed_is_told_and_nothing_is_changed() {
    let workspace = Workspace::open().await;
    fs::hard_link(workspace.folder.path().join("outside.txt"), workspace.path("old/second.txt")).unwrap();
    let (before, expect) = (workspace.tree(), "0".repeat(64));
    let mut told = Vec::new();
    for (tool, input) in [
        ("write", json!({ "path": "plan.md", "text": "x" })),
        ("write", json!({ "path": "src", "text": "x", "mode": "overwrite" })),
        ("write", json!({ "path": "plan.md/x", "text": "x" })),
        ("write", json!({ "path": ".airlock-x", "text": "x" })),
        ("write", json!({ "path": "plan.md", "text": "x", "mode": "overwrite", "expect": expect })),
        ("replace", json!({ "path": "plan.md", "old": "- ", "new": "* " })),
        ("replace", json!({ "path": "plan.md", "old": "absent", "new": "x" })),
        ("replace", json!({ "path": "old/second.txt", "old": "diary", "new": "x" })),
        ("move", json!({ "path": "plan.md", "to": "src/main.rs" })),
        ("move", json!({ "path": "src", "to": "src/parse/src" })),
        ("delete", json!({ "path": "nowhere" })),
        ("delete", json!({ "path": "old" })),
    ] {
        told.push(format!("{tool} {input}\n  {}", workspace.refused(tool, input.clone()).await));
    }
    assert_snapshot!(told.join("\n"), @r#"
    write {"path":"plan.md","text":"x"}
      invalid_input EXISTS fix_input: there is something at `plan.md` already; read it, then use `replace`, or `mode: overwrite`
    write {"path":"src","text":"x","mode":"overwrite"}
      invalid_input NOT_A_FILE fix_input: `src` is a folder; `list` shows what is in it
    write {"path":"plan.md/x","text":"x"}
      invalid_input NOT_A_FOLDER fix_input: `plan.md` is no folder
    write {"path":".airlock-x","text":"x"}
      denied FILE_REFUSED stop: names that begin with .airlock- are the host's own
    write {"path":"plan.md","text":"x","mode":"overwrite","expect":"0000000000000000000000000000000000000000000000000000000000000000"}
      rejected CHANGED_MEANWHILE tell_user: `plan.md` has been changed since it had the hash in `expect`; nothing was done: read it again, and decide anew
    replace {"path":"plan.md","old":"- ","new":"* "}
      invalid_input SEVERAL_MATCHES fix_input: `old` is in `plan.md` 3 times, at lines 3, 4, 5; nothing was changed: give more of what stands around the one that is meant, or set `all`
    replace {"path":"plan.md","old":"absent","new":"x"}
      invalid_input NO_MATCH fix_input: `old` is not in `plan.md`; nothing was changed: read the file, and give the text exactly as it stands there
    replace {"path":"old/second.txt","old":"diary","new":"x"}
      denied FILE_REFUSED stop: the file has several names, of which some may lie outside, and is not changed
    move {"path":"plan.md","to":"src/main.rs"}
      invalid_input EXISTS fix_input: there is something at `src/main.rs` already
    move {"path":"src","to":"src/parse/src"}
      invalid_input INTO_ITSELF fix_input: `src/parse/src` lies in `src`, which cannot be moved into itself
    delete {"path":"nowhere"}
      rejected NOT_FOUND tell_user: there is nothing at `nowhere`; `list` shows what is there
    delete {"path":"old"}
      invalid_input NOT_EMPTY fix_input: the folder `old` is not empty; set `recursive` to delete what lies in it too
    "#);
    assert_eq!(workspace.tree(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_that_fails_half_way_leaves_everything_as_it_was() {
    let workspace = Workspace::open().await;
    // What has a second name outside is not deleted, and comes after others are gone.
    fs::hard_link(workspace.folder.path().join("outside.txt"), workspace.path("old/a-second.txt")).unwrap();
    let before = workspace.tree();
    let reply = workspace.call("delete", json!({ "path": "old", "recursive": true })).await;
    assert_eq!(reply.code().as_deref(), Some("FILE_REFUSED"));
    assert!(reply.meta.effects > 0, "some were gone before it failed");
    assert_eq!(workspace.tree(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_needs_a_person_unless_the_operator_says_otherwise() {
    let workspace = Workspace::lent("write", "").await;
    assert_eq!(
        workspace.call("delete", json!({ "path": "plan.md" })).await.code().as_deref(),
        Some("NEEDS_PERSON")
    );
    assert!(workspace.path("plan.md").exists());
    let open = Workspace::open().await;
    assert_eq!(open.data("delete", json!({ "path": "plan.md" })).await["deleted"], 1);
    assert!(!open.path("plan.md").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_is_lent_to_be_read_is_read_and_not_changed() {
    let workspace = Workspace::lent("read", DELETES).await;
    let before = workspace.tree();
    assert_eq!(workspace.data("read", json!({ "path": "plan.md" })).await["total_lines"], 5);
    for (tool, input) in [
        ("write", json!({ "path": "x", "text": "x" })),
        ("replace", json!({ "path": "plan.md", "old": "ship", "new": "x" })),
        ("move", json!({ "path": "plan.md", "to": "x" })),
        ("delete", json!({ "path": "plan.md" })),
    ] {
        let told = workspace.refused(tool, input).await;
        assert!(told.starts_with("denied FILE_REFUSED"), "{told}");
    }
    assert_eq!(workspace.tree(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replacement_under_one_key_is_done_once() {
    let workspace = Workspace::open().await;
    let input = json!({ "path": "plan.md", "old": "Plan", "new": "Plan of a Plan", "all": true });
    let first = workspace.open.host.call(keyed("files.replace", &input, "k1")).await;
    let again = workspace.open.host.call(keyed("files.replace", &input, "k1")).await;
    assert_eq!((body(&first), again.meta.replayed), (body(&again), true));
    assert_eq!(workspace.text("plan.md").lines().next(), Some("# Plan of a Plan"));
}
