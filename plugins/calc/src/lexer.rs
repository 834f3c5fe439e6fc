//! From the text of an expression to its tokens.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Pow;

use crate::arithmetic::MOST_DIGITS;
use crate::fault::{Cause, Fault};
use crate::separators;

/// The power of ten that a number may be written with, on either side: beyond what floating point has.
const MOST_EXPONENT: i64 = 400;

/// An operator between two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    Plus,
    Minus,
    Times,
    Over,
    Power,
    /// `10% of 50`.
    Of,
}

/// What an expression is made of.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    Number(BigRational),
    /// In small letters.
    Name(String),
    Operator(Operator),
    Percent,
    Open,
    Close,
    Comma,
    End,
}

/// A part of an expression.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    /// Where it begins, in characters from 0.
    pub(crate) at: usize,
    /// As it is written.
    pub(crate) text: String,
}

impl Token {
    /// Where the next may begin.
    pub(crate) fn end(&self) -> usize {
        self.at + self.text.chars().count()
    }
}

/// The tokens of an expression, the end among them.
///
/// # Errors
/// At the first character that belongs to no token.
pub(crate) fn tokens(expression: &str) -> Result<Vec<Token>, Fault> {
    let letters: Vec<char> = expression.chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(&letter) = letters.get(at) {
        if letter.is_whitespace() {
            at += 1;
            continue;
        }
        let token = token(&letters, at)?;
        at = token.end();
        tokens.push(token);
    }
    tokens.push(Token { kind: Kind::End, at, text: String::new() });
    Ok(tokens)
}

fn token(letters: &[char], at: usize) -> Result<Token, Fault> {
    let is_digit = |place: usize| letters.get(place).is_some_and(char::is_ascii_digit);
    let letter = letters[at];
    let (kind, length) = match letter {
        '0'..='9' => return number(letters, at),
        '.' if is_digit(at + 1) => return number(letters, at),
        '*' if letters.get(at + 1) == Some(&'*') => (Kind::Operator(Operator::Power), 2),
        '+' => (Kind::Operator(Operator::Plus), 1),
        '-' | '−' => (Kind::Operator(Operator::Minus), 1),
        '*' | '×' | '·' => (Kind::Operator(Operator::Times), 1),
        '/' | '÷' => (Kind::Operator(Operator::Over), 1),
        '^' => (Kind::Operator(Operator::Power), 1),
        '%' => (Kind::Percent, 1),
        '(' => (Kind::Open, 1),
        ')' => (Kind::Close, 1),
        ',' => (Kind::Comma, 1),
        _ if letter.is_ascii_alphabetic() => return Ok(name(letters, at)),
        _ => return Err(Fault::new(Cause::Syntax, at, no_part(letter))),
    };
    Ok(Token { kind, at, text: letters[at..at + length].iter().collect() })
}

fn name(letters: &[char], at: usize) -> Token {
    let text: String =
        letters[at..].iter().take_while(|letter| letter.is_ascii_alphanumeric() || **letter == '_').collect();
    let name = text.to_ascii_lowercase();
    let kind = if name == "of" { Kind::Operator(Operator::Of) } else { Kind::Name(name) };
    Token { kind, at, text }
}

fn no_part(letter: char) -> String {
    match letter {
        '$' | '€' | '£' | '¥' => format!("leave out the sign of the currency: {letter}"),
        '[' | ']' | '{' | '}' => format!("use round parentheses in place of {letter}"),
        ';' => "arguments are separated by a comma: max(1, 2)".to_owned(),
        '=' => "give one expression without =".to_owned(),
        '.' => "a decimal point is followed by a digit".to_owned(),
        '\'' | '’' | '_' => {
            format!("a separator of thousands is left out, or is _ between digits: {letter}")
        }
        _ => format!("this is no part of an expression: {letter} (U+{:04X})", u32::from(letter)),
    }
}

/// `12`, `1_000.50`, `.5`, `1.5e-3`.
fn number(letters: &[char], at: usize) -> Result<Token, Fault> {
    let whole = digits(letters, at);
    let mut end = at + whole;
    let mut places = 0;
    if letters.get(end) == Some(&'.') {
        places = digits(letters, end + 1);
        if places == 0 {
            return Err(Fault::new(Cause::Syntax, end + 1, "a decimal point is followed by a digit"));
        }
        end += 1 + places;
    }
    let mantissa = end;
    end += exponent(letters, end);
    let text: String = letters[at..end].iter().collect();
    if letters.get(end) == Some(&'.') {
        return Err(two_points(letters, at, end));
    }
    let is_digit = |letter: &&char| letter.is_ascii_digit();
    let plain: String = letters[at..mantissa].iter().filter(is_digit).collect();
    let fraction = letters[mantissa - places..mantissa].iter().filter(is_digit).count();
    let exponent: String = letters[mantissa..end].iter().skip(1).collect();
    let value = value(&plain, fraction, &exponent).ok_or_else(|| {
        let text = format!(
            "a number has at most {MOST_DIGITS} digits and an exponent from -{MOST_EXPONENT} to {MOST_EXPONENT}"
        );
        Fault::new(Cause::TooLarge, at, text)
    })?;
    Ok(Token { kind: Kind::Number(value), at, text })
}

/// How many characters from here are digits, with a `_` between two.
fn digits(letters: &[char], from: usize) -> usize {
    let is_digit = |place: usize| letters.get(place).is_some_and(char::is_ascii_digit);
    let mut end = from;
    while is_digit(end) || end > from && letters.get(end) == Some(&'_') && is_digit(end + 1) {
        end += 1;
    }
    end - from
}

/// How many characters from here are an exponent of ten: `e-3`.
fn exponent(letters: &[char], from: usize) -> usize {
    if !matches!(letters.get(from), Some('e' | 'E')) {
        return 0;
    }
    let sign = usize::from(matches!(letters.get(from + 1), Some('+' | '-')));
    match digits(letters, from + 1 + sign) {
        0 => 0,
        digits => 1 + sign + digits,
    }
}

/// The number with these digits, so many of them after the point, times a power of ten; none where it is too large.
fn value(digits: &str, places: usize, exponent: &str) -> Option<BigRational> {
    let power = match exponent {
        "" => 0,
        written => written.replace('_', "").parse::<i64>().ok()?,
    };
    if digits.len() > MOST_DIGITS || !(-MOST_EXPONENT..=MOST_EXPONENT).contains(&power) {
        return None;
    }
    let number: BigInt = digits.parse().ok()?;
    let shift = power - i64::try_from(places).ok()?;
    let scale = Pow::pow(BigInt::from(10), shift.unsigned_abs());
    Some(if shift < 0 { BigRational::new(number, scale) } else { BigRational::from_integer(number * scale) })
}

fn two_points(letters: &[char], at: usize, end: usize) -> Fault {
    let run: String =
        letters[at..].iter().take_while(|letter| matches!(letter, '0'..='9' | '.' | ',')).collect();
    let text = match separators::meant(run.trim_end_matches(['.', ','])).as_slice() {
        [number] => format!("a number has one decimal point and no separators of thousands; write {number}"),
        _ => "a number has one decimal point".to_owned(),
    };
    Fault::new(Cause::Syntax, end, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number_of(text: &str) -> BigRational {
        match tokens(text).unwrap().as_slice() {
            [Token { kind: Kind::Number(number), .. }, Token { kind: Kind::End, .. }] => number.clone(),
            other => panic!("{text}: {other:?}"),
        }
    }

    fn ratio(above: i64, below: i64) -> BigRational {
        BigRational::new(above.into(), below.into())
    }

    #[test]
    fn numbers_are_exact_however_they_are_written() {
        for (text, above, below) in [
            ("0", 0, 1),
            ("007", 7, 1),
            ("0.1", 1, 10),
            (".5", 1, 2),
            ("1_000.50", 2001, 2),
            ("1.5e3", 1500, 1),
            ("15E-1", 3, 2),
            ("1e+2", 100, 1),
        ] {
            assert_eq!(number_of(text), ratio(above, below), "{text}");
        }
    }

    #[test]
    fn a_number_is_as_long_as_it_may_be_and_no_longer() {
        for text in ["9".repeat(MOST_DIGITS), "1.5e400".to_owned(), "1e-400".to_owned()] {
            assert!(tokens(&text).is_ok(), "{text}");
        }
        for text in ["9".repeat(MOST_DIGITS + 1), "1e401".to_owned(), "1e-99999999999999999999".to_owned()] {
            assert_eq!(tokens(&text).unwrap_err().cause, Cause::TooLarge, "{text}");
        }
    }

    #[test]
    fn every_part_knows_its_place_in_characters() {
        let places: Vec<(usize, String)> =
            tokens("1 × mAx(2,3) ** 4").unwrap().into_iter().map(|token| (token.at, token.text)).collect();
        let places: Vec<(usize, &str)> = places.iter().map(|(at, text)| (*at, text.as_str())).collect();
        assert_eq!(
            places,
            [
                (0, "1"),
                (2, "×"),
                (4, "mAx"),
                (7, "("),
                (8, "2"),
                (9, ","),
                (10, "3"),
                (11, ")"),
                (13, "**"),
                (16, "4"),
                (17, "")
            ]
        );
    }
}
