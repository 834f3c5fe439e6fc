//! Files in folders that the operator lends.
//!
//! A tool names a folder in its declaration, with [`Declaration::directory`](crate::Declaration::directory), and reaches
//! what lies below it by paths with `/` that do not go up. Links are not followed. `std::fs` sees the same folders, under
//! their names, read only.
//!
//! ```no_run
//! # use airlock_sdk::{ToolError, files};
//! # fn first_line() -> Result<String, ToolError> {
//! let notes = files::directory("notes");
//! let text = notes.text("2026/plan.md")?;
//! # Ok(text.lines().next().unwrap_or_default().to_owned())
//! # }
//! ```
//!
//! What changes a folder goes through here, so that the host can put it back: a call that fails leaves every folder as
//! it was, unless somebody else has changed it since, or the call has also done something that cannot be put back.
//! Nothing of somebody else's is written over unseen: what an attempt has read of a file must still be so when it changes that
//! file, else the change is refused as [`Error::Changed`]. The tool may read the file again, or pass the error on: the same
//! call may then be made again.
//!
//! A tool that writes must not declare that it `reads`.

use crate::ToolError;
use crate::offered::files as host;

pub use crate::bindings::reader::airlock::plugin::files::{Entry, Kind};

/// How much is read in one piece.
const PIECE: u32 = 1 << 20;

/// A folder that the operator lends under this name.
pub fn directory(name: impl Into<String>) -> Directory {
    Directory { name: name.into() }
}

/// A lent folder. Paths are relative to it; the empty path is the folder itself.
#[derive(Debug, Clone)]
pub struct Directory {
    name: String,
}

impl Directory {
    /// The name that it is lent under.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What lies at a path: a file, a folder, or a link and the like, which can only be looked at.
    ///
    /// # Errors
    /// Where nothing is there, or it may not be looked at.
    pub fn stat(&self, path: &str) -> Result<Entry, Error> {
        host::stat(&self.name, path).map_err(Error::from)
    }

    /// All that lies in a folder, sorted by name.
    ///
    /// # Errors
    /// Where it is no folder, or may not be listed.
    pub fn entries(&self, path: &str) -> Result<Vec<Entry>, Error> {
        let mut all: Vec<Entry> = Vec::new();
        loop {
            let after = all.last().map(|last| last.name.clone());
            let page = self.entries_after(path, after.as_deref())?;
            if page.is_empty() {
                return Ok(all);
            }
            all.extend(page);
        }
    }

    /// At most 1000 of what lies in a folder, sorted by name, after this one; none where no more follow.
    ///
    /// # Errors
    /// As [`entries`](Self::entries).
    pub fn entries_after(&self, path: &str, after: Option<&str>) -> Result<Vec<Entry>, Error> {
        host::entries(&self.name, path, after).map_err(Error::from)
    }

    /// At most `length` bytes of a file; fewer where it ends.
    ///
    /// # Errors
    /// Where it is no file, may not be read, or that is more than the host hands over in one piece.
    pub fn read_part(&self, path: &str, offset: u64, length: u32) -> Result<Vec<u8>, Error> {
        host::read(&self.name, path, offset, length).map_err(Error::from)
    }

    /// A whole file of at most `most` bytes.
    ///
    /// # Errors
    /// As [`read_part`](Self::read_part), and [`Error::TooLarge`] where it is longer.
    pub fn read(&self, path: &str, most: usize) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        loop {
            let part = self.read_part(path, bytes.len() as u64, PIECE)?;
            if part.is_empty() {
                return Ok(bytes);
            }
            bytes.extend(part);
            if bytes.len() > most {
                return Err(Error::TooLarge);
            }
        }
    }

    /// Writes a whole file: at once or not at all. What lay there before is kept by the host, and put back where the call
    /// comes to nothing.
    ///
    /// # Errors
    /// Where it may not be written, or that is more than the host takes in one piece, or keeps for one run.
    pub fn write(&self, path: &str, bytes: impl AsRef<[u8]>) -> Result<(), Error> {
        host::write(&self.name, path, bytes.as_ref()).map_err(Error::from)
    }

    /// Writes at the end of a file, or makes one.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn append(&self, path: &str, bytes: impl AsRef<[u8]>) -> Result<(), Error> {
        host::append(&self.name, path, bytes.as_ref()).map_err(Error::from)
    }

    /// Makes a folder, in one that is there.
    ///
    /// # Errors
    /// [`Error::Exists`] where something lies there; else as [`write`](Self::write).
    pub fn create_directory(&self, path: &str) -> Result<(), Error> {
        host::create_directory(&self.name, path).map_err(Error::from)
    }

    /// Moves a file or a folder to a path of the same lent folder.
    ///
    /// # Errors
    /// [`Error::Exists`] where something lies there already; else as [`write`](Self::write).
    pub fn rename(&self, path: &str, to: &str) -> Result<(), Error> {
        host::move_(&self.name, path, to).map_err(Error::from)
    }

    /// Removes a file, or a folder that is empty.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn remove(&self, path: &str) -> Result<(), Error> {
        host::remove(&self.name, path).map_err(Error::from)
    }

    /// A whole file of at most 4 MiB as text.
    ///
    /// # Errors
    /// As [`read`](Self::read), and [`Error::Other`] where it is no UTF-8.
    pub fn text(&self, path: &str) -> Result<String, Error> {
        let bytes = self.read(path, 4 << 20)?;
        String::from_utf8(bytes).map_err(|_| Error::Other("the file is no text in UTF-8".to_owned()))
    }
}

/// Why a file cannot be had. It becomes a [`ToolError`] through `?`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// Not declared, not granted, or a way out; the text names the rule. `denied`, `FILE_REFUSED`.
    Forbidden(String),
    /// Nothing is there. `rejected`, `FILE_NOT_FOUND`.
    NotFound,
    /// Something is there already. `rejected`, `FILE_EXISTS`.
    Exists,
    /// More than the limit. `rejected`, `FILE_TOO_LARGE`.
    TooLarge,
    /// Somebody else has changed it since it was read, or is changing it; nothing was done. `transient`, `FILE_CHANGED`.
    Changed(String),
    /// Anything else. `rejected`, `FILE_FAILED`.
    Other(String),
}

impl From<host::FileError> for Error {
    fn from(error: host::FileError) -> Self {
        match error {
            host::FileError::Forbidden(rule) => Self::Forbidden(rule),
            host::FileError::NotFound => Self::NotFound,
            host::FileError::Exists => Self::Exists,
            host::FileError::TooLarge => Self::TooLarge,
            host::FileError::Changed(text) => Self::Changed(text),
            host::FileError::Other(text) => Self::Other(text),
        }
    }
}

impl From<Error> for ToolError {
    fn from(error: Error) -> Self {
        match error {
            Error::Forbidden(rule) => Self::denied("FILE_REFUSED", rule),
            Error::NotFound => Self::rejected("FILE_NOT_FOUND", "there is no such file or folder"),
            Error::Exists => Self::rejected("FILE_EXISTS", "there is something of that name already"),
            Error::TooLarge => {
                Self::rejected("FILE_TOO_LARGE", "that is more than may be read or written at once")
            }
            Error::Changed(text) => Self::transient("FILE_CHANGED", text),
            Error::Other(text) => Self::rejected("FILE_FAILED", text),
        }
    }
}
