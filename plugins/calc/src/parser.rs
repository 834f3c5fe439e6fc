//! From tokens to the steps of a calculation, each operand before its operator.
//!
//! What waits for its operands stands on a stack of our own, so that no expression is nested too deep.

use num_rational::BigRational;

use crate::fault::{Cause, Fault};
use crate::function::Function;
use crate::lexer::{Kind, Operator, Token};
use crate::rounding::Mode;
use crate::separators;

const WANTS_OPERAND: &str = "a number, a function or an opening parenthesis";

/// A step of a calculation: what it takes are the latest results.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    Number(BigRational),
    Negate,
    Percent,
    Binary(Operator),
    Call { function: Function, count: usize, mode: Mode },
}

/// A step, and the place in the expression that asks for it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Placed {
    pub(crate) step: Step,
    pub(crate) at: usize,
}

/// The steps of an expression.
///
/// # Errors
/// At the first place where it cannot go on.
pub(crate) fn parse(tokens: &[Token], expression: &str) -> Result<Vec<Placed>, Fault> {
    let mut parser = Parser { tokens, expression, next: 0, steps: Vec::new(), waiting: Vec::new() };
    let mut wants_operand = true;
    while let Some(token) = parser.advance() {
        wants_operand = if wants_operand { parser.operand(token)? } else { parser.operator(token)? };
    }
    Ok(parser.steps)
}

/// What waits for its operands, or for its end.
#[derive(Debug)]
enum Waiting {
    Negate,
    Binary(Operator),
    Group,
    Call { function: Function, count: usize, mode: Mode },
}

struct Parser<'e> {
    tokens: &'e [Token],
    expression: &'e str,
    next: usize,
    steps: Vec<Placed>,
    waiting: Vec<(Waiting, usize)>,
}

impl<'e> Parser<'e> {
    fn advance(&mut self) -> Option<&'e Token> {
        let token = self.tokens.get(self.next)?;
        self.next += 1;
        Some(token)
    }

    fn advance_if(&mut self, wanted: &Kind) -> bool {
        let comes = self.tokens.get(self.next).is_some_and(|token| token.kind == *wanted);
        self.next += usize::from(comes);
        comes
    }

    /// Reads where an operand is to come; says whether one still is.
    fn operand(&mut self, token: &Token) -> Result<bool, Fault> {
        match &token.kind {
            Kind::Number(number) => {
                self.push(Step::Number(number.clone()), token.at);
                Ok(false)
            }
            Kind::Operator(Operator::Plus) => Ok(true),
            Kind::Operator(Operator::Minus) => {
                self.waiting.push((Waiting::Negate, token.at));
                Ok(true)
            }
            Kind::Open => {
                self.waiting.push((Waiting::Group, token.at));
                Ok(true)
            }
            Kind::Name(name) => self.name(name, token),
            Kind::Operator(_) | Kind::Percent | Kind::Close | Kind::Comma | Kind::End => {
                Err(expected(WANTS_OPERAND, token))
            }
        }
    }

    fn name(&mut self, name: &str, token: &Token) -> Result<bool, Fault> {
        let fault = |cause, text: String| Err(Fault::new(cause, token.at, text));
        let function = Function::named(name);
        if self.advance_if(&Kind::Open) {
            let Some(function) = function else {
                let text = format!("there is no function {}; there are {}", token.text, Function::names());
                return fault(Cause::UnknownName, text);
            };
            self.waiting.push((Waiting::Call { function, count: 1, mode: Mode::default() }, token.at));
            return Ok(true);
        }
        if let Some(mode) = Mode::named(name) {
            if let Some((Waiting::Call { function: Function::Round, count: count @ 3, mode: asked }, _)) =
                self.waiting.last_mut()
            {
                (*count, *asked) = (2, mode);
                return match self.advance() {
                    Some(Token { kind: Kind::Close, at, .. }) => self.close(*at).map(|()| false),
                    Some(other) => Err(expected("a closing parenthesis", other)),
                    None => Ok(false),
                };
            }
            if function.is_none() {
                let text = format!("a mode is the third argument of round: round(x, 2, {name})");
                return fault(Cause::WrongArguments, text);
            }
        }
        match function {
            Some(_) => fault(Cause::Syntax, format!("a function is followed by its arguments: {name}(…)")),
            None => {
                let text =
                    format!("there are no names for numbers; write the number in place of {}", token.text);
                fault(Cause::UnknownName, text)
            }
        }
    }

    /// Reads where an operator is to come; says whether an operand is to follow.
    fn operator(&mut self, token: &Token) -> Result<bool, Fault> {
        match &token.kind {
            Kind::Operator(operator) => {
                self.unwind(|waiting| binds_before(waiting, *operator));
                self.waiting.push((Waiting::Binary(*operator), token.at));
                Ok(true)
            }
            Kind::Percent => {
                self.push(Step::Percent, token.at);
                Ok(false)
            }
            Kind::Close => self.close(token.at).map(|()| false),
            Kind::Comma => self.comma(token).map(|()| true),
            Kind::End => self.end().map(|()| false),
            Kind::Number(_) | Kind::Name(_) | Kind::Open => Err(self.two_operands(token)),
        }
    }

    fn close(&mut self, at: usize) -> Result<(), Fault> {
        self.unwind(is_operator);
        match self.waiting.pop() {
            Some((Waiting::Call { function, count, mode }, at)) => {
                function.check(count, at)?;
                self.push(Step::Call { function, count, mode }, at);
                Ok(())
            }
            Some((Waiting::Group | Waiting::Negate | Waiting::Binary(_), _)) => Ok(()),
            None => Err(Fault::new(Cause::Syntax, at, "no parenthesis is open that this one could close")),
        }
    }

    fn comma(&mut self, token: &Token) -> Result<(), Fault> {
        self.unwind(is_operator);
        let ambiguous = self.may_separate_thousands(token);
        let Some((Waiting::Call { count, .. }, _)) = self.waiting.last_mut() else {
            let number = self.number_around(token);
            let text = match separators::meant(&number).as_slice() {
                [one] => format!(
                    "a number is written with a decimal point and without separators of thousands: {one}"
                ),
                [one, other] => {
                    format!("{number} can be two numbers; write {one} or {other}, whichever is meant")
                }
                _ => "a comma stands between the arguments of a function alone".to_owned(),
            };
            return Err(Fault::new(Cause::Syntax, token.at, text));
        };
        if ambiguous {
            let text =
                "this comma can separate arguments or thousands; write a space after it, or leave it out";
            return Err(Fault::new(Cause::Syntax, token.at, text));
        }
        *count += 1;
        Ok(())
    }

    fn may_separate_thousands(&self, comma: &Token) -> bool {
        let before = self.next.checked_sub(2).and_then(|at| self.tokens.get(at));
        let Some((before, after)) = before.zip(self.tokens.get(self.next)) else { return false };
        let adjacent = before.end() == comma.at && after.at == comma.end();
        adjacent && separators::may_be_thousands(&before.text, &after.text)
    }

    /// The digits, points and commas around a comma that stands between two digits.
    fn number_around(&self, comma: &Token) -> String {
        let of_number = |letter: &char| matches!(letter, '0'..='9' | '.' | ',');
        let letters: Vec<char> = self.expression.chars().collect();
        let (before, after) = letters.split_at(comma.at);
        let is_digit = |letter: Option<&char>| letter.is_some_and(char::is_ascii_digit);
        if !is_digit(before.last()) || !is_digit(after.get(1)) {
            return String::new();
        }
        let begin = before.len() - before.iter().rev().take_while(|letter| of_number(letter)).count();
        let number: String = letters[begin..].iter().take_while(|letter| of_number(letter)).collect();
        number.trim_end_matches(['.', ',']).to_owned()
    }

    fn end(&mut self) -> Result<(), Fault> {
        self.unwind(is_operator);
        match self.waiting.last() {
            Some((_, at)) => {
                Err(Fault::new(Cause::Syntax, *at, "the parenthesis that is opened here is never closed"))
            }
            None => Ok(()),
        }
    }

    /// What to say where one operand follows another.
    fn two_operands(&self, token: &Token) -> Fault {
        let before = self.next.checked_sub(2).and_then(|at| self.tokens.get(at)).map(|token| &token.kind);
        let text = match (before, &token.kind) {
            (Some(Kind::Percent), Kind::Number(_) | Kind::Name(_) | Kind::Open) => {
                "expected an operator; % is percent, as in 19% of 50; the remainder is mod(7, 3)".to_owned()
            }
            (Some(Kind::Number(_)), Kind::Number(_)) => {
                "expected an operator; a number is written without spaces: 1000 or 1_000".to_owned()
            }
            (_, Kind::Open) => "expected an operator; write * to multiply".to_owned(),
            _ => "expected an operator".to_owned(),
        };
        Fault::new(Cause::Syntax, token.at, text)
    }

    /// Turns what waits, from the latest on, into steps, for as long as it is done.
    fn unwind(&mut self, done: impl Fn(&Waiting) -> bool) {
        while let Some((waiting, at)) = self.waiting.pop_if(|(waiting, _)| done(waiting)) {
            match waiting {
                Waiting::Negate => self.push(Step::Negate, at),
                Waiting::Binary(operator) => self.push(Step::Binary(operator), at),
                Waiting::Group | Waiting::Call { .. } => {}
            }
        }
    }

    fn push(&mut self, step: Step, at: usize) {
        self.steps.push(Placed { step, at });
    }
}

fn is_operator(waiting: &Waiting) -> bool {
    match waiting {
        Waiting::Negate | Waiting::Binary(_) => true,
        Waiting::Group | Waiting::Call { .. } => false,
    }
}

/// Whether what waits has its operands once this operator comes.
fn binds_before(waiting: &Waiting, next: Operator) -> bool {
    let strength = match waiting {
        Waiting::Negate => 3,
        Waiting::Binary(operator) => strength(*operator),
        Waiting::Group | Waiting::Call { .. } => return false,
    };
    // A tower of powers is built from its top: 2^3^2 is 2^9.
    if next == Operator::Power { strength > self::strength(next) } else { strength >= self::strength(next) }
}

/// How strongly an operator binds; a sign has 3: -2^2 is -4.
fn strength(operator: Operator) -> u8 {
    match operator {
        Operator::Plus | Operator::Minus => 1,
        Operator::Times | Operator::Over => 2,
        Operator::Of => 4,
        Operator::Power => 5,
    }
}

fn expected(what: &str, token: &Token) -> Fault {
    Fault::new(Cause::Syntax, token.at, format!("expected {what}"))
}
