//! Amounts of a currency: whole millionths, as they are written and as they are shown.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

/// The most that an amount is, in millionths: a billion of the currency, so that sums of many calls have room.
pub const MOST_AMOUNT: u64 = 1_000_000_000 * UNIT;

/// Millionths of one.
const UNIT: u64 = 1_000_000;

/// A currency by its code: three capital letters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Currency(String);

impl FromStr for Currency {
    type Err = NoAmount;

    fn from_str(text: &str) -> Result<Self, NoAmount> {
        let code = text.len() == 3 && text.bytes().all(|letter| letter.is_ascii_uppercase());
        if code { Ok(Self(text.to_owned())) } else { Err(NoAmount::Currency) }
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An amount as it is written: `20`, `0.50`, `20.00 EUR`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Amount {
    /// In whole millionths.
    pub micros: u64,
    /// Its currency, where it names one.
    pub currency: Option<Currency>,
}

/// Why a text is no amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoAmount {
    /// It is no number with a point.
    Number,
    /// It is less than nothing.
    Negative,
    /// It has parts of a millionth.
    Decimals,
    /// It is more than is counted.
    Large,
    /// What follows the number, or stands alone, is no code of a currency.
    Currency,
}

impl fmt::Display for NoAmount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Number => "an amount in quotes, such as \"20.00\" or \"20 EUR\"",
            Self::Negative => "an amount is not negative; \"0\" is nothing at all",
            Self::Decimals => "an amount has at most six decimals",
            Self::Large => "an amount is at most 1000000000",
            Self::Currency => "a currency is three capital letters, such as EUR",
        })
    }
}

impl FromStr for Amount {
    type Err = NoAmount;

    fn from_str(text: &str) -> Result<Self, NoAmount> {
        let (number, currency) = match text.trim().split_once(' ') {
            Some((number, code)) => (number, Some(code.trim().parse()?)),
            None => (text.trim(), None),
        };
        if number.starts_with('-') {
            return Err(NoAmount::Negative);
        }
        let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
        if !digits(whole) || !digits(part) {
            return Err(NoAmount::Number);
        }
        if part.len() > 6 {
            return Err(NoAmount::Decimals);
        }
        let part: u64 = format!("{part:0<6}").parse().map_err(|_| NoAmount::Number)?;
        let micros = whole.parse::<u64>().ok().and_then(|whole| whole.checked_mul(UNIT)?.checked_add(part));
        match micros.filter(|micros| *micros <= MOST_AMOUNT) {
            Some(micros) => Ok(Self { micros, currency }),
            None => Err(NoAmount::Large),
        }
    }
}

/// An amount as people read it: with two decimals, or as many as it has.
pub fn shown(micros: u64, currency: Option<&Currency>) -> String {
    let part = format!("{:06}", micros % UNIT);
    let part = part.trim_end_matches('0');
    let number = format!("{}.{part:0<2}", micros / UNIT);
    currency.map_or_else(|| number.clone(), |currency| format!("{number} {currency}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn micros(text: &str) -> Result<u64, NoAmount> {
        text.parse().map(|amount: Amount| amount.micros)
    }

    #[test]
    fn an_amount_is_read_to_the_last_millionth() {
        assert_eq!(micros("20"), Ok(20_000_000));
        assert_eq!(micros("20.00"), Ok(20_000_000));
        assert_eq!(micros("0.000001"), Ok(1));
        assert_eq!(micros("1000000000"), Ok(MOST_AMOUNT));
        let named: Amount = "20 EUR".parse().unwrap();
        assert_eq!((named.micros, named.currency.unwrap().to_string().as_str()), (20_000_000, "EUR"));
        assert_eq!(micros("1000000000.000001"), Err(NoAmount::Large));
        assert_eq!(micros("99999999999999999999999"), Err(NoAmount::Large));
        assert_eq!(micros("-0.5"), Err(NoAmount::Negative));
        assert_eq!(micros("0.0000001"), Err(NoAmount::Decimals));
        for bad in ["", ".", "1.", ".5", "1e3", "1,5", "+1", "1_000", "EUR 20", "0x10", "١"] {
            assert_eq!(micros(bad), Err(if bad == "EUR 20" { NoAmount::Currency } else { NoAmount::Number }));
        }
        for bad in ["20 eur", "20 €", "20 EURO", "20 EUR x"] {
            assert_eq!(micros(bad), Err(NoAmount::Currency), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read_as_it_was(micros_of in 0..=MOST_AMOUNT) {
            prop_assert_eq!(micros(&shown(micros_of, None)), Ok(micros_of));
        }
    }
}
