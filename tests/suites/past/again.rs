//! Taking a call back more than once: nothing is done twice that must not be, and what could not begin changed nothing.

use std::fs;

use airlock::host::Decision;
use airlock::model::failure::Kind;
use airlock::model::id::CallerName;
use airlock::model::past::Ending;
use airlock::model::run::Record;
use airlock::model::state::{Reason, RunState};
use airlock_tests::backend::{Fault, Moment};
use airlock_tests::world::{body, code, keyed, request};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::Meddling;
use crate::call::{hold, spawn, with};

impl Meddling {
    fn mails(&self) -> usize {
        self.backend.counts().mails.len()
    }

    /// What is done by a call and undone by a mail, which is another one each time.
    fn by_mail(&self, and: &str) -> Value {
        with(self.place(and), json!({ "undo": "mail" }))
    }

    /// A call of which nobody knows whether it was done; its key may do it.
    async fn unknown(&self, key: &str) -> Record {
        self.backend.fault("PUT /settings", Fault::cut(Moment::AfterWork), 1);
        let reply = self.host.call(keyed("meddler.meddle", &self.place("nothing"), key)).await;
        assert_eq!(
            (code(&reply).as_str(), &body(&reply)["details"]["key"]),
            ("OUTCOME_UNKNOWN", &json!(key))
        );
        self.record(&reply.meta.run.unwrap().to_string())
    }

    /// Asserts that a run is as it was, and that its key and a person still have their say.
    async fn as_it_was(&self, before: &Record, key: &str) {
        let run = before.summary.run.to_string();
        assert_eq!(self.record(&run), *before);
        self.host.decide(&run, Decision::DidNot, "ada").await.unwrap();
        let again = self.host.call(keyed("meddler.meddle", &self.place("nothing"), key)).await;
        assert!(again.ok() && !again.meta.replayed, "{}", body(&again));
        assert_eq!(again.meta.run, Some(before.summary.run));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_must_not_repeat_is_not_sent_again_by_the_next_rollback() {
    let meddling = Meddling::begin().await;
    let run = meddling.meddle_so(meddling.by_mail("fail")).await;
    let failure = meddling.host.rollback(&run, "ada").await.unwrap_err();
    assert_eq!((&*failure.code, meddling.mails()), ("NOT_NOW", 1));
    let mut told = String::new();
    for _ in 0..2 {
        let rollback = meddling.host.rollback(&run, "ada").await.unwrap();
        assert_eq!((rollback.ending, meddling.mails()), (Ending::ByHand, 1));
        told = format!("{}\n{}", rollback.undone.summary, rollback.undone.left.join("\n"));
    }
    assert_snapshot!(told.replace(&meddling.backend.url, "BACKEND"), @"
    what was tried before did something, or may have, that must not be done twice; look at it, and see to the rest by hand
    PUT BACKEND/settings/meddled
    ");
    assert_eq!(meddling.record(&run).summary.state, RunState::Suspended(Reason::NotUndone));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_must_not_repeat_and_may_have_been_done_is_not_sent_again_either() {
    for (moment, mails) in [(Moment::AfterWork, 1), (Moment::BeforeWork, 0)] {
        let meddling = Meddling::begin().await;
        let run = meddling.meddle_so(meddling.by_mail("nothing")).await;
        meddling.backend.fault("POST /mails", Fault::cut(moment), 1);
        assert_eq!(meddling.host.rollback(&run, "ada").await.unwrap().ending, Ending::Left);
        assert_eq!(meddling.host.rollback(&run, "ada").await.unwrap().ending, Ending::ByHand);
        let counts = meddling.backend.counts();
        assert_eq!((counts.mails.len(), counts.of("POST /mails").requests), (mails, 1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_must_not_repeat_and_was_refused_is_sent_again() {
    let meddling = Meddling::begin().await;
    let run = meddling.meddle_so(meddling.by_mail("fail")).await;
    meddling.backend.fault("POST /mails", Fault::status(Moment::BeforeWork, 422), 1);
    for mails in [0, 1] {
        let failure = meddling.host.rollback(&run, "ada").await.unwrap_err();
        assert_eq!((&*failure.code, meddling.mails()), ("NOT_NOW", mails));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_were_undone_are_left_be_while_a_folder_waits_for_a_person() {
    let meddling = Meddling::begin().await;
    let run = meddling.meddle_so(with(meddling.by_mail("nothing"), json!({ "file": true }))).await;
    let file = meddling.outbox.path().join("left.txt");
    fs::write(&file, "a person's").unwrap();
    for _ in 0..2 {
        let rollback = meddling.host.rollback(&run, "ada").await.unwrap();
        assert_eq!((rollback.ending, meddling.mails()), (Ending::Conflict, 1));
        assert_eq!(rollback.undone.left, ["WRITE outbox:left.txt: it was changed by somebody else since"]);
    }
    // Where the person makes way, the rest is put back too.
    fs::write(&file, "left").unwrap();
    let rollback = meddling.host.rollback(&run, "ada").await.unwrap();
    assert_eq!((rollback.ending, meddling.mails(), file.exists()), (Ending::RolledBack, 1, false));
    assert_eq!(meddling.record(&run).summary.state, RunState::RolledBack);
}

#[tokio::test(flavor = "multi_thread")]
async fn where_the_state_cannot_be_asked_nothing_is_begun_and_the_run_stays_as_it_was() {
    let meddling = Meddling::begin().await;
    let before = meddling.unknown("k1").await;
    meddling.backend.fault("GET /settings", Fault::status(Moment::BeforeWork, 503), 1);
    let failure = meddling.host.rollback(&before.summary.run.to_string(), "ada").await.unwrap_err();
    assert_eq!((failure.kind, &*failure.code), (Kind::Transient, "BACKEND_FAILED"));
    assert_snapshot!(failure.message, @"nothing was begun, since the state of what the call touched cannot be asked now: the backend failed, and nothing was done");
    meddling.as_it_was(&before, "k1").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn where_there_is_no_place_nothing_is_begun_and_the_run_stays_as_it_was() {
    let meddling = Meddling::with("[limits]\nat_once = 2\nwait = \"200ms\"").await;
    let before = meddling.unknown("k1").await;
    let release = hold(&meddling.backend, "PUT /settings", Moment::BeforeWork, 1);
    let writes = meddling.backend.counts().of("PUT /settings/meddled").requests;
    let held = spawn(&meddling.host, request("meddler.meddle", &meddling.place("nothing")));
    meddling.backend.wait_until(|counts| counts.of("PUT /settings/meddled").requests > writes);
    let failure = meddling.host.rollback(&before.summary.run.to_string(), "ada").await.unwrap_err();
    assert_eq!((failure.kind, &*failure.code), (Kind::Throttled, "OVERLOADED"));
    assert_snapshot!(failure.message, @"nothing was begun, since the state of what the call touched cannot be asked now: no place became free within 200ms; nothing was run");
    drop(release);
    held.await.unwrap();
    meddling.as_it_was(&before, "k1").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_key_of_a_call_that_was_taken_back_says_so_and_does_nothing() {
    let meddling = Meddling::begin().await;
    let call = || meddling.host.call(keyed("meddler.meddle", &meddling.place("nothing"), "k1"));
    let run = call().await.meta.run.unwrap().to_string();
    meddling.host.rollback(&run, "ada").await.unwrap();
    let counts = meddling.backend.counts();
    let again = call().await;
    assert!(again.meta.replayed);
    assert_snapshot!(serde_json::to_string_pretty(&body(&again)).unwrap().replace(&run, "RUN"), @r#"
    {
      "code": "ROLLED_BACK",
      "kind": "denied",
      "message": "a person has taken this call back, so whatever it did is undone; nothing was run",
      "retryable": false,
      "action": "stop",
      "retry_after_ms": 0,
      "details": {
        "run": "RUN"
      }
    }
    "#);
    let local = CallerName("local".to_owned());
    assert_eq!(body(&meddling.host.result(&local, None, &run, None).await), body(&again));
    assert_eq!(meddling.backend.counts().routes, counts.routes);
    let record = meddling.record(&run);
    assert_eq!(
        (record.summary.state, record.summary.code.as_deref()),
        (RunState::RolledBack, Some("ROLLED_BACK"))
    );
    assert_eq!(meddling.meddled(), json!(0));
}
