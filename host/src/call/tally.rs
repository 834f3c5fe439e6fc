//! Attempts that went well where nothing went wrong of late: counted in memory, and told with the next failure.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::model::clock::Timestamp;
use crate::model::id::ToolName;

/// The parts that a window is counted in.
const PARTS: u32 = 6;

/// The most tools and origins that are counted: a configuration names far fewer.
const MOST: usize = 4096;

/// When, and how many.
type Counts = VecDeque<(Timestamp, u32)>;

/// What went well, by tool and origin.
#[derive(Debug, Default)]
pub struct Tallies(Mutex<HashMap<(ToolName, String), Counts>>);

impl Tallies {
    /// Counts an attempt that went well now.
    pub(super) fn add(&self, tool: &ToolName, origin: &str, window: Duration, now: Timestamp) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = (tool.clone(), origin.to_owned());
        if all.len() >= MOST && !all.contains_key(&place) {
            return;
        }
        let counts = all.entry(place).or_default();
        forget(counts, window, now);
        match counts.back_mut().filter(|(begins, _)| now < begins.plus(window / PARTS)) {
            Some((_, count)) => *count = count.saturating_add(1),
            None => counts.push_back((now, 1)),
        }
    }

    /// Hands out what went well within the window, once.
    pub(super) fn take(
        &self,
        tool: &ToolName,
        origin: &str,
        window: Duration,
        now: Timestamp,
    ) -> Vec<(Timestamp, u32)> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut counts = all.remove(&(tool.clone(), origin.to_owned())).unwrap_or_default();
        forget(&mut counts, window, now);
        counts.into()
    }
}

/// Lets go of what is older than the window, and of what a clock that was set back puts ahead.
fn forget(counts: &mut Counts, window: Duration, now: Timestamp) {
    let oldest = now.minus(window);
    counts.retain(|(begins, _)| *begins > oldest && *begins <= now);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_well_within_the_window_is_handed_out_once() {
        let (tallies, tool, window) = (Tallies::default(), "a.b".parse().unwrap(), Duration::from_secs(30));
        for second in 0..60 {
            tallies.add(&tool, "x", window, Timestamp(second * 1000));
        }
        let taken = tallies.take(&tool, "x", window, Timestamp(60_000));
        assert!(taken.len() <= 6, "{taken:?}");
        let all: u32 = taken.iter().map(|(_, count)| count).sum();
        assert!((20..=30).contains(&all), "{taken:?}");
        assert!(tallies.take(&tool, "x", window, Timestamp(60_000)).is_empty());
        tallies.add(&tool, "x", window, Timestamp(90_000));
        assert!(tallies.take(&tool, "x", window, Timestamp(0)).is_empty(), "the clock was set back");
    }
}
