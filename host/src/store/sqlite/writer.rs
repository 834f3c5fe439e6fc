//! The one writing thread: while one group of writes is being made durable, the next one forms. Beside it a second
//! thread moves what is durable from the log into the database, so that the writer need not stand still for it.

use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use futures::FutureExt as _;
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::super::{Pending, StoreFailure};
use super::open;

/// The most writes that share a commit: more would make the first of them wait for the last.
const MOST: usize = 1024;

/// A group that finds so many writes waiting is one of many: it pauses a few times to be worth its fsync, until it is
/// this large. What is gained in a pause is more than what it costs; a group of fewer writes never pauses.
const CROWD: usize = 4;
const ENOUGH: usize = 128;
const PAUSE: Duration = Duration::from_micros(400);
const PAUSES: u32 = 4;

/// How many groups do not pause after one for which nothing came while it did: all who write wait for it already.
const LEFT_OUT: u32 = 16;

/// How long a write that nobody waits for may wait itself, for one that shares its commit: what follows an effect
/// follows within this in most tools.
const SOON: Duration = Duration::from_millis(2);

/// Changed rows after which the log is worth moving: about a quarter of what it holds before the writer moves it.
const WORTH_MOVING: u64 = 3000;

/// The way to the writing thread.
pub(super) struct Writer {
    jobs: Option<Sender<Box<dyn Job>>>,
    threads: Vec<JoinHandle<()>>,
    commits: Arc<AtomicU64>,
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Writer")
    }
}

impl Writer {
    pub(super) fn start(connection: Connection, gate: File, file: PathBuf) -> io::Result<Self> {
        let (jobs, queue) = channel();
        let commits = Arc::<AtomicU64>::default();
        let (moves, asked) = sync_channel(1);
        let moved = file.clone();
        let group = Group { connection, gate, file, moves, commits: Arc::clone(&commits) };
        let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
        let threads = vec![
            thread("store").spawn(move || group.serve(&queue))?,
            thread("store-log").spawn(move || move_log(&moved, &asked))?,
        ];
        Ok(Self { jobs: Some(jobs), threads, commits })
    }

    /// Groups made durable so far.
    pub(super) fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// Submits a write now; the future is ready once it is durable. `apply` may be run again where the group
    /// that it was in could not be committed whole.
    pub(super) fn submit<T, F>(&self, apply: F) -> Pending<T>
    where
        T: Send + 'static,
        F: FnMut(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        self.send(apply, true)
    }

    /// The same for a write that nobody waits for: others that come soon share its commit.
    pub(super) fn submit_unawaited<T, F>(&self, apply: F) -> Pending<T>
    where
        T: Send + 'static,
        F: FnMut(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        self.send(apply, false)
    }

    fn send<T, F>(&self, apply: F, awaited: bool) -> Pending<T>
    where
        T: Send + 'static,
        F: FnMut(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let job = Box::new(Op { apply, out: None, reply, awaited });
        if let Some(jobs) = &self.jobs {
            // A writer that has stopped drops the job, and with it the sender of the answer.
            let _ = jobs.send(job);
        }
        answer.map(|answer| answer.unwrap_or(Err(StoreFailure::Stopped))).boxed()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.jobs.take();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

trait Job: Send {
    fn awaited(&self) -> bool;
    fn apply(&mut self, connection: &Connection) -> rusqlite::Result<()>;
    fn finish(self: Box<Self>, end: Result<(), StoreFailure>);
}

struct Op<T, F> {
    apply: F,
    out: Option<T>,
    reply: oneshot::Sender<Result<T, StoreFailure>>,
    awaited: bool,
}

impl<T: Send, F: FnMut(&Connection) -> rusqlite::Result<T> + Send> Job for Op<T, F> {
    fn awaited(&self) -> bool {
        self.awaited
    }

    fn apply(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        self.out = Some((self.apply)(connection)?);
        Ok(())
    }

    fn finish(self: Box<Self>, end: Result<(), StoreFailure>) {
        let Self { out, reply, .. } = *self;
        // Nobody waits for a write that is only recorded.
        let _ = reply.send(end.and_then(|()| out.ok_or(StoreFailure::Stopped)));
    }
}

struct Group {
    connection: Connection,
    gate: File,
    file: PathBuf,
    moves: SyncSender<()>,
    commits: Arc<AtomicU64>,
}

impl Group {
    fn serve(self, queue: &Receiver<Box<dyn Job>>) {
        let (mut moved, mut left_out) = (0, 0);
        while let Ok(first) = queue.recv() {
            let mut jobs = vec![first];
            if jobs.iter().all(|job| !job.awaited()) {
                jobs.extend(queue.recv_timeout(SOON));
            }
            gather(&mut jobs, queue, &mut left_out);
            if !self.write(jobs, Some(queue)) {
                return;
            }
            let changed = self.connection.total_changes();
            if changed - moved > WORTH_MOVING {
                moved = changed;
                // Who is still at it comes round again.
                let _ = self.moves.try_send(());
            }
        }
    }

    /// Writes a group, and tells each of its writes how it ended; `false` where nothing more may be written.
    fn write(&self, mut jobs: Vec<Box<dyn Job>>, queue: Option<&Receiver<Box<dyn Job>>>) -> bool {
        match self.commit(&mut jobs, queue) {
            Ok(()) => jobs.into_iter().for_each(|job| job.finish(Ok(()))),
            Err(error) if jobs.len() > 1 && one_at_fault(&error) => {
                // One of them is at fault: each gets a transaction of its own, and the others lose nothing.
                return jobs.into_iter().all(|job| self.write(vec![job], None));
            }
            Err(error) => {
                let failure = self.failure(&error);
                jobs.into_iter().for_each(|job| job.finish(Err(failure.clone())));
                // After a failed fsync nobody knows what is on the disk: only a new start can tell.
                return !fatal(&error);
            }
        }
        true
    }

    fn commit(
        &self,
        jobs: &mut Vec<Box<dyn Job>>,
        queue: Option<&Receiver<Box<dyn Job>>>,
    ) -> rusqlite::Result<()> {
        // Other processes wait here instead of in SQLite's own busy loop.
        if !open::enter(&self.gate) {
            return Err(busy());
        }
        let end = self.transaction(jobs, queue);
        if end.is_err() && !self.connection.is_autocommit() {
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        let _ = self.gate.unlock();
        end
    }

    fn transaction(
        &self,
        jobs: &mut Vec<Box<dyn Job>>,
        queue: Option<&Receiver<Box<dyn Job>>>,
    ) -> rusqlite::Result<()> {
        self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let mut done = 0;
        loop {
            while let Some(job) = jobs.get_mut(done) {
                job.apply(&self.connection)?;
                done += 1;
            }
            match queue.filter(|_| done < MOST).map(Receiver::try_recv) {
                Some(Ok(job)) => jobs.push(job),
                Some(Err(_)) | None => break,
            }
        }
        self.connection.prepare_cached("COMMIT")?.execute([])?;
        self.commits.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn failure(&self, error: &rusqlite::Error) -> StoreFailure {
        StoreFailure::from_sqlite(error, &self.file)
    }
}

/// Takes what waits into the group, and of many a few more; other processes can write meanwhile. Tells how many groups are
/// to leave that out.
fn gather(jobs: &mut Vec<Box<dyn Job>>, queue: &Receiver<Box<dyn Job>>, left_out: &mut u32) {
    let mut pauses = 0;
    loop {
        let before = jobs.len();
        jobs.extend(queue.try_iter().take(MOST.saturating_sub(before)));
        if pauses > 0 && jobs.len() == before {
            *left_out = LEFT_OUT;
            return;
        }
        if pauses == PAUSES || !(CROWD..ENOUGH).contains(&jobs.len()) {
            return;
        }
        if let Some(less) = left_out.checked_sub(1) {
            *left_out = less;
            return;
        }
        pauses += 1;
        std::thread::sleep(PAUSE);
    }
}

/// What SQLite says when another holds the file for too long.
fn busy() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY), None)
}

/// Moves the log whenever that is worth it; what is left of it, and a failure, is the writer's.
fn move_log(file: &Path, asked: &Receiver<()>) {
    let mut connection = None;
    while let Ok(()) = asked.recv() {
        let mover = match connection.take() {
            Some(mover) => Ok(mover),
            None => open::mover(file),
        };
        if let Ok(mover) = mover {
            let _ = mover.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
            connection = Some(mover);
        }
    }
}

/// Whether a single write can have brought its group down, rather than the disk or another process.
fn one_at_fault(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode;
    !matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::DiskFull
                | ErrorCode::ReadOnly
                | ErrorCode::CannotOpen
                | ErrorCode::OutOfMemory
        )
    ) && !fatal(error)
}

/// Whether the disk itself failed, so that what it holds is in doubt.
fn fatal(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode;
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::SystemIoFailure | ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
    )
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn failed(code: i32) -> rusqlite::Error {
        rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None)
    }

    #[test]
    fn a_group_of_many_pauses_for_more_and_leaves_that_out_for_a_while_where_none_came() {
        let (jobs, queue) = mpsc::channel();
        let job = || {
            let (reply, _) = oneshot::channel();
            Box::new(Op { apply: |_: &Connection| Ok(()), out: None, reply, awaited: true }) as Box<dyn Job>
        };
        let mut left_out = 0;
        let group = |waiting: usize, left_out: &mut u32| {
            (0..waiting).for_each(|_| assert!(jobs.send(job()).is_ok()));
            let mut group = Vec::new();
            gather(&mut group, &queue, left_out);
            assert_eq!(group.len(), waiting);
        };
        group(CROWD - 1, &mut left_out);
        assert_eq!(left_out, 0, "few never pause");
        group(CROWD, &mut left_out);
        assert_eq!(left_out, LEFT_OUT);
        group(CROWD, &mut left_out);
        assert_eq!(left_out, LEFT_OUT - 1);
        group(ENOUGH, &mut left_out);
        assert_eq!(left_out, LEFT_OUT - 1, "enough need no more");
    }

    #[tokio::test]
    async fn nothing_is_written_after_the_disk_failed_whichever_write_met_that() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("airlock.db");
        let connection = Connection::open(&file).unwrap();
        connection.execute_batch("CREATE TABLE written (place INTEGER)").unwrap();
        let writer = Writer::start(connection, open::gate(folder.path()).unwrap(), file.clone()).unwrap();
        let insert =
            |place: i32| move |tx: &Connection| tx.execute("INSERT INTO written VALUES (?1)", [place]);
        let (go, wait) = mpsc::channel::<()>();
        let first = insert(1);
        let first = writer.submit(move |tx| {
            // Those that come meanwhile share the group; the second time there is nothing to wait for.
            let _ = wait.recv();
            first(tx)
        });
        // It brings the group down by its own fault, and meets the disk's when it is alone.
        let mut faults = [rusqlite::ffi::SQLITE_IOERR_FSYNC, rusqlite::ffi::SQLITE_CONSTRAINT].to_vec();
        let second = writer.submit(move |_| Err::<usize, _>(failed(faults.pop().unwrap_or_default())));
        let third = writer.submit(insert(3));
        drop(go);
        assert_eq!(first.await, Ok(1));
        assert!(matches!(second.await, Err(StoreFailure::Failed(..))));
        assert_eq!(third.await, Err(StoreFailure::Stopped));
        assert_eq!(writer.submit(insert(4)).await, Err(StoreFailure::Stopped));
        drop(writer);
        let database = Connection::open(&file).unwrap();
        let written: i32 =
            database.query_row("SELECT sum(place) FROM written", [], |row| row.get(0)).unwrap();
        assert_eq!(written, 1);
    }
}
