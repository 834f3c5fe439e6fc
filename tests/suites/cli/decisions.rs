//! A person settles what nobody else can know.

use airlock_tests::backend::{Backend, Count, Moment};
use insta::assert_snapshot;
use serde_json::json;

use super::{MAIL, Place, Ran, lose_answer};

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
    exit 1
    -- out
    -- err
    error[INVALID_INPUT]: a run that is completed cannot be decided: did-not; `airlock runs 0100000000000000000000RUN1` shows it
    "#);
    assert_eq!(mails(&desk), Count { requests: 1, works: 1 });
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
