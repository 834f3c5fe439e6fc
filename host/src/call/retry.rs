//! Decides whether a call that failed is tried again, and waits until then with nothing held.

use std::sync::Arc;
use std::time::Duration;

use super::admit::{self, Place};
use super::attempt::Ran;
use super::breaker::{self, Closed, Permit};
use super::classify::Classified;
use super::reserve::Hold;
use super::{Parts, Turn, settle};
use crate::model::classify::{Ended, classify};
use crate::model::health::NoRetry;
use crate::model::retry::{self, Policy, Standing, Why};
use crate::sandbox::Prepared;
use crate::store::{Past, Rest, Rested as Written};

/// Where a call that was judged leads.
#[derive(Debug)]
pub enum Next {
    /// To another attempt.
    Again(Box<Rested>),
    /// To its end.
    End(Box<Classified>),
}

/// A call that failed, waited, and may begin another attempt.
#[derive(Debug)]
pub struct Rested {
    ran: Ran,
    place: Place,
    prepared: Prepared,
}

impl Rested {
    /// Takes it apart for the stage that follows.
    pub(super) fn into_parts(self) -> (Ran, Place, Prepared) {
        (self.ran, self.place, self.prepared)
    }
}

/// Why a call that waited is not tried again.
enum Stopped {
    Withdrawn,
    /// No place, or a backend that is left alone: for so long.
    Later(Duration),
}

/// Decides, writes down that the attempt is over, and waits. When there is no further attempt, the last verdict stands.
pub(super) async fn retry(parts: &Arc<Parts>, mut classified: Classified) -> Result<Next, Turn> {
    let pause = match pause(parts, &classified) {
        Ok(pause) => pause,
        Err(why) => {
            let asked = classified.asked_for();
            classified.verdict = classified.verdict.later(asked, why == Some(Why::Asked));
            return Ok(Next::End(Box::new(classified)));
        }
    };
    if let Err(why) = rest(parts, &mut classified, pause).await? {
        return Ok(Next::End(Box::new(refused(parts, classified, why))));
    }
    tell(&classified, pause);
    classified.ran.rested = true;
    match wait(parts, &classified, pause).await {
        Ok((place, prepared, permit)) => {
            let ran = Ran { permit, ..classified.ran };
            Ok(Next::Again(Box::new(Rested { ran, place, prepared })))
        }
        Err(Stopped::Later(wait)) => {
            classified.verdict = classified.verdict.later(wait, false);
            Ok(Next::End(Box::new(classified)))
        }
        Err(Stopped::Withdrawn) => {
            classified.verdict = classify(Ended::Withdrawn, &classified.ran.effects);
            Ok(Next::End(Box::new(classified)))
        }
    }
}

/// How long to wait before another attempt; or why there is none, where there might have been one.
fn pause(parts: &Parts, classified: &Classified) -> Result<Duration, Option<Why>> {
    let ran = &classified.ran;
    let resolved = ran.valid.fresh().authorized().resolved();
    if !classified.again || resolved.cancel().is_some_and(super::Cancel::is_asked) {
        return Err(None);
    }
    let since = parts.clock.steady().saturating_sub(ran.sitting.began);
    let failed = ran.attempt.saturating_sub(ran.sitting.first) + 1;
    let standing = Standing { failed, since, asked: classified.asked_for() };
    match policy(ran).next(standing, parts.number()) {
        retry::Next::After(pause) if since + pause < resolved.setting().config.limits.run => Ok(pause),
        retry::Next::After(_) => Err(Some(Why::Late)),
        retry::Next::End(why) => Err(Some(why)),
    }
}

fn policy(ran: &Ran) -> Policy {
    let resolved = ran.valid.fresh().authorized().resolved();
    let config = &resolved.setting().config;
    let own = config.tools.get(&resolved.tool().name).and_then(|rules| rules.retries);
    Policy { most: own.unwrap_or(config.retries.most), ..config.retries }
}

/// Writes down that the attempt is over and when the next one begins, and pays for that.
async fn rest(
    parts: &Arc<Parts>,
    classified: &mut Classified,
    pause: Duration,
) -> Result<Result<(), NoRetry>, Turn> {
    let at = parts.clock.now();
    let Classified { ran, verdict, reports, .. } = classified;
    let setting = ran.valid.fresh().authorized().resolved().setting();
    let reports = ran.permit.bundle(ran.permit.paying(reports, &ran.met), at);
    let rest = Rest {
        attempt: ran.attempt,
        word: settle::word(verdict, &setting.mask),
        usage: ran.usage,
        log: settle::log(&ran.log, verdict.failure(), &setting.mask),
        outcomes: ran.outcomes.clone(),
        staged: settle::lasting(ran.staged.clone(), false, true, &setting.mask),
        reports,
        wakes: at.plus(pause),
        at,
    };
    let written = match &ran.hold {
        Hold::Leased(lease) => parts.store.rest(*lease, rest).await,
        Hold::Unwritten(_) => {
            let paid = match rest.reports.clone() {
                Some(reports) => parts.store.hear(reports).await,
                None => Ok(Ok(())),
            };
            paid.map(|paid| match paid {
                Err(why) => Written::Refused(why),
                Ok(()) => {
                    ran.sitting.past.push(Past { rest: Rest { reports: None, ..rest }, next: None });
                    Written::Waits(crate::model::run::Lease { run: ran.hold.run(), number: 0 })
                }
            })
        }
    };
    match written {
        Ok(Written::Waits(lease)) => {
            if let Hold::Leased(held) = &mut ran.hold {
                *held = lease;
            }
            // What is written is not written again by the end, if that comes first.
            ran.permit.told();
            ran.outcomes.clear();
            ran.staged = crate::model::staged::Staged::default();
            classified.reports.clear();
            Ok(Ok(()))
        }
        Ok(Written::Refused(why)) => Ok(Err(why)),
        Ok(Written::Lost) => Err(settle::lost(parts, ran.hold.run())),
        Err(failure) => Err(settle::unwritten(ran, &failure)),
    }
}

/// The end of a call for whose retry there is nothing left, or whose failure opened the breaker.
fn refused(parts: &Parts, mut classified: Classified, why: NoRetry) -> Classified {
    let asked = classified.asked_for();
    let (line, wait) = match why {
        NoRetry::Spent => ("not tried again: its retries are spent, and come back as calls succeed", asked),
        NoRetry::Open(until) => {
            let wait = until.map(|until| until.since(parts.clock.now())).unwrap_or_default();
            ("not tried again: the backend is left alone for now", wait.max(asked))
        }
    };
    classified.ran.log.host(line);
    classified.verdict = classified.verdict.later(wait, false);
    classified
}

fn tell(classified: &Classified, pause: Duration) {
    let ran = &classified.ran;
    let resolved = ran.valid.fresh().authorized().resolved();
    if let Some(progress) = resolved.progress() {
        let (next, all) = (ran.attempt + 1, ran.sitting.first.saturating_add(policy(ran).most));
        progress.say(format!("attempt {next} of {all} in {} ms", pause.as_millis()));
    }
}

/// Waits with nothing held, and then for a place and for the backends.
async fn wait(
    parts: &Arc<Parts>,
    classified: &Classified,
    pause: Duration,
) -> Result<(Place, Prepared, Permit), Stopped> {
    let valid = &classified.ran.valid;
    let resolved = valid.fresh().authorized().resolved();
    let waited = async {
        tokio::time::sleep(pause).await;
        let full = |_| Stopped::Later(admit::COME_BACK);
        let (place, prepared) = admit::again(parts, valid).await.map_err(full)?;
        match breaker::permit(parts, resolved).await {
            Ok(permit) => Ok((place, prepared, permit)),
            Err(Closed::Open { wait, .. }) => Err(Stopped::Later(wait.unwrap_or_default())),
            Err(Closed::Store(failure)) => {
                tracing::error!("{failure}; {}", failure.hint());
                Err(Stopped::Later(Duration::ZERO))
            }
        }
    };
    match resolved.cancel() {
        None => waited.await,
        Some(cancel) => tokio::select! {
            biased;
            () = cancel.asked() => Err(Stopped::Withdrawn),
            waited = waited => waited,
        },
    }
}
