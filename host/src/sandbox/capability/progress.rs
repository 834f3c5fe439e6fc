//! How far a call is, as its guest tells whoever waits for it, and whether it should come to an end.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use crate::model::clock::{Clock as _, SystemClock};
use crate::model::secret::Mask;
use crate::sandbox::cancel::Cancel;

/// How much of a message is told.
const MOST: usize = 1000;

/// The share of an attempt's time that is left when a guest is asked to end: a tenth.
const LAST: u32 = 10;

/// What a guest tells of how far it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// How much is done.
    pub done: u32,
    /// Of how much, where that is known.
    pub total: Option<u32>,
    /// What was done last.
    pub message: String,
}

/// Where a guest tells how far it is. Clones are the same place.
#[derive(Debug, Clone)]
pub struct Progress {
    steps: Arc<watch::Sender<Option<Step>>>,
    mask: Option<Mask>,
}

/// What a guest tells; who is slow misses steps, and never the latest.
#[derive(Debug)]
pub struct Steps(watch::Receiver<Option<Step>>);

impl Progress {
    /// A place to tell, and the one who listens there.
    pub fn new() -> (Self, Steps) {
        let (steps, heard) = watch::channel(None);
        (Self { steps: Arc::new(steps), mask: None }, Steps(heard))
    }

    /// The same place, where these values are told to nobody.
    #[must_use]
    pub fn masked(&self, mask: &Mask) -> Self {
        Self { mask: Some(mask.clone()), ..self.clone() }
    }

    /// Tells what the host does meanwhile; how much is done stands as the guest told it last.
    pub(crate) fn say(&self, message: String) {
        let step = self.steps.borrow().clone();
        let (done, total) = step.map_or((0, None), |step| (step.done, step.total));
        self.steps.send_replace(Some(Step { done, total, message }));
    }

    pub(in crate::sandbox) fn tell(&self, done: u32, total: Option<u32>, message: &str) {
        let masked = self.mask.as_ref().and_then(|mask| mask.text(message));
        let message = masked.as_deref().unwrap_or(message).chars().take(MOST).collect();
        self.steps.send_replace(Some(Step { done, total, message }));
    }
}

impl Steps {
    /// The next step; none where no more will come.
    pub async fn next(&mut self) -> Option<Step> {
        self.0.changed().await.ok()?;
        self.0.borrow_and_update().clone()
    }
}

/// When a guest is asked to come to an end.
#[derive(Debug)]
pub(in crate::sandbox) struct Stop {
    cancel: Option<Cancel>,
    clock: SystemClock,
    time: Duration,
}

impl Stop {
    /// For an attempt that begins now and may take so long.
    pub(in crate::sandbox) fn within(time: Duration, cancel: Option<Cancel>) -> Self {
        Self { cancel, clock: SystemClock::start(), time }
    }

    pub(in crate::sandbox) fn is_asked(&self) -> bool {
        let over = || self.clock.steady() >= self.time.saturating_sub(self.time / LAST);
        self.cancel.as_ref().is_some_and(Cancel::is_asked) || over()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::model::secret::SecretValue;

    #[tokio::test]
    async fn whoever_listens_hears_the_latest_step_without_secrets_and_bounded() {
        let (place, mut steps) = Progress::new();
        let secret = SecretValue::new("correct-horse-battery-staple");
        let progress = place.masked(&Mask::of(&BTreeMap::from([("s".to_owned(), secret)])));
        progress.tell(1, None, "missed");
        progress.tell(2, Some(3), &format!("sent correct-horse-battery-staple {}", "x".repeat(5000)));
        let step = steps.next().await.unwrap();
        assert_eq!((step.done, step.total, step.message.chars().count()), (2, Some(3), MOST));
        assert!(!step.message.contains("horse"), "{}", step.message);
        drop((place, progress));
        assert_eq!(steps.next().await, None);
    }

    #[test]
    fn a_guest_is_asked_to_end_when_its_caller_says_so_and_when_its_time_is_nearly_over() {
        let cancel = Cancel::default();
        let stop = Stop::within(Duration::from_secs(3600), Some(cancel.clone()));
        assert!(!stop.is_asked());
        cancel.ask();
        assert!(stop.is_asked());
        assert!(Stop::within(Duration::ZERO, None).is_asked());
    }
}
