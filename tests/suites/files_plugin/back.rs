//! What is told ahead of a change, and the way back from it.

use std::fs;

use airlock::model::past::Ending;
use airlock_tests::world::{body, request};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{Workspace, shown};

impl Workspace {
    /// What a preview says.
    async fn ahead(&self, tool: &str, input: Value) -> Value {
        let reply = self.open.host.preview(request(&format!("files.{tool}"), &input)).await;
        assert!(reply.ok(), "{tool}: {}", body(&reply));
        body(&reply)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_shows_the_difference_and_changes_nothing() {
    let workspace = Workspace::open().await;
    let before = workspace.tree();
    let mut told = Vec::new();
    for (tool, input) in [
        ("write", json!({ "path": "notes/a.md", "text": "a\n" })),
        ("write", json!({ "path": "plan.md", "text": "# Plan\n", "mode": "overwrite" })),
        ("replace", json!({ "path": "plan.md", "old": "test", "new": "prove" })),
        ("move", json!({ "path": "old", "to": "older/yet" })),
        ("delete", json!({ "path": "src/main.rs" })),
        ("delete", json!({ "path": "old", "recursive": true })),
    ] {
        told.push(format!("{tool} {input}\n{}", shown(&workspace.ahead(tool, input.clone()).await)));
    }
    assert_snapshot!(told.join("\n"), @r##"
    write {"path":"notes/a.md","text":"a\n"}
    {
      "summary": "create `notes/a.md` with 1 line",
      "changes": [
        "make the folder notes",
        "--- /dev/null",
        "+++ notes/a.md",
        "@@ -0,0 +1 @@",
        "+a"
      ],
      "fingerprint": "nothing",
      "risk": "L3"
    }
    write {"path":"plan.md","text":"# Plan\n","mode":"overwrite"}
    {
      "summary": "overwrite `plan.md` with 1 line",
      "changes": [
        "--- plan.md",
        "+++ plan.md",
        "@@ -1,5 +1 @@",
        " # Plan",
        "-",
        "-- write",
        "-- test",
        "-- ship"
      ],
      "fingerprint": "6e658fccec07dbda8f6d05822b62e8115b7ae53d6e8693b0e1ddfa5caaf2248c",
      "risk": "L3"
    }
    replace {"path":"plan.md","old":"test","new":"prove"}
    {
      "summary": "replace a text at line 4 of `plan.md`",
      "changes": [
        "--- plan.md",
        "+++ plan.md",
        "@@ -1,5 +1,5 @@",
        " # Plan",
        " ",
        " - write",
        "-- test",
        "+- prove",
        " - ship"
      ],
      "fingerprint": "6e658fccec07dbda8f6d05822b62e8115b7ae53d6e8693b0e1ddfa5caaf2248c",
      "risk": "L3"
    }
    move {"path":"old","to":"older/yet"}
    {
      "summary": "move the folder `old` to `older/yet`",
      "changes": [
        "make the folder older",
        "old → older/yet"
      ],
      "fingerprint": "folder 637fa418783d817d44fe71443876148c508ce7884d2b08f5d3fbb9ba1c60cf3d and nothing",
      "risk": "L3"
    }
    delete {"path":"src/main.rs"}
    {
      "summary": "delete the file `src/main.rs` of 38 bytes",
      "changes": [
        "--- src/main.rs",
        "+++ /dev/null",
        "@@ -1,5 +0,0 @@",
        "-fn main() {",
        "-    run();",
        "-}",
        "-",
        "-fn run() {}"
      ],
      "fingerprint": "247d5f5194074d59e32a44ccc338232954df9af6cd664ff47df4a99d49375ba6",
      "risk": "L4"
    }
    delete {"path":"old","recursive":true}
    {
      "summary": "delete the folder `old` with 3 entries in it",
      "changes": [
        "delete the folder old",
        "delete old/a.txt (2 bytes)",
        "delete the folder old/b",
        "delete old/b/c.txt (2 bytes)"
      ],
      "fingerprint": "folder 637fa418783d817d44fe71443876148c508ce7884d2b08f5d3fbb9ba1c60cf3d",
      "risk": "L4"
    }
    "##);
    assert_eq!(workspace.tree(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_of_what_cannot_be_done_is_the_error_of_the_call() {
    let workspace = Workspace::open().await;
    let input = json!({ "path": "plan.md", "old": "- ", "new": "* " });
    let ahead = workspace.open.host.preview(request("files.replace", &input)).await;
    let call = workspace.call("replace", input).await;
    assert_eq!((ahead.code(), body(&ahead)), (call.code(), body(&call)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_of_a_large_change_stays_within_the_limits_of_a_call() {
    let workspace = Workspace::open().await;
    let text: String = (0..60_000).map(|number| format!("{number} of a list\n")).collect();
    fs::write(workspace.path("list.txt"), &text).unwrap();
    let input = json!({ "path": "list.txt", "old": " of a list", "new": "", "all": true });
    let ahead = workspace.ahead("replace", input).await;
    assert_eq!(
        ahead["changes"],
        json!(["list.txt: from line 1 on, 60000 lines instead of 60000, too many to be compared"])
    );
    let few = json!({ "path": "list.txt", "old": "59999 of", "new": "the last of" });
    assert_eq!(workspace.ahead("replace", few).await["changes"][6], "-59999 of a list");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollback_restores_what_each_tool_changed() {
    let workspace = Workspace::open().await;
    let before = workspace.tree();
    for (tool, input) in [
        ("write", json!({ "path": "notes/2026/may.md", "text": "one\n" })),
        ("write", json!({ "path": "plan.md", "text": "short\n", "mode": "overwrite" })),
        ("replace", json!({ "path": "src/main.rs", "old": "run", "new": "go", "all": true })),
        ("move", json!({ "path": "src", "to": "lib/rust" })),
        ("delete", json!({ "path": "plan.md" })),
        ("delete", json!({ "path": "old", "recursive": true })),
    ] {
        let reply = workspace.call(tool, input).await;
        assert!(reply.ok(), "{tool}: {}", body(&reply));
        assert_ne!(workspace.tree(), before, "{tool} changes something");
        let run = reply.meta.run.unwrap().to_string();
        let back = workspace.open.host.rollback(&run, "ada").await.unwrap();
        assert_eq!(back.ending, Ending::RolledBack, "{tool}: {:?}", back.undone);
        assert_eq!(workspace.tree(), before, "{tool} is taken back whole");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_somebody_has_changed_since_is_left_alone_by_a_rollback() {
    let workspace = Workspace::open().await;
    let reply = workspace.call("replace", json!({ "path": "plan.md", "old": "test", "new": "prove" })).await;
    fs::write(workspace.path("plan.md"), "somebody else's").unwrap();
    let run = reply.meta.run.unwrap().to_string();
    let back = workspace.open.host.rollback(&run, "ada").await.unwrap();
    assert_eq!(back.ending, Ending::Conflict);
    assert_eq!(workspace.text("plan.md"), "somebody else's");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_fingerprint_of_a_call_is_that_of_the_content_it_left() {
    let workspace = Workspace::open().await;
    let hash = workspace.data("read", json!({ "path": "plan.md" })).await["hash"].clone();
    let host = &workspace.open.host;
    let mut told = Vec::new();
    for (tool, input) in [
        ("write", json!({ "path": "copy.md", "text": workspace.text("plan.md") })),
        ("move", json!({ "path": "copy.md", "to": "moved.md" })),
        ("delete", json!({ "path": "moved.md" })),
    ] {
        let run = workspace.call(tool, input).await.meta.run.unwrap().to_string();
        let now = host.fingerprint(&run).await.unwrap();
        assert_eq!(host.run(&run).unwrap().fingerprint, now, "{tool} told it with its result");
        told.push((now.unwrap(), run));
    }
    let hash = hash.as_str().unwrap();
    assert_eq!(told[0].0, hash);
    assert_eq!(told[1].0, format!("nothing and {hash}"));
    assert_eq!(told[2].0, "nothing");
    assert_eq!(host.fingerprint(&told[0].1).await.unwrap().unwrap(), "nothing", "it was moved away since");
}
