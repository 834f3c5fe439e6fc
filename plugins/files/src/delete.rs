//! Deleting a file or a folder.

use airlock_sdk::files::{Entry, Kind as Lies};
use airlock_sdk::{Context, Declaration, PastCall, Planned, Repeat, Reply, Risk, Tool, ToolError, Undone};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::content::{self, MOST_CHANGED};
use crate::place::Place;
use crate::summary::{Summary, Verb};
use crate::walk::Walk;
use crate::{difference, fault, state, workspace};

/// The most that one call deletes: each is a change of its own to the host, which bounds the changes of a call.
const MOST: usize = 90;

/// Deletes a file or a folder.
pub struct Delete;

/// What is deleted.
#[derive(Deserialize, JsonSchema)]
pub struct Wanted {
    /// A file or a folder, relative to the workspace.
    #[schemars(length(min = 1, max = 4000), example = "old/draft.md")]
    path: String,
    /// Deletes a folder with what lies in it, up to 90 files and folders, itself among them.
    #[serde(default)]
    recursive: bool,
    /// The hash that the file had when you read it: the call fails if somebody has changed the file since.
    #[schemars(regex(pattern = "^[0-9a-fA-F]{64}$"), extend("x-message" = "give the `hash` of an earlier answer"))]
    expect: Option<String>,
}

/// What was deleted.
#[derive(Serialize, JsonSchema)]
pub struct Deleted {
    path: String,
    /// Files and folders that are gone.
    deleted: usize,
    /// What was done, in one sentence.
    summary: String,
}

/// A deletion that may be done.
struct Ready {
    place: Place,
    entry: Entry,
    /// What lies in a folder, each folder before what is in it.
    within: Vec<(Place, Entry)>,
    summary: Summary,
}

impl Tool for Delete {
    const NAME: &'static str = "delete";
    type Input = Wanted;
    type Output = Reply<Deleted>;

    fn declare() -> Declaration {
        crate::changes("Delete a file", Risk::HighRiskWrite, Repeat::Idempotent).description(
            "Deletes a file or an empty folder of the workspace; a folder that is not empty only with `recursive`.",
        )
    }

    fn call(wanted: Wanted, _context: &Context) -> Result<Reply<Deleted>, ToolError> {
        let Ready { place, entry: _, within, summary } = ready(&wanted)?;
        let inside_first = within.iter().rev().map(|(place, _)| place);
        for one in inside_first.chain([&place]) {
            workspace().remove(one.text()).map_err(|error| fault::at(error, one))?;
        }
        let deleted =
            Deleted { path: place.text().to_owned(), deleted: within.len() + 1, summary: summary.done() };
        Ok(Reply::new(deleted).fingerprint(state::NOTHING))
    }

    fn preview(wanted: Wanted, _context: &Context) -> Result<Planned, ToolError> {
        let Ready { place, entry, within, summary } = ready(&wanted)?;
        let fingerprint = Some(state::of(&place)?);
        let told = |(place, entry): (Place, Entry)| match entry.kind {
            Lies::Directory => format!("delete the folder {}", place.text()),
            Lies::File | Lies::Other => format!("delete {} ({} bytes)", place.text(), entry.size),
        };
        let small = entry.kind == Lies::File && entry.size <= MOST_CHANGED as u64;
        let changes = if small {
            let bytes = content::load(&place, MOST_CHANGED)?;
            difference::unified(place.text(), Some(&bytes), None)
        } else {
            [(place, entry)].into_iter().chain(within).map(told).collect()
        };
        Ok(Planned { summary: summary.ahead(), changes, fingerprint, risk: None })
    }

    fn rollback(_past: PastCall<Wanted>, _context: &Context) -> Result<Undone, ToolError> {
        Ok(crate::undone())
    }

    fn fingerprint(past: PastCall<Wanted>, _context: &Context) -> Result<Option<String>, ToolError> {
        state::of(&Place::below(&past.input.path)?).map(Some)
    }
}

fn ready(wanted: &Wanted) -> Result<Ready, ToolError> {
    let place = Place::below(&wanted.path)?;
    let entry = content::look(&place)?.ok_or_else(|| fault::not_found(&place))?;
    let path = place.text();
    let (within, summary) = match entry.kind {
        Lies::Other => return Err(fault::special(&place)),
        Lies::File => (Vec::new(), format!("the file `{path}` of {} bytes", entry.size)),
        Lies::Directory => {
            let within = all_in(&place)?;
            let summary = match within.len() {
                0 => format!("the empty folder `{path}`"),
                1 => format!("the folder `{path}` with 1 entry in it"),
                count => format!("the folder `{path}` with {count} entries in it"),
            };
            (within, summary)
        }
    };
    if let Some(expect) = &wanted.expect {
        let now = state::of(&place)?;
        if !now.eq_ignore_ascii_case(expect) {
            return Err(fault::changed_meanwhile(&place, Some(&now)));
        }
    }
    if !within.is_empty() && !wanted.recursive {
        let text = format!("the folder `{path}` is not empty; set `recursive` to delete what lies in it too");
        return Err(ToolError::invalid_input("NOT_EMPTY", text));
    }
    Ok(Ready { place, entry, within, summary: Summary::new(Verb::Delete, summary) })
}

/// Everything below a folder; too much of it is a fault, and so is what cannot be deleted.
fn all_in(folder: &Place) -> Result<Vec<(Place, Entry)>, ToolError> {
    let (mut walk, mut all) = (Walk::begin(folder, usize::MAX, &[], None)?, Vec::new());
    while let Some((place, entry)) = walk.step()? {
        if entry.kind == Lies::Other {
            return Err(fault::special(&place));
        }
        all.push((place, entry));
        if all.len() >= MOST {
            let text = format!(
                "`{}` holds more than {} files and folders, and one call deletes {MOST} at most, the folder itself among them; \
                 delete the folders in it first, one by one: `list` shows them",
                folder.text(),
                MOST - 1
            );
            return Err(ToolError::invalid_input("TOO_MANY", text).details(json!({ "most": MOST - 1 })));
        }
    }
    Ok(all)
}
