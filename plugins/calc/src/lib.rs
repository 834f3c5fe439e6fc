//! A calculator as a plugin: exact decimals and fractions, percentages, and the rounding of money.

mod arithmetic;
mod decimal;
mod evaluator;
mod fault;
mod function;
mod lexer;
mod parser;
mod rounding;
mod separators;

use airlock_sdk::{Cleanup, Context, Declaration, Repeat, Risk, Tool, ToolError};
use num_rational::BigRational;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::decimal::Decimal;
use crate::fault::Fault;
use crate::rounding::{Mode, round};

airlock_sdk::export!(reader calc: Evaluate);

/// What a model reads to write expressions that are taken as they are meant.
const DESCRIPTION: &str = "\
Calculates exactly, with fractions and never with floating point; use it for every sum of money. \
+ - * / ^ (whole exponents) and parentheses; decimals with a point, no thousands separators (1_000 will do). \
Percent: `19% of 49.90`. A percentage that is added to a number or taken from it is a share of that number, as on a till: \
`200 + 10%` is 220; anywhere else a percentage is hundredths: `200 * 10%` is 20. \
Functions: round(x, places, mode), floor, ceil, abs, min, max, sum, avg, mod(a, b) for the remainder. \
`round` rounds the result; each step before it is exact. \
The answer is text, to be used as it stands: `exact` as a fraction, `decimal`, and `rounded` where it was asked for.";

/// Evaluates one expression.
pub struct Evaluate;

/// What is to be calculated.
#[derive(Deserialize, JsonSchema)]
pub struct Question {
    /// One expression in numbers: `19% of 49.90`, `sum(12.50, 3 * 4.99) + 19%`, `(1 + 0.035/12)^360`.
    #[schemars(length(min = 1, max = 4000), example = "1/3 + 1/6")]
    expression: String,
    /// Asks for the result rounded, beside the exact one; for money, to the places of its currency.
    round: Option<Rounding>,
}

/// How a result is rounded.
#[derive(Deserialize, JsonSchema)]
pub struct Rounding {
    /// Digits after the decimal point; -2 rounds to hundreds.
    #[schemars(range(min = -rounding::MOST_PLACES, max = rounding::MOST_PLACES), example = 2)]
    places: i32,
    /// Which way to go from between two.
    #[serde(default)]
    mode: Mode,
}

/// The value of the expression, as texts, so that no reader rounds it.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct Answer {
    /// The value as an integer or a fraction in lowest terms: `1/2`. Missing beyond 1000 digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    exact: Option<String>,
    /// The value as a decimal: `0.5`.
    decimal: String,
    /// Whether `decimal` is the value itself; else it is rounded to about 20 digits after the point.
    decimal_is_exact: bool,
    /// For a decimal without end, the digits that repeat in parentheses: `0.1(6)`. Missing where they are many.
    #[serde(skip_serializing_if = "Option::is_none")]
    repeating: Option<String>,
    /// The value rounded as `round` asked, with all its places: `0.50`.
    #[serde(skip_serializing_if = "Option::is_none")]
    rounded: Option<String>,
}

impl Tool for Evaluate {
    const NAME: &'static str = "evaluate";
    type Input = Question;
    type Output = Answer;

    fn declare() -> Declaration {
        Declaration::new("Calculate exactly")
            .description(DESCRIPTION)
            .risk(Risk::PublicRead)
            .repeat(Repeat::Reads)
            .cleanup(Cleanup::Nothing)
    }

    fn call(question: Question, _context: &Context) -> Result<Answer, ToolError> {
        let value =
            evaluate(&question.expression).map_err(|fault| fault.in_expression(&question.expression))?;
        Ok(answer(&value, question.round.as_ref()))
    }
}

/// The value of an expression.
fn evaluate(expression: &str) -> Result<BigRational, Fault> {
    let tokens = lexer::tokens(expression)?;
    let steps = parser::parse(&tokens, expression)?;
    evaluator::evaluate(steps)
}

fn answer(value: &BigRational, rounding: Option<&Rounding>) -> Answer {
    let Decimal { text, is_exact, repeating } = decimal::of(value);
    Answer {
        exact: decimal::exact(value),
        decimal: text,
        decimal_is_exact: is_exact,
        repeating,
        rounded: rounding.map(|to| {
            decimal::fixed(&round(value, to.places, to.mode), usize::try_from(to.places).unwrap_or(0))
        }),
    }
}

#[cfg(test)]
mod tests;
