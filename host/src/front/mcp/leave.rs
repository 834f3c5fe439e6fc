//! The word by which this process is asked to end: it takes no more calls, and gives those under way a little time.

use std::io;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};

use crate::host::Cancel;

/// How long calls under way may take to their end once SIGTERM came: whoever sent it soon sends SIGKILL. What they did
/// is written down either way, and their keys give it.
const LITTLE: Duration = Duration::from_secs(5);

/// SIGTERM, as it is heard by whoever serves.
#[derive(Debug, Clone, Default)]
pub(super) struct Leave {
    /// Said when it comes.
    pub(super) asked: Cancel,
    /// Said when the little time is over.
    pub(super) over: Cancel,
}

impl Leave {
    /// Listens from now on.
    ///
    /// # Errors
    /// Where the system refuses it.
    pub(super) fn listen() -> io::Result<Self> {
        let mut signals = signal(SignalKind::terminate())?;
        let leave = Self::default();
        let told = leave.clone();
        tokio::spawn(async move {
            if signals.recv().await.is_some() {
                told.asked.ask();
                tokio::time::sleep(LITTLE).await;
                told.over.ask();
            }
        });
        Ok(leave)
    }
}
