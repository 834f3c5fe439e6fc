//! What lies in the folder of plugins and whether it was accepted, without compiling or asking any of it.

use std::io;
use std::path::{Path, PathBuf};

use super::discover;
use super::lock::Lock;
use crate::model::id::Digest;

/// One file of the folder.
#[derive(Debug)]
pub struct Surveyed {
    /// The file.
    pub file: PathBuf,
    /// The digest of its bytes, or why it cannot be read.
    pub digest: Result<Digest, String>,
}

/// Looks at every file of the folder that may be a plugin.
///
/// # Errors
/// Where the folder cannot be read.
pub fn survey(folder: &Path) -> io::Result<Vec<Surveyed>> {
    let look = |candidate: discover::Candidate| {
        let read = candidate.stamp.and_then(|_| discover::read(&candidate.path));
        Surveyed { digest: read.map(|(bytes, _)| Digest::of(&bytes)), file: candidate.path }
    };
    Ok(discover::discover(folder)?.into_iter().map(look).collect())
}

/// The files of these that were not accepted as they are.
pub fn unaccepted<'a>(surveyed: &'a [Surveyed], lock: &Lock) -> Vec<&'a Path> {
    surveyed
        .iter()
        .filter(|one| one.digest.as_ref().is_ok_and(|digest| !lock.has(*digest)))
        .map(|one| one.file.as_path())
        .collect()
}
