//! Calls for which too little is left: which budget, how much is left, when that ends, and that nothing is left behind.

use std::sync::Arc;

use airlock::host::{Host, Request, Seams};
use airlock::model::id::CallerName;
use airlock_tests::flaky::Flaky;
use airlock_tests::world::{body, code, request};
use insta::assert_snapshot;
use serde_json::json;

use super::super::call::{assert_stored, shown};
use super::{DAY, REST_OF_DAY, answers, open, open_at, spends, spends_keyed, sums, sums_of, world};

const DAYS: &str = "[budgets]\ncurrency = \"EUR\"\nday = \"0.0012\"\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_call_for_which_too_little_is_left_is_not_begun_and_leaves_nothing() {
    let (host, clock) = open(&world(DAYS)).await;
    let first = host.call(spends_keyed("notebook.priced", 500, "first")).await;
    assert_eq!((answers(&first), first.meta.cost_micros), (vec!["done".to_owned()], 500));
    assert!(host.call(spends("notebook.priced", 250)).await.ok());
    let refused = host.call(spends_keyed("notebook.priced", 1, "k")).await;
    assert_snapshot!(shown(&refused), @r#"
    {
      "ok": false,
      "error": {
        "code": "BUDGET_EXCEEDED",
        "kind": "denied",
        "message": "the call may cost 0.0005 EUR, and of the 0.0012 EUR that all callers may spend in a day 0.00045 EUR is left; nothing was run. The next day begins at midnight, UTC",
        "retryable": false,
        "action": "stop",
        "retry_after_ms": 57600000,
        "details": {
          "budget": "all callers",
          "limit_micros": 1200,
          "left_micros": 450,
          "asked_micros": 500
        }
      },
      "meta": {
        "attempts": 0,
        "duration_ms": "COUNTED",
        "fuel": 0,
        "memory_bytes": 0,
        "effects": 0,
        "cost_micros": 0,
        "replayed": false,
        "trace_id": "TRACE"
      }
    }
    "#);
    assert_eq!(host.runs(None, 10).unwrap().len(), 2);
    assert_eq!(sums(&host, "all callers"), sums_of(750, 0));
    // What was done is told again, and what costs nothing goes on.
    assert_stored(&first, &host.call(spends_keyed("notebook.priced", 500, "first")).await);
    assert!(host.call(request("notebook.bare", &json!({ "lines": [] }))).await.ok());
    clock.forward(REST_OF_DAY);
    let next = host.call(spends_keyed("notebook.priced", 1, "k")).await;
    assert!(next.ok() && !next.meta.replayed, "the key of a refused call is free");
    assert_eq!(sums(&host, "all callers"), sums_of(1, 0));
}

fn asked(caller: &str, user: Option<&str>) -> Request {
    let user = user.map(|user| user.parse().unwrap());
    Request { caller: CallerName(caller.to_owned()), user, ..spends("notebook.priced", 400) }
}

/// How calls of these end, one after another.
async fn ends(host: &Host, calls: &[(&str, Option<&str>)]) -> Vec<String> {
    let mut ends = Vec::new();
    for (caller, user) in calls {
        let reply = host.call(asked(caller, *user)).await;
        let budget = body(&reply)["details"]["budget"].as_str().map(str::to_owned);
        ends.push(budget.unwrap_or_else(|| code(&reply)));
    }
    ends
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_must_fit_the_budgets_of_all_callers_of_its_own_and_of_its_user() {
    let world = world(
        "[budgets]\nday = \"0.0025\"\n\
         [callers.bot]\nmax_risk = \"L3\"\nbudget = { day = \"0.0019\" }\n\
         [callers.bot.users.ada]\nbudget = { day = \"0.0005\" }\n\
         [callers.bot.users.\"*\"]\nbudget = { day = \"0.0009\" }\n\
         [callers.other]\nmax_risk = \"L3\"\n",
    );
    let (host, _clock) = open(&world).await;
    let calls = [
        ("bot", Some("ada")),
        ("bot", Some("ada")),
        ("bot", Some("eve")),
        ("bot", Some("eve")),
        ("bot", Some("eve")),
        ("bot", Some("bob")),
        ("bot", None),
        ("other", Some("ada")),
        ("other", None),
        ("other", None),
    ];
    assert_snapshot!(ends(&host, &calls).await.join("\n"), @"
    ok
    the user ada of the caller bot
    ok
    ok
    the user eve of the caller bot
    ok
    the caller bot
    ok
    ok
    all callers
    ");
    let spent = host.costs(DAY, None).unwrap();
    let lines: Vec<String> = spent
        .budgets
        .iter()
        .map(|one| {
            format!("{}: {} of {}, left {}", one.budget, one.sums.spent, one.limit_micros, one.left_micros)
        })
        .collect();
    assert_snapshot!(lines.join("\n"), @"
    all callers: 2400 of 2500, left 100
    the caller bot: 1600 of 1900, left 300
    the user ada of the caller bot: 400 of 500, left 100
    the user bob of the caller bot: 400 of 900, left 500
    the user eve of the caller bot: 800 of 900, left 100
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_may_cost_more_than_a_day_allows_is_never_begun_and_told_no_time() {
    let (host, _clock) = open(&world("[budgets]\nday = \"0.000499\"\n")).await;
    let refused = host.call(spends("notebook.priced", 1)).await;
    assert_snapshot!(body(&refused)["message"].as_str().unwrap(), @"the call may cost 0.0005, and all callers may spend 0.000499 in a day; nothing was run");
    assert_eq!(body(&refused)["retry_after_ms"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_call_spends_no_more_than_the_strictest_of_its_tool_and_its_budgets() {
    let world = world(
        "[budgets]\nday = \"1\"\ncall = \"0.0004\"\n[callers.bot]\nmax_risk = \"L3\"\nbudget = { call = \"0.0003\" }\n",
    );
    let (host, _clock) = open(&world).await;
    let spend = async |caller: &str, tool: &str, micros| {
        let call = Request { caller: CallerName(caller.to_owned()), ..spends(tool, micros) };
        answers(&host.call(call).await).join("")
    };
    assert_eq!(spend("local", "notebook.priced", 400).await, "done");
    let beyond = "refused: the call would cost 401 millionths, and its budget is 400";
    assert_eq!(spend("local", "notebook.priced", 401).await, beyond);
    assert_eq!(spend("local", "notebook.bare", 401).await, beyond);
    assert_eq!(spend("local", "notebook.read", 400).await, "done");
    let beyond = "refused: the call would cost 301 millionths, and its budget is 300";
    assert_eq!(spend("bot", "notebook.priced", 301).await, beyond);
    assert_eq!(sums(&host, "all callers"), sums_of(800, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn where_a_day_is_bounded_a_tool_that_declares_nothing_spends_nothing() {
    let (host, _clock) = open(&world(DAYS)).await;
    for tool in ["notebook.bare", "notebook.read"] {
        let reply = host.call(spends(tool, 1)).await;
        assert_eq!(
            answers(&reply).join(""),
            "refused: the operator bounds what is spent, and the tool does not declare what it costs"
        );
        assert!(host.call(spends(tool, 0)).await.ok());
    }
    assert_eq!(sums(&host, "all callers"), sums_of(0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_no_budget_concerns_is_written_down_as_if_there_were_none() {
    for (lines, tool, written) in [
        (DAYS, "notebook.read", vec!["record"]),
        ("[budgets]\ncall = \"1\"\n", "notebook.read", vec!["record"]),
        ("[callers.bot]\nbudget = { day = \"1\", call = \"1\" }\n", "notebook.read", vec!["record"]),
        ("[budgets]\nday = \"1\"\ncall = \"0.5\"\n", "notebook.read", vec!["reserve", "settle"]),
        ("[budgets]\nday = \"1\"\ncall = \"0\"\n", "notebook.read", vec!["record"]),
    ] {
        let world = world(lines);
        let seams = Seams::system(&world.config()).unwrap();
        let flaky = Flaky::over(Arc::clone(&seams.store));
        let host = world.open_with(Seams { store: flaky.clone(), ..seams }).await;
        flaky.heal();
        assert!(host.call(spends(tool, 0)).await.ok(), "{lines}");
        host.close().await;
        assert_eq!(flaky.writes(), written, "{lines}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_set_back_over_midnight_brings_no_budget_back() {
    let world = world(DAYS);
    let (host, clock) = open(&world).await;
    let spend = async |host: &Host| code(&host.call(spends("notebook.priced", 500)).await);
    assert_eq!((spend(&host).await, spend(&host).await), ("ok".to_owned(), "ok".to_owned()));
    assert_eq!(spend(&host).await, "BUDGET_EXCEEDED");
    clock.forward(REST_OF_DAY + DAY / 48);
    assert_eq!(spend(&host).await, "ok");
    clock.back(DAY / 24);
    assert_eq!(spend(&host).await, "BUDGET_EXCEEDED", "it is half an hour before midnight again");
    host.close().await;
    let host = open_at(&world, &clock).await;
    clock.forward(DAY / 24);
    assert_eq!(sums(&host, "all callers"), sums_of(500, 0));
    assert_eq!(spend(&host).await, "ok");
    assert_eq!(spend(&host).await, "BUDGET_EXCEEDED");
}
