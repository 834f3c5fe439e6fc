//! The threads that guests run on, and whose turn it is: one slice for each group in turn, and within a group for
//! each guest in turn.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use async_task::{Builder, Runnable, Task};

/// How much lower than everything else guests are scheduled by the system.
const NICENESS: i32 = 10;

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
}

#[derive(Debug, Default)]
struct Queue {
    /// Guests whose time is over, so that their memory comes back first.
    over: VecDeque<Runnable<Ticket>>,
    groups: HashMap<Group, VecDeque<Runnable<Ticket>>>,
    turns: VecDeque<Group>,
    idle: usize,
    closed: bool,
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
        let mut queue = self.shared.lock();
        queue.closed = true;
        let left: Vec<_> = queue.over.drain(..).collect();
        let waiting: Vec<_> = queue.groups.drain().collect();
        queue.turns.clear();
        drop(queue);
        drop((left, waiting));
        self.shared.wake.notify_all();
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
        let wake = queue.idle > 0;
        drop(queue);
        if wake {
            self.wake.notify_one();
        }
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
        drop(queue);
        self.wake.notify_one();
    }

    fn serve(&self) {
        while let Some(runnable) = self.next() {
            // A guest that panics ends alone; whoever waits for it is told by its task.
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| runnable.run()));
        }
    }

    fn next(&self) -> Option<Runnable<Ticket>> {
        let mut queue = self.lock();
        loop {
            if queue.closed {
                return None;
            }
            if let Some(runnable) = queue.take() {
                return Some(runnable);
            }
            queue.idle += 1;
            queue = self.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.idle -= 1;
        }
    }
}

impl Queue {
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
mod tests {
    use super::*;

    #[test]
    fn groups_take_turns_and_so_do_guests_within_them() {
        let order = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::new(Shared::default());
        let mut tasks = Vec::new();
        for (number, group) in [1, 1, 1, 2, 3, 3].into_iter().enumerate() {
            let order = Arc::clone(&order);
            let queue = Arc::clone(&shared);
            let ticket = Ticket { group: Group(group), number: number as u64 };
            let guest = async move { order.lock().unwrap().push(number) };
            let (runnable, task) =
                Builder::new().metadata(ticket).spawn(move |_| guest, move |runnable| queue.push(runnable));
            runnable.schedule();
            tasks.push(task);
        }
        while let Some(runnable) = { shared.lock().take() } {
            runnable.run();
        }
        assert_eq!(*order.lock().unwrap(), [0, 3, 4, 1, 5, 2]);
    }
}
