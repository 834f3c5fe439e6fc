//! The harness of the tests: worlds, guests, the sandbox alone, the backend that counts, a web site, hosts that are killed, a storm of kills, power loss, private networks, a client of MCP, and what was skipped.

pub mod assembled;
pub mod backend;
pub mod changeling;
pub mod crash;
pub mod crowd;
pub mod flaky;
pub mod forgetful;
pub mod marker;
pub mod mcp;
pub mod native;
pub mod netns;
pub mod power_loss;
pub mod sandbox;
pub mod site;
pub mod skip;
pub mod small_disk;
pub mod soak;
pub mod world;

/// The test plugins, as paths of their components; built by `build.rs`.
pub mod guests {
    include!(concat!(env!("OUT_DIR"), "/guests.rs"));
}
