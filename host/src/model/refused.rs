//! Calls that were refused before they had a run.

use serde::Serialize;

use super::clock::Timestamp;
use super::id::{CallerName, TraceId, UserName};

/// A call that was refused before it had a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// When.
    pub at: Timestamp,
    /// The trace that it belonged to.
    #[serde(skip)]
    pub trace: TraceId,
    /// The tool, as it was asked for.
    pub tool: String,
    /// Who asked.
    pub caller: CallerName,
    /// For whom, where the caller said so.
    pub user: Option<UserName>,
    /// Why not.
    pub code: String,
}
