//! Changing files, and that nothing is changed but what is lent to be written.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use airlock::model::effect::EffectState;
use airlock_tests::world::body;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{Flip, Lent, pipe};

/// Every way to change what lies at a path.
fn every_change(path: &str) -> Vec<Value> {
    vec![
        json!({ "do": "write", "path": path, "text": "x" }),
        json!({ "do": "append", "path": path, "text": "x" }),
        json!({ "do": "make", "path": path }),
        json!({ "do": "move", "path": path, "to": "moved.txt" }),
        json!({ "do": "move", "path": "plan.txt", "to": path }),
        json!({ "do": "remove", "path": path }),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_lent_to_be_written_is_changed_and_the_journal_says_how() {
    let lent = Lent::to_scribe("").await;
    fs::set_permissions(lent.path("outbox/plan.txt"), fs::Permissions::from_mode(0o640)).unwrap();
    let reply = lent
        .call(
            "scribe.change",
            json!({ "steps": [
                { "do": "write", "path": "plan.txt", "text": "another plan" },
                { "do": "write", "path": "new.txt", "text": "new" },
                { "do": "append", "path": "list.txt", "text": "milk\n" },
                { "do": "append", "path": "log.txt", "text": "first\n" },
                { "do": "make", "path": "sent/2026" },
                { "do": "move", "path": "sent/one.txt", "to": "sent/2026/one.txt" },
                { "do": "move", "path": "empty", "to": "full" },
                { "do": "remove", "path": "old.txt" },
                { "do": "remove", "path": "full" },
                { "do": "read", "path": "list.txt" },
            ] }),
        )
        .await;
    assert!(reply.ok(), "{}", body(&reply));
    assert_eq!(body(&reply)["said"][9], "eggs\nmilk\n");
    insta::assert_debug_snapshot!(lent.tree("outbox"), @r#"
    {
        "list.txt": "eggs\nmilk\n",
        "log.txt": "first\n",
        "new.txt": "new",
        "plan.txt": "another plan",
        "sent/": "",
        "sent/2026/": "",
        "sent/2026/one.txt": "one",
    }
    "#);
    let mode = fs::metadata(lent.path("outbox/plan.txt")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640, "who may use a file stays as it was");
    let record = lent.host.run(&reply.meta.run.unwrap().to_string()).unwrap();
    assert!(record.effects.iter().all(|effect| effect.state == EffectState::Done));
    let journal: Vec<String> =
        record.effects.iter().map(|effect| format!("{} {}", effect.method, effect.target)).collect();
    assert_snapshot!(journal.join("\n"), @"
    WRITE outbox:plan.txt
    WRITE outbox:new.txt
    APPEND outbox:list.txt
    APPEND outbox:log.txt
    MKDIR outbox:sent/2026
    MOVE outbox:sent/one.txt
    MOVE outbox:empty
    REMOVE outbox:old.txt
    REMOVE outbox:full
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_stands_in_the_way_is_told_and_nothing_is_changed() {
    let lent = Lent::to_scribe("").await;
    let before = lent.tree("outbox");
    let said = lent
        .steps(json!([
            { "do": "write", "path": "empty", "text": "x" },
            { "do": "write", "path": "gone/x.txt", "text": "x" },
            { "do": "write", "path": "plan.txt/x", "text": "x" },
            { "do": "make", "path": "sent" },
            { "do": "make", "path": "plan.txt" },
            { "do": "move", "path": "plan.txt", "to": "old.txt" },
            { "do": "move", "path": "gone.txt", "to": "x.txt" },
            { "do": "remove", "path": "gone.txt" },
            { "do": "remove", "path": "sent" },
            { "do": "write", "path": "", "text": "x" },
            { "do": "remove", "path": "." },
            { "do": "write", "path": ".airlock-x", "text": "x" },
            { "do": "write", "path": "nul\u{0}.txt", "text": "x" },
        ]))
        .await;
    assert_snapshot!(said.join("\n"), @r#"
    Other("it is a folder")
    NotFound
    Other("a part of the path is no folder")
    Exists
    Exists
    Exists
    NotFound
    NotFound
    Other("the folder is not empty")
    Forbidden("the folder itself is not changed, only what lies in it")
    Forbidden("the folder itself is not changed, only what lies in it")
    Forbidden("names that begin with .airlock- are the host's own")
    Other("a path holds no NUL")
    "#);
    assert_eq!(lent.tree("outbox"), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_change_leads_out() {
    let lent = Lent::to_scribe("").await;
    symlink(lent.path("outside/plan.txt"), lent.path("outbox/link")).unwrap();
    symlink("link", lent.path("outbox/chain")).unwrap();
    symlink("../outside", lent.path("outbox/door")).unwrap();
    fs::hard_link(lent.path("outside/plan.txt"), lent.path("outbox/second")).unwrap();
    pipe(&lent.path("outbox/pipe"));
    let (before, outside) = (lent.tree("outbox"), lent.tree("outside"));
    let whole = lent.path("outside/plan.txt").display().to_string();
    let out = [
        "../outside/plan.txt",
        "sent/../../outside/plan.txt",
        &whole,
        "link",
        "chain",
        "door/plan.txt",
        "pipe",
    ];
    for path in out {
        for step in every_change(path) {
            let said = lent.steps(json!([step])).await;
            assert!(said[0].starts_with("Forbidden("), "{step}: {said:?}");
        }
    }
    for change in ["write", "append", "remove"] {
        let said = lent.steps(json!([{ "do": change, "path": "second", "text": "x" }])).await;
        assert_eq!(
            said,
            ["Forbidden(\"the file has several names, of which some may lie outside, and is not changed\")"],
            "{change}"
        );
    }
    assert_eq!(lent.tree("outbox"), before);
    assert_eq!(lent.tree("outside"), outside);
    // The same, inside.
    for step in every_change("sent/new.txt").into_iter().take(2) {
        assert_eq!(lent.steps(json!([step])).await, ["done"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_is_only_to_be_read_is_changed_by_nothing() {
    let lent = Lent::to_scribe("").await;
    for (directory, rule) in [
        ("shelf", "Forbidden(\"the folder `shelf` is granted for reading\")"),
        ("manuals", "Forbidden(\"the tool declares to read the folder `manuals`, not to write it\")"),
        ("archive", "Forbidden(\"the folder `archive` is not granted\")"),
        ("outside", "Forbidden(\"the tool declares no folder `outside`\")"),
    ] {
        for mut step in every_change("plan.txt").into_iter().chain(every_change("new.txt")) {
            step["directory"] = directory.into();
            assert_eq!(lent.steps(json!([step])).await, [rule], "{step}");
        }
    }
    for directory in ["shelf", "manuals", "outside"] {
        let tree: Vec<_> = lent.tree(directory).into_iter().collect();
        assert_eq!(tree, [("plan.txt".to_owned(), "a plan".to_owned())]);
    }
    let step = json!({ "steps": [{ "do": "write", "directory": "shelf", "path": "plan.txt", "text": "x" }] });
    let reply = lent.call("scribe.change", step).await;
    let log = lent.log(&reply).await.replace(&lent.path("").display().to_string(), "FOLDER/");
    assert_snapshot!(log, @r#"host: refused to write shelf:plan.txt: the folder `shelf` is granted for reading; [plugin.scribe.directories] "shelf" = { path = "FOLDER/shelf", access = "write" } would allow it"#);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_becomes_a_link_meanwhile_is_never_written_through() {
    let lent = Lent::to_scribe("[limits]\nrequests = 100000\nattempt = \"10m\"").await;
    fs::create_dir(lent.path("outbox/spot")).unwrap();
    symlink(lent.path("outside"), lent.path("outbox/trap")).unwrap();
    let flip = Flip::start(lent.path("outbox/spot"), lent.path("outbox/trap"));
    let step = json!({ "do": "write", "path": "spot/plan.txt", "text": "by the guest", "times": 2000 });
    let said = lent.steps(json!([step])).await;
    drop(flip);
    assert_eq!(fs::read_to_string(lent.path("outside/plan.txt")).unwrap(), "a plan", "{said:?}");
    assert_eq!(lent.tree("outside").len(), 1, "{said:?}");
    // The twin: what lay inside was written in between.
    assert!(said[0].contains("× done"), "{said:?}");
    assert_eq!(fs::read_to_string(lent.path("outbox/spot/plan.txt")).unwrap(), "by the guest");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_so_much_is_kept_of_files_and_what_would_go_beyond_is_refused() {
    let lent = Lent::to_scribe("[limits]\ncontents = \"10 KiB\"\nbody = \"64 KiB\"").await;
    fs::write(lent.path("outbox/six"), "6".repeat(6 << 10)).unwrap();
    fs::write(lent.path("outbox/large"), "l".repeat(11 << 10)).unwrap();
    let sparse = fs::File::create(lent.path("outbox/sparse")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    let said = lent
        .steps(json!([
            { "do": "write", "path": "large", "text": "x" },
            { "do": "append", "path": "sparse", "text": "x" },
            { "do": "remove", "path": "sparse" },
            { "do": "write", "path": "six", "text": "7", "repeated": 6144 },
            { "do": "write", "path": "six", "text": "8" },
            { "do": "write", "path": "fresh", "text": "9", "repeated": 20000 },
            { "do": "write", "path": "huge", "text": "h", "repeated": 65537 },
            { "do": "move", "path": "sparse", "to": "elsewhere" },
        ]))
        .await;
    assert_eq!(said, ["TooLarge", "TooLarge", "TooLarge", "done", "TooLarge", "done", "TooLarge", "done"]);
    assert_eq!(fs::read_to_string(lent.path("outbox/six")).unwrap(), "7".repeat(6 << 10));
    assert_eq!(fs::metadata(lent.path("outbox/elsewhere")).unwrap().len(), 1 << 40);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_change_is_a_request_and_too_many_end_the_attempt_and_are_put_back() {
    let lent = Lent::to_scribe("[limits]\nrequests = 3").await;
    let before = lent.tree("outbox");
    let step = json!({ "do": "append", "path": "list.txt", "text": "x", "times": 4 });
    let reply = lent.call("scribe.change", json!({ "steps": [step] })).await;
    assert_eq!(body(&reply)["code"], "REQUEST_LIMIT");
    assert_eq!(lent.tree("outbox"), before);
    let step = json!({ "do": "append", "path": "list.txt", "text": "x", "times": 3 });
    assert_eq!(lent.steps(json!([step])).await, ["3 × done"]);
    assert_eq!(lent.tree("outbox")["list.txt"], "eggs\nxxx");
}
