//! What can be called, and one tool in full.

use std::process::{Command, Stdio};

use airlock_tests::guests;
use insta::assert_snapshot;

use super::Place;

#[test]
fn tools_are_listed_with_what_they_risk() {
    let (place, _desk) = Place::with_desk("");
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
}

#[test]
fn a_tool_is_shown_with_what_it_declares_beside_what_it_is_granted() {
    let (place, _desk) =
        Place::with_desk("[tools.\"desk.create_ticket\"]\ntimeout = \"20s\"\nconfirm = \"person\"\n");
    assert_snapshot!(place.airlock(&["tools", "desk.create_ticket"]), @r#"
    exit 0
    -- out
    desk.create_ticket: Open a ticket

    Opens a ticket about an order, for a person at the desk to work on. Look the order up first; one ticket for one matter.

    plugin       desk 0.1.0
    risk         L3: writes what is easily put right
    repeat       keyed: the backend takes a key and does it once
    cleanup      a rollback may put it right unattended
    asks         a person, before each call
    permissions  ticket:write
    time         20s an attempt, by [tools."desk.create_ticket"] timeout

    DECLARED                                                                            GRANTED
    config: desk_url                                                                    yes: http://desk.test:12345
    secret: desk_token, sent to the origin in config desk_url                           yes: desk_token
    http: POST the origin in config desk_url, /tickets (keyed, key in Idempotency-Key)  yes: http://desk.test:12345
    http: GET the origin in config desk_url, /tickets /tickets/* (reads)                yes: http://desk.test:12345
    http: POST the origin in config desk_url, /tickets/*/cancel (idempotent)            yes: http://desk.test:12345

    INPUT              TYPE                       REQUIRED  MEANING
    order_id           string                     yes       The number of the order that the ticket is about; letters, 1 to 64; such as A-1003
    subject            string                     yes       What it is about, in one line; letters, 1 to 200
    body               string                     yes       What the customer said, and what should be done; letters, 1 to 10000
    priority           "low" | "normal" | "high"  no        How soon somebody should look; else normal
    airlock_repeat_of  string                     no        Leave it out. To do the same once more on purpose, give the run that an ALREADY_DONE or ALREADY_RUNNING answer names

    OUTPUT     TYPE    REQUIRED  MEANING
    ticket_id  string  yes
    url        string  yes       Where people read it
    status     string  yes       `open`, `cancelled`
    -- err
    "#);
}

#[test]
fn a_tool_that_is_granted_nothing_is_shown_with_the_lines_that_would() {
    let place = Place::with_config("");
    place.with_plugin(guests::DESK);
    assert_snapshot!(place.airlock(&["tools", "desk.find_order"]), @r#"
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
    config: desk_url                                                    no
    secret: desk_token, sent to the origin in config desk_url           no
    http: GET the origin in config desk_url, /orders /orders/* (reads)  no

    to grant the rest, write into the configuration:
      [plugin.desk]
      config = { desk_url = "…" }
      secrets = ["desk_token"]

      [[plugin.desk.http]]
      origin = "…"
      methods = ["GET"]
      paths = ["/orders", "/orders/*"]

      [secrets]
      desk_token = { env = "DESK_TOKEN" }

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
    "#);
    let document = place.airlock(&["tools", "desk.find_order", "--json"]).document();
    assert_eq!(document["data"]["needs"][0]["granted"], "nothing");
    assert_eq!(document["data"]["tool"]["risk"], "L2");
    assert!(document["data"]["lines"].as_str().unwrap().starts_with("[plugin.desk]\n"));
}

#[test]
fn every_shell_is_given_a_script_that_knows_every_command() {
    let place = Place::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let ran = place.airlock(&["completions", shell]);
        assert_eq!((ran.exit, ran.err.as_str()), (Some(0), ""), "{shell}");
        for command in ["init", "tools", "call", "runs", "decide", "trust", "check", "doctor", "completions"]
        {
            assert!(ran.out.contains(command), "{shell}: {command}");
        }
        assert!(!ran.out.contains("compile-plugin"), "{shell}: what is hidden stays so");
        let document = place.airlock(&["completions", shell, "--json"]).document();
        assert_eq!(document["data"]["script"].as_str().unwrap(), ran.out.trim_end());
    }
}

#[test]
fn the_script_for_bash_is_one() {
    let script = Place::new().airlock(&["completions", "bash"]).out;
    let asked = format!(
        "{script}\nCOMP_WORDS=(airlock do); COMP_CWORD=1; _airlock airlock do airlock; echo \"${{COMPREPLY[*]}}\""
    );
    let ran = Command::new("bash").args(["-c", &asked]).stdin(Stdio::null()).output().unwrap();
    assert_eq!(String::from_utf8(ran.stdout).unwrap().trim(), "doctor");
}

#[test]
fn without_a_folder_of_plugins_nothing_is_called_and_the_line_that_mends_it_is_told() {
    let place = Place::with_config("plugins = \"elsewhere\"\n");
    let [call, mcp] = [["call", "echo.echo", "{}"].as_slice(), &["mcp"]].map(|args| place.airlock(args));
    assert_snapshot!(call, @r"
    exit 2
    -- out
    -- err
    error: the folder of plugins cannot be read: elsewhere: No such file or directory (os error 2)
     |
     = help: make the folder, or name another with `plugins`
    ");
    assert_eq!((mcp.exit, mcp.err), (call.exit, call.err));
    assert_snapshot!(place.airlock(&["tools"]), @r"
    exit 2
    -- out
    -- err
    error: the folder of plugins cannot be read: elsewhere: No such file or directory (os error 2)
     |
     = help: make the folder, or name another with `plugins`
    ");
}

#[test]
fn a_need_that_is_granted_in_part_is_shown_with_what_is_missing_and_only_that_is_advised() {
    let config = r#"
[plugin.desk]
config = { desk_url = "http://127.0.0.1:8080" }

[[plugin.desk.http]]
origin = "http://127.0.0.1:8080"
methods = ["GET"]
paths = ["/orders/A-1", "/tickets"]
addresses = ["127.0.0.1"]
"#;
    let place = Place::with_config(config);
    place.with_plugin(guests::DESK);
    let shown = |tool: &str| {
        let out = place.airlock(&["tools", tool]).out;
        let from = out.find("DECLARED").unwrap();
        out[from..out.find("\nINPUT").unwrap()].trim_end().to_owned()
    };
    assert_snapshot!(shown("desk.find_order"), @r#"
    DECLARED                                                            GRANTED
    config: desk_url                                                    yes: http://127.0.0.1:8080
    secret: desk_token, sent to the origin in config desk_url           no
    http: GET the origin in config desk_url, /orders /orders/* (reads)  in part: http://127.0.0.1:8080, GET /orders/A-1; not GET /orders, the rest of GET /orders/*

    to grant the rest, write into the configuration:
      # in place of what stands there
      [plugin.desk]
      config = { desk_url = "http://127.0.0.1:8080" }
      secrets = ["desk_token"]

      [[plugin.desk.http]]
      origin = "http://127.0.0.1:8080"
      methods = ["GET"]
      paths = ["/orders", "/orders/*"]
      addresses = ["127.0.0.1"]

      [secrets]
      desk_token = { env = "DESK_TOKEN" }
    "#);
    assert_snapshot!(shown("desk.create_ticket"), @r#"
    DECLARED                                                                            GRANTED
    config: desk_url                                                                    yes: http://127.0.0.1:8080
    secret: desk_token, sent to the origin in config desk_url                           no
    http: POST the origin in config desk_url, /tickets (keyed, key in Idempotency-Key)  no
    http: GET the origin in config desk_url, /tickets /tickets/* (reads)                in part: http://127.0.0.1:8080, GET /tickets; not GET /tickets/*
    http: POST the origin in config desk_url, /tickets/*/cancel (idempotent)            no

    to grant the rest, write into the configuration:
      # in place of what stands there
      [plugin.desk]
      config = { desk_url = "http://127.0.0.1:8080" }
      secrets = ["desk_token"]

      [[plugin.desk.http]]
      origin = "http://127.0.0.1:8080"
      methods = ["GET"]
      paths = ["/tickets/*"]
      addresses = ["127.0.0.1"]

      [[plugin.desk.http]]
      origin = "http://127.0.0.1:8080"
      methods = ["POST"]
      paths = ["/tickets", "/tickets/*/cancel"]
      addresses = ["127.0.0.1"]

      [secrets]
      desk_token = { env = "DESK_TOKEN" }
    "#);
    let document = place.airlock(&["tools", "desk.find_order", "--json"]).document();
    let need = &document["data"]["needs"][2];
    assert_eq!((&need["granted"], &need["missing"][0]), (&"part".into(), &"GET /orders".into()), "{need}");
    assert_eq!(need["given"], "http://127.0.0.1:8080, GET /orders/A-1");
}

#[test]
fn tools_are_listed_for_whoever_mends_what_is_granted() {
    let place =
        Place::with_config("[plugin.echo]\nconfig = { a = 5 }\n[secrets]\ntoken = { env = \"NONE_SUCH\" }\n");
    place.with_plugin(guests::ECHO);
    assert_snapshot!(place.airlock(&["tools"]), @r#"
    exit 2
    -- out
    TOOL             RISK  REPEAT      ASKS    TITLE
    echo.echo        L1    reads       nobody  Echo
    echo.echo_write  L3    idempotent  nobody  Echo, on record
    -- err
    error: `plugin.echo.config.a` is a number
     --> airlock.toml:2:16
      |
    2 | config = { a = 5 }
      |                ^ a text in quotes
      |
      = help: write it in quotes

    error: the secret `token` is missing: the variable NONE_SUCH is not set
     --> airlock.toml:4:17
      |
    4 | token = { env = "NONE_SUCH" }
      |                 ^^^^^^^^^^^ a variable that holds the secret
      |
      = help: export NONE_SUCH='…'

    airlock.toml has 2 faults
    "#);
    let document = place.airlock(&["tools", "--json"]).document();
    assert_eq!(
        (&document["ok"], &document["error"]["code"]),
        (&false.into(), &"INVALID_CONFIGURATION".into())
    );
    assert_eq!(document["error"]["details"]["shown"]["tools"][0]["name"], "echo.echo");
    // What else is wrong may mean that other plugins are there, or that less is refused than was written.
    let place = Place::with_config("lock = \"srict\"\n");
    place.with_plugin(guests::ECHO);
    let ran = place.airlock(&["tools"]);
    assert_eq!((ran.exit, ran.out.as_str()), (Some(2), ""), "{ran}");
    assert!(!place.path().join("airlock.lock").exists());
}

#[test]
fn a_caller_for_whom_no_tool_is_there_is_told_where_to_look() {
    let place = Place::with_config("[callers.bot]\ntools = []\n");
    place.with_plugin(guests::ECHO);
    assert_snapshot!(place.airlock(&["tools", "--as", "bot"]), @"
    exit 0
    -- out
    -- err
    no tools are there for bot; look at [callers.bot]
    ");
}
