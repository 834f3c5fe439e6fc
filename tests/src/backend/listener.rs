//! A listener that answers nothing and counts who came, for tests in which nobody may come.

use std::collections::HashSet;
use std::io::{self, Read};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// Bounds how long a count waits for the accepting thread, which has nothing else to do.
const ACCEPT_LIMIT: Duration = Duration::from_secs(30);

/// Listens on an address, reads what comes and answers nothing; dropping it closes every connection.
#[derive(Debug)]
pub struct Listener {
    address: SocketAddr,
    heard: Arc<Heard>,
}

#[derive(Debug, Default)]
struct Heard {
    state: Mutex<State>,
    accepted: Condvar,
}

#[derive(Debug, Default)]
struct State {
    connections: u64,
    bytes: u64,
    probes: HashSet<SocketAddr>,
    streams: Vec<TcpStream>,
    stopped: bool,
}

impl Listener {
    /// Listens; port 0 takes a free one.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub fn start_on(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let heard = Arc::new(Heard::default());
        let accepting = Arc::clone(&heard);
        std::thread::Builder::new()
            .name("listener".to_owned())
            .spawn(move || accept(&listener, &accepting))?;
        Ok(Self { address, heard })
    }

    /// The address that it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many connections came, exactly: also one that was made a moment ago is counted.
    ///
    /// # Panics
    /// If the listener cannot be reached from here.
    #[must_use]
    pub fn connections(&self) -> u64 {
        // Connections are accepted in their order, so all that came before this one are counted with it.
        let mut state = self.lock();
        let probe = TcpStream::connect(self.address).expect("the listener can be reached");
        let own = probe.local_addr().expect("a connected stream has an address");
        state.probes.insert(own);
        let waiting = |state: &mut State| state.probes.contains(&own);
        let (state, waited) = self
            .heard
            .accepted
            .wait_timeout_while(state, ACCEPT_LIMIT, waiting)
            .expect("no thread panics while it holds the state");
        assert!(!waited.timed_out(), "the listener on {} accepts nothing", self.address);
        state.connections
    }

    /// How many bytes were read so far over all connections.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.lock().bytes
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.heard.lock()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let mut state = self.lock();
        state.stopped = true;
        for stream in state.streams.drain(..) {
            // One that its client closed is shut already.
            let _ = stream.shutdown(Shutdown::Both);
        }
        drop(state);
        // Wakes the accepting thread, which then sees that it is to end.
        let _ = TcpStream::connect(self.address);
    }
}

impl Heard {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().expect("no thread panics while it holds the state")
    }
}

fn accept(listener: &TcpListener, heard: &Arc<Heard>) {
    while let Ok((stream, peer)) = listener.accept() {
        let mut state = heard.lock();
        if state.stopped {
            return;
        }
        if state.probes.remove(&peer) {
            heard.accepted.notify_all();
            continue;
        }
        state.connections += 1;
        state.streams.extend(stream.try_clone());
        let heard = Arc::clone(heard);
        std::thread::spawn(move || read(stream, &heard));
    }
}

fn read(mut stream: TcpStream, heard: &Heard) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(length) = stream.read(&mut buffer) {
        if length == 0 {
            return;
        }
        heard.lock().bytes += length as u64;
    }
}
