//! Backends that are left alone, listed and held by a person, and calls that were tried again, shown with their run.

use airlock_tests::backend::{Fault, Moment};
use insta::assert_snapshot;
use serde_json::json;

use super::Place;

const ORDER: &str = r#"{"order_id":"A-1001"}"#;

#[test]
fn a_backend_that_keeps_failing_is_listed_and_left_alone() {
    let (place, desk) = Place::with_desk("");
    assert_snapshot!(place.airlock(&["breakers"]), @"
    exit 0
    -- out
    -- err
    every breaker is closed: no backend failed of late, and no operator said anything
    ");
    assert_eq!(place.airlock(&["breakers", "--json"]).document()["data"], json!({ "breakers": [] }));
    desk.fault("/orders", Fault::status(Moment::BeforeWork, 500), 5);
    for _ in 0..5 {
        place.airlock(&["call", "desk.find_order", ORDER]);
    }
    let listed = place.airlock(&["breakers"]);
    assert!(listed.out.contains("http://desk.test:12345  open     0"), "{listed}");
    let document = place.airlock(&["breakers", "--json"]).document();
    let breaker = &document["data"]["breakers"][0];
    assert_eq!((&breaker["tool"], &breaker["state"]), (&json!("desk.find_order"), &json!("open")));
    assert_eq!((&breaker["forced"], &breaker["retry_tokens"]), (&json!(null), &json!(100)));
    let refused = place.airlock(&["call", "desk.find_order", ORDER]);
    assert_eq!(refused.exit, Some(1));
    assert!(refused.err.contains("error[CIRCUIT_OPEN]"), "{refused}");
    assert!(!refused.err.contains("ERROR"), "the log is for who reads the log: {refused}");
    assert!(
        refused.err.contains("hint: `airlock breakers` shows which backend, since when and until when; `airlock breakers close desk.find_order` lets calls through all the same"),
        "{refused}"
    );
    assert_snapshot!(place.airlock(&["breakers", "close", "desk.find_order"]), @"
    exit 0
    -- out
    every call of desk.find_order is let through to http://desk.test:12345
    -- err
    ");
    assert_eq!(place.airlock(&["call", "desk.find_order", ORDER]).exit, Some(0));
    assert!(place.airlock(&["breakers"]).out.contains("closed, by an operator"));
    assert_snapshot!(place.airlock(&["breakers", "auto", "desk.find_order"]), @"
    exit 0
    -- out
    the host decides which calls of desk.find_order are let through to http://desk.test:12345
    -- err
    ");
}

#[test]
fn a_person_holds_a_breaker_open_until_it_is_left_to_the_host_again() {
    let (place, desk) = Place::with_desk("");
    let url = desk.url.as_str();
    assert_snapshot!(place.airlock(&["breakers", "open", "desk.find_order", "--origin", url]), @"
    exit 0
    -- out
    no call of desk.find_order is let through to http://desk.test:12345
    -- err
    ");
    assert_eq!(
        place.airlock(&["breakers", "open", "desk.find_order", "--json"]).document()["data"],
        json!({ "tool": "desk.find_order", "origins": ["http://desk.test:12345"], "forced": "open" })
    );
    assert_snapshot!(place.airlock(&["breakers"]), @"
    exit 0
    -- out
    TOOL             ORIGIN                  BREAKER               FAILED IN A ROW  RETRY TOKENS  OPEN UNTIL
    desk.find_order  http://desk.test:12345  open, by an operator  0                100
    -- err
    ");
    assert_eq!(place.airlock(&["call", "desk.find_order", ORDER]).exit, Some(1));
    assert_eq!(place.airlock(&["breakers", "auto", "desk.find_order"]).exit, Some(0));
    assert_eq!(place.airlock(&["call", "desk.find_order", ORDER]).exit, Some(0));
}

#[test]
fn what_is_not_there_cannot_be_held() {
    let (place, _desk) = Place::with_desk("");
    assert_snapshot!(place.airlock(&["breakers", "open", "desk.find_ordr"]), @"
    exit 1
    -- out
    -- err
    error[UNKNOWN_TOOL]: there is no such tool: desk.find_ordr; did you mean desk.find_order?
    hint: `airlock tools` lists the tools
    ");
    assert_snapshot!(place.airlock(&["breakers", "open", "desk.find_order", "--origin", "http://elsewhere.test"]), @"
    exit 1
    -- out
    -- err
    error[INVALID_INPUT]: desk.find_order does not go there, but to http://desk.test:12345: http://elsewhere.test
    ");
    assert_snapshot!(place.airlock(&["breakers", "shut"]), @"
    exit 2
    -- out
    -- err
    error: unrecognized subcommand 'shut'

    Usage: airlock breakers [OPTIONS] [COMMAND]

    For more information, try '--help'.
    ");
}

#[test]
fn a_call_that_was_tried_again_is_shown_with_each_attempt_and_each_wait() {
    let (place, desk) = Place::with_desk_retrying("[retries]\nbase = \"1ms\"\n");
    desk.fault("POST /tickets", Fault::status(Moment::BeforeWork, 429), 1);
    let called = place.airlock(&["call", "desk.create_ticket", super::TICKET]);
    assert_eq!(called.exit, Some(0), "{called}");
    assert_snapshot!(place.airlock(&["runs", &place.latest()]).told(), @r#"
    exit 0
    -- out
    run       0100000000000000000000RUN1
    state     completed
    tool      desk.create_ticket
    caller    local
    key       airlock-0100000000000000000000RUN1
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
    1. 2026-01-31T08:00:00.000Z  BACKEND_THROTTLED after 1ms
       plugin ffffffffffff, fuel 1000, memory 1000 bytes
       | warn: the backend answered with status 429 {"code":"BACKEND_THROTTLED"}
    2. 2026-01-31T08:00:00.000Z  ok after 1ms
       plugin ffffffffffff, fuel 1000, memory 1000 bytes

    effects
    ATTEMPT  NO  REQUEST                              REPEAT  STATE         STATUS  KEY
    1        1   POST http://desk.test:12345/tickets  keyed   failed_clean  429     ffffffffffffffffffffffffffffffff
    2        1   POST http://desk.test:12345/tickets  keyed   done          201     ffffffffffffffffffffffffffffffff

    events
    2026-01-31T08:00:00.000Z  began
    2026-01-31T08:00:00.000Z  failed, and is to be tried again
    2026-01-31T08:00:00.000Z  tried again
    2026-01-31T08:00:00.000Z  completed
    -- err
    "#);
}

#[test]
fn a_tool_that_goes_nowhere_has_no_breaker_that_could_be_held() {
    let place = Place::with_config("");
    place.with_plugin(airlock_tests::guests::ECHO);
    assert_snapshot!(place.airlock(&["breakers", "open", "echo.echo"]), @"
    exit 1
    -- out
    -- err
    error[INVALID_INPUT]: no breaker stands between echo.echo and where it goes: it sends nothing, or nothing of it is granted
    ");
}

#[test]
fn the_columns_are_explained_where_the_command_is() {
    let help = Place::new().airlock(&["breakers", "--help"]).out;
    assert!(help.contains("RETRY TOKENS: ") && help.contains("FAILED IN A ROW: "), "{help}");
}

#[test]
fn what_may_do_instead_and_which_layer_of_time_ended_a_call_are_told() {
    let lines =
        "[limits]\nread = \"100ms\"\n[tools.\"desk.find_order\"]\nfallback = \"desk.create_ticket\"\n";
    let (place, desk) = Place::with_desk(lines);
    desk.fault("/orders", Fault::hang(Moment::BeforeWork), 1);
    assert_snapshot!(place.airlock(&["call", "desk.find_order", ORDER]).told(), @"
    exit 1
    -- out
    -- err
    error[ANSWER_BROKEN]: the answer broke off; a request took longer than 100ms ([limits] read)
    hint: another tool may do instead: `airlock call desk.create_ticket …`; `airlock tools desk.create_ticket` shows what it takes
    hint: ask again later
    ");
    place.airlock(&["breakers", "open", "desk.find_order"]);
    assert_snapshot!(place.airlock(&["call", "desk.find_order", ORDER]).told(), @"
    exit 1
    -- out
    -- err
    error[CIRCUIT_OPEN]: an operator lets no call of desk.find_order through for now; nothing was run
    hint: another tool may do instead: `airlock call desk.create_ticket …`; `airlock tools desk.create_ticket` shows what it takes
    hint: `airlock breakers` shows which backend, since when and until when; `airlock breakers auto desk.find_order` leaves it to the host again
    ");
}
