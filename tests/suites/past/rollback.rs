//! Taking a call back: under the same rules as the call, with keys of its own, once, and written down.

use airlock::host::Decision;
use airlock::model::failure::Kind;
use airlock::model::past::Ending;
use airlock::model::run::Does;
use airlock::model::state::{Reason, RunState};
use airlock_tests::backend::{Fault, Moment};
use airlock_tests::guests;
use airlock_tests::world::{World, body, code, keyed, request};
use insta::assert_snapshot;
use serde_json::json;

use super::{Meddling, events};
use crate::call::with;

#[tokio::test(flavor = "multi_thread")]
async fn what_a_rollback_does_is_journaled_under_the_run_with_keys_of_its_own() {
    let meddling = Meddling::begin().await;
    let run = meddling.meddle("nothing").await;
    let rollback = meddling.host.rollback(&run, "ada").await.unwrap();
    assert_eq!((rollback.ending, meddling.meddled()), (Ending::RolledBack, json!(0)));
    assert_snapshot!(rollback.undone.summary, @r#"attempt 2, saved Some("as it was"), save: only a call saves, for its own next attempt, key is the call's: false"#);
    let record = meddling.record(&run);
    assert_eq!(record.summary.state, RunState::RolledBack);
    assert_eq!(record.summary.attempts, 1, "a rollback is no attempt of the call");
    assert_eq!(record.saved.as_deref(), Some(&b"as it was"[..]), "only the call saves");
    assert_eq!(events(&record), ["began", "completed", "rolling_back, by ada", "rolled_back"]);
    let last = record.attempts.last().unwrap();
    assert_eq!((last.attempt, last.does, last.outcome.as_deref()), (2, Does::Rollback, Some("ok")));
    assert_eq!(last.undone.as_ref(), Some(&rollback.undone));
    let sent: Vec<_> = record.effects_of(Does::Rollback).collect();
    assert_eq!(sent.iter().map(|effect| effect.method.as_str()).collect::<Vec<_>>(), ["PUT", "POST"]);
    let key = sent[1].key.clone().unwrap();
    assert_eq!(meddling.backend.counts().key(&key).works, 1);
    assert_eq!(record.effects_of(Does::Call).count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_rollback_changes_nothing_and_says_the_same() {
    let meddling = Meddling::begin().await;
    let run = meddling.meddle("nothing").await;
    let first = meddling.host.rollback(&run, "ada").await.unwrap();
    let (counts, record) = (meddling.backend.counts(), meddling.record(&run));
    assert_eq!(meddling.host.rollback(&run, "bea").await.unwrap(), first);
    assert_eq!(meddling.backend.counts().routes, counts.routes);
    assert_eq!(meddling.record(&run), record);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_somebody_has_changed_since_is_left_alone() {
    let meddling = Meddling::begin().await;
    let run = meddling.meddle("nothing").await;
    let other = meddling.host.call(request("meddler.meddle", &meddling.place("nothing"))).await;
    assert!(other.ok(), "{}", body(&other));
    let other = other.meta.run.unwrap().to_string();
    // The other call left the setting as it was, so either may be taken back; after that the state is another.
    meddling.host.rollback(&other, "ada").await.unwrap();
    let rollback = meddling.host.rollback(&run, "ada").await.unwrap();
    assert_eq!(rollback.ending, Ending::Conflict);
    assert_snapshot!(rollback.undone.summary, @"somebody has changed since what the call touched, so it was left alone");
    let record = meddling.record(&run);
    assert_eq!(record.summary.state, RunState::Suspended(Reason::NotUndone));
    assert_eq!(record.effects_of(Does::Rollback).count(), 0);
    assert_eq!(record.attempts.last().unwrap().outcome.as_deref(), Some("conflict"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_left_waits_for_a_person_who_closes_it_and_is_never_run_again() {
    let meddling = Meddling::begin().await;
    let reply = meddling.host.call(keyed("meddler.meddle", &meddling.place("leave"), "k1")).await;
    let run = reply.meta.run.unwrap().to_string();
    let rollback = meddling.host.rollback(&run, "ada").await.unwrap();
    assert_eq!(
        (rollback.ending, rollback.undone.left.as_slice()),
        (Ending::Left, &["a crumb".to_owned()][..])
    );
    assert_eq!(meddling.record(&run).summary.state, RunState::Suspended(Reason::NotUndone));
    for decision in [Decision::Again, Decision::DidNot] {
        let failure = meddling.host.decide(&run, decision, "ada").await.unwrap_err();
        assert_eq!(failure.kind, Kind::InvalidInput, "{}", failure.message);
        let told = "a run that is suspended: not_undone cannot be decided: ";
        assert!(failure.message.starts_with(told), "{}", failure.message);
    }
    let again = meddling.host.call(keyed("meddler.meddle", &meddling.place("leave"), "k1")).await;
    assert!(again.meta.replayed);
    let closed = meddling.host.decide(&run, Decision::Happened { data: None }, "ada").await.unwrap();
    assert_eq!(body(&closed), body(&reply), "what was told of the call stays");
    assert_eq!(meddling.record(&run).summary.state, RunState::Completed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollback_that_fails_is_tried_again_from_where_it_came() {
    let meddling = Meddling::begin().await;
    let run = meddling.meddle("fail").await;
    for attempt in [2, 3] {
        let failure = meddling.host.rollback(&run, "ada").await.unwrap_err();
        assert_eq!((failure.kind, &*failure.code), (Kind::Transient, "NOT_NOW"));
        let record = meddling.record(&run);
        let last = record.attempts.last().unwrap();
        assert_eq!((last.attempt, last.outcome.as_deref()), (attempt, Some("NOT_NOW")));
        assert_eq!(record.summary.state, RunState::Suspended(Reason::NotUndone));
    }
    // Under the same key both times, so that the ticket was opened once.
    assert_eq!(meddling.backend.counts().tickets.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_of_a_rollback_that_may_have_been_done_is_left_and_told() {
    let meddling = Meddling::begin().await;
    let run = meddling.meddle("nothing").await;
    meddling.backend.fault("POST /tickets", Fault::cut(Moment::AfterWork), 1);
    let rollback = meddling.host.rollback(&run, "ada").await.unwrap();
    assert_eq!(rollback.ending, Ending::Left);
    let left = rollback.undone.left.join("\n").replace(&meddling.backend.url, "BACKEND");
    assert_snapshot!(left, @"nobody knows whether this was done: POST BACKEND/tickets");
    // Its own doing is no change by somebody else: it goes on.
    let rollback = meddling.host.rollback(&run, "ada").await.unwrap();
    assert_eq!(rollback.ending, Ending::RolledBack);
    assert_eq!(meddling.backend.counts().tickets.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_left_something_is_taken_back() {
    let world = World::in_memory().with_plugins(&[guests::ECHO]);
    let host = world.open().await;
    let reply = host.call(keyed("echo.echo", &json!({ "text": "hello" }), "k")).await;
    let run = reply.meta.run.unwrap().to_string();
    let failure = host.rollback(&run, "ada").await.unwrap_err();
    assert_snapshot!(failure.message.replace(&run, "RUN"), @"the run left nothing behind that could be taken back: RUN");
    let meddling = Meddling::begin().await;
    meddling.backend.fault("PUT /settings", Fault::status(Moment::BeforeWork, 422), 1);
    let refused = meddling.meddle("nothing").await;
    let failure = meddling.host.rollback(&refused, "ada").await.unwrap_err();
    assert_eq!(failure.code, "INVALID_INPUT");
    assert_eq!(code(&meddling.preview().await), "ok");
    // Nobody granted what it asks for, so that nothing was sent.
    let elsewhere = with(meddling.place("nothing"), json!({ "url": "http://127.0.0.1:1" }));
    let failed = meddling.host.call(request("meddler.meddle", &elsewhere)).await;
    assert_eq!(code(&failed), "NO_ANSWER");
    let run = failed.meta.run.unwrap().to_string();
    let failure = meddling.host.rollback(&run, "ada").await.unwrap_err();
    assert_snapshot!(failure.message.replace(&run, "RUN"), @"a run that is failed is not taken back: RUN");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_backend_could_not_tell_its_state_is_for_a_person() {
    let meddling = Meddling::begin().await;
    meddling.backend.fault("GET /settings", Fault::status(Moment::BeforeWork, 503), 1);
    let run = meddling.meddle("nothing").await;
    assert_eq!(meddling.record(&run).fingerprint, None);
    let rollback = meddling.host.rollback(&run, "ada").await.unwrap();
    assert_eq!((rollback.ending, meddling.meddled()), (Ending::ByHand, json!(1)));
    let told = format!("{}\n{}", rollback.undone.summary, rollback.undone.left.join("\n"));
    assert_snapshot!(told.replace(&meddling.backend.url, "BACKEND"), @"
    nothing tells whether somebody has changed since what the call touched
    PUT BACKEND/settings/meddled
    ");
}
