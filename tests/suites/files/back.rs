//! What a call that came to nothing changed in folders is put back.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use airlock::model::effect::EffectState;
use airlock_tests::backend::Backend;
use airlock_tests::world::{body, code, keyed};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::Lent;

/// Some of everything, each on top of the other.
pub(super) fn everything() -> Value {
    json!([
        { "do": "write", "path": "plan.txt", "text": "another plan" },
        { "do": "append", "path": "plan.txt", "text": ", and more" },
        { "do": "move", "path": "plan.txt", "to": "sent/plan.txt" },
        { "do": "write", "path": "plan.txt", "text": "a third" },
        { "do": "make", "path": "new" },
        { "do": "write", "path": "new/file.txt", "text": "new" },
        { "do": "move", "path": "new", "to": "newer" },
        { "do": "remove", "path": "sent/one.txt" },
        { "do": "move", "path": "empty", "to": "void" },
        { "do": "remove", "path": "void" },
        { "do": "remove", "path": "old.txt" },
    ])
}

#[tokio::test(flavor = "multi_thread")]
async fn however_an_attempt_dies_its_folders_are_as_they_were() {
    let lent = Lent::to_scribe("[limits]\nattempt = \"2s\"").await;
    let before = lent.tree("outbox");
    for (then, told) in [
        ("trap", "INTERNAL"),
        ("loop", "TIME_LIMIT"),
        ("rejected", "TOLD_REJECTED"),
        ("transient", "TOLD_TRANSIENT"),
        ("foreign", "INTERNAL"),
    ] {
        let reply = lent.call("scribe.change", json!({ "steps": everything(), "then": then })).await;
        assert_eq!(code(&reply), told, "{}", body(&reply));
        assert_eq!(lent.tree("outbox"), before, "{then}");
        let record = lent.host.run(&reply.meta.run.unwrap().to_string()).unwrap();
        assert_eq!(record.summary.state.word(), "failed", "{then}");
        assert_eq!(record.effects.len(), 11);
        assert!(record.effects.iter().all(|effect| effect.state == EffectState::PutBack), "{then}");
    }
    // The twin that ends well keeps them.
    lent.steps(everything()).await;
    insta::assert_debug_snapshot!(lent.tree("outbox"), @r#"
    {
        "list.txt": "eggs\n",
        "newer/": "",
        "newer/file.txt": "new",
        "plan.txt": "a third",
        "sent/": "",
        "sent/plan.txt": "another plan, and more",
    }
    "#);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_put_back_is_safe_to_be_run_again() {
    let lent = Lent::to_scribe("").await;
    let input = json!({ "steps": everything(), "then": "transient", "attempts": 1 });
    let first = lent.host.call(keyed("scribe.change", &input, "k")).await;
    assert_eq!(code(&first), "TOLD_TRANSIENT");
    let second = lent.host.call(keyed("scribe.change", &input, "k")).await;
    assert!(second.ok(), "{}", body(&second));
    assert_eq!((second.meta.run, second.meta.attempts), (first.meta.run, 2));
    assert_eq!(lent.tree("outbox")["sent/plan.txt"], "another plan, and more");
    let record = lent.host.run(&second.meta.run.unwrap().to_string()).unwrap();
    for effect in &record.effects {
        let stands = if effect.attempt == 1 { EffectState::PutBack } else { EffectState::Done };
        assert_eq!(effect.state, stands);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_somebody_else_changed_since_is_left_and_named() {
    let lent = Lent::to_scribe("[limits]\nattempt = \"3s\"").await;
    let steps = json!([
        { "do": "write", "path": "plan.txt", "text": "by the guest" },
        { "do": "remove", "path": "old.txt" },
        { "do": "make", "path": "new" },
    ]);
    let call = lent.call("scribe.change", json!({ "steps": steps, "then": "loop" }));
    let meddle = async {
        while !lent.path("outbox/new").exists() {
            tokio::task::yield_now().await;
        }
        fs::write(lent.path("outbox/plan.txt"), "by somebody else").unwrap();
        fs::write(lent.path("outbox/new/file.txt"), "theirs").unwrap();
    };
    let (reply, ()) = tokio::join!(call, meddle);
    assert_eq!(code(&reply), "PARTLY_DONE");
    assert_snapshot!(serde_json::to_string_pretty(&body(&reply)["details"]["done"]).unwrap(), @r#"
    [
      {
        "attempt": 1,
        "effect": "WRITE outbox:plan.txt",
        "left_because": "it was changed by somebody else since"
      },
      {
        "attempt": 1,
        "effect": "MKDIR outbox:new",
        "left_because": "the folder is not empty"
      }
    ]
    "#);
    let tree = lent.tree("outbox");
    assert_eq!((tree["plan.txt"].as_str(), tree["new/file.txt"].as_str()), ("by somebody else", "theirs"));
    assert_eq!(tree["old.txt"], "old", "what nobody else touched is put back");
    let record = lent.host.run(&reply.meta.run.unwrap().to_string()).unwrap();
    assert_eq!(record.summary.state.word(), "suspended: half_done");
    assert_snapshot!(lent.log(&reply).await, @"
    host: could not put back MKDIR outbox:new: the folder is not empty
    host: could not put back WRITE outbox:plan.txt: it was changed by somebody else since
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn where_something_else_was_done_too_a_person_decides_about_the_folder() {
    let backend = Backend::start().await;
    let lent = Lent::to_scribe(&format!(
        "[[plugin.scribe.http]]\norigin = \"{}\"\nmethods = [\"POST\"]\naddresses = [\"127.0.0.1\"]",
        backend.url
    ))
    .await;
    let steps = json!([
        { "do": "write", "path": "plan.txt", "text": "sent" },
        { "do": "post", "to": format!("{}/mails", backend.url), "text": "{}" },
    ]);
    let reply = lent.call("scribe.change", json!({ "steps": steps, "then": "rejected" })).await;
    assert_eq!(code(&reply), "PARTLY_DONE", "{}", body(&reply));
    assert_eq!(lent.tree("outbox")["plan.txt"], "sent");
    assert_eq!(body(&reply)["details"]["done"].as_array().unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_and_a_file_come_back_under_their_permissions() {
    let lent = Lent::to_scribe("").await;
    fs::create_dir(lent.path("outbox/shared")).unwrap();
    let (modes, set) =
        ([("empty", 0o700), ("shared", 0o2770), ("old.txt", 0o600)], |(path, mode): (&str, u32)| {
            fs::set_permissions(lent.path("outbox").join(path), fs::Permissions::from_mode(mode)).unwrap();
        });
    modes.into_iter().for_each(set);
    let steps = json!(modes.map(|(path, _)| json!({ "do": "remove", "path": path })));
    let there = || {
        modes.map(|(path, _)| {
            let found = fs::metadata(lent.path("outbox").join(path)).unwrap();
            (path, found.permissions().mode() & 0o7777)
        })
    };
    let reply = lent.call("scribe.change", json!({ "steps": steps, "then": "rejected" })).await;
    assert_eq!((code(&reply).as_str(), there()), ("TOLD_REJECTED", modes), "put back");
    let reply = lent.call("scribe.change", json!({ "steps": steps })).await;
    assert!(reply.ok() && !lent.path("outbox/shared").exists());
    lent.host.rollback(&reply.meta.run.unwrap().to_string(), "ada").await.unwrap();
    assert_eq!(there(), modes, "taken back");
}
