//! Which processes are alive: each holds a lock on a file that bears its id, and the system gives it back at death.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::config::regular;
use crate::model::id::ProcessId;

/// This process's own lock, and the folder where those of others lie.
#[derive(Debug)]
pub struct Processes {
    folder: PathBuf,
    own: ProcessId,
    _lock: File,
    /// Held while this process drives calls in the background, with all others that do.
    works: Mutex<Option<File>>,
}

impl Processes {
    /// Makes and holds the lock of this process, and removes those of processes that are gone. Called under the
    /// gate, so that a file is never removed between its making and its locking.
    ///
    /// # Errors
    /// Where the folder cannot be written.
    pub fn join(folder: &Path, own: ProcessId) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true).mode(0o600);
        let lock = regular::open(&mut options, &path(folder, own))?;
        lock.lock()?;
        let joined = Self { folder: folder.to_path_buf(), own, _lock: lock, works: Mutex::default() };
        joined.tidy();
        Ok(joined)
    }

    /// This process.
    pub fn own(&self) -> ProcessId {
        self.own
    }

    /// Tells, for as long as this process lives, that it drives calls in the background.
    ///
    /// # Errors
    /// Where the folder cannot be written.
    pub fn work(&self) -> io::Result<()> {
        let lock = self.workers()?;
        lock.lock_shared()?;
        *self.works.lock().unwrap_or_else(PoisonError::into_inner) = Some(lock);
        Ok(())
    }

    /// Whether any process drives calls in the background.
    pub fn is_worked(&self) -> bool {
        self.workers().is_ok_and(|lock| matches!(lock.try_lock(), Err(TryLockError::WouldBlock)))
    }

    /// The file that processes lock together which drive calls in the background.
    fn workers(&self) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true).mode(0o600);
        regular::open(&mut options, &self.folder.with_file_name("work.lock"))
    }

    /// Whether the process is gone: its lock is free, or its file is not there. Nobody is never gone.
    pub fn gone(&self, process: ProcessId) -> bool {
        if process == self.own || process == ProcessId::NOBODY {
            return false;
        }
        match regular::open(OpenOptions::new().write(true), &path(&self.folder, process)) {
            Ok(file) => match file.try_lock_shared() {
                Ok(()) => true,
                Err(TryLockError::WouldBlock | TryLockError::Error(_)) => false,
            },
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        }
    }

    fn tidy(&self) {
        let Ok(entries) = self.folder.read_dir() else { return };
        for entry in entries.filter_map(Result::ok) {
            if entry.path() == path(&self.folder, self.own) {
                continue;
            }
            if let Ok(file) = regular::open(OpenOptions::new().write(true), &entry.path())
                && file.try_lock().is_ok()
            {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }
}

/// How many processes hold a lock in this folder.
pub fn alive(folder: &Path) -> usize {
    let Ok(entries) = folder.read_dir() else { return 0 };
    let held = |path: PathBuf| {
        let file = regular::open(OpenOptions::new().write(true), &path);
        file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    };
    entries.filter_map(Result::ok).filter(|entry| held(entry.path())).count()
}

impl Drop for Processes {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(path(&self.folder, self.own));
    }
}

fn path(folder: &Path, process: ProcessId) -> PathBuf {
    folder.join(format!("{process}.lock"))
}
