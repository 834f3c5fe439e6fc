//! Writing, replacing, moving and deleting.

use super::*;

#[test]
fn a_file_is_created_with_the_folders_on_its_way() {
    let lent = Lent::new();
    let written = lent.call::<Write>(json!({ "path": "notes/2026/plan.md", "text": "one\ntwo\n" }));
    let hash = hash(b"one\ntwo\n");
    assert_eq!(
        written,
        json!({ "path": "notes/2026/plan.md", "hash": hash, "size": 8, "summary": "created `notes/2026/plan.md` with 2 lines" })
    );
    assert_eq!(lent.text("notes/2026/plan.md"), "one\ntwo\n");
}

#[test]
fn a_file_that_is_there_is_overwritten_only_where_that_is_asked() {
    let lent = Lent::new();
    let told = lent.refused::<Write>(json!({ "path": "README.md", "text": "x" }));
    assert!(told.starts_with("ErrorKind::InvalidInput EXISTS"), "{told}");
    let over = json!({ "path": "README.md", "text": "x", "mode": "overwrite" });
    assert_eq!(lent.call::<Write>(over.clone())["summary"], "overwrote `README.md` with 1 line");
    assert_eq!(lent.text("README.md"), "x");
    assert_eq!(lent.call::<Write>(over)["summary"], "left `README.md` as it is: it holds exactly this");
}

#[test]
fn nobodys_change_is_lost_where_a_hash_is_expected() {
    let lent = Lent::new();
    let hash = lent.call::<Read>(json!({ "path": "README.md" }))["hash"].clone();
    fs::write(lent.path("README.md"), "somebody else's").unwrap();
    let now = super::hash(b"somebody else's");
    let write = json!({ "path": "README.md", "text": "x", "mode": "overwrite", "expect": hash });
    let told = lent.refused::<Write>(write);
    insta::assert_snapshot!(told, @"ErrorKind::Rejected CHANGED_MEANWHILE: `README.md` has been changed since it had the hash in `expect`; nothing was done: read it again, and decide anew");
    for told in [
        lent.refused::<Replace>(json!({ "path": "README.md", "old": "else", "new": "x", "expect": hash })),
        lent.refused::<Delete>(json!({ "path": "README.md", "expect": hash })),
        lent.refused::<Write>(json!({ "path": "gone.md", "text": "x", "expect": hash })),
    ] {
        assert!(told.starts_with("ErrorKind::Rejected CHANGED_MEANWHILE"), "{told}");
    }
    assert_eq!(lent.text("README.md"), "somebody else's");
    let upper = now.to_uppercase();
    lent.call::<Replace>(json!({ "path": "README.md", "old": "else", "new": "x", "expect": upper }));
    assert_eq!(lent.text("README.md"), "somebody x's");
}

#[test]
fn a_text_is_replaced_where_it_is_exactly_once() {
    let lent = Lent::new();
    let replaced =
        lent.call::<Replace>(json!({ "path": "src/main.rs", "old": "    helper();", "new": "    part();" }));
    let text = "fn main() {\n    part();\n}\n\nfn helper() {}\n";
    assert_eq!(lent.text("src/main.rs"), text);
    assert_eq!(
        replaced,
        json!({
            "path": "src/main.rs", "replaced": 1, "lines": [2], "hash": hash(text.as_bytes()), "size": text.len(),
            "summary": "replaced a text at line 2 of `src/main.rs`",
        })
    );
    let all = lent.call::<Replace>(json!({ "path": "src/main.rs", "old": "fn", "new": "fun", "all": true }));
    assert_eq!((&all["replaced"], &all["lines"]), (&json!(2), &json!([1, 5])));
}

#[test]
fn what_cannot_be_replaced_is_told_and_nothing_is_changed() {
    let lent = Lent::new();
    let before = lent.text("src/main.rs");
    let told: Vec<String> = [
        ("src/main.rs", "helper", "x"),
        ("src/main.rs", "absent", "x"),
        ("src/main.rs", "fn main() {\n\thelper();", "x"),
        ("src/main.rs", "2\t    helper();", "x"),
        ("src/main.rs", "same", "same"),
        ("src", "a", "b"),
        ("gone.rs", "a", "b"),
    ]
    .map(|(path, old, new)| lent.refused::<Replace>(json!({ "path": path, "old": old, "new": new })))
    .into();
    insta::assert_snapshot!(told.join("\n"), @"
    ErrorKind::InvalidInput SEVERAL_MATCHES: `old` is in `src/main.rs` 2 times, at lines 2, 5; nothing was changed: give more of what stands around the one that is meant, or set `all`
    ErrorKind::InvalidInput NO_MATCH: `old` is not in `src/main.rs`; nothing was changed: read the file, and give the text exactly as it stands there
    ErrorKind::InvalidInput NO_MATCH: `old` is not in `src/main.rs`; nothing was changed: line 1 fits but for white space: give that exactly
    ErrorKind::InvalidInput NO_MATCH: `old` is not in `src/main.rs`; nothing was changed: leave out the numbers of lines, which `read` puts there
    ErrorKind::InvalidInput NOTHING_TO_CHANGE: `old` and `new` are the same text
    ErrorKind::InvalidInput NOT_A_FILE: `src` is a folder; `list` shows what is in it
    ErrorKind::Rejected NOT_FOUND: there is nothing at `gone.rs`; `list` shows what is there
    ");
    assert_eq!(lent.text("src/main.rs"), before);
}

#[test]
fn a_file_and_a_folder_are_moved_and_replace_nothing() {
    let lent = Lent::new();
    let moved = lent.call::<Move>(json!({ "path": "README.md", "to": "docs/start/README.md" }));
    assert_eq!(moved["hash"], hash(lent.text("docs/start/README.md").as_bytes()));
    assert!(!exists(&lent.path("README.md")));
    let folder = lent.call::<Move>(json!({ "path": "src/deep", "to": "deep" }));
    assert_eq!(folder, json!({ "path": "deep", "summary": "moved the folder `src/deep` to `deep`" }));
    let told: Vec<String> = [
        ("src/main.rs", "deep/part.rs"),
        ("src/main.rs", "deep"),
        ("src", "src/within/src"),
        ("gone", "there"),
        ("src/main.rs", "src/main.rs"),
        ("src/main.rs", "deep/part.rs/x"),
    ]
    .map(|(path, to)| lent.refused::<Move>(json!({ "path": path, "to": to })))
    .into();
    insta::assert_snapshot!(told.join("\n"), @"
    ErrorKind::InvalidInput EXISTS: there is something at `deep/part.rs` already
    ErrorKind::InvalidInput EXISTS: `deep` is a folder; to move it in there, give the whole path: deep/main.rs
    ErrorKind::InvalidInput INTO_ITSELF: `src/within/src` lies in `src`, which cannot be moved into itself
    ErrorKind::Rejected NOT_FOUND: there is nothing at `gone`; `list` shows what is there
    ErrorKind::InvalidInput EXISTS: there is something at `src/main.rs` already
    ErrorKind::InvalidInput NOT_A_FOLDER: `deep/part.rs` is no folder
    ");
}

#[test]
fn a_folder_is_deleted_with_what_is_in_it_only_where_that_is_asked() {
    let lent = Lent::new();
    let told = lent.refused::<Delete>(json!({ "path": "src" }));
    assert!(told.starts_with("ErrorKind::InvalidInput NOT_EMPTY"), "{told}");
    let deleted = lent.call::<Delete>(json!({ "path": "src", "recursive": true }));
    assert_eq!(
        deleted,
        json!({ "path": "src", "deleted": 4, "summary": "deleted the folder `src` with 3 entries in it" })
    );
    assert!(!exists(&lent.path("src")) && exists(&lent.path("README.md")));
    for number in 0..90 {
        fs::write(lent.path(&format!("node_modules/{number}")), "x").unwrap();
    }
    let told = lent.refused::<Delete>(json!({ "path": "node_modules", "recursive": true }));
    assert!(told.starts_with("ErrorKind::InvalidInput TOO_MANY"), "{told}");
    assert_eq!(fs::read_dir(lent.path("node_modules")).unwrap().count(), 91);
}

#[test]
fn the_workspace_itself_is_neither_written_nor_moved_nor_deleted() {
    let lent = Lent::new();
    for told in [
        lent.refused::<Write>(json!({ "path": ".", "text": "x", "mode": "overwrite" })),
        lent.refused::<Move>(json!({ "path": "./", "to": "x" })),
        lent.refused::<Delete>(json!({ "path": "/", "recursive": true })),
    ] {
        assert!(told.starts_with("ErrorKind::InvalidInput INVALID_PATH"), "{told}");
    }
}

#[test]
fn a_link_is_left_alone() {
    let lent = Lent::new();
    std::os::unix::fs::symlink("README.md", lent.path("link")).unwrap();
    for told in [
        lent.refused::<Read>(json!({ "path": "link" })),
        lent.refused::<Write>(json!({ "path": "link", "text": "x", "mode": "overwrite" })),
        lent.refused::<Move>(json!({ "path": "link", "to": "x" })),
        lent.refused::<Delete>(json!({ "path": "link" })),
    ] {
        assert!(told.starts_with("ErrorKind::Rejected UNSUPPORTED_TYPE"), "{told}");
    }
}

#[test]
fn the_state_of_a_folder_is_that_of_everything_in_it() {
    let lent = Lent::new();
    let state = || {
        let delete = lent.preview::<Delete>(json!({ "path": "src", "recursive": true }));
        delete.fingerprint.unwrap()
    };
    let mut seen = vec![state()];
    assert!(seen[0].starts_with("folder "), "{seen:?}");
    let text = lent.text("src/main.rs");
    fs::write(lent.path("src/main.rs"), text.replace("main", "niam")).unwrap();
    seen.push(state());
    fs::write(lent.path("src/deep/new.rs"), "").unwrap();
    seen.push(state());
    fs::rename(lent.path("src/deep/new.rs"), lent.path("src/deep/newer.rs")).unwrap();
    seen.push(state());
    fs::remove_file(lent.path("src/deep/newer.rs")).unwrap();
    fs::create_dir(lent.path("src/deep/newer.rs")).unwrap();
    seen.push(state());
    let different: std::collections::BTreeSet<&String> = seen.iter().collect();
    assert_eq!(different.len(), seen.len(), "each is another state: {seen:?}");
    fs::remove_dir(lent.path("src/deep/newer.rs")).unwrap();
    fs::write(lent.path("src/main.rs"), text).unwrap();
    assert_eq!(state(), seen[0], "equal states, equal text");
}

#[test]
fn a_preview_shows_what_would_change_and_the_state_that_it_was_made_from() {
    let lent = Lent::new();
    let write = lent.preview::<Write>(json!({ "path": "notes/a.md", "text": "a\n" }));
    assert_eq!(
        write.changes,
        ["make the folder notes", "--- /dev/null", "+++ notes/a.md", "@@ -0,0 +1 @@", "+a"]
    );
    assert_eq!(
        (write.summary.as_str(), write.fingerprint.as_deref()),
        ("create `notes/a.md` with 1 line", Some("nothing"))
    );
    let replace = lent.preview::<Replace>(json!({ "path": "README.md", "old": "A few", "new": "Many" }));
    assert_eq!(replace.changes[2..], ["@@ -1,3 +1,3 @@", " # Project", " ", "-A few words.", "+Many words."]);
    assert_eq!(replace.fingerprint, Some(hash(lent.text("README.md").as_bytes())));
    let moved = lent.preview::<Move>(json!({ "path": "src", "to": "lib" }));
    let delete = lent.preview::<Delete>(json!({ "path": "src", "recursive": true }));
    assert_eq!(delete.changes[3], "delete src/main.rs (44 bytes)");
    let folder = delete.fingerprint.unwrap();
    assert_eq!(
        (moved.changes, moved.fingerprint),
        (vec!["src → lib".to_owned()], Some(format!("{folder} and nothing")))
    );
    assert!(!exists(&lent.path("notes")) && exists(&lent.path("src/main.rs")));
}
