//! Agents that ask again: what was asked for before is told and nothing runs, judged by what the backend counted.

mod agents;
mod apart;
mod purpose;
mod undelivered;

use std::path::Path;

use airlock::host::{Host, Request};
use airlock::model::id::TraceId;
use airlock::model::reply::Reply;
use airlock_tests::backend::{Fault, Moment};
use airlock_tests::crowd::{Call, Crowd, Task};
use airlock_tests::world::{body, code, keyed, request};
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::call::{Scene, hold, shown, spawn, text, with};

/// A call in the conversation of this trace.
fn said_in(trace: &str, call: Request) -> Request {
    Request { trace: Some(TraceId(trace.to_owned())), conversation: true, ..call }
}

/// Sends a mail with this subject, in the conversation `a`.
fn mail(scene: &Scene, subject: &str) -> Request {
    said_in("a", request("courier.post_once", &scene.mail(subject)))
}

/// The same call, asked for once more on purpose.
fn once_more(call: &Request, run: &str) -> Request {
    let input: Value = serde_json::from_str(&call.input).unwrap();
    Request { input: with(input, json!({ "airlock_repeat_of": run })).to_string(), ..call.clone() }
}

/// Makes a call whose reply reaches its caller.
async fn heard(host: &Host, call: Request) -> Reply {
    let reply = host.call(call).await;
    if let Some(run) = reply.undelivered {
        host.delivered(run).await;
    }
    reply
}

/// The run that a reply names: its own, or the first's.
fn run_of(reply: &Reply) -> String {
    let named = || body(reply)["details"]["run"].as_str().map(str::to_owned);
    reply.meta.run.map(|run| run.to_string()).or_else(named).unwrap()
}

/// What each of these calls ended in, all of them heard.
async fn ends(host: &Host, calls: impl IntoIterator<Item = Request>) -> Vec<String> {
    let mut ends = Vec::new();
    for call in calls {
        ends.push(code(&heard(host, call).await));
    }
    ends
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_was_done_is_not_done_again_and_its_result_is_told() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    let first = heard(&host, mail(&scene, "x")).await;
    let second = heard(&host, mail(&scene, "x")).await;
    let told = body(&second);
    assert_eq!(told["details"]["first"], json!({ "ok": true, "data": body(&first) }));
    let told = shown(&second).replace(&run_of(&first), "RUN");
    let (head, rest) = told.split_once("\"first\": {").unwrap();
    let (_, rest) = rest.split_once("\"run\"").unwrap();
    assert_snapshot!(format!("{head}\"first\": …,\n      \"run\"{rest}"), @r#"
    {
      "ok": false,
      "error": {
        "code": "ALREADY_DONE",
        "kind": "duplicate",
        "message": "the same call was made before in this conversation, and was done, in run RUN; nothing was run. `first` is its result; to do it once more on purpose, make the same call with \"airlock_repeat_of\": \"RUN\"",
        "retryable": false,
        "action": "confirm_repeat",
        "retry_after_ms": 0,
        "details": {
          "first": …,
          "run": "RUN"
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
    assert_eq!((scene.mails(), host.runs(None, 9).unwrap().len()), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_under_way_is_not_made_a_second_time() {
    let scene = Scene::courier("").await;
    let (host, elsewhere) = (scene.open().await, scene.open().await);
    let release = hold(&scene.backend, "/mails", Moment::AfterWork, 1);
    let first = spawn(&host, mail(&scene, "x"));
    scene.backend.wait_until(|counts| counts.mails.len() == 1);
    let (second, third) = (host.call(mail(&scene, "x")).await, elsewhere.call(mail(&scene, "x")).await);
    assert_eq!(text(&second), text(&third), "whichever process is asked");
    assert_snapshot!(text(&second).replace(&run_of(&second), "RUN"), @r#"{"code":"ALREADY_RUNNING","kind":"duplicate","message":"the same call was made before in this conversation, and is under way in run RUN; nothing was run. Its result comes there; to do it once more on purpose, make the same call with \"airlock_repeat_of\": \"RUN\"","retryable":false,"action":"confirm_repeat","retry_after_ms":0,"details":{"run":"RUN"}}"#);
    drop(release);
    let first = first.await.unwrap();
    assert!(first.ok() && !first.meta.replayed, "{}", text(&first));
    assert_eq!(scene.mails(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_at_once_in_two_processes_are_one() {
    // Else so many equal calls would be told that they go round in circles.
    let scene = Scene::courier("[loops]\nwarn = 0\nrefuse = 0").await;
    let config = scene.world.write_config();
    let call = Call { tool: "courier.post_once".to_owned(), input: scene.mail("x"), key: String::new() };
    let environment = scene.world.environment().clone();
    let task = Task { config, environment, compiler: None, calls: vec![call; 25] };
    let told = Crowd::gather(Path::new(env!("CARGO_BIN_EXE_call-at-once")), &vec![task; 2]).go();
    let replies: Vec<Value> = told.iter().flatten().map(|line| serde_json::from_str(line).unwrap()).collect();
    let carried_out = |reply: &&Value| reply["ok"] == true && reply["meta"]["replayed"] == false;
    assert_eq!((replies.len(), replies.iter().filter(carried_out).count(), scene.mails()), (50, 1, 1));
    let answers = |reply: &Value| {
        // Nobody said that it had heard the first.
        let duplicate = reply["meta"]["duplicate_of"].is_string() && reply["ok"] == true;
        carried_out(&reply) || duplicate || reply["error"]["code"] == "ALREADY_RUNNING"
    };
    assert!(replies.iter().all(answers), "{replies:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_done_in_between_makes_it_another_action() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    let calls = ["a", "b", "a"].map(|subject| mail(&scene, subject));
    assert_eq!(ends(&host, calls).await, ["ok", "ok", "ok"]);
    assert_eq!(scene.mails(), 3);
    // What only reads, what failed and left nothing, and what was refused are not done in between.
    let read = || said_in("a", request("courier.fetch", &scene.job("GET", "/orders/A-1001")));
    let faulty = said_in("a", request("courier.post_once", &json!({ "nothing": 1 })));
    assert_eq!(ends(&host, [read(), faulty]).await, ["ok", "INVALID_INPUT"]);
    scene.backend.fault("/mails", Fault::status(Moment::BeforeWork, 503), 1);
    assert_eq!(ends(&host, [mail(&scene, "b"), mail(&scene, "a")]).await, ["BACKEND_FAILED", "ALREADY_DONE"]);
    // What may be repeated as it is was done in between all the same.
    let put = said_in("a", request("courier.put", &scene.setting("x")));
    assert_eq!(ends(&host, [put.clone(), put, mail(&scene, "a")]).await, ["ok", "ok", "ok"]);
    assert_eq!(scene.mails(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_failed_and_left_nothing_behind_is_made_again() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    scene.backend.fault("/mails", Fault::status(Moment::BeforeWork, 503), 2);
    let calls = (0..4).map(|_| mail(&scene, "x"));
    assert_eq!(ends(&host, calls).await, ["BACKEND_FAILED", "BACKEND_FAILED", "ok", "ALREADY_DONE"]);
    assert_eq!(scene.mails(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_may_have_happened_is_told_again_and_not_done_again() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    scene.backend.fault("/mails", Fault::cut(Moment::AfterWork), 1);
    let first = heard(&host, mail(&scene, "x")).await;
    assert_eq!(code(&first), "OUTCOME_UNKNOWN");
    let run = run_of(&first);
    for again in [mail(&scene, "x"), once_more(&mail(&scene, "x"), &run)] {
        let again = heard(&host, again).await;
        assert_eq!((text(&again), again.meta.duplicate_of), (text(&first), first.meta.run));
    }
    assert_eq!(scene.mails(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_makes_it_another_action_and_is_one_that_was_asked_for_before() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    let under = |key: &str| said_in("a", keyed("courier.post_once", &scene.mail("x"), key));
    let calls = [under("k1"), under("k2"), mail(&scene, "x"), under("k1")];
    assert_eq!(ends(&host, calls).await, ["ok", "ok", "ALREADY_DONE", "ok"]);
    assert_eq!(scene.mails(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_fields_that_a_tool_names_are_what_makes_two_mails_the_same() {
    let scene = Scene::desk("[tools.\"desk.send_mail\"]\nconfirm = \"none\"").await;
    let host = scene.open().await;
    let mail = |subject: &str, text: &str| {
        let mail = json!({ "to": "ada@example.com", "subject": subject, "body": text });
        said_in("a", request("desk.send_mail", &mail))
    };
    let first = heard(&host, mail("Lamp", "It is on its way.")).await;
    assert!(first.ok(), "{}", text(&first));
    let again = heard(&host, mail("Lamp", "It is on its way!")).await;
    assert_eq!((code(&again).as_str(), run_of(&again)), ("ALREADY_DONE", run_of(&first)));
    // Once more, and not once for each wording of it.
    let second = heard(&host, once_more(&mail("Lamp", "Once more."), &run_of(&first))).await;
    let third = heard(&host, once_more(&mail("Lamp", "And once more."), &run_of(&first))).await;
    assert_eq!((code(&second).as_str(), code(&third).as_str()), ("ok", "ALREADY_DONE"));
    assert_eq!(run_of(&third), run_of(&second));
    assert_eq!(code(&heard(&host, mail("Chair", "It is on its way.")).await), "ok");
    assert_eq!(scene.mails(), 3);
}
