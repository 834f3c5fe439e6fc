//! The threads that guests run on, and whose turn it is: one slice for each group in turn, and within a group for
//! each guest in turn.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use async_task::{Builder, Runnable, Task};

use super::lookout::Lookout;

/// How much lower than everything else guests are scheduled by the system.
const NICENESS: i32 = 10;

/// How often one who brings work looks whether the thread that looks for it has seen it: a microsecond, for that thread
/// may have had to make way for others.
const PATIENCE: u32 = 50;

/// Guests that share their turns: those of one caller in one plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Group(u64);

impl Group {
    /// The group of a caller's calls of one plugin.
    pub fn of(plugin: &str, caller: &str) -> Self {
        let mut hash = DefaultHasher::new();
        (plugin, caller).hash(&mut hash);
        Self(hash.finish())
    }
}

#[derive(Debug, Clone, Copy)]
struct Ticket {
    group: Group,
    number: u64,
}

/// The threads; dropping this ends them once each has finished its slice.
#[derive(Debug)]
pub struct Threads {
    shared: Arc<Shared>,
    numbers: AtomicU64,
}

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    wake: Condvar,
    /// Whether something came that the thread that looks has not seen yet.
    news: AtomicBool,
    lookout: Lookout,
}

#[derive(Debug, Default)]
struct Queue {
    /// Guests whose time is over, so that their memory comes back first.
    over: VecDeque<Runnable<Ticket>>,
    groups: HashMap<Group, VecDeque<Runnable<Ticket>>>,
    turns: VecDeque<Group>,
    /// Threads that sleep and are not called, and calls that none has followed yet.
    asleep: usize,
    called: usize,
    /// Whether a thread looks for work, which is one at most.
    looked_for: bool,
    closed: bool,
}

/// Who is told of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    /// All are at work, and come when they have done.
    Nobody,
    /// One that slept.
    Sleeper,
    /// The one that looks.
    Looker,
}

/// A guest under way; dropping this ends it at its next slice.
#[derive(Debug)]
pub struct Running<T> {
    task: Option<Task<T, Ticket>>,
    shared: Arc<Shared>,
    ticket: Ticket,
}

impl Threads {
    /// Starts one thread for each processor.
    ///
    /// # Errors
    /// Where the system refuses a thread.
    pub fn start(runtime: &tokio::runtime::Handle) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let count = std::thread::available_parallelism().map_or(2, usize::from);
        for number in 0..count {
            let shared = Arc::clone(&shared);
            let runtime = runtime.clone();
            std::thread::Builder::new().name(format!("guests-{number}")).spawn(move || {
                // Where the system refuses, guests run at the common priority.
                let _ = rustix::process::setpriority_process(None, NICENESS);
                // Timers that guests wait for belong to the threads that serve.
                let _timers = runtime.enter();
                shared.serve();
            })?;
        }
        Ok(Self { shared, numbers: AtomicU64::new(0) })
    }

    /// Runs a guest.
    pub fn run<T: Send + 'static>(
        &self,
        group: Group,
        guest: impl Future<Output = T> + Send + 'static,
    ) -> Running<T> {
        let ticket = Ticket { group, number: self.numbers.fetch_add(1, Ordering::Relaxed) };
        let shared = Arc::clone(&self.shared);
        let schedule = move |runnable: Runnable<Ticket>| shared.push(runnable);
        let (runnable, task) =
            Builder::new().propagate_panic(true).metadata(ticket).spawn(|_| guest, schedule);
        runnable.schedule();
        Running { task: Some(task), shared: Arc::clone(&self.shared), ticket }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.shared.close();
    }
}

impl<T> Running<T> {
    /// Lets the guest come to its end with nobody waiting.
    pub fn detach(mut self) {
        if let Some(task) = self.task.take() {
            task.detach();
        }
    }
}

impl<T> Drop for Running<T> {
    fn drop(&mut self) {
        if let Some(task) = self.task.take() {
            drop(task);
            self.shared.hasten(self.ticket);
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        let mut queue = self.lock();
        queue.closed = true;
        let left: Vec<_> = queue.over.drain(..).collect();
        let waiting: Vec<_> = queue.groups.drain().collect();
        queue.turns.clear();
        drop(queue);
        drop((left, waiting));
        self.wake.notify_all();
    }

    fn push(&self, runnable: Runnable<Ticket>) {
        let mut queue = self.lock();
        if queue.closed {
            drop(queue);
            return;
        }
        let group = runnable.metadata().group;
        let waiting = queue.groups.entry(group).or_default();
        waiting.push_back(runnable);
        if waiting.len() == 1 {
            queue.turns.push_back(group);
        }
        self.tell(queue);
    }

    /// Tells a thread that there is work.
    fn tell(&self, mut queue: MutexGuard<'_, Queue>) {
        let told = queue.tell();
        if told == Told::Looker {
            self.news.store(true, Ordering::Release);
        }
        drop(queue);
        match told {
            Told::Nobody => {}
            Told::Sleeper => self.wake.notify_one(),
            Told::Looker if self.heard() => {}
            Told::Looker => {
                if self.lock().call() {
                    self.wake.notify_one();
                }
            }
        }
    }

    /// Whether the thread that looks has seen that something came.
    fn heard(&self) -> bool {
        (0..PATIENCE).any(|_| {
            std::hint::spin_loop();
            !self.news.load(Ordering::Acquire)
        })
    }

    /// Moves a guest whose time is over to the front, where it waits for its turn.
    fn hasten(&self, ticket: Ticket) {
        let mut queue = self.lock();
        let Some(waiting) = queue.groups.get_mut(&ticket.group) else { return };
        let place = waiting.iter().position(|runnable| runnable.metadata().number == ticket.number);
        let Some(runnable) = place.and_then(|place| waiting.remove(place)) else { return };
        if waiting.is_empty() {
            queue.groups.remove(&ticket.group);
            queue.turns.retain(|group| *group != ticket.group);
        }
        queue.over.push_back(runnable);
        self.tell(queue);
    }

    fn serve(&self) {
        while let Some(runnable) = self.next() {
            // A guest that panics ends alone; whoever waits for it is told by its task.
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| runnable.run()));
        }
    }

    fn next(&self) -> Option<Runnable<Ticket>> {
        let mut queue = self.lock();
        let mut looked = false;
        loop {
            if queue.closed {
                return None;
            }
            if let Some(runnable) = queue.take() {
                // Of all that came while one looked, that one alone was told.
                if queue.has_more() && queue.call() {
                    drop(queue);
                    self.wake.notify_one();
                }
                return Some(runnable);
            }
            if looked || queue.looked_for {
                queue.asleep += 1;
                let sleeps = |queue: &mut Queue| queue.called == 0 && !queue.closed;
                queue = self.wake.wait_while(queue, sleeps).unwrap_or_else(PoisonError::into_inner);
                queue.called = queue.called.saturating_sub(1);
            } else {
                queue = self.look(queue);
                looked = true;
            }
        }
    }

    /// Looks for work for a short while: calls in a row need not wake a thread.
    fn look<'a>(&'a self, mut queue: MutexGuard<'a, Queue>) -> MutexGuard<'a, Queue> {
        queue.looked_for = true;
        drop(queue);
        self.lookout.look(|| self.news.swap(false, Ordering::AcqRel));
        let mut queue = self.lock();
        queue.looked_for = false;
        self.news.store(false, Ordering::Release);
        queue
    }
}

impl Queue {
    fn tell(&mut self) -> Told {
        if self.looked_for {
            Told::Looker
        } else if self.call() {
            Told::Sleeper
        } else {
            Told::Nobody
        }
    }

    /// Calls a thread that sleeps, where there is one.
    fn call(&mut self) -> bool {
        let any = self.asleep > 0;
        if any {
            self.asleep -= 1;
            self.called += 1;
        }
        any
    }

    fn has_more(&self) -> bool {
        !self.over.is_empty() || !self.turns.is_empty()
    }

    fn take(&mut self) -> Option<Runnable<Ticket>> {
        if let Some(runnable) = self.over.pop_front() {
            return Some(runnable);
        }
        let group = self.turns.pop_front()?;
        let waiting = self.groups.get_mut(&group)?;
        let runnable = waiting.pop_front();
        if waiting.is_empty() {
            self.groups.remove(&group);
        } else {
            self.turns.push_back(group);
        }
        runnable
    }
}

#[cfg(test)]
mod tests;
