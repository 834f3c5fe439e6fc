//! Tells a client how far its call is, where it asked for that.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext};

use crate::host::{By, Step, Steps};

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
        let mut way = Way::default();
        while let Some(step) = steps.next().await {
            let Some((done, total)) = way.further(&step) else { continue };
            let mut word = ProgressNotificationParam::new(self.token.clone(), done);
            word.total = total;
            word.message = Some(step.message).filter(|message| !message.is_empty());
            if self.client.notify_progress(word).await.is_err() {
                break;
            }
            tokio::time::sleep(PAUSE).await;
        }
        std::future::pending().await
    }
}

/// How far a call was said to be. The protocol has it that this only grows, and a guest counts anew in each attempt: a
/// line of the host counts as one step more, and what its guest does then comes on top of that.
#[derive(Debug, Default)]
struct Way {
    last: Option<f64>,
    before: f64,
}

impl Way {
    /// How much is done and of how much, where that is more than before.
    fn further(&mut self, step: &Step) -> Option<(f64, Option<f64>)> {
        let done = match step.by {
            By::Guest => self.before + f64::from(step.done),
            By::Host => self.last.map_or(0.0, |last| last + 1.0),
        };
        if self.last.is_some_and(|last| done <= last) {
            return None;
        }
        self.last = Some(done);
        let total = step.total.map(|total| self.before + f64::from(total)).filter(|total| *total >= done);
        if step.by == By::Host {
            self.before = done;
        }
        Some((done, total))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_only_grows_and_a_line_of_the_host_is_part_of_it() {
        let mut way = Way::default();
        let mut told = |by, done| way.further(&Step { by, done, total: Some(3), message: String::new() });
        assert_eq!(told(By::Guest, 1), Some((1.0, Some(3.0))));
        assert_eq!(told(By::Guest, 1), None);
        assert_eq!(told(By::Guest, 2), Some((2.0, Some(3.0))));
        assert_eq!(told(By::Host, 2), Some((3.0, Some(3.0))));
        assert_eq!(told(By::Guest, 1), Some((4.0, Some(6.0))));
        assert_eq!(told(By::Guest, 3), Some((6.0, Some(6.0))));
        assert_eq!(told(By::Host, 3), Some((7.0, None)));
    }
}
