//! Checks what the caller is permitted, in this one place, before the input is looked at.

use super::Turn;
use super::resolve::Resolved;
use crate::model::code;
use crate::model::failure::{Failure, Kind};

/// A call that the caller may make.
#[derive(Debug)]
pub struct Authorized {
    resolved: Resolved,
}

impl Authorized {
    /// The tool, the caller and what they bring.
    pub fn resolved(&self) -> &Resolved {
        &self.resolved
    }
}

/// Checks permissions and who must say yes.
pub(super) fn authorize(resolved: Resolved) -> Result<Authorized, Turn> {
    let entry = resolved.tool();
    let lacking = resolved.caller().lacks(&entry.tool.permissions);
    if !lacking.is_empty() {
        let text =
            format!("the caller lacks a permission that {} asks for: {}", entry.name, lacking.join(", "));
        let missing: Vec<String> = lacking.into_iter().map(str::to_owned).collect();
        let failure =
            Failure::new(Kind::Denied, code::PERMISSION_DENIED, text).with_detail("missing", missing);
        return Err(Turn::Refuse(failure));
    }
    if entry.confirm {
        let text = format!("a person must say yes to {}, and nobody can be asked here", entry.name);
        return Err(Turn::Refuse(Failure::new(Kind::Denied, code::NEEDS_PERSON, text)));
    }
    Ok(Authorized { resolved })
}
