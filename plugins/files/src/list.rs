//! Listing what lies in a folder.

use airlock_sdk::files::{Entry, Kind as Lies};
use airlock_sdk::{Context, Declaration, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::glob::{self, Glob};
use crate::place::Place;
use crate::walk::{MOST_LOOKED, Walk};
use crate::width::{self, ROOM};

/// Folders within each other, where a pattern is looked for.
const DEEPEST: usize = 64;

/// Lists a folder.
pub struct List;

/// Which folder, and how much of it.
#[derive(Deserialize, JsonSchema)]
pub struct Wanted {
    /// A folder, relative to the workspace: `src/parser`. Left out: the workspace itself.
    #[serde(default)]
    #[schemars(length(max = 4000))]
    path: String,
    /// Lists only what is called so: `*.rs` anywhere below, `src/**/*.{ts,tsx}` from the workspace on.
    #[schemars(length(min = 1, max = 500), example = "*.md")]
    pattern: Option<String>,
    /// How many folders deep; 1 is the folder alone. Left out: 1, or all the way where a pattern is given.
    #[schemars(range(min = 1, max = 64))]
    depth: Option<usize>,
    /// Folders that are shown and not gone into.
    #[serde(default = "excluded")]
    #[schemars(length(max = 20), inner(length(min = 1, max = 500)))]
    exclude: Vec<String>,
    /// The most entries to give.
    #[serde(default = "most")]
    #[schemars(range(min = 1, max = 500))]
    max_entries: usize,
    /// Where to go on: `next_after` of the answer before.
    #[schemars(length(min = 1, max = 4000))]
    after: Option<String>,
}

/// What is seldom meant when a whole tree is looked through.
pub(crate) fn excluded() -> Vec<String> {
    [".git", "node_modules"].map(str::to_owned).to_vec()
}

fn most() -> usize {
    200
}

/// A page of what is there, in the order of names.
#[derive(Serialize, JsonSchema)]
pub struct Listing {
    entries: Vec<Listed>,
    /// Whether more follows.
    more: bool,
    /// The `after` that gives the next page, where more follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_after: Option<String>,
    /// Folders that could not be read, where there are such.
    #[serde(skip_serializing_if = "Option::is_none")]
    unreadable: Option<usize>,
}

/// One entry.
#[derive(Serialize, JsonSchema)]
struct Listed {
    /// From the workspace on, as the other tools take it.
    path: String,
    kind: Lying,
    /// Bytes of a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    /// When it was last changed, in UTC: `2026-11-30T09:15:00Z`.
    modified: String,
}

/// What an entry is.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Lying {
    File,
    Folder,
    /// A link, a pipe, a device: no tool goes through it.
    Other,
}

impl Tool for List {
    const NAME: &'static str = "list";
    type Input = Wanted;
    type Output = Listing;

    fn declare() -> Declaration {
        crate::looks("List files").description(
            "Lists what lies in a folder of the workspace, with sizes; with `pattern`, finds files by name in all that lies below. \
             Paths are relative to the workspace. A long list comes in pages: ask again with `after` set to `next_after`.",
        )
    }

    fn call(wanted: Wanted, _context: &Context) -> Result<Listing, ToolError> {
        let folder = Place::read(&wanted.path)?;
        let after = wanted.after.as_deref().map(Place::read).transpose()?;
        let pattern = wanted.pattern.as_deref().map(Glob::read).transpose()?;
        let depth = wanted.depth.unwrap_or(if pattern.is_some() { DEEPEST } else { 1 });
        let exclude = glob::read_all(&wanted.exclude)?;
        let mut walk = Walk::begin(&folder, depth, &exclude, after.as_ref())?;
        let (mut entries, mut room, mut last, mut more) = (Vec::new(), ROOM, None::<Place>, false);
        for looked in 0.. {
            let Some((place, entry)) = walk.step()? else { break };
            let fits = pattern.as_ref().is_none_or(|pattern| pattern.fits(&place));
            // What one entry takes beside its path.
            let needed = width::of(place.text()) + 90;
            let full = entries.len() == wanted.max_entries || needed > room;
            if (fits && full && !entries.is_empty()) || looked == MOST_LOOKED {
                more = true;
                break;
            }
            if fits {
                room = room.saturating_sub(needed);
                entries.push(listed(&place, &entry));
            }
            last = Some(place);
        }
        let next_after = last.filter(|_| more).map(|last| last.text().to_owned());
        let unreadable = (walk.unreadable > 0).then_some(walk.unreadable);
        Ok(Listing { entries, more, next_after, unreadable })
    }
}

fn listed(place: &Place, entry: &Entry) -> Listed {
    let (kind, size) = match entry.kind {
        Lies::File => (Lying::File, Some(entry.size)),
        Lies::Directory => (Lying::Folder, None),
        Lies::Other => (Lying::Other, None),
    };
    Listed { path: place.text().to_owned(), kind, size, modified: moment(entry.modified) }
}

/// Seconds since 1970 as a date and a time, after Howard Hinnant's `civil_from_days`.
fn moment(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, year) = (if month < 10 { month + 3 } else { month - 9 }, year + era * 400);
    let year = year + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", rest / 3600, rest / 60 % 60, rest % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_told_in_utc() {
        assert_eq!(moment(0), "1970-01-01T00:00:00Z");
        assert_eq!(moment(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(moment(1_796_036_399), "2026-11-30T10:59:59Z");
        assert_eq!(moment(4_107_542_399), "2100-02-28T23:59:59Z");
    }
}
