//! Tells a client how far its call is, where it asked for that.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext};

use crate::host::{Step, Steps};

/// How long a client is told nothing after it was told something: guests may count fast.
const PAUSE: Duration = Duration::from_millis(100);

/// Who tells.
pub(super) struct Teller {
    client: Peer<RoleServer>,
    token: ProgressToken,
}

impl Teller {
    /// For a request that asks to be told.
    pub(super) fn of(context: &RequestContext<RoleServer>) -> Option<Self> {
        let token = context.meta.get_progress_token()?;
        Some(Self { client: context.peer.clone(), token })
    }

    /// Tells each step that is further than the last, for ever: the call ends otherwise.
    pub(super) async fn tell(self, mut steps: Steps) -> std::convert::Infallible {
        let mut last = None;
        while let Some(step) = steps.next().await {
            // The protocol has it that progress only grows.
            if last.is_some_and(|last| step.done <= last) {
                continue;
            }
            last = Some(step.done);
            if self.client.notify_progress(self.word(step)).await.is_err() {
                break;
            }
            tokio::time::sleep(PAUSE).await;
        }
        std::future::pending().await
    }

    fn word(&self, step: Step) -> ProgressNotificationParam {
        let mut word = ProgressNotificationParam::new(self.token.clone(), f64::from(step.done));
        word.total = step.total.map(f64::from);
        word.message = Some(step.message).filter(|message| !message.is_empty());
        word
    }
}
