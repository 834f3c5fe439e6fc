//! Replacing a part of a file.

use airlock_sdk::{Context, Declaration, PastCall, Planned, Repeat, Reply, Risk, Tool, ToolError, Undone};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::content::{self, MOST_CHANGED, hash};
use crate::edit::{self, Edited, Misfit, Near};
use crate::place::Place;
use crate::summary::{Summary, Verb};
use crate::{difference, fault, state, workspace};

/// Lines that an error or an answer names.
const NAMED: usize = 20;

/// Replaces a text in a file.
pub struct Replace;

/// Which text is replaced by which.
#[derive(Deserialize, JsonSchema)]
pub struct Wanted {
    /// A file, relative to the workspace.
    #[schemars(length(min = 1, max = 4000), example = "src/main.rs")]
    path: String,
    /// The text to replace, exactly as it stands in the file, without the numbers of lines that `read` shows. It must be there once:
    /// give enough of what stands around it.
    #[schemars(length(min = 1))]
    old: String,
    /// What takes its place; empty to take it out.
    new: String,
    /// Replaces it everywhere.
    #[serde(default)]
    all: bool,
    /// The hash that the file had when you read it: the call fails if somebody has changed the file since.
    #[schemars(regex(pattern = "^[0-9a-fA-F]{64}$"), extend("x-message" = "give the `hash` of an earlier answer"))]
    expect: Option<String>,
}

/// What was replaced.
#[derive(Serialize, JsonSchema)]
pub struct Replaced {
    path: String,
    /// How often the text was replaced.
    replaced: usize,
    /// At which lines, the first 20.
    lines: Vec<usize>,
    /// SHA-256 of the file as it is now: the `expect` of the next change.
    hash: String,
    /// Bytes.
    size: usize,
    /// What was done, in one sentence.
    summary: String,
}

/// A change that may be done.
struct Ready {
    place: Place,
    before: String,
    edited: Edited,
    summary: Summary,
}

impl Tool for Replace {
    const NAME: &'static str = "replace";
    type Input = Wanted;
    type Output = Reply<Replaced>;

    fn declare() -> Declaration {
        crate::changes("Replace in a file", Risk::LowRiskWrite, Repeat::Once).description(
            "Replaces an exact text in a file of the workspace by another. The text must be there exactly once, unless `all` is set; \
             else nothing is changed, and the answer says how often it is there and at which lines. Read the file first.",
        )
    }

    fn call(wanted: Wanted, _context: &Context) -> Result<Reply<Replaced>, ToolError> {
        let Ready { place, before: _, edited, summary } = ready(&wanted)?;
        let bytes = edited.text.into_bytes();
        workspace().write(place.text(), &bytes).map_err(|error| fault::at(error, &place))?;
        let hash = hash(&bytes);
        let replaced = Replaced {
            path: place.text().to_owned(),
            replaced: edited.lines.len(),
            lines: edited.lines.into_iter().take(NAMED).collect(),
            hash: hash.clone(),
            size: bytes.len(),
            summary: summary.done(),
        };
        Ok(Reply::new(replaced).fingerprint(hash))
    }

    fn preview(wanted: Wanted, _context: &Context) -> Result<Planned, ToolError> {
        let Ready { place, before, edited, summary } = ready(&wanted)?;
        let (old, new) = (before.as_bytes(), edited.text.as_bytes());
        let changes = difference::unified(place.text(), Some(old), Some(new));
        Ok(Planned { summary: summary.ahead(), changes, fingerprint: Some(hash(old)), risk: None })
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
    if wanted.old == wanted.new {
        return Err(ToolError::invalid_input("NOTHING_TO_CHANGE", "`old` and `new` are the same text"));
    }
    let bytes = content::load(&place, MOST_CHANGED)?;
    content::expected(&place, wanted.expect.as_deref(), Some(&bytes))?;
    let before = content::text(&place, bytes)?;
    let edited = edit::replace(&before, &wanted.old, &wanted.new, wanted.all);
    let edited = edited.map_err(|misfit| told(misfit, &place))?;
    let (count, path) = (edited.lines.len(), place.text());
    let summary = match (count, edited.lines.first()) {
        (1, Some(line)) => format!("a text at line {line} of `{path}`"),
        _ => format!("a text {count} times in `{path}`"),
    };
    let summary = Summary::new(Verb::Replace, summary);
    Ok(Ready { place, before, edited, summary })
}

fn told(misfit: Misfit, place: &Place) -> ToolError {
    let path = place.text();
    match misfit {
        Misfit::Several(lines) => {
            let named: Vec<usize> = lines.iter().copied().take(NAMED).collect();
            let at: Vec<String> = named.iter().map(usize::to_string).collect();
            let more = if lines.len() > NAMED { ", …" } else { "" };
            let message = format!(
                "`old` is in `{path}` {} times, at lines {}{more}; nothing was changed: give more of what stands around the one that is meant, or set `all`",
                lines.len(),
                at.join(", ")
            );
            let details = json!({ "path": path, "count": lines.len(), "lines": named });
            ToolError::invalid_input("SEVERAL_MATCHES", message).details(details)
        }
        Misfit::NoMatch(near) => {
            let (hint, line) = match near {
                Near::ButForSpace(line) => {
                    (format!("line {line} fits but for white space: give that exactly"), Some(line))
                }
                Near::WithoutNumbers => {
                    ("leave out the numbers of lines, which `read` puts there".to_owned(), None)
                }
                Near::Nothing => {
                    ("read the file, and give the text exactly as it stands there".to_owned(), None)
                }
            };
            let message = format!("`old` is not in `{path}`; nothing was changed: {hint}");
            ToolError::invalid_input("NO_MATCH", message).details(json!({ "path": path, "near_line": line }))
        }
    }
}
