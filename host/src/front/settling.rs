//! How a person settles a run that nobody else can, as every door tells it.

use crate::model::code;

/// The command that settles a run which ended so.
pub(super) fn deciding(code: &str, run: &str) -> String {
    let words =
        if code == code::PARTLY_DONE { "happened` or `again" } else { "happened`, `did-not` or `again" };
    format!("`airlock decide {run} {words}`")
}
