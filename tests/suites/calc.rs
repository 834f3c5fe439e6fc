//! The calculator through the sandbox: its answers, its errors, that it needs nothing, and that nothing brings it down.

use airlock::host::Request;
use airlock::model::id::CallerName;
use airlock_tests::guests::CALC;
use airlock_tests::world::{body, code, request};
use insta::{assert_json_snapshot, assert_snapshot};
use serde_json::{Value, json};

use crate::attack::{Open, open};
use crate::call::shown;
use crate::source::text_of;

async fn calculator() -> Open {
    open(&[CALC], "").await
}

impl Open {
    /// What the calculator says of an expression: `data` or `error`.
    async fn evaluate(&self, expression: &str) -> Value {
        body(&self.call("calc.evaluate", json!({ "expression": expression })).await)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_in_full() {
    let open = calculator().await;
    let reply = open.call("calc.evaluate", json!({ "expression": "1/3 + 1/6" })).await;
    assert_snapshot!(shown(&reply), @r#"
    {
      "ok": true,
      "data": {
        "exact": "1/2",
        "decimal": "0.5",
        "decimal_is_exact": true
      },
      "meta": {
        "run": "RUN",
        "step": 1,
        "attempts": 1,
        "duration_ms": "COUNTED",
        "fuel": "COUNTED",
        "memory_bytes": "COUNTED",
        "effects": 0,
        "cost_micros": 0,
        "replayed": false,
        "trace_id": "TRACE"
      }
    }
    "#);
}

#[tokio::test(flavor = "multi_thread")]
async fn expressions_and_their_answers() {
    let open = calculator().await;
    let mut told = Vec::new();
    for expression in [
        "0.1 + 0.2",
        "2^53 + 1",
        "19% of 49.90",
        "200 + 10%",
        "100 / 3",
        "-1/7",
        "1/97",
        "sum(12.50, 3 * 4.99) + 19%",
        "round(2.345, 2, half_even)",
        "2^-20",
    ] {
        told.push(format!("{expression}\n  {}", open.evaluate(expression).await));
    }
    assert_snapshot!(told.join("\n"), @r#"
    0.1 + 0.2
      {"exact":"3/10","decimal":"0.3","decimal_is_exact":true}
    2^53 + 1
      {"exact":"9007199254740993","decimal":"9007199254740993","decimal_is_exact":true}
    19% of 49.90
      {"exact":"9481/1000","decimal":"9.481","decimal_is_exact":true}
    200 + 10%
      {"exact":"220","decimal":"220","decimal_is_exact":true}
    100 / 3
      {"exact":"100/3","decimal":"33.33333333333333333333","decimal_is_exact":false,"repeating":"33.(3)"}
    -1/7
      {"exact":"-1/7","decimal":"-0.14285714285714285714","decimal_is_exact":false,"repeating":"-0.(142857)"}
    1/97
      {"exact":"1/97","decimal":"0.010309278350515463918","decimal_is_exact":false}
    sum(12.50, 3 * 4.99) + 19%
      {"exact":"326893/10000","decimal":"32.6893","decimal_is_exact":true}
    round(2.345, 2, half_even)
      {"exact":"117/50","decimal":"2.34","decimal_is_exact":true}
    2^-20
      {"exact":"1/1048576","decimal":"0.00000095367431640625","decimal_is_exact":true}
    "#);
}

#[tokio::test(flavor = "multi_thread")]
async fn money_is_rounded_as_the_caller_asks() {
    let open = calculator().await;
    let mut told = Vec::new();
    for round in [
        json!({ "places": 2 }),
        json!({ "places": 2, "mode": "half_even" }),
        json!({ "places": 2, "mode": "up" }),
        json!({ "places": 2, "mode": "down" }),
        json!({ "places": 0 }),
        json!({ "places": 4 }),
        json!({ "places": -1 }),
    ] {
        let data = open.data("calc.evaluate", json!({ "expression": "-17.345", "round": round })).await;
        told.push(format!("{round} {}", data["rounded"]));
    }
    assert_snapshot!(told.join("\n"), @r#"
    {"places":2} "-17.35"
    {"places":2,"mode":"half_even"} "-17.34"
    {"places":2,"mode":"up"} "-17.35"
    {"places":2,"mode":"down"} "-17.34"
    {"places":0} "-17"
    {"places":4} "-17.3450"
    {"places":-1} "-20"
    "#);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_number_of_an_answer_is_one_of_json() {
    let open = calculator().await;
    for expression in ["1", "9007199254740993", "1/3", "0.5", "9^5000"] {
        let answer = open.evaluate(expression).await;
        let fields = answer.as_object().unwrap();
        assert!(fields.values().all(|value| value.is_string() || value.is_boolean()), "{answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_is_told_with_column_caret_and_what_was_expected() {
    let open = calculator().await;
    assert_json_snapshot!(open.evaluate("12.50 + * 2").await, @r#"
    {
      "code": "SYNTAX_ERROR",
      "kind": "invalid_input",
      "message": "column 9, at \"* 2\": expected a number, a function or an opening parenthesis",
      "retryable": false,
      "action": "fix_input",
      "retry_after_ms": 0,
      "details": {
        "column": 9,
        "place": [
          "12.50 + * 2",
          "        ^"
        ]
      }
    }
    "#);
    assert_json_snapshot!(open.evaluate("sum(1,5; 2)").await, @r#"
    {
      "code": "SYNTAX_ERROR",
      "kind": "invalid_input",
      "message": "column 8, at \"; 2)\": arguments are separated by a comma: max(1, 2)",
      "retryable": false,
      "action": "fix_input",
      "retry_after_ms": 0,
      "details": {
        "column": 8,
        "place": [
          "sum(1,5; 2)",
          "       ^"
        ]
      }
    }
    "#);
    assert_json_snapshot!(open.evaluate("49,90 * 2").await, @r#"
    {
      "code": "SYNTAX_ERROR",
      "kind": "invalid_input",
      "message": "column 3, at \",90 * 2\": a number is written with a decimal point and without separators of thousands: 49.90",
      "retryable": false,
      "action": "fix_input",
      "retry_after_ms": 0,
      "details": {
        "column": 3,
        "place": [
          "49,90 * 2",
          "  ^"
        ]
      }
    }
    "#);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_divides_by_zero_is_rejected() {
    let open = calculator().await;
    assert_json_snapshot!(open.evaluate("100 / (2 - 2)").await, @r#"
    {
      "code": "DIVISION_BY_ZERO",
      "kind": "rejected",
      "message": "column 5, at \"/ (2 - 2)\": division by zero",
      "retryable": false,
      "action": "tell_user",
      "retry_after_ms": 0,
      "user_message": "That divides by zero, and has no result.",
      "details": {
        "column": 5,
        "place": [
          "100 / (2 - 2)",
          "    ^"
        ]
      }
    }
    "#);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_input_of_another_form_is_refused_before_it_comes_in() {
    let open = calculator().await;
    let mut told = Vec::new();
    for input in [
        json!({}),
        json!({ "expression": 12 }),
        json!({ "expression": "" }),
        json!({ "expression": "1", "round": 2 }),
        json!({ "expression": "1", "round": { "places": 101 } }),
        json!({ "expression": "1", "round": { "places": 2, "mode": "bankers" } }),
        json!({ "expression": "1", "round": { "mode": "up" } }),
    ] {
        let error = body(&open.call("calc.evaluate", input.clone()).await);
        assert_eq!(error["code"], "INVALID_INPUT", "{input}");
        told.push(format!("{input}\n  {}", error["details"]["faults"]));
    }
    assert_snapshot!(told.join("\n"), @r#"
    {}
      ["/expression: is required and missing; give a string; for example \"1/3 + 1/6\""]
    {"expression":12}
      ["/expression: must be a string and is the number 12; for example \"1/3 + 1/6\""]
    {"expression":""}
      ["/expression: must have at least 1 character and has 0; for example \"1/3 + 1/6\""]
    {"expression":"1","round":2}
      ["/round: must be an object or null and is the number 2"]
    {"expression":"1","round":{"places":101}}
      ["/round/places: must be at most 100 and is 101; for example 2"]
    {"expression":"1","round":{"places":2,"mode":"bankers"}}
      ["/round/mode: must be \"half_up\", \"half_even\", \"half_down\", \"up\", \"down\", \"ceiling\" or \"floor\" and is the string \"bankers\"; for example \"half_up\""]
    {"expression":"1","round":{"mode":"up"}}
      ["/round/places: is required and missing; give a whole number; for example 2"]
    "#);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_it_declares() {
    let open = calculator().await;
    let tool = open.host.tool(&CallerName("local".to_owned()), None, "calc.evaluate").unwrap().tool;
    assert_eq!((tool.needs.len(), tool.permissions.len()), (0, 0), "it needs nothing");
    assert_snapshot!(
        format!("{:?}, {:?}, {:?}\n{}", tool.risk, tool.repeat, tool.cleanup, tool.description),
        @"
    L1, Reads, Nothing
    Calculates exactly, with fractions and never with floating point; use it for every sum of money. + - * / ^ (whole exponents) and parentheses; decimals with a point, no thousands separators (1_000 will do). Percent: `19% of 49.90`. A percentage that is added to a number or taken from it is a share of that number, as on a till: `200 + 10%` is 220; anywhere else a percentage is hundredths: `200 * 10%` is 20. Functions: round(x, places, mode), floor, ceil, abs, min, max, sum, avg, mod(a, b) for the remainder. `round` rounds the result; each step before it is exact. The answer is text, to be used as it stands: `exact` as a fraction, `decimal`, and `rounded` where it was asked for.
    "
    );
    assert_json_snapshot!(tool.input_schema, @r#"
    {
      "type": "object",
      "properties": {
        "expression": {
          "type": "string",
          "description": "One expression in numbers: `19% of 49.90`, `sum(12.50, 3 * 4.99) + 19%`, `(1 + 0.035/12)^360`.",
          "examples": [
            "1/3 + 1/6"
          ],
          "minLength": 1,
          "maxLength": 4000
        },
        "round": {
          "type": [
            "object",
            "null"
          ],
          "properties": {
            "places": {
              "type": "integer",
              "maximum": 100,
              "description": "Digits after the decimal point; -2 rounds to hundreds.",
              "examples": [
                2
              ],
              "minimum": -100
            },
            "mode": {
              "oneOf": [
                {
                  "type": "string",
                  "const": "half_up",
                  "description": "To the nearer one; from the middle away from zero, as trade does: 2.5 to 3, -2.5 to -3."
                },
                {
                  "type": "string",
                  "const": "half_even",
                  "description": "To the nearer one; from the middle to the even one, as banks do: 2.5 to 2, 3.5 to 4."
                },
                {
                  "type": "string",
                  "const": "half_down",
                  "description": "To the nearer one; from the middle towards zero: 2.5 to 2, -2.5 to -2."
                },
                {
                  "type": "string",
                  "const": "up",
                  "description": "Away from zero: 2.1 to 3, -2.1 to -3."
                },
                {
                  "type": "string",
                  "const": "down",
                  "description": "Towards zero: 2.9 to 2, -2.9 to -2."
                },
                {
                  "type": "string",
                  "const": "ceiling",
                  "description": "To the larger one: 2.1 to 3, -2.9 to -2."
                },
                {
                  "type": "string",
                  "const": "floor",
                  "description": "To the smaller one: 2.9 to 2, -2.1 to -3."
                }
              ],
              "description": "Which way to go from between two.",
              "default": "half_up"
            }
          },
          "required": [
            "places"
          ],
          "description": "Asks for the result rounded, beside the exact one; for money, to the places of its currency.",
          "additionalProperties": false
        }
      },
      "required": [
        "expression"
      ],
      "additionalProperties": false
    }
    "#);
    assert_json_snapshot!(tool.output_schema, @r#"
    {
      "type": "object",
      "properties": {
        "exact": {
          "type": [
            "string",
            "null"
          ],
          "description": "The value as an integer or a fraction in lowest terms: `1/2`. Missing beyond 1000 digits."
        },
        "decimal": {
          "type": "string",
          "description": "The value as a decimal: `0.5`."
        },
        "decimal_is_exact": {
          "type": "boolean",
          "description": "Whether `decimal` is the value itself; else it is rounded to about 20 digits after the point."
        },
        "repeating": {
          "type": [
            "string",
            "null"
          ],
          "description": "For a decimal without end, the digits that repeat in parentheses: `0.1(6)`. Missing where they are many."
        },
        "rounded": {
          "type": [
            "string",
            "null"
          ],
          "description": "The value rounded as `round` asked, with all its places: `0.50`."
        }
      },
      "required": [
        "decimal",
        "decimal_is_exact"
      ]
    }
    "#);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_who_may_do_nothing_else_may_calculate() {
    let open = open(&[CALC], "[callers.child]\nmax_risk = \"L1\"\n").await;
    let call = request("calc.evaluate", &json!({ "expression": "1 + 1" }));
    let reply = open.host.call(Request { caller: CallerName("child".to_owned()), ..call }).await;
    assert_eq!(body(&reply)["exact"], "2");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_expression_ends_in_an_error_of_its_own() {
    let open = calculator().await;
    let nested = |depth: usize| format!("{}1{}", "(".repeat(depth), ")".repeat(depth));
    let terms = |term: &str, sign: &str| {
        let count = (4000 + sign.len()) / (term.len() + sign.len());
        vec![term; count].join(sign)
    };
    let cases = [
        ("9^9^9^9".to_owned(), "TOO_LARGE"),
        ("1e4000000000".to_owned(), "TOO_LARGE"),
        ("-(2^-(9^9999))".to_owned(), "TOO_LARGE"),
        (nested(10_000), "INVALID_INPUT"),
        ("9".repeat(1_000_000), "INVALID_INPUT"),
        (nested(1999), "ok"),
        ("-".repeat(3999) + "1", "ok"),
        ("2^".repeat(1999) + "1", "TOO_LARGE"),
        ("(".repeat(4000), "SYNTAX_ERROR"),
        ("min(".repeat(1000), "SYNTAX_ERROR"),
        ("9".repeat(4000), "ok"),
        (terms("1/7^9000", "+"), "TOO_LARGE"),
        (terms("1e400", "*"), "TOO_LARGE"),
        (terms("1e-400", "+"), "ok"),
        (terms("1/(3^99+1)", "-1/7^99-"), "ok"),
        // Two long fractions that differ late, whose quotients are equal for thousands of steps.
        ("max((1+1.0035)^600/3^700,(1+1.0035)^600/3^700+1/10^8000)".to_owned(), "ok"),
        ("max(1,".repeat(600) + "1" + &")".repeat(300), "SYNTAX_ERROR"),
        ("\u{202e}1+\u{0}1".to_owned(), "SYNTAX_ERROR"),
        ("١+١".to_owned(), "SYNTAX_ERROR"),
    ];
    for (expression, wanted) in cases {
        let reply = open.call("calc.evaluate", json!({ "expression": expression })).await;
        let shown: String = expression.chars().take(60).collect();
        assert_eq!(code(&reply), wanted, "{shown}: {}", body(&reply));
        if expression.starts_with("1/7^9000+") {
            let why =
                "the numbers get too long to go on exactly; round what comes before, as in round(x, 20)";
            assert!(body(&reply)["message"].as_str().unwrap().contains(why), "{}", body(&reply));
        }
    }
    assert_eq!(open.evaluate("1 + 1").await["exact"], "2");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_its_page_shows_is_what_it_answers() {
    let open = calculator().await;
    let page = text_of("plugins/calc/README.md").expect("the page is text");
    let mut shown = 0;
    for block in page.split("```console\n$ airlock call calc.evaluate '").skip(1) {
        let (input, answer) = block.split_once("'\n").unwrap();
        let answer: Value = serde_json::from_str(answer.split_once("```").unwrap().0).unwrap();
        assert_eq!(open.data("calc.evaluate", serde_json::from_str(input).unwrap()).await, answer);
        shown += 1;
    }
    assert_eq!(shown, 2);
}
