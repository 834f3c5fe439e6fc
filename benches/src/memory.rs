//! What this process holds of memory, told by the kernel, and which part of it lies in memories of guests.

use std::fs;

/// Memory of this process, in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Held {
    /// All that is in memory, what is shared with others by their number.
    pub all: u64,
    /// What guests wrote in their linear memories.
    pub dirtied: u64,
    /// What lies on stacks that guests run on.
    pub stacks: u64,
    /// The kernel's tables for it, which are in none of the others.
    pub tables: u64,
}

/// A mapping of this process.
#[derive(Debug, Default)]
struct Mapping {
    size: u64,
    /// Whether anything may be read or written there.
    open: bool,
    pss: u64,
    dirty: u64,
}

/// What lies behind a linear memory and may not be touched is the rest of 4 GiB; nothing else keeps so much closed.
const BEHIND: u64 = 2 << 30;

/// A stack of the pool, below its guard.
const STACK: u64 = 4 << 20;

impl Held {
    /// What is held now.
    ///
    /// # Panics
    /// Where the kernel does not tell.
    pub fn now() -> Self {
        let text = fs::read_to_string("/proc/self/smaps").expect("the kernel tells of this process");
        let mut held = Self { tables: tables(), ..Self::default() };
        // What was open since the last closed mapping, in the order of addresses.
        let mut dirtied = 0;
        for mapping in read(&text) {
            held.all += mapping.pss;
            match (mapping.open, mapping.size) {
                (true, size) => {
                    dirtied += mapping.dirty;
                    held.stacks += if size == STACK { mapping.pss } else { 0 };
                }
                (false, size) => {
                    held.dirtied += if size >= BEHIND { dirtied } else { 0 };
                    dirtied = 0;
                }
            }
        }
        held
    }

    /// How much more this is than what was held before.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            all: self.all.saturating_sub(before.all),
            dirtied: self.dirtied.saturating_sub(before.dirtied),
            stacks: self.stacks.saturating_sub(before.stacks),
            tables: self.tables.saturating_sub(before.tables),
        }
    }
}

/// The mappings, in the order of their addresses.
fn read(text: &str) -> Vec<Mapping> {
    let mut mappings: Vec<Mapping> = Vec::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let (Some(first), Some(second)) = (words.next(), words.next()) else { continue };
        if let Some((start, end)) = first.split_once('-') {
            let address = |text| u64::from_str_radix(text, 16).unwrap_or(0);
            let size = address(end).saturating_sub(address(start));
            mappings.push(Mapping { size, open: !second.starts_with("---"), ..Mapping::default() });
        } else if let Some(mapping) = mappings.last_mut() {
            let bytes = second.parse().unwrap_or(0) * 1024;
            match first {
                "Pss:" => mapping.pss += bytes,
                "Private_Dirty:" => mapping.dirty += bytes,
                _ => {}
            }
        }
    }
    mappings
}

fn tables() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmPTE:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|word| word.parse::<u64>().ok()).unwrap_or(0) * 1024
}
