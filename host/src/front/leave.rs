//! The word by which this process is asked to end: it takes no more calls, and gives those under way a little time. Asked
//! again, it gives them none.

use std::io;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};

use crate::host::Cancel;

/// How long calls under way may take to their end once SIGTERM came: whoever sent it soon sends SIGKILL. What they did
/// is written down either way, and their keys give it.
const LITTLE: Duration = Duration::from_secs(5);

/// SIGTERM and the like, as they are heard by whoever serves.
#[derive(Debug, Clone, Default)]
pub(super) struct Leave {
    /// Said when one comes.
    pub(super) asked: Cancel,
    /// Said when the little time is over, or another comes.
    pub(super) over: Cancel,
}

impl Leave {
    /// Listens to these from now on.
    ///
    /// # Errors
    /// Where the system refuses it.
    pub(super) fn listen(kinds: &[SignalKind]) -> io::Result<Self> {
        let leave = Self::default();
        for kind in kinds {
            let mut signals = signal(*kind)?;
            let told = leave.clone();
            tokio::spawn(async move {
                while signals.recv().await.is_some() {
                    told.hear();
                }
            });
        }
        Ok(leave)
    }

    fn hear(&self) {
        if self.asked.is_asked() {
            return self.over.ask();
        }
        self.asked.ask();
        let over = self.over.clone();
        tokio::spawn(async move {
            tokio::time::sleep(LITTLE).await;
            over.ask();
        });
    }
}
