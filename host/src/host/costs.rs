//! What calls cost, and what is left of budgets today.

use std::time::Duration;

use serde::Serialize;

use super::Host;
use crate::call::decide;
use crate::model::amount::Currency;
use crate::model::budget::{Allowance, Budget, Day, Sums};
use crate::model::clock::Timestamp;
use crate::model::costs::{By, Costs};
use crate::model::failure::Failure;
use crate::model::id::RunId;

/// What calls cost, and how budgets stand.
#[derive(Debug, Clone)]
pub struct Spent {
    /// Those that began since.
    pub since: Timestamp,
    /// What they cost.
    pub costs: Costs,
    /// The currency of all amounts, where one is named.
    pub currency: Option<Currency>,
    /// The budgets of today, the widest first.
    pub budgets: Vec<Standing>,
    /// When they begin anew.
    pub until: Timestamp,
}

/// How one budget stands today.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Standing {
    /// Whose it is, in words.
    pub budget: String,
    /// What may be spent in a day, in millionths.
    pub limit_micros: u64,
    /// What is spent and held of it.
    #[serde(flatten)]
    pub sums: Sums,
    /// What is left, in millionths.
    pub left_micros: u64,
}

impl Host {
    /// What the calls cost that began no longer ago than this, summed up so, and how the budgets of today stand.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn costs(&self, since: Duration, by: Option<By>) -> Result<Spent, Failure> {
        let (now, store) = (self.parts.clock.now(), &self.parts.store);
        let since = Timestamp(now.minus(since).0.max(0));
        let from = RunId::new(since, [0; 10]);
        let costs = store.costs(from, by).map_err(|failure| decide::refusal(&failure))?;
        let today = Day::of(now);
        let sums = store.budgets(today).map_err(|failure| decide::refusal(&failure))?;
        let currency = self.parts.setting().config.budgets.currency.clone();
        Ok(Spent { since, costs, currency, budgets: self.standings(sums), until: today.ends() })
    }

    /// Every budget that is bounded: those that the configuration names, and those of users who spent something.
    fn standings(&self, sums: Vec<(Budget, Sums)>) -> Vec<Standing> {
        let setting = self.parts.setting();
        let config = &setting.config;
        let mut bounded: Vec<(Budget, u64)> = Vec::new();
        let mut add = |budget: Budget, allowance: Allowance| {
            bounded.extend(allowance.day.map(|limit| (budget, limit)));
        };
        add(Budget::All, config.budgets.all);
        for (name, caller) in &config.callers {
            add(Budget::Caller(name.clone()), caller.budgets.own);
            for (user, allowance) in &caller.budgets.users {
                add(Budget::User(name.clone(), user.clone()), *allowance);
            }
        }
        for (budget, _) in &sums {
            let Budget::User(caller, user) = budget else { continue };
            let caller = config.callers.get(caller).map(|caller| &caller.budgets);
            if let Some(of) = caller.filter(|of| !of.users.contains_key(user)) {
                add(budget.clone(), of.others);
            }
        }
        bounded.sort();
        let standing = |(budget, limit): (Budget, u64)| {
            let known = sums.iter().find(|(one, _)| *one == budget);
            let sums = known.map(|(_, sums)| *sums).unwrap_or_default();
            Standing { budget: budget.to_string(), limit_micros: limit, sums, left_micros: sums.left(limit) }
        };
        bounded.into_iter().map(standing).collect()
    }
}
