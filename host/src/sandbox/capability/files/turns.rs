//! Turns at changing what lies in a folder: one at a time, in this process and among all that know of them.

use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock, fstat};
use rustix::io::Errno;
use tokio::sync::{Mutex as Queue, OwnedMutexGuard};

use super::beneath::Trouble;

/// The longest wait for a turn: a change takes some milliseconds, and a crowd of them has passed by then.
const PATIENCE: Duration = Duration::from_secs(10);

/// When a folder that another process has locked is looked at again; one of each process looks.
const AGAIN: Duration = Duration::from_millis(1);

/// Who waits for which folder, in the order of coming; one for the whole host.
#[derive(Debug, Clone, Default)]
pub(crate) struct Turns(Arc<Mutex<HashMap<Folder, Weak<Queue<()>>>>>);

/// A folder, whatever path leads to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Folder {
    device: u64,
    inode: u64,
}

/// The turn at some folders. It ends when this is dropped, and with the process.
#[derive(Debug)]
pub(crate) struct Turn(Vec<Held>);

#[derive(Debug)]
struct Held {
    folder: Folder,
    // Given back before the next in the queue looks at it.
    _lock: Lock,
    _queue: OwnedMutexGuard<()>,
}

/// A lock on an open folder, which no guest holds open.
#[derive(Debug)]
struct Lock(OwnedFd);

impl Folder {
    pub(super) fn of(folder: impl AsFd) -> Result<Self, Errno> {
        let stat = fstat(folder)?;
        Ok(Self { device: stat.st_dev, inode: stat.st_ino })
    }
}

impl Turns {
    /// Waits for the turn at all of these folders, which everybody takes in the same order.
    pub(crate) async fn take(&self, folders: Vec<OwnedFd>) -> Result<Turn, Trouble> {
        self.take_within(PATIENCE, folders).await
    }

    async fn take_within(&self, patience: Duration, folders: Vec<OwnedFd>) -> Result<Turn, Trouble> {
        let mut known = Vec::new();
        for open in folders {
            known.push((Folder::of(&open)?, open));
        }
        known.sort_by_key(|(folder, _)| *folder);
        known.dedup_by_key(|(folder, _)| *folder);
        let taking = async {
            let mut held = Vec::new();
            for (folder, open) in known {
                held.push(self.take_one(folder, open).await?);
            }
            Ok(Turn(held))
        };
        let taken = tokio::time::timeout(patience, taking).await;
        taken.unwrap_or_else(|_| {
            Err(Trouble::Changed("somebody else keeps its folder locked, and nothing was done".to_owned()))
        })
    }

    async fn take_one(&self, folder: Folder, open: OwnedFd) -> Result<Held, Trouble> {
        let queue = self.queue(folder).lock_owned().await;
        loop {
            match flock(&open, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Held { folder, _lock: Lock(open), _queue: queue }),
                Err(Errno::WOULDBLOCK) => tokio::time::sleep(AGAIN).await,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    fn queue(&self, folder: Folder) -> Arc<Queue<()>> {
        let mut queues = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = queues.get(&folder).and_then(Weak::upgrade) {
            return queue;
        }
        queues.retain(|_, queue| queue.strong_count() > 0);
        let queue = Arc::new(Queue::new(()));
        queues.insert(folder, Arc::downgrade(&queue));
        queue
    }
}

impl Turn {
    /// Whether it is the turn at this folder.
    pub(super) fn is_at(&self, folder: Folder) -> bool {
        self.0.iter().any(|held| held.folder == folder)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Said, and not left to closing: a program that is just being started may still hold a copy.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(folder: &std::path::Path) -> OwnedFd {
        std::fs::File::open(folder).unwrap().into()
    }

    #[tokio::test]
    async fn a_turn_is_had_by_one_whether_of_this_process_or_of_another() {
        let folder = tempfile::tempdir().unwrap();
        // Two that do not know of each other, as in two processes.
        let (here, there) = (Turns::default(), Turns::default());
        let turn = here.take(vec![open(folder.path())]).await.unwrap();
        let waits = async |turns: &Turns| {
            let taking = turns.take(vec![open(folder.path())]);
            tokio::select! {
                biased;
                _ = taking => false,
                () = tokio::task::yield_now() => true,
            }
        };
        assert!(waits(&here).await && waits(&there).await);
        drop(turn);
        assert!(!waits(&here).await && !waits(&there).await);
    }

    #[tokio::test]
    async fn who_waits_too_long_is_told_and_has_done_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let _turn = Turns::default().take(vec![open(folder.path())]).await.unwrap();
        let told = Turns::default().take_within(Duration::ZERO, vec![open(folder.path())]).await.unwrap_err();
        let text = "somebody else keeps its folder locked, and nothing was done";
        assert_eq!(told, Trouble::Changed(text.to_owned()));
    }

    #[tokio::test]
    async fn one_folder_that_is_named_twice_is_taken_once() {
        let folder = tempfile::tempdir().unwrap();
        let turn = Turns::default().take(vec![open(folder.path()), open(folder.path())]).await.unwrap();
        assert!(turn.0.len() == 1 && turn.is_at(Folder::of(open(folder.path())).unwrap()));
    }
}
