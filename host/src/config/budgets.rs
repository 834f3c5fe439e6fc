//! Resolves `[budgets]`, `[prices]` and the budgets of callers and users: amounts of one currency.

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::DeValue;

use super::faults::Fault;
use super::read::{Named, Read, Reader, Text, tables};
use super::resolve::value;
use super::written::Written;
use crate::model::amount::{Amount, Currency, NoAmount};
use crate::model::budget::{Allowance, Budgets};
use crate::model::price::{Price, Prices};

tables! {
    /// `[budgets]`: what may be spent.
    Spending {
        currency: Currency,
        day: Amount,
        call: Amount,
    }

    /// `budget = {…}` of a caller or a user.
    Budget {
        day: Amount,
        call: Amount,
    }

    /// `[prices."MODEL"]`: what a model costs for a million tokens.
    ModelPrice {
        input: Amount,
        output: Amount,
    }
}

/// A model, by the name that its agents give it.
#[derive(Debug)]
pub(super) struct Model(pub(super) String);

impl Text for Amount {
    const IS: &'static str = "an amount in quotes, such as \"20.00\" or \"20 EUR\"";

    fn parse(text: &str) -> Result<Self, String> {
        text.parse().map_err(|none: NoAmount| none.to_string())
    }
}

impl Text for Currency {
    const IS: &'static str = "a currency is three capital letters, such as EUR";

    fn parse(text: &str) -> Result<Self, String> {
        text.parse().map_err(|_| String::new())
    }
}

impl Text for Model {
    const IS: &'static str = "a model is named as its agents name it: 1 to 200 characters";

    fn parse(text: &str) -> Result<Self, String> {
        let named = (1..=200).contains(&text.chars().count()) && !text.contains(char::is_control);
        if named { Ok(Self(text.to_owned())) } else { Err(String::new()) }
    }
}

/// The one currency of a configuration: the one that is set, else the first that an amount names.
pub(super) fn currency(written: &Written, faults: &mut Vec<Fault>) -> Option<Currency> {
    let set = written.budgets.as_ref().and_then(|spending| spending.get_ref().currency.as_ref());
    let mut known = set.map(|set| set.get_ref().clone());
    let mut amounts = Vec::new();
    gather(written, &mut amounts);
    amounts.sort_by_key(|amount| amount.span().start);
    for amount in amounts {
        match (&amount.get_ref().currency, &known) {
            (Some(named), Some(known)) if named != known => {
                let text = format!("this amount is in {named}, and the others are in {known}");
                let fault = Fault::at(amount.span(), text).expected("an amount in the one currency of all");
                faults.push(fault.help(format!(
                    "write it in {known}; nothing is exchanged. `currency` under [budgets] says what all are in"
                )));
            }
            (Some(named), None) => known = Some(named.clone()),
            (Some(_), Some(_)) | (None, _) => {}
        }
    }
    known
}

/// Every amount that is written.
fn gather<'a>(written: &'a Written, amounts: &mut Vec<&'a Spanned<Amount>>) {
    if let Some(spending) = &written.budgets {
        let Spending { currency: _, day, call, keys: _ } = spending.get_ref();
        amounts.extend([day, call].into_iter().flatten());
    }
    for (_, caller) in entries(written.callers.as_ref()) {
        let users = entries(caller.users.as_ref()).filter_map(|(_, user)| user.budget.as_ref());
        for budget in caller.budget.as_ref().into_iter().chain(users) {
            let Budget { day, call, keys: _ } = budget.get_ref();
            amounts.extend([day, call].into_iter().flatten());
        }
    }
    for (_, price) in entries(written.prices.as_ref()) {
        let ModelPrice { input, output, keys: _ } = price;
        amounts.extend([input, output].into_iter().flatten());
    }
}

fn entries<K, T>(named: Option<&Spanned<Named<K, T>>>) -> impl Iterator<Item = (&Spanned<K>, &T)> {
    let entries = named.map(|named| named.get_ref().entries.as_slice()).unwrap_or_default();
    entries.iter().map(|(name, value)| (name, value.get_ref()))
}

/// Resolves `[budgets]`.
pub(super) fn budgets(written: Spending, currency: Option<Currency>) -> Budgets {
    Budgets { currency, all: Allowance { call: micros(written.call), day: micros(written.day) } }
}

/// Resolves the budget of a caller or a user; any amount where nothing was written.
pub(super) fn allowance(written: Option<Spanned<Budget>>) -> Allowance {
    let Budget { day, call, keys: _ } = value(written);
    Allowance { call: micros(call), day: micros(day) }
}

fn micros(written: Option<Spanned<Amount>>) -> Option<u64> {
    written.map(|amount| amount.into_inner().micros)
}

/// Resolves `[prices]`.
pub(super) fn prices(written: Named<Model, ModelPrice>, faults: &mut Vec<Fault>) -> Prices {
    let mut prices = BTreeMap::new();
    for (model, price) in written.entries {
        let (place, model, price) = (model.span(), model.into_inner().0, price.into_inner());
        for key in ["input", "output"] {
            if !price.keys.iter().any(|written| written == key) {
                let fault = Fault::at(place.clone(), format!("`prices.\"{model}\"` lacks `{key}`"));
                let fault = fault.expected(format!("needs `{key}`"));
                faults.push(
                    fault.help(format!("{key} = \"3.00\", for a million tokens; \"0\" where it is free")),
                );
            }
        }
        if let (Some(input), Some(output)) = (micros(price.input), micros(price.output)) {
            prices.insert(model, Price { input, output });
        }
    }
    prices
}
