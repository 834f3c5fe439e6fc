//! What a call costs, as its guest says: entered with the call's end, whatever that is.

use super::staging::{OVER, Staging};
use crate::model::budget::{Bound, MOST_SUM};

/// How many things one attempt spends on; what is spent on the same thing is added up.
const THINGS: usize = 100;

/// How much of a thing's name is kept.
const NAME: usize = 200;

impl Staging {
    /// Adds to what the call costs.
    pub(crate) fn spend(&self, micros: u64, what: &str) -> Result<(), String> {
        let what: String = what.chars().take(NAME).collect();
        let mut inner = self.lock();
        if inner.closed {
            return Err(OVER.to_owned());
        }
        let spent = inner.spent.saturating_add(micros);
        let all = self.bounds.spent.saturating_add(spent);
        match self.bounds.cost {
            Some(Bound::Declared(most)) if all > most => {
                return Err(format!(
                    "the call would cost {all} millionths, and its tool declares {most} at most"
                ));
            }
            Some(Bound::Budget(most)) if all > most => {
                return Err(format!("the call would cost {all} millionths, and its budget is {most}"));
            }
            Some(Bound::Undeclared) if all > 0 => {
                return Err("the operator bounds what is spent, and the tool does not declare what it costs"
                    .to_owned());
            }
            Some(_) | None if all > MOST_SUM => {
                return Err(format!("a call costs {MOST_SUM} millionths at most"));
            }
            Some(_) | None => {}
        }
        if inner.costs.len() >= THINGS && !inner.costs.contains_key(&what) {
            return Err(format!("one attempt spends on at most {THINGS} things"));
        }
        inner.spent = spent;
        *inner.costs.entry(what).or_default() += micros;
        Ok(())
    }
}
