//! Runs a test in a network namespace of its own, so that servers can listen on private addresses.

use std::panic::Location;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::{native, skip};

/// One address of each range that no tool may reach unless it was granted by address.
pub const PRIVATE: [&str; 7] =
    ["10.0.0.5", "172.16.0.9", "192.168.1.10", "100.64.0.1", "169.254.169.254", "fc00::1", "fd00:ec2::254"];

/// Tells a test binary that it is inside, and for which test.
const INSIDE: &str = "AIRLOCK_NETNS_TEST";

/// Proves that the test ran: a filter that meets no test succeeds too.
const RAN: &str = "ran in a network namespace of its own";

/// Whether namespaces can be made here, and else why not.
///
/// # Errors
/// The reason, in words.
pub fn available() -> Result<(), String> {
    static AVAILABLE: OnceLock<Result<(), String>> = OnceLock::new();
    let attempt = || {
        let tried = Command::new(program()?).args(PRIVATE).output();
        let tried =
            tried.map_err(|error| format!("the program that makes namespaces does not run: {error}"))?;
        if tried.status.success() {
            Ok(())
        } else {
            Err(String::from_utf8_lossy(&tried.stderr).trim().to_owned())
        }
    };
    AVAILABLE.get_or_init(attempt).clone()
}

/// A command that runs a program in a fresh network namespace: a loopback device with these addresses beside
/// 127.0.0.1 and ::1, and nothing else.
///
/// # Errors
/// The program that makes namespaces cannot be compiled here.
pub fn command(addresses: &[&str], inside: &Path) -> Result<Command, String> {
    let mut command = Command::new(program()?);
    command.args(addresses).arg("--").arg(inside);
    Ok(command)
}

/// Runs the body of a test in a fresh network namespace, or skips it where there are none.
///
/// `test` is the name of the test that calls, as the test binary lists it: the binary runs itself inside with
/// that test alone, which comes here again and runs the body.
///
/// # Panics
/// If the body does, or if `test` is not the name of the test that calls.
#[track_caller]
pub fn inside(test: &str, addresses: &[&str], body: impl FnOnce()) {
    if is_inside(test) {
        println!("{RAN}: {test}");
        return body();
    }
    if let Err(reason) = available() {
        return skip::skip_named(test, &reason);
    }
    run_again(test, addresses, Location::caller());
}

#[expect(clippy::disallowed_methods, reason = "how a test binary tells itself that it is inside")]
fn is_inside(test: &str) -> bool {
    std::env::var(INSIDE).is_ok_and(|running| running == test)
}

fn run_again(test: &str, addresses: &[&str], caller: &Location<'_>) {
    let own = std::env::current_exe().expect("the test binary knows its place");
    let output = command(addresses, &own)
        .expect("namespaces were available a moment ago")
        .args(["--exact", test, "--nocapture", "--include-ignored"])
        .env(INSIDE, test)
        .output()
        .expect("the test binary runs again");
    let (told, complained) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{test} failed in its namespace:\n{told}\n{complained}");
    assert!(told.contains(RAN), "{caller}: no test has this name: {test}");
}

fn program() -> Result<PathBuf, String> {
    native::compile("netns", include_str!("../netns/netns.c"), &[])
}
