//! A state folder as it stands, for whoever looks for faults: nothing in it is made or changed.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use rustix::fs::{Access, access, statvfs};

use super::read::stands;
use super::{health, open};
use crate::config::regular;
use crate::model::breaker::{Forced, State};
use crate::model::clock::Timestamp;
use crate::model::health::Health;
use crate::model::id::ToolName;
use crate::model::state::Standing;
use crate::store::{StoreFailure, process};

/// What was found in a state folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspected {
    /// The version of the database; none where there is no database yet.
    pub version: Option<i64>,
    /// The latest version that this program knows.
    pub known: i64,
    /// Processes that have the store open.
    pub open: usize,
    /// Bytes that are left on the disk for this user.
    pub free: u64,
    /// Files that others can read, whose folder keeps them out.
    pub readable: Vec<PathBuf>,
    /// What waits for a person; nothing is known of it where the database is of an older version.
    pub waits: Waits,
}

/// What waits for a person to look at it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Waits {
    /// Suspended runs.
    pub suspended: u32,
    /// Since when the one waits that waits longest.
    pub oldest: Option<Timestamp>,
    /// Tools, with the origins that are left alone, and whether an operator said so.
    pub open: Vec<(ToolName, String, bool)>,
}

/// Looks at a state folder; nothing where there is none and one can be made.
///
/// # Errors
/// Where a store could not be opened there.
pub fn inspect(folder: &Path) -> Result<Option<Inspected>, StoreFailure> {
    let fail = |error: io::Error| StoreFailure::Folder(folder.to_path_buf(), error.to_string());
    if !folder.exists() {
        let above = folder
            .ancestors()
            .skip(1)
            .map(|above| if above.as_os_str().is_empty() { Path::new(".") } else { above });
        let above = above.into_iter().find(|above| above.exists()).unwrap_or(Path::new("/"));
        if !above.is_dir() {
            return Err(fail(io::Error::other(format!("{} is no folder", above.display()))));
        }
        return writable(above).map(|()| None).map_err(fail);
    }
    open::private(folder).and_then(|()| writable(folder)).map_err(fail)?;
    let file = folder.join("airlock.db");
    let known = open::known();
    let (version, waits) = if file.exists() {
        read(&file, known).map(|(version, waits)| (Some(version), waits))?
    } else {
        (None, Waits::default())
    };
    if let Some(found) = version.filter(|found| *found > known) {
        return Err(StoreFailure::Newer { file, found, known });
    }
    gate(folder, &file)?;
    let space = statvfs(folder).map_err(|error| fail(error.into()))?;
    Ok(Some(Inspected {
        version,
        known,
        open: process::alive(&folder.join("processes")),
        free: space.f_bavail.saturating_mul(space.f_frsize),
        readable: readable(folder).map_err(fail)?,
        waits,
    }))
}

fn writable(path: &Path) -> io::Result<()> {
    access(path, Access::WRITE_OK).map_err(|error| io::Error::other(format!("it cannot be written: {error}")))
}

/// The version of a database, and what waits in it. Where nobody has its log open it is read as if it never changed, so that
/// no file is made beside it.
fn read(file: &Path, known: i64) -> Result<(i64, Waits), StoreFailure> {
    let fail = |error: rusqlite::Error| StoreFailure::from_sqlite(&error, file);
    let usable = open::under_one_name(file).and_then(|()| writable(file));
    usable.map_err(|error| StoreFailure::Folder(file.to_path_buf(), error.to_string()))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let shared = Path::new(&format!("{}-shm", file.display())).exists();
    let connection = if shared {
        Connection::open_with_flags(file, flags)
    } else {
        let address = url::Url::from_file_path(std::path::absolute(file).unwrap_or_else(|_| file.to_owned()));
        let address = address.map(|address| format!("{address}?immutable=1")).unwrap_or_default();
        Connection::open_with_flags(address, flags | OpenFlags::SQLITE_OPEN_URI)
    };
    let connection = connection.map_err(fail)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(fail)?;
    // The version stands in the first bytes; the schema is read too, and so it is known that the rest can be.
    open::own(&connection, file)?;
    let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(fail)?;
    let waits = if version == known { waits(&connection).map_err(fail)? } else { Waits::default() };
    Ok((version, waits))
}

fn waits(db: &Connection) -> rusqlite::Result<Waits> {
    let suspended =
        format!("SELECT count(*), min(r.ended) FROM run r WHERE true {}", stands(Standing::Suspended));
    let (suspended, oldest): (u32, Option<i64>) =
        db.query_row(&suspended, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let shut = |(tool, origin, health): (ToolName, String, Health)| match (
        health.breaker.forced,
        health.breaker.state,
    ) {
        (Some(Forced::Open), _) => Some((tool, origin, true)),
        (None, State::Open { .. } | State::HalfOpen { .. }) => Some((tool, origin, false)),
        (Some(Forced::Closed), _) | (None, State::Closed) => None,
    };
    let open = health::all(db)?.into_iter().filter_map(shut).collect();
    Ok(Waits { suspended, oldest: oldest.map(Timestamp), open })
}

/// Whether writers can take their turns.
fn gate(folder: &Path, file: &Path) -> Result<(), StoreFailure> {
    match regular::open(OpenOptions::new().write(true), &folder.join("write.lock")) {
        Ok(gate) if open::enter(&gate) => Ok(()),
        Ok(_) => Err(StoreFailure::Locked(file.to_path_buf())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(StoreFailure::Folder(folder.join("write.lock"), error.to_string())),
    }
}

fn readable(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut readable = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        if metadata.is_file() && metadata.permissions().mode() & 0o077 != 0 {
            readable.push(entry.path());
        }
    }
    readable.sort();
    Ok(readable)
}
