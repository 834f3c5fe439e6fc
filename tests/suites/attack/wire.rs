//! A server of bare bytes, for answers that no honest server gives.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Answers each connection with bytes of the test's choosing, as often as the other side takes them.
pub(super) struct Wire {
    pub(super) address: SocketAddr,
    written: Arc<AtomicU64>,
}

impl Wire {
    /// `first` once, then `again` until the other side has gone; nothing more where that is empty.
    pub(super) fn start(first: impl Into<Vec<u8>>, again: impl Into<Vec<u8>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let written = Arc::new(AtomicU64::new(0));
        let (counted, first, again) = (Arc::clone(&written), first.into(), again.into());
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (counted, first, again) = (Arc::clone(&counted), first.clone(), again.clone());
                std::thread::spawn(move || answer(stream, &counted, &first, &again));
            }
        });
        Self { address, written }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Bytes that were given to the other side so far.
    pub(super) fn written(&self) -> u64 {
        self.written.load(Ordering::SeqCst)
    }
}

fn answer(mut stream: TcpStream, counted: &AtomicU64, first: &[u8], again: &[u8]) {
    // The request fits into one buffer and is of no interest.
    let _ = stream.read(&mut [0; 16 * 1024]);
    let mut give = |bytes: &[u8]| {
        let given = stream.write_all(bytes).is_ok();
        counted.fetch_add(bytes.len() as u64, Ordering::SeqCst);
        given
    };
    let mut going = give(first);
    while going && !again.is_empty() {
        going = give(again);
    }
}
