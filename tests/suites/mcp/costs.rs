//! What an agent says of its model's use, over MCP: entered with the call, priced, and refused where it cannot be read.

use airlock_tests::guests;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::conversations::airlock;
use super::{Scene, text};

const PRICES: &str = "[budgets]\ncurrency = \"EUR\"\nday = \"0.004\"\n\
                      [prices.\"big-1\"]\ninput = \"3.00\"\noutput = \"15.00\"\n";

fn usage(input: u64, output: u64) -> Value {
    json!({ "airlock/usage": { "model": "big-1", "input_tokens": input, "output_tokens": output } })
}

#[test]
fn an_agent_tells_what_its_model_used_and_is_stopped_once_the_day_is_spent() {
    let scene = Scene::with(&[guests::ECHO], PRICES);
    let mut client = scene.client();
    client.begin();
    let mut echo = |meta: &Value| client.call("echo__echo", &json!({ "text": "x" }), meta);
    let first = echo(&usage(1000, 100));
    assert_eq!(first["_meta"]["airlock/meta"]["cost_micros"], 4500);
    let refused = echo(&usage(1, 0));
    assert_eq!(refused["isError"], true);
    let said = text(&refused);
    // What follows is when to come back.
    let (said, _) = said.split_once("UTC").unwrap_or((said, ""));
    assert_snapshot!(said, @"BUDGET_EXCEEDED: of the 0.004 EUR that all callers may spend in a day nothing is left; nothing was run. The next day begins at midnight,");
    let free = echo(&json!({}));
    assert_eq!(free["isError"], false, "what costs nothing goes on");
}

#[test]
fn a_model_without_a_price_is_named_to_who_can_set_one() {
    let scene = Scene::with(&[guests::ECHO], PRICES);
    let mut client = scene.client();
    client.begin();
    for model in ["small-2", "big-1", "small-2"] {
        let usage = json!({ "airlock/usage": { "model": model, "input_tokens": 1000, "output_tokens": 0 } });
        client.call("echo__echo", &json!({ "text": "x" }), &usage);
    }
    let costs = airlock(&scene, &["costs"]);
    let said = costs.lines().find(|line| line.contains("price"));
    assert_eq!(
        said,
        Some("there are models without a price: small-2; [prices.\"small-2\"] sets one"),
        "{costs}"
    );
}

#[test]
fn usage_that_cannot_be_read_is_not_left_out_of_the_sum() {
    let scene = Scene::with(&[guests::ECHO], PRICES);
    let mut client = scene.client();
    client.begin();
    let mut refusals = Vec::new();
    for usage in [
        json!("much"),
        json!({ "model": "big-1", "input_tokens": 1 }),
        json!({ "model": "big-1", "input_tokens": -1, "output_tokens": 0 }),
        json!({ "model": "big-1", "input_tokens": 1.5, "output_tokens": 0 }),
        json!({ "model": "big-1", "input_tokens": 1, "output_tokens": 0, "cached": 7 }),
        json!({ "model": "", "input_tokens": 1, "output_tokens": 0 }),
        json!({ "model": "big-1", "input_tokens": 1_000_000_000_001_u64, "output_tokens": 0 }),
    ] {
        let call = json!({ "name": "echo__echo", "arguments": { "text": "x" }, "_meta": { "airlock/usage": usage } });
        let answer = client.ask("tools/call", &call);
        refusals.push((answer["error"]["code"].clone(), answer["error"]["message"].clone()));
    }
    refusals.dedup();
    assert_snapshot!(json!(refusals), @r#"[[-32602,"`_meta[\"airlock/usage\"]` must be {\"model\": TEXT, \"input_tokens\": NUMBER, \"output_tokens\": NUMBER}, in whole numbers of at most 1000000000000"]]"#);
}
