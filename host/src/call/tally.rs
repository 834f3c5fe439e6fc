//! What is known of backends in memory alone: attempts that went well where nothing went wrong of late, told with the next
//! failure, and which tools owe for retries that met no backend.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::model::clock::Timestamp;
use crate::model::id::ToolName;

/// The parts that a window is counted in.
const PARTS: u32 = 6;

/// The most origins of one tool that are counted: under a pattern they are whatever its requests name.
const MOST: usize = 256;

/// When, and how many.
type Counts = VecDeque<(Timestamp, u32)>;

/// What is known of backends in memory alone.
#[derive(Debug, Default)]
pub struct Tallies {
    /// What went well, by tool and origin.
    well: Mutex<HashMap<ToolName, HashMap<String, Counts>>>,
    owing: Mutex<HashSet<ToolName>>,
}

impl Tallies {
    /// Counts an attempt that went well now.
    pub(super) fn add(&self, tool: &ToolName, origin: &str, window: Duration, now: Timestamp) {
        let mut all = self.well.lock().unwrap_or_else(PoisonError::into_inner);
        if !all.contains_key(tool) {
            all.insert(tool.clone(), HashMap::new());
        }
        let Some(origins) = all.get_mut(tool) else { return };
        if let Some(counts) = origins.get_mut(origin) {
            return count(counts, window, now);
        }
        if origins.len() >= MOST {
            origins.retain(|_, counts| {
                forget(counts, window, now);
                !counts.is_empty()
            });
        }
        if origins.len() < MOST {
            count(origins.entry(origin.to_owned()).or_default(), window, now);
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
        let mut all = self.well.lock().unwrap_or_else(PoisonError::into_inner);
        let mut counts = all.get_mut(tool).and_then(|origins| origins.remove(origin)).unwrap_or_default();
        forget(&mut counts, window, now);
        counts.into()
    }

    /// Takes note that a tool owes for a retry that met no backend, or does no more.
    pub(super) fn owe(&self, tool: &ToolName, owes: bool) {
        let mut owing = self.owing.lock().unwrap_or_else(PoisonError::into_inner);
        if owes {
            owing.insert(tool.clone());
        } else {
            owing.remove(tool);
        }
    }

    /// Whether a tool owes for such a retry, as far as this process knows.
    pub(super) fn owes(&self, tool: &ToolName) -> bool {
        let owing = self.owing.lock().unwrap_or_else(PoisonError::into_inner);
        !owing.is_empty() && owing.contains(tool)
    }
}

fn count(counts: &mut Counts, window: Duration, now: Timestamp) {
    forget(counts, window, now);
    match counts.back_mut().filter(|(begins, _)| now < begins.plus(window / PARTS)) {
        Some((_, count)) => *count = count.saturating_add(1),
        None => counts.push_back((now, 1)),
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

    const WINDOW: Duration = Duration::from_secs(30);

    #[test]
    fn what_went_well_within_the_window_is_handed_out_once() {
        let (tallies, tool) = (Tallies::default(), "a.b".parse().unwrap());
        for second in 0..60 {
            tallies.add(&tool, "x", WINDOW, Timestamp(second * 1000));
        }
        let taken = tallies.take(&tool, "x", WINDOW, Timestamp(60_000));
        assert!(taken.len() <= 6, "{taken:?}");
        let all: u32 = taken.iter().map(|(_, count)| count).sum();
        assert!((20..=30).contains(&all), "{taken:?}");
        assert!(tallies.take(&tool, "x", WINDOW, Timestamp(60_000)).is_empty());
        tallies.add(&tool, "x", WINDOW, Timestamp(90_000));
        assert!(tallies.take(&tool, "x", WINDOW, Timestamp(0)).is_empty(), "the clock was set back");
    }

    #[test]
    fn of_more_origins_than_are_counted_those_go_that_are_long_past() {
        let (tallies, tool) = (Tallies::default(), "a.b".parse().unwrap());
        let add = |number: usize, at| tallies.add(&tool, &number.to_string(), WINDOW, Timestamp(at));
        let counted =
            |number: usize, at| !tallies.take(&tool, &number.to_string(), WINDOW, Timestamp(at)).is_empty();
        (0..MOST).for_each(|number| add(number, 0));
        add(MOST, 1_000);
        assert!(!counted(MOST, 1_000), "there is no room");
        add(MOST, 31_000);
        assert!(counted(MOST, 31_000) && !counted(0, 31_000));
        // Another tool has room of its own.
        let other = "a.c".parse().unwrap();
        tallies.add(&other, "x", WINDOW, Timestamp(1_000));
        assert!(!tallies.take(&other, "x", WINDOW, Timestamp(1_000)).is_empty());
    }
}
