//! Expressions as a caller writes them, and the answers and faults that come back.

use std::fmt::Write;

use airlock_sdk::ErrorKind;
use insta::assert_snapshot;
use num_traits::{Signed, Zero};
use proptest::prelude::*;

use super::*;

fn value(expression: &str) -> BigRational {
    evaluate(expression).unwrap_or_else(|fault| panic!("{expression}: {fault:?}"))
}

fn exact(expression: &str) -> String {
    value(expression).to_string()
}

fn fault(expression: &str) -> ToolError {
    match evaluate(expression) {
        Ok(value) => panic!("{expression} is {value}"),
        Err(fault) => fault.in_expression(expression),
    }
}

#[track_caller]
fn all_are(cases: &[(&str, &str)]) {
    for (expression, wanted) in cases {
        assert_eq!(exact(expression), *wanted, "{expression}");
    }
}

#[test]
fn decimals_and_fractions_are_exact() {
    all_are(&[
        ("1/3 + 1/6", "1/2"),
        ("0.1 + 0.2", "3/10"),
        ("1 - 0.9", "1/10"),
        ("9007199254740993", "9007199254740993"),
        ("2^53 + 1", "9007199254740993"),
        ("100 / 3 * 3", "100"),
        ("1e3 + 2.5E-1", "4001/4"),
        ("1_000_000 * 1_000_000", "1000000000000"),
    ]);
}

#[test]
fn operators_bind_as_in_mathematics() {
    all_are(&[
        ("2 + 3 * 4", "14"),
        ("(2 + 3) * 4", "20"),
        ("2 - 3 - 4", "-5"),
        ("100 / 10 / 5", "2"),
        ("2^3^2", "512"),
        ("-2^2", "-4"),
        ("(-2)^2", "4"),
        ("2^-2", "1/4"),
        ("2^-1 * 6", "3"),
        ("3 * -2", "-6"),
        ("--2", "2"),
        ("+-+2", "-2"),
        ("2 - -3", "5"),
        ("2 ** 3 × 4 ÷ 2 · 3 − 1", "47"),
        ("0^0", "1"),
        ("(2/3)^-2", "9/4"),
    ]);
}

#[test]
fn a_percentage_is_a_share_of_what_it_is_added_to() {
    all_are(&[
        ("200 + 10%", "220"),
        ("200 - 10%", "180"),
        ("200 + 10% + 5%", "231"),
        ("100 * 2 + 10%", "220"),
        ("(150 + 50) + (10%)", "220"),
        ("200 + -10%", "180"),
        ("200 + (10% + 5%)", "230"),
        ("200 - max(5%, 10%)", "180"),
        ("1 + 19%", "119/100"),
        ("50 + 10% of 200", "70"),
    ]);
}

#[test]
fn anywhere_else_a_percentage_is_hundredths() {
    all_are(&[
        ("19% of 49.90", "9481/1000"),
        ("19% * 49.90", "9481/1000"),
        ("200 * 10%", "20"),
        ("20 / 10%", "200"),
        ("10%", "1/10"),
        ("10% + 5%", "3/20"),
        ("100% - 30%", "7/10"),
        ("50% of 50% of 8", "2"),
        ("100 / 50% of 20", "10"),
        ("10% of 2^3", "4/5"),
        ("100 + 5% * 20", "101"),
        ("(3 + 7)%", "1/10"),
        ("2^200%", "4"),
    ]);
}

#[test]
fn functions_do_what_their_names_say() {
    all_are(&[
        ("round(2.5)", "3"),
        ("round(-2.5)", "-3"),
        ("round(9.481, 2)", "237/25"),
        ("round(2.5, 0, half_even)", "2"),
        ("round(1250, -2, half_even)", "1200"),
        ("round(9.489, 2, floor)", "237/25"),
        ("floor(-2.5)", "-3"),
        ("ceil(-2.5)", "-2"),
        ("abs(-1/3)", "1/3"),
        ("min(3, 1/3, 0.3)", "3/10"),
        ("MAX(3, 1/3, 0.3)", "3"),
        ("sum(12.50, 3 * 4.99)", "2747/100"),
        ("avg(1, 2, 4)", "7/3"),
        ("mod(17, 5)", "2"),
        ("mod(-17, 5)", "3"),
        ("mod(5.5, 2)", "3/2"),
        ("max(1,2) + min( 3 , 4 )", "5"),
        ("round(sum(1/3, 1/3), 2) * 3", "201/100"),
    ]);
}

#[test]
fn the_instalment_of_a_loan_is_exact_to_its_last_cent() {
    let instalment = value("250000 * (0.0347/12) * (1 + 0.0347/12)^360 / ((1 + 0.0347/12)^360 - 1)");
    assert_eq!(decimal::fixed(&round(&instalment, 2, Mode::HalfUp), 2), "1118.43");
}

/// Everything that is told of a fault, a block each.
fn told(expressions: &[&str]) -> String {
    let mut told = String::new();
    for expression in expressions {
        let error = fault(expression);
        let _ = writeln!(told, "{expression}\n  {}: {}", error.code(), error.message());
    }
    told
}

#[test]
fn what_cannot_be_read_is_told_with_its_place() {
    let told = told(&[
        "",
        "1 + * 2",
        "1 +",
        "(1 + 2",
        "1 + 2)",
        "max(1, 2",
        "max()",
        "2(3)",
        "2 x",
        "7 % 3",
        "3 of 4",
        "10% + 50",
        "1.",
        "1..2",
        "$5",
        "[1]",
        "x = 1",
        "1 & 2",
        "π",
        "1'000",
        "1e99999999",
        "0^-1",
        "10^99999999",
        "ceil(1, 2)",
    ]);
    assert_snapshot!(told, @r#"
      SYNTAX_ERROR: column 1, at the end: expected a number, a function or an opening parenthesis
    1 + * 2
      SYNTAX_ERROR: column 5, at "* 2": expected a number, a function or an opening parenthesis
    1 +
      SYNTAX_ERROR: column 4, at the end: expected a number, a function or an opening parenthesis
    (1 + 2
      SYNTAX_ERROR: column 1, at "(1 + 2": the parenthesis that is opened here is never closed
    1 + 2)
      SYNTAX_ERROR: column 6, at ")": no parenthesis is open that this one could close
    max(1, 2
      SYNTAX_ERROR: column 1, at "max(1, 2": the parenthesis that is opened here is never closed
    max()
      SYNTAX_ERROR: column 5, at ")": expected a number, a function or an opening parenthesis
    2(3)
      SYNTAX_ERROR: column 2, at "(3)": expected an operator; write * to multiply
    2 x
      SYNTAX_ERROR: column 3, at "x": expected an operator
    7 % 3
      SYNTAX_ERROR: column 5, at "3": expected an operator; % is percent, as in 19% of 50; the remainder is mod(7, 3)
    3 of 4
      SYNTAX_ERROR: column 3, at "of 4": a percentage stands before of, as in 19% of 50; write * for a product
    10% + 50
      SYNTAX_ERROR: column 5, at "+ 50": a percentage stands after the number that it is a share of, as in 50 + 10%; for hundredths write 10/100
    1.
      SYNTAX_ERROR: column 3, at the end: a decimal point is followed by a digit
    1..2
      SYNTAX_ERROR: column 3, at ".2": a decimal point is followed by a digit
    $5
      SYNTAX_ERROR: column 1, at "$5": leave out the sign of the currency: $
    [1]
      SYNTAX_ERROR: column 1, at "[1]": use round parentheses in place of [
    x = 1
      SYNTAX_ERROR: column 3, at "= 1": give one expression without =
    1 & 2
      SYNTAX_ERROR: column 3, at "& 2": this is no part of an expression: & (U+0026)
    π
      SYNTAX_ERROR: column 1, at "π": this is no part of an expression: π (U+03C0)
    1'000
      SYNTAX_ERROR: column 2, at "'000": a separator of thousands is left out, or is _ between digits: '
    1e99999999
      TOO_LARGE: column 1, at "1e99999999": a number has at most 10000 digits and an exponent from -400 to 400
    0^-1
      DIVISION_BY_ZERO: column 2, at "^-1": zero to a negative power is a division by zero
    10^99999999
      TOO_LARGE: column 3, at "^99999999": the result has more than 10000 digits, which is the most that is calculated with
    ceil(1, 2)
      WRONG_ARGUMENTS: column 1, at "ceil(1, 2)": it is called as ceil(x); to places: round(x, places, ceiling)
    "#);
}

#[test]
fn a_comma_is_answered_with_the_number_that_was_meant() {
    let told = told(&[
        "49,90 * 2",
        "1,234 + 1",
        "1,234,567",
        "1,234.50",
        "2 * 1.234,50",
        "1.234.567",
        "1, 2",
        "sum(1,000, 2,500)",
        "max(5,100)",
        "1 000",
    ]);
    assert_snapshot!(told, @r#"
    49,90 * 2
      SYNTAX_ERROR: column 3, at ",90 * 2": a number is written with a decimal point and without separators of thousands: 49.90
    1,234 + 1
      SYNTAX_ERROR: column 2, at ",234 + 1": 1,234 can be two numbers; write 1234 or 1.234, whichever is meant
    1,234,567
      SYNTAX_ERROR: column 2, at ",234,567": a number is written with a decimal point and without separators of thousands: 1234567
    1,234.50
      SYNTAX_ERROR: column 2, at ",234.50": a number is written with a decimal point and without separators of thousands: 1234.50
    2 * 1.234,50
      SYNTAX_ERROR: column 10, at ",50": a number is written with a decimal point and without separators of thousands: 1234.50
    1.234.567
      SYNTAX_ERROR: column 6, at ".567": a number has one decimal point and no separators of thousands; write 1234567
    1, 2
      SYNTAX_ERROR: column 2, at ", 2": a comma stands between the arguments of a function alone
    sum(1,000, 2,500)
      SYNTAX_ERROR: column 6, at ",000, 2,500)": this comma can separate arguments or thousands; write a space after it, or leave it out
    max(5,100)
      SYNTAX_ERROR: column 6, at ",100)": this comma can separate arguments or thousands; write a space after it, or leave it out
    1 000
      SYNTAX_ERROR: column 3, at "000": expected an operator; a number is written without spaces: 1000 or 1_000
    "#);
}

#[test]
fn names_and_arguments_that_do_not_fit_are_told() {
    let told = told(&[
        "sqrt(2)",
        "pi * 2",
        "max * 2",
        "floor(1.25, 1)",
        "mod(1)",
        "round(1, 2, 3)",
        "round(1, half_even)",
        "round(1, 2, half_even + 1)",
        "round(1, 0.5)",
        "round(1, 101)",
        "4^0.5",
    ]);
    assert_snapshot!(told, @r#"
    sqrt(2)
      UNKNOWN_NAME: column 1, at "sqrt(2)": there is no function sqrt; there are round, floor, ceil, abs, min, max, sum, avg, mod
    pi * 2
      UNKNOWN_NAME: column 1, at "pi * 2": there are no names for numbers; write the number in place of pi
    max * 2
      SYNTAX_ERROR: column 1, at "max * 2": a function is followed by its arguments: max(…)
    floor(1.25, 1)
      WRONG_ARGUMENTS: column 1, at "floor(1.25, 1)": it is called as floor(x); to places: round(x, places, floor)
    mod(1)
      WRONG_ARGUMENTS: column 1, at "mod(1)": it is called as mod(a, b)
    round(1, 2, 3)
      WRONG_ARGUMENTS: column 1, at "round(1, 2, 3)": it is called as round(x), round(x, places) or round(x, places, mode)
    round(1, half_even)
      WRONG_ARGUMENTS: column 10, at "half_even)": a mode is the third argument of round: round(x, 2, half_even)
    round(1, 2, half_even + 1)
      SYNTAX_ERROR: column 23, at "+ 1)": expected a closing parenthesis
    round(1, 0.5)
      WRONG_ARGUMENTS: column 1, at "round(1, 0.5)": the places to round to are a whole number from -100 to 100
    round(1, 101)
      WRONG_ARGUMENTS: column 1, at "round(1, 101)": the places to round to are a whole number from -100 to 100
    4^0.5
      FRACTIONAL_EXPONENT: column 2, at "^0.5": only a whole exponent has an exact result, and this one is a fraction
    "#);
}

#[test]
fn what_divides_by_zero_is_rejected() {
    for (expression, column) in
        [("1/0", 2), ("1 + 2/(1 - 1)", 6), ("mod(1, 0)", 1), ("0^-1", 2), ("5 / 0%", 3)]
    {
        let error = fault(expression);
        assert_eq!((error.kind(), error.code()), (ErrorKind::Rejected, "DIVISION_BY_ZERO"), "{expression}");
        assert!(
            error.message().starts_with(&format!("column {column}, ")),
            "{expression}: {}",
            error.message()
        );
    }
}

#[test]
fn what_is_too_large_is_rejected_before_it_is_calculated() {
    for expression in [
        "9^9^9^9",
        "10^10000000",
        "2^(10^30)",
        "(1/3)^100000",
        "1e99999",
        "9^9999 * 9^9999",
        "1.0001^-99999999999",
    ] {
        let error = fault(expression);
        assert_eq!((error.kind(), error.code()), (ErrorKind::Rejected, "TOO_LARGE"), "{expression}");
    }
    all_are(&[("1^(10^30)", "1"), ("(-1)^(10^30 + 1)", "-1"), ("0^(10^30)", "0"), ("(0 - 1)^-3", "-1")]);
}

#[test]
fn work_without_end_is_rejected_too() {
    let long = vec!["1/7^9000"; 300].join(" + ");
    assert_eq!(fault(&long).code(), "TOO_LARGE");
    assert!(fault(&long).message().contains("round(x, 20)"), "{}", fault(&long).message());
}

#[test]
fn nesting_has_no_bound_of_its_own() {
    let deep = format!("{}1{}", "(".repeat(100_000), ")".repeat(100_000));
    assert_eq!(exact(&deep), "1");
    assert_eq!(exact(&format!("{}1", "-".repeat(100_001))), "-1");
    assert_eq!(exact(&format!("{}1{}", "abs(".repeat(50_000), ")".repeat(50_000))), "1");
}

/// A tree, with the value that 128 bits give it.
#[derive(Debug, Clone)]
enum Tree {
    Number(u32, u32),
    Negative(Box<Tree>),
    Of(char, Box<Tree>, Box<Tree>),
}

fn tree() -> impl Strategy<Value = Tree> {
    let leaf = (0..100u32, 1..20u32).prop_map(|(above, below)| Tree::Number(above, below));
    leaf.prop_recursive(4, 12, 2, |inner| {
        let two = (prop::sample::select(vec!['+', '-', '*', '/']), inner.clone(), inner.clone());
        prop_oneof![
            1 => inner.prop_map(|tree| Tree::Negative(Box::new(tree))),
            4 => two.prop_map(|(sign, a, b)| Tree::Of(sign, Box::new(a), Box::new(b))),
        ]
    })
}

/// A fraction of small numbers, in lowest terms; none where it would be divided by zero or not be small.
fn reference(tree: &Tree) -> Option<(i128, i128)> {
    let (above, below) = match tree {
        Tree::Number(above, below) => (i128::from(*above), i128::from(*below)),
        Tree::Negative(tree) => reference(tree).map(|(a, b)| (-a, b))?,
        Tree::Of(sign, left, right) => {
            let ((a, b), (c, d)) = (reference(left)?, reference(right)?);
            match sign {
                '+' => (a.checked_mul(d)?.checked_add(c.checked_mul(b)?)?, b.checked_mul(d)?),
                '-' => (a.checked_mul(d)?.checked_sub(c.checked_mul(b)?)?, b.checked_mul(d)?),
                '*' => (a.checked_mul(c)?, b.checked_mul(d)?),
                _ if c == 0 => return None,
                _ => (a.checked_mul(d)?.checked_mul(c.signum())?, b.checked_mul(c.abs())?),
            }
        }
    };
    let (mut a, mut b) = (above.abs(), below);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    Some((above / a, below / a))
}

/// The tree with the parentheses that it needs and no others.
fn written(tree: &Tree) -> String {
    let strength = |tree: &Tree| match tree {
        Tree::Number(..) | Tree::Of('*' | '/', ..) => 2,
        Tree::Negative(_) => 3,
        Tree::Of(..) => 1,
    };
    let inside = |tree: &Tree, least: u8| {
        if strength(tree) < least { format!("({})", written(tree)) } else { written(tree) }
    };
    match tree {
        Tree::Number(above, below) => format!("{above}/{below}"),
        Tree::Negative(tree) => format!("-{}", inside(tree, 3)),
        Tree::Of(sign @ ('*' | '/'), a, b) => format!("{} {sign} {}", inside(a, 2), inside(b, 3)),
        Tree::Of(sign, a, b) => format!("{} {sign} {}", inside(a, 1), inside(b, 2)),
    }
}

fn fraction() -> impl Strategy<Value = BigRational> {
    (any::<i128>(), 1..u64::MAX).prop_map(|(above, below)| BigRational::new(above.into(), below.into()))
}

/// Fractions that end, and lie in the middle between two places more often than not.
fn amount() -> impl Strategy<Value = BigRational> {
    (any::<i32>(), 0..5u32)
        .prop_map(|(above, places)| BigRational::new((i64::from(above) * 5).into(), 10i64.pow(places).into()))
}

proptest! {
    #[test]
    fn an_expression_has_the_value_that_its_tree_has(tree in tree()) {
        let Some((above, below)) = reference(&tree) else { return Ok(()) };
        let written = written(&tree);
        prop_assert_eq!(value(&written), BigRational::new(above.into(), below.into()), "{}", written);
    }

    #[test]
    fn what_is_written_out_is_read_back(number in fraction()) {
        prop_assert_eq!(&value(&decimal::exact(&number).unwrap()), &number);
        let decimal = decimal::of(&number);
        let back = value(&decimal.text);
        let apart = (&back - &number).abs();
        prop_assert_eq!(decimal.is_exact, apart.is_zero());
        prop_assert!(apart <= value("0.5e-20"), "{} is {} apart", decimal.text, apart);
        if let Some(repeating) = decimal.repeating {
            prop_assert_eq!(&repeated(&repeating), &number, "{}", repeating);
        }
    }

    #[test]
    fn the_laws_of_arithmetic_hold(a in fraction(), b in fraction(), c in fraction()) {
        let same = |left: &str, right: &str| {
            let put = |text: &str| {
                text.replace('a', &format!("({a})")).replace('b', &format!("({b})")).replace('c', &format!("({c})"))
            };
            (value(&put(left)), value(&put(right)))
        };
        for (left, right) in [
            ("a + b", "b + a"),
            ("a + b + c", "a + (b + c)"),
            ("a * b", "b * a"),
            ("a * b * c", "a * (b * c)"),
            ("a * (b + c)", "a * b + a * c"),
            ("a - a", "0"),
            ("a - b", "-(b - a)"),
            ("a^2 - b^2", "(a + b) * (a - b)"),
        ] {
            let (left_value, right_value) = same(left, right);
            prop_assert_eq!(left_value, right_value, "{} = {}", left, right);
        }
        if !b.is_zero() {
            let (left, right) = same("a / b * b", "a");
            prop_assert_eq!(left, right);
        }
    }

    #[test]
    fn a_rounded_number_is_the_neighbour_that_its_mode_asks_for(number in amount(), places in -3..4i32) {
        let step = value(&format!("1e{}", -places));
        let half = &step / BigRational::from_integer(2.into());
        for (_, mode) in Mode::ALL {
            let rounded = round(&number, places, mode);
            let apart = (&rounded - &number).abs();
            prop_assert!((&rounded / &step).is_integer() && apart < step, "{:?}", mode);
            let grew = rounded.abs() > number.abs();
            let shrank = rounded.abs() < number.abs();
            match mode {
                Mode::Up => prop_assert!(!shrank),
                Mode::Down => prop_assert!(!grew),
                Mode::Ceiling => prop_assert!(rounded >= number),
                Mode::Floor => prop_assert!(rounded <= number),
                Mode::HalfUp => prop_assert!(apart < half || apart == half && grew),
                Mode::HalfDown => prop_assert!(apart < half || apart == half && shrank),
                Mode::HalfEven => {
                    let even = (&rounded / &step / BigRational::from_integer(2.into())).is_integer();
                    prop_assert!(apart < half || apart == half && even);
                }
            }
            prop_assert_eq!(round(&rounded, places, mode), rounded);
        }
    }

    #[test]
    fn no_text_brings_it_down(text in "[-0-9a-z+*/^%(),._ €]{0,60}") {
        if let Err(fault) = evaluate(&text) {
            prop_assert!(fault.at <= text.chars().count(), "{:?}", fault);
            prop_assert!(!fault.in_expression(&text).message().is_empty());
        }
    }
}

/// The number that a repeating decimal stands for.
fn repeated(text: &str) -> BigRational {
    let (fixed, period) = text.trim_end_matches(')').split_once('(').unwrap();
    let places = fixed.len() - fixed.find('.').unwrap() - 1;
    let nines = value(&format!("10^{} - 1", period.len()));
    let rest = value(period) / nines * value(&format!("1e-{places}"));
    let fixed_value = value(&format!("({})", fixed.trim_end_matches('.')));
    if fixed.starts_with('-') { fixed_value - rest } else { fixed_value + rest }
}

#[test]
fn an_answer_says_whether_its_decimal_is_exact() {
    let answers = |expression: &str| {
        let answer = answer(&value(expression), None);
        (answer.exact.unwrap(), answer.decimal, answer.decimal_is_exact, answer.repeating)
    };
    let repeating = |text: &str| Some(text.to_owned());
    let cases = [
        ("1/2", "1/2", "0.5", true, None),
        ("-1/8", "-1/8", "-0.125", true, None),
        ("42", "42", "42", true, None),
        ("1/3", "1/3", "0.33333333333333333333", false, repeating("0.(3)")),
        ("-2/3", "-2/3", "-0.66666666666666666667", false, repeating("-0.(6)")),
        ("1/6", "1/6", "0.16666666666666666667", false, repeating("0.1(6)")),
        ("22/7", "22/7", "3.14285714285714285714", false, repeating("3.(142857)")),
        ("1/300000", "1/300000", "0.0000033333333333333333333", false, repeating("0.00000(3)")),
        ("1/97", "1/97", "0.010309278350515463918", false, None),
    ];
    for (expression, exact, decimal, is_exact, repeating) in cases {
        assert_eq!(
            answers(expression),
            (exact.to_owned(), decimal.to_owned(), is_exact, repeating),
            "{expression}"
        );
    }
}

#[test]
fn what_is_too_long_to_be_shown_is_cut_and_says_so() {
    let answer = |expression: &str| answer(&value(expression), None);
    let long = answer("10^1000 / 9");
    assert_eq!((long.exact.is_some(), long.decimal_is_exact), (true, false));
    let longer = answer("9^5000");
    assert_eq!((longer.exact, longer.decimal_is_exact), (None, false));
    assert_eq!(longer.decimal, "1.63135018534262587430e4771");
    let small = answer("1/9^5000");
    assert_eq!((small.exact, small.decimal), (None, "6.12989172395241459987e-4772".to_owned()));
    let near = answer("(10^2000 - 1) / 1");
    assert_eq!(near.decimal, "1.00000000000000000000e2000");
    assert!(answer("2^-1000").decimal_is_exact);
    assert!(!answer("2^-1001").decimal_is_exact);
}

#[test]
fn the_rounded_value_keeps_all_its_places() {
    let rounded = |expression: &str, places: i32, mode: Mode| {
        answer(&value(expression), Some(&Rounding { places, mode })).rounded.unwrap()
    };
    for (expression, places, mode, wanted) in [
        ("19% of 49.90", 2, Mode::HalfUp, "9.48"),
        ("1/2", 2, Mode::HalfUp, "0.50"),
        ("2.345", 2, Mode::HalfUp, "2.35"),
        ("2.345", 2, Mode::HalfEven, "2.34"),
        ("-0.001", 2, Mode::HalfUp, "0.00"),
        ("1250", -2, Mode::HalfEven, "1200"),
        ("49", -2, Mode::HalfUp, "0"),
        ("1/3", 0, Mode::Up, "1"),
    ] {
        assert_eq!(rounded(expression, places, mode), wanted, "{expression} to {places}, {mode:?}");
    }
}
