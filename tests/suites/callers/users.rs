//! What a caller does for its users: permissions narrow, and keys, runs and results are apart.

use airlock::host::Decision;
use airlock::model::id::CallerName;
use airlock_tests::backend::{Fault, Moment};
use airlock_tests::world::{body, code, keyed, request};
use insta::assert_snapshot;
use serde_json::json;

use super::{for_user, order, ticket};
use crate::call::{Scene, as_caller, record, shown, text, with};

const BOT: &str = "
[callers.bot]
permissions = [\"order:read\", \"ticket:write\"]
max_risk = \"L3\"
[callers.bot.users.\"ada@example.com\"]
permissions = [\"order:read\"]
[callers.closed]
permissions = [\"order:read\"]
[callers.closed.users.\"*\"]
[callers.closed.users.eve]
permissions = [\"order:read\"]
";

#[tokio::test(flavor = "multi_thread")]
async fn a_user_is_permitted_at_most_what_the_caller_is() {
    let scene = Scene::desk(BOT).await;
    let host = scene.open().await;
    let mut ends = Vec::new();
    for (caller, user) in [
        ("bot", None),
        ("bot", Some("ada@example.com")),
        ("bot", Some("eve")),
        ("closed", None),
        ("closed", Some("ada@example.com")),
        ("closed", Some("eve")),
        ("closed", Some("Eve")),
    ] {
        let of = |call| match user {
            Some(user) => for_user(caller, user, call),
            None => as_caller(caller, call),
        };
        let read = host.call(of(request("desk.find_order", &order()))).await;
        let write = host.call(of(request("desk.create_ticket", &ticket()))).await;
        ends.push(format!("{caller} for {}: {}, {}", user.unwrap_or("nobody"), code(&read), code(&write)));
    }
    assert_snapshot!(ends.join("\n"), @"
    bot for nobody: ok, ok
    bot for ada@example.com: ok, PERMISSION_DENIED
    bot for eve: ok, ok
    closed for nobody: ok, UNKNOWN_TOOL
    closed for ada@example.com: PERMISSION_DENIED, UNKNOWN_TOOL
    closed for eve: ok, UNKNOWN_TOOL
    closed for Eve: PERMISSION_DENIED, UNKNOWN_TOOL
    ");
    let tickets = scene.backend.counts().tickets.len();
    assert_eq!(tickets, 2, "for nobody, and for eve, of whom nothing is said");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_user_lacks_is_named_before_the_input_is_looked_at() {
    let scene = Scene::desk(BOT).await;
    let host = scene.open().await;
    let call = for_user("bot", "ada@example.com", request("desk.create_ticket", &json!({ "nonsense": 1 })));
    assert_snapshot!(shown(&host.call(call).await), @r#"
    {
      "ok": false,
      "error": {
        "code": "PERMISSION_DENIED",
        "kind": "denied",
        "message": "the user for whom the caller asks lacks a permission that desk.create_ticket asks for: ticket:write",
        "retryable": false,
        "action": "ask_permission",
        "retry_after_ms": 0,
        "details": {
          "missing": [
            "ticket:write"
          ]
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
    assert!(host.runs(None, 10).unwrap().is_empty());
    assert_eq!(scene.backend.counts().connections, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_key_is_another_for_each_user() {
    let scene = Scene::desk(BOT).await;
    let host = scene.open().await;
    let key = || keyed("desk.create_ticket", &ticket(), "k");
    let calls =
        [as_caller("bot", key()), for_user("bot", "eve", key()), for_user("bot", "ann", key()), key()];
    let mut told = Vec::new();
    for call in &calls {
        let reply = host.call(call.clone()).await;
        assert!(reply.ok() && !reply.meta.replayed, "{}", body(&reply));
        told.push(text(&reply).to_owned());
    }
    assert_eq!(scene.backend.counts().tickets.len(), calls.len());
    for (call, first) in calls.iter().zip(&told) {
        let reply = host.call(call.clone()).await;
        assert_eq!((reply.meta.replayed, text(&reply)), (true, first.as_str()));
    }
    // Another input is refused to the user whose key it is, and to no other.
    let other = with(ticket(), json!({ "subject": "another" }));
    let other = |user| for_user("bot", user, keyed("desk.create_ticket", &other, "k"));
    assert_eq!(code(&host.call(other("eve")).await), "KEY_REUSED");
    assert!(host.call(other("una")).await.ok());
    let runs = host.runs(None, 10).unwrap();
    let asked: Vec<_> =
        runs.iter().rev().map(|run| run.user.as_ref().map_or("-", |user| user.as_str())).collect();
    assert_eq!(asked, ["-", "eve", "ann", "-", "una"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_knows_for_whom_it_works_also_when_a_person_has_it_tried_again() {
    let lines = "[callers.bot]\nmax_risk = \"L3\"\n";
    let scene = Scene::courier(lines).await;
    let host = scene.open().await;
    let job = |path| with(scene.job("POST", path), json!({ "body": "{\"subject\":\"for {user}\"}" }));
    assert!(host.call(as_caller("bot", request("courier.post_once", &job("/mails")))).await.ok());
    scene.backend.fault("/mails", Fault::cut(Moment::BeforeWork), 1);
    let lost = host.call(for_user("bot", "ada", request("courier.post_once", &job("/mails")))).await;
    assert_eq!(code(&lost), "OUTCOME_UNKNOWN");
    let again = host.decide(&lost.meta.run.unwrap().to_string(), Decision::Again, "li").await.unwrap();
    assert!(again.ok(), "{}", body(&again));
    let sent: Vec<_> =
        scene.backend.requests().into_iter().map(|one| String::from_utf8(one.body).unwrap()).collect();
    assert_eq!(
        sent,
        ["{\"subject\":\"for nobody\"}", "{\"subject\":\"for ada\"}", "{\"subject\":\"for ada\"}"]
    );
    let record = record(&host, &again);
    assert_eq!(record.summary.user.unwrap().as_str(), "ada");
    assert_eq!(record.attempts.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_result_of_a_run_is_told_to_the_user_it_was_made_for() {
    let scene = Scene::desk(BOT).await;
    let host = scene.open().await;
    let made = host.call(for_user("bot", "eve", request("desk.create_ticket", &ticket()))).await;
    let run = made.meta.run.unwrap().to_string();
    let told = async |caller: &str, user: Option<&str>| {
        let (caller, user) = (CallerName(caller.to_owned()), user.map(|user| user.parse().unwrap()));
        code(&host.result(&caller, user.as_ref(), &run, None).await)
    };
    assert_eq!(told("bot", Some("eve")).await, "ok");
    for (caller, user) in
        [("bot", None), ("bot", Some("ada@example.com")), ("closed", Some("eve")), ("local", None)]
    {
        assert_eq!(told(caller, user).await, "INVALID_INPUT", "{caller} {user:?}");
    }
}
