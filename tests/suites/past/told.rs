//! What a plugin is told of a call that it looks back at, and when it is asked for the state of what that touched.

use airlock::model::past::Ending;
use airlock_tests::backend::{Fault, Moment};
use airlock_tests::world::{body, code, keyed, request};
use serde_json::json;

use super::Meddling;
use crate::call::{hold, spawn, with};

/// One more attempt than usual here.
const ONCE_MORE: &str = "[tools.\"meddler.meddle\"]\nretries = 1";

impl Meddling {
    /// What the last attempt of a run says of what its plugin was told.
    fn told(&self, run: &str) -> Vec<String> {
        let log = self.record(run).attempts.last().unwrap().log.clone();
        let told = log.lines().filter_map(|line| Some(line.split_once("told of ")?.1));
        told.map(|line| line.split(" {").next().unwrap_or(line).to_owned()).collect()
    }

    fn gets(&self) -> u64 {
        self.backend.counts().of("GET /settings/meddled").requests
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_was_sent_again_is_told_once_as_it_stands_at_last() {
    let meddling = Meddling::with(ONCE_MORE).await;
    meddling.backend.fault("PUT /settings", Fault::cut(Moment::AfterWork), 1);
    let run = meddling.meddle("nothing").await;
    assert_eq!(meddling.record(&run).effects.len(), 2);
    assert_eq!(meddling.told(&run), ["PUT meddled, Some(200), an answer"]);
    assert_eq!(meddling.host.rollback(&run, "ada").await.unwrap().ending, Ending::RolledBack);
    // To its fingerprint, and to the rollback itself.
    assert_eq!(meddling.told(&run), ["PUT meddled, Some(200), an answer"; 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_left_to_a_person_names_a_request_once_however_often_it_was_sent() {
    let meddling = Meddling::with(ONCE_MORE).await;
    meddling.backend.fault("PUT /settings", Fault::cut(Moment::AfterWork), 1);
    meddling.backend.fault("GET /settings", Fault::status(Moment::BeforeWork, 503), 1);
    let run = meddling.meddle("nothing").await;
    let rollback = meddling.host.rollback(&run, "ada").await.unwrap();
    assert_eq!(rollback.ending, Ending::ByHand);
    assert_eq!(rollback.undone.left, [format!("PUT {}/settings/meddled", meddling.backend.url)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_earlier_attempts_were_answered_is_told_too() {
    let meddling = Meddling::with(ONCE_MORE).await;
    let run = meddling.meddle_so(with(meddling.place("nothing"), json!({ "halting": true }))).await;
    let told = ["PUT meddled, Some(200), an answer", "PUT other, Some(200), an answer"];
    assert_eq!(meddling.told(&run), told);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_state_is_asked_for_in_the_place_that_the_call_still_has() {
    let meddling = Meddling::with("[limits]\nat_once = 2\nwait = \"200ms\"").await;
    let release = hold(&meddling.backend, "PUT /settings", Moment::BeforeWork, 1);
    let first = spawn(&meddling.host, request("meddler.meddle", &meddling.place("nothing")));
    meddling.backend.wait_until(|counts| counts.of("PUT /settings/meddled").requests == 1);
    // Others wait for the one place that the plugin may have here.
    let others: Vec<_> = (0..3)
        .map(|_| spawn(&meddling.host, request("meddler.meddle", &meddling.place("nothing"))))
        .collect();
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
    let asked = hold(&meddling.backend, "GET /settings", Moment::BeforeWork, 1);
    drop(release);
    meddling.backend.wait_until(|counts| counts.of("GET /settings/meddled").requests == 1);
    assert_eq!(meddling.backend.counts().of("PUT /settings/meddled").requests, 1, "nobody came in between");
    for other in others {
        assert_eq!(code(&other.await.unwrap()), "OVERLOADED");
    }
    drop(asked);
    let reply = first.await.unwrap();
    assert!(reply.ok(), "{}", body(&reply));
    assert!(meddling.record(&reply.meta.run.unwrap().to_string()).fingerprint.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn once_the_time_of_an_attempt_is_over_nothing_more_is_asked() {
    let meddling = Meddling::with("[limits]\nattempt = \"300ms\"").await;
    meddling.backend.fault("PUT /settings", Fault::hang(Moment::AfterWork), 1);
    let reply = meddling.host.call(keyed("meddler.meddle", &meddling.place("nothing"), "k")).await;
    assert_eq!((code(&reply).as_str(), meddling.gets()), ("OUTCOME_UNKNOWN", 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn where_looks_right_after_calls_keep_failing_their_backend_is_left_alone() {
    let meddling = Meddling::begin().await;
    meddling.backend.fault("GET /settings", Fault::status(Moment::BeforeWork, 503), 10);
    // Each call went well itself, so that nothing fails five times in a row; half of all is enough.
    for _ in 0..6 {
        meddling.meddle("nothing").await;
    }
    let refused = meddling.host.call(request("meddler.meddle", &meddling.place("nothing"))).await;
    assert_eq!(code(&refused), "CIRCUIT_OPEN");
}
