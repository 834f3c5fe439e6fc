//! What one attempt of a call leaves for the next: how far it came, and what it need not find out again.
//!
//! It is written down at once, and found in [`Context::saved`](crate::Context) by the attempt that follows, also where
//! this one fails or its process dies.
//!
//! ```no_run
//! use airlock_sdk::{Context, ToolError, saved};
//!
//! fn upload(context: &Context) -> Result<(), ToolError> {
//!     let session = match &context.saved {
//!         Some(saved) => String::from_utf8_lossy(saved).into_owned(),
//!         None => "upload-7".to_owned(),
//!     };
//!     saved::save(&session)
//! }
//! ```

use crate::ToolError;
use crate::offered::host;

/// Keeps at most 1 MiB for the next attempt of this call, in the place of what was kept before.
///
/// # Errors
/// `denied`, `SAVE_REFUSED`, where it is longer, or the attempt saved a hundred times.
pub fn save(bytes: impl AsRef<[u8]>) -> Result<(), ToolError> {
    host::save(bytes.as_ref()).map_err(|rule| ToolError::denied("SAVE_REFUSED", rule))
}
