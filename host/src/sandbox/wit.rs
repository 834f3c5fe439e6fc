//! The contract as Rust types, made from `wit/plugin.wit`.
#![expect(missing_docs, reason = "generated; the contract is its documentation")]

wasmtime::component::bindgen!({
    path: "../wit",
    world: "writer",
    exports: { default: async },
});

pub use airlock::plugin::{host, http, secrets, types};
pub use exports::airlock::plugin::tools;
