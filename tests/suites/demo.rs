//! The demo, run as `make demo` runs it: what it shows is so, and it ends with an error where it is not.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use airlock_tests::guests;

/// Runs the script with this host, in a folder for its own temporary ones.
fn demo(airlock: &str, temporary: &Path) -> Output {
    Command::new("bash")
        .arg(crate::source::root().join("scripts/demo.sh"))
        .env("AIRLOCK", airlock)
        .env("DESK_BACKEND", env!("CARGO_BIN_EXE_desk-backend"))
        .env("PLUGINS", Path::new(guests::DESK).parent().unwrap())
        .env("TMPDIR", temporary)
        .output()
        .unwrap()
}

#[test]
fn the_demo_tells_the_truth_and_leaves_nothing_behind() {
    let temporary = tempfile::tempdir().unwrap();
    let ran = demo(env!("CARGO_BIN_EXE_airlock-under-test"), temporary.path());
    let (told, complaint) = (String::from_utf8(ran.stdout).unwrap(), String::from_utf8(ran.stderr).unwrap());
    assert_eq!((ran.status.code(), complaint.as_str()), (Some(0), ""), "{told}");
    for line in [
        "  error[AMBIGUOUS_ORDER]: 3 orders fit; ask which one is meant",
        "  error[NEEDS_PERSON]: a person must say yes to desk.send_mail, and nobody can be asked here",
        "    - POST /mails (no answer)",
        "  error[UNKNOWN_TOOL]: there is no such tool: evaluate; did you mean calc.evaluate?",
        "  error[CIRCUIT_OPEN]: a backend that desk.find_order needs keeps failing, so it is left alone for now; nothing was run",
        "  error[REQUEST_REFUSED]: the operator has not granted this origin",
        "  error[TIME_LIMIT]: the attempt took longer than 500ms ([tools.\"web.fetch\"] timeout)",
        "    - +We send parcels on Fridays.",
        "  error[FILE_REFUSED]: a link is on the way, and links are not followed",
        "  error[FILE_REFUSED]: the folder `workspace` is granted for reading",
        "  error[PERMISSION_DENIED]: the caller lacks a permission that desk.create_ticket asks for: ticket:write",
        "  error[UNKNOWN_TOOL]: there is no such tool: desk.send_mail",
        "  error[PERMISSION_DENIED]: the plugin of desk.find_order changed since it was accepted, and waits for its operator; nothing was run",
        "  every plugin is accepted as it is",
        "  cost_micros: 1050000",
        "  BUDGET_EXCEEDED: of the 1.00 EUR that all callers may spend in a day nothing is left; nothing was run. The next day begins at midnight, UTC",
        "  tickets k1, k2, k3, and one                 7                    6            4",
        "  the mails m1 and m2                         5                    2            2",
        "  what was not granted                        1                    0            0",
        "  the desk counts: tickets 4, mails 2",
    ] {
        assert!(told.lines().any(|told| told == line), "{line}\n{told}");
    }
    // Where the desk listens differs from one time to the next.
    assert!(told.contains("\n  every call of desk.find_order is let through to http://127.0.0.1:"), "{told}");
    assert!(!told.contains('\u{1b}'), "colours are for terminals");
    assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 0);
}

#[test]
fn a_host_that_forgets_keys_ends_the_demo() {
    let temporary = tempfile::tempdir().unwrap();
    let forgetful = tempfile::tempdir().unwrap();
    let airlock = forgetful.path().join("airlock");
    let script = format!(
        r#"#!/usr/bin/env bash
words=()
while [ $# -gt 0 ]; do
    if [ "$1" = --key ]; then shift 2; else words+=("$1"); shift; fi
done
exec {} "${{words[@]}}"
"#,
        env!("CARGO_BIN_EXE_airlock-under-test")
    );
    fs::write(&airlock, script).unwrap();
    fs::set_permissions(&airlock, fs::Permissions::from_mode(0o700)).unwrap();
    let ran = demo(airlock.to_str().unwrap(), temporary.path());
    let complaint = String::from_utf8(ran.stderr).unwrap();
    let fault = "\ndemo: not as told: the answer does not say: nothing was run again\n";
    assert_eq!((ran.status.code(), complaint.as_str()), (Some(1), fault));
    assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 0);
}
