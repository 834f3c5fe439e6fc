//! The desk's way back: exactly what a call did is undone, once, and nothing that somebody else has touched.

use airlock::model::past::Ending;
use airlock::model::state::{Reason, RunState};
use airlock_tests::backend::{Fault, Moment};
use airlock_tests::world::{code, request};
use insta::assert_snapshot;
use serde_json::json;

use super::{Desk, a_mail, a_ticket};

#[tokio::test(flavor = "multi_thread")]
async fn a_rollback_cancels_the_ticket_that_the_call_opened_and_no_other() {
    let desk = Desk::open().await;
    desk.ticket().await;
    let (run, id) = desk.ticket().await;
    desk.ticket().await;
    let rollback = desk.host.rollback(&run, "ada").await.unwrap();
    assert_eq!(rollback.ending, Ending::RolledBack);
    assert_snapshot!(rollback.undone.summary, @"The ticket T-1002 was cancelled.");
    assert_eq!(desk.field("status"), ["open", "cancelled", "open"]);
    assert_eq!(desk.host.rollback(&run, "ada").await.unwrap(), rollback);
    let cancels = desk.scene.backend.counts().of(&format!("POST /tickets/{id}/cancel"));
    assert_eq!((cancels.requests, cancels.works), (1, 1), "it was cancelled once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_that_somebody_has_changed_since_is_not_cancelled() {
    let desk = Desk::open().await;
    let (run, id) = desk.ticket().await;
    desk.assign(&id, "ada").await;
    let rollback = desk.host.rollback(&run, "ada").await.unwrap();
    assert_eq!(rollback.ending, Ending::Conflict);
    assert_eq!(desk.field("status"), ["open"]);
    assert_eq!(desk.scene.backend.counts().of(&format!("POST /tickets/{id}/cancel")).requests, 0);
    let state = desk.host.run(&run).unwrap().summary.state;
    assert_eq!(state, RunState::Suspended(Reason::NotUndone));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_somebody_changes_at_the_last_moment_is_left_and_told() {
    let desk = Desk::open().await;
    let (opened, id) = desk.ticket().await;
    let told = |place: String, run: String| {
        desk.scene.backend.fault(&place, Fault::status(Moment::BeforeWork, 412), 1);
        let host = desk.host.clone();
        async move { host.rollback(&run, "ada").await.unwrap() }
    };
    let rollback = told(format!("POST /tickets/{id}/cancel"), opened).await;
    assert_eq!(
        (rollback.ending, &*rollback.undone.summary),
        (Ending::Left, "The ticket T-1001 was not cancelled.")
    );
    assert_eq!(rollback.undone.left, ["the ticket T-1001: somebody has changed it since"]);
    let (assigned, _) = desk.assign(&id, "ada").await;
    let rollback = told(format!("PUT /tickets/{id}/assignee"), assigned).await;
    assert_eq!(
        (rollback.ending, &*rollback.undone.summary),
        (Ending::Left, "The ticket T-1001 was left as it is.")
    );
    assert_eq!(rollback.undone.left, ["the ticket T-1001: somebody has changed it since"]);
    assert_eq!((desk.field("status"), desk.field("assignee")), (vec![json!("open")], vec![json!("ada")]));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_never_happened_is_rolled_back_by_doing_nothing() {
    let desk = Desk::open().await;
    desk.scene.backend.fault("POST /tickets", Fault::cut(Moment::BeforeWork), 1);
    let reply = desk.host.call(request("desk.create_ticket", &a_ticket())).await;
    assert_eq!(code(&reply), "OUTCOME_UNKNOWN");
    let run = reply.meta.run.unwrap().to_string();
    let rollback = desk.host.rollback(&run, "ada").await.unwrap();
    assert_eq!(
        (rollback.ending, rollback.undone.summary.as_str()),
        (Ending::RolledBack, "No ticket was opened.")
    );
    let counts = desk.scene.backend.counts();
    assert_eq!((counts.tickets.len(), counts.under("POST ").requests), (0, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_that_nobody_heard_of_is_found_by_its_key_and_cancelled() {
    let desk = Desk::open().await;
    desk.scene.backend.fault("POST /tickets", Fault::cut(Moment::AfterWork), 1);
    let reply = desk.host.call(request("desk.create_ticket", &a_ticket())).await;
    assert_eq!(code(&reply), "OUTCOME_UNKNOWN");
    let rollback = desk.host.rollback(&reply.meta.run.unwrap().to_string(), "ada").await.unwrap();
    assert_eq!((rollback.ending, desk.field("status")), (Ending::RolledBack, vec![json!("cancelled")]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_goes_back_to_whoever_had_it() {
    let desk = Desk::open().await;
    let (_, id) = desk.ticket().await;
    let (first, _) = desk.assign(&id, "ada").await;
    let (second, _) = desk.assign(&id, "bea").await;
    let rollback = desk.host.rollback(&first, "ada").await.unwrap();
    assert_eq!((rollback.ending, desk.field("assignee")), (Ending::Conflict, vec![json!("bea")]));
    let rollback = desk.host.rollback(&second, "ada").await.unwrap();
    assert_eq!((rollback.ending, desk.field("assignee")), (Ending::RolledBack, vec![json!("ada")]));
    assert_snapshot!(rollback.undone.summary, @"The ticket T-1001 went back to ada.");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_assignment_that_is_tried_again_still_knows_who_had_it_first() {
    let desk = Desk::open().await;
    let (_, id) = desk.ticket().await;
    let assign = |key: &str| {
        let input = json!({ "ticket_id": id, "assignee": "ada" });
        desk.host.call(airlock_tests::world::keyed("desk.assign_ticket", &input, key))
    };
    desk.scene.backend.fault(&format!("PUT /tickets/{id}"), Fault::cut(Moment::AfterWork), 1);
    assert_eq!(code(&assign("k").await), "OUTCOME_UNKNOWN");
    let reply = assign("k").await;
    assert!(reply.ok());
    let rollback = desk.host.rollback(&reply.meta.run.unwrap().to_string(), "ada").await.unwrap();
    assert_eq!((rollback.ending, desk.field("assignee")), (Ending::RolledBack, vec![json!(null)]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mail_cannot_be_taken_back_and_a_person_is_told_so() {
    let desk = Desk::open().await;
    let (run, _) = desk.done("desk.send_mail", a_mail()).await;
    let rollback = desk.host.rollback(&run, "ada").await.unwrap();
    assert_eq!(rollback.ending, Ending::ByHand);
    let told = format!("{}\n{}", rollback.undone.summary, rollback.undone.left.join("\n"));
    assert_snapshot!(told.replace(&desk.scene.backend.url, "BACKEND"), @"
    only a person can undo what the tool did
    POST BACKEND/mails
    ");
    assert_eq!(desk.scene.mails(), 1);
}
