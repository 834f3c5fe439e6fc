//! The log: a line for each call and each attempt, as programs read it, with nothing in it that is not to be seen.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use airlock_tests::backend::{Fault, Moment};
use airlock_tests::guests;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{MAIL, Place, TICKET, lose_answer};

const FILE: &str = "[log]\nfile = \"airlock.log\"\n";

/// The lines of the file, with what differs from run to run made equal.
fn lines(place: &Place) -> Vec<Value> {
    let text = fs::read_to_string(place.path().join("airlock.log")).unwrap_or_default();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

fn shown(line: &Value) -> String {
    let mut line = line.clone();
    for (name, value) in line.as_object_mut().unwrap() {
        match name.as_str() {
            "time" | "run" | "trace_id" => *value = json!(name.to_uppercase()),
            "duration_ms" | "fuel" | "memory_bytes" => *value = json!("COUNTED"),
            _ => {}
        }
    }
    serde_json::to_string_pretty(&line).unwrap()
}

#[test]
fn every_call_and_every_attempt_has_its_line() {
    let (place, _desk) = Place::with_desk(FILE);
    let ran = place.airlock(&["call", "desk.create_ticket", TICKET, "--key", "k1"]);
    assert_eq!((ran.exit, &*ran.err), (Some(0), ""));
    let lines = lines(&place);
    assert_eq!(lines.len(), 2);
    assert_snapshot!(shown(&lines[0]), @r#"
    {
      "time": "TIME",
      "level": "info",
      "line": "attempt",
      "trace_id": "TRACE_ID",
      "run": "RUN",
      "step": 1,
      "tool": "desk.create_ticket",
      "caller": "local",
      "result": "ok",
      "retryable": false,
      "duration_ms": "COUNTED",
      "attempt": 1,
      "fuel": "COUNTED",
      "memory_bytes": "COUNTED",
      "effects": 1,
      "cost_micros": 0
    }
    "#);
    assert_snapshot!(shown(&lines[1]), @r#"
    {
      "time": "TIME",
      "level": "info",
      "line": "call",
      "trace_id": "TRACE_ID",
      "run": "RUN",
      "step": 1,
      "tool": "desk.create_ticket",
      "caller": "local",
      "result": "ok",
      "retryable": false,
      "duration_ms": "COUNTED",
      "attempts": 1,
      "fuel": "COUNTED",
      "memory_bytes": "COUNTED",
      "effects": 1,
      "cost_micros": 0
    }
    "#);
    assert_eq!((&lines[0]["run"], &lines[0]["trace_id"]), (&lines[1]["run"], &lines[1]["trace_id"]));
    let mode = fs::metadata(place.path().join("airlock.log")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_call_that_failed_tells_its_input_and_why() {
    let (place, desk) = Place::with_desk(&format!("{FILE}[tools.\"desk.send_mail\"]\nconfirm = \"none\"\n"));
    lose_answer(&desk, "POST /mails", Moment::AfterWork);
    assert_eq!(place.airlock(&["call", "desk.send_mail", MAIL, "--key", "m1"]).exit, Some(1));
    let lines = lines(&place);
    let told = |line: &Value, name: &str| line[name].clone();
    for line in &lines {
        assert_eq!(told(line, "code"), "OUTCOME_UNKNOWN", "{line}");
        assert_eq!(told(line, "result"), "unknown_outcome");
        assert_eq!((told(line, "level"), told(line, "retryable")), (json!("warn"), json!(false)));
        assert_eq!(line["input"]["subject"], "Lamp");
    }
    assert_eq!(lines.iter().map(|line| told(line, "line")).collect::<Vec<_>>(), ["attempt", "call"]);
    // Asked again with its key, it is answered with what is stored: no attempt, and a line that says so.
    place.airlock(&["call", "desk.send_mail", MAIL, "--key", "m1"]);
    let lines = self::lines(&place);
    assert_eq!(
        (lines.len(), told(&lines[2], "line"), told(&lines[2], "replayed")),
        (3, json!("call"), json!(true))
    );
}

#[test]
fn each_attempt_of_a_call_that_is_tried_again_has_its_line() {
    let (place, desk) = Place::with_desk_retrying(FILE);
    desk.fault("GET /orders/A-1001", Fault::status(Moment::BeforeWork, 503), 1);
    let found = place.airlock(&["call", "desk.find_order", r#"{"order_id":"A-1001"}"#]);
    assert_eq!(found.exit, Some(0), "{found}");
    let told = |line: &Value| {
        let number = line.get("attempt").or(line.get("attempts")).unwrap();
        format!("{} {} {number}", line["line"], line["result"])
    };
    assert_snapshot!(lines(&place).iter().map(told).collect::<Vec<_>>().join("\n"), @r#"
    "attempt" "transient" 1
    "attempt" "ok" 2
    "call" "ok" 2
    "#);
}

#[test]
fn what_is_refused_before_it_begins_has_a_line_too() {
    let place = Place::with_config(FILE);
    place.with_plugin(guests::ECHO);
    place.airlock(&["call", "echo.echo", r#"{"txet":"x"}"#]);
    place.airlock(&["call", "echo.nowhere", r#"{"card":"4111"}"#]);
    let lines = lines(&place);
    assert_snapshot!(shown(&lines[0]), @r#"
    {
      "time": "TIME",
      "level": "info",
      "line": "call",
      "trace_id": "TRACE_ID",
      "tool": "echo.echo",
      "caller": "local",
      "result": "invalid_input",
      "code": "INVALID_INPUT",
      "message": "the input of echo.echo cannot be used, for 2 reasons; /txet: is no field here; did you mean `text`?; /text: is required and missing; give a string",
      "input": {
        "txet": "x"
      },
      "retryable": false,
      "duration_ms": "COUNTED",
      "attempts": 0,
      "fuel": "COUNTED",
      "memory_bytes": "COUNTED",
      "effects": 0,
      "cost_micros": 0
    }
    "#);
    assert_snapshot!(shown(&lines[1]), @r#"
    {
      "time": "TIME",
      "level": "info",
      "line": "call",
      "trace_id": "TRACE_ID",
      "tool": "echo.nowhere",
      "caller": "local",
      "result": "invalid_input",
      "code": "UNKNOWN_TOOL",
      "message": "there is no such tool: echo.nowhere",
      "retryable": false,
      "duration_ms": "COUNTED",
      "attempts": 0,
      "fuel": "COUNTED",
      "memory_bytes": "COUNTED",
      "effects": 0,
      "cost_micros": 0
    }
    "#);
    assert_eq!(lines.len(), 2);
}

#[test]
fn what_is_private_hidden_or_secret_stands_in_no_line() {
    let secret = "[secrets]\nkey = { env = \"DESK_TOKEN\" }\n";
    let place = Place::with_config(&format!("{FILE}{secret}"));
    place.with_plugin(guests::DISCREET);
    let call = |input: Value| place.airlock(&["call", "discreet.customer", &input.to_string()]);
    call(json!({ "email": "li@example.com", "pin": "0042", "fail": true }));
    call(json!({ "email": "desk-token", "pin": "x", "fail": true }));
    call(json!({ "email": "li@example.com", "pin": 42, "fail": "li@example.com" }));
    let text = fs::read_to_string(place.path().join("airlock.log")).unwrap();
    for hidden in ["li@example.com", "0042", "tok-1234567", "desk-token"] {
        assert!(!text.contains(hidden), "{hidden}: {text}");
    }
    let lines = lines(&place);
    let email = lines[0]["input"]["email"].as_str().unwrap();
    assert!(email.starts_with("[private "), "{email}");
    assert_eq!(lines[0]["message"], format!("there is no customer {email}"));
    assert_eq!(lines[1]["input"], json!({ "email": email, "fail": true }));
    assert_eq!(lines[1]["message"], lines[0]["message"]);
}

#[test]
fn a_long_input_is_cut() {
    let place = Place::with_config(FILE);
    place.with_plugin(guests::ECHO);
    let input = json!({ "txet": "x".repeat(20_000) }).to_string();
    place.airlock(&["call", "echo.echo", &input]);
    let lines = lines(&place);
    let told = lines[0]["input"].as_str().unwrap();
    assert!(told.len() < 9000 && told.ends_with("characters more]"), "{}", told.len());
}

#[test]
fn text_is_for_people() {
    let place = Place::with_config(&format!("{FILE}format = \"text\"\n"));
    place.with_plugin(guests::ECHO);
    place.airlock(&["call", "echo.echo", r#"{"text":"x"}"#]);
    place.airlock(&["call", "echo.echo", r#"{"text":7}"#]);
    let text = fs::read_to_string(place.path().join("airlock.log")).unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 3);
    assert!(lines[0].contains("Z  INFO attempt trace_id="), "{text}");
    assert!(lines[1].contains(" tool=echo.echo caller=local result=ok retryable=false "), "{text}");
    assert!(lines[2].contains(r#" code=INVALID_INPUT message="the input of echo.echo"#), "{text}");
}

#[test]
fn nobody_at_the_command_line_is_told_lines_that_they_did_not_ask_for() {
    let place = Place::with_config("[log]\nformat = \"json\"\n");
    place.with_plugin(guests::ECHO);
    let ran = place.airlock(&["call", "echo.echo", r#"{"text":"x"}"#]);
    assert_eq!((ran.exit, &*ran.err), (Some(0), ""));
}

#[test]
fn a_file_that_cannot_be_written_is_told_before_anything_runs() {
    let place = Place::with_config("[log]\nfile = \"nowhere/airlock.log\"\n");
    place.with_plugin(guests::ECHO);
    assert_snapshot!(place.airlock(&["call", "echo.echo", r#"{"text":"x"}"#]), @"
    exit 2
    -- out
    -- err
    error[INVALID_USAGE]: the log cannot be written to nowhere/airlock.log: No such file or directory (os error 2)
    hint: make its folder, or name another file under [log] of airlock.toml
    ");
    let place = Place::with_config("[log]\nfile = \"plugins\"\nformat = \"yaml\"\n");
    place.with_plugin(guests::ECHO);
    assert_snapshot!(place.airlock(&["call", "echo.echo", r#"{"text":"x"}"#]), @r#"
    exit 2
    -- out
    -- err
    error: HOME/plugins cannot be written: it is a folder
     --> airlock.toml:2:8
      |
    2 | file = "plugins"
      |        ^^^^^^^^^ the name of a file

    error: `log.format` cannot be read
     --> airlock.toml:3:10
      |
    3 | format = "yaml"
      |          ^^^^^^ "json" where programs read it, "text" where people do

    airlock.toml has 2 faults
    "#);
}

#[test]
fn a_folder_with_the_log_in_it_is_not_lent_for_writing() {
    let place = Place::with_config(
        "[log]\nfile = \"logs/airlock.log\"\n[plugin.scribe.directories]\nnotes = { path = \"logs\", access = \"write\" }\n",
    );
    place.with_plugin(guests::SCRIBE);
    fs::create_dir(place.path().join("logs")).unwrap();
    assert_snapshot!(place.airlock(&["call", "scribe.write", "{}"]), @r#"
    exit 2
    -- out
    -- err
    error: HOME/logs cannot be lent for writing: it lies in the folder of the configuration and its lock
     --> airlock.toml:4:18
      |
    4 | notes = { path = "logs", access = "write" }
      |                  ^^^^^^ a folder apart from those that the host goes by
      |
      = help: lend another folder, or this one with access = "read"
    "#);
}
