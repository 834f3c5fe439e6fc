//! The harness of the tests: worlds, guests, the backend that counts, power loss, private networks, and what was skipped.

pub mod backend;
pub mod native;
pub mod netns;
pub mod power_loss;
pub mod skip;
pub mod world;

/// The test plugins, as paths of their components; built by `build.rs`.
pub mod guests {
    include!(concat!(env!("OUT_DIR"), "/guests.rs"));
}
