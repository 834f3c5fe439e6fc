//! What lies in the folder of plugins, and reading it: whole, once, and only regular files that lie in it.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::config::regular;

/// The largest file that is read as a plugin.
const LARGEST: u64 = 64 << 20;

/// A file that may be a plugin, or why it is none.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) path: PathBuf,
    /// How it looks from outside.
    pub(super) stamp: Result<Stamp, String>,
}

/// How a file looks from outside: two equal stamps, one content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    size: u64,
    file: (u64, u64),
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(metadata: &fs::Metadata) -> Self {
        Self {
            size: metadata.size(),
            file: (metadata.dev(), metadata.ino()),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// How the file of this name looks; nothing where there is none.
    pub fn at(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().map(|metadata| Self::of(&metadata))
    }

    /// The second in which it was written last, since 1970.
    pub(super) fn written(&self) -> i64 {
        self.modified.0.max(self.changed.0)
    }
}

/// The candidates in the folder, in the order of their names: files, and the one file of a folder within it. What is
/// hidden is not looked at.
pub(super) fn discover(folder: &Path) -> io::Result<Vec<Candidate>> {
    let root = folder.canonicalize()?;
    let mut candidates = Vec::new();
    for path in visible(folder)? {
        // A link to a folder is none: what it leads to has a name of its own.
        if is_candidate(&path) {
            candidates.push(Candidate { stamp: looked_at(&path, &root), path });
        } else if fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir()) {
            let mut within: Vec<PathBuf> =
                visible(&path).unwrap_or_default().into_iter().filter(|path| is_candidate(path)).collect();
            match (within.pop(), within.len()) {
                (None, _) => {}
                (Some(only), 0) => candidates.push(Candidate { stamp: looked_at(&only, &root), path: only }),
                (Some(_), others) => {
                    let text = format!("it holds {} plugins, and a folder may hold one", others + 1);
                    candidates.push(Candidate { path, stamp: Err(text) });
                }
            }
        }
    }
    Ok(candidates)
}

/// How every candidate looks, for knowing when to look closer.
pub fn look(folder: &Path) -> BTreeMap<PathBuf, Option<Stamp>> {
    let candidates = discover(folder).unwrap_or_default();
    candidates.into_iter().map(|candidate| (candidate.path, candidate.stamp.ok())).collect()
}

/// What the folder holds, in the order of names.
fn visible(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !entry.file_name().as_encoded_bytes().starts_with(b".") {
            paths.push(entry.path());
        }
    }
    paths.sort();
    Ok(paths)
}

/// Compiled code is looked at too, to be refused by name.
fn is_candidate(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| ["wasm", "cwasm"].iter().any(|known| extension.eq_ignore_ascii_case(known)))
}

fn looked_at(path: &Path, root: &Path) -> Result<Stamp, String> {
    let target = path.canonicalize().map_err(|error| unreadable(&error))?;
    if !target.starts_with(root) {
        return Err("it is a link that leads out of the folder of plugins".to_owned());
    }
    let metadata = fs::metadata(&target).map_err(|error| unreadable(&error))?;
    accepted(&metadata)?;
    Ok(Stamp::of(&metadata))
}

fn accepted(metadata: &fs::Metadata) -> Result<(), String> {
    match metadata.len() {
        _ if !metadata.is_file() => Err("it is no regular file".to_owned()),
        large if large > LARGEST => Err(format!("it has {large} bytes and may have {LARGEST}")),
        _ => Ok(()),
    }
}

/// Reads a file from beginning to end; what is hashed is what is compiled. The stamp is that of the bytes: none
/// where somebody wrote meanwhile.
pub(super) fn read(path: &Path) -> Result<(Vec<u8>, Option<Stamp>), String> {
    let file = regular::open(OpenOptions::new().read(true), path).map_err(|error| unreadable(&error))?;
    let before = file.metadata().map_err(|error| unreadable(&error))?;
    accepted(&before)?;
    let mut bytes = Vec::with_capacity(usize::try_from(before.len()).unwrap_or_default());
    (&file).take(LARGEST + 1).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
    let after = file.metadata().map_err(|error| unreadable(&error))?;
    accepted(&after)?;
    let whole = Stamp::of(&before) == Stamp::of(&after) && u64::try_from(bytes.len()) == Ok(after.len());
    Ok((bytes, whole.then(|| Stamp::of(&after))))
}

/// What a binary of WebAssembly begins with, and how long its whole head is.
const MAGIC: &[u8] = b"\0asm";
const HEAD: usize = 8;

/// Whether these are the first bytes of a binary of WebAssembly and no more: its sections say how long they are.
pub(super) fn is_cut_short(bytes: &[u8]) -> bool {
    let begins = bytes.len().min(MAGIC.len());
    if bytes.get(..begins) != MAGIC.get(..begins) {
        return false;
    }
    let mut at = HEAD;
    while at < bytes.len() {
        let (mut size, mut shift) = (0_usize, 0);
        loop {
            at += 1;
            let Some(byte) = bytes.get(at) else { return true };
            size |= usize::from(byte & 0x7f) << shift;
            shift += 7;
            match byte & 0x80 {
                0 => break,
                _ if shift > 28 => return false,
                _ => {}
            }
        }
        at = at.saturating_add(1).saturating_add(size);
    }
    at > bytes.len()
}

fn unreadable(error: &io::Error) -> String {
    format!("it cannot be read: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_beginning_of_a_binary_that_ends_within_a_section_is_cut_short_and_the_whole_is_not() {
        let mut whole = b"\0asm\x0d\0\x01\0".to_vec();
        let sections = [whole.len() + 5, whole.len() + 5 + 203];
        whole.extend([0, 3, 1, b'a', 1]);
        whole.extend([7, 0xc8, 0x01]);
        whole.extend([9; 200]);
        for length in 0..whole.len() {
            let ends = length == HEAD || sections.contains(&length);
            assert_eq!(is_cut_short(&whole[..length]), !ends, "{length}");
        }
        assert!(!is_cut_short(&whole));
        for other in [
            &b"MZ and more of it"[..],
            b"(component)",
            b"\0asn",
            b"\0asm\x0d\0\x01\0\0\xff\xff\xff\xff\xff\xff",
        ] {
            assert!(!is_cut_short(other), "{other:?}");
        }
    }
}
