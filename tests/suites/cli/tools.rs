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

    INPUT     TYPE                       REQUIRED  MEANING
    order_id  string                     yes       The number of the order that the ticket is about; letters, at least 1; letters, at most 64; such as A-1003
    subject   string                     yes       What it is about, in one line; letters, at least 1; letters, at most 200
    body      string                     yes       What the customer said, and what should be done; letters, at least 1; letters, at most 10000
    priority  "low" | "normal" | "high"  no        How soon somebody should look; else normal

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
