//! Asks whether the backends that a tool may go to are asked at all; one attempt at a time tries one that failed.

use std::sync::Arc;

use super::admit::Admitted;
use super::recall::unavailable;
use super::{Parts, Setting, Turn, decide, fallback};
use crate::model::breaker::{Policy, Told};
use crate::model::classify::Ended;
use crate::model::clock::Timestamp;
use crate::model::code;
use crate::model::failure::{Failure, Kind};
use crate::model::health::{self, Budget, Met, Report, Reports};
use crate::model::id::ToolName;
use crate::model::reply::Output;
use crate::plugin::Entry;
pub(super) use crate::sandbox::gate::Closed;
use crate::sandbox::gate::{Gate, Shut};

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
    policy: Policy,
    by: u64,
    gate: Arc<Gate>,
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

/// Lets a call through that has a backend left to go to. A refusal leaves nothing behind.
pub(super) async fn pass(parts: &Arc<Parts>, admitted: Admitted) -> Result<Passed, Turn> {
    let resolved = admitted.valid().fresh().authorized().resolved();
    match permit(parts, resolved.setting(), resolved.tool()).await {
        Ok(permit) => Ok(Passed { admitted, permit }),
        Err(Closed::Store(failure)) => Err(unavailable(&failure)),
        Err(Closed::Shut(shut)) => {
            let failure = left_alone(&resolved.tool().name, &shut);
            Err(Turn::Refuse(fallback::offer(resolved, failure)))
        }
    }
}

/// The refusal of what is asked beside a call.
pub(super) fn refusal(tool: &ToolName, closed: &Closed) -> Failure {
    match closed {
        Closed::Shut(shut) => left_alone(tool, shut),
        Closed::Store(failure) => decide::refusal(failure),
    }
}

/// The refusal of a call whose backends are all left alone.
fn left_alone(tool: &ToolName, shut: &Shut) -> Failure {
    let text = match shut.wait {
        Some(_) => {
            format!("a backend that {tool} needs keeps failing, so it is left alone for now; nothing was run")
        }
        None => format!("an operator lets no call of {tool} through for now; nothing was run"),
    };
    let failure = Failure::new(Kind::Transient, code::CIRCUIT_OPEN, text);
    let mut failure = failure.after(shut.wait.unwrap_or_default());
    failure.log = Some(format!("the breaker of {tool} is open: {}", shut.origin));
    failure
}

/// Asks for the right of one attempt. Where nothing went wrong of late, that is one read; none for a tool that goes nowhere.
pub(super) async fn permit(parts: &Arc<Parts>, setting: &Setting, entry: &Entry) -> Result<Permit, Closed> {
    let (by, policy, limits) = (parts.number(), setting.config.breaker, &setting.config.limits);
    // An attempt waits for its last requests, which take no longer than it may itself.
    let keep = entry.attempt.time * 2 + limits.connect;
    let (store, clock, tool) = (Arc::clone(&parts.store), Arc::clone(&parts.clock), entry.name.clone());
    let gate = Arc::new(Gate::new(store, clock, tool.clone(), by, keep, policy.open));
    let permit = Permit { parts: Arc::clone(parts), tool, policy, by, gate };
    let owing = parts.tallies.owes(&permit.tool);
    permit.gate.ahead(&entry.grants, owing).await?;
    if owing && !permit.gate.unclear().iter().any(String::is_empty) {
        parts.tallies.owe(&permit.tool, false);
    }
    Ok(permit)
}

impl Permit {
    /// What its requests pass on their way out.
    pub(super) fn gate(&self) -> &Arc<Gate> {
        &self.gate
    }

    /// What an attempt that ended so tells of the origins that it met, as far as that need be told.
    pub(super) fn reports(&self, ended: &Ended, met: &[Met], at: Timestamp) -> Vec<Report> {
        let (tries, unclear) = (self.gate.tries(), self.gate.unclear());
        let replied = matches!(ended, Ended::Replied(_));
        let budget = if replied { Budget::Gains } else { Budget::Stays };
        let report = |origin: &str, told, budget| Report {
            origin: origin.to_owned(),
            told,
            before: Vec::new(),
            budget,
        };
        let mut list: Vec<Report> =
            met.iter().map(|here| report(&here.origin, health::told(ended, here, met), budget)).collect();
        let mut add = |origin: &String, budget| {
            if list.iter().all(|report| report.origin != *origin) {
                list.push(report(origin, Told::Nothing, budget));
            }
        };
        // The place is given back where it was of no use; what retries without a request cost comes back likewise.
        tries.iter().for_each(|origin| add(origin, Budget::Stays));
        unclear.iter().filter(|origin| origin.is_empty()).for_each(|origin| add(origin, budget));
        list.retain_mut(|report| self.is_worth_telling(report, &tries, &unclear, at));
        list
    }

    /// Whether a report changes anything; what went well and changes nothing is counted in memory.
    fn is_worth_telling(
        &self,
        report: &mut Report,
        tries: &[String],
        unclear: &[String],
        at: Timestamp,
    ) -> bool {
        let (tallies, window) = (&self.parts.tallies, self.policy.window);
        let (tries, known) = (tries.contains(&report.origin), unclear.contains(&report.origin));
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
        if payers.is_empty() {
            self.parts.tallies.owe(&self.tool, true);
        }
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

    /// Tells how something ended that was asked beside a call.
    pub(super) async fn tell<T>(&self, said: &Result<T, Ended>, met: &[Met]) {
        let (replied, at) = (Ended::Replied(Output::default()), self.parts.clock.now());
        self.hear(self.reports(said.as_ref().err().unwrap_or(&replied), met, at), at).await;
    }

    /// Tells where a look at what a call touched failed, which was asked right after it: what went well says no more than
    /// the call's own end.
    pub(super) async fn tell_ill<T>(&self, said: &Result<T, Ended>, met: &[Met]) {
        let Err(ended) = said else { return };
        let at = self.parts.clock.now();
        let mut list = self.reports(ended, met, at);
        list.retain(|report| report.told == Told::Ill);
        self.hear(list, at).await;
    }

    async fn hear(&self, list: Vec<Report>, at: Timestamp) {
        let Some(reports) = self.bundle(list, at) else { return };
        match self.parts.store.hear(reports).await {
            Ok(_) => self.told(),
            Err(failure) => {
                tracing::warn!(
                    "it is not taken note of how backends answered: {failure}; {}",
                    failure.hint()
                );
            }
        }
    }

    /// Takes note that what there was to tell is told.
    pub(super) fn told(&self) {
        self.gate.told();
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
        let given_back = self.gate.tries().iter().map(nothing).collect();
        if let Some(reports) = self.bundle(given_back, self.parts.clock.now()) {
            // Submitted now; nobody need wait for it.
            drop(self.parts.store.hear(reports));
        }
    }
}
