//! The contract as Rust types, made from `wit/plugin.wit`.
#![expect(missing_docs, reason = "generated; the contract is its documentation")]

wasmtime::component::bindgen!({
    path: "../wit",
    world: "writer",
    exports: { default: async },
    additional_derives: [PartialEq, serde::Deserialize, serde::Serialize],
});

use crate::model::manifest::{Cleanup, Repeat, Risk};
pub use airlock::plugin::{files, host, http, secrets, types};

pub use exports::airlock::plugin::{preview, rollback, tools};

impl From<types::Risk> for Risk {
    fn from(declared: types::Risk) -> Self {
        match declared {
            types::Risk::PublicRead => Self::L1,
            types::Risk::BusinessRead => Self::L2,
            types::Risk::LowRiskWrite => Self::L3,
            types::Risk::HighRiskWrite => Self::L4,
        }
    }
}

impl From<types::Repeat> for Repeat {
    fn from(declared: types::Repeat) -> Self {
        match declared {
            types::Repeat::Reads => Self::Reads,
            types::Repeat::Idempotent => Self::Idempotent,
            types::Repeat::Keyed => Self::Keyed,
            types::Repeat::Once => Self::Once,
        }
    }
}

impl From<types::Cleanup> for Cleanup {
    fn from(declared: types::Cleanup) -> Self {
        match declared {
            types::Cleanup::Nothing => Self::Nothing,
            types::Cleanup::Release => Self::Release,
            types::Cleanup::Automatic => Self::Automatic,
            types::Cleanup::Destructive => Self::Destructive,
            types::Cleanup::Manual => Self::Manual,
        }
    }
}
