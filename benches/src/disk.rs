//! What the disk can do: the time until a write is durable, as a log writes it.

use std::fs::{File, OpenOptions};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::time::Duration;

use airlock::model::clock::{Clock as _, SystemClock};

use crate::samples::Samples;

/// How a log grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Log {
    /// Each write makes the file longer.
    Grows,
    /// Each write lies in room that the file has.
    HasRoom,
}

/// The times until `count` writes of `size` bytes were durable, one after the other.
///
/// # Panics
/// Where the folder cannot be written.
pub fn syncs(folder: &Path, log: Log, size: usize, count: usize) -> Samples {
    let path = folder.join("sync-probe");
    let mut file = open(&path);
    let bytes = vec![0x5a; size];
    if log == Log::HasRoom {
        (0..count).for_each(|_| file.write_all(&bytes).expect("the disk has room"));
        file.sync_all().expect("the disk takes it");
        file.seek(SeekFrom::Start(0)).expect("a file has a start");
    }
    let clock = SystemClock::start();
    let mut times: Vec<Duration> = Vec::with_capacity(count);
    for _ in 0..count {
        let start = clock.steady();
        file.write_all(&bytes).expect("the disk has room");
        file.sync_data().expect("the disk takes it");
        times.push(clock.steady() - start);
    }
    drop(file);
    std::fs::remove_file(&path).expect("the file was just made");
    Samples::of(times)
}

fn open(path: &Path) -> File {
    OpenOptions::new().create(true).truncate(true).write(true).open(path).expect("the folder can be written")
}
