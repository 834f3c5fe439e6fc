//! What stands in place of a file, or is no text, is told and never waited for.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;

use airlock::model::unseen::is_unseen;
use airlock_tests::guests;
use insta::assert_snapshot;

use super::Place;
use crate::files::pipe;

#[test]
fn a_configuration_that_cannot_be_one_is_told() {
    let place = Place::with_config("");
    let file = place.path().join("airlock.toml");
    let tools = |told: &mut Vec<String>| {
        fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        told.push(place.airlock(&["tools"]).to_string());
    };
    let mut told = Vec::new();
    File::create(&file).unwrap().set_len(5 << 20).unwrap();
    tools(&mut told);
    fs::write(&file, b"# one\n# caf\xe9\n").unwrap();
    tools(&mut told);
    fs::remove_file(&file).unwrap();
    pipe(&file);
    tools(&mut told);
    assert_snapshot!(told.join("\n"), @"
    exit 2
    -- out
    -- err
    error: airlock.toml cannot be read: it has 5242880 bytes and may have 4194304

    exit 2
    -- out
    -- err
    error: airlock.toml cannot be read: line 2 is no UTF-8
     |
     = help: save it as UTF-8

    exit 2
    -- out
    -- err
    error: airlock.toml cannot be read: it is no regular file
    ");
}

#[test]
fn of_many_faults_the_first_hundred_are_told_and_all_are_counted() {
    let lines: String = (0..20_000).map(|line| format!("x{line} = 1\n")).collect();
    let ran = Place::with_config(&format!("[limits]\n{lines}")).airlock(&["tools"]);
    assert_eq!((ran.exit, ran.err.matches("error: ").count()), (Some(2), 100));
    let last = ran.err.lines().last().unwrap();
    assert_snapshot!(last, @"airlock.toml has 20000 faults; these are the first 100");
}

#[test]
fn a_fault_of_the_configuration_comes_without_what_a_terminal_would_obey() {
    let nasty = "x\u{9b}2J\u{200b}\u{ad}\u{202e}\u{2066}\u{e0041}";
    let ran = Place::with_config(&format!("\"{nasty}\" = 1 # {nasty}\n")).airlock(&["tools"]);
    assert_snapshot!(ran, @r#"
    exit 2
    -- out
    -- err
    error: unknown setting `x??2J�??���?`
     --> airlock.toml:1:1
      |
    1 | "x??2J�??���?" = 1 # x??2J�??���?
      | ^^^^^^^^^^^^^^ not a setting at the top of the file
      |
      = help: the settings here are plugins, state, lock, plugin, callers, scenes, secrets, limits, retries, breaker, budgets, prices, probe, tools, loops, http, log, compile, mcp
    "#);
    assert!(ran.err.chars().all(|letter| letter == '\n' || !is_unseen(letter)), "{:?}", ran.err);
}

#[test]
fn a_plugin_whose_name_is_no_text_is_told_as_a_document_too() {
    let place = Place::with_config("");
    place.with_plugin(guests::ECHO);
    let odd = OsStr::from_bytes(b"odd\xff\x1b.wasm");
    fs::write(place.path().join("plugins").join(odd), "no component").unwrap();
    let document = place.airlock(&["tools", "--json"]).document();
    assert_eq!(document["data"]["faults"][0]["file"], "plugins/odd\u{fffd}\u{1b}.wasm");
    assert_eq!(document["data"]["tools"][0]["name"], "echo.echo");
}
