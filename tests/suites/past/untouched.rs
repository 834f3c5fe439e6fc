//! Taking a call back without touching anything: the run is as it was, and waits for what it waited for.

use std::sync::Arc;

use airlock::host::Decision;
use airlock::model::breaker::Forced;
use airlock::model::failure::Kind;
use airlock::model::past::Ending;
use airlock::model::run::Record;
use airlock::model::state::{Reason, RunState};
use airlock_tests::backend::{Fault, Moment};
use airlock_tests::world::{body, code, keyed, request};
use serde_json::json;

use super::{Meddling, events};
use crate::call::with;

impl Meddling {
    /// A call that was asked for with this, and of which nobody knows whether it was done.
    async fn doubtful(&self, and: &str) -> Record {
        self.backend.fault("PUT /settings", Fault::cut(Moment::AfterWork), 1);
        let reply = self.host.call(keyed("meddler.meddle", &self.place(and), "k1")).await;
        assert_eq!(code(&reply), "OUTCOME_UNKNOWN");
        self.record(&reply.meta.run.unwrap().to_string())
    }

    /// Asserts that a run waits as it did, that a person may say that it did not happen, and that its key then runs it again.
    async fn waits_as_it_did(&self, before: &Record, and: &str) {
        let run = before.summary.run.to_string();
        let now = self.record(&run);
        assert_eq!((now.summary.state, now.summary.ended), (before.summary.state, before.summary.ended));
        assert_eq!((now.rearms, &now.fingerprint), (before.rearms, &before.fingerprint));
        self.host.decide(&run, Decision::DidNot, "ada").await.unwrap();
        let again = self.host.call(keyed("meddler.meddle", &self.place(and), "k1")).await;
        assert!(again.ok() && !again.meta.replayed, "{}", body(&again));
        assert_eq!(again.meta.run, Some(before.summary.run));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_of_which_nobody_knows_waits_on_where_somebody_has_changed_what_it_touched() {
    let meddling = Meddling::begin().await;
    let before = meddling.doubtful("nothing").await;
    let other = meddling.meddle("nothing").await;
    meddling.host.rollback(&other, "ada").await.unwrap();
    let rollback = meddling.host.rollback(&before.summary.run.to_string(), "ada").await.unwrap();
    assert_eq!(rollback.ending, Ending::Conflict);
    let record = meddling.record(&before.summary.run.to_string());
    assert_eq!(
        events(&record),
        ["began", "suspended: unknown", "rolling_back, by ada", "suspended: unknown"]
    );
    assert_eq!(record.attempts.last().unwrap().undone.as_ref(), Some(&rollback.undone), "it is on record");
    meddling.waits_as_it_did(&before, "nothing").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_of_which_nobody_knows_waits_on_where_only_a_person_could_undo_it() {
    let meddling = Meddling::begin().await;
    meddling.backend.fault("GET /settings", Fault::status(Moment::BeforeWork, 503), 1);
    let before = meddling.doubtful("nothing").await;
    assert_eq!(before.fingerprint, None);
    let rollback = meddling.host.rollback(&before.summary.run.to_string(), "ada").await.unwrap();
    assert_eq!(rollback.ending, Ending::ByHand);
    meddling.waits_as_it_did(&before, "nothing").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollback_that_fails_before_it_did_anything_leaves_the_run_as_it_was() {
    let meddling = Meddling::begin().await;
    let before = meddling.doubtful("fail_first").await;
    let failure = meddling.host.rollback(&before.summary.run.to_string(), "ada").await.unwrap_err();
    assert_eq!((failure.kind, &*failure.code), (Kind::Transient, "NOT_NOW"));
    meddling.waits_as_it_did(&before, "fail_first").await;
    // One that had succeeded is completed still, and its key lasts no longer for it.
    let run = meddling.meddle("fail_first").await;
    let before = meddling.record(&run);
    meddling.host.rollback(&run, "ada").await.unwrap_err();
    let now = meddling.record(&run);
    assert_eq!((now.summary.state, now.summary.ended), (RunState::Completed, before.summary.ended));
    assert_eq!(events(&now), ["began", "completed", "rolling_back, by ada", "completed"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_had_succeeded_and_is_in_conflict_waits_for_a_person() {
    let meddling = Meddling::begin().await;
    let run = meddling.meddle("nothing").await;
    let other = meddling.meddle("nothing").await;
    meddling.host.rollback(&other, "ada").await.unwrap();
    assert_eq!(meddling.host.rollback(&run, "ada").await.unwrap().ending, Ending::Conflict);
    assert_eq!(meddling.record(&run).summary.state, RunState::Suspended(Reason::NotUndone));
    // A second look that touches nothing either leaves it so.
    assert_eq!(meddling.host.rollback(&run, "ada").await.unwrap().ending, Ending::Conflict);
    assert_eq!(meddling.record(&run).summary.state, RunState::Suspended(Reason::NotUndone));
}

#[tokio::test(flavor = "multi_thread")]
async fn where_the_backend_is_left_alone_nothing_is_asked_and_nothing_begun() {
    let meddling = Meddling::begin().await;
    let before = meddling.doubtful("nothing").await;
    let run = before.summary.run.to_string();
    meddling.host.force("meddler.meddle", None, Some(Forced::Open)).await.unwrap();
    let sent = meddling.backend.counts().routes;
    let failure = meddling.host.rollback(&run, "ada").await.unwrap_err();
    assert_eq!((failure.kind, &*failure.code), (Kind::Transient, "CIRCUIT_OPEN"));
    assert!(failure.message.starts_with("nothing was begun"), "{}", failure.message);
    assert_eq!(meddling.host.fingerprint(&run).await.unwrap_err().code, "CIRCUIT_OPEN");
    assert_eq!(meddling.host.probe(&run).await.unwrap_err().code, "CIRCUIT_OPEN");
    assert_eq!(code(&meddling.preview().await), "CIRCUIT_OPEN");
    assert_eq!(meddling.backend.counts().routes, sent);
    assert_eq!(meddling.record(&run), before);
    meddling.host.force("meddler.meddle", None, None).await.unwrap();
    assert_eq!(meddling.host.rollback(&run, "ada").await.unwrap().ending, Ending::RolledBack);
}

#[tokio::test(flavor = "multi_thread")]
async fn looks_that_fail_in_a_row_open_the_breaker_for_calls_too() {
    let meddling = Meddling::begin().await;
    let run = meddling.meddle("nothing").await;
    meddling.backend.fault("GET /settings", Fault::status(Moment::BeforeWork, 503), 5);
    for _ in 0..5 {
        assert_eq!(meddling.host.fingerprint(&run).await.unwrap_err().code, "BACKEND_FAILED");
    }
    assert_eq!(meddling.host.fingerprint(&run).await.unwrap_err().code, "CIRCUIT_OPEN");
    let refused = meddling.host.call(request("meddler.meddle", &meddling.place("nothing"))).await;
    assert_eq!(code(&refused), "CIRCUIT_OPEN");
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_of_a_rollback_that_bear_the_time_are_the_same_when_it_is_tried_again() {
    let meddling = Meddling::at(Arc::new(super::Ticking::default())).await;
    let input = with(meddling.place("nothing"), json!({ "undo": "stamped" }));
    let run = meddling.meddle_so(input).await;
    meddling.backend.fault("POST /tickets", Fault::cut(Moment::AfterWork), 1);
    assert_eq!(meddling.host.rollback(&run, "ada").await.unwrap().ending, Ending::Left);
    let again = meddling.host.rollback(&run, "ada").await.unwrap();
    assert_eq!(again.ending, Ending::RolledBack, "{:?}", again.undone);
    let sent: Vec<_> =
        meddling.backend.requests().into_iter().filter(|seen| seen.target == "/tickets").collect();
    assert_eq!((sent.len(), &sent[0].body), (2, &sent[1].body));
    assert_eq!(meddling.backend.counts().tickets.len(), 1);
}
