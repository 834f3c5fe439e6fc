//! What a file holds.

use airlock_sdk::ToolError;
use airlock_sdk::files::{Entry, Error, Kind as Lies};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::kind::{self, Kind};
use crate::place::Place;
use crate::{fault, workspace};

/// The largest file that is read: with what is made of it, it fits into a call's memory.
pub(crate) const MOST_READ: usize = 16 << 20;

/// The largest file that is changed: what the host writes at once.
pub(crate) const MOST_CHANGED: usize = 8 << 20;

/// How much is asked for at a time.
const PIECE: u32 = 1 << 20;

/// What lies at a place; none where nothing does.
pub(crate) fn look(place: &Place) -> Result<Option<Entry>, ToolError> {
    match workspace().stat(place.text()) {
        Ok(entry) => Ok(Some(entry)),
        Err(Error::NotFound) => Ok(None),
        Err(error) => {
            let is_file = |way: &Place| workspace().stat(way.text()).is_ok_and(|way| way.kind == Lies::File);
            match place.ways().iter().find(|way| is_file(way)) {
                Some(file) => Err(fault::not_a_folder(file)),
                None => Err(fault::at(error, place)),
            }
        }
    }
}

/// The content of a file of this size at most; none where nothing is there.
pub(crate) fn find(place: &Place, most: usize) -> Result<Option<Vec<u8>>, ToolError> {
    let Some(entry) = look(place)? else { return Ok(None) };
    match entry.kind {
        Lies::File => whole(place, entry.size, most).map(Some),
        Lies::Directory => Err(fault::not_a_file(place)),
        Lies::Other => Err(fault::special(place)),
    }
}

/// The same where something must be there.
pub(crate) fn load(place: &Place, most: usize) -> Result<Vec<u8>, ToolError> {
    find(place, most)?.ok_or_else(|| fault::not_found(place))
}

/// The content of what is known to be a file.
pub(crate) fn whole(place: &Place, size: u64, most: usize) -> Result<Vec<u8>, ToolError> {
    let expected = usize::try_from(size).unwrap_or(usize::MAX);
    if expected > most {
        return Err(fault::too_large(place, size, most));
    }
    let mut bytes = Vec::with_capacity(expected);
    loop {
        let part = workspace().read_part(place.text(), bytes.len() as u64, PIECE);
        let part = part.map_err(|error| fault::at(error, place))?;
        if part.is_empty() {
            return Ok(bytes);
        }
        bytes.extend(part);
        if bytes.len() > most {
            return Err(fault::too_large(place, bytes.len() as u64, most));
        }
    }
}

/// A content as text; what is none is told by its type.
pub(crate) fn text(place: &Place, bytes: Vec<u8>) -> Result<String, ToolError> {
    let (size, found) = (bytes.len(), kind::of(&bytes));
    let media_type = match found {
        Kind::Text => None,
        Kind::Picture(media_type) | Kind::Other(media_type) => Some(media_type),
    };
    match (media_type, String::from_utf8(bytes)) {
        (None, Ok(text)) => Ok(text),
        (media_type, _) => {
            let media_type = media_type.unwrap_or("application/octet-stream");
            let message = format!("`{}` is no text in UTF-8, but {media_type}", place.text());
            let details = json!({ "path": place.text(), "media_type": media_type, "size": size });
            Err(ToolError::rejected("UNSUPPORTED_TYPE", message).details(details))
        }
    }
}

/// The SHA-256 of a content, in hexadecimal digits: what `sha256sum` prints.
pub(crate) fn hash(bytes: &[u8]) -> String {
    digits(&Sha256::digest(bytes))
}

pub(crate) fn digits(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Sees that a file is still as whoever asks knows it, where that is said.
pub(crate) fn expected(place: &Place, expect: Option<&str>, now: Option<&[u8]>) -> Result<(), ToolError> {
    let Some(expect) = expect else { return Ok(()) };
    let now = now.map(hash);
    if now.as_deref().is_some_and(|now| now.eq_ignore_ascii_case(expect)) {
        return Ok(());
    }
    Err(fault::changed_meanwhile(place, now.as_deref()))
}

/// Makes the folders that are missing on the way to a place.
pub(crate) fn make_ways(missing: &[Place]) -> Result<(), ToolError> {
    for folder in missing {
        match workspace().create_directory(folder.text()) {
            // Somebody else made it meanwhile.
            Ok(()) | Err(Error::Exists) => {}
            Err(error) => return Err(fault::at(error, folder)),
        }
    }
    Ok(())
}

/// The folders that are missing on the way to a place, the outermost first.
pub(crate) fn missing_ways(place: &Place) -> Result<Vec<Place>, ToolError> {
    let mut missing = Vec::new();
    for folder in place.ways() {
        if !missing.is_empty() {
            missing.push(folder);
            continue;
        }
        match look(&folder)?.map(|entry| entry.kind) {
            None => missing.push(folder),
            Some(Lies::Directory) => {}
            Some(Lies::File) => return Err(fault::not_a_folder(&folder)),
            Some(Lies::Other) => return Err(fault::special(&folder)),
        }
    }
    Ok(missing)
}
