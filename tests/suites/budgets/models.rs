//! What models cost: told by agents, priced by the operator, entered once with the call that it is told with.

use airlock::host::{Host, Request};
use airlock::model::price::ModelUsage;
use airlock_tests::world::{body, code, keyed, request};
use serde_json::{Value, json};

use super::super::call::record;
use super::{DAY, open, spends, sums, sums_of, world};

const PRICES: &str = "[budgets]\ncurrency = \"EUR\"\nday = \"0.01\"\n\
                      [prices.\"big-1\"]\ninput = \"3.00\"\noutput = \"15.00 EUR\"\n";

fn told(model: &str, input_tokens: u64, output_tokens: u64, call: Request) -> Request {
    Request { usage: Some(ModelUsage { model: model.to_owned(), input_tokens, output_tokens }), ..call }
}

fn costs(host: &Host, reply: &airlock::model::reply::Reply) -> Value {
    serde_json::to_value(record(host, reply).costs).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_model_used_is_entered_with_its_price_beside_what_the_tool_spent() {
    let (host, _clock) = open(&world(PRICES)).await;
    for tool in ["notebook.priced", "notebook.read"] {
        let spend = if tool == "notebook.read" { 0 } else { 7 };
        let reply = host.call(told("big-1", 1000, 100, spends(tool, spend))).await;
        assert_eq!(reply.meta.cost_micros, 4500 + spend, "{tool}");
        assert_eq!(
            costs(&host, &reply),
            json!([
                {
                    "attempt": 1, "category": "llm", "what": "big-1", "micros": 4500,
                    "input_tokens": 1000, "output_tokens": 100, "priced": true,
                },
                { "attempt": 1, "category": "tool", "what": "tea", "micros": spend },
            ])
        );
    }
    assert_eq!(sums(&host, "all callers"), sums_of(9007, 0));
    let spent = host.costs(DAY, None).unwrap().costs;
    let of = |category: &str| spent.categories.iter().find(|of| of.category == category).unwrap();
    let llm = of("llm");
    assert_eq!(
        (llm.entries, llm.micros, llm.input_tokens, llm.output_tokens, llm.unpriced),
        (2, 9000, 2000, 200, 0)
    );
    assert_eq!((of("tool").entries, of("tool").micros, spent.micros), (2, 7, 9007));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_spent_on_models_counts_and_once_the_day_is_over_its_limit_the_agent_is_stopped() {
    let (host, _clock) = open(&world(PRICES)).await;
    let call = |key: &str| told("big-1", 2000, 0, keyed("notebook.bare", &json!({ "lines": [] }), key));
    assert!(host.call(call("a")).await.ok());
    assert!(host.call(call("b")).await.ok(), "6000 of 10000 are no more than that");
    let replayed = host.call(call("b")).await;
    assert!(replayed.meta.replayed);
    assert_eq!(sums(&host, "all callers"), sums_of(12_000, 0), "what is told again is not entered again");
    let refused = host.call(call("c")).await;
    assert_eq!(code(&refused), "BUDGET_EXCEEDED");
    assert_eq!(body(&refused)["details"]["left_micros"], 0);
    assert_eq!(sums(&host, "all callers"), sums_of(12_000, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_without_a_price_is_entered_with_its_tokens_and_costs_nothing() {
    let (host, _clock) = open(&world(PRICES)).await;
    let reply = host.call(told("unheard-of", 5, 6, request("notebook.read", &json!({ "lines": [] })))).await;
    assert_eq!(reply.meta.cost_micros, 0);
    assert_eq!(
        costs(&host, &reply),
        json!([{
            "attempt": 1, "category": "llm", "what": "unheard-of", "micros": 0,
            "input_tokens": 5, "output_tokens": 6, "priced": false,
        }])
    );
    assert_eq!(host.costs(DAY, None).unwrap().costs.categories[0].unpriced, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_counted_is_refused_and_not_wrapped() {
    let (host, _clock) = open(&world("[prices.gold]\ninput = \"1000000000\"\noutput = \"0\"\n")).await;
    for tokens in [u64::MAX, 1_000_000_000_001, 1_000_000_000_000] {
        let refused = host.call(told("gold", tokens, 0, spends("notebook.priced", 1))).await;
        assert_eq!(code(&refused), "INVALID_INPUT", "{tokens}");
    }
    assert!(host.runs(None, 10).unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_asked_for_again_is_charged_with_what_its_agent_used_since() {
    let (host, _clock) = open(&world(PRICES)).await;
    let lines = json!({ "lines": ["spend 5 tea", "fail"] });
    let first = host.call(told("big-1", 100, 0, keyed("notebook.priced", &lines, "k"))).await;
    assert_eq!((code(&first).as_str(), first.meta.cost_micros), ("NOT_NOW", 305));
    let again = host.call(told("big-1", 200, 0, keyed("notebook.priced", &lines, "k"))).await;
    assert_eq!((again.meta.attempts, again.meta.cost_micros), (2, 910));
    let entries = record(&host, &again).costs.into_iter();
    let entries: Vec<_> = entries.map(|cost| (cost.attempt, cost.category.word(), cost.micros)).collect();
    assert_eq!(entries, [(1, "llm", 300), (1, "tool", 5), (2, "llm", 600), (2, "tool", 5)]);
    assert_eq!(sums(&host, "all callers"), sums_of(910, 0));
}
