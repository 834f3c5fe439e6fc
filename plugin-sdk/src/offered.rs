//! What the host offers: in a component the host itself, natively the stand-in of a tool's own tests.

#[cfg(target_family = "wasm")]
pub(crate) use crate::bindings::reader::airlock::plugin::{host, http, key_value, secrets};

#[cfg(target_family = "wasm")]
pub(crate) use crate::bindings::reader::airlock::plugin::files;

#[cfg(not(target_family = "wasm"))]
pub(crate) use crate::testing::folders as files;
#[cfg(not(target_family = "wasm"))]
pub(crate) use crate::testing::stand_in::{host, http, key_value, secrets};
