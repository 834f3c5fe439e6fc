//! Processor time by the names of threads, as the system counts it.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use crate::samples::micros;

/// What the threads of this process had used when it was made.
#[derive(Debug)]
pub struct Meter(BTreeMap<String, (String, u64)>);

/// What was used since, by the name of the thread without its number.
#[derive(Debug, Clone, Default)]
pub struct Used(BTreeMap<String, Duration>);

impl Meter {
    /// Begins to count.
    pub fn start() -> Self {
        Self(threads())
    }

    /// What was used since; a thread that ended meanwhile is not counted.
    pub fn used(&self) -> Used {
        let mut used = BTreeMap::new();
        for (thread, (name, nanoseconds)) in threads() {
            let before = self.0.get(&thread).map_or(0, |(_, before)| *before);
            let kind = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-').to_owned();
            *used.entry(kind).or_default() += Duration::from_nanos(nanoseconds.saturating_sub(before));
        }
        Used(used)
    }
}

impl Used {
    /// By threads of this name, for each of so many.
    pub fn by(&self, name: &str, each_of: usize) -> Duration {
        self.0.get(name).copied().unwrap_or_default() / u32::try_from(each_of).unwrap_or(u32::MAX).max(1)
    }

    /// By each kind of thread, for each of so many, in words.
    pub fn told(&self, each_of: usize) -> String {
        let told = |name: &String| format!("{name} {:.1}", micros(self.by(name, each_of)));
        self.0.keys().map(told).collect::<Vec<_>>().join(", ")
    }

    /// By all threads, for each of so many.
    pub fn each(&self, of: usize) -> Duration {
        self.0.values().sum::<Duration>() / u32::try_from(of).unwrap_or(u32::MAX).max(1)
    }
}

fn threads() -> BTreeMap<String, (String, u64)> {
    let mut threads = BTreeMap::new();
    for entry in fs::read_dir("/proc/self/task").into_iter().flatten().filter_map(Result::ok) {
        let read = |file: &str| fs::read_to_string(entry.path().join(file)).unwrap_or_default();
        let ran = read("schedstat").split(' ').next().and_then(|ran| ran.parse().ok()).unwrap_or(0);
        threads
            .insert(entry.file_name().to_string_lossy().into_owned(), (read("comm").trim().to_owned(), ran));
    }
    threads
}
