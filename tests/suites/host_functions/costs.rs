//! What calls cost: entered with their end, whatever that is, and never beyond what the tool declares.

use airlock_tests::world::code;
use insta::assert_snapshot;
use serde_json::json;

use super::{answers, asked, call, call_keyed, world};

#[tokio::test(flavor = "multi_thread")]
async fn what_a_call_spends_is_told_with_its_reply_and_shown_with_its_run() {
    let host = world().open().await;
    for tool in ["notebook.bare", "notebook.read"] {
        let reply = call_keyed(&host, tool, &["spend 20 tea", "spend 0 air", "spend 22 tea"], tool).await;
        assert_eq!((answers(&reply).as_str(), reply.meta.cost_micros), ("done\ndone\ndone", 42));
        let run = host.run(&reply.meta.run.unwrap().to_string()).unwrap();
        assert_eq!(
            serde_json::to_value(&run.costs).unwrap(),
            json!([
                { "attempt": 1, "category": "tool", "what": "air", "micros": 0 },
                { "attempt": 1, "category": "tool", "what": "tea", "micros": 42 },
            ])
        );
        let again = call_keyed(&host, tool, &["spend 20 tea", "spend 0 air", "spend 22 tea"], tool).await;
        assert_eq!(
            (again.meta.replayed, again.meta.cost_micros),
            (true, 42),
            "what is given again costs nothing"
        );
    }
    assert_eq!(call(&host, "notebook.bare", &[]).await.meta.cost_micros, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reading_call_without_a_key_is_told_only_once_its_cost_is_written() {
    let world = world();
    let host = world.open().await;
    let reply = call(&host, "notebook.read", &["spend 7 tea"]).await;
    let run = world.open().await.run(&reply.meta.run.unwrap().to_string()).unwrap();
    assert_eq!(run.costs.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_spent_is_entered_when_the_call_fails_and_adds_up_over_its_attempts() {
    let world = world().with_config("[tools.\"notebook.bare\"]\ntimeout = \"300ms\"");
    let host = world.open().await;
    for (end, ends) in [("reject", "NEVER"), ("trap", "INTERNAL"), ("spin", "TIME_LIMIT")] {
        let reply = call(&host, "notebook.bare", &["spend 5 tea", end]).await;
        assert_eq!((code(&reply).as_str(), reply.meta.cost_micros), (ends, 5));
    }
    let lines = ["spend 5 tea", "fail"];
    assert_eq!(call_keyed(&host, "notebook.bare", &lines, "k").await.meta.cost_micros, 5);
    let again = call_keyed(&host, "notebook.bare", &lines, "k").await;
    assert_eq!((again.meta.attempts, again.meta.cost_micros), (2, 10));
    let run = host.run(&again.meta.run.unwrap().to_string()).unwrap();
    let attempts: Vec<(u32, u64)> = run.costs.iter().map(|cost| (cost.attempt, cost.micros)).collect();
    assert_eq!(attempts, [(1, 5), (2, 5)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_call_spends_beyond_what_its_tool_declares_over_all_attempts() {
    let host = world().open().await;
    assert_snapshot!(asked(&host, "notebook.priced", &["spend 300 a", "spend 201 b", "spend 200 c", "spend 1 d"]).await, @r"
    done
    refused: the call would cost 501 millionths, and its tool declares 500 at most
    done
    refused: the call would cost 501 millionths, and its tool declares 500 at most
    ");
    let lines = ["spend 300 a", "fail"];
    assert_eq!(code(&call_keyed(&host, "notebook.priced", &lines, "k").await), "NOT_NOW");
    let again = call_keyed(&host, "notebook.priced", &lines, "k").await;
    assert_eq!(
        answers(&again),
        "refused: the call would cost 600 millionths, and its tool declares 500 at most\nnothing is asked for"
    );
    assert_eq!(again.meta.cost_micros, 300);
}

#[tokio::test(flavor = "multi_thread")]
async fn sums_do_not_overflow_and_things_are_bounded() {
    let host = world().open().await;
    let most = u64::MAX >> 1;
    let all = format!("spend {most} all");
    let reply =
        call(&host, "notebook.bare", &[&all, "spend 1 more", "spend 18446744073709551615 more"]).await;
    assert_snapshot!(answers(&reply), @r"
    done
    refused: a call costs 9223372036854775807 millionths at most
    refused: a call costs 9223372036854775807 millionths at most
    ");
    assert_eq!(reply.meta.cost_micros, most);
    let things: Vec<String> = (0..101).map(|n| format!("spend 1 thing{n}")).collect();
    let lines: Vec<&str> = things.iter().map(String::as_str).chain(["spend 1 thing7"]).collect();
    let told = asked(&host, "notebook.bare", &lines).await;
    let told: Vec<&str> = told.lines().collect();
    assert_eq!(told[100], "refused: one attempt spends on at most 100 things");
    assert_eq!((told[99], told[101]), ("done", "done"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_cost_is_for_is_told_without_secrets() {
    let world = world()
        .with_config("[secrets]\ntoken = { env = \"TOKEN\" }")
        .with_variable("TOKEN", "correct-horse-battery-staple");
    let host = world.open().await;
    let reply = call(&host, "notebook.bare", &["spend 1 correct-horse-battery-staple"]).await;
    let run = host.run(&reply.meta.run.unwrap().to_string()).unwrap();
    assert!(!run.costs[0].what.contains("horse"), "{}", run.costs[0].what);
}
