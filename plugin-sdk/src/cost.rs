//! What the call costs.
//!
//! ```no_run
//! use airlock_sdk::{ToolError, cost};
//!
//! fn translated(letters: u64) -> Result<(), ToolError> {
//!     cost::spend(letters * 20, "translation")
//! }
//! ```

use crate::ToolError;
use crate::offered::host;

/// Adds to what the call costs, in millionths of the budget's currency, and says what for. It is entered also when
/// the call fails: say it once it is owed.
///
/// # Errors
/// `denied`, `COST_REFUSED`, where all attempts of the call would cost more than the tool declares
/// ([`Declaration::cost_micros`](crate::Declaration::cost_micros)) or than the operator allows a call; and where the
/// operator bounds what is spent and the tool declares nothing.
pub fn spend(micros: u64, what: &str) -> Result<(), ToolError> {
    host::spend(micros, what).map_err(|rule| ToolError::denied("COST_REFUSED", rule))
}
