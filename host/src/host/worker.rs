//! The worker: drives calls in the background, of whichever process they were left to it.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use super::{Host, UnderWay};
use crate::call::{Cancel, Parts, decide, drive, probe, recover};
use crate::model::failure::Failure;
use crate::store::StoreFailure;

/// How often the store is looked at for what other processes left to the background.
const POLL: Duration = Duration::from_secs(1);

/// How often plugins are asked what became of calls of which nobody knows.
const PROBE: Duration = Duration::from_secs(60);

/// A worker, until this is dropped: it takes nothing more then, and what it is at goes on.
#[derive(Debug)]
pub struct Worker {
    stop: Cancel,
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.stop.ask();
    }
}

impl Host {
    /// Drives calls in the background from now on, those that other processes left to it among them.
    ///
    /// # Errors
    /// Where the state folder cannot be written.
    pub fn work(&self) -> Result<Worker, Failure> {
        self.parts.store.work().map_err(|failure| decide::refusal(&failure))?;
        let worker = Worker { stop: Cancel::default() };
        tokio::spawn(work(Arc::clone(&self.parts), worker.stop.clone()));
        tokio::spawn(ask_plugins(Arc::clone(&self.parts), worker.stop.clone()));
        Ok(worker)
    }

    /// Whether any process drives calls in the background.
    pub fn is_worked(&self) -> bool {
        self.parts.store.is_worked()
    }

    /// Drives what is due in the background, as a worker does by itself, and gives how many that were.
    ///
    /// # Errors
    /// Where the store cannot be used.
    pub async fn drive_due(&self) -> Result<u32, Failure> {
        self.load().await;
        let now = self.parts.clock.now();
        let due = self.parts.store.due(now, now, places(&self.parts));
        let due = due.map_err(|failure| decide::refusal(&failure))?;
        let mut driven = 0;
        for (run, _) in due {
            // Whoever asks drops nothing of it by going away.
            let parts = Arc::clone(&self.parts);
            let call = UnderWay::new(async move { drive::drive(&parts, run).await });
            call.await.map_err(|failure| decide::refusal(&failure))?;
            driven += 1;
        }
        Ok(driven)
    }
}

/// How many runs are driven at once: there are always places for calls that somebody waits for.
fn places(parts: &Parts) -> u32 {
    (parts.setting().config.limits.at_once / 2).max(1)
}

/// Drives what is due until it is told to stop.
async fn work(parts: Arc<Parts>, stop: Cancel) {
    let mut driving: JoinSet<Result<(), StoreFailure>> = JoinSet::new();
    loop {
        let queued = parts.queued.notified();
        let pause = match begin(&parts, &mut driving).await {
            Ok(pause) => pause,
            Err(failure) => {
                tracing::warn!("calls in the background are not driven: {failure}; {}", failure.hint());
                POLL
            }
        };
        tokio::select! {
            biased;
            () = stop.asked() => break,
            Some(driven) = driving.join_next() => {
                told(driven);
                while let Some(driven) = driving.try_join_next() {
                    told(driven);
                }
            }
            () = queued => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
    driving.detach_all();
}

/// Begins what is due and not begun yet, and gives how long nothing more will be.
async fn begin(
    parts: &Arc<Parts>,
    driving: &mut JoinSet<Result<(), StoreFailure>>,
) -> Result<Duration, StoreFailure> {
    recover::close_all(parts).await?;
    let places = places(parts);
    let free = places.saturating_sub(u32::try_from(driving.len()).unwrap_or(u32::MAX));
    if free == 0 {
        return Ok(POLL);
    }
    let now = parts.clock.now();
    // Those that this process is at and has not taken yet are still there.
    let soon = parts.store.due(now, now.plus(POLL), places)?;
    let (mut free, mut pause) = (free, POLL);
    for (run, wakes) in soon {
        if wakes > now {
            pause = pause.min(wakes.since(now));
        } else if free > 0 && !parts.drives(run) {
            free -= 1;
            let parts = Arc::clone(parts);
            driving.spawn(async move {
                let driven = drive::drive(&parts, run).await;
                if driven.is_err() {
                    // It is still due: a store that fails is not asked again at once.
                    tokio::time::sleep(POLL).await;
                }
                driven
            });
        }
    }
    Ok(pause)
}

fn told(driven: Result<Result<(), StoreFailure>, tokio::task::JoinError>) {
    match driven {
        Ok(Ok(())) => {}
        Ok(Err(failure)) => {
            tracing::warn!("a call in the background waits on: {failure}; {}", failure.hint());
        }
        Err(error) => tracing::error!("a call in the background failed inside the host: {error}"),
    }
}

/// Asks plugins what became of calls of which nobody knows, until it is told to stop.
async fn ask_plugins(parts: Arc<Parts>, stop: Cancel) {
    loop {
        if let Err(failure) = probe::settle_all(&parts).await {
            tracing::warn!("nobody is asked what became of calls: {failure}; {}", failure.hint());
        }
        tokio::select! {
            () = stop.asked() => return,
            () = tokio::time::sleep(PROBE) => {}
        }
    }
}
