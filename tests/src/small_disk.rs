//! A disk of 1 MiB for one test: a tmpfs in a mount namespace of its own, gone with the process.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::skip;

/// Tells a test binary that it is inside: the folder of the disk.
const PLACE: &str = "AIRLOCK_SMALL_DISK";

/// Proves that the test ran: a filter that meets no test succeeds too.
const RAN: &str = "ran with a disk of its own";

/// As root a mount namespace is enough; else a user namespace comes with it.
const WAYS: [&[&str]; 2] = [&["--mount"], &["--mount", "--map-root-user"]];

/// Mounts the disk on its first argument and becomes the program that follows.
const MOUNT: &str = r#"mount -t tmpfs -o size=1m,mode=700 small "$0" && exec "$@""#;

/// A small disk.
#[derive(Debug)]
pub struct SmallDisk {
    /// Where it is mounted.
    pub folder: PathBuf,
}

impl SmallDisk {
    /// Makes room.
    ///
    /// # Panics
    /// Where the system does not let it.
    pub fn grow(&self) {
        let mount = Command::new("mount").args(["-o", "remount,size=64m"]).arg(&self.folder).status();
        assert!(mount.is_ok_and(|status| status.success()), "the disk cannot be made larger");
    }
}

/// Runs the body of a test with a small disk, or skips it where there is none to be had.
///
/// `test` is the name of the test that calls, as the test binary lists it: the binary runs itself inside with
/// that test alone, which comes here again and runs the body.
///
/// # Panics
/// If the body does, or if `test` is not the name of the test that calls.
pub fn inside(test: &str, body: impl FnOnce(&SmallDisk)) {
    if let Some(folder) = place() {
        println!("{RAN}: {test}");
        return body(&SmallDisk { folder });
    }
    let folder = tempfile::tempdir().expect("the system gives a temporary folder");
    let way = WAYS.into_iter().map(|way| (way, tried(way, folder.path()))).find(|(_, tried)| tried.is_ok());
    let Some((way, _)) = way else {
        let reason = tried(WAYS[1], folder.path()).err().unwrap_or_default();
        return skip::skip_named(test, &format!("no tmpfs can be mounted here: {reason}"));
    };
    let own = std::env::current_exe().expect("the test binary knows its place");
    let output = command(way, folder.path())
        .arg(own)
        .args(["--exact", test, "--nocapture", "--include-ignored"])
        .env(PLACE, folder.path())
        .output()
        .expect("it ran a moment ago");
    let (told, complained) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{test} failed with its small disk:\n{told}\n{complained}");
    assert!(told.contains(RAN), "no test has this name: {test}");
}

fn tried(way: &[&str], folder: &Path) -> Result<(), String> {
    let tried = command(way, folder).arg("true").output().map_err(|error| format!("unshare: {error}"))?;
    if tried.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&tried.stderr).trim().to_owned())
}

fn command(way: &[&str], folder: &Path) -> Command {
    let mut command = Command::new("unshare");
    command.args(way).args(["--", "sh", "-c", MOUNT]).arg(folder);
    command
}

#[expect(clippy::disallowed_methods, reason = "how a test binary tells itself that it is inside")]
fn place() -> Option<PathBuf> {
    std::env::var_os(PLACE).map(PathBuf::from)
}
