//! Listing, reading and searching.

use super::*;

/// The paths of a listing.
fn paths(listing: &Value) -> Vec<String> {
    let entries = listing["entries"].as_array().unwrap();
    entries.iter().map(|entry| entry["path"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_folder_is_listed_alone_or_deep_or_by_pattern() {
    let lent = Lent::new();
    let alone = lent.call::<List>(json!({}));
    assert_eq!(paths(&alone), ["README.md", "node_modules", "src"]);
    assert_eq!((&alone["entries"][0]["size"], &alone["more"]), (&json!(24), &json!(false)));
    let deep = lent.call::<List>(json!({ "depth": 9 }));
    assert_eq!(
        paths(&deep),
        ["README.md", "node_modules", "src", "src/deep", "src/deep/part.rs", "src/main.rs"],
        "what is excluded is shown and not gone into"
    );
    let by_name = lent.call::<List>(json!({ "pattern": "*.{rs,js}", "exclude": [] }));
    assert_eq!(paths(&by_name), ["node_modules/x/index.js", "src/deep/part.rs", "src/main.rs"]);
    assert_eq!(paths(&lent.call::<List>(json!({ "path": "src", "pattern": "src/*.rs" }))), ["src/main.rs"]);
}

#[test]
fn pages_of_a_list_in_a_row_hold_every_entry_once() {
    let lent = Lent::new();
    let whole = paths(&lent.call::<List>(json!({ "depth": 9, "exclude": [] })));
    for max_entries in 1..8 {
        let (mut seen, mut after) = (Vec::new(), None);
        loop {
            let mut input = json!({ "depth": 9, "exclude": [], "max_entries": max_entries });
            if let Some(after) = after {
                input["after"] = after;
            }
            let page = lent.call::<List>(input);
            seen.extend(paths(&page));
            match page.get("next_after") {
                Some(next) => after = Some(next.clone()),
                None => break,
            }
        }
        assert_eq!(seen, whole, "{max_entries} at a time");
    }
}

#[test]
fn a_list_goes_on_where_it_ended_though_that_is_gone_meanwhile() {
    let lent = Lent::new();
    fs::remove_dir_all(lent.path("src/deep")).unwrap();
    let rest = lent.call::<List>(json!({ "depth": 9, "after": "src/deep/part.rs" }));
    assert_eq!(paths(&rest), ["src/main.rs"]);
}

#[test]
fn a_text_is_read_with_numbers_and_its_hash() {
    let lent = Lent::new();
    let read = lent.call::<Read>(json!({ "path": "src/main.rs", "first_line": 2, "max_lines": 2 }));
    let whole = hash(lent.text("src/main.rs").as_bytes());
    assert_eq!(
        read,
        json!({
            "path": "src/main.rs", "media_type": "text/plain", "size": 44, "hash": whole,
            "text": "2\t    helper();\n3\t}\n", "first_line": 2, "last_line": 3, "total_lines": 5,
            "lines_left": 2, "next_line": 4,
        })
    );
    assert_eq!(
        lent.call::<Read>(json!({ "path": "src/main.rs", "first_line": -1 }))["text"],
        "5\tfn helper() {}\n"
    );
    fs::write(lent.path("dos.txt"), "\u{feff}a\r\nb\r\n").unwrap();
    let dos = lent.call::<Read>(json!({ "path": "dos.txt" }));
    assert_eq!((&dos["text"], &dos["line_endings"]), (&json!("1\ta\n2\tb\n"), &json!("crlf")));
}

#[test]
fn a_picture_comes_as_an_attachment_and_what_is_no_text_by_its_type() {
    let lent = Lent::new();
    fs::write(lent.path("dot.png"), b"\x89PNG\r\n\x1a\n\0rest").unwrap();
    let reply = lent.host.reply::<Read>(json!({ "path": "dot.png" })).unwrap();
    assert!(format!("{reply:?}").contains("media_type: \"image/png\""));
    fs::write(lent.path("paper.pdf"), "%PDF-1.7").unwrap();
    insta::assert_snapshot!(
        lent.refused::<Read>(json!({ "path": "paper.pdf" })),
        @"ErrorKind::Rejected UNSUPPORTED_TYPE: `paper.pdf` is no text in UTF-8, but application/pdf"
    );
}

#[test]
fn what_cannot_be_read_is_told_with_what_would_be_right() {
    let lent = Lent::new();
    let told: Vec<String> = ["src/mian.rs", "readme", "nowhere/x", "src", "/src/main.rs", "../x"]
        .map(|path| lent.refused::<Read>(json!({ "path": path })))
        .into();
    insta::assert_snapshot!(told.join("\n"), @"
    ErrorKind::Rejected NOT_FOUND: there is nothing at `src/mian.rs`; did you mean src/main.rs?
    ErrorKind::Rejected NOT_FOUND: there is nothing at `readme`; did you mean README.md?
    ErrorKind::Rejected NOT_FOUND: there is nothing at `nowhere/x`; `list` shows what is there
    ErrorKind::InvalidInput NOT_A_FILE: `src` is a folder; `list` shows what is in it
    ErrorKind::InvalidInput INVALID_PATH: paths begin in the workspace, and not with `/`: `src/main.rs` would be that; `list` shows what is there
    ErrorKind::InvalidInput INVALID_PATH: a path does not go up with `..`; give it from the workspace on: ../x
    ");
    insta::assert_snapshot!(lent.refused::<Read>(json!({ "path": "README.md", "first_line": 9 })), @"ErrorKind::InvalidInput START_BEYOND_END: `first_line` is beyond the end: the file has 3 lines");
}

#[test]
fn files_are_searched_below_a_folder_and_by_pattern() {
    let lent = Lent::new();
    let found = lent.call::<Search>(json!({ "query": "fn ", "context": 1 }));
    assert_eq!(
        found,
        json!({
            "files": [
                { "path": "src/deep/part.rs", "matches": 1, "text": "1:pub fn part() {}\n" },
                { "path": "src/main.rs", "matches": 2, "text": "1:fn main() {\n2-    helper();\n--\n4-\n5:fn helper() {}\n" },
            ],
            "matches": 3, "searched": 3, "skipped": 0, "complete": true,
        })
    );
    let expression = json!({ "query": "^FN \\w+", "regex": true, "ignore_case": true, "pattern": "main.*" });
    assert_eq!(lent.call::<Search>(expression)["matches"], 2);
    let alone = lent.call::<Search>(json!({ "query": "helper", "path": "src/main.rs" }));
    assert_eq!((&alone["searched"], &alone["matches"]), (&json!(1), &json!(2)));
    fs::write(lent.path("data.bin"), b"fn \0").unwrap();
    assert_eq!(lent.call::<Search>(json!({ "query": "fn " }))["skipped"], 1);
}

#[test]
fn a_search_that_has_no_room_goes_on_and_finds_every_line_once() {
    let lent = Lent::new();
    for max_matches in 1..5 {
        let (mut lines, mut from) = (Vec::new(), None);
        loop {
            let mut input = json!({ "query": "fn ", "max_matches": max_matches });
            if let Some(from) = from {
                input["from"] = from;
            }
            let page = lent.call::<Search>(input);
            for file in page["files"].as_array().unwrap() {
                let shown = file["text"].as_str().unwrap().lines();
                lines.extend(shown.map(|line| format!("{} {line}", file["path"].as_str().unwrap())));
            }
            match page.get("next") {
                Some(next) => from = Some(next.clone()),
                None => break,
            }
        }
        assert_eq!(
            lines,
            [
                "src/deep/part.rs 1:pub fn part() {}",
                "src/main.rs 1:fn main() {",
                "src/main.rs 5:fn helper() {}"
            ],
            "{max_matches} at a time"
        );
    }
}

#[test]
fn a_search_ends_when_it_is_asked_to_and_says_where() {
    let lent = Lent::new();
    let found = lent.host.clone().stop().call::<Search>(json!({ "query": "fn " })).unwrap();
    assert_eq!((&found["complete"], &found["searched"]), (&json!(false), &json!(1)));
    assert_eq!(found["next"], json!({ "path": "src/deep/part.rs", "line": 1 }));
}

#[test]
fn many_files_with_long_matches_come_in_pages_that_fit_a_reply() {
    let lent = Lent::new();
    for number in 0..200 {
        fs::write(lent.path(&format!("src/{number:03}.txt")), format!("needle {}\n", "\"".repeat(400)))
            .unwrap();
    }
    let (mut seen, mut from) = (0, None);
    loop {
        let mut input = json!({ "query": "needle", "max_matches": 500 });
        if let Some(from) = from {
            input["from"] = from;
        }
        let page = lent.call::<Search>(input);
        assert!(page.to_string().len() < 30_000);
        seen += page["matches"].as_u64().unwrap();
        match page.get("next") {
            Some(next) => from = Some(next.clone()),
            None => break,
        }
    }
    assert_eq!(seen, 200);
}
