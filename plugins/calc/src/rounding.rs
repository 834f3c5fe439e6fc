//! Rounding to places after or before the decimal point.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Pow, Signed, Zero};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Places that can be rounded to, on either side of the point: more than any currency has.
pub(crate) const MOST_PLACES: i32 = 100;

/// Which way to go from between two neighbours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mode {
    /// To the nearer one; from the middle away from zero, as trade does: 2.5 to 3, -2.5 to -3.
    #[default]
    HalfUp,
    /// To the nearer one; from the middle to the even one, as banks do: 2.5 to 2, 3.5 to 4.
    HalfEven,
    /// To the nearer one; from the middle towards zero: 2.5 to 2, -2.5 to -2.
    HalfDown,
    /// Away from zero: 2.1 to 3, -2.1 to -3.
    Up,
    /// Towards zero: 2.9 to 2, -2.9 to -2.
    Down,
    /// To the larger one: 2.1 to 3, -2.9 to -2.
    Ceiling,
    /// To the smaller one: 2.9 to 2, -2.1 to -3.
    Floor,
}

impl Mode {
    /// All of them, with the words they go by.
    pub(crate) const ALL: [(&'static str, Self); 7] = [
        ("half_up", Self::HalfUp),
        ("half_even", Self::HalfEven),
        ("half_down", Self::HalfDown),
        ("up", Self::Up),
        ("down", Self::Down),
        ("ceiling", Self::Ceiling),
        ("floor", Self::Floor),
    ];

    /// The mode that goes by this word.
    pub(crate) fn named(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(name, _)| *name == word).map(|(_, mode)| *mode)
    }
}

/// The number rounded to places after the point, or before it where they are negative.
pub(crate) fn round(number: &BigRational, places: i32, mode: Mode) -> BigRational {
    let scale: BigInt = Pow::pow(BigInt::from(10), places.unsigned_abs());
    let scaled = if places < 0 { number / &scale } else { number * &scale };
    let whole = to_integer(&scaled, mode);
    if places < 0 { BigRational::from_integer(whole * scale) } else { BigRational::new(whole, scale) }
}

fn to_integer(number: &BigRational, mode: Mode) -> BigInt {
    let towards_zero = number.to_integer();
    let rest = number.fract();
    let negative = rest.is_negative();
    let between = !rest.is_zero();
    let beside_half = (rest.abs() + rest.abs()).cmp(&BigRational::from_integer(1.into()));
    let away = match mode {
        Mode::HalfUp => beside_half.is_ge(),
        Mode::HalfEven => beside_half.is_gt() || beside_half.is_eq() && towards_zero.bit(0),
        Mode::HalfDown => beside_half.is_gt(),
        Mode::Up => between,
        Mode::Down => false,
        Mode::Ceiling => between && !negative,
        Mode::Floor => between && negative,
    };
    match (away, negative) {
        (false, _) => towards_zero,
        (true, true) => towards_zero - 1,
        (true, false) => towards_zero + 1,
    }
}
