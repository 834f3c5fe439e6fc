//! An author's first ten minutes: a folder, a build, a call, and what stands in the way.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use airlock_tests::guests;
use insta::assert_snapshot;

use super::{Place, Ran};

pub(super) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Gives a command the toolchain that builds these tests, which asks nobody for crates.
pub(super) fn toolchain<'a>(command: &'a mut Command, home: &Path) -> &'a mut Command {
    let cargo =
        option_env!("CARGO_HOME").map_or_else(|| PathBuf::from(env!("HOME")).join(".cargo"), PathBuf::from);
    let path = format!("{}:/usr/bin:/bin", Path::new(env!("CARGO")).parent().unwrap().display());
    command
        .env("PATH", path)
        .env("HOME", home)
        .env("CARGO_HOME", cargo)
        .env("CARGO_NET_OFFLINE", "true")
        .env("CARGO_TARGET_DIR", root().join("target/authors"))
}

/// The turn to build: those that build do so into one folder, and each may be a process of its own.
pub(super) fn turn() -> File {
    let turn = File::create(root().join("target/authors.lock")).unwrap();
    turn.lock().unwrap();
    turn
}

fn with_toolchain(place: &Place, program: &str, arguments: &[&str]) -> Command {
    let mut command = place.command(arguments);
    if program != "airlock" {
        let mut other = Command::new(program);
        other.args(arguments).env_clear();
        command = other;
    }
    toolchain(&mut command, place.path());
    command
}

fn airlock(place: &Place, arguments: &[&str]) -> Ran {
    place.ran(&mut with_toolchain(place, "airlock", arguments))
}

/// A place with a fresh plugin, whose dependencies are those of these tests, and the turn to build it.
fn begun() -> (Place, File) {
    let turn = turn();
    let place = Place::with_config("");
    let ran = place.airlock(&["new", "greeter"]);
    assert_eq!(ran.exit, Some(0), "{ran}");
    fs::copy(root().join("Cargo.lock"), place.path().join("greeter/Cargo.lock")).unwrap();
    (place, turn)
}

#[test]
fn a_fresh_plugin_says_what_comes_next() {
    let place = Place::new();
    assert_snapshot!(place.airlock(&["new", "greeter"]), @r#"
    exit 0
    -- out
    -- err
    wrote the plugin greeter into the folder greeter
    next:
      1. `(cd greeter && cargo test)` runs its tests
      2. `airlock build greeter` builds it, and puts it into the folder of plugins
      3. `airlock call greeter.greet '{"name":"Ada"}'` calls it
      4. write tools of your own in greeter/src/lib.rs
    "#);
    let ran = place.airlock(&["new", "weather", "--json"]);
    let document = ran.document();
    assert_eq!((ran.exit, document["data"]["plugin"].as_str()), (Some(0), Some("weather")));
    for file in document["data"]["files"].as_array().unwrap() {
        let text = fs::read_to_string(place.path().join(file.as_str().unwrap())).unwrap();
        assert!(!text.contains("{{"), "{file}: {text}");
    }
}

#[test]
fn a_folder_that_is_there_and_a_name_that_cannot_be_are_refused() {
    let place = Place::new();
    fs::create_dir(place.path().join("greeter")).unwrap();
    assert_snapshot!(place.airlock(&["new", "greeter"]), @r"
    exit 2
    -- out
    -- err
    error[INVALID_USAGE]: greeter is there already and was left as it is
    hint: choose another name, or another folder to be in
    ");
    assert_snapshot!(place.airlock(&["new", "Greeter"]), @r"
    exit 2
    -- out
    -- err
    error[INVALID_USAGE]: no plugin can have this name, for one begins with a small letter, and has small letters, digits and single _ alone, at most 64: Greeter
    hint: give a name such as greeter or order_desk
    ");
    assert_snapshot!(place.airlock(&["new", "airlock"]), @r"
    exit 2
    -- out
    -- err
    error[INVALID_USAGE]: no plugin can have this name, for it is that of the host's own: airlock
    hint: give a name such as greeter or order_desk
    ");
    assert_snapshot!(place.airlock(&["new", "match"]), @r"
    exit 2
    -- out
    -- err
    error[INVALID_USAGE]: no plugin can have this name, for it means something else in Rust: match
    hint: give a name such as greeter or order_desk
    ");
    for name in ["../up", "a__b", "", "a b", "1a", "serde"] {
        assert_eq!(place.airlock(&["new", name]).exit, Some(2), "{name}");
    }
    assert_snapshot!(place.airlock(&["new", "weather", "--sdk", "nowhere"]), @r"
    exit 2
    -- out
    -- err
    error[INVALID_USAGE]: the SDK is not there: nowhere
    hint: it comes with airlock's source: say `--sdk FOLDER`, where FOLDER is its plugin-sdk
    ");
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
}

#[test]
fn a_fresh_plugin_passes_its_tests_is_built_called_built_again_and_stays_accepted() {
    let (place, _turn) = begun();
    let folder = place.path().join("greeter");
    let tested = with_toolchain(&place, "cargo", &["test"]).current_dir(&folder).output().unwrap();
    let said = String::from_utf8(tested.stdout).unwrap();
    assert!(
        tested.status.success() && said.contains("2 passed"),
        "{said}{}",
        String::from_utf8_lossy(&tested.stderr)
    );

    let ran = airlock(&place, &["build", "greeter"]);
    assert_eq!(
        (ran.exit, ran.out.as_str()),
        (Some(0), "greeter 0.1.0 is in plugins/greeter.wasm\n"),
        "{ran}"
    );
    let called = place.airlock(&["call", "greeter.greet", r#"{"name":"Ada"}"#]);
    assert!(called.out.contains("Good day, Ada"), "{called}");

    let source = folder.join("src/lib.rs");
    let text = fs::read_to_string(&source).unwrap();
    fs::write(&source, text.replace("Good day,", "Good evening,").replace("(\"Greet\")", "(\"Greet one\")"))
        .unwrap();
    let ran = airlock(&place, &["build", "greeter", "--json"]);
    assert_eq!((ran.exit, &ran.document()["data"]["accepted"]), (Some(0), &true.into()), "{ran}");
    let called = place.airlock(&["call", "greeter.greet", r#"{"name":"Ada"}"#]);
    assert!(called.out.contains("Good evening, Ada"), "{called}");

    let ran = airlock(&place, &["build", "greeter", "--out", "elsewhere"]);
    assert_eq!(
        (ran.exit, ran.out.as_str()),
        (Some(0), "greeter 0.1.0 is in elsewhere/greeter.wasm\n"),
        "{ran}"
    );
    let mode = fs::metadata(place.path().join("plugins/greeter.wasm")).unwrap().permissions().mode();
    assert_eq!(mode & 0o077 & !0o044, 0, "nobody else can write what is run");
}

#[test]
fn a_plugin_that_does_not_build_or_cannot_be_used_is_put_nowhere() {
    let (place, _turn) = begun();
    let source = place.path().join("greeter/src/lib.rs");
    let text = fs::read_to_string(&source).unwrap();
    fs::write(&source, format!("{text}\nfn broken(")).unwrap();
    let ran = airlock(&place, &["build", "greeter"]);
    assert_eq!(ran.exit, Some(1), "{ran}");
    assert!(
        ran.err.contains("error[FAULTS_FOUND]: the plugin does not build; what cargo says stands above"),
        "{ran}"
    );

    fs::write(
        &source,
        text.replace("Risk::PublicRead", "Risk::HighRiskWrite")
            .replace("Repeat::Reads", "Repeat::Once")
            .replace("NAME: &'static str = \"greet\"", "NAME: &'static str = \"Greet\""),
    )
    .unwrap();
    let ran = airlock(&place, &["build", "greeter"]);
    assert_eq!(ran.exit, Some(1), "{ran}");
    assert!(ran.out.contains("cannot be used:\n  - tool \"Greet\""), "{ran}");
    assert_eq!(fs::read_dir(place.path().join("plugins")).unwrap().count(), 0);
}

#[test]
fn what_a_build_lacks_is_told_before_it_begins() {
    let place = Place::with_config("");
    assert_snapshot!(airlock(&place, &["build"]), @r"
    exit 2
    -- out
    -- err
    error[INVALID_USAGE]: there is no ./Cargo.toml
    hint: `airlock new NAME` begins a plugin; `airlock build FOLDER` names its folder
    ");
    assert_eq!(Place::new().airlock(&["build"]).exit, Some(2));
    assert_eq!(place.airlock(&["new", "greeter"]).exit, Some(0));
    assert_snapshot!(place.ran(place.command(&["build", "greeter"]).env("PATH", place.path())), @r"
    exit 2
    -- out
    -- err
    error[INVALID_USAGE]: cargo does not run: No such file or directory (os error 2)
    hint: install Rust: https://rustup.rs
    ");
    // A toolchain without the target.
    let tools = place.path().join("bin");
    fs::create_dir(&tools).unwrap();
    for (program, says) in [("cargo", "cargo 1.95.0"), ("rustc", "/nowhere")] {
        fs::write(tools.join(program), format!("#!/bin/sh\necho {says}\n")).unwrap();
        fs::set_permissions(tools.join(program), fs::Permissions::from_mode(0o755)).unwrap();
    }
    assert_snapshot!(place.ran(place.command(&["build", "greeter"]).env("PATH", &tools)), @r"
    exit 2
    -- out
    -- err
    error[INVALID_USAGE]: the target wasm32-wasip2 is not there
    hint: bring it: `rustup target add wasm32-wasip2`; from a checkout of airlock, `make setup`
    ");
}

#[test]
fn a_plugin_whose_name_another_file_has_is_told() {
    let (place, _turn) = begun();
    assert_eq!(airlock(&place, &["build", "greeter"]).exit, Some(0));
    fs::copy(place.path().join("plugins/greeter.wasm"), place.path().join("plugins/other.wasm")).unwrap();
    place.with_plugin(guests::ECHO);
    let ran = airlock(&place, &["build", "greeter"]);
    assert_eq!(ran.exit, Some(1), "{ran}");
    assert!(ran.err.contains("its name `greeter` is also that of"), "{ran}");
}

#[test]
fn a_place_where_nothing_can_be_written_is_told() {
    let place = Place::new();
    fs::write(place.path().join("file"), "no folder").unwrap();
    let init = place.airlock(&["init", "--config", "file/airlock.toml"]);
    assert_snapshot!(init, @"
    exit 2
    -- out
    -- err
    error[INVALID_USAGE]: file cannot be made: File exists (os error 17)
    ");
}
