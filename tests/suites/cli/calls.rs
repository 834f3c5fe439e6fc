//! Tools and calls: what is shown, asked, answered and refused.

use std::fs;

use airlock_tests::backend::Count;
use airlock_tests::guests;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{MAIL, Place, TICKET};

/// A caller that looks orders up, and no more.
const READER: &str = r#"
[callers.reader]
permissions = ["order:read"]
max_risk = "L3"
"#;

#[test]
fn tools_are_listed_with_what_they_risk_and_who_is_asked() {
    let (place, _desk) = Place::with_desk(READER);
    assert_snapshot!(place.airlock(&["tools"]), @"
    exit 0
    -- out
    TOOL                RISK  REPEAT      ASKS      TITLE
    desk.assign_ticket  L3    idempotent  nobody    Assign a ticket
    desk.cancel_ticket  L4    idempotent  a person  Cancel a ticket
    desk.create_ticket  L3    keyed       nobody    Open a ticket
    desk.find_order     L2    reads       nobody    Find an order
    desk.send_mail      L4    once        a person  Send a mail
    -- err
    ");
    assert_snapshot!(place.airlock(&["tools", "--as", "reader"]), @"
    exit 0
    -- out
    TOOL                RISK  REPEAT      ASKS    TITLE
    desk.assign_ticket  L3    idempotent  nobody  Assign a ticket
    desk.create_ticket  L3    keyed       nobody  Open a ticket
    desk.find_order     L2    reads       nobody  Find an order
    -- err
    ");
    let document = place.airlock(&["tools", "--json"]).document();
    let names =
        document["data"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap());
    let all = ["assign_ticket", "cancel_ticket", "create_ticket", "find_order", "send_mail"];
    assert_eq!(names.collect::<Vec<_>>(), all.map(|name| format!("desk.{name}")));
}

#[test]
fn a_tool_is_shown_with_its_needs_and_its_schemas() {
    let (place, _desk) = Place::with_desk("");
    assert_snapshot!(place.airlock(&["tools", "desk.find_order"]), @"
    exit 0
    -- out
    desk.find_order: Find an order

    Looks up one order by its number or by the customer's name. Where several fit, the answer lists them: ask which one is meant.

    plugin       desk 0.1.0
    risk         L2: reads what the business keeps to itself
    repeat       reads: changes nothing
    cleanup      nothing is left behind
    asks         nobody
    permissions  order:read
    time         30s an attempt, by [limits] attempt

    DECLARED                                                            GRANTED
    config: desk_url                                                    yes: http://desk.test:12345
    secret: desk_token, sent to the origin in config desk_url           yes: desk_token
    http: GET the origin in config desk_url, /orders /orders/* (reads)  yes: http://desk.test:12345

    INPUT     TYPE    REQUIRED  MEANING
    name      string  no        The customer's name, or a part of it; letters, at least 1
    order_id  string  no        The order's number; where it is given, the name is not looked at; matches ^[A-Za-z0-9-]+$

    OUTPUT    TYPE    REQUIRED  MEANING
    order_id  string  yes
    name      string  yes       Who ordered
    city      string  yes
    status    string  yes       `paid`, `shipped`, `delivered`, `returned`
    total     string  yes       In the currency's main unit, with its decimals
    currency  string  yes       ISO 4217
    -- err
    ");
}

#[test]
fn a_tool_that_is_not_there_is_told_with_the_closest_that_the_caller_may_see() {
    let (place, desk) = Place::with_desk(READER);
    let shown = place.airlock(&["tools", "desk.find_ordr"]);
    assert_eq!(shown.to_string(), place.airlock(&["call", "desk.find_ordr"]).to_string());
    assert_snapshot!(shown, @r#"
    exit 1
    -- out
    -- err
    error[UNKNOWN_TOOL]: there is no such tool: desk.find_ordr; did you mean desk.find_order?
    hint: `airlock tools` lists the tools
    "#);
    let mail = place.airlock(&["call", "desk.send_mail", MAIL, "--as", "reader", "--json"]);
    assert_eq!(mail.document()["error"]["details"], json!({ "closest": [] }));
    assert_eq!((mail.exit, desk.counts().under("")), (Some(1), Count::default()));
}

#[test]
fn a_plugin_that_cannot_be_used_is_told_and_does_not_stop_the_others() {
    let place = Place::with_config("");
    place.with_plugin(guests::ECHO);
    std::fs::write(place.path().join("plugins/notes.wasm"), "no component").unwrap();
    assert_snapshot!(place.airlock(&["tools"]), @r#"
    exit 0
    -- out
    TOOL             RISK  REPEAT      ASKS    TITLE
    echo.echo        L1    reads       nobody  Echo
    echo.echo_write  L3    idempotent  nobody  Echo, on record
    -- err
    plugins/notes.wasm cannot be used:
      - it is no WebAssembly: it does not begin as WebAssembly does
    hint: put a component there, or remove the file
    "#);
    std::fs::remove_file(place.path().join("plugins/echo.wasm")).unwrap();
    assert_snapshot!(place.airlock(&["tools"]), @r#"
    exit 0
    -- out
    -- err
    plugins/notes.wasm cannot be used:
      - it is no WebAssembly: it does not begin as WebAssembly does
    hint: put a component there, or remove the file
    no tools: none of the plugins in plugins can be used
    "#);
}

#[test]
fn an_answer_is_indented_for_people_and_one_document_for_programs() {
    let (place, _desk) = Place::with_desk("");
    assert_snapshot!(place.airlock(&["call", "desk.find_order", r#"{"name":"Okafor"}"#]), @r#"
    exit 0
    -- out
    {
      "order_id": "A-1003",
      "name": "Okafor, Ada",
      "city": "Lagos",
      "status": "delivered",
      "total": "74.00",
      "currency": "EUR"
    }
    -- err
    "#);
    let ran = place.airlock(&["call", "desk.find_order", r#"{"name":"Okafor"}"#, "--json"]);
    let mut document = ran.document();
    for varies in ["run", "trace_id", "duration_ms", "fuel", "memory_bytes"] {
        assert!(!document["meta"][varies].is_null(), "{varies}: {document}");
        document["meta"][varies] = Value::Null;
    }
    assert_eq!((ran.exit, ran.err.as_str()), (Some(0), ""));
    insta::assert_json_snapshot!(document, @r#"
    {
      "ok": true,
      "data": {
        "order_id": "A-1003",
        "name": "Okafor, Ada",
        "city": "Lagos",
        "status": "delivered",
        "total": "74.00",
        "currency": "EUR"
      },
      "meta": {
        "run": null,
        "step": 1,
        "attempts": 1,
        "duration_ms": null,
        "fuel": null,
        "memory_bytes": null,
        "effects": 1,
        "cost_micros": 0,
        "replayed": false,
        "trace_id": null
      }
    }
    "#);
}

#[test]
fn input_comes_from_standard_input_where_it_is_not_an_argument() {
    let (place, desk) = Place::with_desk("");
    let order = r#"{"order_id":"A-1003"}"#;
    for arguments in [vec!["call", "desk.find_order"], vec!["call", "desk.find_order", "-"]] {
        let ran = place.airlock_reading(&arguments, order);
        assert_eq!((ran.exit, &ran.document()["name"]), (Some(0), &json!("Okafor, Ada")));
    }
    assert_eq!(desk.counts().of("GET /orders/A-1003"), Count { requests: 2, works: 2 });
    assert_snapshot!(place.airlock_reading(&["call", "desk.find_order"], ""), @r#"
    exit 1
    -- out
    -- err
    error[INVALID_INPUT]: the input of desk.find_order cannot be used
      - give the order's number or the customer's name
    hint: `airlock tools desk.find_order` shows the schema
    "#);
    assert_snapshot!(place.airlock_reading(&["call", "desk.find_order", "-"], ""), @r#"
    exit 1
    -- out
    -- err
    error[INVALID_INPUT]: the input of desk.find_order cannot be used
      - the input is no JSON: EOF while parsing a value at line 1 column 0
    hint: `airlock tools desk.find_order` shows the schema
    "#);
}

#[test]
fn every_fault_of_the_input_is_told_in_words() {
    let (place, desk) = Place::with_desk("");
    let input = r#"{"order":"A-1003","subject":"","body":7,"dry_run":true}"#;
    assert_snapshot!(place.airlock(&["call", "desk.create_ticket", input]), @r#"
    exit 1
    -- out
    -- err
    error[INVALID_INPUT]: the input of desk.create_ticket cannot be used, for 5 reasons
      - /order_id: is required and missing; give a string; for example "A-1003"
      - /subject: must have at least 1 character and has 0
      - /body: must be a string and is the number 7
      - /order: is no field here; did you mean `order_id`?
      - /dry_run: is no field here, and the input does not decide how the call is done; leave it out
    hint: `airlock tools desk.create_ticket` shows the schema
    "#);
    assert_eq!(desk.counts().under(""), Count::default());
}

#[test]
fn input_that_is_no_json_is_shown_with_the_place_where_it_stops_being_it() {
    let place = Place::with_config("");
    place.with_plugin(guests::ECHO);
    assert_snapshot!(place.airlock(&["call", "echo.echo", "{text: \"x\"}"]), @r#"
    exit 1
    -- out
    -- err
    error[INVALID_INPUT]: the input of echo.echo cannot be used
      - the input is no JSON: key must be a string at line 1 column 2
        {text: "x"}
         ^
    hint: `airlock tools echo.echo` shows the schema
    "#);
    let ran = place.airlock_reading(&["call", "echo.echo"], "{\n  \"text\": 'x'\n}\n");
    assert!(ran.err.contains("\n      \"text\": 'x'\n              ^\nhint: "), "{ran}");
    let ran = place.airlock(&["call", "echo.echo", "{text: \"x\"}", "--json"]);
    assert_eq!((ran.exit, ran.err.as_str()), (Some(1), ""));
    let ran = place.airlock(&["call", "echo.echo", r#"{"text": 7}"#]);
    assert!(!ran.err.contains('^'), "{ran}");
}

#[test]
fn a_tool_that_is_named_without_its_plugin_is_told_with_it_where_the_caller_may_see_it() {
    let (place, _desk) = Place::with_desk(READER);
    let told = |arguments: &[&str]| {
        let ran = place.airlock(arguments);
        assert_eq!(ran.exit, Some(1), "{ran}");
        ran.err
    };
    assert_snapshot!(told(&["call", "create_tickt"]), @r"
    error[UNKNOWN_TOOL]: there is no such tool: create_tickt; did you mean desk.create_ticket?
    hint: `airlock tools` lists the tools
    ");
    assert_snapshot!(told(&["tools", "find_order"]), @r"
    error[UNKNOWN_TOOL]: there is no such tool: find_order; did you mean desk.find_order?
    hint: `airlock tools` lists the tools
    ");
    assert_snapshot!(told(&["call", "send_mail", "--as", "reader"]), @r"
    error[UNKNOWN_TOOL]: there is no such tool: send_mail
    hint: `airlock tools --as reader` lists the tools
    ");
}

#[test]
fn a_value_that_is_missing_leads_to_the_lines_that_set_it() {
    let place = Place::with_config(
        "[plugin.desk]\nsecrets = [\"desk_token\"]\n[secrets]\ndesk_token = { env = \"DESK_TOKEN\" }\n",
    );
    place.with_plugin(guests::DESK);
    let ran = place.airlock(&["call", "desk.find_order", r#"{"order_id":"A-1003"}"#]);
    assert_snapshot!(ran, @r"
    exit 1
    -- out
    -- err
    error[NOT_CONFIGURED]: the configuration does not set desk_url
    hint: `airlock tools desk.find_order` shows what it lacks, and the lines to write
    ");
    assert!(place.airlock(&["tools", "desk.find_order"]).out.contains("config = { desk_url = \"…\" }"));
}

#[test]
fn a_key_that_gives_an_old_refusal_again_leads_on() {
    let place = Place::with_config(
        "[plugin.desk]\nsecrets = [\"desk_token\"]\n[secrets]\ndesk_token = { env = \"DESK_TOKEN\" }\n",
    );
    place.with_plugin(guests::DESK);
    let call = ["call", "desk.find_order", r#"{"order_id":"A-1003"}"#, "--key", "k1"];
    let hint = "hint: nothing was done by it: another --key, or none, makes the call anew\n";
    assert!(!place.airlock(&call).err.contains(hint), "the first one is no repeat");
    let again = place.airlock(&call);
    assert!(
        again.exit == Some(1) && again.err.contains("NOT_CONFIGURED") && again.err.contains(hint),
        "{again}"
    );
}

#[test]
fn a_backend_that_is_not_there_leads_to_the_log_that_says_why() {
    let (place, desk) = Place::with_desk("");
    drop(desk);
    let ran = place.airlock(&["call", "desk.find_order", r#"{"order_id":"A-1003"}"#]);
    assert_snapshot!(ran.told(), @r"
    exit 1
    -- out
    -- err
    error[BACKEND_UNREACHABLE]: the backend cannot be reached
    hint: ask again later
    hint: `airlock runs 0100000000000000000000RUN1` shows the log
    ");
    let shown = place.airlock(&["runs", &place.latest()]);
    assert!(shown.out.contains("refused"), "{shown}");
}

#[test]
fn several_candidates_are_told_one_by_one() {
    let (place, _desk) = Place::with_desk("");
    assert_snapshot!(place.airlock(&["call", "desk.find_order", r#"{"name":"Li"}"#]), @r#"
    exit 1
    -- out
    -- err
    error[AMBIGUOUS_ORDER]: 3 orders fit; ask which one is meant
      - order_id A-1001, name Li Wei, city Hamburg, status shipped, total 129.90, currency EUR
      - order_id A-1002, name Li Na, city Lyon, status paid, total 18.50, currency EUR
      - order_id A-1004, name Li Wei, city Berlin, status returned, total 349.00, currency EUR
    "#);
}

#[test]
fn the_same_key_gives_the_same_ticket_and_says_so() {
    let (place, desk) = Place::with_desk("");
    let arguments = ["call", "desk.create_ticket", TICKET, "--key", "k1"];
    assert_snapshot!(place.airlock(&arguments), @r#"
    exit 0
    -- out
    {
      "ticket_id": "T-1001",
      "url": "http://desk.test:12345/tickets/T-1001",
      "status": "open"
    }
    -- err
    "#);
    assert_snapshot!(place.airlock(&arguments).told(), @r#"
    exit 0
    -- out
    {
      "ticket_id": "T-1001",
      "url": "http://desk.test:12345/tickets/T-1001",
      "status": "open"
    }
    -- err
    note: this is the stored result of run 0100000000000000000000RUN1; nothing was run again
    "#);
    let document = place.airlock(&[arguments.as_slice(), &["--json"]].concat()).document();
    assert_eq!((&document["meta"]["replayed"], &document["meta"]["attempts"]), (&json!(true), &json!(1)));
    assert_eq!(desk.counts().of("POST /tickets"), Count { requests: 1, works: 1 });
}

#[test]
fn a_key_is_for_one_action() {
    let (place, desk) = Place::with_desk("");
    place.airlock(&["call", "desk.create_ticket", TICKET, "--key", "k1"]);
    let other = TICKET.replace("Lamp", "Chair");
    assert_snapshot!(place.airlock(&["call", "desk.create_ticket", &other, "--key", "k1"]).told(), @r#"
    exit 1
    -- out
    -- err
    error[KEY_REUSED]: the key was used before for another tool or another input, in run 0100000000000000000000RUN1; nothing was run. Take a fresh key for this call, or repeat the first one exactly
    hint: `airlock runs 0100000000000000000000RUN1` shows the call that has the key
    "#);
    assert_snapshot!(place.airlock(&["call", "desk.create_ticket", &other, "--key", "k 1"]), @r#"
    exit 1
    -- out
    -- err
    error[INVALID_KEY]: a key has 1 to 255 visible ASCII characters and no spaces; this one has something else at character 2
    hint: `airlock explain INVALID_KEY` says what to do
    "#);
    assert_eq!(desk.counts().tickets.len(), 1);
}

#[test]
fn what_needs_a_person_is_not_done_and_the_line_that_lets_it_run_is_told() {
    let (place, desk) = Place::with_desk("");
    assert_snapshot!(place.airlock(&["call", "desk.send_mail", MAIL]), @r#"
    exit 1
    -- out
    -- err
    error[NEEDS_PERSON]: a person must say yes to desk.send_mail, and nobody can be asked here
    hint: where nobody needs to be asked: `confirm = "none"` under [tools."desk.send_mail"] of airlock.toml; where one caller need not ask: `confirm = { "desk.send_mail" = "none" }` under [callers.NAME]
    "#);
    assert!(desk.counts().mails.is_empty());
    let (place, desk) = Place::with_desk("[tools.\"desk.send_mail\"]\nconfirm = \"none\"\n");
    assert_eq!(place.airlock(&["call", "desk.send_mail", MAIL]).exit, Some(0));
    assert_eq!(desk.counts().mails.len(), 1);
}

#[test]
fn a_permission_that_is_missing_is_named() {
    let (place, desk) = Place::with_desk(READER);
    assert_eq!(
        place.airlock(&["call", "desk.find_order", r#"{"name":"Okafor"}"#, "--as", "reader"]).exit,
        Some(0)
    );
    assert_snapshot!(place.airlock(&["call", "desk.create_ticket", TICKET, "--as", "reader"]), @r#"
    exit 1
    -- out
    -- err
    error[PERMISSION_DENIED]: the caller lacks a permission that desk.create_ticket asks for: ticket:write
    hint: `airlock explain PERMISSION_DENIED` says what to do
    "#);
    assert!(desk.counts().tickets.is_empty());
}

#[test]
fn a_request_that_is_not_granted_stays_inside_and_the_run_says_what_would_allow_it() {
    let (place, desk) = Place::with_desk("");
    let file = place.path().join("airlock.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("\"/tickets\", \"/tickets/**\", ", "")).unwrap();
    assert_snapshot!(place.airlock(&["call", "desk.create_ticket", TICKET]).told(), @r"
    exit 1
    -- out
    -- err
    error[REQUEST_REFUSED]: the operator has not granted this path for POST at this origin
    hint: `airlock runs 0100000000000000000000RUN1` shows the rule, and the line that would allow it where one would
    hint: `airlock explain REQUEST_REFUSED` says what to do
    ");
    let shown = place.airlock(&["runs", &place.latest()]);
    let line = shown.out.lines().find(|line| line.contains("host: refused")).unwrap_or_default();
    assert_snapshot!(line, @r#"   | host: refused POST http://desk.test:12345/tickets: the operator has not granted this path for POST at this origin; [[plugin.desk.http]] origin = "http://desk.test:12345", methods = ["POST"], paths = ["/tickets"] would allow it"#);
    assert_eq!(desk.counts().under("POST"), Count::default());
}

#[test]
fn files_go_with_a_call_and_what_comes_back_is_saved_over_nothing() {
    let place = Place::with_config("");
    place.with_plugin(guests::DISCREET);
    fs::write(place.path().join("notes"), "mine").unwrap();
    fs::create_dir(place.path().join("out")).unwrap();
    fs::write(place.path().join("out/notes"), "taken").unwrap();
    let input = r#"{"names":["../../up.txt"],"bytes":2}"#;
    let call = ["call", "discreet.give_back", input, "--attach", "notes:text/plain", "--out", "out"];
    assert_snapshot!(place.airlock(&call), @r#"
    exit 0
    -- out
    {
      "came": [
        "notes text/plain 4"
      ]
    }
    -- err
    attachment: notes, text/plain, 4 bytes
    attachment: up.txt, text/plain, 2 bytes
    saved out/notes-2
    saved out/up.txt
    "#);
    let read = |name: &str| fs::read_to_string(place.path().join("out").join(name)).unwrap();
    assert_eq!([read("notes"), read("notes-2"), read("up.txt")], ["taken", "mine", "xx"]);
    assert_snapshot!(place.airlock(&["call", "discreet.give_back", "{}", "--attach", "nowhere.txt"]), @"
    exit 2
    -- out
    -- err
    error[INVALID_USAGE]: nowhere.txt cannot be attached: No such file or directory (os error 2)
    ");
    fs::write(place.path().join("airlock.toml"), "[limits]\nattachments = \"3 B\"\n").unwrap();
    let refused = place.airlock(&["call", "discreet.give_back", "{}", "--attach", "notes"]);
    assert!(
        refused.err.contains("the attachments have 4 bytes and may have 3 ([limits] attachments)"),
        "{refused}"
    );
}

#[test]
fn a_long_result_is_cut_and_the_whole_is_printed_when_it_is_asked_for() {
    let place = Place::with_config("[limits]\nreply = \"2 KiB\"\n");
    place.with_plugin(guests::GREEDY);
    let called = place.airlock(&["call", "greedy.long_list", r#"{"items":1000}"#, "--key", "k"]);
    let run = place.latest();
    assert_snapshot!(called.err.replace(&run, "RUN"), @"
    note: the result is cut; the whole has 3903 bytes; 464 more items at /items
    hint: `airlock runs RUN --output` prints the whole
    ");
    let whole = place.airlock(&["runs", &run, "--output", "--json"]).document();
    assert_eq!(whole["data"]["items"], (0..1000).collect::<Value>());
    let shown = place.airlock(&["runs", &run]);
    assert!(
        shown.out.contains("`airlock runs RUN --output` prints the whole".replace("RUN", &run).as_str()),
        "{shown}"
    );
}

#[test]
fn a_run_shows_what_is_private_when_a_person_asks() {
    let place = Place::with_config("");
    place.with_plugin(guests::DISCREET);
    place.airlock(&["call", "discreet.customer", r#"{"email":"li@example.com","pin":"1234"}"#, "--key", "k"]);
    let run = place.latest();
    let usual = place.airlock(&["runs", &run]);
    let private = place.airlock(&["runs", &run, "--private"]);
    assert!(!usual.out.contains("li@example.com") && usual.out.contains("[private "), "{usual}");
    assert!(private.out.contains("asked for li@example.com with [hidden]"), "{private}");
    assert!(!private.out.contains("1234"), "{private}");
    let output = place.airlock(&["runs", &run, "--output"]);
    assert!(!output.out.contains("li@example.com") && !output.out.contains("tok-"), "{output}");
}

#[test]
fn what_comes_on_standard_input_is_text() {
    let (place, _desk) = Place::with_desk("");
    let (read, mut write) = std::io::pipe().unwrap();
    std::io::Write::write_all(&mut write, &[0xff, 0xfe]).unwrap();
    drop(write);
    assert_snapshot!(place.ran(place.command(&["call", "desk.find_order", "-"]).stdin(read)), @"
    exit 2
    -- out
    -- err
    error[INVALID_USAGE]: standard input cannot be read: stream did not contain valid UTF-8
    ");
    let place = Place::with_config("");
    place.with_plugin(guests::ECHO);
    fs::write(place.path().join("file"), "no folder").unwrap();
    assert_snapshot!(place.airlock(&["call", "echo.echo", "{}", "--out", "file/below"]), @"
    exit 2
    -- out
    -- err
    error[INVALID_USAGE]: the folder file/below cannot be made: Not a directory (os error 20)
    ");
}
