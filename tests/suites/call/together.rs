//! Many at once with one key: one execution, and everybody gets its result.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use airlock::host::Host;
use airlock::model::id::ProcessId;
use airlock::model::state::{Event, RunState};
use airlock::store::sqlite::Durability;
use airlock::store::{Charge, Journal as _, Ledger as _, SqliteStore, Take, Taken};
use airlock_tests::backend::{Fault, Moment};
use airlock_tests::crowd::{Call, Crowd, Task};
use airlock_tests::world::{body, code, keyed, request};
use serde_json::{Value, json};

use super::{NOON, Scene, assert_stored, hold, spawn, text, with};

const PROGRAM: &str = env!("CARGO_BIN_EXE_call-at-once");

/// Lets others come while the first is at work.
const AT_WORK: Duration = Duration::from_millis(300);

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_requests_in_four_processes_are_one_execution_with_one_result() {
    for (tool, place) in [("courier.post_once", "POST /mails"), ("courier.post_keyed", "POST /tickets")] {
        let scene = Scene::courier("").await;
        scene.backend.fault("", Fault::slow(Moment::BeforeWork, AT_WORK), 1000);
        let input = if place == "POST /mails" { scene.mail("a") } else { scene.ticket("a") };
        let config = scene.world.write_config();
        let call = Call { tool: tool.to_owned(), input, key: "one-key".to_owned() };
        let environment = scene.world.environment().clone();
        let task = Task { config, environment, compiler: None, calls: vec![call; 25] };
        let told = Crowd::gather(Path::new(PROGRAM), &vec![task; 4]).go();

        assert_eq!(told.iter().map(Vec::len).collect::<Vec<_>>(), [25, 25, 25, 25]);
        let replies: Vec<Value> =
            told.iter().flatten().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(replies.iter().all(|reply| reply["ok"] == true), "{tool}: {:?}", told[0]);
        let data: BTreeSet<&str> = told.iter().flatten().map(|line| data_of(line)).collect();
        assert_eq!(data.len(), 1, "{tool}: the results differ");
        let runs: BTreeSet<&str> =
            replies.iter().map(|reply| reply["meta"]["run"].as_str().unwrap()).collect();
        assert_eq!(runs.len(), 1, "{tool}: there is more than one run");
        let first = replies.iter().filter(|reply| reply["meta"]["replayed"] == false).count();
        assert_eq!(first, 1, "{tool}: one caller ran it, and the others waited");
        let counts = scene.backend.counts();
        assert_eq!((counts.of(place).requests, counts.of(place).works), (1, 1), "{tool}");
    }
}

/// The bytes of `data` in a printed reply.
fn data_of(line: &str) -> &str {
    let from = line.find("\"data\":").expect("it went well");
    &line[from..line.rfind(",\"meta\":").expect("a reply ends with its meta")]
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_five_requests_in_one_process_are_one_execution_with_one_result() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    let release = hold(&scene.backend, "/mails", Moment::AfterWork, 1);
    let calls: Vec<_> =
        (0..25).map(|_| spawn(&host, keyed("courier.post_once", &scene.mail("a"), "k"))).collect();
    scene.backend.wait_until(|counts| counts.mails.len() == 1);
    drop(release);
    let mut texts = BTreeSet::new();
    let mut carried_out = 0;
    for call in calls {
        let reply = call.await.unwrap();
        assert!(reply.ok(), "{}", text(&reply));
        carried_out += usize::from(!reply.meta.replayed);
        texts.insert(text(&reply).to_owned());
    }
    assert_eq!((texts.len(), carried_out, scene.mails()), (1, 1, 1));
    assert_eq!(host.runs(None, 10).unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_gets_the_failure_too() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    let release = hold(&scene.backend, "/nothing-is-here", Moment::AfterWork, 1);
    let job = scene.job("POST", "/nothing-is-here");
    let first = spawn(&host, keyed("courier.post_once", &job, "k"));
    scene.backend.wait_until(|counts| counts.under("").requests == 1);
    let second = spawn(&host, keyed("courier.post_once", &job, "k"));
    drop(release);
    let (first, second) = (first.await.unwrap(), second.await.unwrap());
    assert_eq!(code(&first), "NOT_FOUND");
    assert_stored(&first, &second);
    assert_eq!(scene.backend.counts().under("").requests, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_gets_a_failure_that_may_pass_and_does_not_try_again_himself() {
    let scene = Scene::courier("").await;
    let (host, elsewhere) = (scene.open().await, scene.open().await);
    let place = "GET /orders/A-1001";
    let input = json!({ "jobs": [scene.job("GET", "/orders/A-1001"), scene.ticket("a")] });
    let call = || keyed("courier.sequence_keyed", &input, "k");
    let release = hold(&scene.backend, place, Moment::AfterWork, 1);
    scene.backend.fault("/tickets", Fault::status(Moment::BeforeWork, 429), 1);
    let first = spawn(&host, call());
    scene.backend.wait_until(|counts| counts.of(place).works == 1);
    let others: Vec<_> =
        [&host, &elsewhere].iter().cycle().take(20).map(|host| spawn(host, call())).collect();
    // By the time that a later call has its answer, the earlier ones have looked at the key.
    for host in [&host, &elsewhere] {
        assert_eq!(code(&host.call(keyed("courier.put", &scene.setting("a"), "k")).await), "KEY_REUSED");
    }
    drop(release);
    let first = first.await.unwrap();
    assert_eq!(code(&first), "BACKEND_THROTTLED");
    for other in others {
        assert_stored(&first, &other.await.unwrap());
    }
    assert_eq!(scene.backend.counts().of("POST /tickets").requests, 1);
    assert!(host.call(call()).await.ok(), "who asks again sets it going again");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_who_ask_again_at_once_set_the_run_going_once() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    for round in 0..5 {
        let key = format!("k{round}");
        let mail = || keyed("courier.post_once", &scene.mail(&key), &key);
        scene.backend.fault("/mails", Fault::status(Moment::BeforeWork, 503), 1);
        assert_eq!(code(&host.call(mail()).await), "BACKEND_FAILED");
        let release = hold(&scene.backend, "/mails", Moment::AfterWork, 1);
        let before = scene.mails();
        let calls: Vec<_> = (0..20).map(|_| spawn(&host, mail())).collect();
        scene.backend.wait_until(|counts| counts.mails.len() == before + 1);
        drop(release);
        let mut carried_out = 0;
        for call in calls {
            let reply = call.await.unwrap();
            assert!(reply.ok(), "{}", text(&reply));
            assert_eq!(reply.meta.attempts, 2);
            carried_out += usize::from(!reply.meta.replayed);
        }
        assert_eq!((carried_out, scene.mails()), (1, before + 1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reading_call_that_loses_its_key_gives_the_stored_result_and_not_its_own() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    let write = |value: &str| with(scene.setting("a"), json!({ "body": value }));
    assert!(host.call(request("courier.put", &write("1"))).await.ok());
    // The first has read 1 and does not get its answer; the second reads 2 and ends.
    let release = hold(&scene.backend, "GET /settings", Moment::AfterWork, 1);
    let read = || keyed("courier.fetch", &scene.job("GET", "/settings/a"), "k");
    let first = spawn(&host, read());
    scene.backend.wait_until(|counts| counts.of("GET /settings/a").works == 1);
    assert!(host.call(request("courier.put", &write("2"))).await.ok());
    let second = host.call(read()).await;
    drop(release);
    let first = first.await.unwrap();
    assert!(body(&second)["body"].as_str().unwrap().contains("\"value\":2"), "{}", text(&second));
    assert!(!second.meta.replayed);
    assert_stored(&second, &first);
    let reads = host.runs(None, 10).unwrap().into_iter().filter(|run| run.tool.tool == "fetch").count();
    assert_eq!(reads, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn beyond_the_waiting_limit_the_answer_is_still_running_and_the_result_comes_later() {
    let scene = Scene::courier("[limits]\nwait = \"150ms\"\n").await;
    let host = scene.open().await;
    let elsewhere = scene.open().await;
    let release = hold(&scene.backend, "/mails", Moment::AfterWork, 1);
    let mail = || keyed("courier.post_once", &scene.mail("a"), "k");
    let first = spawn(&host, mail());
    scene.backend.wait_until(|counts| counts.mails.len() == 1);
    for waiting in [&host, &elsewhere] {
        let told = waiting.call(mail()).await;
        assert_eq!(code(&told), "STILL_RUNNING");
        assert_eq!(told.meta.run, None, "this call made no run");
    }
    let told = host.call(mail()).await;
    let run = body(&told)["details"]["run"].as_str().unwrap().to_owned();
    insta::assert_snapshot!(scene.shown(&told).replace(&run, "RUN"), @r#"
    {
      "ok": false,
      "error": {
        "code": "STILL_RUNNING",
        "kind": "waiting",
        "message": "the call with this key is still running, in run RUN; ask again with the same key",
        "retryable": false,
        "action": "wait",
        "retry_after_ms": 0,
        "details": {
          "key": "k",
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
    let other = host.call(keyed("courier.post_once", &scene.mail("b"), "k")).await;
    assert_eq!(code(&other), "KEY_REUSED", "another action does not wait");
    drop(release);
    let first = first.await.unwrap();
    assert!(first.ok() && first.meta.run.unwrap().to_string() == run);
    for asking in [&host, &elsewhere] {
        assert_stored(&first, &asking.call(mail()).await);
    }
    assert_eq!(scene.mails(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_waits_for_another_gets_its_result() {
    let scene = Scene::courier("").await;
    let (host, elsewhere) = (scene.open().await, scene.open().await);
    let release = hold(&scene.backend, "/tickets", Moment::AfterWork, 1);
    let first = spawn(&host, keyed("courier.post_keyed", &scene.ticket("a"), "k"));
    scene.backend.wait_until(|counts| counts.tickets.len() == 1);
    let second = spawn(&elsewhere, keyed("courier.post_keyed", &scene.ticket("a"), "k"));
    drop(release);
    let (first, second) = (first.await.unwrap(), second.await.unwrap());
    assert!(first.ok());
    assert_stored(&first, &second);
    assert_eq!(scene.backend.counts().of("POST /tickets").requests, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_goes_on_when_its_caller_gives_up() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    let release = hold(&scene.backend, "/mails", Moment::AfterWork, 1);
    let first = spawn(&host, keyed("courier.post_once", &scene.mail("a"), "k"));
    scene.backend.wait_until(|counts| counts.mails.len() == 1);
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    drop(release);
    let again = host.call(keyed("courier.post_once", &scene.mail("a"), "k")).await;
    assert!(again.ok() && again.meta.replayed);
    assert_eq!(scene.mails(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn those_who_wait_for_a_key_hold_no_place() {
    let scene = Scene::courier("[limits]\nat_once = 4\nwaiting = 1\n").await;
    let host = scene.open().await;
    let release = hold(&scene.backend, "/mails", Moment::AfterWork, 1);
    let mail = || keyed("courier.post_once", &scene.mail("a"), "k");
    let first = spawn(&host, mail());
    scene.backend.wait_until(|counts| counts.mails.len() == 1);
    let waiting: Vec<_> = (0..10).map(|_| spawn(&host, mail())).collect();
    // One of the two places of this plugin is left, whoever waits.
    assert!(host.call(request("courier.fetch", &scene.job("GET", "/orders/A-1001"))).await.ok());
    drop(release);
    let first = first.await.unwrap();
    for call in waiting {
        assert_stored(&first, &call.await.unwrap());
    }
}

/// Takes the one run from the process that drives it, and holds it.
async fn taken(scene: &Scene, host: &Host) -> SqliteStore {
    let thief = SqliteStore::open(&scene.world.state(), ProcessId([9; 16]), Durability::Full).unwrap();
    let lease = thief.run(host.runs(None, 1).unwrap()[0].run).unwrap().unwrap().lease;
    let take = Take {
        background: None,
        lease,
        event: Event::Adopted,
        state: RunState::Running,
        by: None,
        owner: thief.process(),
        at: NOON,
        attempt: None,
        charge: Charge::default(),
    };
    assert!(matches!(thief.take(take).await, Ok(Taken::Held(_))));
    thief
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_run_was_taken_from_it_is_not_made_again() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    let release = hold(&scene.backend, "/mails", Moment::BeforeWork, 1);
    let call = spawn(&host, request("courier.post_once", &scene.mail("a")));
    scene.backend.wait_until(|counts| counts.of("POST /mails").requests == 1);
    let _thief = taken(&scene, &host).await;
    drop(release);
    assert_eq!(code(&call.await.unwrap()), "OUTCOME_UNKNOWN");
    assert_eq!((scene.mails(), host.runs(None, 9).unwrap().len()), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_lost_the_run_is_not_given_what_an_earlier_attempt_came_to() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    let mail = || keyed("courier.post_once", &scene.mail("a"), "k");
    scene.backend.fault("/mails", Fault::status(Moment::BeforeWork, 503), 1);
    assert_eq!(code(&host.call(mail()).await), "BACKEND_FAILED");
    let release = hold(&scene.backend, "/mails", Moment::BeforeWork, 1);
    let call = spawn(&host, mail());
    scene.backend.wait_until(|counts| counts.of("POST /mails").requests == 2);
    let _thief = taken(&scene, &host).await;
    drop(release);
    let reply = call.await.unwrap();
    assert_eq!((code(&reply).as_str(), reply.meta.replayed), ("OUTCOME_UNKNOWN", false));
    assert_eq!(scene.mails(), 1);
}
