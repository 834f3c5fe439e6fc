//! Writing a whole file.

use airlock_sdk::{Context, Declaration, PastCall, Planned, Repeat, Reply, Risk, Tool, ToolError, Undone};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::content::{self, MOST_CHANGED, hash};
use crate::place::Place;
use crate::summary::{Summary, Verb};
use crate::{difference, fault, state, workspace};

/// Writes a file.
pub struct Write;

/// What is written where.
#[derive(Deserialize, JsonSchema)]
pub struct Wanted {
    /// A file, relative to the workspace; folders on the way are made.
    #[schemars(length(min = 1, max = 4000), example = "notes/plan.md")]
    path: String,
    /// The whole content.
    text: String,
    #[serde(default)]
    mode: Mode,
    /// The hash that the file had when you read it: the call fails if somebody has changed the file since.
    #[schemars(regex(pattern = "^[0-9a-fA-F]{64}$"), extend("x-message" = "give the `hash` of an earlier answer"))]
    expect: Option<String>,
}

/// What may lie there before.
#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    /// Nothing: a file that is there is left as it is, and the call fails.
    #[default]
    Create,
    /// Anything: a file that is there gets this content.
    Overwrite,
}

/// What was written.
#[derive(Serialize, JsonSchema)]
pub struct Written {
    path: String,
    /// SHA-256 of the file as it is now: the `expect` of the next change.
    hash: String,
    /// Bytes.
    size: usize,
    /// What was done, in one sentence.
    summary: String,
}

/// A write that may be done.
struct Ready {
    place: Place,
    before: Option<Vec<u8>>,
    /// Folders that are made first.
    ways: Vec<Place>,
    summary: Summary,
}

impl Tool for Write {
    const NAME: &'static str = "write";
    type Input = Wanted;
    type Output = Reply<Written>;

    fn declare() -> Declaration {
        crate::changes("Write a file", Risk::LowRiskWrite, Repeat::Idempotent)
            .description(
                "Writes a whole text file of the workspace. It makes a new one unless `mode` is `overwrite`; \
                 to change a part of a file, use `replace`. Give `expect` when you have read the file before.",
            )
    }

    fn call(wanted: Wanted, _context: &Context) -> Result<Reply<Written>, ToolError> {
        let Ready { place, before, ways, summary } = ready(&wanted)?;
        let bytes = wanted.text.into_bytes();
        if before.as_deref() != Some(bytes.as_slice()) {
            content::make_ways(&ways)?;
            if !ways.is_empty() && content::look(&place)?.is_some() {
                return Err(fault::made_meanwhile(&place));
            }
            workspace().write(place.text(), &bytes).map_err(|error| fault::at(error, &place))?;
        }
        let (path, hash, size) = (place.text().to_owned(), hash(&bytes), bytes.len());
        Ok(Reply::new(Written { path, hash: hash.clone(), size, summary: summary.done() }).fingerprint(hash))
    }

    fn preview(wanted: Wanted, _context: &Context) -> Result<Planned, ToolError> {
        let ready = ready(&wanted)?;
        let (path, new) = (ready.place.text(), Some(wanted.text.as_bytes()));
        let mut changes: Vec<String> =
            ready.ways.iter().map(|way| format!("make the folder {}", way.text())).collect();
        changes.extend(difference::unified(path, ready.before.as_deref(), new));
        let fingerprint = Some(state::of(&ready.place)?);
        Ok(Planned { summary: ready.summary.ahead(), changes, fingerprint, risk: None })
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
    let ways = content::missing_ways(&place)?;
    let before = content::find(&place, MOST_CHANGED)?;
    content::expected(&place, wanted.expect.as_deref(), before.as_deref())?;
    let (path, lines) = (place.text(), counted(wanted.text.lines().count()));
    let summary = match &before {
        Some(before) if before == wanted.text.as_bytes() => {
            Summary::new(Verb::Leave, format!("`{path}` as it is: it holds exactly this"))
        }
        Some(_) if wanted.mode == Mode::Create => {
            let text = format!(
                "there is something at `{path}` already; read it, then use `replace`, or `mode: overwrite`"
            );
            return Err(ToolError::invalid_input("EXISTS", text));
        }
        Some(_) => Summary::new(Verb::Overwrite, format!("`{path}` with {lines}")),
        None => Summary::new(Verb::Create, format!("`{path}` with {lines}")),
    };
    Ok(Ready { place, before, ways, summary })
}

fn counted(lines: usize) -> String {
    if lines == 1 { "1 line".to_owned() } else { format!("{lines} lines") }
}
