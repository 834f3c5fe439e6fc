//! From the steps of a calculation to its value.

use num_bigint::BigInt;
use num_rational::BigRational;

use crate::arithmetic::Arithmetic;
use crate::fault::{Cause, Fault};
use crate::lexer::Operator;
use crate::parser::{Placed, Step};

/// A number, and whether it is meant as a percentage; 10% is the number 1/10.
#[derive(Debug, Clone)]
struct Value {
    number: BigRational,
    is_percentage: bool,
}

/// The value of a calculation.
///
/// # Errors
/// At the first step that cannot be done.
pub(crate) fn evaluate(steps: Vec<Placed>) -> Result<BigRational, Fault> {
    let mut evaluator = Evaluator::default();
    for Placed { step, at } in steps {
        let value = evaluator.step(step, at)?;
        evaluator.values.push(value);
    }
    evaluator.pop(0).map(|value| value.number)
}

#[derive(Debug, Default)]
struct Evaluator {
    values: Vec<Value>,
    arithmetic: Arithmetic,
}

impl Evaluator {
    fn step(&mut self, step: Step, at: usize) -> Result<Value, Fault> {
        match step {
            Step::Number(number) => Ok(plain(number)),
            Step::Negate => {
                let Value { number, is_percentage } = self.pop(at)?;
                Ok(Value { number: -number, is_percentage })
            }
            Step::Percent => {
                let number = self.pop(at)?.number;
                let hundred = BigRational::from_integer(BigInt::from(100));
                Ok(Value { number: self.arithmetic.divide(&number, &hundred, at)?, is_percentage: true })
            }
            Step::Binary(operator) => {
                let right = self.pop(at)?;
                let left = self.pop(at)?;
                self.binary(operator, &left, &right, at)
            }
            Step::Call { function, count, mode } => {
                let first = self.values.len().checked_sub(count).ok_or_else(|| missing(at))?;
                let arguments = self.values.split_off(first);
                let is_percentage =
                    function.keeps_percentages() && arguments.iter().all(|value| value.is_percentage);
                let numbers: Vec<BigRational> = arguments.into_iter().map(|value| value.number).collect();
                let number = function.call(&numbers, mode, &mut self.arithmetic, at)?;
                Ok(Value { number, is_percentage })
            }
        }
    }

    fn binary(&mut self, operator: Operator, left: &Value, right: &Value, at: usize) -> Result<Value, Fault> {
        let (a, b) = (&left.number, &right.number);
        match operator {
            Operator::Plus | Operator::Minus => self.sum(operator, left, right, at),
            Operator::Times => self.arithmetic.multiply(a, b, at).map(plain),
            Operator::Over => self.arithmetic.divide(a, b, at).map(plain),
            Operator::Power => self.arithmetic.power(a, b, at).map(plain),
            Operator::Of if left.is_percentage => {
                let number = self.arithmetic.multiply(a, b, at)?;
                Ok(Value { number, is_percentage: right.is_percentage })
            }
            Operator::Of => {
                let text = "a percentage stands before of, as in 19% of 50; write * for a product";
                Err(Fault::new(Cause::Syntax, at, text))
            }
        }
    }

    /// A sum or a difference: of a number and a percentage, the share is that of the number, as on a till.
    fn sum(&mut self, operator: Operator, left: &Value, right: &Value, at: usize) -> Result<Value, Fault> {
        let share;
        let b = match (left.is_percentage, right.is_percentage) {
            (false, true) => {
                share = self.arithmetic.multiply(&left.number, &right.number, at)?;
                &share
            }
            (true, false) => {
                let text = "a percentage stands after the number that it is a share of, as in 50 + 10%; for hundredths write 10/100";
                return Err(Fault::new(Cause::Syntax, at, text));
            }
            (false, false) | (true, true) => &right.number,
        };
        let number = match operator {
            Operator::Minus => self.arithmetic.subtract(&left.number, b, at)?,
            Operator::Plus | Operator::Times | Operator::Over | Operator::Power | Operator::Of => {
                self.arithmetic.add(&left.number, b, at)?
            }
        };
        Ok(Value { number, is_percentage: left.is_percentage })
    }

    fn pop(&mut self, at: usize) -> Result<Value, Fault> {
        self.values.pop().ok_or_else(|| missing(at))
    }
}

fn plain(number: BigRational) -> Value {
    Value { number, is_percentage: false }
}

fn missing(at: usize) -> Fault {
    Fault::new(Cause::Syntax, at, "an operand is missing here")
}
