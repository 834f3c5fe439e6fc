//! Power loss for SQLite: a preloaded library keeps what was synced, and after a kill nothing else is left.
//!
//! A kill alone keeps the page cache, so a store that never syncs survives it. The order of a test: [`seed`]
//! where files exist already, [`preload`] into the command of every process that opens them, kill them all,
//! [`restore`], go on with preloaded processes.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::native;

/// Kills a preloaded process right after its n-th sync.
pub const KILL_AT: &str = "AIRLOCK_POWER_LOSS_KILL_AT";

/// Kills a preloaded process right before its n-th sync.
pub const KILL_BEFORE: &str = "AIRLOCK_POWER_LOSS_KILL_BEFORE";

/// The library to preload, compiled on first use.
///
/// # Errors
/// It cannot be compiled here; the text says why.
pub fn library() -> Result<PathBuf, String> {
    static LIBRARY: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let compile =
        || native::compile("power_loss", include_str!("../power-loss/power_loss.c"), &["-shared", "-fPIC"]);
    LIBRARY.get_or_init(compile).clone()
}

/// Makes a command run over a disk that loses what was not synced: files below `dir`, kept in `shadow`.
/// The shadow lies outside `dir` and stays from one process to the next.
///
/// # Errors
/// The library cannot be compiled, or the shadow cannot be made.
pub fn preload(command: &mut Command, dir: &Path, shadow: &Path) -> Result<(), String> {
    let library = library()?;
    fs::create_dir_all(shadow.join("files"))
        .map_err(|error| format!("cannot make {}: {error}", shadow.display()))?;
    command
        .env("LD_PRELOAD", library)
        .env("AIRLOCK_POWER_LOSS_DIR", dir)
        .env("AIRLOCK_POWER_LOSS_SHADOW", shadow);
    Ok(())
}

/// Takes the databases that are there, and no others, as synced: for a folder that was written to without the
/// library. Opening a database writes too; who only wants to look restores into a folder beside.
///
/// # Errors
/// A file cannot be read, removed or copied.
pub fn seed(dir: &Path, shadow: &Path) -> io::Result<()> {
    let files = shadow.join("files");
    fs::create_dir_all(&files)?;
    replace_databases(dir, &files)
}

/// Loses what was not synced: databases and their logs become what the shadow holds, those that it does not
/// hold are removed. Other files stay. Every process that used them must be dead.
///
/// # Errors
/// A file cannot be removed or copied.
pub fn restore(dir: &Path, shadow: &Path) -> io::Result<()> {
    replace_databases(&shadow.join("files"), dir)
}

/// How many syncs the shadow has seen.
#[must_use]
pub fn syncs(shadow: &Path) -> u64 {
    fs::metadata(shadow.join("syncs")).map_or(0, |counter| counter.len())
}

fn replace_databases(from: &Path, to: &Path) -> io::Result<()> {
    for file in databases(to)? {
        fs::remove_file(to.join(file))?;
    }
    for file in databases(from)? {
        // The index of a write-ahead log is memory, and gone with it.
        if !is(&file, "-shm") {
            let target = to.join(&file);
            fs::create_dir_all(target.parent().unwrap_or(to))?;
            fs::copy(from.join(&file), target)?;
        }
    }
    Ok(())
}

/// The databases below a folder and the files beside them, by their paths from there.
fn databases(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(below) = folders.pop() {
        for entry in fs::read_dir(folder.join(&below))? {
            let entry = entry?;
            let path = below.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else if is_database(&path) {
                found.push(path);
            }
        }
    }
    Ok(found)
}

fn is_database(file: &Path) -> bool {
    [".db", ".db-wal", ".db-shm", ".db-journal"].iter().any(|end| is(file, end))
}

fn is(file: &Path, end: &str) -> bool {
    file.file_name().and_then(OsStr::to_str).is_some_and(|name| name.ends_with(end))
}
