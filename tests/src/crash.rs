//! Killing hosts: a child process that opens one, halts at a named point, and is killed there.
//!
//! What has no hooks in production is told from outside: the child's store is wrapped ([`Halting`]), every write is a
//! point before and a point after it, and the child says on standard output which points it has passed. A reply
//! that it has printed is acknowledged.

mod child;
mod halting;
mod point;
mod process;

pub use child::{Disk, Job, Order, main};
pub use halting::{Halting, Points};
pub use point::{Commit, Point};
pub use process::{Process, Said};
