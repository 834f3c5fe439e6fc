//! Searching files for a text.

use airlock_sdk::files::Kind as Lies;
use airlock_sdk::{Context, Declaration, Tool, ToolError, progress};
use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::content::{self, MOST_READ};
use crate::fault;
use crate::glob::{self, Glob};
use crate::kind::{self, Kind};
use crate::list::excluded;
use crate::matches::{self, Hits};
use crate::place::Place;
use crate::walk::{MOST_LOOKED, Walk};
use crate::width::{self, ROOM};

/// Bytes that one call reads at most: a search beyond it goes on in the next.
const MOST_SEARCHED: usize = 128 << 20;

/// How many folders lie within each other.
const DEEPEST: usize = 64;

/// Searches files.
pub struct Search;

/// What is looked for, and where.
#[derive(Deserialize, JsonSchema)]
pub struct Wanted {
    /// What a line must hold, as it stands; or a regular expression, with `regex`.
    #[schemars(length(min = 1, max = 2000), example = "fn main")]
    query: String,
    /// Takes the query as a regular expression, in the syntax of Rust's `regex`: no look-around, no back-references.
    #[serde(default)]
    regex: bool,
    /// Takes capitals and small letters for the same.
    #[serde(default)]
    ignore_case: bool,
    /// A folder or a file, relative to the workspace. Left out: the whole workspace.
    #[serde(default)]
    #[schemars(length(max = 4000))]
    path: String,
    /// Searches only what is called so: `*.rs` anywhere below, `src/**/*.{ts,tsx}` from the workspace on.
    #[schemars(length(min = 1, max = 500), example = "*.rs")]
    pattern: Option<String>,
    /// Lines to show before and after each that matches.
    #[serde(default)]
    #[schemars(range(min = 0, max = 10))]
    context: usize,
    /// The most lines that match to give.
    #[serde(default = "most")]
    #[schemars(range(min = 1, max = 500))]
    max_matches: usize,
    /// Folders that are not gone into.
    #[serde(default = "excluded")]
    #[schemars(length(max = 20), inner(length(min = 1, max = 500)))]
    exclude: Vec<String>,
    /// Where to go on: `next` of the answer before.
    from: Option<Spot>,
}

fn most() -> usize {
    50
}

/// Where a search goes on.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
struct Spot {
    #[schemars(length(min = 1, max = 4000))]
    path: String,
    #[schemars(range(min = 1))]
    line: usize,
}

/// What was found.
#[derive(Serialize, JsonSchema)]
pub struct Found {
    files: Vec<InFile>,
    /// Lines that match, of all the files that are given.
    matches: usize,
    /// Files that were searched.
    searched: usize,
    /// Files that were left out because they are no text or too large, and folders that could not be read.
    skipped: usize,
    /// Whether everything was searched; else `next` tells where to go on.
    complete: bool,
    /// The `from` that goes on with this search.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<Spot>,
}

/// What was found in one file.
#[derive(Serialize, JsonSchema)]
struct InFile {
    path: String,
    matches: usize,
    /// `12:` before a line that matches, `13-` before one beside it, `--` where lines are left out.
    text: String,
}

impl Tool for Search {
    const NAME: &'static str = "search";
    type Input = Wanted;
    type Output = Found;

    fn declare() -> Declaration {
        crate::looks("Search files").description(
            "Finds lines in the text files of the workspace by a text or a regular expression, with their numbers. \
             Where `complete` is false, ask again with `from` set to `next`. To find files by name, use `list`.",
        )
    }

    fn call(wanted: Wanted, _context: &Context) -> Result<Found, ToolError> {
        let mut searching = Searching {
            regex: matches::pattern(&wanted.query, !wanted.regex, wanted.ignore_case)?,
            context: wanted.context,
            most: wanted.max_matches,
            room: ROOM,
            bytes: MOST_SEARCHED,
            found: Found {
                files: Vec::new(),
                matches: 0,
                searched: 0,
                skipped: 0,
                complete: true,
                next: None,
            },
        };
        let at = Place::read(&wanted.path)?;
        let from =
            wanted.from.as_ref().map(|from| Ok::<_, ToolError>((Place::below(&from.path)?, from.line)));
        let from = from.transpose()?;
        match content::look(&at)? {
            None => return Err(fault::not_found(&at)),
            Some(entry) if entry.kind == Lies::File => {
                let line = from.map_or(1, |(_, line)| line);
                searching.file(&at, entry.size, line);
            }
            Some(_) => searching.folder(&at, &wanted, from)?,
        }
        Ok(searching.found)
    }
}

/// A search under way.
struct Searching {
    regex: Regex,
    context: usize,
    /// Lines that may still be given, what they may take, and what may still be read.
    most: usize,
    room: usize,
    bytes: usize,
    found: Found,
}

impl Searching {
    fn folder(
        &mut self,
        folder: &Place,
        wanted: &Wanted,
        from: Option<(Place, usize)>,
    ) -> Result<(), ToolError> {
        let pattern = wanted.pattern.as_deref().map(Glob::read).transpose()?;
        let exclude = glob::read_all(&wanted.exclude)?;
        let mut walk = Walk::begin(folder, DEEPEST, &exclude, from.as_ref().map(|(place, _)| place))?;
        if let Some((place, line)) = from
            && let Some(entry) = content::look(&place)?
            && entry.kind == Lies::File
        {
            self.file(&place, entry.size, line);
        }
        for looked in 0.. {
            if self.found.next.is_some() {
                break;
            }
            let Some((place, entry)) = walk.step()? else { break };
            if looked == MOST_LOOKED {
                self.go_on(&place, 1);
            } else if entry.kind == Lies::File && pattern.as_ref().is_none_or(|pattern| pattern.fits(&place))
            {
                self.file(&place, entry.size, 1);
            }
        }
        self.found.skipped += walk.unreadable;
        Ok(())
    }

    /// Searches one file; one that cannot be read any more is left out.
    fn file(&mut self, place: &Place, size: u64, line: usize) {
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        if size > MOST_READ {
            self.found.skipped += 1;
            return;
        }
        if size > self.bytes || (self.found.searched > 0 && progress::stop_asked()) {
            self.go_on(place, line);
            return;
        }
        self.bytes -= size;
        let text =
            content::whole(place, size as u64, MOST_READ).ok().and_then(|bytes| match kind::of(&bytes) {
                Kind::Text => String::from_utf8(bytes).ok(),
                Kind::Picture(_) | Kind::Other(_) => None,
            });
        let Some(text) = text else {
            self.found.skipped += 1;
            return;
        };
        self.found.searched += 1;
        // What a file takes beside its lines and its path.
        let around = width::of(place.text()) + 40;
        let room = self.room.saturating_sub(around);
        let (from, context, most) = (line, self.context, self.most);
        let hits = matches::find(&text, &self.regex, matches::Wanted { from, context, most, room });
        let Hits { text, count, next } = hits;
        let taken = around + width::of(&text);
        if let Some(next) = next {
            self.go_on(place, next);
        }
        // The first match of a file is given whatever it takes; not so where files before it took the room.
        if count > 0 && taken > self.room && !self.found.files.is_empty() {
            self.go_on(place, line);
        } else if count > 0 {
            self.most -= count;
            self.room = self.room.saturating_sub(taken);
            self.found.matches += count;
            self.found.files.push(InFile { path: place.text().to_owned(), matches: count, text });
        }
    }

    /// Ends the search here, to go on in another call.
    fn go_on(&mut self, place: &Place, line: usize) {
        self.found.complete = false;
        self.found.next = Some(Spot { path: place.text().to_owned(), line });
    }
}
