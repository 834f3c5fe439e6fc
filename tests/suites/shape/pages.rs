//! Results that are longer than a reply: cut by their structure, kept whole, and given by page.

use airlock::host::{Host, Look};
use airlock::model::id::CallerName;
use airlock_tests::guests;
use airlock_tests::world::{World, body, code, keyed, request};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{read, run};

async fn open(config: &str) -> (World, Host) {
    let world = World::new().with_plugins(&[guests::GREEDY, guests::ECHO]).with_config(config);
    let host = world.open().await;
    (world, host)
}

fn local() -> CallerName {
    CallerName("local".to_owned())
}

/// All pages of a run, put together, and how many there were.
fn pages(host: &Host, run: &str, most: usize) -> (String, usize) {
    let (mut whole, mut cursor, mut count) = (String::new(), None, 0);
    loop {
        let page = host.page(&local(), None, run, cursor.as_deref()).unwrap();
        assert!(page.text.len() <= most, "{} bytes", page.text.len());
        whole.push_str(&page.text);
        count += 1;
        cursor = page.next;
        if cursor.is_none() {
            return (whole, count);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_list_is_cut_and_its_whole_is_given_by_page() {
    let (_world, host) = open("").await;
    let reply = host.call(keyed("greedy.long_list", &json!({ "items": 20_000 }), "k")).await;
    let (Ok(text) | Err(text)) = &reply.body;
    assert!(text.get().len() <= 32 << 10, "{}", text.get().len());
    let shown = body(&reply)["items"].as_array().unwrap().len();
    assert!(shown > 5000, "{shown}");
    assert_eq!(
        serde_json::to_value(&reply.meta.trimmed).unwrap(),
        json!({ "bytes": 108_903, "cuts": [{ "at": "/items", "items": 20_000 - shown }] })
    );
    let (whole, count) = pages(&host, &run(&reply), 32 << 10);
    assert_eq!((read(&whole), count), (json!({ "items": (0..20_000).collect::<Vec<u64>>() }), 4));
    assert_eq!(host.whole(&run(&reply), Look::Usual).unwrap(), whole);
    let again = host.call(keyed("greedy.long_list", &json!({ "items": 20_000 }), "k")).await;
    assert_eq!(again.body.unwrap().get(), text.get(), "what was told is told again, byte for byte");
    assert_eq!(again.meta.trimmed, reply.meta.trimmed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_text_says_how_much_of_it_is_left_out() {
    let (_world, host) = open("[limits]\nreply = \"2 KiB\"").await;
    let reply = host.call(keyed("greedy.long_text", &json!({ "bytes": 5000 }), "k")).await;
    let text = body(&reply)["text"].as_str().unwrap().to_owned();
    let kept = text.find('…').unwrap();
    assert_eq!(text, format!("{}… [{} characters more]", "x".repeat(kept), 5000 - kept));
    assert_eq!(pages(&host, &run(&reply), 2 << 10).0, json!({ "text": "x".repeat(5000) }).to_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_error_is_cut_and_keeps_what_says_what_to_do() {
    let (_world, host) = open("[limits]\nreply = \"2 KiB\"").await;
    for place in ["message", "details"] {
        let input = json!({ "bytes": 50_000, "place": place });
        let reply = host.call(keyed("greedy.long_text", &input, place)).await;
        let error = body(&reply);
        assert!(error.to_string().len() <= 2 << 10, "{error}");
        assert_eq!((&error["code"], &error["action"]), (&json!("LONG_TEXT"), &json!("tell_user")));
        assert!(error.to_string().contains("characters more]"), "{error}");
        assert!(pages(&host, &run(&reply), 2 << 10).0.contains(&"x".repeat(50_000)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_fits_has_one_page() {
    let (_world, host) = open("").await;
    let reply = host.call(keyed("echo.echo", &json!({ "text": "a" }), "k")).await;
    assert_eq!(pages(&host, &run(&reply), 100), (r#"{"text":"a"}"#.to_owned(), 1));
    assert_eq!(reply.meta.trimmed, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_are_for_whoever_asked_and_cursors_for_one_run() {
    let (_world, host) = open("[callers.bot]\nmax_risk = \"L4\"\n[limits]\nreply = \"2 KiB\"").await;
    let long = json!({ "bytes": 5000 });
    let first = run(&host.call(keyed("greedy.long_text", &long, "a")).await);
    let other = run(&host.call(keyed("greedy.long_text", &long, "b")).await);
    let cursor = host.page(&local(), None, &first, None).unwrap().next.unwrap();
    host.page(&local(), None, &first, Some(&cursor)).unwrap();
    let bot = CallerName("bot".to_owned());
    let mut refusals = Vec::new();
    for (caller, run, cursor) in [
        (&bot, &*first, None),
        (&local(), "01BX5ZZKBKACTAV9WEVGEMMVRZ", None),
        (&local(), "no run", None),
        (&local(), &*other, Some(&*cursor)),
        (&local(), &*first, Some("7d0.00000000")),
        (&local(), &*first, Some("2048")),
    ] {
        let refusal = host.page(caller, None, run, cursor).unwrap_err();
        refusals.push(format!("{} {}", refusal.code, refusal.message.replace(&*first, "RUN")));
    }
    assert_snapshot!(refusals.join("\n"), @r#"
    INVALID_INPUT there is no such run of this caller: RUN
    INVALID_INPUT there is no such run of this caller: 01BX5ZZKBKACTAV9WEVGEMMVRZ
    INVALID_INPUT there is no such run of this caller: no run
    INVALID_INPUT the cursor is none of this run's; ask for the first page without one
    INVALID_INPUT the cursor is none of this run's; ask for the first page without one
    INVALID_INPUT the cursor is none of this run's; ask for the first page without one
    "#);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_no_longer_than_a_reply() {
    let (_world, host) = open("[limits]\nreply = \"2 KiB\"").await;
    let names: Value = (0..5000)
        .map(|n| (format!("text{n}"), json!("x".repeat(50))))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let reply = host.call(request("echo.echo", &names)).await;
    assert_eq!(code(&reply), "INVALID_INPUT");
    assert!(body(&reply).to_string().len() <= 2 << 10);
}
