//! The whole of a result, in parts, for the caller whose run it is.

use std::sync::Arc;

use super::Parts;
use super::awaited::{gone, running, unknown};
use super::decide::refusal;
use crate::model::code;
use crate::model::failure::{Failure, Kind};
use crate::model::id::{CallerName, RunId, UserName};
use crate::model::reply::Page;
use crate::sandbox::capability::secrets::derived;

/// How much of a hash a cursor bears, in hexadecimal digits.
const TAG: usize = 8;

/// One page of the result of a run: the first, or the one that a cursor stands for.
///
/// # Errors
/// Where the run is not this caller's, has not ended or is no longer kept, or the cursor is not one of it.
pub fn page(
    parts: &Arc<Parts>,
    caller: &CallerName,
    user: Option<&UserName>,
    run: &str,
    cursor: Option<&str>,
) -> Result<Page, Failure> {
    let id: RunId = run.parse().map_err(|_| unknown(run))?;
    let record = parts.store.run(id).map_err(|failure| refusal(&failure))?;
    let own =
        record.filter(|record| record.summary.caller == *caller && record.summary.user.as_ref() == user);
    let record = match own {
        Some(record) => record,
        None if parts.drives_for(id, caller, user) => return Err(running(id)),
        None => return Err(unknown(run)),
    };
    if record.summary.state.under_way() {
        return Err(running(id));
    }
    let Some(stored) = record.stored else { return Err(gone(id)) };
    let whole = match stored.trimmed {
        Some(_) => parts.store.kept(id).map_err(|failure| refusal(&failure))?.whole.unwrap_or(stored.body),
        None => stored.body,
    };
    let most = usize::try_from(parts.setting().config.limits.reply).unwrap_or(usize::MAX);
    let tag = |begin: usize| tag(&parts.store.secret(), id, begin);
    let begin = match cursor {
        None => 0,
        Some(cursor) => {
            begin(cursor, tag).filter(|begin| whole.is_char_boundary(*begin)).ok_or_else(|| {
                let text = "the cursor is none of this run's; ask for the first page without one";
                Failure::new(Kind::InvalidInput, code::INVALID_INPUT, text)
            })?
        }
    };
    let (text, end) = part(&whole, begin, most);
    let next = (end < whole.len()).then(|| format!("{end:x}.{}", tag(end)));
    Ok(Page { text: text.to_owned(), next })
}

/// The part of a text that begins there and has at most so many bytes, and where it ends.
fn part(whole: &str, begin: usize, most: usize) -> (&str, usize) {
    let furthest = begin.saturating_add(most).min(whole.len());
    let end = (begin..=furthest).rev().find(|end| whole.is_char_boundary(*end)).unwrap_or(begin);
    // A page is never empty, however small it may be.
    let end = if end == begin { whole.len() } else { end };
    (whole.get(begin..end).unwrap_or_default(), end)
}

/// Where the page of a cursor begins, where it was given for this run.
fn begin(cursor: &str, tag: impl Fn(usize) -> String) -> Option<usize> {
    let (begin, given) = cursor.split_once('.')?;
    let begin = usize::from_str_radix(begin, 16).ok()?;
    (tag(begin) == given).then_some(begin)
}

fn tag(secret: &[u8; 32], run: RunId, begin: usize) -> String {
    let hash = derived(secret, &[b"page", &run.bytes(), &begin.to_le_bytes()]);
    hash.get(..TAG).unwrap_or_default().to_owned()
}
