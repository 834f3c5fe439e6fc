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

/// Who tells how far a call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// Its guest, which counts anew in each attempt.
    Guest,
    /// The host, between two attempts.
    Host,
}

/// How far a call is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Who tells.
    pub by: By,
    /// How much is done.
    pub done: u32,
    /// Of how much, where that is known.
    pub total: Option<u32>,
    /// What was done last.
    pub message: String,
}

/// Where it is told how far a call is. Clones are the same place.
#[derive(Debug, Clone)]
pub struct Progress {
    told: Arc<watch::Sender<Told>>,
    mask: Option<Mask>,
}

/// What was told last, by each with its number among all that was told.
#[derive(Debug, Default)]
struct Told {
    number: u64,
    guest: Option<(u64, Step)>,
    host: Option<(u64, Step)>,
}

/// How far a call is; who is slow misses steps, and never the latest of the guest nor the latest of the host.
#[derive(Debug)]
pub struct Steps {
    told: watch::Receiver<Told>,
    /// The numbers of what was heard last from guest and host.
    heard: (u64, u64),
}

impl Told {
    fn add(&mut self, step: Step) {
        self.number += 1;
        match step.by {
            By::Guest => self.guest = Some((self.number, step)),
            By::Host => self.host = Some((self.number, step)),
        }
    }
}

impl Progress {
    /// A place to tell, and the one who listens there.
    pub fn new() -> (Self, Steps) {
        let (told, heard) = watch::channel(Told::default());
        (Self { told: Arc::new(told), mask: None }, Steps { told: heard, heard: (0, 0) })
    }

    /// The same place, where these values are told to nobody.
    #[must_use]
    pub fn masked(&self, mask: &Mask) -> Self {
        Self { mask: Some(mask.clone()), ..self.clone() }
    }

    /// Tells what the host does meanwhile; how much is done stands as the guest told it last.
    pub(crate) fn say(&self, message: String) {
        self.told.send_modify(|told| {
            let (done, total) = told.guest.as_ref().map_or((0, None), |(_, step)| (step.done, step.total));
            told.add(Step { by: By::Host, done, total, message });
        });
    }

    pub(in crate::sandbox) fn tell(&self, done: u32, total: Option<u32>, message: &str) {
        let masked = self.mask.as_ref().and_then(|mask| mask.text(message));
        let message = masked.as_deref().unwrap_or(message).chars().take(MOST).collect();
        self.told.send_modify(|told| told.add(Step { by: By::Guest, done, total, message }));
    }
}

impl Steps {
    /// The next step; none where no more will come.
    pub async fn next(&mut self) -> Option<Step> {
        loop {
            if let Some(step) = self.unheard() {
                return Some(step);
            }
            self.told.changed().await.ok()?;
        }
    }

    /// What is told and was not heard, in its order.
    fn unheard(&mut self) -> Option<Step> {
        let told = self.told.borrow_and_update();
        let guest = told.guest.as_ref().filter(|(number, _)| *number > self.heard.0);
        let host = told.host.as_ref().filter(|(number, _)| *number > self.heard.1);
        let (number, step) = guest.into_iter().chain(host).min_by_key(|(number, _)| *number)?;
        match step.by {
            By::Guest => self.heard.0 = *number,
            By::Host => self.heard.1 = *number,
        }
        Some(step.clone())
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

    #[tokio::test]
    async fn what_the_host_says_and_what_the_guest_tells_are_both_heard_and_in_their_order() {
        let (progress, mut steps) = Progress::new();
        progress.tell(1, Some(9), "missed");
        progress.tell(2, Some(9), "before");
        progress.say("another attempt".to_owned());
        progress.tell(1, Some(9), "after");
        drop(progress);
        let mut heard = Vec::new();
        while let Some(Step { by, done, total, message }) = steps.next().await {
            heard.push((by, done, total, message));
        }
        // The guest's later step takes the place of its earlier one, and never that of the host's.
        let host = (By::Host, 2, Some(9), "another attempt".to_owned());
        assert_eq!(heard, [host, (By::Guest, 1, Some(9), "after".to_owned())]);
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
