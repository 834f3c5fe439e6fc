//! Where guests run: one engine, fresh instances that hold one tool's grants, and every effect carried out by the host.

pub mod attempt;
pub mod capability;
pub mod engine;
pub mod grants;
mod guest;
mod inert;
mod limiter;
mod link;
pub mod logbook;
pub mod threads;
mod traps;
pub mod wit;

pub use attempt::{Attempt, Finished};
pub use engine::{Compiled, Engine, Prepared};
