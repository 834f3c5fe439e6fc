//! Why the store did not do what it was asked, and what to do about it.

use std::fmt;
use std::path::{Path, PathBuf};

/// What the database takes of a disk at once.
const PAGE: u64 = 4096;

/// Why the store did not do what it was asked; nothing of it was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreFailure {
    /// The folder cannot be made or entered.
    Folder(PathBuf, String),
    /// The system gives no thread to write on.
    NoThread(String),
    /// No space is left.
    Full(PathBuf),
    /// The database was written by a later version.
    Newer {
        /// The file.
        file: PathBuf,
        /// Its version.
        found: i64,
        /// The latest that this program knows.
        known: i64,
    },
    /// The file is no database, or a damaged one.
    Damaged(PathBuf, String),
    /// The database is not one that this program made.
    Foreign(PathBuf),
    /// Another process held the file for too long.
    Locked(PathBuf),
    /// The disk or the database failed otherwise.
    Failed(PathBuf, String),
    /// The writer has stopped after an earlier failure.
    Stopped,
    /// Another process has taken the run over.
    Taken,
}

impl StoreFailure {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Folder(..) => {
                "choose a folder that can be made and written with `state` in airlock.toml".to_owned()
            }
            Self::NoThread(_) => "look at the limits of threads and memory of this process".to_owned(),
            Self::Full(file) => {
                format!("free space where {} lies; what was acknowledged is kept", file.display())
            }
            Self::Newer { .. } => "run the version of airlock that wrote it, or a later one".to_owned(),
            Self::Damaged(file, _) => format!(
                "put a backup of {0} in its place; or move {0} and its -wal aside to begin anew, and keep them: they hold the record of what was done",
                file.display()
            ),
            Self::Foreign(_) => {
                "name a folder of airlock's own with `state` in airlock.toml; this database was left as it is"
                    .to_owned()
            }
            Self::Locked(_) => "end the process that holds it, or try again".to_owned(),
            Self::Taken => "`airlock runs` shows what became of it".to_owned(),
            Self::Failed(..) | Self::Stopped => "look at the disk, then start airlock again".to_owned(),
        }
    }

    /// Reads an error of SQLite.
    pub(crate) fn from_sqlite(error: &rusqlite::Error, file: &Path) -> Self {
        use rusqlite::ErrorCode;
        let file = file.to_path_buf();
        let text = error.to_string();
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full(file),
            // A full disk shows otherwise where the shared memory beside the log cannot grow.
            Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) if is_full(&file) => Self::Full(file),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Damaged(file, text),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked(file),
            Some(_) | None => Self::Failed(file, text),
        }
    }
}

/// Whether nothing is left on the disk of a file for this user.
fn is_full(file: &Path) -> bool {
    let folder = file.parent().unwrap_or(file);
    rustix::fs::statvfs(folder).is_ok_and(|space| space.f_bavail.saturating_mul(space.f_frsize) < PAGE)
}

impl fmt::Display for StoreFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(folder, text) => {
                write!(f, "the state folder cannot be used ({text}): {}", folder.display())
            }
            Self::NoThread(text) => write!(f, "the store gets no thread to write on: {text}"),
            Self::Full(file) => write!(f, "the disk is full: {}", file.display()),
            Self::Newer { file, found, known } => {
                write!(
                    f,
                    "the database has version {found} and this program knows {known}: {}",
                    file.display()
                )
            }
            Self::Damaged(file, text) => write!(f, "the database is damaged ({text}): {}", file.display()),
            Self::Foreign(file) => write!(f, "the database is another program's: {}", file.display()),
            Self::Locked(file) => write!(f, "another process holds the database: {}", file.display()),
            Self::Failed(file, text) => write!(f, "the database failed ({text}): {}", file.display()),
            Self::Taken => f.write_str("another process has taken the run over"),
            Self::Stopped => f.write_str("the store has stopped after a failure"),
        }
    }
}

impl std::error::Error for StoreFailure {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_of_the_store_is_told_with_what_to_do() {
        let (file, text) = (|| PathBuf::from("/state/airlock.db"), || "why".to_owned());
        let all = [
            StoreFailure::Folder(PathBuf::from("/state"), text()),
            StoreFailure::NoThread(text()),
            StoreFailure::Full(file()),
            StoreFailure::Newer { file: file(), found: 12, known: 9 },
            StoreFailure::Damaged(file(), text()),
            StoreFailure::Foreign(file()),
            StoreFailure::Locked(file()),
            StoreFailure::Failed(file(), text()),
            StoreFailure::Stopped,
            StoreFailure::Taken,
        ];
        let told: Vec<String> =
            all.iter().map(|failure| format!("{failure}\n  {}", failure.hint())).collect();
        insta::assert_snapshot!(told.join("\n"), @"
        the state folder cannot be used (why): /state
          choose a folder that can be made and written with `state` in airlock.toml
        the store gets no thread to write on: why
          look at the limits of threads and memory of this process
        the disk is full: /state/airlock.db
          free space where /state/airlock.db lies; what was acknowledged is kept
        the database has version 12 and this program knows 9: /state/airlock.db
          run the version of airlock that wrote it, or a later one
        the database is damaged (why): /state/airlock.db
          put a backup of /state/airlock.db in its place; or move /state/airlock.db and its -wal aside to begin anew, and keep them: they hold the record of what was done
        the database is another program's: /state/airlock.db
          name a folder of airlock's own with `state` in airlock.toml; this database was left as it is
        another process holds the database: /state/airlock.db
          end the process that holds it, or try again
        the database failed (why): /state/airlock.db
          look at the disk, then start airlock again
        the store has stopped after a failure
          look at the disk, then start airlock again
        another process has taken the run over
          `airlock runs` shows what became of it
        ");
    }
}
