//! What is left of an earlier call.

use std::sync::{Mutex, PoisonError};

use airlock_sdk::{Context, Declaration, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::harmless;

static WORD: Mutex<Option<String>> = Mutex::new(None);

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Keepsake {
    word: String,
    /// How many fresh pages of 64 KiB are looked at, and then written over.
    pages: usize,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Found {
    /// What an earlier call kept.
    word: Option<String>,
    /// Bytes of the fresh pages that were not zero.
    left_over: usize,
    looked_at: usize,
}

/// Keeps a word in a static and marks its memory, and says what it found there.
pub(crate) struct Remember;

impl Tool for Remember {
    const NAME: &'static str = "remember";
    type Input = Keepsake;
    type Output = Found;

    fn declare() -> Declaration {
        harmless("Remember").poll()
    }

    fn call(input: Keepsake, _context: &Context) -> Result<Found, ToolError> {
        let word = WORD.lock().unwrap_or_else(PoisonError::into_inner).replace(input.word);
        let fresh = fresh_pages(input.pages);
        let left_over = fresh.iter().filter(|byte| **byte != 0).count();
        fresh.fill(0xA5);
        Ok(Found { word, left_over, looked_at: fresh.len() })
    }
}

#[cfg(target_arch = "wasm32")]
#[expect(unsafe_code, reason = "memory that no allocator has touched is seen by its address alone")]
fn fresh_pages(pages: usize) -> &'static mut [u8] {
    const PAGE: usize = 64 * 1024;
    let first = core::arch::wasm32::memory_grow::<0>(pages);
    if first == usize::MAX {
        return &mut [];
    }
    // SAFETY: the pages were grown a moment ago for nobody else, and no allocator takes them later.
    unsafe {
        std::slice::from_raw_parts_mut(std::ptr::with_exposed_provenance_mut(first * PAGE), pages * PAGE)
    }
}

/// Only a component has pages.
#[cfg(not(target_arch = "wasm32"))]
fn fresh_pages(_pages: usize) -> &'static mut [u8] {
    &mut []
}
