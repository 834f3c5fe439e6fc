//! Decides whether a call that failed is tried again, and waits until then with nothing held.

use std::sync::Arc;
use std::time::Duration;

use super::admit::{self, Place};
use super::attempt::Ran;
use super::breaker::{self, Closed, Permit};
use super::classify::Classified;
use super::reserve::Hold;
use super::{Parts, Turn, folders, settle};
use crate::model::classify::{Ended, classify};
use crate::model::health::NoRetry;
use crate::model::reply::Usage;
use crate::model::retry::{self, Policy, Standing, Why};
use crate::model::run::{Lease, Record};
use crate::model::staged::Staged;
use crate::sandbox::Prepared;
use crate::sandbox::logbook::Logbook;
use crate::store::{Outcome, Past, Rest, Rested as Written, StoreFailure};

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
    ran: Box<Ran>,
    place: Place,
    prepared: Prepared,
}

impl Rested {
    /// Takes it apart for the stage that follows.
    pub(super) fn into_parts(self) -> (Box<Ran>, Place, Prepared) {
        (self.ran, self.place, self.prepared)
    }
}

/// Why a call that waited is not tried again.
enum Stopped {
    Withdrawn,
    /// It may make sense after so long, and does not now; why, for the log.
    Later(Duration, &'static str),
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
    if let Err(why) = rest(parts, &mut classified, pause, true).await? {
        return match put_off(parts, &mut classified, why, pause).await? {
            true => Err(Turn::Rests(classified.ran.hold.run())),
            false => Ok(Next::End(Box::new(refused(parts, classified, why)))),
        };
    }
    if classified.ran.sitting.in_background() {
        return Err(Turn::Rests(classified.ran.hold.run()));
    }
    tell(&classified, pause);
    let ran = &mut classified.ran;
    ran.rested = true;
    // What is asked about after a pause would tell what others did meanwhile.
    ran.place = None;
    ran.log = Logbook::new(ran.valid.fresh().authorized().resolved().setting().config.limits.log);
    match wait(parts, &classified, pause).await {
        Ok((place, prepared, permit)) => {
            let mut ran = classified.ran;
            ran.permit = permit;
            Ok(Next::Again(Box::new(Rested { ran, place, prepared })))
        }
        Err(Stopped::Later(wait, why)) => {
            classified.ran.log.host(&format!("not tried again: {why}"));
            classified.verdict = classified.verdict.later(wait, false);
            Ok(Next::End(Box::new(classified)))
        }
        Err(Stopped::Withdrawn) => {
            let ran = &classified.ran;
            classified.verdict =
                classify(Ended::Withdrawn, &ran.effects).explained(&ran.effects, &ran.not_put_back);
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
    let now = parts.clock.steady();
    let since = now.saturating_sub(ran.sitting.began);
    let failed = ran.attempt.saturating_sub(ran.sitting.first) + 1;
    let standing = Standing { failed, since, asked: classified.asked_for() };
    match policy(ran).next(standing, parts.number()) {
        retry::Next::After(pause) if now + pause < ran.sitting.ends => Ok(pause),
        retry::Next::After(_) => Err(Some(Why::Late)),
        retry::Next::End(why) => Err(Some(why)),
    }
}

fn policy(ran: &Ran) -> Policy {
    let resolved = ran.valid.fresh().authorized().resolved();
    let config = &resolved.setting().config;
    let own = config.tools.get(&resolved.tool().name).and_then(|rules| rules.retries);
    let usual = if ran.sitting.in_background() { config.retries_in_background } else { config.retries };
    Policy { most: own.unwrap_or(usual.most), ..usual }
}

/// Lets a call in the background wait for a backend that is left alone by now: nobody else would. `false` where it may not.
async fn put_off(
    parts: &Arc<Parts>,
    classified: &mut Classified,
    why: NoRetry,
    pause: Duration,
) -> Result<bool, Turn> {
    let (true, NoRetry::Open(until)) = (classified.ran.sitting.in_background(), why) else {
        return Ok(false);
    };
    let until = until.map(|until| until.since(parts.clock.now())).unwrap_or(policy(&classified.ran).cap);
    let pause = pause.max(until);
    if parts.clock.steady() + pause >= classified.ran.sitting.ends {
        return Ok(false);
    }
    // It is sent once the breaker lets it through, which is no storm, so that it pays for nothing.
    Ok(rest(parts, classified, pause, false).await?.is_ok())
}

/// Writes down that the attempt is over and when the next one begins, and pays for that where it must.
async fn rest(
    parts: &Arc<Parts>,
    classified: &mut Classified,
    pause: Duration,
    pays: bool,
) -> Result<Result<(), NoRetry>, Turn> {
    let at = parts.clock.now();
    let Classified { ran, verdict, reports, .. } = classified;
    let setting = ran.valid.fresh().authorized().resolved().setting();
    let reports = if pays { ran.permit.paying(reports, &ran.met) } else { reports.clone() };
    let reports = ran.permit.bundle(reports, at);
    let rest = Rest {
        attempt: ran.attempt,
        word: settle::word(verdict, &setting.mask),
        usage: ran.usage,
        log: settle::log(&ran.log, verdict.failure(), &setting.mask),
        outcomes: ran.outcomes.clone(),
        staged: settle::lasting(ran.staged.clone(), false, true, &setting.mask),
        reports,
        holds: !ran.sitting.in_background(),
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
                    Written::Waits(Lease { run: ran.hold.run(), number: 0 })
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
            ran.staged = Staged::default();
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

/// How long from now the next attempt may still begin.
fn left(parts: &Parts, ran: &Ran) -> Duration {
    let now = parts.clock.steady();
    let since = now.saturating_sub(ran.sitting.began);
    policy(ran).within.saturating_sub(since).min(ran.sitting.ends.saturating_sub(now))
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
        let admitted = tokio::time::timeout(left(parts, &classified.ran), admit::again(parts, valid)).await;
        let Ok(Ok((place, prepared))) = admitted else {
            return Err(Stopped::Later(admit::COME_BACK, "no place became free in time"));
        };
        if left(parts, &classified.ran).is_zero() {
            return Err(Stopped::Later(admit::COME_BACK, "its next attempt would begin too late"));
        }
        match breaker::permit(parts, resolved.setting(), resolved.tool()).await {
            Ok(permit) => Ok((place, prepared, permit)),
            Err(Closed::Shut(shut)) => {
                Err(Stopped::Later(shut.wait.unwrap_or_default(), "its backend is left alone for now"))
            }
            Err(Closed::Store(failure)) => {
                tracing::error!("{failure}; {}", failure.hint());
                Err(Stopped::Later(Duration::ZERO, "the store cannot be used"))
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

/// Ends the attempt of a run in the background that died with its process, so and with these outcomes and log; the next
/// follows at once.
pub(super) async fn interrupted(
    parts: &Arc<Parts>,
    lease: Lease,
    record: &Record,
    (word, outcomes, log): (String, Vec<Outcome>, String),
) -> Result<(), StoreFailure> {
    let at = parts.clock.now();
    let rest = Rest {
        attempt: record.summary.attempts,
        word,
        usage: Usage::default(),
        log,
        outcomes,
        staged: Staged { unsaved: folders::unsaved(&record.effects), ..Staged::default() },
        reports: None,
        holds: false,
        wakes: at,
        at,
    };
    parts.store.rest(lease, rest).await?;
    parts.queued.notify_one();
    Ok(())
}
