//! What a guest says, bounded, kept with its attempt.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The log of one attempt, shared with the streams of its guest.
#[derive(Debug, Clone)]
pub struct Logbook {
    pages: Arc<Mutex<Pages>>,
    limit: usize,
}

#[derive(Debug, Default)]
struct Pages {
    text: String,
    /// Lines that the guest has begun on its standard streams and not ended.
    begun: [Vec<u8>; 2],
    dropped: u64,
    /// Room that the host's own lines may use when the guest has filled its own.
    own: usize,
}

/// A standard stream of a guest.
#[derive(Debug, Clone, Copy)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// The host's own lines are few; this bounds them all the same.
const OWN_LINES: usize = 16 << 10;

impl Logbook {
    /// An empty log that takes this many bytes from the guest.
    pub fn new(limit: u64) -> Self {
        Self { pages: Arc::default(), limit: usize::try_from(limit).unwrap_or(usize::MAX) }
    }

    /// Writes a line of the guest's; what goes beyond the limit is counted and dropped.
    pub fn guest(&self, line: &str) {
        self.lock().add(line, self.limit);
    }

    /// Takes what the guest writes to a standard stream. A line is one of the log in however many pieces it comes: a
    /// secret that is cut in two would not be known any more.
    pub fn stream(&self, stream: Stream, bytes: &[u8]) {
        let mut pages = self.lock();
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let begun = &mut pages.begun[stream as usize];
            // Beyond this it is dropped at its end, and need not be kept until then.
            if begun.len() <= self.limit {
                begun.extend_from_slice(part);
            }
            if part.ends_with(b"\n") {
                pages.end_line(stream, self.limit);
            }
        }
    }

    /// Writes a line of the host's, whatever the guest has written. It stays one line: what a guest put into it
    /// does not speak for the host.
    pub fn host(&self, line: &str) {
        let line = line.replace('\n', "\\n");
        let mut pages = self.lock();
        if pages.own + line.len() + 7 > OWN_LINES {
            pages.dropped += 1;
            return;
        }
        let before = pages.text.len();
        let _ = writeln!(pages.text, "host: {line}");
        pages.own += pages.text.len() - before;
    }

    /// The whole, with a last line for what was dropped.
    pub fn text(&self) -> String {
        let mut pages = self.lock();
        pages.end_line(Stream::Out, self.limit);
        pages.end_line(Stream::Err, self.limit);
        let mut text = pages.text.clone();
        if pages.dropped > 0 {
            let _ = writeln!(text, "host: {} lines beyond [limits] log were dropped", pages.dropped);
        }
        text
    }

    fn lock(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pages {
    fn add(&mut self, line: &str, limit: usize) {
        let used = self.text.len() - self.own;
        if used + line.len() + 1 > limit {
            self.dropped += 1;
            return;
        }
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn end_line(&mut self, stream: Stream, limit: usize) {
        let line = std::mem::take(&mut self.begun[stream as usize]);
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end_matches(['\r', '\n']);
        if !line.is_empty() {
            let name = match stream {
                Stream::Out => "out",
                Stream::Err => "err",
            };
            self.add(&format!("{name}: {line}"), limit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_in_however_many_pieces_it_comes() {
        let log = Logbook::new(1000);
        log.stream(Stream::Out, b"to");
        log.stream(Stream::Err, b"no\n");
        log.guest("info: x");
        log.stream(Stream::Out, b"ken\r\n\nlast ");
        log.stream(Stream::Out, b"words");
        assert_eq!(log.text(), "err: no\ninfo: x\nout: token\nout: last words\n");
    }

    #[test]
    fn a_line_that_does_not_end_takes_no_more_than_the_log() {
        let log = Logbook::new(10);
        (0..1000).for_each(|_| log.stream(Stream::Err, b"12345678"));
        assert!(log.lock().begun[1].len() < 32);
        assert_eq!(log.text(), "host: 1 lines beyond [limits] log were dropped\n");
    }

    #[test]
    fn nothing_but_the_host_begins_a_line_of_the_host() {
        let log = Logbook::new(100);
        log.host("refused the secret `x\nhost: all is well`");
        assert_eq!(log.text(), "host: refused the secret `x\\nhost: all is well`\n");
    }

    #[test]
    fn a_flood_is_cut_and_counted_and_the_host_still_has_its_say() {
        let log = Logbook::new(10);
        log.guest("12345");
        log.guest("123456");
        log.guest("x");
        log.host("refused");
        assert_eq!(log.text(), "12345\nx\nhost: refused\nhost: 1 lines beyond [limits] log were dropped\n");
    }
}
