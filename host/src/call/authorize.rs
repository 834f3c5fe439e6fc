//! Checks what the caller is permitted, in this one place, before the input is looked at.

use super::Turn;
use super::resolve::Resolved;
use crate::model::caller::{Asker, Confirm, Lacking};
use crate::model::code;
use crate::model::failure::{Failure, Kind};
use crate::plugin::Entry;

/// A call that the caller may make.
#[derive(Debug)]
pub struct Authorized {
    /// In one place from here on: stages hand it over as it is.
    resolved: Box<Resolved>,
}

impl Authorized {
    /// The tool, the caller and what they bring.
    pub fn resolved(&self) -> &Resolved {
        &self.resolved
    }
}

/// Checks permissions and who must say yes.
pub(super) fn authorize(resolved: Resolved) -> Result<Authorized, Turn> {
    permitted(&resolved)?;
    let entry = resolved.tool();
    if confirm(resolved.asker(), entry) {
        let text = format!("a person must say yes to {}, and nobody can be asked here", entry.name);
        return Err(Turn::Refuse(Failure::new(Kind::Denied, code::NEEDS_PERSON, text)));
    }
    Ok(Authorized { resolved: Box::new(resolved) })
}

/// Checks permissions alone: who may call may look ahead, and need not be confirmed for that.
pub(super) fn permitted(resolved: &Resolved) -> Result<(), Turn> {
    let entry = resolved.tool();
    if let Some(Lacking { who, permissions }) = resolved.asker().lacks(&entry.tool.permissions) {
        let text =
            format!("{who} lacks a permission that {} asks for: {}", entry.name, permissions.join(", "));
        let failure =
            Failure::new(Kind::Denied, code::PERMISSION_DENIED, text).with_detail("missing", permissions);
        return Err(Turn::Refuse(failure));
    }
    Ok(())
}

/// Whether a person must say yes: what the operator says of the caller goes before what holds for the tool.
pub(crate) fn confirm(asker: &Asker, entry: &Entry) -> bool {
    match asker.confirm(&entry.name) {
        Some(Confirm::Person) => true,
        Some(Confirm::Nobody) => false,
        None => entry.confirm,
    }
}
