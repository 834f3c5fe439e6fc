//! One key is one action: what is given again, what is refused, and what leaves no key behind.

use airlock_tests::backend::{Fault, Moment};
use airlock_tests::guests;
use airlock_tests::world::{World, body, code, keyed, request};
use insta::assert_snapshot;
use serde_json::json;

use super::{Scene, as_caller, assert_stored, record, text, twice, with};

#[tokio::test(flavor = "multi_thread")]
async fn the_same_key_and_input_give_the_stored_bytes_and_nothing_runs() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    let order = scene.job("GET", "/orders/A-1001");
    for (tool, input) in [
        ("courier.post_once", scene.mail("a")),
        ("courier.post_keyed", scene.ticket("a")),
        ("courier.put", scene.setting("a")),
        ("courier.fetch", order),
        ("courier.post_once", scene.job("POST", "/nothing-is-here")),
    ] {
        scene.backend.reset();
        let key = format!("k-{tool}-{}", input["url"].as_str().unwrap().len());
        let (first, again) = twice(&host, tool, &input, &key).await;
        assert_stored(&first, &again);
        assert!(!first.meta.replayed, "{tool} was given from the store the first time");
        assert_eq!(scene.backend.counts().under("").requests, 1, "{tool}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_tool_says_is_given_again_with_its_own_spaces_and_order() {
    let scene = Scene::courier("").await;
    let world = scene.world.with_plugins(&[guests::TWOFACE]);
    let host = world.open().await;
    let odd = "{ \"note\":\"a\\u0041\",\n  \"count\" : 1e0 }";
    let input = json!({ "say": { "reply": odd } });
    let (first, again) = twice(&host, "twoface.say_writing", &input, "k").await;
    assert_eq!(text(&first), odd);
    assert_stored(&first, &again);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_key_the_same_call_is_another_action() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    let first = host.call(request("courier.post_once", &scene.mail("a"))).await;
    let second = host.call(request("courier.post_once", &scene.mail("a"))).await;
    assert_ne!(first.meta.run, second.meta.run);
    assert_eq!(scene.mails(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_key_with_other_input_or_another_tool_is_refused_and_nothing_runs() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    let first = host.call(keyed("courier.post_once", &scene.mail("a"), "k1")).await;
    let before = scene.backend.counts();
    let more = with(scene.mail("a"), json!({ "no_such_field": 1 }));
    for (tool, input) in [
        ("courier.post_once", scene.mail("b")),
        ("courier.post_once", more),
        ("courier.post_once", json!({ "wrong": true })),
        ("courier.post_keyed", scene.mail("a")),
        ("courier.fetch", scene.job("GET", "/orders/A-1001")),
    ] {
        let refused = host.call(keyed(tool, &input, "k1")).await;
        assert_eq!(code(&refused), "KEY_REUSED", "{tool} {input}");
    }
    assert_eq!(scene.backend.counts(), before);
    assert_eq!(host.runs(None, 10).unwrap().len(), 1);
    let refused = host.call(keyed("courier.post_once", &scene.mail("b"), "k1")).await;
    let run = first.meta.run.unwrap().to_string();
    assert_snapshot!(scene.shown(&refused).replace(&run, "FIRST"), @r#"
    {
      "ok": false,
      "error": {
        "code": "KEY_REUSED",
        "kind": "invalid_input",
        "message": "the key was used before for another tool or another input, in run FIRST; nothing was run. Take a fresh key for this call, or repeat the first one exactly",
        "retryable": false,
        "action": "fix_input",
        "retry_after_ms": 0,
        "details": {
          "key": "k1",
          "run": "FIRST"
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
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_in_another_order_are_the_same_action() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    let mail = scene.mail("a");
    let first = host.call(keyed("courier.post_once", &mail, "k1")).await;
    let (url, body) = (&mail["url"], &mail["body"]);
    let mut turned = keyed("courier.post_once", &mail, "k1");
    turned.input = format!("{{\"body\": {body},\n\t\"url\": {url}, \"method\": \"\\u0050OST\"}}");
    assert_stored(&first, &host.call(turned).await);
    assert_eq!(scene.mails(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_a_key_is_refused_and_nothing_runs() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    let long = "k".repeat(300);
    let mut told = Vec::new();
    for key in ["", " ", "a b", "a\tb", "a\n", "clé", "🔑", long.as_str(), &"k".repeat(256)] {
        let refused = host.call(keyed("courier.post_once", &scene.mail("a"), key)).await;
        let error = body(&refused);
        told.push(format!("{} {}", error["code"].as_str().unwrap(), error["message"].as_str().unwrap()));
        assert_eq!((refused.meta.run, refused.meta.attempts), (None, 0));
    }
    assert_snapshot!(told.join("\n"), @"
    INVALID_KEY a key has 1 to 255 visible ASCII characters and no spaces; this one has 0 characters
    INVALID_KEY a key has 1 to 255 visible ASCII characters and no spaces; this one has something else at character 1
    INVALID_KEY a key has 1 to 255 visible ASCII characters and no spaces; this one has something else at character 2
    INVALID_KEY a key has 1 to 255 visible ASCII characters and no spaces; this one has something else at character 2
    INVALID_KEY a key has 1 to 255 visible ASCII characters and no spaces; this one has something else at character 2
    INVALID_KEY a key has 1 to 255 visible ASCII characters and no spaces; this one has something else at character 3
    INVALID_KEY a key has 1 to 255 visible ASCII characters and no spaces; this one has something else at character 1
    INVALID_KEY a key has 1 to 255 visible ASCII characters and no spaces; this one has 300 characters
    INVALID_KEY a key has 1 to 255 visible ASCII characters and no spaces; this one has 256 characters
    ");
    assert_eq!(scene.backend.counts().connections, 0);
    assert!(host.runs(None, 10).unwrap().is_empty());
    let longest = host.call(keyed("courier.post_once", &scene.mail("a"), &"~".repeat(255))).await;
    assert!(longest.ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_its_callers_own() {
    let scene = Scene::courier("[callers.a]\nmax_risk = \"L3\"\n[callers.b]\nmax_risk = \"L3\"\n").await;
    let host = scene.open().await;
    let mut runs = Vec::new();
    for (caller, subject) in [("a", "one"), ("b", "one"), ("local", "two")] {
        let call = as_caller(caller, keyed("courier.post_once", &scene.mail(subject), "k1"));
        let reply = host.call(call).await;
        assert!(reply.ok() && !reply.meta.replayed, "{caller}");
        runs.push(reply.meta.run);
    }
    assert_eq!(scene.mails(), 3);
    let again = host.call(as_caller("b", keyed("courier.post_once", &scene.mail("one"), "k1"))).await;
    assert_eq!((again.meta.run, again.meta.replayed), (runs[1], true));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_before_the_run_exists_leaves_no_key() {
    let bot = "[callers.bot]\nmax_risk = \"L4\"\npermissions = [\"order:read\", \"mail:send\"]\n";
    let scene = Scene::desk(bot).await;
    let host = scene.open().await;
    let mail = json!({ "to": "ada@example.com", "subject": "s", "body": "b" });
    let ticket = json!({ "order_id": "A-1001", "subject": "s", "body": "b" });
    for (refusal, tool, input) in [
        ("INVALID_INPUT", "desk.find_order", json!({})),
        ("UNKNOWN_TOOL", "desk.find_ordr", json!({})),
        ("PERMISSION_DENIED", "desk.create_ticket", ticket),
        ("NEEDS_PERSON", "desk.send_mail", mail),
    ] {
        let key = format!("k-{refusal}");
        let refused = host.call(as_caller("bot", keyed(tool, &input, &key))).await;
        assert_eq!((code(&refused).as_str(), refused.meta.run), (refusal, None));
        assert!(!host.runs(None, 10).unwrap().iter().any(|run| run.code.is_some()), "{refusal} left a run");
        let order = keyed("desk.find_order", &json!({ "order_id": "A-1001" }), &key);
        let free = host.call(as_caller("bot", order)).await;
        assert!(free.ok() && !free.meta.replayed, "{refusal} left its key: {}", code(&free));
    }
    assert_eq!(scene.backend.counts().under("POST").requests, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_hosts_own_key_is_told_where_it_is_of_use() {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    scene.backend.fault("/mails", Fault::status(Moment::BeforeWork, 503), 1);
    let first = host.call(request("courier.post_once", &scene.mail("a"))).await;
    let own = body(&first)["details"]["key"].as_str().unwrap().to_owned();
    let again = host.call(keyed("courier.post_once", &scene.mail("a"), &own)).await;
    assert!(again.ok() && again.meta.run == first.meta.run);
    assert_eq!(record(&host, &again).summary.attempts, 2);
    assert_eq!(scene.mails(), 1);
    let good = host.call(request("courier.post_once", &scene.mail("b"))).await;
    assert!(!text(&good).contains("airlock-"), "nobody needs the key of what was done");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_reads_promises_nothing_without_a_key_and_is_recorded_all_the_same() {
    let world = World::new().with_plugins(&[guests::ECHO]);
    let host = world.open().await;
    let reply = host.call(request("echo.echo", &json!({ "text": "a" }))).await;
    let run = reply.meta.run.unwrap();
    host.clone().close().await;
    assert_eq!(host.run(&run.to_string()).unwrap().key, None);
}
