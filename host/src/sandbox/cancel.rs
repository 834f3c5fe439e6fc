//! A caller's word that it wants no more of a call, and who waits for it.

use std::sync::Arc;

use tokio::sync::watch;

/// Withdraws one call. Clones are the same word; dropping them says nothing.
#[derive(Debug, Clone)]
pub struct Cancel(Arc<watch::Sender<bool>>);

impl Default for Cancel {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }
}

impl Cancel {
    /// Says it, once and for all.
    pub fn ask(&self) {
        self.0.send_replace(true);
    }

    /// Whether it was said.
    pub fn is_asked(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until it is said.
    pub async fn asked(&self) {
        // The sender is held here, so that this ends by the word alone.
        let _ = self.0.subscribe().wait_for(|asked| *asked).await;
    }
}
