//! What the benches share: where they run, what they load, how they count, and how a figure is printed.

pub mod bare;
pub mod cpu;
pub mod desk;
pub mod disk;
pub mod figure;
pub mod load;
pub mod machine;
pub mod memory;
pub mod place;
pub mod samples;
pub mod stages;
