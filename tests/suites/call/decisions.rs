//! A person settles what nobody can know: what each word does to the run, its effects and its key.

use airlock::host::{Decision, Host};
use airlock::model::failure::Failure;
use airlock::model::reply::Reply;
use airlock_tests::backend::{Fault, Moment};
use airlock_tests::world::{body, code, keyed, request};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{Scene, assert_stored, happened, hold, record, spawn, standing, text, with};

const UNASKED: &str = "[tools.\"desk.send_mail\"]\nconfirm = \"none\"\n";

fn mail() -> Value {
    json!({ "to": "ada@example.com", "subject": "late", "body": "we look" })
}

fn given(data: &str) -> Decision {
    Decision::Happened { data: Some(data.to_owned()) }
}

/// The word that it went out, with what the desk gives of that.
fn went_out() -> Decision {
    given("{\"mail_id\":\"M-1001\",\"status\":\"queued\"}")
}

async fn decide(host: &Host, reply: &Reply, decision: Decision) -> Result<Reply, Failure> {
    host.decide(&reply.meta.run.unwrap().to_string(), decision, "ada").await
}

/// A mail of which nobody knows whether it went out.
async fn lost(scene: &Scene, host: &Host, key: &str, moment: Moment) -> Reply {
    scene.backend.fault("/mails", Fault::cut(moment), 1);
    let reply = host.call(keyed("desk.send_mail", &mail(), key)).await;
    assert_eq!(code(&reply), "OUTCOME_UNKNOWN");
    reply
}

#[tokio::test(flavor = "multi_thread")]
async fn happened_makes_the_given_data_the_result() {
    let scene = Scene::desk(UNASKED).await;
    let host = scene.open().await;
    let unknown = lost(&scene, &host, "k", Moment::AfterWork).await;
    let data = "{ \"status\":\"queued\",  \"mail_id\": \"M-1001\" }";
    let decided = decide(&host, &unknown, given(data)).await.unwrap();
    assert_eq!((decided.ok(), text(&decided)), (true, data));
    assert_stored(&decided, &host.call(keyed("desk.send_mail", &mail(), "k")).await);
    let record = record(&host, &unknown);
    assert_eq!(standing(&record), "completed [done]");
    let last = record.events.last().unwrap();
    assert_eq!((last.event.as_str(), last.by.as_deref()), ("decided: happened", Some("ada")));
    assert_eq!(scene.mails(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn happened_without_data_is_refused_where_the_tool_always_gives_some() {
    let scene = Scene::desk(UNASKED).await;
    let host = scene.open().await;
    let unknown = lost(&scene, &host, "k", Moment::AfterWork).await;
    let refused = decide(&host, &unknown, Decision::Happened { data: None }).await.unwrap_err();
    assert_snapshot!(refused.message, @r#"without --data the answer is {}, which is not what desk.send_mail gives; say what it gave, as in --data '{"mail_id":"…","status":"…"}'; /mail_id: is required and missing; give a string; /status: is required and missing; give a string"#);
    assert_eq!(refused.code, "INVALID_INPUT");
    assert_eq!(standing(&record(&host, &unknown)), "suspended: unknown [open]");
    assert_stored(&unknown, &host.call(keyed("desk.send_mail", &mail(), "k")).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn happened_without_data_is_an_empty_result_where_nobody_can_say_what_the_tool_gives() {
    let scene = Scene::desk(UNASKED).await;
    let host = scene.open().await;
    let unknown = lost(&scene, &host, "k", Moment::AfterWork).await;
    let id = unknown.meta.run.unwrap().to_string();
    drop(host);
    std::fs::remove_file(scene.world.plugins().join("desk.wasm")).unwrap();
    let host = scene.open().await;
    let decided = host.decide(&id, Decision::Happened { data: None }, "ada").await.unwrap();
    assert_eq!((decided.ok(), text(&decided)), (true, "{}"));
    assert_eq!(standing(&record(&host, &unknown)), "completed [done]");
}

#[tokio::test(flavor = "multi_thread")]
async fn data_that_the_tool_could_not_have_given_is_refused_and_nothing_is_decided() {
    let scene = Scene::desk(UNASKED).await;
    let host = scene.open().await;
    let unknown = lost(&scene, &host, "k", Moment::AfterWork).await;
    let mut told = Vec::new();
    for data in ["{", "7", "[]", "{}", "{\"mail_id\": 7, \"status\": \"queued\"}"] {
        let failure = decide(&host, &unknown, given(data)).await.unwrap_err();
        told.push(format!("{} {}", failure.code, failure.message));
    }
    assert_snapshot!(told.join("\n"), @"
    INVALID_INPUT --data is no JSON: EOF while parsing an object at line 1 column 1
    INVALID_INPUT --data must be a JSON object, as the tool's output is
    INVALID_INPUT --data must be a JSON object, as the tool's output is
    INVALID_INPUT --data is not what desk.send_mail gives; /mail_id: is required and missing; give a string; /status: is required and missing; give a string
    INVALID_INPUT --data is not what desk.send_mail gives; /mail_id: must be a string and is a number
    ");
    assert_eq!(standing(&record(&host, &unknown)), "suspended: unknown [open]");
    assert_stored(&unknown, &host.call(keyed("desk.send_mail", &mail(), "k")).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn did_not_lets_the_key_do_it_now() {
    let scene = Scene::desk(UNASKED).await;
    let host = scene.open().await;
    let unknown = lost(&scene, &host, "k", Moment::BeforeWork).await;
    let decided = decide(&host, &unknown, Decision::DidNot).await.unwrap();
    assert_snapshot!(scene.shown(&decided), @r#"
    {
      "ok": false,
      "error": {
        "code": "INTERRUPTED",
        "kind": "transient",
        "message": "a person found that nothing was done; ask again with the same key",
        "retryable": true,
        "action": "retry_later",
        "retry_after_ms": 0,
        "details": {
          "key": "k"
        }
      },
      "meta": {
        "run": "RUN",
        "step": 1,
        "attempts": 1,
        "duration_ms": "COUNTED",
        "fuel": "COUNTED",
        "memory_bytes": "COUNTED",
        "effects": 1,
        "cost_micros": 0,
        "replayed": false,
        "trace_id": "TRACE"
      }
    }
    "#);
    assert_eq!(standing(&record(&host, &unknown)), "failed [not_done]");
    assert_eq!(scene.mails(), 0, "a word alone sends nothing");
    let again = host.call(keyed("desk.send_mail", &mail(), "k")).await;
    assert!(again.ok() && again.meta.run == unknown.meta.run, "{}", text(&again));
    assert_eq!(standing(&record(&host, &unknown)), "completed [not_done, done 202]");
    assert_stored(&again, &host.call(keyed("desk.send_mail", &mail(), "k")).await);
    assert_eq!(scene.mails(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn did_not_tells_the_hosts_own_key_where_the_caller_gave_none() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    scene.backend.fault("/mails", Fault::cut(Moment::BeforeWork), 1);
    let unknown = host.call(request("courier.post_once", &scene.mail("a"))).await;
    let decided = decide(&host, &unknown, Decision::DidNot).await.unwrap();
    let key = body(&decided)["details"]["key"].as_str().unwrap().to_owned();
    let again = host.call(keyed("courier.post_once", &scene.mail("a"), &key)).await;
    assert!(again.ok() && again.meta.run == unknown.meta.run);
    assert_eq!(scene.mails(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn again_tries_it_at_once_whatever_happened() {
    let scene = Scene::desk(UNASKED).await;
    let host = scene.open().await;
    let unknown = lost(&scene, &host, "k", Moment::AfterWork).await;
    let decided = decide(&host, &unknown, Decision::Again).await.unwrap();
    assert!(decided.ok() && decided.meta.run == unknown.meta.run, "{}", text(&decided));
    assert_eq!(decided.meta.attempts, 2);
    assert_eq!(standing(&record(&host, &unknown)), "completed [set_aside, done 202]");
    assert_stored(&decided, &host.call(keyed("desk.send_mail", &mail(), "k")).await);
    assert_eq!(scene.mails(), 2, "the person wanted it done, and it had been");
}

#[tokio::test(flavor = "multi_thread")]
async fn again_may_end_unknown_again_and_be_decided_again() {
    let scene = Scene::desk(UNASKED).await;
    let host = scene.open().await;
    let unknown = lost(&scene, &host, "k", Moment::BeforeWork).await;
    scene.backend.fault("/mails", Fault::cut(Moment::AfterWork), 1);
    let decided = decide(&host, &unknown, Decision::Again).await.unwrap();
    assert_eq!(code(&decided), "OUTCOME_UNKNOWN");
    assert_eq!(standing(&record(&host, &unknown)), "suspended: unknown [set_aside, open]");
    let decided = decide(&host, &unknown, went_out()).await.unwrap();
    assert!(decided.ok());
    assert_eq!(standing(&record(&host, &unknown)), "completed [set_aside, done]");
    assert_eq!(scene.mails(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_decision_is_given_the_answer_of_the_first_and_changes_nothing() {
    let scene = Scene::desk(UNASKED).await;
    let host = scene.open().await;
    let data = r#"{"mail_id":"M-7","status":"queued"}"#.to_owned();
    for (key, decision, answer) in [
        ("k1", Decision::Happened { data: Some(data.clone()) }, "ok"),
        ("k2", Decision::DidNot, "INTERRUPTED"),
        ("k3", Decision::Again, "ok"),
    ] {
        let unknown = lost(&scene, &host, key, Moment::AfterWork).await;
        let first = decide(&host, &unknown, decision).await.unwrap();
        assert_eq!((code(&first).as_str(), first.meta.replayed), (answer, false), "{key}");
        let before = record(&host, &unknown);
        for second in [Decision::Happened { data: Some(data.clone()) }, Decision::DidNot, Decision::Again] {
            let told = decide(&host, &unknown, second).await.unwrap();
            assert_eq!((text(&told), told.meta.replayed), (text(&first), true), "{key}");
        }
        assert_eq!(record(&host, &unknown), before, "{key}");
    }
    assert_eq!(scene.mails(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_nobody_decided_is_not_decided_once_it_has_ended() {
    let scene = Scene::desk(UNASKED).await;
    let host = scene.open().await;
    let done = host.call(keyed("desk.send_mail", &mail(), "k")).await;
    let run = done.meta.run.unwrap().to_string();
    let failure = decide(&host, &done, Decision::DidNot).await.unwrap_err();
    assert_snapshot!(failure.to_json().to_string().replace(&run, "RUN"), @r#"{"code":"INVALID_INPUT","kind":"invalid_input","message":"a run that is completed cannot be decided: did-not; `airlock runs RUN` shows it","retryable":false,"action":"fix_input","retry_after_ms":0,"details":{"run":"RUN","state":"completed"}}"#);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_decisions_at_once_one_wins() {
    let scene = Scene::desk(UNASKED).await;
    let (host, elsewhere) = (scene.open().await, scene.open().await);
    for key in ["k1", "k2", "k3"] {
        let unknown = lost(&scene, &host, key, Moment::BeforeWork).await;
        let sent = scene.mails();
        let (one, other) =
            tokio::join!(decide(&host, &unknown, went_out()), decide(&elsewhere, &unknown, Decision::Again),);
        // Whoever loses is given the first one's answer, or told that it was before.
        let won = |ended: &Result<Reply, Failure>| ended.as_ref().is_ok_and(|reply| !reply.meta.replayed);
        assert!(won(&one) != won(&other), "{one:?} {other:?}");
        assert_eq!(scene.mails() - sent, usize::from(won(&other)));
        let events = record(&host, &unknown).events;
        assert_eq!(events.iter().filter(|event| event.by.is_some()).count(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_half_done_run_happened_or_is_tried_again_but_cannot_be_declared_undone() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    let input = with(scene.mail("a"), json!({ "then": "rejected", "attempts": 1 }));
    let half = host.call(keyed("courier.post_once", &input, "k1")).await;
    let refused = decide(&host, &half, Decision::DidNot).await.unwrap_err();
    assert_eq!(refused.code, "INVALID_INPUT");
    assert_eq!(standing(&record(&host, &half)), "suspended: half_done [done 202]");
    assert!(decide(&host, &half, happened()).await.unwrap().ok());
    assert_eq!(standing(&record(&host, &half)), "completed [done 202]");

    let half = host.call(keyed("courier.post_once", &input, "k2")).await;
    let again = decide(&host, &half, Decision::Again).await.unwrap();
    assert!(again.ok(), "{}", text(&again));
    assert_eq!(standing(&record(&host, &half)), "completed [done 202, done 202]");
    assert_eq!(scene.mails(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_partly_done_and_partly_unknown_cannot_be_declared_undone() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    scene.backend.fault("/mails", Fault::cut(Moment::BeforeWork), 1);
    let input = json!({ "jobs": [scene.setting("a"), scene.mail("a")] });
    let unknown = host.call(keyed("courier.sequence", &input, "k")).await;
    let refused = decide(&host, &unknown, Decision::DidNot).await.unwrap_err();
    let run = unknown.meta.run.unwrap().to_string();
    assert_snapshot!(refused.message.replace(&run, "RUN"), @"part of it was done, as the run shows, so it cannot be said that it did not happen; say `happened`, or `again`; `airlock runs RUN` shows it");
    assert_eq!(standing(&record(&host, &unknown)), "suspended: unknown [done 200, open]");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_its_key_re_arms_can_be_decided_and_then_stays_so() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    scene.backend.fault("/tickets", Fault::cut(Moment::AfterWork), 1);
    let unknown = host.call(keyed("courier.post_keyed", &scene.ticket("a"), "k")).await;
    let decided = decide(&host, &unknown, happened()).await.unwrap();
    assert_stored(&decided, &host.call(keyed("courier.post_keyed", &scene.ticket("a"), "k")).await);
    assert_eq!(scene.backend.counts().of("POST /tickets").requests, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_that_do_not_wait_for_a_person_cannot_be_decided() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    let good = host.call(keyed("courier.post_once", &scene.mail("a"), "k1")).await;
    let bad = host.call(keyed("courier.post_once", &scene.job("POST", "/nothing-is-here"), "k2")).await;
    let read = host.call(keyed("courier.fetch", &scene.job("GET", "/orders/A-1001"), "k3")).await;
    for reply in [&good, &bad, &read] {
        let before = record(&host, reply);
        for decision in [Decision::Happened { data: None }, Decision::DidNot, Decision::Again] {
            let failure = decide(&host, reply, decision.clone()).await.unwrap_err();
            assert_eq!(failure.code, "INVALID_INPUT", "{decision:?} {}", standing(&before));
        }
        assert_eq!(record(&host, reply), before);
    }
    assert_eq!(scene.mails(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_under_way_cannot_be_decided_here_or_elsewhere() {
    let scene = Scene::courier("").await;
    let (host, elsewhere) = (scene.open().await, scene.open().await);
    let release = hold(&scene.backend, "/mails", Moment::AfterWork, 1);
    let call = spawn(&host, keyed("courier.post_once", &scene.mail("a"), "k"));
    scene.backend.wait_until(|counts| counts.mails.len() == 1);
    let run = host.runs(None, 1).unwrap()[0].run.to_string();
    for deciding in [&host, &elsewhere] {
        let failure = deciding.decide(&run, Decision::DidNot, "ada").await.unwrap_err();
        assert_eq!(failure.code, "INVALID_INPUT");
        assert!(failure.message.contains("running"), "{}", failure.message);
    }
    drop(release);
    assert!(call.await.unwrap().ok());
    assert_eq!(host.run(&run).unwrap().events.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_named_by_as_much_of_its_id_as_tells_it_from_others() {
    let scene = Scene::desk(UNASKED).await;
    let host = scene.open().await;
    let unknown = lost(&scene, &host, "k", Moment::AfterWork).await;
    let run = unknown.meta.run.unwrap().to_string();
    let _other = host.call(keyed("desk.send_mail", &mail(), "k2")).await;
    for (id, says) in [
        ("01ARZ3NDEKTSV4RRFFQ69G5FAV", "there is no such run"),
        ("", "a run's id has 26 letters and digits"),
        ("no such id", "a run's id has 26 letters and digits"),
        (&run[..1], "several runs begin so"),
    ] {
        let failure = host.decide(id, Decision::DidNot, "ada").await.unwrap_err();
        assert_eq!(failure.code, "INVALID_INPUT", "{id:?}");
        assert!(failure.message.contains(says), "{id:?}: {}", failure.message);
    }
    let decided = host.decide(&run[..25].to_lowercase(), went_out(), "ada").await;
    assert!(decided.unwrap().ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_in_the_data_of_a_decision_is_masked_as_everywhere() {
    let scene = Scene::desk(UNASKED).await;
    let host = scene.open().await;
    let unknown = lost(&scene, &host, "k", Moment::AfterWork).await;
    let data = "{\"mail_id\":\"M-1\",\"status\":\"sent with a token that opens tickets\"}";
    let decided = decide(&host, &unknown, given(data)).await.unwrap();
    assert_eq!(text(&decided), "{\"mail_id\":\"M-1\",\"status\":\"sent with [secret desk_token]\"}");
    assert_stored(&decided, &host.call(keyed("desk.send_mail", &mail(), "k")).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn again_where_the_tool_is_gone_changes_nothing() {
    let scene = Scene::desk(UNASKED).await;
    let host = scene.open().await;
    let unknown = lost(&scene, &host, "k", Moment::AfterWork).await;
    let id = unknown.meta.run.unwrap().to_string();
    drop(host);
    std::fs::remove_file(scene.world.plugins().join("desk.wasm")).unwrap();
    let host = scene.open().await;
    let refused = host.decide(&id, Decision::Again, "ada").await.unwrap_err();
    assert_eq!(refused.code, "UNKNOWN_TOOL");
    assert_eq!(standing(&host.run(&id).unwrap()), "suspended: unknown [open]");
    let data = "{\"mail_id\":\"M-1001\",\"status\":\"queued\"}";
    assert!(
        host.decide(&id, given(data), "ada").await.unwrap().ok(),
        "the question is still there to be settled"
    );
    assert_eq!(scene.mails(), 1);
}
