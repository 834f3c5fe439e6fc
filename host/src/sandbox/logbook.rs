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
    dropped: u64,
    /// Room that the host's own lines may use when the guest has filled its own.
    own: usize,
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
        let mut pages = self.lock();
        let used = pages.text.len() - pages.own;
        if used + line.len() + 1 > self.limit {
            pages.dropped += 1;
            return;
        }
        pages.text.push_str(line);
        pages.text.push('\n');
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
        let pages = self.lock();
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

#[cfg(test)]
mod tests {
    use super::*;

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
