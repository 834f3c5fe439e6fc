//! Several calls that change one file at once, in one process and in two: nobody's change is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use airlock::model::reply::Reply;
use airlock_tests::crowd::{Call, Crowd, Task};
use airlock_tests::guests::FILES;
use airlock_tests::world::{World, body, code, request};
use serde_json::{Value, json};

use super::Workspace;
use crate::files::tree;

const PROGRAM: &str = env!("CARGO_BIN_EXE_call-at-once");

/// What is looked at is the one attempt.
const ONCE: &str = "[retries]\nmost = 0\n";

/// Calls that are made at once.
const MANY: usize = 40;

fn list() -> String {
    (0..MANY).map(|number| format!("item {number:02} todo\n")).collect()
}

/// Ticks one item of the list off, under the same length as before.
fn tick(number: usize) -> Value {
    json!({ "path": "list.txt", "old": format!("item {number:02} todo"), "new": format!("item {number:02} done") })
}

/// The items that are ticked off; nothing else of the list has changed.
fn ticked(list: &Path) -> BTreeSet<usize> {
    let text = fs::read_to_string(list).unwrap();
    assert_eq!(text.lines().count(), MANY, "{text}");
    let done = text.lines().enumerate().filter(|(number, line)| {
        assert!(line.starts_with(&format!("item {number:02} ")), "{text}");
        line.ends_with(" done")
    });
    done.map(|(number, _)| number).collect()
}

async fn at_once(workspace: &Workspace, tool: &str, inputs: Vec<Value>) -> Vec<Reply> {
    let tool = format!("files.{tool}");
    let calls: Vec<_> = inputs
        .into_iter()
        .map(|input| {
            let (host, request) = (workspace.open.host.clone(), request(&tool, &input));
            tokio::spawn(async move { host.call(request).await })
        })
        .collect();
    let mut replies = Vec::new();
    for call in calls {
        replies.push(call.await.unwrap());
    }
    replies
}

#[tokio::test(flavor = "multi_thread")]
async fn of_calls_that_replace_in_one_file_at_once_none_is_lost_and_the_rest_may_be_made_again() {
    let workspace = Workspace::lent("write", ONCE).await;
    fs::write(workspace.path("list.txt"), list()).unwrap();
    let (mut done, mut open) = (BTreeSet::new(), (0..MANY).collect::<Vec<usize>>());
    while !open.is_empty() {
        let replies = at_once(&workspace, "replace", open.iter().copied().map(tick).collect()).await;
        let mut again = Vec::new();
        for (number, reply) in open.into_iter().zip(replies) {
            match code(&reply).as_str() {
                "ok" => assert!(done.insert(number)),
                "FILE_CHANGED" => {
                    let error = body(&reply);
                    assert_eq!(
                        (&error["kind"], &error["action"]),
                        (&json!("transient"), &json!("retry_later"))
                    );
                    again.push(number);
                }
                told => panic!("{told}: {}", body(&reply)),
            }
        }
        assert_eq!(ticked(&workspace.path("list.txt")), done, "what was said is there, and nothing else");
        open = again;
    }
    assert_eq!(done.len(), MANY);
}

#[test]
fn of_two_processes_that_replace_in_one_file_at_once_none_is_lost() {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    fs::write(folder.path().join("list.txt"), list()).unwrap();
    let path = folder.path().display().to_string();
    let world = World::in_memory().with_plugins(&[FILES]).with_config(&format!(
        "[plugin.files.directories]\nworkspace = {{ path = {path:?}, access = \"write\" }}"
    ));
    let config = world.write_config();
    let call = |number: usize| Call {
        tool: "files.replace".to_owned(),
        input: tick(number),
        key: number.to_string(),
    };
    let halves = [0..MANY / 2, MANY / 2..MANY].map(|numbers| Task {
        config: config.clone(),
        environment: BTreeMap::new(),
        compiler: None,
        calls: numbers.map(call).collect(),
    });
    let told = Crowd::gather(Path::new(PROGRAM), &halves).go();
    let replies = told.iter().flatten().map(|reply| serde_json::from_str::<Value>(reply).unwrap());
    let done: BTreeSet<usize> = replies
        .enumerate()
        .filter(|(_, reply)| {
            assert!(reply["ok"] == true || reply["error"]["code"] == "FILE_CHANGED", "{reply}");
            reply["ok"] == true
        })
        .map(|(number, _)| number)
        .collect();
    assert_eq!(ticked(&folder.path().join("list.txt")), done);
    assert!(!done.is_empty());
    assert_eq!(tree(folder.path()).len(), 1, "nothing is left beside it");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_calls_that_expect_the_same_content_one_changes_it() {
    let workspace = Workspace::lent("write", ONCE).await;
    let hash = workspace.data("read", json!({ "path": "plan.md" })).await["hash"].clone();
    let write = |number: usize| json!({ "path": "plan.md", "text": format!("{number}\n"), "mode": "overwrite", "expect": hash });
    let replies = at_once(&workspace, "write", (0..MANY).map(write).collect()).await;
    let done: Vec<usize> =
        replies.iter().enumerate().filter(|(_, reply)| reply.ok()).map(|(number, _)| number).collect();
    assert_eq!(done.len(), 1, "{done:?}");
    assert_eq!(workspace.text("plan.md"), format!("{}\n", done[0]));
    for reply in replies.iter().filter(|reply| !reply.ok()) {
        assert!(matches!(code(reply).as_str(), "CHANGED_MEANWHILE" | "FILE_CHANGED"), "{}", body(reply));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_calls_that_make_the_same_file_one_makes_it() {
    for path in ["fresh.md", "on/its/way/fresh.md"] {
        let workspace = Workspace::lent("write", ONCE).await;
        let write = |number: usize| json!({ "path": path, "text": format!("{number}\n") });
        let replies = at_once(&workspace, "write", (0..MANY).map(write).collect()).await;
        let done: Vec<usize> =
            replies.iter().enumerate().filter(|(_, reply)| reply.ok()).map(|(number, _)| number).collect();
        assert_eq!(done.len(), 1, "{path}: {done:?}");
        assert_eq!(workspace.text(path), format!("{}\n", done[0]));
        for reply in replies.iter().filter(|reply| !reply.ok()) {
            let error = body(reply);
            // A folder that a call made on the way stays where the file of another lies in it.
            let stays = |done: &Value| done["effect"].as_str().unwrap().starts_with("MKDIR ");
            let told = match code(reply).as_str() {
                "EXISTS" | "FILE_CHANGED" => true,
                "PARTLY_DONE" => error["details"]["done"].as_array().unwrap().iter().all(stays),
                _ => false,
            };
            assert!(told, "{error}");
        }
    }
}
