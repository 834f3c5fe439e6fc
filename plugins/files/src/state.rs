//! The state of what a call touched, as a text that is equal for equal states.

use airlock_sdk::ToolError;
use airlock_sdk::files::{Entry, Kind as Lies};
use sha2::{Digest as _, Sha256};

use crate::content::{digits, look};
use crate::place::Place;
use crate::walk::{MOST_LOOKED, Walk};
use crate::{fault, workspace};

/// Files up to this size are known by their content, larger ones, which are only moved and deleted, by size and time: reading
/// them would cost more than the call. The same holds for all files of a folder together.
const KNOWN_BY_CONTENT: u64 = 64 << 20;

/// What opening a file costs, in bytes that could be read meanwhile.
const OPENING: u64 = 32 << 10;

/// How much is asked for at a time.
const PIECE: u32 = 1 << 20;

/// What is said of a place where nothing is.
pub(crate) const NOTHING: &str = "nothing";

/// The state of a place: a file's hash, a folder's over everything in it, `nothing`.
pub(crate) fn of(place: &Place) -> Result<String, ToolError> {
    let Some(entry) = look(place)? else { return Ok(NOTHING.to_owned()) };
    match entry.kind {
        Lies::Directory => folder(place),
        Lies::Other => Ok("link".to_owned()),
        Lies::File if entry.size > KNOWN_BY_CONTENT => Ok(outside(&entry)),
        Lies::File => hashed(place),
    }
}

/// A hash over the names in a folder and below and the states of what bears them, as far as one walk goes.
fn folder(place: &Place) -> Result<String, ToolError> {
    let (mut walk, mut hash) = (Walk::begin(place, usize::MAX, &[], None)?, Sha256::new());
    let (mut looked, mut room) = (0, KNOWN_BY_CONTENT);
    while let Some((inside, entry)) = walk.step()? {
        looked += 1;
        if looked > MOST_LOOKED {
            hash.update(b"and more");
            break;
        }
        let cost = entry.size.saturating_add(OPENING);
        let state = match entry.kind {
            Lies::Directory => "folder".to_owned(),
            Lies::Other => "link".to_owned(),
            Lies::File if cost > room => outside(&entry),
            Lies::File => {
                room -= cost;
                hashed(&inside)?
            }
        };
        let names = inside.names_below(place).unwrap_or_default().join("/");
        hash.update(format!("{names}\0{state}\0"));
    }
    Ok(format!("folder {}", digits(&hash.finalize())))
}

/// What can be told of a file without reading it.
fn outside(entry: &Entry) -> String {
    format!("{} bytes of {}", entry.size, entry.modified)
}

/// The state of a move's two ends.
pub(crate) fn of_both(from: &Place, to: &Place) -> Result<String, ToolError> {
    Ok(format!("{} and {}", of(from)?, of(to)?))
}

fn hashed(place: &Place) -> Result<String, ToolError> {
    let (mut hash, mut read) = (Sha256::new(), 0);
    loop {
        let part = workspace().read_part(place.text(), read, PIECE);
        let part = part.map_err(|error| fault::at(error, place))?;
        if part.is_empty() {
            return Ok(digits(&hash.finalize()));
        }
        read += part.len() as u64;
        hash.update(&part);
    }
}
