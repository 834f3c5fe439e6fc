//! The store of one machine: SQLite with a write-ahead log, one writing thread, and readers of their own.

mod answers;
mod attachments;
mod attempts;
mod budgets;
mod changes;
mod driving;
mod ends;
mod guard;
mod health;
mod inspect;
mod open;
mod read;
mod refused;
mod staged;
mod survey;
mod sweep;
mod write;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rusqlite::Connection;

pub use self::inspect::{Inspected, Waits, inspect};
use self::writer::Writer;
use super::StoreFailure;
use super::process::Processes;
use crate::model::id::ProcessId;

/// A state folder, opened. Several processes may hold one at a time.
#[derive(Debug)]
pub struct SqliteStore {
    file: PathBuf,
    writer: Writer,
    readers: Mutex<Vec<Connection>>,
    processes: Processes,
    secret: [u8; 32],
}

/// How safe a commit is when the power fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// What is acknowledged is on the disk.
    Full,
    /// What is acknowledged is with the operating system: only for showing that a test of power loss can fail.
    None,
}

impl SqliteStore {
    /// Opens or makes the store in this folder.
    ///
    /// # Errors
    /// Where the folder cannot be used, or the database is damaged, locked or of a later version.
    pub fn open(folder: &Path, process: ProcessId, durability: Durability) -> Result<Self, StoreFailure> {
        open::folder(folder)?;
        let file = folder.join("airlock.db");
        let fail = |error: std::io::Error| StoreFailure::Folder(folder.to_path_buf(), error.to_string());
        // One process at a time makes the database: SQLite does not wait for another that is at it.
        let gate = open::gate(folder)?;
        if !open::enter(&gate) {
            return Err(StoreFailure::Locked(file));
        }
        let mut connection = open::connection(&file, durability)?;
        open::migrate(&mut connection, &file)?;
        let secret = open::secret(&connection, &file)?;
        let processes = Processes::join(&folder.join("processes"), process).map_err(fail)?;
        gate.unlock().map_err(fail)?;
        let writer = Writer::start(connection, gate, file.clone())
            .map_err(|error| StoreFailure::NoThread(error.to_string()))?;
        Ok(Self { file, writer, readers: Mutex::new(Vec::new()), processes, secret })
    }

    /// Groups of writes made durable so far; one fsync each.
    pub fn commits(&self) -> u64 {
        self.writer.commits()
    }

    fn read<T>(&self, query: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreFailure> {
        let lock = || self.readers.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let idle = lock().pop();
        let connection = match idle {
            Some(connection) => connection,
            None => open::reader(&self.file)?,
        };
        let result = query(&connection).map_err(|error| StoreFailure::from_sqlite(&error, &self.file));
        lock().push(connection);
        result
    }
}
