//! Choices from a seed.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};

/// What chooses for one who chooses: streams of one seed are independent of each other.
#[derive(Debug)]
pub(super) struct Choices(StdRng);

impl Choices {
    pub(super) fn of(seed: u64, stream: u8) -> Self {
        let mut bytes = [stream; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        Self(StdRng::from_seed(bytes))
    }

    /// A number below this one, which is not 0.
    pub(super) fn below(&mut self, most: usize) -> usize {
        let drawn = self.0.next_u64() % u64::try_from(most).unwrap_or(u64::MAX);
        usize::try_from(drawn).unwrap_or_default()
    }

    /// Whether one of so many comes.
    pub(super) fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }

    pub(super) fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    /// A time between these, in milliseconds.
    pub(super) fn time(&mut self, least: usize, most: usize) -> Duration {
        let millis = least + self.below(most - least);
        Duration::from_millis(u64::try_from(millis).unwrap_or_default())
    }
}

/// A seed that is another one each time.
#[must_use]
pub fn any_seed() -> u64 {
    RandomState::new().hash_one(0) % 1_000_000
}
