//! What calls cost, as `airlock costs` tells it: by category, by name, the largest, and what is left today.

use airlock_tests::guests;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{Place, Ran, told};

const BUDGETS: &str = "[budgets]\ncurrency = \"EUR\"\nday = \"0.01\"\ncall = \"0.003\"\n\
                       [callers.bot]\nmax_risk = \"L3\"\nbudget = { day = \"0.004\" }\n";

fn place(lines: &str) -> Place {
    let place = Place::with_config(lines);
    place.with_plugin(guests::NOTEBOOK);
    place
}

fn spend(place: &Place, tool: &str, caller: &str, lines: &Value) -> Ran {
    place.airlock(&["call", tool, &json!({ "lines": lines }).to_string(), "--as", caller])
}

/// The same with the end of the day made equal.
fn shown(ran: &Ran) -> String {
    told(&ran.to_string())
}

#[test]
fn what_was_spent_is_summed_up_and_the_five_largest_are_shown() {
    let place = place(BUDGETS);
    for (tool, caller, lines) in [
        ("notebook.priced", "bot", json!(["spend 500 tea"])),
        ("notebook.bare", "bot", json!(["spend 1500 paper", "spend 20 ink", "spend 30 \u{1b}[2Jair"])),
        ("notebook.priced", "local", json!(["spend 499 tea"])),
        ("notebook.bare", "local", json!(["spend 2000 paper", "spend 3000 more than may be"])),
    ] {
        let ran = spend(&place, tool, caller, &lines);
        assert_eq!(ran.exit, Some(0), "{ran}");
    }
    let refused = spend(&place, "notebook.bare", "bot", &json!([]));
    assert_snapshot!(shown(&refused), @"
    exit 1
    -- out
    -- err
    error[BUDGET_EXCEEDED]: the call may cost 0.003 EUR, and of the 0.004 EUR that the caller bot may spend in a day 0.00195 EUR is left; nothing was run. The next day begins at midnight, UTC
    hint: `airlock explain BUDGET_EXCEEDED` says what to do
    ");
    assert_snapshot!(shown(&place.airlock(&["costs", "--by", "caller"])), @r"
    exit 0
    -- out
    BY    ENTRIES  TOKENS IN  TOKENS OUT  COST
    tool  6                               0.004549 EUR
    all   6                               0.004549 EUR

    CALLER  ENTRIES  COST
    local   2        0.002499 EUR
    bot     4        0.00205 EUR

    LARGEST                     TOOL             BY    WHAT          COST
    0100000000000000000000RUN1  notebook.bare    tool  paper         0.002 EUR
    0100000000000000000000RUN2  notebook.bare    tool  paper         0.0015 EUR
    0100000000000000000000RUN3  notebook.priced  tool  tea           0.0005 EUR
    0100000000000000000000RUN4  notebook.priced  tool  tea           0.000499 EUR
    0100000000000000000000RUN2  notebook.bare    tool  \u{1b}[2Jair  0.00003 EUR

    BUDGET OF TODAY  LIMIT      SPENT         HELD      LEFT
    all callers      0.01 EUR   0.004549 EUR  0.00 EUR  0.005451 EUR
    the caller bot   0.004 EUR  0.00205 EUR   0.00 EUR  0.00195 EUR

    until 2026-01-31T08:00:00.000Z
    -- err
    ");
    let document = place.airlock(&["costs", "--by", "tool", "--json"]).document();
    assert_eq!(
        document["data"]["costs"]["sums"],
        json!([
            { "name": "notebook.bare", "entries": 4, "micros": 3550 },
            { "name": "notebook.priced", "entries": 2, "micros": 999 },
        ])
    );
    assert_eq!(document["data"]["currency"], "EUR");
    assert_eq!(
        document["data"]["budgets"],
        json!([
            {
                "budget": "all callers", "limit_micros": 10_000,
                "spent_micros": 4549, "held_micros": 0, "left_micros": 5451,
            },
            {
                "budget": "the caller bot", "limit_micros": 4000,
                "spent_micros": 2050, "held_micros": 0, "left_micros": 1950,
            },
        ])
    );
    let stats = place.airlock(&["stats", "--json"]).document();
    let costs =
        stats["data"]["tools"].as_array().unwrap().iter().map(|tool| tool["cost_micros"].as_u64().unwrap());
    assert_eq!(costs.sum::<u64>(), document["data"]["costs"]["micros"].as_u64().unwrap());
}

#[test]
fn sums_by_user_and_by_day_have_names_that_people_read() {
    let place = place("");
    let lines = json!({ "lines": ["spend 5 tea"] }).to_string();
    place.airlock(&["call", "notebook.bare", &lines, "--user", "ada"]);
    place.airlock(&["call", "notebook.bare", &lines]);
    let names = |by: &str| {
        let document = place.airlock(&["costs", "--by", by, "--json"]).document();
        let sums = document["data"]["costs"]["sums"].as_array().unwrap().clone();
        sums.iter().map(|sum| sum["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names("user"), ["ada of local", "local"]);
    let days = names("day");
    let is_day = |day: &String| day.len() == 10 && day.split('-').all(|part| part.parse::<u32>().is_ok());
    assert!(!days.is_empty() && days.iter().all(is_day), "{days:?}");
}

#[test]
fn where_nothing_was_spent_it_says_so_and_still_shows_the_budgets() {
    let bare = Place::with_config("");
    assert_snapshot!(bare.airlock(&["costs"]), @"
    exit 0
    -- out
    -- err
    nothing was spent within 1day; `airlock costs --since 30days` looks further back
    ");
    assert_eq!(bare.airlock(&["costs", "--json"]).document()["data"]["costs"]["categories"], json!([]));
    let bounded = Place::with_config("[budgets]\nday = \"20\"\n");
    assert_snapshot!(shown(&bounded.airlock(&["costs", "--since", "2h"])), @"
    exit 0
    -- out
    BUDGET OF TODAY  LIMIT  SPENT  HELD  LEFT
    all callers      20.00  0.00   0.00  20.00

    until 2026-01-31T08:00:00.000Z
    -- err
    nothing was spent within 2h; `airlock costs --since 30days` looks further back
    ");
}

#[test]
fn what_cannot_be_understood_is_told() {
    let place = Place::with_config("");
    assert_snapshot!(place.airlock(&["costs", "--by", "colour"]), @"
    exit 2
    -- out
    -- err
    error: invalid value 'colour' for '--by <BY>'
      [possible values: caller, user, tool, day]

    For more information, try '--help'.
    ");
    assert_snapshot!(place.airlock(&["costs", "--since", "monday"]), @"
    exit 2
    -- out
    -- err
    error: invalid value 'monday' for '--since <TIME>': a time with its unit, such as 30m, 24h or 7days

    For more information, try '--help'.
    ");
}
