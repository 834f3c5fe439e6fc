//! What an attempt saves for the one that follows: written down at once, and not only when the attempt ends well.

use super::staging::{OVER, Staging, Told};
use crate::model::classify::Ended;

/// The most that is saved, in bytes.
const MOST: usize = 1 << 20;

/// How often one attempt saves: each time is a write that it waits for.
const TIMES: u32 = 100;

impl Staging {
    /// Saves this for the next attempt, in the place of what was saved before.
    pub(crate) async fn save(&self, bytes: Vec<u8>) -> Told<()> {
        if !self.bounds.saves {
            return Ok(Err("only a call saves, for its own next attempt".to_owned()));
        }
        if bytes.len() > MOST {
            return Ok(Err(format!("at most {MOST} bytes are saved, and these are {}", bytes.len())));
        }
        {
            let mut inner = self.lock();
            if inner.closed {
                return Ok(Err(OVER.to_owned()));
            }
            if inner.saves == TIMES {
                return Ok(Err(format!("one attempt saves at most {TIMES} times")));
            }
            inner.saves += 1;
            if self.lease.number == 0 {
                // Where the process dies, there is no run that could have a next attempt.
                inner.latest = Some(bytes.clone());
                inner.saved = Some(bytes);
                return Ok(Ok(()));
            }
        }
        match self.store.save(self.lease, bytes.clone()).await {
            Ok(true) => {
                self.lock().latest = Some(bytes);
                Ok(Ok(()))
            }
            Ok(false) => Err(Ended::StoreFailed("another process has taken the run over".to_owned())),
            Err(failure) => Err(Ended::StoreFailed(failure.to_string())),
        }
    }
}
