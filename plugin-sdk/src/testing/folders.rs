//! Files in folders of a test's own, in place of those that an operator lends.

use std::fs::{self, Metadata};
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;
use std::time::UNIX_EPOCH;

use super::declared;
use super::stand_in::with;
use crate::Access;

pub(crate) use crate::bindings::reader::airlock::plugin::files::{Entry, FileError, Kind};

/// Entries that are given at a time.
const MOST: usize = 1000;

/// Where a path leads, for one who wants to look, or to change.
fn place(folder: &str, path: &str, wanted: Access) -> Result<PathBuf, FileError> {
    let forbidden = |text: String| FileError::Forbidden(text);
    let asked = with(|state| (declared::borrows(&state.needs, folder), state.folders.get(folder).cloned()));
    let (declared, lent) = asked.ok_or_else(|| forbidden("no host is here".to_owned()))?;
    let declared =
        declared.ok_or_else(|| forbidden(format!("the tool does not declare the folder {folder}")))?;
    let (root, lent) = lent.ok_or_else(|| forbidden(format!("the folder {folder} is not lent")))?;
    if wanted == Access::Write && (declared, lent) != (Access::Write, Access::Write) {
        return Err(forbidden(format!("the folder {folder} is not lent for writing")));
    }
    if path.split('/').any(|part| part == "..") || path.starts_with('/') {
        return Err(forbidden(format!("the path leads out of the folder {folder}: {path}")));
    }
    Ok(if path.is_empty() { root } else { root.join(path) })
}

fn failed(error: &io::Error) -> FileError {
    if error.kind() == ErrorKind::NotFound {
        FileError::NotFound
    } else if error.kind() == ErrorKind::AlreadyExists {
        FileError::Exists
    } else {
        FileError::Other(error.to_string())
    }
}

fn entry(name: String, metadata: &Metadata) -> Entry {
    let kind = match (metadata.is_file(), metadata.is_dir()) {
        (true, _) => Kind::File,
        (_, true) => Kind::Directory,
        (false, false) => Kind::Other,
    };
    let modified = metadata.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    Entry { name, kind, size: metadata.len(), modified: modified.map_or(0, |since| since.as_secs()) }
}

pub(crate) fn stat(folder: &str, path: &str) -> Result<Entry, FileError> {
    let metadata =
        fs::symlink_metadata(place(folder, path, Access::Read)?).map_err(|error| failed(&error))?;
    Ok(entry(path.rsplit('/').next().unwrap_or_default().to_owned(), &metadata))
}

pub(crate) fn entries(folder: &str, path: &str, after: Option<&str>) -> Result<Vec<Entry>, FileError> {
    let listed = fs::read_dir(place(folder, path, Access::Read)?).map_err(|error| failed(&error))?;
    let mut entries = Vec::new();
    for one in listed {
        let one = one.map_err(|error| failed(&error))?;
        let metadata = fs::symlink_metadata(one.path()).map_err(|error| failed(&error))?;
        entries.push(entry(one.file_name().to_string_lossy().into_owned(), &metadata));
    }
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(entries
        .into_iter()
        .filter(|one| after.is_none_or(|after| one.name.as_str() > after))
        .take(MOST)
        .collect())
}

pub(crate) fn read(folder: &str, path: &str, offset: u64, length: u32) -> Result<Vec<u8>, FileError> {
    let read = |path: PathBuf| {
        let mut file = fs::File::open(path)?;
        file.seek(SeekFrom::Start(offset))?;
        let mut bytes = Vec::new();
        file.take(length.into()).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read(place(folder, path, Access::Read)?).map_err(|error| failed(&error))
}

pub(crate) fn write(folder: &str, path: &str, bytes: &[u8]) -> Result<(), FileError> {
    fs::write(place(folder, path, Access::Write)?, bytes).map_err(|error| failed(&error))
}

pub(crate) fn append(folder: &str, path: &str, bytes: &[u8]) -> Result<(), FileError> {
    let file = fs::OpenOptions::new().append(true).create(true).open(place(folder, path, Access::Write)?);
    file.and_then(|mut file| file.write_all(bytes)).map_err(|error| failed(&error))
}

pub(crate) fn create_directory(folder: &str, path: &str) -> Result<(), FileError> {
    fs::create_dir(place(folder, path, Access::Write)?).map_err(|error| failed(&error))
}

pub(crate) fn move_(folder: &str, path: &str, to: &str) -> Result<(), FileError> {
    let (from, to) = (place(folder, path, Access::Write)?, place(folder, to, Access::Write)?);
    if to.exists() {
        return Err(FileError::Exists);
    }
    fs::rename(from, to).map_err(|error| failed(&error))
}

pub(crate) fn remove(folder: &str, path: &str) -> Result<(), FileError> {
    let path = place(folder, path, Access::Write)?;
    let removed = if path.is_dir() { fs::remove_dir(path) } else { fs::remove_file(path) };
    removed.map_err(|error| failed(&error))
}
