//! What is very large, very deep or meant ill.

use std::fs;

use insta::assert_snapshot;
use serde_json::json;

use super::Workspace;

const MIB: usize = 1 << 20;

#[tokio::test(flavor = "multi_thread")]
async fn large_files_are_read_and_changed_within_the_memory_of_a_call() {
    let workspace = Workspace::open().await;
    fs::write(workspace.path("log.txt"), "a line of a log\n".repeat(MIB)).unwrap();
    let tail = workspace.data("read", json!({ "path": "log.txt", "first_line": -2 })).await;
    assert_eq!((&tail["total_lines"], &tail["lines_left"]), (&json!(MIB), &json!(0)));
    let found = workspace.data("search", json!({ "query": "no such line" })).await;
    assert_eq!((&found["searched"], &found["skipped"]), (&json!(6), &json!(0)));
    let refused = workspace.refused("replace", json!({ "path": "log.txt", "old": "x", "new": "y" })).await;
    assert_snapshot!(refused, @"rejected TOO_LARGE tell_user: `log.txt` has 16777216 bytes, and this tool takes files of 8388608 at most");
    fs::write(workspace.path("half.txt"), "a line of a log\n".repeat(MIB / 2 - 1) + "the end\n").unwrap();
    workspace.data("replace", json!({ "path": "half.txt", "old": "the end", "new": "an end" })).await;
    assert!(workspace.text("half.txt").ends_with("log\nan end\n"));
    workspace.data("replace", json!({ "path": "half.txt", "old": "\n", "new": "", "all": true })).await;
    fs::write(workspace.path("larger.txt"), "x".repeat(16 * MIB + 1)).unwrap();
    let refused = workspace.refused("read", json!({ "path": "larger.txt" })).await;
    assert_snapshot!(refused, @"rejected TOO_LARGE tell_user: `larger.txt` has 16777217 bytes, and this tool takes files of 16777216 at most");
    assert_eq!(workspace.data("search", json!({ "query": "x", "path": "larger.txt" })).await["skipped"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_of_many_megabytes_is_read_in_parts() {
    let workspace = Workspace::open().await;
    fs::write(workspace.path("min.js"), format!("{}end", "é".repeat(4 * MIB))).unwrap();
    let part = workspace.data("read", json!({ "path": "min.js" })).await;
    let column = part["next_column"].as_u64().unwrap();
    assert!((10_000..13_000).contains(&column), "{column}");
    let last = json!({ "path": "min.js", "first_column": 4 * MIB + 1 });
    assert_eq!(workspace.data("read", last).await["text"], "1\tend\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn folders_deep_within_each_other_are_walked() {
    let workspace = Workspace::open().await;
    let deep = format!("deep{}", "/d".repeat(60));
    fs::create_dir_all(workspace.path(&deep)).unwrap();
    fs::write(workspace.path(&format!("{deep}/needle.txt")), "needle\n").unwrap();
    assert_eq!(workspace.data("search", json!({ "query": "needle" })).await["matches"], 1);
    assert_eq!(workspace.data("delete", json!({ "path": "deep", "recursive": true })).await["deleted"], 62);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_call_deletes_no_more_than_a_call_may_change() {
    let workspace = Workspace::open().await;
    fs::create_dir(workspace.path("many")).unwrap();
    for number in 0..90 {
        fs::write(workspace.path(&format!("many/{number}.txt")), "x").unwrap();
    }
    let all = json!({ "path": "many", "recursive": true });
    assert_snapshot!(workspace.refused("delete", all.clone()).await, @"invalid_input TOO_MANY fix_input: `many` holds more than 89 files and folders, and one call deletes 90 at most, the folder itself among them; delete the folders in it first, one by one: `list` shows them");
    assert_eq!(fs::read_dir(workspace.path("many")).unwrap().count(), 90);
    fs::remove_file(workspace.path("many/0.txt")).unwrap();
    assert_eq!(workspace.data("delete", all).await["deleted"], 90);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_expression_takes_for_ever_or_breaks_the_plugin() {
    let workspace = Workspace::open().await;
    fs::write(workspace.path("evil.txt"), "a".repeat(200_000) + "!").unwrap();
    let search = |query: String| json!({ "query": query, "regex": true, "path": "evil.txt" });
    let backtracking = workspace.data("search", search("(a+)+$".to_owned())).await;
    assert_eq!(backtracking["matches"], 0);
    for query in [
        "(?:".repeat(600),
        format!("{}a{}", "(".repeat(300), ")".repeat(300)),
        "a{999}{999}".to_owned(),
        r"\w{900}{9}".to_owned(),
    ] {
        let told = workspace.refused("search", search(query)).await;
        assert!(told.starts_with("invalid_input INVALID_PATTERN"), "{told}");
    }
}
