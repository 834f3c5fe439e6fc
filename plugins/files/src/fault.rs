//! What is told where something cannot be done.

use airlock_sdk::ToolError;
use airlock_sdk::files::Error;
use serde_json::json;

use crate::place::Place;
use crate::workspace;

/// Names that are offered beside one that is not there.
const OFFERED: usize = 5;

/// What the host says of a place, in the words of these tools.
pub(crate) fn at(error: Error, place: &Place) -> ToolError {
    match error {
        Error::NotFound => not_found(place),
        Error::Exists => exists(place),
        Error::TooLarge => ToolError::rejected(
            "TOO_LARGE",
            format!("that is more than the host moves at once: {}", place.text()),
        ),
        Error::Forbidden(_) | Error::Changed(_) | Error::Other(_) => error.into(),
    }
}

/// Nothing is there; the message names what is nearby and is called alike.
pub(crate) fn not_found(place: &Place) -> ToolError {
    let (text, alike) = (place.text(), alike(place));
    let message = if alike.is_empty() {
        format!("there is nothing at `{text}`; `list` shows what is there")
    } else {
        format!("there is nothing at `{text}`; did you mean {}?", alike.join(", "))
    };
    ToolError::rejected("NOT_FOUND", message).details(json!({ "path": text, "similar": alike }))
}

pub(crate) fn exists(place: &Place) -> ToolError {
    let message = format!("there is something at `{}` already", place.text());
    ToolError::invalid_input("EXISTS", message).details(json!({ "path": place.text() }))
}

/// Somebody made it while the folders on the way were made.
pub(crate) fn made_meanwhile(place: &Place) -> ToolError {
    let message = format!("somebody else has just made `{}`, and nothing was done", place.text());
    ToolError::transient("FILE_CHANGED", message)
}

pub(crate) fn not_a_file(place: &Place) -> ToolError {
    ToolError::invalid_input(
        "NOT_A_FILE",
        format!("`{}` is a folder; `list` shows what is in it", place.text()),
    )
}

pub(crate) fn not_a_folder(place: &Place) -> ToolError {
    ToolError::invalid_input("NOT_A_FOLDER", format!("`{}` is no folder", place.text()))
}

/// A link, a pipe and the like.
pub(crate) fn special(place: &Place) -> ToolError {
    let message = format!("`{}` is a link or a device, and is left alone", place.text());
    ToolError::rejected("UNSUPPORTED_TYPE", message)
}

pub(crate) fn too_large(place: &Place, size: u64, most: usize) -> ToolError {
    let message = format!("`{}` has {size} bytes, and this tool takes files of {most} at most", place.text());
    ToolError::rejected("TOO_LARGE", message).details(json!({ "size": size, "most": most }))
}

/// Somebody changed the file since its hash was taken; `now` is none where it is gone.
pub(crate) fn changed_meanwhile(place: &Place, now: Option<&str>) -> ToolError {
    let what = if now.is_some() { "has been changed" } else { "is no longer there" };
    let message = format!(
        "`{}` {what} since it had the hash in `expect`; nothing was done: read it again, and decide anew",
        place.text()
    );
    ToolError::rejected("CHANGED_MEANWHILE", message).details(json!({ "path": place.text(), "hash": now }))
}

/// What is called nearly like this, in the nearest folder that is there.
fn alike(place: &Place) -> Vec<String> {
    let mut missing = place.clone();
    while let Some(folder) = missing.folder() {
        if let Ok(entries) = workspace().entries_after(folder.text(), None) {
            let wanted = missing.name().to_lowercase();
            let near = |name: &str| {
                let name = name.to_lowercase();
                let stem = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
                strsim::osa_distance(&name, &wanted) <= 2
                    || (stem(&name) == stem(&wanted) && !stem(&name).is_empty())
            };
            let near = entries.into_iter().filter(|entry| near(&entry.name)).take(OFFERED);
            return near.map(|entry| folder.entry(&entry.name).text().to_owned()).collect();
        }
        missing = folder;
    }
    Vec::new()
}
