//! Asks whether the backends that a tool may go to are asked at all; one attempt at a time tries one that failed.

use std::sync::Arc;
use std::time::Duration;

use super::admit::Admitted;
use super::recall::unavailable;
use super::resolve::Resolved;
use super::{Parts, Turn};
use crate::model::breaker::{Answer, Policy, Told};
use crate::model::classify::Ended;
use crate::model::clock::Timestamp;
use crate::model::code;
use crate::model::failure::{Failure, Kind};
use crate::model::health::{self, Budget, Met, Report, Reports};
use crate::model::id::ToolName;
use crate::sandbox::grants::Grants;
use crate::store::{Ask, Asked, StoreFailure};

/// A call that has a place, and whose backends may be asked.
#[derive(Debug)]
pub struct Passed {
    admitted: Admitted,
    permit: Permit,
}

/// The right of one attempt to go to its backends. Where it tries one that failed, and is dropped before anything was told
/// of that, its place is given back.
#[derive(Debug)]
pub(super) struct Permit {
    parts: Arc<Parts>,
    tool: ToolName,
    grants: Arc<Grants>,
    policy: Policy,
    by: u64,
    /// Origins at which it is the one that tries.
    tries: Vec<String>,
    /// Origins where something went wrong of late, so that what goes well is told too.
    unclear: Vec<String>,
}

/// Why an attempt may not begin.
#[derive(Debug)]
pub(super) enum Closed {
    /// A backend is left alone: for so long, or until an operator says otherwise.
    Open { origin: String, wait: Option<Duration> },
    /// The store cannot be read or written.
    Store(StoreFailure),
}

impl Passed {
    /// The call.
    pub(super) fn admitted(&self) -> &Admitted {
        &self.admitted
    }

    /// Takes it apart for the stage that follows.
    pub(super) fn into_parts(self) -> (Admitted, Permit) {
        (self.admitted, self.permit)
    }
}

/// Lets a call through whose backends are not left alone. A refusal leaves nothing behind.
pub(super) async fn pass(parts: &Arc<Parts>, admitted: Admitted) -> Result<Passed, Turn> {
    let resolved = admitted.valid().fresh().authorized().resolved();
    match permit(parts, resolved).await {
        Ok(permit) => Ok(Passed { admitted, permit }),
        Err(Closed::Store(failure)) => Err(unavailable(&failure)),
        Err(Closed::Open { origin, wait }) => {
            let name = &resolved.tool().name;
            let text = match wait {
                Some(_) => format!(
                    "a backend that {name} needs keeps failing, so it is left alone for now; nothing was run"
                ),
                None => format!("an operator lets no call of {name} through for now; nothing was run"),
            };
            let mut failure =
                Failure::new(Kind::Transient, code::CIRCUIT_OPEN, text).after(wait.unwrap_or_default());
            failure.log = Some(format!("the breaker of {name} is open: {}", shown(&origin)));
            Err(Turn::Refuse(failure))
        }
    }
}

/// An origin as people read it.
pub(super) fn shown(origin: &str) -> &str {
    if origin.is_empty() { "whatever it does without requests" } else { origin }
}

/// Asks for the right of one attempt. Where nothing went wrong of late, that is one read.
pub(super) async fn permit(parts: &Arc<Parts>, resolved: &Resolved) -> Result<Permit, Closed> {
    let (entry, config) = (resolved.tool(), &resolved.setting().config);
    let known = parts.store.health(&entry.name).map_err(Closed::Store)?;
    let (by, now, open) = (parts.number(), parts.clock.now(), config.breaker.open);
    // An attempt waits for its last requests, which take no longer than it may itself.
    let until = now.plus(entry.attempt.time * 2 + config.limits.connect);
    let mut permit = Permit {
        parts: Arc::clone(parts),
        tool: entry.name.clone(),
        grants: Arc::clone(&entry.grants),
        policy: config.breaker,
        by,
        tries: Vec::new(),
        unclear: known.iter().map(|(origin, _)| origin.clone()).collect(),
    };
    let mut claims = false;
    for (origin, health) in known.into_iter().filter(|(origin, _)| entry.grants.origins.contains(origin)) {
        let mut breaker = health.breaker.clone();
        match breaker.ask(by, until, now) {
            Answer::Pass => {}
            Answer::Refuse(over) if breaker == health.breaker => {
                return Err(left_alone(origin, over, now, open));
            }
            Answer::Probe | Answer::Refuse(_) => claims = true,
        }
    }
    if claims {
        let origins = entry.grants.origins.clone();
        // Whoever is withdrawn while it asks may have been given the place all the same, and gives it back.
        permit.tries.clone_from(&origins);
        let ask = Ask { tool: entry.name.clone(), origins, by, until, at: now };
        match parts.store.ask(ask).await.map_err(Closed::Store)? {
            Asked::Passes { tries } => permit.tries = tries,
            Asked::Refused { origin, until } => {
                permit.tries.clear();
                return Err(left_alone(origin, until, now, open));
            }
        }
    }
    Ok(permit)
}

fn left_alone(origin: String, until: Option<Timestamp>, now: Timestamp, open: Duration) -> Closed {
    // Whoever tries it may be done long before its place is lost.
    Closed::Open { origin, wait: until.map(|until| until.since(now).min(open)) }
}

impl Permit {
    /// What an attempt that ended so tells of the origins that it met, as far as that need be told.
    pub(super) fn reports(&self, ended: &Ended, met: &[Met], at: Timestamp) -> Vec<Report> {
        // A tool that sends nothing has no backend that could be left alone; its retries are counted all the same.
        let alone = Met { origin: String::new(), failed: false, slowed: false };
        let met = if met.is_empty() { std::slice::from_ref(&alone) } else { met };
        let replied = health::told(ended, false) == Told::Well;
        let budget = if replied { Budget::Gains } else { Budget::Stays };
        let mut list: Vec<Report> = met
            .iter()
            .map(|met| {
                let watched = self.grants.origins.contains(&met.origin);
                let told = if watched { health::told(ended, met.failed) } else { Told::Nothing };
                Report { origin: met.origin.clone(), told, before: Vec::new(), budget }
            })
            .collect();
        let mut add = |origin: &String, budget| {
            if list.iter().all(|report| report.origin != *origin) {
                list.push(Report { origin: origin.clone(), told: Told::Nothing, before: Vec::new(), budget });
            }
        };
        // The place is given back where it was of no use; what retries without a request cost comes back likewise.
        self.tries.iter().for_each(|origin| add(origin, Budget::Stays));
        self.unclear.iter().filter(|origin| origin.is_empty()).for_each(|origin| add(origin, budget));
        list.retain_mut(|report| self.is_worth_telling(report, at));
        list
    }

    /// Whether a report changes anything; what went well and changes nothing is counted in memory.
    fn is_worth_telling(&self, report: &mut Report, at: Timestamp) -> bool {
        let (tallies, window) = (&self.parts.tallies, self.policy.window);
        let known = self.unclear.contains(&report.origin);
        let tries = self.tries.contains(&report.origin);
        match report.told {
            Told::Well if !known && !tries => {
                tallies.add(&self.tool, &report.origin, window, at);
                false
            }
            Told::Well | Told::Ill => {
                report.before = tallies.take(&self.tool, &report.origin, window, at);
                true
            }
            Told::Nothing => tries || (known && report.budget == Budget::Gains),
        }
    }

    /// The same, where another attempt follows: those origins pay for it that failed or asked to slow down, or all that
    /// it met where none did.
    pub(super) fn paying(&self, reports: &[Report], met: &[Met]) -> Vec<Report> {
        let mut list = reports.to_vec();
        let blamed = met.iter().any(|met| met.failed || met.slowed);
        let payers =
            met.iter().filter(|met| !blamed || met.failed || met.slowed).map(|met| met.origin.as_str());
        let payers: Vec<&str> = payers.collect();
        for origin in if payers.is_empty() { vec![""] } else { payers } {
            match list.iter_mut().find(|report| report.origin == origin) {
                Some(report) => report.budget = Budget::Pays,
                None => list.push(Report {
                    origin: origin.to_owned(),
                    told: Told::Nothing,
                    before: Vec::new(),
                    budget: Budget::Pays,
                }),
            }
        }
        list
    }

    /// The reports as the store takes them; none where there is nothing to tell.
    pub(super) fn bundle(&self, list: Vec<Report>, at: Timestamp) -> Option<Reports> {
        let (tool, by, policy) = (self.tool.clone(), self.by, self.policy);
        (!list.is_empty()).then_some(Reports { tool, by, policy, list, at })
    }

    /// Takes note that what there was to tell is told.
    pub(super) fn told(&mut self) {
        self.tries.clear();
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let nothing = |origin: &String| Report {
            origin: origin.clone(),
            told: Told::Nothing,
            before: Vec::new(),
            budget: Budget::Stays,
        };
        let given_back = self.tries.iter().map(nothing).collect();
        if let Some(reports) = self.bundle(given_back, self.parts.clock.now()) {
            // Submitted now; nobody need wait for it.
            drop(self.parts.store.hear(reports));
        }
    }
}
