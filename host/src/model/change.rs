//! Changes of lent folders: what lay there before and what lies there since, so that it can be put back.

use std::path::PathBuf;
use std::sync::Arc;

use super::id::Digest;

/// A change below a lent folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The name that the folder is lent under.
    pub directory: String,
    /// Where the folder was.
    pub root: PathBuf,
    /// The path below it.
    pub path: String,
    /// What becomes of what lies there.
    pub what: Changed,
}

/// What becomes of what lies at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changed {
    /// Something else, or nothing, takes its place.
    Replaced {
        /// What lay there.
        before: Before,
        /// What lies there since.
        after: Mark,
    },
    /// It moves to another path below the folder, where nothing lay.
    Moved {
        /// That path.
        to: String,
        /// What it is.
        mark: Mark,
    },
}

/// What lay at a path, whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Before {
    /// Nothing.
    Nothing,
    /// A folder: who may use it.
    Folder(u32),
    /// A file: its content, and who may use it.
    File(Arc<[u8]>, u32),
}

/// What lies at a path, as far as it takes to tell whether it is still the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// Nothing.
    Nothing,
    /// A folder.
    Folder,
    /// A file of this content.
    File(Digest),
}

/// A change, and the effect that it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// The effect's attempt.
    pub attempt: u32,
    /// Its ordinal.
    pub ordinal: u32,
    /// The change.
    pub change: Change,
}

impl Before {
    /// What would tell that it lies there again.
    pub fn mark(&self) -> Mark {
        match self {
            Self::Nothing => Mark::Nothing,
            Self::Folder(_) => Mark::Folder,
            Self::File(bytes, _) => Mark::File(Digest::of(bytes)),
        }
    }

    /// How many bytes are kept of it.
    pub fn size(&self) -> u64 {
        match self {
            Self::Nothing | Self::Folder(_) => 0,
            Self::File(bytes, _) => u64::try_from(bytes.len()).unwrap_or(u64::MAX),
        }
    }
}

impl Change {
    /// How many bytes are kept for it.
    pub fn size(&self) -> u64 {
        match &self.what {
            Changed::Replaced { before, .. } => before.size(),
            Changed::Moved { .. } => 0,
        }
    }
}
