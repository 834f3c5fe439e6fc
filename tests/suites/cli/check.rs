//! What an author and an operator are told of one file, before it is among the plugins.

use std::fs;

use airlock_tests::guests;
use insta::assert_snapshot;
use serde_json::Value;

use super::Place;

/// What differs with each build.
fn equal(text: &str) -> String {
    let line = |line: &str| match (line.split_once("SHA-256  "), line.split_once(" that its language brings"))
    {
        (Some((before, digest)), _) if digest.len() == 64 => format!("{before}SHA-256  {}", "f".repeat(64)),
        (_, Some((_, after))) => format!("and 16 that its language brings{after}"),
        (_, _) => line.to_owned(),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n").replace(guests::DESK, "desk.wasm")
}

#[test]
fn a_rule_for_a_tool_of_the_highest_risk_is_among_the_lines_until_one_stands_there() {
    let told = |config: &str| {
        let place = Place::with_config(config);
        let ran = place.airlock(&["check", guests::DESK]);
        ran.out.lines().filter(|line| line.starts_with("  #") && line.contains("desk.send_mail")).count()
    };
    assert_eq!(told(""), 2);
    for asked in ["none", "person"] {
        assert_eq!(told(&format!("[tools.\"desk.send_mail\"]\nconfirm = \"{asked}\"\n")), 0);
    }
}

#[test]
fn a_component_is_told_whole_without_a_configuration_and_nothing_is_left() {
    let place = Place::new();
    let ran = place.airlock(&["check", guests::DESK]);
    assert_snapshot!(equal(&ran.to_string()), @r#"
    exit 0
    -- out
    desk 0.1.0: The support desk: looks up orders, opens, assigns and cancels tickets, sends mail

    file     desk.wasm
    SHA-256  ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff

    TOOL           RISK  REPEAT      CLEANUP    PERMISSIONS   TITLE
    find_order     L2    reads       nothing    order:read    Find an order
    create_ticket  L3    keyed       automatic  ticket:write  Open a ticket
    assign_ticket  L3    idempotent  automatic  ticket:write  Assign a ticket
    cancel_ticket  L4    idempotent  manual     ticket:write  Cancel a ticket
    send_mail      L4    once        manual     mail:send     Send a mail

    TOOL           DECLARED                                                                            GRANTED
    find_order     config: desk_url                                                                    no
    find_order     secret: desk_token, sent to the origin in config desk_url                           no
    find_order     http: GET the origin in config desk_url, /orders /orders/* (reads)                  no
    create_ticket  config: desk_url                                                                    no
    create_ticket  secret: desk_token, sent to the origin in config desk_url                           no
    create_ticket  http: POST the origin in config desk_url, /tickets (keyed, key in Idempotency-Key)  no
    create_ticket  http: GET the origin in config desk_url, /tickets /tickets/* (reads)                no
    create_ticket  http: POST the origin in config desk_url, /tickets/*/cancel (idempotent)            no
    assign_ticket  config: desk_url                                                                    no
    assign_ticket  secret: desk_token, sent to the origin in config desk_url                           no
    assign_ticket  http: PUT the origin in config desk_url, /tickets/*/assignee (idempotent)           no
    assign_ticket  http: GET the origin in config desk_url, /tickets/* (reads)                         no
    cancel_ticket  config: desk_url                                                                    no
    cancel_ticket  secret: desk_token, sent to the origin in config desk_url                           no
    cancel_ticket  http: POST the origin in config desk_url, /tickets/*/cancel (idempotent)            no
    cancel_ticket  http: GET the origin in config desk_url, /tickets/* (reads)                         no
    send_mail      config: desk_url                                                                    no
    send_mail      secret: desk_token, sent to the origin in config desk_url                           no
    send_mail      http: POST the origin in config desk_url, /mails (once)                             no
    send_mail      http: GET the origin in config desk_url, /mails (reads)                             no

    to grant the rest, write into the configuration:
      [plugin.desk]
      config = { desk_url = "…" }
      secrets = ["desk_token"]

      [[plugin.desk.http]]
      origin = "…"
      methods = ["GET"]
      paths = ["/orders", "/orders/*", "/tickets", "/tickets/*"]

      [[plugin.desk.http]]
      origin = "…"
      methods = ["GET", "POST"]
      paths = ["/mails"]

      [[plugin.desk.http]]
      origin = "…"
      methods = ["POST"]
      paths = ["/tickets", "/tickets/*/cancel"]

      [[plugin.desk.http]]
      origin = "…"
      methods = ["PUT"]
      paths = ["/tickets/*/assignee"]

      [secrets]
      desk_token = { env = "DESK_TOKEN" }

      # desk.cancel_ticket is L4: a person must say yes to each call, unless these lines let it run unasked
      # [tools."desk.cancel_ticket"]
      # confirm = "none"

      # desk.send_mail is L4: a person must say yes to each call, unless these lines let it run unasked
      # [tools."desk.send_mail"]
      # confirm = "none"

    IMPORT                                    EXPLAINED BY
    airlock:plugin/types@0.1.0                every call has it
    airlock:plugin/host@0.1.0#log             every call has it
    airlock:plugin/host@0.1.0#save            every call has it
    airlock:plugin/host@0.1.0#config          needs of find_order, create_ticket, assign_ticket, cancel_ticket, send_mail
    airlock:plugin/secrets@0.1.0#placeholder  needs of find_order, create_ticket, assign_ticket, cancel_ticket, send_mail
    airlock:plugin/http@0.1.0#send            needs of find_order, create_ticket, assign_ticket, cancel_ticket, send_mail
    and 16 that its language brings, and that give nothing; `--json` lists them

    exports
      - airlock:plugin/preview@0.1.0
      - airlock:plugin/rollback@0.1.0
      - airlock:plugin/tools@0.1.0
    -- err
    note: there is no configuration that can be read, so nothing is granted; `airlock doctor` says why
    "#);
    let document = place.airlock(&["check", guests::DESK, "--json"]).document();
    let imports = document["data"]["imports"].as_array().unwrap();
    let by = |by: &str| imports.iter().filter(|import| import["by"] == by).count();
    assert_eq!(by("every call has it"), 3);
    assert!(by("its language brings it; it gives nothing") > 0, "{imports:?}");
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
}

#[test]
fn what_is_granted_stands_beside_what_is_declared() {
    let place = Place::with_config(
        "[plugin.desk]\nconfig = { desk_url = \"https://desk.example.com\" }\n\
         [[plugin.desk.http]]\norigin = \"https://desk.example.com\"\nmethods = [\"GET\", \"POST\"]\npaths = [\"/orders\", \"/tickets\"]\n",
    );
    let ran = place.airlock(&["check", guests::DESK]);
    let told = equal(&ran.to_string());
    let needs = told
        .split("\n\n")
        .skip_while(|part| !part.contains("DECLARED"))
        .take_while(|part| !part.starts_with("IMPORT"));
    assert_snapshot!(needs.collect::<Vec<_>>().join("\n\n"), @r#"
    TOOL           DECLARED                                                                            GRANTED
    find_order     config: desk_url                                                                    yes: https://desk.example.com
    find_order     secret: desk_token, sent to the origin in config desk_url                           no
    find_order     http: GET the origin in config desk_url, /orders /orders/* (reads)                  in part: https://desk.example.com, GET /orders; not GET /orders/*
    create_ticket  config: desk_url                                                                    yes: https://desk.example.com
    create_ticket  secret: desk_token, sent to the origin in config desk_url                           no
    create_ticket  http: POST the origin in config desk_url, /tickets (keyed, key in Idempotency-Key)  yes: https://desk.example.com
    create_ticket  http: GET the origin in config desk_url, /tickets /tickets/* (reads)                in part: https://desk.example.com, GET /tickets; not GET /tickets/*
    create_ticket  http: POST the origin in config desk_url, /tickets/*/cancel (idempotent)            no
    assign_ticket  config: desk_url                                                                    yes: https://desk.example.com
    assign_ticket  secret: desk_token, sent to the origin in config desk_url                           no
    assign_ticket  http: PUT the origin in config desk_url, /tickets/*/assignee (idempotent)           no
    assign_ticket  http: GET the origin in config desk_url, /tickets/* (reads)                         no
    cancel_ticket  config: desk_url                                                                    yes: https://desk.example.com
    cancel_ticket  secret: desk_token, sent to the origin in config desk_url                           no
    cancel_ticket  http: POST the origin in config desk_url, /tickets/*/cancel (idempotent)            no
    cancel_ticket  http: GET the origin in config desk_url, /tickets/* (reads)                         no
    send_mail      config: desk_url                                                                    yes: https://desk.example.com
    send_mail      secret: desk_token, sent to the origin in config desk_url                           no
    send_mail      http: POST the origin in config desk_url, /mails (once)                             no
    send_mail      http: GET the origin in config desk_url, /mails (reads)                             no

    to grant the rest, write into the configuration:
      # in place of what stands there
      [plugin.desk]
      config = { desk_url = "https://desk.example.com" }
      secrets = ["desk_token"]

      [[plugin.desk.http]]
      origin = "https://desk.example.com"
      methods = ["GET"]
      paths = ["/orders/*", "/tickets/*"]

      [[plugin.desk.http]]
      origin = "https://desk.example.com"
      methods = ["GET", "POST"]
      paths = ["/mails"]

      [[plugin.desk.http]]
      origin = "https://desk.example.com"
      methods = ["POST"]
      paths = ["/tickets/*/cancel"]

      [[plugin.desk.http]]
      origin = "https://desk.example.com"
      methods = ["PUT"]
      paths = ["/tickets/*/assignee"]

      [secrets]
      desk_token = { env = "DESK_TOKEN" }

      # desk.cancel_ticket is L4: a person must say yes to each call, unless these lines let it run unasked
      # [tools."desk.cancel_ticket"]
      # confirm = "none"

      # desk.send_mail is L4: a person must say yes to each call, unless these lines let it run unasked
      # [tools."desk.send_mail"]
      # confirm = "none"
    "#);
    assert!(!place.path().join(".airlock").exists());
    assert!(!place.path().join("airlock.lock").exists());
}

#[test]
fn the_lines_that_are_told_grant_what_lacks() {
    let checked = |place: &Place, component: &str| place.airlock(&["check", component, "--json"]).document();
    let granted = |document: &Value| {
        let needs = document["data"]["needs"].as_array().unwrap().clone();
        needs.iter().map(|need| need["granted"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let folder = tempfile::tempdir().unwrap();
    for (component, value) in [
        (guests::DESK, "https://desk.example.com"),
        (guests::COURIER, "https://x.example.com"),
        (guests::KEEPER, "https://x.example.com"),
        (guests::NOTEBOOK, "x"),
        (guests::SCRIBE, "https://x.example.com"),
    ] {
        let document = checked(&Place::new(), component);
        assert!(granted(&document).iter().all(|granted| granted == "nothing"), "{document}");
        // What only the operator knows stands there as one letter.
        let lines = document["data"]["lines"].as_str().unwrap();
        let lines = lines.replace("path = \"…\"", &format!("path = {:?}", folder.path()));
        let lines = lines.replace("\"…\"", &format!("\"{value}\""));
        let place = Place::with_config(&lines);
        let document = checked(&place, component);
        assert!(granted(&document).iter().all(|granted| granted == "whole"), "{lines}\n{document}");
        // What is left is for the operator to decide, and nothing of it holds as it stands.
        let left = document["data"]["lines"].as_str().unwrap_or_default();
        assert!(left.lines().all(|line| line.is_empty() || line.starts_with('#')), "{left}");
    }
}

#[test]
fn a_file_that_is_no_plugin_is_told_with_its_reason() {
    let place = Place::new();
    fs::write(place.path().join("broken.wasm"), "not at all").unwrap();
    assert_snapshot!(place.airlock(&["check", "broken.wasm"]), @r"
    exit 1
    -- out
    broken.wasm cannot be used:
      - it is no WebAssembly: it does not begin as WebAssembly does
    hint: put a component there, or remove the file
    -- err
    note: there is no configuration that can be read, so nothing is granted; `airlock doctor` says why
    ");
    let document = place.airlock(&["check", "broken.wasm", "--json"]).document();
    assert_eq!(document["error"]["code"], "FAULTS_FOUND");
    assert_eq!(document["error"]["details"]["faults"].as_array().unwrap().len(), 1);
    assert_snapshot!(place.airlock(&["check", "none.wasm"]), @r"
    exit 2
    -- out
    -- err
    error[INVALID_USAGE]: there is no such file: none.wasm
    ");
}

#[test]
fn every_fault_of_a_manifest_is_told() {
    let ran = Place::new().airlock(&["check", guests::ODDBALL]);
    assert_eq!(ran.exit, Some(1), "{ran}");
    assert!(ran.out.matches("\n  - ").count() > 3, "{ran}");
}

#[test]
fn a_configuration_that_is_faulty_stops_only_who_names_it() {
    let place = Place::with_config("limts = 1");
    let ran = place.airlock(&["check", guests::ECHO]);
    assert_eq!(ran.exit, Some(0), "{ran}");
    assert!(ran.err.contains("there is no configuration that can be read"), "{ran}");
    assert_eq!(place.airlock(&["check", guests::ECHO, "--config", "airlock.toml"]).exit, Some(2));
}
