//! What lies in the folder of plugins and whether it was accepted, without compiling or asking any of it.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use super::audit::audit;
use super::discover;
use super::lock::Lock;
use crate::model::id::Digest;
use crate::model::manifest::Manifest;

/// One file of the folder.
#[derive(Debug)]
pub struct Surveyed {
    /// The file.
    pub file: PathBuf,
    /// The digest of its bytes, or why it cannot be read.
    pub digest: Result<Digest, String>,
}

/// What the files of a folder declare.
#[derive(Debug, Default)]
pub struct Declared {
    /// What each declares of which that is known.
    pub manifests: Vec<Manifest>,
    /// Plugins that wait for their operator: what they need now is not granted to anybody.
    pub waits: BTreeSet<String>,
    /// Files of which it is not known.
    pub unknown: Vec<PathBuf>,
}

impl Declared {
    /// What the lock file knows: what each file declared when it was accepted as it is.
    pub fn by(lock: &Lock, surveyed: &[Surveyed]) -> Self {
        let mut declared = Self::default();
        for Surveyed { file, digest } in surveyed {
            let pin = digest.as_ref().ok().and_then(|digest| lock.pinned(*digest));
            match pin.and_then(|pin| audit(pin.accepted()?).ok()) {
                Some(manifest) => declared.manifests.push(manifest),
                None => declared.unknown.push(file.clone()),
            }
        }
        declared
    }
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
        .filter(|one| one.digest.as_ref().is_ok_and(|digest| lock.pinned(*digest).is_none()))
        .map(|one| one.file.as_path())
        .collect()
}
