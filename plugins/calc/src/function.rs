//! The functions of an expression.

use std::cmp::Ordering;

use num_rational::BigRational;
use num_traits::{Signed, ToPrimitive, Zero};

use crate::arithmetic::Arithmetic;
use crate::fault::{Cause, Fault};
use crate::rounding::{MOST_PLACES, Mode, round};

/// What can be called by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Function {
    Round,
    Floor,
    Ceil,
    Abs,
    Min,
    Max,
    Sum,
    Avg,
    Mod,
}

impl Function {
    /// All of them: name, how it is called, the least and the most arguments.
    const ALL: [(Self, &'static str, &'static str, usize, usize); 9] = [
        (Self::Round, "round", "round(x), round(x, places) or round(x, places, mode)", 1, 2),
        (Self::Floor, "floor", "floor(x); to places: round(x, places, floor)", 1, 1),
        (Self::Ceil, "ceil", "ceil(x); to places: round(x, places, ceiling)", 1, 1),
        (Self::Abs, "abs", "abs(x)", 1, 1),
        (Self::Min, "min", "min(x, y, …)", 1, usize::MAX),
        (Self::Max, "max", "max(x, y, …)", 1, usize::MAX),
        (Self::Sum, "sum", "sum(x, y, …)", 1, usize::MAX),
        (Self::Avg, "avg", "avg(x, y, …)", 1, usize::MAX),
        (Self::Mod, "mod", "mod(a, b)", 2, 2),
    ];

    /// The function of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|entry| entry.1 == name).map(|entry| entry.0)
    }

    /// The names of all functions, for who looks for one.
    pub(crate) fn names() -> String {
        Self::ALL.map(|entry| entry.1).join(", ")
    }

    /// Checks how many arguments it is given.
    pub(crate) fn check(self, count: usize, at: usize) -> Result<(), Fault> {
        let wrong = Self::ALL.iter().find(|entry| entry.0 == self && !(entry.3..=entry.4).contains(&count));
        match wrong {
            Some((_, _, call, ..)) => {
                Err(Fault::new(Cause::WrongArguments, at, format!("it is called as {call}")))
            }
            None => Ok(()),
        }
    }

    /// Whether it gives a percentage where it is given percentages alone.
    pub(crate) fn keeps_percentages(self) -> bool {
        match self {
            Self::Abs | Self::Min | Self::Max | Self::Sum | Self::Avg => true,
            Self::Round | Self::Floor | Self::Ceil | Self::Mod => false,
        }
    }

    /// Calls it.
    pub(crate) fn call(
        self,
        arguments: &[BigRational],
        mode: Mode,
        arithmetic: &mut Arithmetic,
        at: usize,
    ) -> Result<BigRational, Fault> {
        self.check(arguments.len(), at)?;
        for argument in arguments {
            arithmetic.charge(&[argument], at)?;
        }
        let first = arguments.first().cloned().unwrap_or_default();
        match self {
            Self::Round => Ok(round(&first, places(arguments.get(1), at)?, mode)),
            Self::Floor => Ok(first.floor()),
            Self::Ceil => Ok(first.ceil()),
            Self::Abs => Ok(first.abs()),
            Self::Min => extreme(first, arguments, Ordering::Less, arithmetic, at),
            Self::Max => extreme(first, arguments, Ordering::Greater, arithmetic, at),
            Self::Sum => sum(arguments, arithmetic, at),
            Self::Avg => {
                let count = BigRational::from_integer(arguments.len().into());
                let sum = sum(arguments, arithmetic, at)?;
                arithmetic.divide(&sum, &count, at)
            }
            Self::Mod => arithmetic.remainder(&first, arguments.get(1).unwrap_or(&first), at),
        }
    }
}

fn sum(numbers: &[BigRational], arithmetic: &mut Arithmetic, at: usize) -> Result<BigRational, Fault> {
    numbers.iter().try_fold(BigRational::zero(), |sum, number| arithmetic.add(&sum, number, at))
}

/// The number that compares so with all others.
fn extreme(
    first: BigRational,
    numbers: &[BigRational],
    wanted: Ordering,
    arithmetic: &mut Arithmetic,
    at: usize,
) -> Result<BigRational, Fault> {
    numbers.iter().try_fold(first, |extreme, number| {
        let compared = arithmetic.compare(number, &extreme, at)?;
        Ok(if compared == wanted { number.clone() } else { extreme })
    })
}

/// The places to round to; none are no places.
fn places(argument: Option<&BigRational>, at: usize) -> Result<i32, Fault> {
    let Some(argument) = argument else { return Ok(0) };
    let places = argument.is_integer().then(|| argument.to_i32()).flatten();
    places.filter(|places| places.abs() <= MOST_PLACES).ok_or_else(|| {
        let text = format!("the places to round to are a whole number from -{MOST_PLACES} to {MOST_PLACES}");
        Fault::new(Cause::WrongArguments, at, text)
    })
}
