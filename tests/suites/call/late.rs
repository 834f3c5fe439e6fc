//! Answers that come after a person has decided without them: kept as evidence, shown, and decided again.

use std::sync::Arc;

use airlock::host::{Decision, Host, Seams};
use airlock::model::effect::EffectState;
use airlock::model::failure::Failure;
use airlock::model::id::RunId;
use airlock::model::late::Late;
use airlock::model::reply::Reply;
use airlock::store::{Outcome, Store};
use airlock_tests::backend::{Fault, Moment};
use airlock_tests::world::{code, keyed};
use insta::assert_snapshot;

use super::{NOON, Scene, assert_stored, happened, record, standing, text};

/// A host, its store, and a mail of which nobody knows whether it went out.
struct Lost {
    scene: Scene,
    host: Host,
    store: Arc<dyn Store>,
    reply: Reply,
    run: RunId,
}

impl Lost {
    async fn a_mail() -> Self {
        let scene = Scene::courier("").await;
        let seams = Seams::system(&scene.world.config()).unwrap();
        let store = Arc::clone(&seams.store);
        let host = scene.world.open_with(seams).await;
        scene.backend.fault("/mails", Fault::cut(Moment::AfterWork), 1);
        let reply = host.call(keyed("courier.post_once", &scene.mail("a"), "k")).await;
        assert_eq!(code(&reply), "OUTCOME_UNKNOWN");
        let run = reply.meta.run.unwrap();
        Self { scene, host, store, reply, run }
    }

    async fn decide(&self, decision: Decision) -> Result<Reply, Failure> {
        self.host.decide(&self.run.to_string(), decision, "ada").await
    }

    /// What became of the first request comes to be known.
    async fn answer(&self, state: EffectState, status: u16) {
        let ordinal = record(&self.host, &self.reply).effects[0].ordinal;
        let (status, answered) = (Some(status), None);
        let outcome = Outcome { attempt: 1, ordinal, state, status, answered, at: NOON };
        self.store.outcome(self.run, outcome).await.unwrap();
        // Writes become durable in order.
        self.store.delivered(self.run).await.unwrap();
    }

    async fn call(&self) -> Reply {
        self.host.call(keyed("courier.post_once", &self.scene.mail("a"), "k")).await
    }

    fn standing(&self) -> String {
        standing(&record(&self.host, &self.reply))
    }

    /// What was said of effects of which the answer tells otherwise.
    fn late(&self) -> Vec<EffectState> {
        record(&self.host, &self.reply).late.iter().map(|late: &Late| late.said).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_said_not_to_have_happened_and_did_is_not_done_again_and_a_person_decides_once_more() {
    let lost = Lost::a_mail().await;
    lost.decide(Decision::DidNot).await.unwrap();
    assert!(lost.late().is_empty());
    lost.answer(EffectState::Done, 202).await;
    assert_eq!((lost.standing().as_str(), lost.late()), ("failed [done 202]", vec![EffectState::NotDone]));
    let refused = lost.call().await;
    assert_snapshot!(text(&refused).replace(&lost.run.to_string(), "RUN"), @r#"{"code":"PARTLY_DONE","kind":"partial","message":"an answer came late and tells that what must happen once did happen; nothing was run again: do not repeat it, a person decides what becomes of it","retryable":false,"action":"do_not_repeat","retry_after_ms":0,"details":{"run":"RUN"}}"#);
    assert_eq!(lost.scene.mails(), 1, "nothing was sent again");
    let did_not = lost.decide(Decision::DidNot).await.unwrap();
    assert!(did_not.meta.replayed, "that was said already, and is not so");

    let decided = lost.decide(happened()).await.unwrap();
    assert_eq!((decided.ok(), lost.standing().as_str()), (true, "completed [done 202]"));
    assert_stored(&decided, &lost.call().await);
    assert_eq!(lost.scene.mails(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_turned_out_to_have_happened_can_be_wanted_once_more() {
    let lost = Lost::a_mail().await;
    lost.decide(Decision::DidNot).await.unwrap();
    lost.answer(EffectState::Done, 202).await;
    let again = lost.decide(Decision::Again).await.unwrap();
    assert!(again.ok(), "{}", text(&again));
    assert_eq!(lost.standing(), "completed [done 202, done 202]");
    assert_stored(&again, &lost.call().await);
    assert_eq!(lost.scene.mails(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_bears_out_what_was_said_changes_nothing() {
    let lost = Lost::a_mail().await;
    lost.decide(Decision::DidNot).await.unwrap();
    lost.answer(EffectState::Refused, 422).await;
    assert_eq!((lost.standing().as_str(), lost.late()), ("failed [refused 422]", Vec::new()));
    let other = lost.decide(happened()).await.unwrap();
    assert!(other.meta.replayed && !other.ok(), "there is nothing to be decided");
    assert!(lost.call().await.ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_came_late_stays_to_be_seen_whatever_was_decided() {
    let lost = Lost::a_mail().await;
    assert!(lost.decide(Decision::Again).await.unwrap().ok());
    lost.answer(EffectState::Done, 202).await;
    assert_eq!(
        (lost.standing().as_str(), lost.late()),
        ("completed [done 202, done 202]", vec![EffectState::SetAside])
    );

    let lost = Lost::a_mail().await;
    let decided = lost.decide(happened()).await.unwrap();
    lost.answer(EffectState::Refused, 422).await;
    assert_eq!((lost.standing().as_str(), lost.late()), ("completed [refused 422]", vec![EffectState::Done]));
    assert_stored(&decided, &lost.call().await);
}
