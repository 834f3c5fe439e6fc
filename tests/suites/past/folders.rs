//! What a call changed in lent folders is put back by the host, for any plugin, where it is as the call left it.

use std::fs;

use airlock::model::effect::EffectState;
use airlock::model::past::Ending;
use airlock::model::state::{Reason, RunState};
use insta::assert_snapshot;
use serde_json::json;

use super::events;
use crate::files::Lent;

/// Changes some files, and gives the run.
async fn changed(lent: &Lent) -> String {
    let steps = json!([
        { "do": "write", "path": "plan.txt", "text": "another plan" },
        { "do": "write", "path": "plan.txt", "text": "a third plan" },
        { "do": "make", "path": "new" },
        { "do": "write", "path": "new/one.txt", "text": "one" },
        { "do": "move", "path": "sent", "to": "gone" },
        { "do": "remove", "path": "old.txt" },
    ]);
    let reply = lent.call("scribe.change", json!({ "steps": steps })).await;
    assert!(reply.ok());
    reply.meta.run.unwrap().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn folders_are_put_back_for_a_plugin_without_a_way_back() {
    let lent = Lent::to_scribe("").await;
    let before = lent.tree("outbox");
    let run = changed(&lent).await;
    assert_ne!(lent.tree("outbox"), before);
    let rollback = lent.host.rollback(&run, "ada").await.unwrap();
    assert_eq!((rollback.ending, lent.tree("outbox")), (Ending::RolledBack, before.clone()));
    assert_eq!(rollback.undone.summary, "6 changes in folders were put back");
    let record = lent.host.run(&run).unwrap();
    assert_eq!(record.summary.state, RunState::RolledBack);
    assert!(record.effects.iter().all(|effect| effect.state == EffectState::PutBack));
    assert_eq!(events(&record), ["began", "completed", "rolling_back, by ada", "rolled_back"]);
    fs::write(lent.path("outbox/plan.txt"), "the next plan").unwrap();
    assert_eq!(lent.host.rollback(&run, "ada").await.unwrap(), rollback);
    assert_eq!(fs::read_to_string(lent.path("outbox/plan.txt")).unwrap(), "the next plan");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_somebody_has_written_since_is_left_as_it_is_and_the_rest_put_back() {
    let lent = Lent::to_scribe("").await;
    let before = lent.tree("outbox");
    let run = changed(&lent).await;
    fs::write(lent.path("outbox/plan.txt"), "a person's plan").unwrap();
    let rollback = lent.host.rollback(&run, "ada").await.unwrap();
    assert_eq!(rollback.ending, Ending::Conflict);
    let told = format!("{}\n{}", rollback.undone.summary, rollback.undone.left.join("\n"));
    assert_snapshot!(told, @"
    4 changes in folders were put back
    WRITE outbox:plan.txt: it was changed by somebody else since
    WRITE outbox:plan.txt: it was changed by somebody else since
    ");
    let mut expected = before;
    expected.insert("plan.txt".to_owned(), "a person's plan".to_owned());
    assert_eq!(lent.tree("outbox"), expected);
    let record = lent.host.run(&run).unwrap();
    assert_eq!(record.summary.state, RunState::Suspended(Reason::NotUndone));
    // Where the person makes way, what was left is put back too.
    fs::write(lent.path("outbox/plan.txt"), "a third plan").unwrap();
    assert_eq!(lent.host.rollback(&run, "ada").await.unwrap().ending, Ending::RolledBack);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_change_is_put_back_or_left_and_told_so() {
    let lent = Lent::to_scribe("").await;
    let write = json!({ "steps": [{ "do": "write", "path": "plan.txt", "text": "another plan" }] });
    let reply = lent.call("scribe.change", write.clone()).await;
    let rollback = lent.host.rollback(&reply.meta.run.unwrap().to_string(), "ada").await.unwrap();
    assert_eq!(rollback.undone.summary, "one change in folders was put back");
    let reply = lent.call("scribe.change", write).await;
    fs::write(lent.path("outbox/plan.txt"), "a person's plan").unwrap();
    let rollback = lent.host.rollback(&reply.meta.run.unwrap().to_string(), "ada").await.unwrap();
    assert_eq!(rollback.ending, Ending::Conflict);
    assert_eq!(rollback.undone.summary, "nothing was put back in folders");
}

#[tokio::test(flavor = "multi_thread")]
async fn folders_are_left_alone_where_a_request_of_the_same_call_cannot_be_undone() {
    let backend = airlock_tests::backend::Backend::start().await;
    let granted = format!(
        "[[plugin.scribe.http]]\norigin = \"{}\"\nmethods = [\"POST\"]\naddresses = [\"127.0.0.1\"]",
        backend.url
    );
    let lent = Lent::to_scribe(&granted).await;
    let steps = json!([
        { "do": "write", "path": "plan.txt", "text": "another plan" },
        { "do": "post", "to": format!("{}/mails", backend.url), "text": "{}" },
    ]);
    let reply = lent.call("scribe.change", json!({ "steps": steps })).await;
    assert!(reply.ok());
    let run = reply.meta.run.unwrap().to_string();
    let changed = lent.tree("outbox");
    let rollback = lent.host.rollback(&run, "ada").await.unwrap();
    assert_eq!((rollback.ending, lent.tree("outbox")), (Ending::ByHand, changed));
    let told = format!("{}\n{}", rollback.undone.summary, rollback.undone.left.join("\n"));
    assert_snapshot!(told.replace(&backend.url, "BACKEND"), @"
    only a person can undo what the tool did
    POST BACKEND/mails
    ");
}
