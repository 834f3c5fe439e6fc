//! What was called, listed and shown in full.

use airlock_tests::backend::Moment;
use insta::assert_snapshot;

use super::{MAIL, Place, TICKET, lose_answer};

/// Mails go out unasked.
const UNASKED: &str = "[tools.\"desk.send_mail\"]\nconfirm = \"none\"\n";

#[test]
fn runs_are_listed_the_latest_first() {
    let (place, desk) = Place::with_desk(UNASKED);
    assert_snapshot!(place.airlock(&["runs"]), @r#"
    exit 0
    -- out
    -- err
    no runs yet; `airlock call TOOL '{…}'` makes one
    "#);
    assert_eq!(place.airlock(&["runs", "--json"]).document()["data"]["runs"], serde_json::json!([]));
    place.airlock(&["call", "desk.create_ticket", TICKET, "--key", "k1"]);
    place.airlock(&["call", "desk.find_order", r#"{"name":"Li"}"#]);
    lose_answer(&desk, "POST /mails", Moment::AfterWork);
    place.airlock(&["call", "desk.send_mail", MAIL, "--key", "m1"]);
    assert_snapshot!(place.airlock(&["runs"]).told(), @r#"
    exit 0
    -- out
    RUN                         STATE               TOOL                CALLER  ATTEMPTS  AGE  CODE
    0100000000000000000000RUN1  suspended: unknown  desk.send_mail      local   1         0s   OUTCOME_UNKNOWN
    0100000000000000000000RUN2  failed              desk.find_order     local   1         0s   AMBIGUOUS_ORDER
    0100000000000000000000RUN3  completed           desk.create_ticket  local   1         0s
    -- err
    "#);
    assert_snapshot!(place.airlock(&["runs", "--state", "suspended"]).told(), @"
    exit 0
    -- out
    RUN                         REASON   TOOL            CALLER  SINCE                     WAITS  CODE
    0100000000000000000000RUN1  unknown  desk.send_mail  local   2026-01-31T08:00:00.000Z  0s     OUTCOME_UNKNOWN
    -- err
    ");
    assert_snapshot!(place.airlock(&["runs", "--state", "running"]), @r#"
    exit 0
    -- out
    -- err
    no runs in this state; `airlock runs` lists all
    "#);
}

#[test]
fn a_run_is_shown_in_full_by_the_beginning_of_its_id() {
    let (place, desk) = Place::with_desk("");
    lose_answer(&desk, "POST /tickets", Moment::AfterWork);
    let arguments = ["call", "desk.create_ticket", TICKET, "--key", "k1"];
    assert_snapshot!(place.airlock(&arguments).told(), @"
    exit 1
    -- out
    -- err
    error[OUTCOME_UNKNOWN]: the action may have happened and may not; ask again with the key in details.key, and with no other: what was done under it is not done twice
      - POST /tickets (no answer)
    hint: the same key is safe, and no other: `airlock call desk.create_ticket … --key k1`
    hint: `airlock runs 0100000000000000000000RUN1` shows what was done
    hint: when you know what became of it: `airlock decide 0100000000000000000000RUN1 happened`, `did-not` or `again`
    ");
    assert_eq!(place.airlock(&arguments).exit, Some(0));
    assert_eq!(desk.counts().tickets.len(), 1);
    let run = place.latest();
    assert_snapshot!(place.airlock(&["runs", &run[..20]]).told(), @r#"
    exit 0
    -- out
    run       0100000000000000000000RUN1
    state     completed
    tool      desk.create_ticket
    caller    local
    key       k1
    trace     ffffffffffffffffffffffffffffffff
    began     2026-01-31T08:00:00.000Z (0s ago)
    ended     2026-01-31T08:00:00.000Z (0s ago)

    input
    {
      "order_id": "A-1003",
      "subject": "Lamp",
      "body": "It broke."
    }

    data
    {
      "ticket_id": "T-1001",
      "url": "http://desk.test:12345/tickets/T-1001",
      "status": "open"
    }

    attempts
    1. 2026-01-31T08:00:00.000Z  OUTCOME_UNKNOWN after 1ms
       plugin ffffffffffff, fuel 1000, memory 1000 bytes
       | warn: the connection was cut before an answer came {"code":"ANSWER_BROKEN"}
       | host: the answer broke off, and it may have been done
    2. 2026-01-31T08:00:00.000Z  ok after 1ms
       plugin ffffffffffff, fuel 1000, memory 1000 bytes

    effects
    ATTEMPT  NO  REQUEST                              REPEAT  STATE  STATUS  KEY
    1        1   POST http://desk.test:12345/tickets  keyed   open           ffffffffffffffffffffffffffffffff
    2        1   POST http://desk.test:12345/tickets  keyed   done   201     ffffffffffffffffffffffffffffffff

    events
    2026-01-31T08:00:00.000Z  began
    2026-01-31T08:00:00.000Z  suspended: unknown
    2026-01-31T08:00:00.000Z  asked for again with its key
    2026-01-31T08:00:00.000Z  completed
    -- err
    "#);
    assert_snapshot!(place.airlock(&["runs", &run.to_lowercase(), "--json"]).document()["data"]["state"], @r#""completed""#);
}

#[test]
fn a_run_that_is_not_there_or_not_the_only_one_is_told_so() {
    let (place, _desk) = Place::with_desk("");
    for _ in 0..2 {
        place.airlock(&["call", "desk.find_order", r#"{"name":"Okafor"}"#]);
    }
    assert_snapshot!(place.airlock(&["runs", "01ZZ"]), @r#"
    exit 1
    -- out
    -- err
    error[INVALID_INPUT]: there is no such run; `airlock runs` lists them: 01ZZ
    "#);
    assert_snapshot!(place.airlock(&["runs", "no-run"]), @r#"
    exit 1
    -- out
    -- err
    error[INVALID_INPUT]: a run's id has 26 letters and digits, such as 01JD8XK3V5R8Y2W6T9Q4M7N1BC: no-run
    "#);
    assert_snapshot!(place.airlock(&["runs", "01"]).told(), @"
    exit 1
    -- out
    -- err
    error[INVALID_INPUT]: several runs begin so; give more of the id: 01
      - run 0100000000000000000000RUN1, tool desk.find_order, state completed, began 2026-01-31T08:00:00.000Z
      - run 0100000000000000000000RUN2, tool desk.find_order, state completed, began 2026-01-31T08:00:00.000Z
    ");
}

#[test]
fn who_only_reads_or_decides_needs_no_secret() {
    let (place, desk) = Place::with_desk(UNASKED);
    lose_answer(&desk, "POST /mails", Moment::BeforeWork);
    let call = ["call", "desk.send_mail", MAIL, "--key", "m1"];
    assert_eq!(place.airlock(&call).exit, Some(1));
    let run = place.latest();
    let without = |arguments: &[&str]| place.ran(place.command(arguments).env_remove("DESK_TOKEN"));
    for arguments in [&["runs"][..], &["runs", &run], &["explain", "INTERRUPTED"]] {
        assert_eq!(without(arguments).exit, Some(0), "{}", without(arguments));
    }
    let again: &[&str] = &["decide", &run, "again"];
    for arguments in [&call[..], &["tools"], again] {
        let ran = without(arguments);
        assert_eq!(ran.exit, Some(2), "{ran}");
        assert!(ran.err.contains("the secret `desk_token` is missing"), "{ran}");
    }
    assert_eq!(without(&["decide", &run, "did-not"]).exit, Some(0));
    assert_eq!(place.airlock(&call).exit, Some(0));
    assert_eq!(desk.counts().of("POST /mails").works, 1);
}

#[test]
fn the_limit_is_of_the_runs_that_are_shown() {
    let (place, desk) = Place::with_desk(UNASKED);
    lose_answer(&desk, "POST /mails", Moment::AfterWork);
    place.airlock(&["call", "desk.send_mail", MAIL, "--key", "m1"]);
    let waits = place.latest();
    for _ in 0..2 {
        place.airlock(&["call", "desk.find_order", r#"{"name":"Okafor"}"#]);
    }
    let document = place.airlock(&["runs", "--state", "suspended", "--limit", "1", "--json"]).document();
    assert_eq!(document["data"]["runs"].as_array().unwrap().len(), 1);
    assert_eq!(document["data"]["runs"][0]["run"], waits);
    let document = place.airlock(&["runs", "--state", "completed", "--limit", "1", "--json"]).document();
    assert_eq!(document["data"]["runs"].as_array().unwrap().len(), 1);
}

#[test]
fn what_a_run_cost_is_shown_with_what_for() {
    let place = Place::with_config("");
    place.with_plugin(airlock_tests::guests::NOTEBOOK);
    let lines = r#"{"lines":["spend 1500000 tea","spend 42 a\u001b[2Jir"]}"#;
    let called = place.airlock(&["call", "notebook.bare", lines, "--json"]).document();
    assert_eq!(called["meta"]["cost_micros"], 1_500_042);
    let shown = place.airlock(&["runs", &place.latest()]).told();
    let costs = shown.split("costs").nth(1).unwrap().split("\nevents").next().unwrap();
    assert_snapshot!(costs, @r"
    , 1.500042 in all
    ATTEMPT  BY    WHAT          COST
    1        tool  a\u{1b}[2Jir  0.000042
    1        tool  tea           1.50
    ");
    let document = place.airlock(&["runs", &place.latest(), "--json"]).document();
    assert_eq!(document["data"]["journal"]["costs"][1]["micros"], 1_500_000);
}

#[test]
fn what_waits_for_a_person_is_listed_with_whoever_waits_longest_first() {
    let (place, desk) = Place::with_desk(UNASKED);
    assert_snapshot!(place.airlock(&["runs", "--state", "suspended"]), @"
    exit 0
    -- out
    -- err
    nothing waits for a person; `airlock runs` lists all
    ");
    for key in ["m1", "m2"] {
        lose_answer(&desk, "POST /mails", Moment::AfterWork);
        place.airlock(&["call", "desk.send_mail", MAIL, "--key", key]);
    }
    let listed = place.airlock(&["runs", "--state", "suspended", "--json"]).document();
    let runs = listed["data"]["runs"].as_array().unwrap();
    let ended: Vec<_> = runs.iter().map(|run| run["ended"].as_i64().unwrap()).collect();
    assert!(ended.len() == 2 && ended[0] <= ended[1], "{listed}");
    assert_eq!(runs[0]["state"], "suspended: unknown");
    let (first, second) = (runs[0]["run"].as_str().unwrap(), runs[1]["run"].as_str().unwrap());
    let shown = place.airlock(&["runs", "--state", "suspended"]).out;
    assert!(shown.find(first).unwrap() < shown.find(second).unwrap(), "{shown}");
}
