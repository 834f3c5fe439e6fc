//! What is looked at before anything runs: each thing with the line that mends it, and nothing changed.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use airlock::model::id::ProcessId;
use airlock::store::SqliteStore;
use airlock::store::sqlite::Durability;
use airlock_tests::backend::{Fault, Moment};
use airlock_tests::guests;
use insta::assert_snapshot;

use super::{Place, Ran};

/// A command with the toolchain that builds these tests.
fn doctor(place: &Place, arguments: &[&str]) -> Command {
    let mut command = place.command(arguments);
    command.env("PATH", Path::new(env!("CARGO")).parent().unwrap());
    command
}

fn examined(place: &Place) -> Ran {
    let mut ran = place.ran(&mut doctor(place, &["doctor"]));
    ran.out = ran.out.lines().map(equal).collect::<Vec<_>>().join("\n") + "\n";
    ran
}

/// A line in which sizes, times and versions of this machine are made equal.
fn equal(line: &str) -> String {
    let mut line = line.to_owned();
    if let Some((before, _)) = line.split_once("cargo 1.") {
        line = format!("{before}cargo 1.95.0");
    }
    if let Some((before, after)) = line.split_once(": version ") {
        let after = after.trim_start_matches(|letter: char| letter.is_ascii_digit());
        line = format!("{before}: version 1{after}");
    }
    for unit in [" KiB", " MiB", " TiB"] {
        line = line.replace(unit, " GiB");
    }
    let parts: Vec<&str> = line.split(" GiB").collect();
    let last = parts.len() - 1;
    let sizes = parts.iter().enumerate().map(|(at, part)| match at {
        at if at == last => (*part).to_owned(),
        _ => format!("{}1", part.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.')),
    });
    let line = sizes.collect::<Vec<_>>().join(" GiB");
    match line.split_once("it says ") {
        Some((before, after)) => format!("{before}it says NOW{}", after.get(20..).unwrap_or_default()),
        None => line,
    }
}

/// A place where everything is as it should be, and something was called.
fn used() -> Place {
    let place = Place::with_config("");
    place.with_plugin(guests::ECHO);
    assert_eq!(place.airlock(&["tools"]).exit, Some(0));
    place
}

/// Every file and folder, with its content and when it was written.
fn tree(folder: &Path) -> BTreeMap<PathBuf, (SystemTime, Option<Vec<u8>>)> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let modified = path.metadata().unwrap().modified().unwrap();
        if path.is_dir() {
            found.extend(tree(&path));
            found.insert(path, (modified, None));
        } else {
            let content = fs::read(&path).unwrap();
            found.insert(path, (modified, Some(content)));
        }
    }
    found
}

#[test]
fn everything_is_as_it_should_be() {
    assert_snapshot!(examined(&used()), @r"
    exit 0
    -- out
    ok     toolchain     cargo 1.95.0
    ok     toolchain     the target wasm32-wasip2 is there
    ok     configuration airlock.toml has no faults
    ok     secrets       none are named
    ok     plugins       1 file in plugins
    ok     lock          every plugin is as airlock.lock has it
    ok     store         .airlock: version 1, not open at the moment, 1 GiB left on its disk
    ok     cache         1 GiB of compiled code, of 1 GiB that may be kept
    ok     clock         it says NOW
    -- err
    everything is as it should be
    ");
}

#[test]
fn a_place_where_nothing_was_called_yet_has_no_lock() {
    let place = Place::with_config("");
    place.with_plugin(guests::ECHO);
    assert_eq!(
        about(&examined(&place), " lock "),
        "ok     lock          nothing was accepted yet: airlock.lock is not there"
    );
}

#[test]
fn nothing_is_changed() {
    let begun = Place::with_config("");
    for place in [Place::new(), begun, used()] {
        let before = tree(place.path());
        examined(&place);
        assert_eq!(tree(place.path()), before);
    }
}

#[test]
fn what_is_broken_is_told_with_what_mends_it_and_the_rest_is_looked_at() {
    let place = Place::with_config(
        "plugins = \"none\"\n[limits]\natempt = \"5s\"\n[secrets]\ntoken = { env = \"TOKEN\" }\n",
    );
    fs::write(place.path().join("airlock.lock"), "{").unwrap();
    fs::create_dir(place.path().join(".airlock")).unwrap();
    fs::set_permissions(place.path().join(".airlock"), Permissions::from_mode(0o755)).unwrap();
    assert_snapshot!(examined(&place), @r"
    exit 2
    -- out
    ok     toolchain     cargo 1.95.0
    ok     toolchain     the target wasm32-wasip2 is there
    fault  configuration line 3: unknown setting `limits.atempt`
                         hint: did you mean `attempt`?
    fault  secrets       line 5: the secret `token` is missing: the variable TOKEN is not set
                         hint: export TOKEN='…'
    fault  plugins       the folder of plugins cannot be read: No such file or directory (os error 2): none
                         hint: `mkdir -p none`, or name another with `plugins` in the configuration
    fault  lock          airlock.lock: it is damaged: EOF while parsing an object at line 1 column 1
                         hint: mend the file; without it, each plugin counts as seen for the first time
    fault  store         the state folder cannot be used (others can enter it; `chmod 700` it, if it is for airlock alone): .airlock
                         hint: choose a folder that can be made and written with `state` in airlock.toml
    ok     cache         nothing is compiled yet
    ok     clock         it says NOW
    -- err
    5 faults
    ");

    let document = place.ran(&mut doctor(&place, &["doctor", "--json"])).document();
    assert_eq!(
        (&document["ok"], &document["error"]["code"]),
        (&false.into(), &"INVALID_CONFIGURATION".into())
    );
    let found = document["error"]["details"]["found"].as_array().unwrap();
    let faults: Vec<&str> = found
        .iter()
        .filter(|one| one["health"] == "fault")
        .map(|one| one["about"].as_str().unwrap())
        .collect();
    assert_eq!(faults, ["configuration", "secrets", "plugins", "lock", "store"]);
}

#[test]
fn a_configuration_that_is_no_toml_leaves_nothing_to_look_at() {
    assert_snapshot!(examined(&Place::with_config("plugins = ")), @r"
    exit 2
    -- out
    ok     toolchain     cargo 1.95.0
    ok     toolchain     the target wasm32-wasip2 is there
    fault  configuration line 1: the file is no TOML: string values must be quoted, expected literal string
                         hint: mend that line
    warn   configuration secrets, plugins, lock, store and cache were not looked at: the configuration says where they are
                         hint: mend the configuration, and ask again
    ok     clock         it says NOW
    -- err
    1 fault and 1 warning
    ");
}

#[test]
fn without_a_configuration_it_says_how_to_have_one() {
    assert_snapshot!(examined(&Place::new()), @r"
    exit 2
    -- out
    ok     toolchain     cargo 1.95.0
    ok     toolchain     the target wasm32-wasip2 is there
    fault  configuration there is no configuration
                         hint: `airlock init` writes one here; `--config FILE` names another
    warn   configuration secrets, plugins, lock, store and cache were not looked at: the configuration says where they are
                         hint: mend the configuration, and ask again
    ok     clock         it says NOW
    -- err
    1 fault and 1 warning
    ");
}

#[test]
fn what_others_can_change_is_told() {
    let place = used();
    for (path, mode) in [("plugins", 0o777), ("airlock.lock", 0o666), (".airlock/airlock.db", 0o644)] {
        fs::set_permissions(place.path().join(path), Permissions::from_mode(mode)).unwrap();
    }
    assert_snapshot!(examined(&place), @r"
    exit 1
    -- out
    ok     toolchain     cargo 1.95.0
    ok     toolchain     the target wasm32-wasip2 is there
    ok     configuration airlock.toml has no faults
    ok     secrets       none are named
    ok     plugins       1 file in plugins
    warn   plugins       others can put plugins there: plugins
                         hint: `chmod go-w plugins`
    fault  lock          airlock.lock: it is not obeyed: others than its owner can write it; look at what it accepts, then `chmod go-w airlock.lock`
                         hint: mend the file; without it, each plugin counts as seen for the first time
    ok     store         .airlock: version 1, not open at the moment, 1 GiB left on its disk
    warn   store         others could read it if they entered its folder: .airlock/airlock.db
                         hint: `chmod 600 .airlock/airlock.db`
    ok     cache         1 GiB of compiled code, of 1 GiB that may be kept
    ok     clock         it says NOW
    -- err
    1 fault and 2 warnings
    ");
}

#[test]
fn a_plugin_that_is_not_the_one_that_was_accepted_is_told() {
    let place = used();
    fs::copy(guests::CURIOUS, place.path().join("plugins/echo.wasm")).unwrap();
    fs::create_dir(place.path().join("plugins/odd.wasm")).unwrap();
    assert_snapshot!(examined(&place), @r#"
    exit 0
    -- out
    ok     toolchain     cargo 1.95.0
    ok     toolchain     the target wasm32-wasip2 is there
    ok     configuration airlock.toml has no faults
    ok     secrets       none are named
    ok     plugins       2 files in plugins
    warn   plugins       plugins/odd.wasm: it is no regular file
                         hint: mend or remove it; the others work
    warn   grants        curious.look lacks config home_url, secret token, http GET
                         hint: write into airlock.toml:
                           [plugin.curious]
                           config = { home_url = "…" }
                           secrets = ["token"]

                           [[plugin.curious.http]]
                           origin = "…"
                           methods = ["GET"]

                           [secrets]
                           token = { env = "TOKEN" }
    warn   lock          plugins/echo.wasm is new, or changed since it was accepted
                         hint: `airlock trust` lists the plugins that wait for you, and what changed
    ok     store         .airlock: version 1, not open at the moment, 1 GiB left on its disk
    ok     cache         1 GiB of compiled code, of 1 GiB that may be kept
    ok     clock         it says NOW
    -- err
    3 warnings
    "#);
}

/// The lines of what was found about something, and what mends it.
fn about(ran: &Ran, about: &str) -> String {
    let (mut lines, mut within) = (Vec::new(), false);
    for line in ran.out.lines() {
        within = if line.starts_with(' ') || line.is_empty() { within } else { line.contains(about) };
        lines.extend(within.then_some(line));
    }
    lines.join("\n")
}

#[test]
fn what_plugins_are_not_granted_is_told_with_the_lines_that_grant_it() {
    let place = Place::with_config("");
    place.with_plugin(guests::CURIOUS);
    // Before anything was accepted, and after it.
    let first = examined(&place);
    assert_eq!(first.exit, Some(0), "{first}");
    assert_snapshot!(about(&first, "grants"), @r#"
    warn   grants        curious.look lacks config home_url, secret token, http GET
                         hint: write into airlock.toml:
                           [plugin.curious]
                           config = { home_url = "…" }
                           secrets = ["token"]

                           [[plugin.curious.http]]
                           origin = "…"
                           methods = ["GET"]

                           [secrets]
                           token = { env = "TOKEN" }
    "#);
    assert!(!place.path().join("airlock.lock").exists() && !place.path().join(".airlock").exists());
    assert_eq!(place.airlock(&["tools"]).exit, Some(0));
    assert_eq!(about(&examined(&place), "grants"), about(&first, "grants"));
    // The lines are what is missing: once they are written, nothing is.
    let lines = about(&first, "grants").lines().skip(2).collect::<Vec<_>>().join("\n");
    let text = lines.replace("\"…\"", "\"https://home.example.com\"").replace("\"TOKEN\"", "\"DESK_TOKEN\"");
    fs::write(place.path().join("airlock.toml"), text).unwrap();
    assert_eq!(about(&examined(&place), "grants"), "");
    assert_eq!(place.airlock(&["tools"]).exit, Some(0));
}

#[test]
fn what_the_configuration_names_and_no_plugin_has_is_a_fault_as_it_is_for_a_call() {
    let place = Place::with_config("[plugin.mail]\n[tools.\"echo.ecko\"]\nconfirm = \"none\"\n");
    place.with_plugin(guests::ECHO);
    let first = examined(&place);
    assert_eq!(first.exit, Some(2), "{first}");
    assert_snapshot!(about(&first, "configuration"), @r"
    fault  configuration line 1: there is no plugin `mail`
                         hint: put its .wasm file into plugins; the plugins there are echo
    fault  configuration line 2: there is no tool `echo.ecko`
                         hint: did you mean `echo.echo`?
    ");
    assert_eq!(place.airlock(&["call", "echo.echo"]).exit, Some(2));
    assert_eq!(about(&examined(&place), "configuration"), about(&first, "configuration"));
    let document = place.ran(&mut doctor(&place, &["doctor", "--json"])).document();
    assert_eq!(document["error"]["code"], "INVALID_CONFIGURATION");
}

#[test]
fn a_file_that_is_no_plugin_is_told_with_its_reason() {
    let place = Place::with_config("[plugin.notes]\n");
    place.with_plugin(guests::ECHO);
    fs::write(place.path().join("plugins/notes.wasm"), "no component").unwrap();
    let ran = examined(&place);
    assert_eq!(ran.exit, Some(0), "its name may be that one's: {ran}");
    assert_snapshot!(about(&ran, "plugins "), @r"
    ok     plugins       2 files in plugins
    warn   plugins       plugins/notes.wasm cannot be used: it is no WebAssembly: it does not begin as WebAssembly does
                         hint: put a component there, or remove the file
    ");
}

#[test]
fn two_files_of_one_plugin_are_told() {
    let place = used();
    fs::copy(guests::ECHO, place.path().join("plugins/other.wasm")).unwrap();
    let ran = examined(&place);
    assert_snapshot!(about(&ran, "plugins "), @r"
    ok     plugins       2 files in plugins
    warn   plugins       2 files are a plugin `echo`, and none of them can be used
                         hint: `airlock tools` says which files; remove those that are not meant
    ");
}

#[test]
fn a_store_of_a_later_version_is_told() {
    let place = used();
    let database = rusqlite::Connection::open(place.path().join(".airlock/airlock.db")).unwrap();
    database.execute_batch("PRAGMA user_version = 999").unwrap();
    drop(database);
    let ran = examined(&place);
    assert_eq!(ran.exit, Some(1));
    assert!(ran.out.contains("fault  store         the database has version 999"), "{ran}");
}

#[test]
fn a_damaged_store_is_told() {
    let place = used();
    fs::write(
        place.path().join(".airlock/airlock.db"),
        "no database at all, and longer than a header is by far; ".repeat(9),
    )
    .unwrap();
    let ran = examined(&place);
    assert_eq!(ran.exit, Some(1));
    assert!(ran.out.contains("fault  store         the database is damaged"), "{ran}");
}

#[test]
fn a_store_that_is_open_is_looked_at_beside_whoever_has_it() {
    let place = used();
    let process = ProcessId([7; 16]);
    let store = SqliteStore::open(&place.path().join(".airlock"), process, Durability::Full).unwrap();
    let ran = examined(&place);
    assert!(ran.out.contains("open in 1 process"), "{ran}");
    assert_eq!(ran.exit, Some(0), "{ran}");
    drop(store);
    assert!(examined(&place).out.contains("not open at the moment"));
}

#[test]
fn a_clock_that_stands_before_what_was_written_is_told() {
    let place = used();
    let later = SystemTime::UNIX_EPOCH + Duration::from_secs(4_000_000_000);
    File::options().write(true).open(place.path().join("airlock.toml")).unwrap().set_modified(later).unwrap();
    let ran = examined(&place);
    assert_eq!(ran.exit, Some(1));
    let lines: Vec<&str> =
        ran.out.lines().filter(|line| line.contains("clock") || line.contains("timedatectl")).collect();
    assert_snapshot!(lines.join("\n"), @r"
    fault  clock         it says NOW, and airlock.toml was written at 2096-10-02T07:06:40Z
                         hint: set it, for keys and results lapse by it: `timedatectl set-ntp true`
    ");
}

#[test]
fn who_builds_no_plugins_needs_no_toolchain() {
    let place = used();
    let ran = place.ran(place.command(&["doctor"]).env("PATH", place.path()));
    assert_eq!(ran.exit, Some(0));
    let lines: Vec<&str> = ran.out.lines().take(2).collect();
    assert_snapshot!(lines.join("\n"), @r"
    warn   toolchain     cargo does not run, so no plugin can be built here
                         hint: install Rust if you write plugins: https://rustup.rs
    ");
}

#[test]
fn a_grant_that_leads_to_no_public_address_without_naming_it_is_told() {
    let place = Place::with_config(
        "[plugin.curious]\nconfig = { home_url = \"http://localhost:8080\" }\nsecrets = [\"token\"]\n[[plugin.curious.http]]\norigin = \"http://localhost:8080\"\nmethods = [\"GET\"]\n[secrets]\ntoken = { env = \"DESK_TOKEN\" }\n",
    );
    place.with_plugin(guests::CURIOUS);
    let ran = examined(&place);
    assert_eq!(ran.exit, Some(0), "{ran}");
    assert_snapshot!(about(&ran, "grants"), @r#"
    warn   grants        requests of curious to http://localhost:8080 are refused: 127.0.0.1 and ::1 are not of the public network, nor granted
                         hint: add to this [[plugin.curious.http]]: addresses = ["127.0.0.1","::1"]
    "#);
    let file = place.path().join("airlock.toml");
    let text = fs::read_to_string(&file).unwrap();
    let mended = text.replace("[secrets]", "addresses = [\"127.0.0.1\",\"::1\"]\n[secrets]");
    fs::write(&file, mended).unwrap();
    assert_eq!(about(&examined(&place), "grants"), "");
}

#[test]
fn runs_that_wait_for_a_person_and_backends_that_are_left_alone_are_told() {
    let lines = "[retries]\nmost = 0\n[probe]\ntries = 0\n[tools.\"desk.send_mail\"]\nconfirm = \"none\"\n";
    let (place, desk) = Place::with_desk_retrying(lines);
    desk.fault("POST /mails", Fault::cut(Moment::AfterWork), 1);
    let lost = place.airlock(&["call", "desk.send_mail", super::MAIL]);
    assert!(lost.err.contains("OUTCOME_UNKNOWN"), "{lost}");
    place.airlock(&["breakers", "open", "desk.find_order"]);
    let ran = examined(&place);
    assert_eq!(ran.exit, Some(0), "{ran}");
    let (runs, breakers) = (about(&ran, "runs  "), about(&ran, "breakers "));
    let (before, since) = runs.split_once("since ").unwrap();
    assert_snapshot!(format!("{before}since THEN{}", &since[20..]), @"
    warn   runs          1 run waits for a person, since THEN
                         hint: `airlock runs --state suspended` lists them; `airlock runs RUN` shows what was done, and how it is settled
    ");
    assert_snapshot!(breakers, @"
    warn   breakers      an operator lets no call of desk.find_order through to http://desk.test:12345
                         hint: `airlock breakers auto desk.find_order` leaves it to the host again
    ");
    let document = place.ran(&mut doctor(&place, &["doctor", "--json"])).document();
    let found = document["data"]["found"].as_array().unwrap();
    let about: Vec<&str> = found
        .iter()
        .filter(|one| one["health"] == "warn")
        .map(|one| one["about"].as_str().unwrap())
        .collect();
    assert_eq!(about, ["runs", "breakers"], "{document}");
}
