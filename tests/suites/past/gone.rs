//! Taking back what little is left to say of: its plugin is gone, its texts are, or somebody else was quicker.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use airlock::host::{Decision, Look, Seams};
use airlock::model::past::Ending;
use airlock_tests::backend::{Fault, Moment};
use airlock_tests::world::{SetClock, code, keyed};
use insta::assert_snapshot;

use super::Meddling;
use crate::call::{NOON, hold};

#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_plugin_is_gone_is_for_a_person() {
    let meddling = Meddling::begin().await;
    let run = meddling.meddle("nothing").await;
    fs::remove_file(meddling.world.plugins().join("meddler.wasm")).unwrap();
    meddling.host.reload().await;
    let rollback = meddling.host.rollback(&run, "ada").await.unwrap();
    assert_eq!(rollback.ending, Ending::ByHand);
    assert_snapshot!(rollback.undone.summary, @"the tool of the run is not there: meddler.meddle");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_taken_back_stays_so_when_its_texts_are_kept_no_longer() {
    let clock = SetClock::at(NOON);
    let meddling = Meddling::at(Arc::clone(&clock) as _).await;
    let run = meddling.meddle("nothing").await;
    assert_eq!(meddling.host.rollback(&run, "ada").await.unwrap().ending, Ending::RolledBack);
    clock.forward(Duration::from_secs(31 * 24 * 3600));
    let seams = Seams::system(&meddling.world.config()).unwrap();
    let later = meddling.world.open_with(Seams { clock, ..seams }).await;
    let swept = async {
        while later.run(&run).unwrap().removed.is_none() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), swept).await.expect("the texts stay");
    let again = later.rollback(&run, "ada").await.unwrap();
    assert_eq!((again.ending, &*again.undone.summary), (Ending::RolledBack, "it was rolled back before"));
    let whole = later.whole(&run, Look::Usual).unwrap_err();
    assert_eq!(whole.message, format!("the run has no result, or none that is still kept: {run}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_takes_back_what_somebody_decides_meanwhile_is_told_so() {
    let meddling = Meddling::begin().await;
    meddling.backend.fault("PUT /settings", Fault::cut(Moment::AfterWork), 1);
    let reply = meddling.host.call(keyed("meddler.meddle", &meddling.place("nothing"), "k")).await;
    assert_eq!(code(&reply), "OUTCOME_UNKNOWN");
    let run = reply.meta.run.unwrap().to_string();
    let looks = meddling.backend.counts().of("GET /settings/meddled").requests;
    let release = hold(&meddling.backend, "GET /settings", Moment::BeforeWork, 1);
    let (host, of) = (meddling.host.clone(), run.clone());
    let taking = tokio::spawn(async move { host.rollback(&of, "bea").await });
    let asked = looks + 1;
    meddling.backend.wait_until(move |counts| counts.of("GET /settings/meddled").requests == asked);
    meddling.host.decide(&run, Decision::DidNot, "ada").await.unwrap();
    drop(release);
    let failure = taking.await.unwrap().unwrap_err();
    assert_eq!(
        failure.message,
        format!("the run was decided or taken by somebody else in the meantime: {run}")
    );
    assert_eq!(meddling.backend.counts().tickets.len(), 0, "nothing of it was taken back");
}
