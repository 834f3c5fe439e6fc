//! How far the call is, told to whoever waits for it, and whether it should come to an end.
//!
//! ```
//! use airlock_sdk::progress;
//!
//! let pages = ["a", "b"];
//! for (done, page) in (1..).zip(pages) {
//!     if progress::stop_asked() {
//!         break;
//!     }
//!     progress::tell(done, 2, &format!("read page {page}"));
//! }
//! ```
//!
//! In a tool's own tests it is kept by `testing::Host`, which asks for an end where the test says so; without one it goes to
//! standard error.

use crate::offered::host;

/// Tells how much is done, of how much where that is known, and what was done last.
pub fn tell(done: u32, total: impl Into<Option<u32>>, message: &str) {
    host::progress(done, total.into(), message);
}

/// Whether the call should come to an end: its caller wants no more of it, or its time is nearly over.
#[must_use]
pub fn stop_asked() -> bool {
    host::stop_asked()
}
