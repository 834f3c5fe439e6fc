//! Exact arithmetic that stays within its bounds.

use std::cmp::Ordering;

use num_rational::BigRational;
use num_traits::{One, Pow, Signed, ToPrimitive, Zero};

use crate::fault::{Cause, Fault};

/// Digits that a number, or either part of a fraction, may have while it is calculated with: room for the instalments
/// of a loan over 30 years, whose interest is compounded each month.
pub(crate) const MOST_DIGITS: usize = 10_000;

/// The same in bits, rounded up: ten needs 3.32 of them.
const MOST_BITS: u64 = 33_220;

/// How much may be done for one expression: the sum over all operations of the squared length of their operands, in
/// bits. Reducing a fraction takes about that long; this is half a second of it.
const MOST_WORK: u64 = 20_000_000_000;

/// Does the arithmetic of one expression.
#[derive(Debug, Default)]
pub(crate) struct Arithmetic {
    work: u64,
}

impl Arithmetic {
    /// The sum.
    pub(crate) fn add(&mut self, a: &BigRational, b: &BigRational, at: usize) -> Result<BigRational, Fault> {
        self.charge(&[a, b], at)?;
        within_bounds(a + b, at)
    }

    /// The difference.
    pub(crate) fn subtract(
        &mut self,
        a: &BigRational,
        b: &BigRational,
        at: usize,
    ) -> Result<BigRational, Fault> {
        self.charge(&[a, b], at)?;
        within_bounds(a - b, at)
    }

    /// The product.
    pub(crate) fn multiply(
        &mut self,
        a: &BigRational,
        b: &BigRational,
        at: usize,
    ) -> Result<BigRational, Fault> {
        self.charge(&[a, b], at)?;
        within_bounds(a * b, at)
    }

    /// The quotient.
    pub(crate) fn divide(
        &mut self,
        a: &BigRational,
        b: &BigRational,
        at: usize,
    ) -> Result<BigRational, Fault> {
        if b.is_zero() {
            return Err(Fault::new(Cause::DivisionByZero, at, "division by zero"));
        }
        self.charge(&[a, b], at)?;
        within_bounds(a / b, at)
    }

    /// Which of the two is larger.
    pub(crate) fn compare(&mut self, a: &BigRational, b: &BigRational, at: usize) -> Result<Ordering, Fault> {
        // The library compares quotient by quotient and calls itself for each, which a long fraction does not end.
        self.charge(&[a, b], at)?;
        Ok((a.numer() * b.denom()).cmp(&(b.numer() * a.denom())))
    }

    /// What is left after dividing as often as goes in whole, with the sign of `b`.
    pub(crate) fn remainder(
        &mut self,
        a: &BigRational,
        b: &BigRational,
        at: usize,
    ) -> Result<BigRational, Fault> {
        let times = self.divide(a, b, at)?.floor();
        let whole = self.multiply(b, &times, at)?;
        self.subtract(a, &whole, at)
    }

    /// The power with a whole exponent; anything to the power of 0 is 1.
    pub(crate) fn power(
        &mut self,
        base: &BigRational,
        exponent: &BigRational,
        at: usize,
    ) -> Result<BigRational, Fault> {
        if !exponent.is_integer() {
            let text = "only a whole exponent has an exact result, and this one is a fraction";
            return Err(Fault::new(Cause::FractionalExponent, at, text));
        }
        let exponent = exponent.numer();
        if base.is_zero() && exponent.is_negative() {
            return Err(Fault::new(
                Cause::DivisionByZero,
                at,
                "zero to a negative power is a division by zero",
            ));
        }
        let bits = base.numer().bits().max(base.denom().bits());
        let times = if base.is_zero() || base.abs().is_one() {
            // Of these, it only matters whether the exponent is zero, and whether it is odd.
            if exponent.is_zero() { 0 } else { 2 - u64::from(exponent.bit(0)) }
        } else {
            let bounded = |times: &u64| (bits - 1).saturating_mul(*times) <= MOST_BITS;
            exponent.abs().to_u64().filter(bounded).ok_or_else(|| too_large(at))?
        };
        self.charge_bits((bits * times).min(MOST_BITS), at)?;
        let base = if exponent.is_negative() { base.recip() } else { base.clone() };
        within_bounds(Pow::pow(base, times), at)
    }

    /// Counts work that is about to be done.
    pub(crate) fn charge(&mut self, operands: &[&BigRational], at: usize) -> Result<(), Fault> {
        let bits = operands.iter().map(|number| number.numer().bits() + number.denom().bits()).sum();
        self.charge_bits(bits, at)
    }

    fn charge_bits(&mut self, bits: u64, at: usize) -> Result<(), Fault> {
        self.work = self.work.saturating_add(bits.saturating_mul(bits));
        if self.work > MOST_WORK {
            let text =
                "the numbers get too long to go on exactly; round what comes before, as in round(x, 20)";
            return Err(Fault::new(Cause::TooLarge, at, text));
        }
        Ok(())
    }
}

fn within_bounds(number: BigRational, at: usize) -> Result<BigRational, Fault> {
    if number.numer().bits() > MOST_BITS || number.denom().bits() > MOST_BITS {
        Err(too_large(at))
    } else {
        Ok(number)
    }
}

fn too_large(at: usize) -> Fault {
    let text =
        format!("the result has more than {MOST_DIGITS} digits, which is the most that is calculated with");
    Fault::new(Cause::TooLarge, at, text)
}
