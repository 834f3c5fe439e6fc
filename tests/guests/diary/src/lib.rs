//! The notebook under another name, to look for what that one keeps.

#[path = "../../notebook/src/pages.rs"]
mod pages;

use pages::{Bare, Priced, Read, Write};

airlock_sdk::export!(reader diary: Write, Read, Bare, Priced);
