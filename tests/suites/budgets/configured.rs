//! What budgets and prices in the configuration may be, and what is said of those that may not.

use std::path::Path;

use airlock::config::Config;
use airlock::model::budget::Allowance;
use airlock::model::id::CallerName;
use airlock::model::price::Price;
use insta::assert_snapshot;

fn parse(text: &str) -> Result<Config, String> {
    Config::parse(text, Path::new("airlock.toml"), &|_| None).map_err(|faults| faults.to_string())
}

fn faults(text: &str) -> String {
    parse(text).expect_err("it has a fault")
}

#[test]
fn amounts_are_resolved_to_millionths_of_one_currency() {
    let config = parse(
        "[budgets]\nday = \"20 EUR\"\ncall = \"0.5\"\n[prices.\"m-1\"]\ninput = \"3\"\noutput = \"0.000001 EUR\"\n\
         [callers.bot]\npermissions = [\"a\"]\nbudget = { day = \"5\" }\n\
         [callers.bot.users.ada]\nbudget = { call = \"0\" }\n[callers.bot.users.\"*\"]\npermissions = []\n",
    )
    .unwrap();
    assert_eq!(config.budgets.currency.unwrap().to_string(), "EUR");
    assert_eq!(config.budgets.all, Allowance { call: Some(500_000), day: Some(20_000_000) });
    assert_eq!(config.prices["m-1"], Price { input: 3_000_000, output: 1 });
    let bot = &config.callers[&CallerName("bot".to_owned())];
    assert_eq!(bot.budgets.own, Allowance { call: None, day: Some(5_000_000) });
    let ada = "ada".parse().unwrap();
    assert_eq!(bot.budgets.users[&ada], Allowance { call: Some(0), day: None });
    assert_eq!(bot.budgets.others, Allowance::default());
    assert!(!bot.users.contains_key(&ada), "a budget says nothing of permissions");
}

#[test]
fn a_model_without_a_name_has_no_price() {
    for name in ["", "a\\u0007b", &"m".repeat(201)] {
        let told = faults(&format!("[prices.\"{name}\"]\ninput = \"1\"\noutput = \"1\"\n"));
        let is = "a model is named as its agents name it: 1 to 200 characters";
        assert_eq!((told.contains(is), told.matches("error: ").count()), (true, 1), "{told}");
    }
}

#[test]
fn an_amount_that_is_none_is_shown_with_its_line() {
    assert_snapshot!(faults("[budgets]\nday = \"-1\"\ncall = \"0.0000001\"\n"), @r#"
    error: `budgets.day` cannot be read
     --> airlock.toml:2:7
      |
    2 | day = "-1"
      |       ^^^^ an amount is not negative; "0" is nothing at all

    error: `budgets.call` cannot be read
     --> airlock.toml:3:8
      |
    3 | call = "0.0000001"
      |        ^^^^^^^^^^^ an amount has at most six decimals

    airlock.toml has 2 faults
    "#);
    assert_snapshot!(faults("[budgets]\nday = 20.5\n[callers.bot]\nbudget = { day = \"much\" }\n"), @r#"
    error: `budgets.day` is a number
     --> airlock.toml:2:7
      |
    2 | day = 20.5
      |       ^^^^ an amount in quotes, such as "20.00" or "20 EUR"
      |
      = help: write it in quotes

    error: `callers.bot.budget.day` cannot be read
     --> airlock.toml:4:18
      |
    4 | budget = { day = "much" }
      |                  ^^^^^^ an amount in quotes, such as "20.00" or "20 EUR"

    airlock.toml has 2 faults
    "#);
    assert_snapshot!(faults("[budgets]\ncurrency = \"euro\"\nday = \"9999999999999\"\n"), @r#"
    error: `budgets.currency` cannot be read
     --> airlock.toml:2:12
      |
    2 | currency = "euro"
      |            ^^^^^^ a currency is three capital letters, such as EUR

    error: `budgets.day` cannot be read
     --> airlock.toml:3:7
      |
    3 | day = "9999999999999"
      |       ^^^^^^^^^^^^^^^ an amount is at most 1000000000

    airlock.toml has 2 faults
    "#);
}

#[test]
fn a_negative_price_and_one_that_is_half_there_are_faults() {
    assert_snapshot!(faults("[prices.\"m-1\"]\ninput = \"-3\"\noutput = \"1\"\n[prices.\"m-2\"]\ninput = \"3\"\n"), @r#"
    error: `prices.m-1.input` cannot be read
     --> airlock.toml:2:9
      |
    2 | input = "-3"
      |         ^^^^ an amount is not negative; "0" is nothing at all

    error: `prices."m-2"` lacks `output`
     --> airlock.toml:4:9
      |
    4 | [prices."m-2"]
      |         ^^^^^ needs `output`
      |
      = help: output = "3.00", for a million tokens; "0" where it is free

    airlock.toml has 2 faults
    "#);
}

#[test]
fn two_currencies_are_a_fault_wherever_they_stand() {
    assert_snapshot!(faults("[budgets]\ncurrency = \"EUR\"\nday = \"20 USD\"\n"), @r#"
    error: this amount is in USD, and the others are in EUR
     --> airlock.toml:3:7
      |
    3 | day = "20 USD"
      |       ^^^^^^^^ an amount in the one currency of all
      |
      = help: write it in EUR; nothing is exchanged. `currency` under [budgets] says what all are in
    "#);
    assert_snapshot!(faults(
        "[prices.m]\ninput = \"3 USD\"\noutput = \"1\"\n[callers.bot.users.ada]\nbudget = { day = \"1 EUR\" }\n"
    ), @r#"
    error: this amount is in EUR, and the others are in USD
     --> airlock.toml:5:18
      |
    5 | budget = { day = "1 EUR" }
      |                  ^^^^^^^ an amount in the one currency of all
      |
      = help: write it in USD; nothing is exchanged. `currency` under [budgets] says what all are in
    "#);
}

#[test]
fn a_budget_stands_with_the_caller_whose_it_is() {
    assert_snapshot!(faults("[budgets.bot]\nday = \"1\"\n"), @r#"
    error: unknown setting `budgets.bot`
     --> airlock.toml:1:10
      |
    1 | [budgets.bot]
      |          ^^^ not a setting of `budgets`
      |
      = help: the settings here are currency, day, call
    "#);
    assert_snapshot!(faults("[callers.local]\nbudget = { day = \"1\" }\n"), @r#"
    error: `local` cannot be a name under `callers`
     --> airlock.toml:1:10
      |
    1 | [callers.local]
      |          ^^^^^ `local` is the person at the command line, who may do everything
    "#);
}
