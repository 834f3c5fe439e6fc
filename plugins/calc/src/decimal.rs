//! Numbers as text: fractions, decimals that are exact, and decimals that are cut and say so.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Pow, Signed, ToPrimitive, Zero};

use crate::rounding::{Mode, round};

/// Digits of the longest number that is written out.
const MOST_SHOWN: usize = 1000;

/// The same in bits, rounded up.
const MOST_SHOWN_BITS: u64 = 3322;

/// Digits after the point of a decimal that is cut, after the zeros that it begins with.
const CUT_TO: i32 = 20;

/// A number that is cut is written with an exponent if it begins with more zeros than these.
const MOST_ZEROS: i32 = 60;

/// Digits after the point, up to the end of the first time, of a decimal that is shown to repeat.
const MOST_REPEATING: usize = 60;

/// A number as a decimal.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    pub(crate) text: String,
    /// Whether the text is the number itself.
    pub(crate) is_exact: bool,
    /// With the digits that repeat in parentheses, where they are few.
    pub(crate) repeating: Option<String>,
}

/// The number as an integer or a fraction in lowest terms, unless that is too long.
pub(crate) fn exact(number: &BigRational) -> Option<String> {
    let short = |part: &BigInt| part.bits() <= MOST_SHOWN_BITS;
    (short(number.numer()) && short(number.denom())).then(|| number.to_string())
}

/// The number as a decimal.
pub(crate) fn of(number: &BigRational) -> Decimal {
    let (places, ends) = expansion(number.denom());
    let whole = number.to_integer();
    if ends && places <= MOST_SHOWN && whole.bits() <= MOST_SHOWN_BITS {
        return Decimal { text: fixed(number, places), is_exact: true, repeating: None };
    }
    let repeating = if ends { None } else { repeating(number, places) };
    Decimal { text: cut(number), is_exact: false, repeating }
}

/// A number that has at most so many places, with exactly so many.
pub(crate) fn fixed(number: &BigRational, places: usize) -> String {
    let scale: BigInt = Pow::pow(BigInt::from(10), places);
    let digits = (number * scale).to_integer();
    let sign = if digits.is_negative() { "-" } else { "" };
    let digits = format!("{:0>width$}", digits.magnitude().to_string(), width = places + 1);
    let (whole, fraction) = digits.split_at(digits.len() - places);
    let point = if places == 0 { "" } else { "." };
    format!("{sign}{whole}{point}{fraction}")
}

/// After how many places a decimal with this denominator ends, or begins to repeat; and whether it ends.
fn expansion(denominator: &BigInt) -> (usize, bool) {
    let twos = denominator.trailing_zeros().unwrap_or(0);
    let mut rest: BigInt = denominator >> twos;
    let five = BigInt::from(5);
    let mut fives = 0;
    while (&rest % &five).is_zero() {
        rest /= &five;
        fives += 1;
    }
    (twos.max(fives).to_usize().unwrap_or(usize::MAX), rest.is_one())
}

/// The decimal rounded to a readable length; the digits before its point are all there.
fn cut(number: &BigRational) -> String {
    let magnitude = magnitude(number);
    if (-MOST_ZEROS..1000).contains(&magnitude) {
        let places = CUT_TO + if magnitude < 0 { -1 - magnitude } else { 0 };
        return fixed(&round(number, places, Mode::HalfEven), places.to_usize().unwrap_or(0));
    }
    let power: BigRational = Pow::pow(BigRational::from_integer(10.into()), magnitude);
    let rounded = round(&(number / power), CUT_TO, Mode::HalfEven);
    let ten = BigRational::from_integer(10.into());
    let (mantissa, magnitude) =
        if rounded.abs() < ten { (rounded, magnitude) } else { (rounded / ten, magnitude + 1) };
    format!("{}e{magnitude}", fixed(&mantissa, CUT_TO.to_usize().unwrap_or(0)))
}

/// The power of ten of the first digit that is not zero; of a number below one, that or the one below.
fn magnitude(number: &BigRational) -> i32 {
    let digits = |whole: &BigInt| whole.magnitude().to_string().len().to_i32().unwrap_or(i32::MAX);
    let whole = number.to_integer();
    if whole.is_zero() { -digits(&number.recip().to_integer()) } else { digits(&whole) - 1 }
}

/// The decimal with the digits in parentheses that repeat after so many places.
fn repeating(number: &BigRational, places: usize) -> Option<String> {
    if places >= MOST_REPEATING {
        return None;
    }
    let denominator = number.denom();
    let mut rest = number.numer().abs() % denominator;
    let mut digit = || {
        rest *= 10;
        let digit = &rest / denominator;
        rest %= denominator;
        (digit.to_string(), rest.clone())
    };
    let sign = if number.is_negative() { "-" } else { "" };
    let mut text = format!("{sign}{}.", number.to_integer().abs());
    let mut begin = None;
    for _ in 0..places {
        let (next, rest) = digit();
        text.push_str(&next);
        begin = Some(rest);
    }
    let begin = begin.unwrap_or_else(|| number.numer().abs() % denominator);
    text.push('(');
    for _ in places..MOST_REPEATING {
        let (next, rest) = digit();
        text.push_str(&next);
        if rest == begin {
            text.push(')');
            return Some(text);
        }
    }
    None
}
