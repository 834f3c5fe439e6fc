//! Reading through the host.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use airlock_tests::world::body;
use insta::assert_snapshot;
use serde_json::json;

use super::{Flip, Lent, pipe};

#[tokio::test(flavor = "multi_thread")]
async fn what_lies_in_a_lent_folder_is_looked_at_listed_and_read() {
    let lent = Lent::to_clerk("").await;
    let ask =
        async |what: &str, path: &str| lent.said("clerk.read", json!({ "do": what, "path": path })).await;
    assert_eq!(ask("stat", "note.txt").await, "note.txt file 6");
    assert_eq!(ask("stat", "old").await, "old folder 0");
    assert_eq!(ask("entries", "").await, "note.txt file 6, old folder 0");
    assert_eq!(ask("entries", "old").await, "letter.txt file 8");
    assert_eq!(ask("read", "old/letter.txt").await, "a letter");
    assert_eq!(ask("read", "./old//letter.txt").await, "a letter");
    assert_eq!(ask("read", "missing.txt").await, "NotFound");
    assert_eq!(ask("stat", "missing/note.txt").await, "NotFound");
    assert_eq!(ask("read", "note.txt/x").await, "Other(\"a part of the path is no folder\")");
    assert_eq!(ask("read", "old").await, "Other(\"it is a folder\")");
    assert_eq!(ask("entries", "note.txt").await, "Other(\"a part of the path is no folder\")");
    let part = json!({ "do": "read", "path": "note.txt", "offset": 2, "length": 3 });
    assert_eq!(lent.said("clerk.read", part).await, "not");
    let beyond = json!({ "do": "read", "path": "note.txt", "offset": 7 });
    assert_eq!(lent.said("clerk.read", beyond).await, "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_of_many_is_listed_whole_and_in_order() {
    let lent = Lent::to_clerk("").await;
    for number in 0..2500 {
        fs::write(lent.path(&format!("inbox/old/{number:04}")), "").unwrap();
    }
    let reply = lent.call("clerk.read", json!({ "do": "entries", "path": "old" })).await;
    assert_eq!(body(&reply)["length"], 2501);
    assert_snapshot!(body(&reply)["said"].as_str().unwrap(), @"0000 file 0, 0001 file 0, 0002 file 0, 0003 file 0, 0004 file 0, 0005 file 0, 0006 file 0, 0007 file 0");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_is_no_utf_8_is_left_out_and_hides_no_other() {
    use std::os::unix::ffi::OsStrExt as _;
    let lent = Lent::to_clerk("").await;
    fs::write(lent.path("inbox/old").join(std::ffi::OsStr::from_bytes(b"a\xff")), "").unwrap();
    let listed = lent.said("clerk.read", json!({ "do": "entries", "path": "old" })).await;
    assert_eq!(listed, "letter.txt file 8");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_path_leads_out() {
    let lent = Lent::to_clerk("").await;
    let whole = lent.path("outside/diary.txt").display().to_string();
    symlink(lent.path("outside/diary.txt"), lent.path("inbox/link")).unwrap();
    symlink("link", lent.path("inbox/chain")).unwrap();
    symlink("chain", lent.path("inbox/longer")).unwrap();
    symlink(lent.path("outside"), lent.path("inbox/door")).unwrap();
    symlink("../outside", lent.path("inbox/old/door")).unwrap();
    symlink("note.txt", lent.path("inbox/harmless")).unwrap();
    symlink("/proc/self/root", lent.path("inbox/root")).unwrap();
    symlink("loop", lent.path("inbox/loop")).unwrap();
    let up = "Forbidden(\"a path does not go up with ..\")";
    let relative = "Forbidden(\"a path is relative to its folder, and begins with no /\")";
    let link = "Forbidden(\"a link is on the way, and links are not followed\")";
    for (path, told) in [
        ("../outside/diary.txt", up),
        ("old/../../outside/diary.txt", up),
        ("old/..", up),
        (&whole, relative),
        ("/etc/passwd", relative),
        ("link", link),
        ("chain", link),
        ("longer", link),
        ("door/diary.txt", link),
        ("old/door/diary.txt", link),
        ("harmless", link),
        ("root/etc/passwd", link),
        ("loop", link),
        ("note.txt\0.png", "Other(\"a path holds no NUL\")"),
    ] {
        assert_eq!(lent.read(path).await, told, "{path}");
    }
    // The same names, inside.
    assert_eq!(lent.read("old/letter.txt").await, "a letter");
    // A link can be seen to be there, and is neither file nor folder.
    let listed = lent.said("clerk.read", json!({ "do": "stat", "path": "link" })).await;
    assert_eq!(listed, "link other 0");
    let long = "x".repeat(300);
    assert_eq!(lent.read(&long).await, "Other(\"a name in the path is too long\")");
    assert_eq!(lent.read(&"x/".repeat(3000)).await, "Other(\"a path has at most 4095 bytes\")");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_file_is_refused_and_nobody_waits_for_it() {
    let lent = Lent::to_clerk("[limits]\nattempt = \"20s\"").await;
    pipe(&lent.path("inbox/pipe"));
    let _socket = UnixListener::bind(lent.path("inbox/socket")).unwrap();
    let refused = "Forbidden(\"it is neither a file nor a folder\")";
    assert_eq!(lent.read("pipe").await, refused);
    assert_eq!(lent.read("socket").await, refused);
    let stat = lent.said("clerk.read", json!({ "do": "stat", "path": "pipe" })).await;
    assert_eq!(stat, "pipe other 0");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_terabyte_only_so_much_is_read_as_a_body_may_have() {
    let lent = Lent::to_clerk("[limits]\nbody = \"1 MiB\"").await;
    let sparse = fs::File::create(lent.path("inbox/sparse")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    let read = |offset: u64, length: u32| json!({ "do": "read", "path": "sparse", "offset": offset, "length": length });
    assert_eq!(lent.said("clerk.read", read(0, u32::MAX)).await, "TooLarge");
    assert_eq!(lent.said("clerk.read", read(0, (1 << 20) + 1)).await, "TooLarge");
    let reply = lent.call("clerk.read", read(1 << 39, 1 << 20)).await;
    assert_eq!(body(&reply)["length"], 1 << 20);
    let reply = lent.call("clerk.read", read((1 << 40) - 5, u32::MAX)).await;
    assert_eq!(body(&reply)["length"], 5);
    assert_eq!(lent.said("clerk.read", read(u64::MAX >> 12, 10)).await, "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_becomes_a_link_meanwhile_leads_nowhere() {
    let lent = Lent::to_clerk("").await;
    fs::create_dir(lent.path("inbox/spot")).unwrap();
    fs::write(lent.path("inbox/spot/diary.txt"), "inside").unwrap();
    symlink(lent.path("outside"), lent.path("inbox/trap")).unwrap();
    let flip = Flip::start(lent.path("inbox/spot"), lent.path("inbox/trap"));
    let errand = json!({ "do": "read", "path": "spot/diary.txt", "times": 5000 });
    let reply = lent.call("clerk.tally", json!({ "errands": [errand] })).await;
    drop(flip);
    assert!(reply.ok(), "{}", body(&reply));
    let counts = body(&reply)["counts"].as_object().unwrap().clone();
    // The twin: what is inside was read in between, and what lies outside never.
    assert!(counts.contains_key("inside"), "{counts:?}");
    let known = ["inside", "NotFound", "Forbidden(\"a link is on the way, and links are not followed\")"];
    assert!(counts.keys().all(|said| known.contains(&said.as_str())), "{counts:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_granted_folder_that_becomes_a_link_is_lent_no_more() {
    let lent = Lent::to_clerk("").await;
    assert_eq!(lent.read("note.txt").await, "a note");
    fs::rename(lent.path("inbox"), lent.path("elsewhere")).unwrap();
    symlink(lent.path("outside"), lent.path("inbox")).unwrap();
    assert_eq!(lent.read("diary.txt").await, "Other(\"the folder that was granted is no longer there\")");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_is_lent_where_it_is_declared_and_granted() {
    let lent = Lent::to_clerk("").await;
    let read = |directory: &str| json!({ "do": "read", "directory": directory, "path": "plan.txt" });
    let reply = lent.call("clerk.read", read("drafts")).await;
    assert_eq!(body(&reply)["said"], "Forbidden(\"the tool declares no folder `drafts`\")");
    let reply = lent.call("clerk.read", read("archive")).await;
    assert_eq!(body(&reply)["said"], "Forbidden(\"the folder `archive` is not granted\")");
    assert_snapshot!(lent.log(&reply).await, @r#"host: refused to read archive:plan.txt: the folder `archive` is not granted; [plugin.clerk.directories] "archive" = { path = "…" } would allow it"#);
}
