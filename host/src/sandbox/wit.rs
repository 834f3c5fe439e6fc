//! The contract as Rust types, made from `wit/plugin.wit`.
#![expect(missing_docs, reason = "generated; the contract is its documentation")]

wasmtime::component::bindgen!({
    path: "../wit",
    world: "writer",
    exports: { default: async },
    additional_derives: [PartialEq, serde::Deserialize, serde::Serialize],
});

pub use airlock::plugin::{files, host, http, secrets, types};
pub use exports::airlock::plugin::tools;
