//! The file as people write it: what is right, and how everything that is wrong is said.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use insta::assert_snapshot;

use super::read::Read as _;
use super::*;
use crate::model::caller::{Asker, Confirm};
use crate::model::id::CallerName;
use crate::model::limits::Limits;
use crate::model::manifest::Risk;

/// An environment in which exactly one secret is set.
fn env(name: &str) -> Option<String> {
    match name {
        "DESK_TOKEN" => Some("s3cr3t".to_owned()),
        "EMPTY" => Some(" ".to_owned()),
        _ => None,
    }
}

fn parse(text: &str) -> Result<Config, Faults> {
    Config::parse(text, Path::new("airlock.toml"), &env)
}

fn faults(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

#[test]
fn an_empty_file_is_a_configuration() {
    let config = parse("").unwrap();
    assert_eq!(
        (config.plugins.as_path(), config.state.as_path()),
        (Path::new("plugins"), Path::new(".airlock"))
    );
    assert_eq!(config.limits, Limits::default());
    assert_eq!(config.retries, crate::model::retry::Policy::default());
    assert_eq!(config.breaker, crate::model::breaker::Policy::default());
    assert_eq!(config.callers.keys().map(|name| name.0.as_str()).collect::<Vec<_>>(), ["local", "mcp"]);
}

#[test]
fn paths_are_relative_to_the_file() {
    let config =
        Config::parse("plugins = \"p\"\nstate = \"/var/s\"", Path::new("/etc/airlock.toml"), &env).unwrap();
    assert_eq!(
        (config.plugins.as_path(), config.state.as_path()),
        (Path::new("/etc/p"), Path::new("/var/s"))
    );
}

#[test]
fn what_is_written_is_what_holds() {
    let config = parse(
        r#"
        [plugin.desk]
        config = { backend = "http://127.0.0.1:8080", greeting = "" }
        secrets = ["desk_token"]
        [[plugin.desk.http]]
        origin = "http://127.0.0.1:8080"
        methods = ["GET", "POST"]
        paths = ["/orders/*"]
        addresses = ["127.0.0.1", "fd00::/8"]
        read = "45s"
        [callers.bot]
        permissions = ["order:read"]
        [secrets]
        desk_token = { env = "DESK_TOKEN" }
        [limits]
        memory = "128 MiB"
        [tools."desk.send_mail"]
        confirm = "none"
        timeout = "1m"
        "#,
    )
    .unwrap();
    let desk = &config.grants["desk"];
    assert_eq!(desk.config["backend"], "http://127.0.0.1:8080");
    let grant = &desk.http[0];
    assert_eq!(grant.origin.to_string(), "http://127.0.0.1:8080");
    assert!(grant.addresses[1].contains("fdff::1".parse().unwrap()));
    assert_eq!((grant.connect, grant.read), (None, Some(Duration::from_secs(45))));
    let bot = &config.callers[&CallerName("bot".into())];
    assert_eq!((bot.max_risk, bot.permissions.as_ref().unwrap().len()), (Risk::L2, 1));
    let bot = Asker::new(bot, None, None, &config.scenes).unwrap();
    assert!(bot.sees(&"any.tool".parse().unwrap(), Risk::L2));
    assert_eq!(config.secrets["desk_token"].reveal(), "s3cr3t");
    assert_eq!(config.limits.memory, 128 << 20);
    let rules = &config.tools[&"desk.send_mail".parse().unwrap()];
    assert_eq!((rules.confirm, rules.timeout), (Some(Confirm::Nobody), Some(Duration::from_secs(60))));
}

#[test]
fn every_fault_is_told_at_once_with_its_line_and_what_would_mend_it() {
    assert_snapshot!(faults(
        r#"plugin_folder = "p"
attempt = "5s"
[plugin.Desk]
[[plugin.desk.http]]
origin = "api.example.com"
methods = ["post"]
adresses = ["127.0.0.1/33"]
[callers.bot]
permision = ["order:read"]
max_risk = "L5"
tools = ["desk"]
[limits]
atempt = "5s"
memory = 64
fuel = 0
[tools.desk.send_mail]
confirm = "nobody"
"#
    ), @r#"
    error: unknown setting `plugin_folder`
     --> airlock.toml:1:1
      |
    1 | plugin_folder = "p"
      | ^^^^^^^^^^^^^ not a setting at the top of the file
      |
      = help: the settings here are plugins, state, lock, plugin, callers, scenes, secrets, limits, retries, breaker, budgets, prices, probe, tools, loops, http, log, compile, mcp

    error: unknown setting `attempt`
     --> airlock.toml:2:1
      |
    2 | attempt = "5s"
      | ^^^^^^^ not a setting at the top of the file
      |
      = help: `attempt` stands under `[limits]`

    error: `Desk` cannot be a name under `plugin`
     --> airlock.toml:3:9
      |
    3 | [plugin.Desk]
      |         ^^^^ a plugin's name is lower-case letters, digits and single _, and begins with a letter

    error: `plugin.desk.http.origin` cannot be read
     --> airlock.toml:5:10
      |
    5 | origin = "api.example.com"
      |          ^^^^^^^^^^^^^^^^^ an origin is scheme, host and port, such as https://api.example.com or https://*.example.com:8443

    error: `plugin.desk.http.methods` cannot be read
     --> airlock.toml:6:12
      |
    6 | methods = ["post"]
      |            ^^^^^^ a method is in capitals: POST

    error: unknown setting `plugin.desk.http.adresses`
     --> airlock.toml:7:1
      |
    7 | adresses = ["127.0.0.1/33"]
      | ^^^^^^^^ not a setting of `plugin.desk.http`
      |
      = help: did you mean `addresses`?

    error: unknown setting `callers.bot.permision`
     --> airlock.toml:9:1
      |
    9 | permision = ["order:read"]
      | ^^^^^^^^^ not a setting of `callers.bot`
      |
      = help: did you mean `permissions`?

    error: `callers.bot.max_risk` cannot be read
      --> airlock.toml:10:12
       |
    10 | max_risk = "L5"
       |            ^^^^ a risk: "L1", "L2", "L3" or "L4"

    error: `callers.bot.tools` cannot be read
      --> airlock.toml:11:10
       |
    11 | tools = ["desk"]
       |          ^^^^^^ a pattern is a tool, a plugin with .*, or *, such as desk.find_order or desk.*

    error: unknown setting `limits.atempt`
      --> airlock.toml:13:1
       |
    13 | atempt = "5s"
       | ^^^^^^ not a setting of `limits`
       |
       = help: did you mean `attempt`?

    error: `limits.memory` is a number
      --> airlock.toml:14:10
       |
    14 | memory = 64
       |          ^^ a size with its unit, such as "64 KiB" or "8 MiB"
       |
       = help: write it in quotes

    error: `limits.fuel` is out of bounds
      --> airlock.toml:15:8
       |
    15 | fuel = 0
       |        ^ at least 1

    error: `desk` cannot be a name under `tools`
      --> airlock.toml:16:8
       |
    16 | [tools.desk.send_mail]
       |        ^^^^ a tool is named plugin.tool, such as desk.create_ticket
       |
       = help: write it in quotes: [tools."desk.send_mail"]

    airlock.toml has 13 faults
    "#);
}

#[test]
fn a_value_of_another_type_is_said_in_the_words_of_the_setting() {
    assert_snapshot!(faults(
        r#"plugin = "folder"
callers = []
[plugins.desk]
[limits]
attempt = 30
requests = "100"
fuel = -1
[http]
roots = "ca.pem"
[tools]
"desk.send_mail" = "none"
"#
    ), @r#"
    error: `plugin` is a text
     --> airlock.toml:1:10
      |
    1 | plugin = "folder"
      |          ^^^^^^^^ a table, with a key for each setting
      |
      = help: the folder of plugins is `plugins`, with an s

    error: `callers` is a list
     --> airlock.toml:2:11
      |
    2 | callers = []
      |           ^^ a table, with a key for each setting

    error: `plugins` is a table
     --> airlock.toml:3:2
      |
    3 | [plugins.desk]
      |  ^^^^^^^ a text in quotes, not empty
      |
      = help: what one plugin is given stands under `[plugin.NAME]`, without the s

    error: `limits.attempt` is a number
     --> airlock.toml:5:11
      |
    5 | attempt = 30
      |           ^^ a duration with its unit, such as "100ms", "30s" or "24h"
      |
      = help: write it in quotes

    error: `limits.requests` is a text
     --> airlock.toml:6:12
      |
    6 | requests = "100"
      |            ^^^^^ a whole number, such as 100 or 20_000
      |
      = help: write it without quotes

    error: `limits.fuel` cannot be read
     --> airlock.toml:7:8
      |
    7 | fuel = -1
      |        ^^ must not be negative, nor beyond 2^64

    error: `http.roots` is a text
     --> airlock.toml:9:9
      |
    9 | roots = "ca.pem"
      |         ^^^^^^^^ a list
      |
      = help: write it in brackets: […]

    error: `tools.desk.send_mail` is a text
      --> airlock.toml:11:20
       |
    11 | "desk.send_mail" = "none"
       |                    ^^^^^^ a table, with a key for each setting

    airlock.toml has 8 faults
    "#);
}

#[test]
fn grants_are_whole_and_mean_something() {
    assert_snapshot!(faults(
        r#"[[plugin.desk.http]]
paths = []
[[plugin.desk.http]]
origin = "https://x.example/path"
methods = []
paths = ["orders"]
addresses = ["10.1.2.3/8", "::ffff:10.0.0.1", "localhost"]
connect = "2m"
[plugin.mail.http]
origin = "https://x.example"
"#
    ), @r#"
    error: `plugin.desk.http` lacks `origin`
     --> airlock.toml:1:1
      |
    1 | [[plugin.desk.http]]
      | ^^^^^^^^^^^^^^^^^^^^ needs `origin`
      |
      = help: origin = "https://api.example.com"

    error: `plugin.desk.http` lacks `methods`
     --> airlock.toml:1:1
      |
    1 | [[plugin.desk.http]]
      | ^^^^^^^^^^^^^^^^^^^^ needs `methods`
      |
      = help: methods = ["GET"]

    error: `plugin.desk.http.paths` is empty
     --> airlock.toml:2:9
      |
    2 | paths = []
      |         ^^ at least one
      |
      = help: leave it out where all paths are meant

    error: `plugin.desk.http.origin` cannot be read
     --> airlock.toml:4:10
      |
    4 | origin = "https://x.example/path"
      |          ^^^^^^^^^^^^^^^^^^^^^^^^ an origin is scheme, host and port, such as https://api.example.com or https://*.example.com:8443

    error: `plugin.desk.http.methods` is empty
     --> airlock.toml:5:11
      |
    5 | methods = []
      |           ^^ at least one
      |
      = help: leave the whole grant out where nothing is to be sent

    error: `plugin.desk.http.paths` cannot be read
     --> airlock.toml:6:10
      |
    6 | paths = ["orders"]
      |          ^^^^^^^^ a path begins with / ; * stands for one segment and a final /** for the rest, such as /orders/*

    error: `plugin.desk.http.addresses` cannot be read
     --> airlock.toml:7:14
      |
    7 | addresses = ["10.1.2.3/8", "::ffff:10.0.0.1", "localhost"]
      |              ^^^^^^^^^^^^ the range begins earlier; write 10.0.0.0/8

    error: `plugin.desk.http.addresses` cannot be read
     --> airlock.toml:7:28
      |
    7 | addresses = ["10.1.2.3/8", "::ffff:10.0.0.1", "localhost"]
      |                            ^^^^^^^^^^^^^^^^^ an IPv4 address in the clothes of IPv6; write 10.0.0.1

    error: `plugin.desk.http.addresses` cannot be read
     --> airlock.toml:7:47
      |
    7 | addresses = ["10.1.2.3/8", "::ffff:10.0.0.1", "localhost"]
      |                                               ^^^^^^^^^^^ an address or a range of them, such as 127.0.0.1 or 10.1.0.0/16

    error: `plugin.desk.http.connect` is out of bounds
     --> airlock.toml:8:11
      |
    8 | connect = "2m"
      |           ^^^^ at most 30s

    error: `plugin.mail.http` is a table
     --> airlock.toml:9:1
      |
    9 | [plugin.mail.http]
      | ^^^^^^^^^^^^^^^^^^ a list
      |
      = help: write its header as `[[plugin.mail.http]]`, or `http = [{ … }]`

    airlock.toml has 11 faults
    "#);
}

#[test]
fn secrets_are_there_when_the_host_starts() {
    assert_snapshot!(faults(
        r#"[plugin.desk]
secrets = ["desk_tokn", "other"]
[secrets]
desk_token = { env = "DESK_TOKEN" }
unset = { env = "UNSET" }
empty = { env = "EMPTY" }
nowhere = {}
"#
    ), @r#"
    error: there is no secret `desk_tokn`
     --> airlock.toml:2:12
      |
    2 | secrets = ["desk_tokn", "other"]
      |            ^^^^^^^^^^^ a name under [secrets]
      |
      = help: did you mean `desk_token`?

    error: there is no secret `other`
     --> airlock.toml:2:25
      |
    2 | secrets = ["desk_tokn", "other"]
      |                         ^^^^^^^ a name under [secrets]
      |
      = help: write under [secrets]: other = { env = "OTHER" }

    error: the secret `unset` is missing: the variable UNSET is not set
     --> airlock.toml:5:17
      |
    5 | unset = { env = "UNSET" }
      |                 ^^^^^^^ a variable that holds the secret
      |
      = help: export UNSET='…'

    error: the secret `empty` is missing: the variable EMPTY is empty
     --> airlock.toml:6:17
      |
    6 | empty = { env = "EMPTY" }
      |                 ^^^^^^^ a variable that holds the secret
      |
      = help: export EMPTY='…'

    error: the secret `nowhere` comes from nowhere
     --> airlock.toml:7:1
      |
    7 | nowhere = {}
      | ^^^^^^^ needs one of `env`, `file` and `command`
      |
      = help: nowhere = { env = "NOWHERE" }

    airlock.toml has 5 faults
    "#);
}

#[test]
fn a_secret_written_into_the_file_is_refused_and_not_shown() {
    let told = faults("[secrets]\ndesk_token = \"s3cr3t\"\nother = { value = \"s3cr3t\" }\n");
    assert!(!told.contains("s3cr3t"));
    assert_snapshot!(told, @r#"
    error: `secrets.desk_token` is a text
    --> airlock.toml:2
     = note: a table, with a key for each setting
     = help: a secret is never written here; say where it comes from: { env = "NAME" }

    error: unknown setting `secrets.other.value`
    --> airlock.toml:3
     = note: not a setting of `secrets.other`
     = help: the settings here are env, file, command

    airlock.toml has 2 faults
    "#);
    let told = faults("[secrets]\ndesk_token = s3cr3t\n");
    assert!(!told.contains("s3cr3t"));
    assert_snapshot!(told, @r#"
    error: the file is no TOML: string values must be quoted, expected literal string
    --> airlock.toml:2
    "#);
}

#[test]
fn limits_have_bounds() {
    assert_snapshot!(faults(
        r#"[limits]
attempt = "2h"
connect = "31s"
memory = "1 KiB"
output = "1 GiB"
depth = 128
at_once = 1
waiting = 0
keep = "48h"
payloads = "24h"
"#
    ), @r#"
    error: `limits.attempt` is out of bounds
     --> airlock.toml:2:11
      |
    2 | attempt = "2h"
      |           ^^^^ at most 1h

    error: `limits.connect` is out of bounds
     --> airlock.toml:3:11
      |
    3 | connect = "31s"
      |           ^^^^^ at most 30s

    error: `limits.memory` is out of bounds
     --> airlock.toml:4:10
      |
    4 | memory = "1 KiB"
      |          ^^^^^^^ at least 64 KiB

    error: `limits.output` is out of bounds
     --> airlock.toml:5:10
      |
    5 | output = "1 GiB"
      |          ^^^^^^^ at most 256 MiB

    error: `limits.depth` is out of bounds
     --> airlock.toml:6:9
      |
    6 | depth = 128
      |         ^^^ at most 127

    error: `limits.at_once` is out of bounds
     --> airlock.toml:7:11
      |
    7 | at_once = 1
      |           ^ at least 2

    error: `limits.waiting` is out of bounds
     --> airlock.toml:8:11
      |
    8 | waiting = 0
      |           ^ at least 1

    error: `limits.payloads` is out of bounds
      --> airlock.toml:10:12
       |
    10 | payloads = "24h"
       |            ^^^^^ at least 2days

    airlock.toml has 8 faults
    "#);
}

#[test]
fn what_a_key_still_gives_is_kept_as_long_as_the_key() {
    let limits = parse("[limits]\nkeep = \"60days\"").unwrap().limits;
    assert_eq!(limits.payloads, limits.keep);
    let limits = parse("[limits]\nkeep = \"1h\"\npayloads = \"1h\"").unwrap().limits;
    assert_eq!(limits.payloads, Duration::from_secs(3600));
}

#[test]
fn who_only_looks_needs_no_secret() {
    let text = "[secrets]\ndesk_token = { env = \"DESK_TOKEN\" }\nunset = { env = \"UNSET\" }\nempty = { env = \"EMPTY\" }\n";
    let look = |text| Config::read(text, Path::new("airlock.toml"), &env, Secrets::IfThere, |_| None);
    assert_eq!(look(text).unwrap().secrets.keys().collect::<Vec<_>>(), ["desk_token"]);
    assert!(faults(text).contains("airlock.toml has 2 faults"), "{}", faults(text));
    assert!(look("[secrets]\na = {}\n").is_err(), "what is written wrong is wrong for all");
}

#[test]
fn the_times_of_a_request_stay_within_a_short_attempt() {
    let limits = parse("[limits]\nattempt = \"200ms\"").unwrap().limits;
    assert_eq!((limits.connect, limits.read), (limits.attempt, limits.attempt));
}

#[test]
fn a_grant_may_take_as_long_as_the_plugins_longest_attempt() {
    let grant = "[[plugin.desk.http]]\norigin = \"https://x.example\"\nmethods = [\"GET\"]\nread = \"50s\"\n";
    assert!(parse(grant).is_err());
    assert!(parse(&format!("{grant}[tools.\"desk.find\"]\ntimeout = \"1m\"")).is_ok());
}

#[test]
fn local_is_nobodys_to_define() {
    assert_snapshot!(faults("[callers.local]\n[callers.\"a b\"]\n"), @r#"
    error: `local` cannot be a name under `callers`
     --> airlock.toml:1:10
      |
    1 | [callers.local]
      |          ^^^^^ `local` is the person at the command line, who may do everything

    error: `a b` cannot be a name under `callers`
     --> airlock.toml:2:10
      |
    2 | [callers."a b"]
      |          ^^^^^ a caller's name is at most 64 letters, digits, - and _

    airlock.toml has 2 faults
    "#);
}

#[test]
fn callers_users_and_scenes_are_told_whole_where_they_do_not_fit_together() {
    assert_snapshot!(faults(
        r#"[callers.bot]
permissions = ["order:read", "mail:send"]
scenes = ["refnd", "warehouse", "refund"]
confirm = { send_mail = "none", "desk.send_mail" = "nobody" }
users = ["ada"]
[callers.bob]
permissions = ["order:read"]
[callers.bob.users]
"ada lovelace" = { permissions = [] }
ada = { permissions = ["order:reed", "mail:send"] }
"*" = { permission = [] }
[scenes.refund]
tool = ["desk.find_order"]
[scenes."re fund"]
[scenes.empty]
tools = ["desk"]
"#
    ), @r#"
    error: there is no scene `refnd`
     --> airlock.toml:3:11
      |
    3 | scenes = ["refnd", "warehouse", "refund"]
      |           ^^^^^^^ a name under [scenes]
      |
      = help: did you mean `refund`?

    error: there is no scene `warehouse`
     --> airlock.toml:3:20
      |
    3 | scenes = ["refnd", "warehouse", "refund"]
      |                    ^^^^^^^^^^^ a name under [scenes]
      |
      = help: write: [scenes.warehouse], and below it tools = ["desk.find_order"]

    error: `send_mail` cannot be a name under `callers.bot.confirm`
     --> airlock.toml:4:13
      |
    4 | confirm = { send_mail = "none", "desk.send_mail" = "nobody" }
      |             ^^^^^^^^^ a tool is named plugin.tool, such as desk.create_ticket

    error: `callers.bot.confirm.desk.send_mail` cannot be read
     --> airlock.toml:4:52
      |
    4 | confirm = { send_mail = "none", "desk.send_mail" = "nobody" }
      |                                                    ^^^^^^^^ "none" where nobody is asked, "person" where a person is

    error: `callers.bot.users` is a list
     --> airlock.toml:5:9
      |
    5 | users = ["ada"]
      |         ^^^^^^^ a table, with a key for each setting

    error: `ada lovelace` cannot be a name under `callers.bob.users`
     --> airlock.toml:9:1
      |
    9 | "ada lovelace" = { permissions = [] }
      | ^^^^^^^^^^^^^^ a user is named by 1 to 255 visible ASCII characters without spaces

    error: the user ada cannot be permitted what the caller bob is not: order:reed
      --> airlock.toml:10:24
       |
    10 | ada = { permissions = ["order:reed", "mail:send"] }
       |                        ^^^^^^^^^^^^ a permission of the caller
       |
       = help: did you mean `order:read`?

    error: the user ada cannot be permitted what the caller bob is not: mail:send
      --> airlock.toml:10:38
       |
    10 | ada = { permissions = ["order:reed", "mail:send"] }
       |                                      ^^^^^^^^^^^ a permission of the caller
       |
       = help: add it to `permissions` of [callers.bob]; a user has at most what the caller has

    error: unknown setting `callers.bob.users.*.permission`
      --> airlock.toml:11:9
       |
    11 | "*" = { permission = [] }
       |         ^^^^^^^^^^ not a setting of `callers.bob.users.*`
       |
       = help: did you mean `permissions`?

    error: `scenes.refund` lacks `tools`
      --> airlock.toml:12:9
       |
    12 | [scenes.refund]
       |         ^^^^^^ needs `tools`
       |
       = help: tools = ["desk.find_order", "mail.*"]

    error: unknown setting `scenes.refund.tool`
      --> airlock.toml:13:1
       |
    13 | tool = ["desk.find_order"]
       | ^^^^ not a setting of `scenes.refund`
       |
       = help: did you mean `tools`?

    error: `re fund` cannot be a name under `scenes`
      --> airlock.toml:14:9
       |
    14 | [scenes."re fund"]
       |         ^^^^^^^^^ a scene's name is at most 64 letters, digits, - and _, such as refund

    error: `scenes.empty.tools` cannot be read
      --> airlock.toml:16:10
       |
    16 | tools = ["desk"]
       |          ^^^^^^ a pattern is a tool, a plugin with .*, or *, such as desk.find_order or desk.*

    airlock.toml has 13 faults
    "#);
}

#[test]
fn what_is_written_of_a_caller_is_what_holds_for_it() {
    let config = parse(
        r#"
        [callers.mcp]
        max_risk = "L3"
        [callers.bot]
        permissions = ["order:read", "mail:send"]
        scenes = ["refund"]
        confirm = { "desk.send_mail" = "person" }
        users = { ada = { permissions = ["order:read"] }, "*" = {} }
        [scenes.refund]
        tools = ["desk.*"]
        "#,
    )
    .unwrap();
    let caller = |name: &str| &config.callers[&CallerName(name.into())];
    assert_eq!((caller("mcp").max_risk, caller("mcp").permissions.as_ref().unwrap().len()), (Risk::L3, 0));
    let bot = caller("bot");
    assert_eq!(bot.scenes.as_ref().unwrap().len(), 1);
    assert_eq!(bot.users[&"ada".parse().unwrap()].len(), 1);
    assert_eq!(bot.other_users.as_ref().unwrap().len(), 0);
    assert_eq!(bot.confirm[&"desk.send_mail".parse().unwrap()], Confirm::Person);
    assert_eq!(config.scenes[&"refund".parse().unwrap()].len(), 1);
}

#[test]
fn the_state_folder_lies_outside_of_the_plugins() {
    assert_snapshot!(faults("plugins = \"x\"\nstate = \"y/../x/./state\"\n"), @r#"
    error: the state folder lies in the folder of plugins
     --> airlock.toml:2:9
      |
    2 | state = "y/../x/./state"
      |         ^^^^^^^^^^^^^^^^ a folder outside of x
    "#);
    assert!(parse("plugins = \".airlock\"\n").is_err());
    assert!(parse("plugins = \"x\"\nstate = \"x-state\"\n").is_ok());
}

#[test]
fn a_file_that_is_no_toml_is_shown_where_it_breaks() {
    assert_snapshot!(faults("plugins = plugins\n[limits\nattempt = \"30s\"\n"), @r#"
    error: the file is no TOML: string values must be quoted, expected literal string
     --> airlock.toml:1:11
      |
    1 | plugins = plugins
      |           ^^^^^^^

    error: the file is no TOML: unclosed table, expected `]`
     --> airlock.toml:2:8
      |
    2 | [limits
      |        ^

    airlock.toml has 2 faults
    "#);
    assert_snapshot!(faults("plugins = \"a\"\nplugins = \"b\"\n"), @r#"
    error: the file is no TOML: duplicate key
     --> airlock.toml:2:1
      |
    2 | plugins = "b"
      | ^^^^^^^
    "#);
}

#[test]
fn certificates_are_read_and_must_be_some() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("empty.pem"), "no certificate").unwrap();
    let text = "[http]\nroots = [\"empty.pem\", \"missing.pem\"]\n";
    let told = Config::parse(text, &folder.path().join("airlock.toml"), &env).unwrap_err();
    let told = told.to_string().replace(folder.path().to_str().unwrap(), "FOLDER");
    assert_snapshot!(told, @r#"
    error: FOLDER/empty.pem cannot be trusted: it holds no certificate
     --> FOLDER/airlock.toml:2:10
      |
    2 | roots = ["empty.pem", "missing.pem"]
      |          ^^^^^^^^^^^ a file of certificates in PEM (-----BEGIN CERTIFICATE-----)

    error: FOLDER/missing.pem cannot be trusted: No such file or directory (os error 2)
     --> FOLDER/airlock.toml:2:23
      |
    2 | roots = ["empty.pem", "missing.pem"]
      |                       ^^^^^^^^^^^^^ a file of certificates in PEM (-----BEGIN CERTIFICATE-----)

    FOLDER/airlock.toml has 2 faults
    "#);
}

#[test]
fn retries_that_contradict_themselves_and_breakers_that_mean_nothing_are_told() {
    assert_snapshot!(faults(
        r#"[retries]
most = 101
base = "5s"
within = "0s"
retry_after = "2days"
[breaker]
percent = 101
in_a_row = 0
open = "10m"
longest = "5m"
[tools."a.b"]
retries = 1000
timeout = "3m"
[limits]
run = "2m"
"#
    ), @r#"
    error: `retries.most` is out of bounds
     --> airlock.toml:2:8
      |
    2 | most = 101
      |        ^^^ at most 100

    error: `retries.within` is out of bounds
     --> airlock.toml:4:10
      |
    4 | within = "0s"
      |          ^^^^ at least 1ms

    error: `retries.retry_after` is out of bounds
     --> airlock.toml:5:15
      |
    5 | retry_after = "2days"
      |               ^^^^^^^ at most 1day

    error: `breaker.percent` is out of bounds
     --> airlock.toml:7:11
      |
    7 | percent = 101
      |           ^^^ at most 100

    error: `breaker.in_a_row` is out of bounds
     --> airlock.toml:8:12
      |
    8 | in_a_row = 0
      |            ^ at least 1

    error: `breaker.longest` is out of bounds
      --> airlock.toml:10:11
       |
    10 | longest = "5m"
       |           ^^^^ at least 10m

    error: `tools."a.b".retries` is out of bounds
      --> airlock.toml:12:11
       |
    12 | retries = 1000
       |           ^^^^ at most 100

    error: `limits.run` is out of bounds
      --> airlock.toml:15:7
       |
    15 | run = "2m"
       |       ^^^^ at least 3m

    airlock.toml has 8 faults
    "#);
    assert_snapshot!(faults("[retries]\nbase = \"3s\"\ncap = \"1s\"\nwithin = \"10m\"\n[breaker]\npercent = 0\n"), @r#"
    error: `retries.cap` is out of bounds
     --> airlock.toml:3:7
      |
    3 | cap = "1s"
      |       ^^^^ at least 3s

    error: `retries.within` is out of bounds
     --> airlock.toml:4:10
      |
    4 | within = "10m"
      |          ^^^^^ at most 2m

    error: `breaker.percent` is out of bounds
     --> airlock.toml:6:11
      |
    6 | percent = 0
      |           ^ at least 1

    airlock.toml has 3 faults
    "#);
}

#[test]
fn what_follows_from_other_settings_follows_them() {
    let config =
        parse("[retries]\nmost = 0\nwithin = \"5s\"\n[tools.\"a.b\"]\ntimeout = \"10m\"\nretries = 7\n")
            .unwrap();
    assert_eq!((config.retries.most, config.retries.within), (0, Duration::from_secs(5)));
    assert_eq!(config.limits.run, Duration::from_secs(600));
    assert_eq!(config.tools[&"a.b".parse().unwrap()].retries, Some(7));
    let config = parse("[retries]\nbase = \"4s\"\n[limits]\nattempt = \"5s\"\nrun = \"10s\"\n").unwrap();
    assert_eq!(
        (config.retries.cap, config.retries.within),
        (Duration::from_secs(4), Duration::from_secs(10))
    );
    // Of the usual retries those are made that there is time for.
    assert!(parse("[limits]\nattempt = \"50ms\"\nrun = \"100ms\"\n").is_ok());
}

#[test]
fn retries_that_there_is_no_time_for_are_told_with_what_would_give_it() {
    assert_snapshot!(faults(
        "[retries]\nmost = 40\nwithin = \"10s\"\n[tools.\"a.b\"]\nretries = 14\n[tools.\"a.c\"]\nretries = 13\n"
    ), @r#"
    error: `retries.most` asks for more retries than `retries.within` has time for: 40
     --> airlock.toml:2:8
      |
    2 | most = 40
      |        ^^ 13 retries fit
      |
      = help: pauses begin below 100ms and double up to 2s: shorten `base` or `cap`, give `within` more than 10s, or ask for fewer

    error: `tools."a.b".retries` asks for more retries than `retries.within` has time for: 14
     --> airlock.toml:5:11
      |
    5 | retries = 14
      |           ^^ 13 retries fit
      |
      = help: pauses begin below 100ms and double up to 2s: shorten `base` or `cap`, give `within` more than 10s, or ask for fewer

    airlock.toml has 2 faults
    "#);
    assert_snapshot!(faults("[retries]\nmost = 0\nwithin = \"0s\"\n[tools.\"a.b\"]\nretries = 1\n"), @r#"
    error: `tools."a.b".retries` asks for more retries than `retries.within` has time for: 1
     --> airlock.toml:5:11
      |
    5 | retries = 1
      |           ^ 0 retries fit
      |
      = help: pauses begin below 100ms and double up to 2s: shorten `base` or `cap`, give `within` more than 0s, or ask for fewer
    "#);
    assert_snapshot!(faults("[retries]\nbase = \"1m\"\n"), @r#"
    error: `retries.most` asks for more retries than `retries.within` has time for: 3
     --> airlock.toml:2:8
      |
    2 | base = "1m"
      |        ^^^^ 0 retries fit
      |
      = help: pauses begin below 1m and double up to 1m: shorten `base` or `cap`, give `within` more than 20s, or ask for fewer
    "#);
}

#[test]
fn fallbacks_that_lead_back_are_told_with_their_way() {
    assert_snapshot!(faults(
        r#"[tools."a.b"]
fallback = "a.b"
[tools."a.c"]
fallback = "a.d"
[tools."a.d"]
fallback = "a.e"
[tools."a.e"]
fallback = "a.c"
[tools."a.f"]
fallback = "a.c"
[tools."a.g"]
fallback = "create_ticket"
"#
    ), @r#"
    error: `tools."a.b".fallback` leads back to the tool itself: a.b → a.b
     --> airlock.toml:2:12
      |
    2 | fallback = "a.b"
      |            ^^^^^ a tool that does not lead back here
      |
      = help: leave one of them out: the last tool of the row has no fallback

    error: `tools."a.c".fallback` leads back to the tool itself: a.c → a.d → a.e → a.c
     --> airlock.toml:4:12
      |
    4 | fallback = "a.d"
      |            ^^^^^ a tool that does not lead back here
      |
      = help: leave one of them out: the last tool of the row has no fallback

    error: `tools."a.d".fallback` leads back to the tool itself: a.d → a.e → a.c → a.d
     --> airlock.toml:6:12
      |
    6 | fallback = "a.e"
      |            ^^^^^ a tool that does not lead back here
      |
      = help: leave one of them out: the last tool of the row has no fallback

    error: `tools."a.e".fallback` leads back to the tool itself: a.e → a.c → a.d → a.e
     --> airlock.toml:8:12
      |
    8 | fallback = "a.c"
      |            ^^^^^ a tool that does not lead back here
      |
      = help: leave one of them out: the last tool of the row has no fallback

    error: `tools.a.g.fallback` cannot be read
      --> airlock.toml:12:12
       |
    12 | fallback = "create_ticket"
       |            ^^^^^^^^^^^^^^^ a tool is named plugin.tool, such as desk.create_ticket

    airlock.toml has 5 faults
    "#);
    let config = parse("[tools.\"a.b\"]\nfallback = \"a.c\"\n[tools.\"a.c\"]\nfallback = \"a.d\"\n").unwrap();
    assert_eq!(config.tools[&"a.b".parse().unwrap()].fallback, Some("a.c".parse().unwrap()));
}

#[test]
fn faults_are_values_too() {
    let faults = parse("[limits]\natempt = \"5s\"\n\nfuel = 0").unwrap_err();
    let lines: Vec<_> = faults.list().iter().map(|fault| faults.line(fault).unwrap()).collect();
    assert_eq!(lines, [2, 4]);
    let failure = faults.failure();
    assert_eq!(
        (&*failure.code, failure.details.unwrap()["faults"][0]["line"].as_u64()),
        ("INVALID_CONFIGURATION", Some(2))
    );
}

#[test]
fn a_name_over_mcp_is_that_of_one_tool() {
    let text = r#"
[mcp.names]
"desk.create_ticket" = "create_ticket"
"desk.open_ticket" = "create_ticket"
"desk.find_order" = "shop__find_order"
"desk.send_mail" = "airlock__send"
"desk.cancel" = "ticket cancel"
desk.assign = "assign_ticket"
"#;
    assert_snapshot!(faults(text), @r#"
    error: `create_ticket` is already the name of desk.create_ticket
     --> airlock.toml:4:22
      |
    4 | "desk.open_ticket" = "create_ticket"
      |                      ^^^^^^^^^^^^^^^ a name that no other tool has

    error: `shop__find_order` is what shop.find_order is called unless it has a name of its own
     --> airlock.toml:5:21
      |
    5 | "desk.find_order" = "shop__find_order"
      |                     ^^^^^^^^^^^^^^^^^^ a name that no other tool has

    error: `mcp.names.desk.send_mail` cannot be read
     --> airlock.toml:6:20
      |
    6 | "desk.send_mail" = "airlock__send"
      |                    ^^^^^^^^^^^^^^^ names that begin with airlock__ are those of the host's own tools

    error: `mcp.names.desk.cancel` cannot be read
     --> airlock.toml:7:17
      |
    7 | "desk.cancel" = "ticket cancel"
      |                 ^^^^^^^^^^^^^^^ a name over MCP is at most 64 letters, digits, - and _, such as create_ticket

    error: `desk` cannot be a name under `mcp.names`
     --> airlock.toml:8:1
      |
    8 | desk.assign = "assign_ticket"
      | ^^^^ a tool is named plugin.tool, such as desk.create_ticket
      |
      = help: write it in quotes: "desk.assign" = …

    airlock.toml has 5 faults
    "#);
    let swapped = "[mcp.names]\n\"a.x\" = \"b__x\"\n\"b.x\" = \"a__x\"\n\"c.x\" = \"c__x\"\n\"d.x\" = \"old__name_1\"\n";
    let names = parse(swapped).unwrap_err();
    assert!(names.list()[0].text.contains("old.name_1"), "{names}");
    let fine = parse(&swapped.replace("old__name_1", "old-name-1")).unwrap().mcp_names;
    assert_eq!(fine.values().collect::<Vec<_>>(), ["b__x", "a__x", "c__x", "old-name-1"]);
}

/// The reference with its settings in force; prose keeps its `#`.
fn reference_in_force() -> String {
    let setting = |line: &str| {
        line.strip_prefix('#')
            .filter(|rest| rest.starts_with(|c: char| c == '[' || c.is_ascii_lowercase()))
            .map(str::to_owned)
    };
    Config::reference().lines().map(|line| setting(line).unwrap_or_else(|| line.to_owned()) + "\n").collect()
}

#[test]
fn the_reference_is_in_force_as_it_stands_and_with_every_setting_taken_in() {
    assert_eq!(parse(Config::reference()).unwrap().limits, Limits::default());
    let text =
        reference_in_force().replace("#roots", "roots").replace("roots = [\"extra-ca.pem\"]", "roots = []");
    let text = text.replace("/srv/notes", "/usr");
    // Its secrets are examples.
    let config = Config::read(&text, Path::new("airlock.toml"), &env, Secrets::IfThere, |_| None);
    let config = config.unwrap_or_else(|faults| panic!("{faults}"));
    assert_eq!(config.limits, Limits::default());
    assert_eq!(config.retries, crate::model::retry::Policy::default());
    assert_eq!(config.breaker, crate::model::breaker::Policy::default());
    assert_eq!(
        (config.plugins.as_path(), config.state.as_path()),
        (Path::new("plugins"), Path::new(".airlock"))
    );
}

#[test]
fn the_reference_names_every_setting() {
    let text = reference_in_force();
    let named: BTreeSet<String> =
        settings_in("", &DeValue::Table(DeTable::parse(&text).unwrap().into_inner()));
    let known: BTreeSet<String> = Written::settings("").into_iter().collect();
    assert_eq!(named, known);
}

/// The dotted paths of what stands in a table, with `*` for the names that an operator chooses.
fn settings_in(path: &str, value: &DeValue<'_>) -> BTreeSet<String> {
    let chosen = matches!(
        path,
        "plugin"
            | "plugin.*.config"
            | "plugin.*.directories"
            | "callers"
            | "callers.*.confirm"
            | "callers.*.users"
            | "scenes"
            | "secrets"
            | "tools"
            | "mcp.names"
            | "prices"
    );
    match value {
        DeValue::Table(table) => {
            let below = |key: &str| match path {
                "" => key.to_owned(),
                _ if chosen => format!("{path}.*"),
                _ => format!("{path}.{key}"),
            };
            table
                .iter()
                .flat_map(|(key, value)| settings_in(&below(key.get_ref()), value.get_ref()))
                .collect()
        }
        DeValue::Array(items) if items.iter().any(|item| item.get_ref().is_table()) => {
            items.iter().flat_map(|item| settings_in(path, item.get_ref())).collect()
        }
        DeValue::String(_)
        | DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_)
        | DeValue::Array(_) => BTreeSet::from([path.to_owned()]),
    }
}

#[test]
fn every_kind_of_value_is_described_where_another_came() {
    let told = |text: &str| {
        let faults = parse(text).unwrap_err();
        let told = faults
            .list()
            .iter()
            .map(|fault| format!("{} | {}", fault.text, fault.expected.as_deref().unwrap_or_default()));
        told.collect::<Vec<_>>().join("\n")
    };
    let all = [
        "[[plugin.p.http]]\norigin = 5\nmethods = [1]\npaths = [2]\naddresses = [3]",
        "[[plugin.p.http]]\norigin = \"https://a.example\"\nmethods = [\"GET\"]\naddresses = [\"10.0.0.0/99\", \"::ffff:1.2.3.4\"]",
        "[secrets]\ntoken = { env = 5 }\nBad_Name = { env = \"A\" }",
        "lock = \"loose\"",
    ];
    assert_snapshot!(all.map(told).join("\n"), @r#"
    `plugin.p.http.origin` is a number | an origin, such as https://api.example.com
    `plugin.p.http.methods` is a number | a method is in capitals, such as GET or POST
    `plugin.p.http.paths` is a number | a path, such as /orders/*
    `plugin.p.http.addresses` is a number | an address or a range of them, such as 127.0.0.1 or 10.1.0.0/16
    `plugin.p.http.addresses` cannot be read | the number after the / is from 0 to 32
    `plugin.p.http.addresses` cannot be read | an IPv4 address in the clothes of IPv6; write 1.2.3.4
    `secrets.token.env` is a number | a variable of the environment, such as DESK_TOKEN
    `Bad_Name` cannot be a name under `secrets` | a secret's name is lower-case letters, digits and single _, and begins with a letter
    `lock` cannot be read | "first" where a plugin is taken as it is first seen, "strict" where it waits for `airlock trust`
    "#);
}

#[test]
fn calls_in_the_background_have_retries_and_a_time_of_their_own() {
    let config = parse("").unwrap();
    assert_eq!(config.retries_in_background, crate::model::retry::Policy::patient());
    assert_eq!(config.limits.background, Duration::from_secs(24 * 3600));
    let written = "[retries]\nretry_after = \"1m\"\n[retries.background]\nmost = 2\nbase = \"5s\"\ncap = \"6h\"\n\
                   [limits]\nbackground = \"3days\"\n";
    let config = parse(written).unwrap();
    let policy = config.retries_in_background;
    let times = [policy.base, policy.cap, policy.asked, config.limits.background];
    assert_eq!((policy.most, times.map(|time| time.as_secs())), (2, [5, 21_600, 60, 259_200]));
    assert_eq!(config.retries.most, 3);
}

#[test]
fn retries_in_the_background_that_cannot_be_are_refused_with_what_they_may_be() {
    let fault = |text: &str| parse(text).unwrap_err().to_string();
    let faults = [
        fault("[retries.background]\nmost = 101\nbase = \"2m\"\ncap = \"1m\"\n"),
        fault("[limits]\nattempt = \"1m\"\nbackground = \"30s\"\n"),
        fault("[retries.background]\nwithin = \"1m\"\n"),
    ];
    assert_snapshot!(faults.join("\n"), @r#"
    error: `retries.background.most` is out of bounds
     --> airlock.toml:2:8
      |
    2 | most = 101
      |        ^^^ at most 100

    error: `retries.background.cap` is out of bounds
     --> airlock.toml:4:7
      |
    4 | cap = "1m"
      |       ^^^^ at least 2m

    airlock.toml has 2 faults
    error: `limits.background` is out of bounds
     --> airlock.toml:3:14
      |
    3 | background = "30s"
      |              ^^^^^ at least 1m
    error: unknown setting `retries.background.within`
     --> airlock.toml:2:1
      |
    2 | within = "1m"
      | ^^^^^^ not a setting of `retries.background`
      |
      = help: `within` stands under `[retries]`
    "#);
}
