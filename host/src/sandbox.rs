//! Where guests run: one engine, fresh instances that hold one tool's grants, and every effect carried out by the host.

mod answer;
pub mod attempt;
pub mod cancel;
pub mod capability;
pub mod engine;
pub mod gate;
pub mod grants;
mod guest;
mod inert;
mod limiter;
mod link;
pub mod logbook;
mod lookout;
pub mod question;
pub mod threads;
mod traps;
pub mod wit;

pub use attempt::{Attempt, Finished};
pub use engine::{Compiled, Engine, Prepared};
