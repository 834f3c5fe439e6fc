//! A person settles what nobody else can know.

use airlock::model::effect::EffectState;
use airlock::model::id::ProcessId;
use airlock::store::sqlite::Durability;
use airlock::store::{Journal as _, Ledger as _, Outcome, SqliteStore};
use airlock_tests::backend::{Backend, Count, Moment};
use insta::assert_snapshot;
use serde_json::json;

use super::{MAIL, Place, Ran, TICKET, lose_answer};
use crate::call::NOON;

const CALL: [&str; 5] = ["call", "desk.send_mail", MAIL, "--key", "m1"];

/// A mail of which nobody knows whether it went out.
fn lost(moment: Moment) -> (Place, Backend, String) {
    let (place, desk) = Place::with_desk("[tools.\"desk.send_mail\"]\nconfirm = \"none\"\n");
    lose_answer(&desk, "POST /mails", moment);
    assert_eq!(place.airlock(&CALL).exit, Some(1));
    let run = place.latest();
    (place, desk, run)
}

fn decide(place: &Place, run: &str, found: &[&str]) -> Ran {
    place.airlock(&[&["decide", run], found].concat())
}

fn mails(desk: &Backend) -> Count {
    desk.counts().of("POST /mails")
}

#[test]
fn a_mail_whose_answer_is_lost_is_not_sent_again() {
    let (place, desk, _) = lost(Moment::AfterWork);
    assert_snapshot!(place.airlock(&CALL).told(), @r#"
    exit 1
    -- out
    -- err
    error[OUTCOME_UNKNOWN]: the action may have happened and may not; do not repeat it: a person can find out and decide
      - POST /mails (no answer)
    hint: `airlock runs 0100000000000000000000RUN1` shows what was done
    hint: when you know what became of it: `airlock decide 0100000000000000000000RUN1 happened`, `did-not` or `again`
    note: this is the stored result of run 0100000000000000000000RUN1; nothing was run again
    "#);
    assert_eq!(mails(&desk), Count { requests: 1, works: 1 });
}

#[test]
fn what_happened_is_the_answer_from_then_on() {
    let (place, desk, run) = lost(Moment::AfterWork);
    assert_snapshot!(decide(&place, &run, &["happened", "--data", r#"{"mail_id":7}"#]), @r#"
    exit 1
    -- out
    -- err
    error[INVALID_INPUT]: --data is not what desk.send_mail gives
      - /status: is required and missing; give a string
      - /mail_id: must be a string and is a number
    "#);
    let data = r#"{"mail_id":"M-1001","status":"queued"}"#;
    assert_snapshot!(decide(&place, &run, &["happened", "--data", data]).told(), @r#"
    exit 0
    -- out
    {
      "mail_id": "M-1001",
      "status": "queued"
    }
    -- err
    the run 0100000000000000000000RUN1 is completed; this is its answer from now on:
    "#);
    assert_snapshot!(place.airlock(&CALL).told(), @r#"
    exit 0
    -- out
    {
      "mail_id": "M-1001",
      "status": "queued"
    }
    -- err
    note: this is the stored result of run 0100000000000000000000RUN1; nothing was run again
    "#);
    let shown = place.airlock(&["runs", &run, "--json"]).document();
    assert_eq!(shown["data"]["journal"]["effects"][0]["state"], "done");
    assert!(shown["data"]["journal"]["events"][2]["by"].is_string(), "{shown}");
    assert_snapshot!(decide(&place, &run, &["did-not"]).told(), @r#"
    exit 0
    -- out
    {
      "mail_id": "M-1001",
      "status": "queued"
    }
    -- err
    the run 0100000000000000000000RUN1 was decided before, and nothing was changed; its answer is:
    note: this is the stored result of run 0100000000000000000000RUN1; nothing was run again
    "#);
    assert_eq!(mails(&desk), Count { requests: 1, works: 1 });
}

#[test]
fn what_happened_must_be_what_the_tool_gives_where_the_tool_is_there() {
    let (place, _desk, run) = lost(Moment::AfterWork);
    assert_snapshot!(decide(&place, &run, &["happened"]).told(), @r#"
    exit 1
    -- out
    -- err
    error[INVALID_INPUT]: without --data the answer is {}, which is not what desk.send_mail gives; say what it gave, as in --data '{"mail_id":"…","status":"…"}'
      - /mail_id: is required and missing; give a string
      - /status: is required and missing; give a string
    "#);
    std::fs::remove_file(place.path().join("plugins/desk.wasm")).unwrap();
    assert_snapshot!(decide(&place, &run, &["happened", "--data", r#"{"mail_id":7}"#]).told(), @r#"
    exit 0
    -- out
    {
      "mail_id": 7
    }
    -- err
    desk.send_mail is not there now, so nobody looked whether it could have given this
    the run 0100000000000000000000RUN1 is completed; this is its answer from now on:
    "#);
}

/// What became of the first request of a run comes to be known after all.
fn answer_late(place: &Place, run: &str, state: EffectState, status: u16) {
    let process = ProcessId([9; 16]);
    let store = SqliteStore::open(&place.path().join(".airlock"), process, Durability::Full).unwrap();
    let (run, at) = (run.parse().unwrap(), NOON);
    let ordinal = store.run(run).unwrap().unwrap().effects[0].ordinal;
    let outcome = Outcome { attempt: 1, ordinal, state, status: Some(status), answered: None, at };
    let written = async {
        store.outcome(run, outcome).await.unwrap();
        // Writes become durable in order.
        store.delivered(run).await.unwrap();
    };
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(written);
}

/// What is shown of a run below its events.
fn card(place: &Place, run: &str) -> String {
    let told = place.airlock(&["runs", run]).told();
    let (_, events) = told.split_once("\nevents\n").unwrap();
    events.to_owned()
}

#[test]
fn an_answer_that_comes_after_a_decision_is_shown_with_what_can_be_done() {
    let (place, desk, run) = lost(Moment::AfterWork);
    assert_eq!(decide(&place, &run, &["did-not"]).exit, Some(0));
    answer_late(&place, &run, EffectState::Done, 202);
    assert_snapshot!(card(&place, &run), @"
    2026-01-31T08:00:00.000Z  began
    2026-01-31T08:00:00.000Z  suspended: unknown
    2026-01-31T08:00:00.000Z  decided: did-not, by root

    an answer came after this was settled, and tells otherwise
    POST http://desk.test:12345/mails of attempt 1 was done (answered 202); it was said not to have been
    its key runs nothing until that is decided; when you know what became of it: `airlock decide 0100000000000000000000RUN1 happened` or `again`
    -- err
    ");
    assert_snapshot!(place.airlock(&CALL).told(), @"
    exit 1
    -- out
    -- err
    error[PARTLY_DONE]: an answer came late and tells that what must happen once did happen; nothing was run again: do not repeat it, a person decides what becomes of it
    hint: `airlock runs 0100000000000000000000RUN1` shows what was done
    hint: when you know what became of it: `airlock decide 0100000000000000000000RUN1 happened` or `again`
    ");
    let shown = place.airlock(&["runs", &run, "--json"]).document();
    let late = json!([{ "attempt": 1, "ordinal": 1, "said": "not_done" }]);
    assert_eq!(shown["data"]["journal"]["late"], late);
    let data = r#"{"mail_id":"M-1001","status":"queued"}"#;
    assert_eq!(decide(&place, &run, &["happened", "--data", data]).exit, Some(0));
    assert_eq!(place.airlock(&CALL).exit, Some(0));
    assert_eq!(mails(&desk), Count { requests: 1, works: 1 });

    let (place, _desk, run) = lost(Moment::AfterWork);
    assert_eq!(decide(&place, &run, &["again"]).exit, Some(0));
    answer_late(&place, &run, EffectState::Done, 202);
    assert_snapshot!(card(&place, &run), @"
    2026-01-31T08:00:00.000Z  began
    2026-01-31T08:00:00.000Z  suspended: unknown
    2026-01-31T08:00:00.000Z  decided: again, by root
    2026-01-31T08:00:00.000Z  asked for again with its key
    2026-01-31T08:00:00.000Z  completed

    an answer came after this was settled, and tells otherwise
    POST http://desk.test:12345/mails of attempt 1 was done (answered 202); it was set aside
    so it may have been done more often than was wanted; what is too much can only be undone at the backend
    -- err
    ");

    let (place, _desk, run) = lost(Moment::BeforeWork);
    assert_eq!(decide(&place, &run, &["happened", "--data", data]).exit, Some(0));
    answer_late(&place, &run, EffectState::Refused, 422);
    assert_snapshot!(card(&place, &run), @"
    2026-01-31T08:00:00.000Z  began
    2026-01-31T08:00:00.000Z  suspended: unknown
    2026-01-31T08:00:00.000Z  decided: happened, by root

    an answer came after this was settled, and tells otherwise
    POST http://desk.test:12345/mails of attempt 1 was not done (answered 422); it was said to have been
    its key gives what was said all the same; to have it done, ask for it under a fresh key
    -- err
    ");
}

#[test]
fn what_has_a_key_downstream_goes_on_under_its_own_whatever_comes_late() {
    let (place, desk) = Place::with_desk("");
    lose_answer(&desk, "POST /tickets", Moment::AfterWork);
    let call = ["call", "desk.create_ticket", TICKET, "--key", "t1"];
    assert_eq!(place.airlock(&call).exit, Some(1));
    let run = place.latest();
    assert_eq!(decide(&place, &run, &["did-not"]).exit, Some(0));
    answer_late(&place, &run, EffectState::Done, 201);
    assert_snapshot!(card(&place, &run), @"
    2026-01-31T08:00:00.000Z  began
    2026-01-31T08:00:00.000Z  suspended: unknown
    2026-01-31T08:00:00.000Z  decided: did-not, by root

    an answer came after this was settled, and tells otherwise
    POST http://desk.test:12345/tickets of attempt 1 was done (answered 201); it was said not to have been
    its key goes on with it, and does nothing twice; when you know what became of it: `airlock decide 0100000000000000000000RUN1 happened` or `again`
    -- err
    ");
    assert_eq!(place.airlock(&call).exit, Some(0));
    assert_eq!(desk.counts().of("POST /tickets").works, 1);
}

#[test]
fn what_did_not_happen_may_be_asked_for_again_under_its_key() {
    let (place, desk, run) = lost(Moment::BeforeWork);
    assert_snapshot!(decide(&place, &run, &["did-not"]).told(), @r#"
    exit 0
    -- out
    the run 0100000000000000000000RUN1 has failed, and nothing is left of it; to have it done, ask again: `airlock call desk.send_mail … --key m1`
    -- err
    "#);
    assert_eq!(mails(&desk), Count { requests: 1, works: 0 });
    assert_eq!(place.airlock(&CALL).exit, Some(0));
    assert_eq!(mails(&desk), Count { requests: 2, works: 1 });
    assert_eq!(place.latest(), run);
}

#[test]
fn again_makes_another_attempt_at_once() {
    let (place, desk, run) = lost(Moment::BeforeWork);
    assert_snapshot!(decide(&place, &run[..20], &["again"]), @r#"
    exit 0
    -- out
    {
      "mail_id": "M-1001",
      "status": "queued"
    }
    -- err
    "#);
    let shown = place.airlock(&["runs", &run, "--json"]).document();
    assert_eq!((&shown["data"]["state"], &shown["data"]["attempts"]), (&json!("completed"), &json!(2)));
    assert_eq!(mails(&desk), Count { requests: 2, works: 1 });
}
