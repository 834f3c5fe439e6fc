//! Listing, reading and searching.

use std::fs;
use std::os::unix::fs::symlink;

use airlock::model::id::CallerName;
use airlock_tests::world::body;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{Workspace, shown};

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_is_listed_with_kinds_and_sizes() {
    let workspace = Workspace::open().await;
    symlink("../outside.txt", workspace.path("link")).unwrap();
    let mut listing = workspace.data("list", json!({})).await;
    for entry in listing["entries"].as_array_mut().unwrap() {
        let modified = entry["modified"].as_str().unwrap();
        assert!(modified.len() == 20 && modified.starts_with("20") && modified.ends_with('Z'), "{modified}");
        entry["modified"] = json!("WHEN");
    }
    assert_snapshot!(shown(&listing), @r#"
    {
      "entries": [
        {
          "path": "link",
          "kind": "other",
          "modified": "WHEN"
        },
        {
          "path": "old",
          "kind": "folder",
          "modified": "WHEN"
        },
        {
          "path": "plan.md",
          "kind": "file",
          "size": 30,
          "modified": "WHEN"
        },
        {
          "path": "src",
          "kind": "folder",
          "modified": "WHEN"
        }
      ],
      "more": false
    }
    "#);
    let found = workspace.data("list", json!({ "pattern": "**/*.rs" })).await;
    let paths: Vec<&Value> =
        found["entries"].as_array().unwrap().iter().map(|entry| &entry["path"]).collect();
    assert_eq!(paths, ["src/main.rs", "src/parse/word.rs"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_folder_is_listed_in_pages_that_no_reply_cuts() {
    let workspace = Workspace::open().await;
    fs::create_dir(workspace.path("many")).unwrap();
    for number in 0..2500 {
        fs::write(workspace.path(&format!("many/{number:04}")), "").unwrap();
    }
    let (mut seen, mut after) = (Vec::new(), Value::Null);
    loop {
        let mut input = json!({ "path": "many", "max_entries": 500 });
        if !after.is_null() {
            input["after"] = after;
        }
        let reply = workspace.call("list", input).await;
        assert!(reply.meta.trimmed.is_none(), "nothing of a page is cut");
        let page = body(&reply);
        let entries = page["entries"].as_array().unwrap();
        seen.extend(entries.iter().map(|entry| entry["path"].as_str().unwrap().to_owned()));
        if page["more"] == false {
            break;
        }
        after = page["next_after"].clone();
    }
    let all: Vec<String> = (0..2500).map(|number| format!("many/{number:04}")).collect();
    assert_eq!(seen, all);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_read_by_lines_to_its_end() {
    let workspace = Workspace::open().await;
    assert_snapshot!(shown(&workspace.data("read", json!({ "path": "plan.md", "max_lines": 2 })).await), @r#"
    {
      "path": "plan.md",
      "media_type": "text/plain",
      "size": 30,
      "hash": "6e658fccec07dbda8f6d05822b62e8115b7ae53d6e8693b0e1ddfa5caaf2248c",
      "text": "1\t# Plan\n2\t\n",
      "first_line": 1,
      "last_line": 2,
      "total_lines": 5,
      "lines_left": 3,
      "next_line": 3
    }
    "#);
    let text: String = (1..=3000).map(|number| format!("line \"{number}\"\n")).collect();
    fs::write(workspace.path("long.txt"), &text).unwrap();
    let (mut read, mut next) = (String::new(), json!(1));
    while !next.is_null() {
        let reply = workspace.call("read", json!({ "path": "long.txt", "first_line": next })).await;
        assert!(reply.ok() && reply.meta.trimmed.is_none(), "nothing of a page is cut");
        let page = body(&reply);
        for line in page["text"].as_str().unwrap().lines() {
            read.push_str(line.split_once('\t').unwrap().1);
            read.push('\n');
        }
        next = page["next_line"].clone();
    }
    assert_eq!(read, text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_picture_comes_as_an_attachment() {
    let workspace = Workspace::open().await;
    fs::write(workspace.path("dot.png"), b"\x89PNG\r\n\x1a\n\0\0").unwrap();
    let reply = workspace.call("read", json!({ "path": "dot.png" })).await;
    assert!(reply.ok(), "{}", body(&reply));
    let reply = serde_json::to_value(&reply).unwrap();
    let attachment = &reply["attachments"][0];
    assert_eq!((&attachment["name"], &attachment["media_type"]), (&json!("dot.png"), &json!("image/png")));
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_are_found_by_text_and_by_expression() {
    let workspace = Workspace::open().await;
    symlink("../outside.txt", workspace.path("link.rs")).unwrap();
    let found = workspace.data("search", json!({ "query": "run()", "context": 1 })).await;
    assert_snapshot!(shown(&found), @r#"
    {
      "files": [
        {
          "path": "src/main.rs",
          "matches": 2,
          "text": "1-fn main() {\n2:    run();\n3-}\n4-\n5:fn run() {}\n"
        }
      ],
      "matches": 2,
      "searched": 5,
      "skipped": 0,
      "complete": true
    }
    "#);
    let found =
        workspace.data("search", json!({ "query": "^pub fn", "regex": true, "pattern": "*.rs" })).await;
    assert_eq!((&found["matches"], &found["searched"]), (&json!(1), &json!(2)));
    let none = workspace.data("search", json!({ "query": "a diary" })).await;
    assert_eq!(none["matches"], 0, "what lies outside is not found through a link");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_looked_at_is_told_with_what_to_do() {
    let workspace = Workspace::open().await;
    symlink("../outside.txt", workspace.path("link")).unwrap();
    symlink("..", workspace.path("door")).unwrap();
    fs::write(workspace.path("data.bin"), b"\0\x01").unwrap();
    let mut told = Vec::new();
    for (tool, input) in [
        ("read", json!({ "path": "src/mian.rs" })),
        ("read", json!({ "path": "src" })),
        ("read", json!({ "path": "data.bin" })),
        ("read", json!({ "path": "link" })),
        ("read", json!({ "path": "door/outside.txt" })),
        ("read", json!({ "path": "../outside.txt" })),
        ("read", json!({ "path": "/plan.md" })),
        ("read", json!({ "path": "plan.md", "first_line": 99 })),
        ("list", json!({ "path": "plan.md" })),
        ("list", json!({ "pattern": "{a" })),
        ("list", json!({ "path": "src", "after": "old/a.txt" })),
        ("search", json!({ "query": "(", "regex": true })),
        ("search", json!({ "query": "x", "path": "nowhere" })),
    ] {
        told.push(format!("{tool} {input}\n  {}", workspace.refused(tool, input.clone()).await));
    }
    assert_snapshot!(told.join("\n"), @r#"
    read {"path":"src/mian.rs"}
      rejected NOT_FOUND tell_user: there is nothing at `src/mian.rs`; did you mean src/main.rs?
    read {"path":"src"}
      invalid_input NOT_A_FILE fix_input: `src` is a folder; `list` shows what is in it
    read {"path":"data.bin"}
      rejected UNSUPPORTED_TYPE tell_user: `data.bin` is no text in UTF-8, but application/octet-stream
    read {"path":"link"}
      rejected UNSUPPORTED_TYPE tell_user: `link` is a link or a device, and is left alone
    read {"path":"door/outside.txt"}
      denied FILE_REFUSED stop: a link is on the way, and links are not followed
    read {"path":"../outside.txt"}
      invalid_input INVALID_PATH fix_input: a path does not go up with `..`; give it from the workspace on: ../outside.txt
    read {"path":"/plan.md"}
      invalid_input INVALID_PATH fix_input: paths begin in the workspace, and not with `/`: `plan.md` would be that; `list` shows what is there
    read {"path":"plan.md","first_line":99}
      invalid_input START_BEYOND_END fix_input: `first_line` is beyond the end: the file has 5 lines
    list {"path":"plan.md"}
      invalid_input NOT_A_FOLDER fix_input: `plan.md` is no folder
    list {"pattern":"{a"}
      invalid_input INVALID_PATTERN fix_input: a `{` is not closed, or stands within another: {a
    list {"path":"src","after":"old/a.txt"}
      invalid_input INVALID_PATH fix_input: `old/a.txt` does not lie in `src`
    search {"query":"(","regex":true}
      invalid_input INVALID_PATTERN fix_input: that is no regular expression: unclosed group; without `regex` the query is taken as it stands
    search {"query":"x","path":"nowhere"}
      rejected NOT_FOUND tell_user: there is nothing at `nowhere`; `list` shows what is there
    "#);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_over_mcp_sees_what_reads_alone() {
    let workspace = Workspace::open().await;
    let names = |caller: &str| -> Vec<String> {
        let tools = workspace.open.host.tools(&CallerName(caller.to_owned()), None).unwrap();
        tools.into_iter().map(|view| view.name.to_string()).collect()
    };
    assert_eq!(names("mcp"), ["files.list", "files.read", "files.search"]);
    assert_eq!(names("local").len(), 7);
}
