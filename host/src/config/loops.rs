//! Resolves `[loops]`: from when on a conversation that goes round in circles is told so, and when it is stopped.

use toml::Spanned;
use toml::de::DeValue;

use super::bounds;
use super::faults::Fault;
use super::read::{Read, Reader, tables};
use crate::model::loops::{LoopLimits, MOST_ROUNDS};

tables! {
    /// `[loops]`: what becomes of calls that go round in circles.
    Loops {
        warn: u64,
        refuse: u64,
    }
}

/// The first time is no circle, and the second may be chance.
const FIRST: u64 = 2;

/// Resolves `[loops]`. What is told is told before it is refused.
pub(super) fn loops(written: Loops, faults: &mut Vec<Fault>) -> LoopLimits {
    let usual = LoopLimits::default();
    let most = u64::try_from(MOST_ROUNDS).unwrap_or(u64::MAX);
    let mut rounds = |key: &str, written: Option<&Spanned<u64>>, usual: Option<usize>, within: (u64, u64)| {
        let path = format!("loops.{key}");
        match written.map(Spanned::get_ref) {
            None => usual,
            Some(0) => None,
            Some(_) => bounds::whole(&path, written, within, faults)
                .map_or(usual, |rounds| usize::try_from(rounds).ok()),
        }
    };
    let refuse = rounds("refuse", written.refuse.as_ref(), usual.refuse, (FIRST + 1, most));
    let before = refuse.map(|refuse| refuse - 1);
    let told = before.and_then(|before| u64::try_from(before).ok()).unwrap_or(most);
    let usual_warn = usual.warn.map(|warn| before.map_or(warn, |before| warn.min(before)));
    let warn = rounds("warn", written.warn.as_ref(), usual_warn, (FIRST, told));
    LoopLimits { warn, refuse }
}
