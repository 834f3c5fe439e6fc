//! What a call is charged with before it begins: what it holds of budgets, and what its agent's model cost by then.

use super::resolve::Resolved;
use super::{Setting, Turn};
use crate::model::amount::shown;
use crate::model::budget::{Allowance, Day, Short, Terms};
use crate::model::clock::Timestamp;
use crate::model::code;
use crate::model::failure::{Failure, Kind};
use crate::model::price::{MOST_TOKENS, ModelUsage};
use crate::model::staged::{Category, Cost, Tokens};
use crate::store::Charge;

/// What budgets mean for a call.
pub(super) fn terms(resolved: &Resolved) -> Terms {
    let [caller, user]: [Allowance; 2] = resolved.asker().allowances();
    Terms::of(resolved.tool().tool.cost_micros, [resolved.setting().config.budgets.all, caller, user])
}

/// What a call is charged with as this attempt begins, whose tool has spent so much before.
pub(super) fn charge(resolved: &Resolved, attempt: u32, spent: u64) -> Result<Charge, Turn> {
    let model = resolved.usage().map(|usage| priced(resolved.setting(), usage, attempt)).transpose()?;
    let told = model.as_ref().is_some_and(|cost| cost.micros > 0);
    Ok(Charge { hold: terms(resolved).hold(spent, told), model })
}

/// What a model's use cost, as far as the operator has a price for it.
fn priced(setting: &Setting, usage: &ModelUsage, attempt: u32) -> Result<Cost, Turn> {
    let uncounted = || {
        let text = "what is told of the model's use is more than is counted; nothing was run";
        Turn::Refuse(Failure::new(Kind::InvalidInput, code::INVALID_INPUT, text))
    };
    if usage.input_tokens.max(usage.output_tokens) > MOST_TOKENS {
        return Err(uncounted());
    }
    let price = setting.config.prices.get(&usage.model);
    let micros = price.map_or(Some(0), |price| price.of(usage)).ok_or_else(uncounted)?;
    let tokens = Tokens { input: usage.input_tokens, output: usage.output_tokens, priced: price.is_some() };
    let what = setting.mask.text(&usage.model).unwrap_or_else(|| usage.model.clone());
    Ok(Cost { attempt, category: Category::Llm, what, micros, tokens: Some(tokens) })
}

/// The refusal of a call for which too little is left of a budget.
pub(super) fn exceeded(setting: &Setting, short: &Short, at: Timestamp) -> Turn {
    let Short { budget, limit, sums, asked } = short;
    let currency = setting.config.budgets.currency.as_ref();
    let (left, money) = (sums.left(*limit), |micros| shown(micros, currency));
    let most = money(*limit);
    let lifts = "nothing was run. The next day begins at midnight, UTC";
    let text = match *asked {
        0 => format!("of the {most} that {budget} may spend in a day nothing is left; {lifts}"),
        asked if asked > *limit => {
            format!(
                "the call may cost {}, and {budget} may spend {most} in a day; nothing was run",
                money(asked)
            )
        }
        asked => format!(
            "the call may cost {}, and of the {most} that {budget} may spend in a day {} is left; {lifts}",
            money(asked),
            money(left)
        ),
    };
    let failure = Failure::new(Kind::Denied, code::BUDGET_EXCEEDED, text)
        .with_detail("budget", budget.to_string())
        .with_detail("limit_micros", *limit)
        .with_detail("left_micros", left)
        .with_detail("asked_micros", *asked);
    // What is more than a whole day's budget fits into no other day either.
    Turn::Refuse(if asked > limit { failure } else { failure.after(Day::of(at).ends().since(at)) })
}
