//! How calls went: counted from the journal, tool by tool.

use airlock_tests::backend::Moment;
use airlock_tests::guests;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{MAIL, Place, TICKET, lose_answer};

const UNASKED: &str = "[tools.\"desk.send_mail\"]\nconfirm = \"none\"\n";

/// Figures as they stand in the document, durations apart: they are what they are.
fn figures(document: &Value) -> String {
    let tools = document["data"]["tools"].as_array().unwrap();
    let line = |tool: &Value| {
        let failures = tool["failures"].as_array().unwrap().iter();
        let failures = failures.map(|one| format!("{} {}", one["code"].as_str().unwrap(), one["calls"]));
        let timed = ["p50", "p95", "p99"].map(|part| tool["duration_ms"][part].is_u64());
        format!(
            "{}: {} calls, {} ok, {} failed, {} refused, {} running, rate {}, attempts {} ({}), cost {}, timed {timed:?}; {}",
            tool["tool"].as_str().unwrap(),
            tool["calls"],
            tool["ok"],
            tool["failed"],
            tool["refused"],
            tool["running"],
            tool["success_rate"],
            tool["attempts"],
            tool["attempts_per_call"],
            tool["cost_micros"],
            failures.collect::<Vec<_>>().join(", ")
        )
    };
    tools.iter().map(|tool| line(tool).trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

#[test]
fn calls_are_counted_tool_by_tool() {
    let (place, desk) = Place::with_desk(UNASKED);
    place.with_plugin(guests::NOTEBOOK);
    place.airlock(&["call", "desk.create_ticket", TICKET, "--key", "k1"]);
    place.airlock(&["call", "desk.create_ticket", TICKET, "--key", "k1"]);
    place.airlock(&["call", "desk.find_order", r#"{"name":"Li"}"#]);
    place.airlock(&["call", "desk.find_order", r#"{"order_id":"Z-9"}"#]);
    place.airlock(&["call", "desk.find_order", r#"{"order_id":"A-1001"}"#]);
    place.airlock(&["call", "desk.find_order", r#"{"order":"A-1001"}"#]);
    place.airlock(&["call", "notebook.bare", r#"{"lines":["spend 1500000 tea"]}"#]);
    lose_answer(&desk, "POST /mails", Moment::AfterWork);
    place.airlock(&["call", "desk.send_mail", MAIL, "--key", "m1"]);
    assert_snapshot!(figures(&place.airlock(&["stats", "--json"]).document()), @"
    desk.create_ticket: 1 calls, 1 ok, 0 failed, 0 refused, 0 running, rate 1.0, attempts 1 (1.0), cost 0, timed [true, true, true];
    desk.find_order: 4 calls, 1 ok, 2 failed, 1 refused, 0 running, rate 0.3333, attempts 3 (1.0), cost 0, timed [true, true, true]; AMBIGUOUS_ORDER 1, INVALID_INPUT 1, ORDER_NOT_FOUND 1
    desk.send_mail: 1 calls, 0 ok, 1 failed, 0 refused, 0 running, rate 0.0, attempts 1 (1.0), cost 0, timed [true, true, true]; OUTCOME_UNKNOWN 1
    notebook.bare: 1 calls, 1 ok, 0 failed, 0 refused, 0 running, rate 1.0, attempts 1 (1.0), cost 1500000, timed [true, true, true];
    ");
    let one = place.airlock(&["stats", "--tool", "desk.send_mail", "--json"]).document();
    assert_snapshot!(figures(&one), @"desk.send_mail: 1 calls, 0 ok, 1 failed, 0 refused, 0 running, rate 0.0, attempts 1 (1.0), cost 0, timed [true, true, true]; OUTCOME_UNKNOWN 1");
    let plugin = place.airlock(&["stats", "--tool", "notebook.*", "--since", "5m", "--json"]).document();
    assert_snapshot!(figures(&plugin), @"notebook.bare: 1 calls, 1 ok, 0 failed, 0 refused, 0 running, rate 1.0, attempts 1 (1.0), cost 1500000, timed [true, true, true];");
}

#[test]
fn a_table_is_for_people() {
    let (place, _desk) = Place::with_desk("");
    place.airlock(&["call", "desk.find_order", r#"{"order_id":"Z-9"}"#]);
    place.airlock(&["call", "desk.find_order", r#"{"order_id":"A-1001"}"#]);
    let ran = place.airlock(&["stats"]);
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = ran.out.lines().map(words).collect();
    assert_eq!(lines[0], "TOOL CALLS OK FAILED REFUSED RUNNING SUCCESS P50 P95 P99 ATTEMPTS COST");
    assert!(lines[1].starts_with("desk.find_order 2 1 1 0 0 50.0 % "), "{ran}");
    assert!(lines[1].ends_with(" 1.00 0.00"), "{ran}");
    assert_eq!(lines[2..], ["", "TOOL CODE CALLS", "desk.find_order ORDER_NOT_FOUND 1"]);
}

#[test]
fn where_nothing_was_called_it_says_so() {
    let place = Place::with_config("");
    assert_snapshot!(place.airlock(&["stats"]), @"
    exit 0
    -- out
    -- err
    no such calls within 1day; `airlock stats --since 30days` looks further back
    ");
    assert_eq!(place.airlock(&["stats", "--json"]).document()["data"]["tools"], json!([]));
    place.with_plugin(guests::ECHO);
    place.airlock(&["call", "echo.echo", r#"{"text":"x"}"#]);
    assert_snapshot!(place.airlock(&["stats", "--tool", "desk.*"]), @"
    exit 0
    -- out
    -- err
    no such calls within 1day; `airlock stats --since 30days` looks further back
    ");
}

#[test]
fn what_cannot_be_understood_is_told() {
    let place = Place::with_config("");
    assert_snapshot!(place.airlock(&["stats", "--since", "yesterday"]), @"
    exit 2
    -- out
    -- err
    error: invalid value 'yesterday' for '--since <TIME>': a time with its unit, such as 30m, 24h or 7days

    For more information, try '--help'.
    ");
    assert_snapshot!(place.airlock(&["stats", "--tool", "desk"]), @"
    exit 2
    -- out
    -- err
    error: invalid value 'desk' for '--tool <PATTERN>': a tool, a plugin with .*, or *, such as desk.*

    For more information, try '--help'.
    ");
}

#[test]
fn calls_that_were_refused_are_counted_and_traced_with_the_others() {
    let (place, _desk) =
        Place::with_desk("[callers.reader]\npermissions = [\"order:read\"]\nmax_risk = \"L4\"\n");
    let order = r#"{"order_id":"A-1001"}"#;
    place.airlock(&["call", "desk.find_order", order]);
    place.airlock(&["call", "desk.find_order", r#"{"order":1}"#]);
    place.airlock(&["call", "desk.create_ticket", TICKET, "--as", "reader"]);
    place.airlock(&["call", "desk.send_mail", MAIL]);
    place.airlock(&["breakers", "open", "desk.find_order"]);
    for _ in 0..3 {
        place.airlock(&["call", "desk.find_order", order]);
    }
    place.airlock(&["call", "nothing at all", "{}"]);
    assert_snapshot!(figures(&place.airlock(&["stats", "--json"]).document()), @"
    desk.create_ticket: 1 calls, 0 ok, 0 failed, 1 refused, 0 running, rate null, attempts 0 (0.0), cost 0, timed [false, false, false]; PERMISSION_DENIED 1
    desk.find_order: 5 calls, 1 ok, 0 failed, 4 refused, 0 running, rate 1.0, attempts 1 (1.0), cost 0, timed [true, true, true]; CIRCUIT_OPEN 3, INVALID_INPUT 1
    desk.send_mail: 1 calls, 0 ok, 0 failed, 1 refused, 0 running, rate null, attempts 0 (0.0), cost 0, timed [false, false, false]; NEEDS_PERSON 1
    ");
    let shut = place.airlock(&["call", "desk.find_order", order, "--json"]).document();
    let trace = shut["meta"]["trace_id"].as_str().unwrap().to_owned();
    let traced = place.airlock(&["trace", &trace]);
    assert_snapshot!(traced.told().replace(&trace, "TRACE"), @"
    exit 0
    -- out
    trace  ffffffffffffffffffffffffffffffff
    calls  1, 0 of them ok, 1 refused

    1. 2026-01-31T08:00:00.000Z  desk.find_order  CIRCUIT_OPEN
       refused, by local
    -- err
    ");
    let document = place.airlock(&["trace", &trace, "--json"]).document();
    assert_eq!(document["data"]["runs"], json!([]));
    let refused = &document["data"]["refused"][0];
    assert_eq!((&refused["tool"], &refused["code"]), (&json!("desk.find_order"), &json!("CIRCUIT_OPEN")));
}
