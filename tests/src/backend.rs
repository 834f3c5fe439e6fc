//! A small real HTTP server of a support desk: the judge of what really happened.
//!
//! It runs on a thread and a runtime of its own, so that it outlives a child that is killed and answers
//! while a test blocks. What it does wrong, it does because a test asked for it ([`Backend::fault`]).

mod counts;
mod desk;
mod fault;
mod listener;
mod routes;
mod stream;
mod wire;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::oneshot;

pub use counts::{Count, Counts, Seen, Setting};
pub use fault::{Callback, Fault, Moment, Pending};
pub use listener::Listener;

/// Bounds how long a test waits for the backend; no work of a test takes nearly so long.
const WAIT_LIMIT: Duration = Duration::from_secs(60);

/// How often the backend's one thread runs all that can run, then looks for bytes, until a request that lies
/// in a socket has certainly arrived: to accept, to read, to take it up, and as often again.
const ROUNDS: usize = 6;

/// How a backend is started.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where it listens; port 0 takes a free one.
    pub address: SocketAddr,
    /// The bearer token that tickets ask for; without one, any that is not empty will do.
    pub token: Option<String>,
    /// Whether each request prints a line to standard output.
    pub log: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), token: None, log: false }
    }
}

impl Options {
    /// Starts a backend; returns once it listens. Needs no runtime.
    ///
    /// # Errors
    /// The address cannot be listened on, or the thread cannot be made.
    pub fn start(self) -> io::Result<Backend> {
        let listener = TcpListener::bind(self.address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let url = format!("http://{address}");
        let shared = Arc::new(Shared {
            token: self.token,
            log: self.log,
            state: Mutex::new(State::at(&url)),
            changed: Condvar::new(),
        });
        let (stop, stopped) = oneshot::channel();
        let serving = Arc::clone(&shared);
        let own = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let runtime = own.handle().clone();
        let thread = std::thread::Builder::new()
            .name("desk-backend".to_owned())
            .spawn(move || wire::serve_until(own, listener, serving, stopped))?;
        Ok(Backend { url, address, shared, runtime, stop: Some(stop), thread: Some(thread) })
    }
}

/// A running backend; dropping it closes every connection.
#[derive(Debug)]
pub struct Backend {
    /// Where it is reached, without a slash at the end: `http://127.0.0.1:43121`.
    pub url: String,
    /// The address that it listens on.
    pub address: SocketAddr,
    shared: Arc<Shared>,
    runtime: tokio::runtime::Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Backend {
    /// Starts one on a free port of 127.0.0.1. A test without a runtime uses [`Options::start`].
    ///
    /// # Panics
    /// If it cannot listen.
    pub async fn start() -> Self {
        Self::start_on(Options::default().address).await
    }

    /// Starts one on an address.
    ///
    /// # Panics
    /// If it cannot listen there.
    pub async fn start_on(address: SocketAddr) -> Self {
        let started = Options { address, ..Options::default() }.start();
        started.unwrap_or_else(|error| panic!("the backend cannot listen on {address}: {error}"))
    }

    /// Makes the next `times` requests to a place go wrong; several faults for one place come one after
    /// the other. A place is the beginning of a path (`/tickets`), after a method if only that one is
    /// meant (`POST /tickets`).
    pub fn fault(&self, place: &str, fault: Fault, times: u32) {
        self.shared.lock().faults.push(place, fault, times);
    }

    /// The faults that have not come yet.
    #[must_use]
    pub fn faults(&self) -> Vec<Pending> {
        self.shared.lock().faults.pending()
    }

    /// Takes back every fault that has not come yet.
    pub fn clear_faults(&self) {
        self.shared.lock().faults.clear();
    }

    /// What happened since the start or the last reset, exactly.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.shared.lock().counts()
    }

    /// Forgets what happened: counts, requests, tickets, mails and settings; faults stay.
    pub fn reset(&self) {
        self.shared.lock().reset();
    }

    /// The requests that arrived whole, in order: the first [`Seen::KEPT`] of them.
    #[must_use]
    pub fn requests(&self) -> Vec<Seen> {
        self.shared.lock().seen.clone()
    }

    /// Waits until the counts are as a test wants them, and returns them.
    ///
    /// # Panics
    /// If that takes more than a minute.
    pub fn wait_until(&self, wanted: impl Fn(&Counts) -> bool) -> Counts {
        self.wait_while(|state| !wanted(&state.counts())).counts()
    }

    /// The connections that are open at this moment.
    #[must_use]
    pub fn open_connections(&self) -> u64 {
        self.shared.lock().open
    }

    /// Waits until so many connections are open.
    ///
    /// # Panics
    /// If that takes more than a minute.
    pub fn wait_open(&self, connections: u64) {
        drop(self.wait_while(|state| state.open != connections));
    }

    /// Waits until every request that was sent has been worked on; one that will never be answered is not
    /// work.
    ///
    /// The desk finishes what it began even where its client is gone, as real ones do: after a client was
    /// killed and waited for, counts are final once this returns. Blocks; not for a [`Fault::call`].
    ///
    /// # Panics
    /// If that takes more than a minute.
    pub fn wait_idle(&self) {
        let (tell, told) = mpsc::channel();
        self.runtime.spawn(async move {
            for _ in 0..ROUNDS {
                tokio::task::yield_now().await;
            }
            // The one who waits may have given up.
            let _ = tell.send(());
        });
        let sent = told.recv_timeout(WAIT_LIMIT);
        assert!(sent.is_ok(), "the backend's thread does not come round");
        drop(self.wait_while(|state| state.working > 0));
    }

    fn wait_while(&self, unwanted: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        let (state, waited) = self
            .shared
            .changed
            .wait_timeout_while(self.shared.lock(), WAIT_LIMIT, |state| unwanted(state))
            .expect("no thread panics while it holds the state");
        assert!(!waited.timed_out(), "after {WAIT_LIMIT:?} this is all: {:?}", state.tally);
        state
    }
}

impl Drop for Backend {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic there was printed when it happened.
            let _ = thread.join();
        }
    }
}

/// What the handle, the connections and the routes share.
#[derive(Debug)]
struct Shared {
    token: Option<String>,
    log: bool,
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no thread panics while it holds the state")
    }
}

/// Everything that changes, under one lock: a piece of work is done and counted at once.
#[derive(Debug)]
struct State {
    desk: desk::Desk,
    tally: counts::Tally,
    faults: fault::Faults,
    seen: Vec<Seen>,
    working: usize,
    open: u64,
}

impl State {
    fn at(url: &str) -> Self {
        Self {
            desk: desk::Desk::at(url),
            tally: counts::Tally::default(),
            faults: fault::Faults::default(),
            seen: Vec::new(),
            working: 0,
            open: 0,
        }
    }

    fn counts(&self) -> Counts {
        Counts {
            connections: self.tally.connections,
            routes: self.tally.routes.clone(),
            keys: self.tally.keys.clone(),
            tickets: self.desk.tickets(),
            mails: self.desk.mails().to_vec(),
            settings: self.desk.settings().clone(),
        }
    }

    fn reset(&mut self) {
        self.desk.clear();
        self.tally = counts::Tally::default();
        self.seen.clear();
    }
}
