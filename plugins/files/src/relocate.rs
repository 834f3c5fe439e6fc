//! Moving a file or a folder.

use airlock_sdk::files::Kind as Lies;
use airlock_sdk::{Context, Declaration, PastCall, Planned, Repeat, Reply, Risk, Tool, ToolError, Undone};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::place::Place;
use crate::summary::{Summary, Verb};
use crate::{content, fault, state, workspace};

/// Moves a file or a folder.
pub struct Move;

/// What is moved where.
#[derive(Deserialize, JsonSchema)]
pub struct Wanted {
    /// A file or a folder, relative to the workspace.
    #[schemars(length(min = 1, max = 4000), example = "draft.md")]
    path: String,
    /// Its whole path afterwards, where nothing may lie yet; folders on the way are made.
    #[schemars(length(min = 1, max = 4000), example = "archive/2026/draft.md")]
    to: String,
}

/// What was moved.
#[derive(Serialize, JsonSchema)]
pub struct Moved {
    /// Where it is now.
    path: String,
    /// SHA-256 of a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<String>,
    /// What was done, in one sentence.
    summary: String,
}

/// A move that may be done.
struct Ready {
    from: Place,
    to: Place,
    /// Folders that are made first.
    ways: Vec<Place>,
    is_file: bool,
    summary: Summary,
}

impl Tool for Move {
    const NAME: &'static str = "move";
    type Input = Wanted;
    type Output = Reply<Moved>;

    fn declare() -> Declaration {
        crate::changes("Move a file", Risk::LowRiskWrite, Repeat::Idempotent).description(
            "Moves or renames a file or a folder within the workspace. It never replaces what is there: \
             a path that is taken is an error.",
        )
    }

    fn call(wanted: Wanted, _context: &Context) -> Result<Reply<Moved>, ToolError> {
        let Ready { from, to, ways, is_file, summary } = ready(&wanted)?;
        content::make_ways(&ways)?;
        workspace().rename(from.text(), to.text()).map_err(|error| fault::at(error, &to))?;
        let state = state::of(&to)?;
        let fingerprint = format!("{} and {state}", state::of(&from)?);
        // Only a content has a hash, and a very large one has none.
        let hash = Some(state).filter(|state| is_file && state.len() == 64);
        let moved = Moved { path: to.text().to_owned(), hash, summary: summary.done() };
        Ok(Reply::new(moved).fingerprint(fingerprint))
    }

    fn preview(wanted: Wanted, _context: &Context) -> Result<Planned, ToolError> {
        let Ready { from, to, ways, is_file: _, summary } = ready(&wanted)?;
        let mut changes: Vec<String> =
            ways.iter().map(|way| format!("make the folder {}", way.text())).collect();
        changes.push(format!("{} → {}", from.text(), to.text()));
        Ok(Planned {
            summary: summary.ahead(),
            changes,
            fingerprint: Some(state::of_both(&from, &to)?),
            risk: None,
        })
    }

    fn rollback(_past: PastCall<Wanted>, _context: &Context) -> Result<Undone, ToolError> {
        Ok(crate::undone())
    }

    fn fingerprint(past: PastCall<Wanted>, _context: &Context) -> Result<Option<String>, ToolError> {
        state::of_both(&Place::below(&past.input.path)?, &Place::below(&past.input.to)?).map(Some)
    }
}

fn ready(wanted: &Wanted) -> Result<Ready, ToolError> {
    let (from, to) = (Place::below(&wanted.path)?, Place::below(&wanted.to)?);
    let kind = content::look(&from)?.ok_or_else(|| fault::not_found(&from))?.kind;
    if kind == Lies::Other {
        return Err(fault::special(&from));
    }
    if to.names_below(&from).is_some() {
        let text = format!("`{}` lies in `{}`, which cannot be moved into itself", to.text(), from.text());
        return Err(ToolError::invalid_input("INTO_ITSELF", text));
    }
    let ways = content::missing_ways(&to)?;
    match content::look(&to)?.map(|entry| entry.kind) {
        None => {}
        Some(Lies::Directory) if from != to => {
            let whole = to.entry(from.name());
            let text = format!(
                "`{}` is a folder; to move it in there, give the whole path: {}",
                to.text(),
                whole.text()
            );
            return Err(ToolError::invalid_input("EXISTS", text));
        }
        Some(Lies::File | Lies::Directory | Lies::Other) => return Err(fault::exists(&to)),
    }
    let is_file = kind == Lies::File;
    let what = if is_file { "file" } else { "folder" };
    let summary = Summary::new(Verb::Move, format!("the {what} `{}` to `{}`", from.text(), to.text()));
    Ok(Ready { from, to, ways, is_file, summary })
}
