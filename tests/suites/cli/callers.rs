//! As whom, for whom and in which scene a command asks, and a configuration that names what is not there.

use std::fs;

use airlock_tests::guests;
use insta::assert_snapshot;

use super::{MAIL, Place, Ran, TICKET};

const BOT: &str = r#"
[callers.support-bot]
permissions = ["order:read", "ticket:write"]
max_risk = "L3"

[callers.support-bot.users.ada]
permissions = ["order:read"]

[scenes.orders]
tools = ["desk.find_order"]
"#;

#[test]
fn who_is_not_configured_is_told_with_the_closest_name_and_the_line_to_add() {
    let (place, _desk) = Place::with_desk(BOT);
    let call = |more: &[&str]| place.airlock(&[&["call", "desk.find_order", "{}"], more].concat());
    assert_snapshot!(call(&["--as", "suport-bot"]), @"
    exit 2
    -- out
    -- err
    error[INVALID_USAGE]: there is no caller suport-bot
    hint: did you mean support-bot? else define it in airlock.toml: [callers.suport-bot]
    ");
    assert_snapshot!(call(&["--as", "warehouse"]), @"
    exit 2
    -- out
    -- err
    error[INVALID_USAGE]: there is no caller warehouse
    hint: define it in airlock.toml: [callers.warehouse]
    ");
    assert_snapshot!(call(&["--scene", "order"]), @"
    exit 2
    -- out
    -- err
    error[INVALID_USAGE]: the caller local has the scenes orders, and none of this name: order
    hint: did you mean orders? else define it in airlock.toml: [scenes.order]
    ");
    assert_snapshot!(place.airlock(&["tools", "--scene", "warehouse"]), @"
    exit 2
    -- out
    -- err
    error[INVALID_USAGE]: the caller local has the scenes orders, and none of this name: warehouse
    hint: define it in airlock.toml: [scenes.warehouse]
    ");
    assert_snapshot!(call(&["--user", "ada lovelace"]), @"
    exit 2
    -- out
    -- err
    error: invalid value 'ada lovelace' for '--user <USER>': a user is named by 1 to 255 visible ASCII characters without spaces, such as ada@example.com

    For more information, try '--help'.
    ");
    assert!(!place.path().join(".airlock").exists(), "nothing was begun");
}

#[test]
fn a_scene_narrows_what_is_listed_and_what_is_called() {
    let (place, desk) = Place::with_desk(BOT);
    assert_snapshot!(place.airlock(&["tools", "--as", "support-bot", "--scene", "orders"]), @"
    exit 0
    -- out
    TOOL             RISK  REPEAT  ASKS    TITLE
    desk.find_order  L2    reads   nobody  Find an order
    -- err
    ");
    assert_snapshot!(place.airlock(&["tools", "desk.create_ticket", "--scene", "orders"]), @"
    exit 1
    -- out
    -- err
    error[UNKNOWN_TOOL]: there is no such tool: desk.create_ticket
    hint: `airlock tools` lists the tools
    ");
    assert_snapshot!(place.airlock(&["call", "desk.create_ticket", TICKET, "--scene", "orders"]), @r"
    exit 1
    -- out
    -- err
    error[UNKNOWN_TOOL]: there is no such tool: desk.create_ticket
    hint: `airlock tools --scene orders` lists the tools
    ");
    assert_eq!(desk.counts().connections, 0);
}

#[test]
fn runs_show_for_whom_they_were_made() {
    let (place, desk) = Place::with_desk(BOT);
    let call =
        |user| place.airlock(&["call", "desk.create_ticket", TICKET, "--as", "support-bot", "--user", user]);
    assert_snapshot!(call("ada"), @"
    exit 1
    -- out
    -- err
    error[PERMISSION_DENIED]: the user for whom the caller asks lacks a permission that desk.create_ticket asks for: ticket:write
    hint: `airlock explain PERMISSION_DENIED` says what to do
    ");
    assert_eq!(call("eve@example.com").exit, Some(0));
    assert_eq!(desk.counts().tickets.len(), 1);
    assert_snapshot!(place.airlock(&["runs"]).told(), @"
    exit 0
    -- out
    RUN                         STATE      TOOL                CALLER                           ATTEMPTS  AGE  CODE
    0100000000000000000000RUN1  completed  desk.create_ticket  support-bot for eve@example.com  1         0s
    -- err
    ");
    let run = place.airlock(&["runs", &place.latest()]);
    assert!(run.out.contains("\ncaller    support-bot for eve@example.com\n"), "{run}");
    let document = place.airlock(&["runs", "--json"]).document();
    let run = &document["data"]["runs"][0];
    assert_eq!((&run["caller"], &run["user"]), (&"support-bot".into(), &"eve@example.com".into()));
}

/// A configuration that names much that the desk does not have.
const ASTRAY: &str = r#"
[plugin.desks]
config = { anything = "" }

[plugin.mail]
[[plugin.mail.http]]
origin = "https://mail.example.com"
methods = ["POST"]

[callers.bot]
tools = ["desk.find_orders", "desk.*", "dsk.*", "calendar.add"]
confirm = { "desk.send_mial" = "none" }

[scenes.refund]
tools = ["*", "desk.refund"]

[tools."desk.create_tickets"]
confirm = "person"

[mcp]
names = { "desk.close" = "close" }
"#;

/// What the desk itself is granted, beside what it declares.
fn beside(text: &str) -> String {
    text.replace("config = { desk_url", "config = { desk_ur = \"x\", desk_url")
        .replace("secrets = [\"desk_token\"]", "secrets = [\"desk_token\", \"mail_key\"]")
        .replace("desk_token = { env", "mail_key = { env = \"DESK_TOKEN\" }\ndesk_token = { env")
        + "\n[[plugin.desk.http]]\norigin = \"https://elsewhere.example.com\"\nmethods = [\"GET\"]\n"
}

#[test]
fn a_configuration_that_names_what_no_plugin_has_starts_nothing() {
    let (place, desk) = Place::with_desk(ASTRAY);
    let file = place.path().join("airlock.toml");
    fs::write(&file, beside(&fs::read_to_string(&file).unwrap())).unwrap();
    let ran = place.airlock(&["call", "desk.find_order", r#"{"order_id":"A-1001"}"#]);
    assert_snapshot!(ran, @r#"
    exit 2
    -- out
    -- err
    error: the plugin desk declares no value `desk_ur`
     --> airlock.toml:3:12
      |
    3 | config = { desk_ur = "x", desk_url = "http://desk.test:12345" }
      |            ^^^^^^^ a value that it declares
      |
      = help: did you mean `desk_url`?

    error: the plugin desk declares no secret `mail_key`
     --> airlock.toml:4:26
      |
    4 | secrets = ["desk_token", "mail_key"]
      |                          ^^^^^^^^^^ a secret that it declares
      |
      = help: desk declares desk_token

    error: there is no plugin `desks`
      --> airlock.toml:16:9
       |
    16 | [plugin.desks]
       |         ^^^^^ the name of a plugin in plugins
       |
       = help: did you mean `desk`?

    error: there is no plugin `mail`
      --> airlock.toml:19:9
       |
    19 | [plugin.mail]
       |         ^^^^ the name of a plugin in plugins
       |
       = help: put its .wasm file into plugins; the plugins there are desk

    error: there is no tool `desk.find_orders`
      --> airlock.toml:25:10
       |
    25 | tools = ["desk.find_orders", "desk.*", "dsk.*", "calendar.add"]
       |          ^^^^^^^^^^^^^^^^^^ the name of a tool
       |
       = help: did you mean `desk.find_order`?

    error: there is no plugin `dsk`
      --> airlock.toml:25:40
       |
    25 | tools = ["desk.find_orders", "desk.*", "dsk.*", "calendar.add"]
       |                                        ^^^^^^^ the name of a plugin in plugins
       |
       = help: did you mean `desk`?

    error: there is no plugin `calendar`
      --> airlock.toml:25:49
       |
    25 | tools = ["desk.find_orders", "desk.*", "dsk.*", "calendar.add"]
       |                                                 ^^^^^^^^^^^^^^ the name of a plugin in plugins
       |
       = help: put its .wasm file into plugins; the plugins there are desk

    error: there is no tool `desk.send_mial`
      --> airlock.toml:26:13
       |
    26 | confirm = { "desk.send_mial" = "none" }
       |             ^^^^^^^^^^^^^^^^ the name of a tool
       |
       = help: did you mean `desk.send_mail`?

    error: there is no tool `desk.refund`
      --> airlock.toml:29:15
       |
    29 | tools = ["*", "desk.refund"]
       |               ^^^^^^^^^^^^^ the name of a tool
       |
       = help: the tools of desk are desk.assign_ticket, desk.cancel_ticket, desk.create_ticket, desk.find_order, desk.send_mail

    error: there is no tool `desk.create_tickets`
      --> airlock.toml:31:8
       |
    31 | [tools."desk.create_tickets"]
       |        ^^^^^^^^^^^^^^^^^^^^^ the name of a tool
       |
       = help: did you mean `desk.create_ticket`?

    error: there is no tool `desk.close`
      --> airlock.toml:35:11
       |
    35 | names = { "desk.close" = "close" }
       |           ^^^^^^^^^^^^ the name of a tool
       |
       = help: the tools of desk are desk.assign_ticket, desk.cancel_ticket, desk.create_ticket, desk.find_order, desk.send_mail

    error: the plugin desk declares no requests to https://elsewhere.example.com
      --> airlock.toml:43:10
       |
    43 | origin = "https://elsewhere.example.com"
       |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ an origin that it declares
       |
       = help: desk declares the origin in its value `desk_url`, which is http://desk.test:12345

    airlock.toml has 12 faults
    "#);
    assert_eq!(place.airlock(&["mcp"]).to_string(), ran.to_string());
    assert_eq!(desk.counts().connections, 0);
    assert_snapshot!(place.airlock(&["runs"]), @"
    exit 0
    -- out
    -- err
    no runs yet; `airlock call TOOL '{…}'` makes one
    ");
    let call = place.airlock(&["call", "desk.find_order", "{}", "--json"]);
    let document = call.document();
    let faults = document["error"]["details"]["faults"].as_array().unwrap();
    assert_eq!((call.exit, document["error"]["code"].as_str()), (Some(2), Some("INVALID_CONFIGURATION")));
    // Whoever looks is told as well, and sees what there is.
    let tools = place.airlock(&["tools"]);
    assert!(tools.exit == Some(2) && tools.out.contains("desk.find_order"), "{tools}");
    assert_eq!(tools.err, ran.err);
    let one = place.airlock(&["tools", "desk.find_order"]);
    assert_eq!((one.exit, one.err), (Some(2), tools.err));
    assert!(one.out.starts_with("desk.find_order: Find an order\n"), "{}", one.out);
    let tools = place.airlock(&["tools", "--json"]);
    let error = &tools.document()["error"];
    assert_eq!((tools.exit, error["code"].as_str()), (Some(2), Some("INVALID_CONFIGURATION")));
    assert_eq!(error["details"]["faults"].as_array().unwrap(), faults);
    let shown = error["details"]["shown"]["tools"].as_array().unwrap();
    assert!(shown.iter().any(|tool| tool["name"] == "desk.find_order"), "{error}");
    // And so is whoever has everything looked at, before anything is called and after it.
    let told = |ran: &Ran| ran.out.lines().filter(|line| line.starts_with("fault  configuration")).count();
    let doctor = place.airlock(&["doctor"]);
    assert_eq!((doctor.exit, told(&doctor)), (Some(2), 12), "{doctor}");
    fs::remove_file(place.path().join("airlock.lock")).unwrap();
    let doctor = place.airlock(&["doctor"]);
    assert_eq!((doctor.exit, told(&doctor)), (Some(2), 12), "{doctor}");
}

#[test]
fn faults_of_the_file_and_names_that_no_plugin_has_are_told_in_one_go() {
    let faulty = "[limits]\natempt = \"5s\"\n[plugin.mail]\n[tools.\"desk.send_mial\"]\nconfirm = \"none\"\n";
    let (place, desk) = Place::with_desk("");
    let file = place.path().join("airlock.toml");
    let whole = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{whole}{faulty}")).unwrap();
    let unseen = place.airlock(&["call", "desk.find_order", "{}"]);
    assert_eq!(unseen.exit, Some(2));
    assert!(unseen.err.contains("unknown setting `limits.atempt`"), "{unseen}");
    assert!(!unseen.err.contains("mail"), "nobody knows yet what the plugins have: {unseen}");
    // Once it was seen and accepted, it is known without being loaded.
    fs::write(&file, &whole).unwrap();
    assert_eq!(place.airlock(&["tools"]).exit, Some(0));
    fs::remove_dir_all(place.path().join(".airlock")).unwrap();
    fs::write(&file, format!("{whole}{faulty}")).unwrap();
    let ran = place.airlock(&["call", "desk.find_order", "{}"]);
    assert_snapshot!(ran, @r#"
    exit 2
    -- out
    -- err
    error: unknown setting `limits.atempt`
      --> airlock.toml:20:1
       |
    20 | atempt = "5s"
       | ^^^^^^ not a setting of `limits`
       |
       = help: did you mean `attempt`?

    error: there is no plugin `mail`
      --> airlock.toml:21:9
       |
    21 | [plugin.mail]
       |         ^^^^ the name of a plugin in plugins
       |
       = help: put its .wasm file into plugins; the plugins there are desk

    error: there is no tool `desk.send_mial`
      --> airlock.toml:22:8
       |
    22 | [tools."desk.send_mial"]
       |        ^^^^^^^^^^^^^^^^ the name of a tool
       |
       = help: did you mean `desk.send_mail`?

    airlock.toml has 3 faults
    "#);
    for arguments in [&["tools"][..], &["mcp"], &["trust"]] {
        assert_eq!(place.airlock(arguments).to_string(), ran.to_string());
    }
    let doctor = place.airlock(&["doctor"]);
    let told = doctor.out.lines().filter(|line| line.starts_with("fault  configuration")).count();
    assert_eq!((doctor.exit, told), (Some(2), 3), "{doctor}");
    assert!(!place.path().join(".airlock").exists(), "nothing was begun");
    assert_eq!(desk.counts().connections, 0);
}

#[test]
fn a_value_that_cannot_be_read_is_told_once_and_not_as_a_grant_for_nothing_too() {
    let (place, _desk) = Place::with_desk("");
    assert_eq!(place.airlock(&["tools"]).exit, Some(0));
    let file = place.path().join("airlock.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace(&format!("desk_url = \"{}\"", place.desk), "desk_url = 5")).unwrap();
    let ran = place.airlock(&["call", "desk.find_order", "{}"]);
    assert_eq!((ran.exit, ran.err.matches("error: ").count()), (Some(2), 1), "{ran}");
}

#[test]
fn a_name_is_not_held_against_the_configuration_where_its_plugin_may_be_the_broken_one() {
    let (place, desk) = Place::with_desk("[plugin.mail]\n[tools.\"mail.send\"]\nconfirm = \"person\"\n");
    let call = || place.airlock(&["call", "desk.create_ticket", TICKET]);
    assert_eq!(call().exit, Some(2));
    place.with_plugin(guests::ECHO);
    assert_eq!(call().exit, Some(2), "another plugin is not the one");
    fs::write(place.path().join("plugins/mail.wasm"), "no component").unwrap();
    let ran = call();
    assert_eq!(ran.exit, Some(0), "{ran}");
    assert_eq!(desk.counts().tickets.len(), 1);
}

#[test]
fn what_a_plugin_that_waits_has_is_there() {
    let (place, desk) = Place::with_desk("[tools.\"desk.send_mail\"]\nconfirm = \"none\"\n");
    let file = place.path().join("airlock.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("lock = \"strict\"\n{text}")).unwrap();
    let ran = place.airlock(&["call", "desk.send_mail", MAIL]);
    assert_eq!(ran.exit, Some(1), "{ran}");
    assert!(ran.err.contains("error[PERMISSION_DENIED]"), "{ran}");
    assert_eq!(place.airlock(&["trust", "desk", "--yes"]).exit, Some(0));
    assert_eq!(place.airlock(&["call", "desk.send_mail", MAIL]).exit, Some(0));
    assert_eq!(desk.counts().mails.len(), 1);
}

#[test]
fn a_permission_that_is_nearly_one_that_a_tool_asks_for_is_a_slip() {
    let config = "[callers.bot]\npermissions = [\"order:raed\", \"ticket:write\", \"invoice:write\"]\n";
    let place = Place::with_config(config);
    place.with_plugin(guests::DESK);
    assert_snapshot!(place.airlock(&["call", "desk.find_order", "--as", "bot"]), @r#"
    exit 2
    -- out
    -- err
    error: no tool asks for the permission `order:raed`
     --> airlock.toml:2:16
      |
    2 | permissions = ["order:raed", "ticket:write", "invoice:write"]
      |                ^^^^^^^^^^^^ a permission that a tool asks for
      |
      = help: did you mean `order:read`?
    "#);
    // Of a plugin that waits to be accepted nobody knows yet what its tools ask for.
    let place = Place::with_config(&format!("lock = \"strict\"\n{config}"));
    place.with_plugin(guests::DESK);
    assert_eq!(place.airlock(&["tools"]).exit, Some(0));
}

#[test]
fn what_a_plugin_does_not_declare_is_told_with_what_it_does() {
    let place =
        Place::with_config("[[plugin.echo.http]]\norigin = \"https://a.example\"\nmethods = [\"GET\"]\n");
    place.with_plugin(guests::ECHO);
    let told = place.airlock(&["tools"]).err;
    assert!(told.contains("leave the grant out: echo sends no requests"), "{told}");
    let empty = Place::with_config("[plugin.echo]\n").airlock(&["call", "echo.echo"]);
    assert!(empty.err.contains("plugins holds no plugins yet; put the .wasm file there"), "{empty}");
}
