//! A store that cannot be used ends a command with 3, and says what to do.

use std::fs;

use insta::assert_snapshot;
use rusqlite::Connection;
use serde_json::json;

use super::Place;

/// A place whose database is there and in order.
fn place() -> Place {
    let place = Place::with_config("");
    assert_eq!(place.airlock(&["runs"]).exit, Some(0));
    place
}

#[test]
fn a_database_of_a_later_version_is_left_as_it_is() {
    let place = place();
    let file = place.path().join(".airlock/airlock.db");
    let database = Connection::open(&file).unwrap();
    let known: i64 = database.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    database.pragma_update(None, "user_version", 99).unwrap();
    drop(database);
    let told = place.airlock(&["runs"]).to_string();
    assert_snapshot!(told.replace(&format!("knows {known}:"), "knows KNOWN:"), @"
    exit 3
    -- out
    -- err
    error[STORE_UNAVAILABLE]: the database has version 99 and this program knows KNOWN: .airlock/airlock.db
    hint: run the version of airlock that wrote it, or a later one
    ");
    let document = place.airlock(&["call", "x.y", "--json"]).document();
    assert_eq!((&document["ok"], &document["error"]["code"]), (&json!(false), &json!("STORE_UNAVAILABLE")));
    let version = Connection::open(&file).unwrap().pragma_query_value(None, "user_version", |row| row.get(0));
    assert_eq!(version, Ok(99));
}

#[test]
fn a_file_that_is_no_database_is_left_as_it_is() {
    let place = place();
    let file = place.path().join(".airlock/airlock.db");
    let text = "not a database, and longer than the hundred bytes of a header would be. ".repeat(100);
    fs::write(&file, &text).unwrap();
    assert_snapshot!(place.airlock(&["runs"]), @r#"
    exit 3
    -- out
    -- err
    error[STORE_UNAVAILABLE]: the database is damaged (file is not a database): .airlock/airlock.db
    hint: put a backup of .airlock/airlock.db in its place; or move .airlock/airlock.db and its -wal aside to begin anew, and keep them: they hold the record of what was done
    "#);
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
}

#[test]
fn a_state_folder_that_cannot_be_made_is_named() {
    let place = Place::with_config("state = \"notes.txt/state\"\n");
    fs::write(place.path().join("notes.txt"), "a file").unwrap();
    assert_snapshot!(place.airlock(&["runs"]), @r#"
    exit 3
    -- out
    -- err
    error[STORE_UNAVAILABLE]: the state folder cannot be used (Not a directory (os error 20)): notes.txt/state
    hint: choose a folder that can be made and written with `state` in airlock.toml
    "#);
    let doctor = place.airlock(&["doctor"]).to_string();
    assert!(
        doctor.contains("the state folder cannot be used (notes.txt is no folder): notes.txt/state"),
        "{doctor}"
    );
}

#[test]
fn a_sandbox_that_cannot_be_set_up_is_the_hosts_fault_and_not_the_stores() {
    let place = place();
    let mut narrow = std::process::Command::new("sh");
    // Less than the sandbox sets aside for the memory of guests.
    narrow.args(["-c", "ulimit -v 4000000; exec \"$0\" \"$@\"", super::AIRLOCK, "runs", "--json"]);
    let ran = place.ran(narrow.current_dir(place.path()).env_clear().env("HOME", place.path()));
    let error = &ran.document()["error"];
    assert_eq!((ran.exit, &error["code"], &error["kind"]), (Some(3), &json!("INTERNAL"), &json!("internal")));
    assert_eq!(error["details"]["hint"], "look at the limits of memory and threads of this process");
}
