//! What the disk can do: the time until a write is durable, as a log writes it.

use std::fs::{File, OpenOptions};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::time::Duration;

use airlock::model::clock::{Clock as _, SystemClock};

/// What one write makes durable.
const WRITE: usize = 4096;

/// The room that the second file has.
const ROOM: u64 = 16 << 20;

/// Two files that are written to like a log: one that grows, and one that has its room from the start.
#[derive(Debug)]
pub struct Disk {
    grows: File,
    has_room: File,
    clock: SystemClock,
}

impl Disk {
    /// Makes the files, which stay until the folder goes: to remove one is work for the disk too.
    ///
    /// # Panics
    /// Where the folder cannot be written.
    pub fn probe(folder: &Path) -> Self {
        let open = |name| {
            let mut options = OpenOptions::new();
            options
                .create(true)
                .truncate(false)
                .write(true)
                .open(folder.join(name))
                .expect("the folder can be written")
        };
        let (grows, mut has_room) = (open("grows"), open("has-room"));
        let room = vec![0x5a; WRITE];
        (0..ROOM).step_by(WRITE).for_each(|_| has_room.write_all(&room).expect("the disk has room"));
        has_room.sync_all().expect("the disk takes it");
        has_room.seek(SeekFrom::Start(0)).expect("a file has a start");
        Self { grows, has_room, clock: SystemClock::start() }
    }

    /// How long it takes until 4 KiB at the end of a file are durable.
    ///
    /// # Panics
    /// Where the disk fails.
    pub fn at_the_end(&mut self) -> Duration {
        self.grows.seek(SeekFrom::End(0)).expect("a file has an end");
        timed(&mut self.grows, &self.clock)
    }

    /// How long it takes until 4 KiB in room that the file has are durable.
    ///
    /// # Panics
    /// Where the disk fails.
    pub fn in_room(&mut self) -> Duration {
        if self.has_room.stream_position().expect("a file has a place") >= ROOM {
            self.has_room.seek(SeekFrom::Start(0)).expect("a file has a start");
        }
        timed(&mut self.has_room, &self.clock)
    }
}

fn timed(file: &mut File, clock: &SystemClock) -> Duration {
    let start = clock.steady();
    file.write_all(&[0xa5; WRITE]).expect("the disk has room");
    file.sync_data().expect("the disk takes it");
    clock.steady() - start
}
