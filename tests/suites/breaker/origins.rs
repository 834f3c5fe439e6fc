//! A breaker for each origin: one backend that is left alone keeps no call from another.

use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use airlock::host::{BackendState, Cancel, Host, Request, Seams};
use airlock::model::breaker::Forced;
use airlock::model::reply::Reply;
use airlock::sandbox::capability::http::Resolve;
use airlock_tests::backend::{Backend, Fault, Moment};
use airlock_tests::flaky::Flaky;
use airlock_tests::guests;
use airlock_tests::world::{SetClock, World, body, code, keyed, request};
use insta::assert_snapshot;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::super::call::{NOON, end, hold, once, record, shown, spawn, text, with};
use super::OPEN;

/// Every name leads to this machine.
struct Here;

impl Resolve for Here {
    fn resolve(
        &self,
        _host: &str,
        _port: u16,
    ) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>> {
        Box::pin(std::future::ready(Ok(vec![IpAddr::from([127, 0, 0, 1])])))
    }
}

/// A courier that may go to two backends, on a clock that stands.
struct Two {
    world: World,
    clock: Arc<SetClock>,
    one: Backend,
    other: Backend,
}

impl Two {
    async fn new(lines: &str) -> Self {
        let (one, other) = (Backend::start().await, Backend::start().await);
        let world = World::new()
            .with_plugins(&[guests::COURIER])
            .with_grant("courier", &one.url, &["127.0.0.1"])
            .with_grant("courier", &other.url, &["127.0.0.1"])
            .with_config(&once(lines));
        Self { world, clock: SetClock::at(NOON), one, other }
    }

    async fn open(&self) -> Host {
        let seams = Seams::system(&self.world.config()).unwrap();
        self.world.open_with(Seams { clock: Arc::clone(&self.clock) as _, ..seams }).await
    }

    /// The first of them fails until it is left alone.
    async fn fail(&self, host: &Host, tool: &str) {
        self.one.fault("", Fault::status(Moment::BeforeWork, 500), 5);
        for _ in 0..5 {
            assert_eq!(code(&host.call(request(tool, &order(&self.one))).await), "BACKEND_FAILED");
        }
        assert_eq!(states(host), [(self.one.url.clone(), BackendState::Open)]);
    }

    fn shown(&self, reply: &Reply) -> String {
        shown(reply).replace(&self.one.url, "ONE").replace(&self.other.url, "OTHER")
    }
}

fn order(backend: &Backend) -> Value {
    order_at(&backend.url)
}

fn order_at(origin: &str) -> Value {
    json!({ "method": "GET", "url": format!("{origin}/orders/A-1001") })
}

fn mail_to(backend: &Backend) -> Value {
    json!({ "method": "POST", "url": format!("{}/mails", backend.url), "body": "{\"subject\":\"a\"}" })
}

fn states(host: &Host) -> Vec<(String, BackendState)> {
    host.backends().unwrap().into_iter().map(|backend| (backend.origin, backend.state)).collect()
}

fn requests(backend: &Backend) -> u64 {
    backend.counts().under("").requests
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backend_that_is_left_alone_keeps_no_call_from_another() {
    let two = Two::new("").await;
    let host = two.open().await;
    two.fail(&host, "courier.fetch").await;
    assert!(host.call(request("courier.fetch", &order(&two.other))).await.ok());
    let before = requests(&two.one);
    let refused = host.call(keyed("courier.fetch", &order(&two.one), "k")).await;
    assert_snapshot!(two.shown(&refused), @r#"
    {
      "ok": false,
      "error": {
        "code": "CIRCUIT_OPEN",
        "kind": "transient",
        "message": "a backend that the tool needs keeps failing, so it is left alone for now; nothing was sent to it",
        "retryable": true,
        "action": "retry_later",
        "retry_after_ms": 30000,
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
        "effects": 0,
        "cost_micros": 0,
        "replayed": false,
        "trace_id": "TRACE"
      }
    }
    "#);
    assert_eq!(requests(&two.one), before, "nothing was sent");
    let log = &record(&host, &refused).attempts[0].log;
    assert!(log.contains(&format!("sent nothing to {}: its breaker is open", two.one.url)), "{log}");
    assert!(log.contains(&format!("the breaker of courier.fetch is open: {}", two.one.url)), "{log}");
    // What kept it may pass, so that its key does it then.
    two.clock.forward(OPEN);
    let again = host.call(keyed("courier.fetch", &order(&two.one), "k")).await;
    assert_eq!((again.ok(), again.meta.attempts), (true, 2), "{}", text(&again));
}

#[tokio::test(flavor = "multi_thread")]
async fn where_every_backend_is_left_alone_the_call_is_refused_without_an_attempt() {
    let two = Two::new("").await;
    let host = two.open().await;
    two.fail(&host, "courier.fetch").await;
    two.clock.forward(Duration::from_secs(10));
    two.other.fault("", Fault::status(Moment::BeforeWork, 500), 5);
    for _ in 0..5 {
        host.call(request("courier.fetch", &order(&two.other))).await;
    }
    let runs = host.runs(None, 100).unwrap().len();
    let refused = host.call(request("courier.fetch", &order(&two.other))).await;
    assert_eq!((code(&refused).as_str(), refused.meta.attempts), ("CIRCUIT_OPEN", 0));
    assert_eq!(body(&refused)["retry_after_ms"], 20_000, "the first of them is tried again by then");
    assert_eq!(host.runs(None, 100).unwrap().len(), runs);
    // From then on each call goes as far as the one that may be tried.
    two.clock.forward(Duration::from_secs(20));
    let refused = host.call(request("courier.fetch", &order(&two.other))).await;
    assert_eq!((code(&refused).as_str(), refused.meta.attempts), ("CIRCUIT_OPEN", 1));
    assert!(host.call(request("courier.fetch", &order(&two.one))).await.ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_makes_do_with_another_backend_is_kept_from_the_one_that_fails() {
    let two = Two::new("").await;
    let host = two.open().await;
    let first = with(order(&two.one), json!({ "any_answer": true }));
    let both = json!({ "jobs": [first, order(&two.other)] });
    two.one.fault("", Fault::status(Moment::BeforeWork, 500), 5);
    for _ in 0..5 {
        assert!(host.call(request("courier.sequence", &both)).await.ok());
    }
    assert_eq!(states(&host), [(two.one.url.clone(), BackendState::Open)]);
    let reply = host.call(request("courier.sequence", &both)).await;
    assert!(reply.ok(), "{}", text(&reply));
    let told = body(&reply)["answers"][0]["body"].as_str().unwrap().to_owned();
    assert!(told.contains("left alone for now"), "{told}");
    assert_eq!((requests(&two.one), requests(&two.other)), (5, 6));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_done_elsewhere_before_is_told() {
    let two = Two::new("").await;
    let host = two.open().await;
    two.one.fault("", Fault::status(Moment::BeforeWork, 500), 5);
    for _ in 0..5 {
        let jobs = json!({ "jobs": [order(&two.one)] });
        assert_eq!(code(&host.call(request("courier.sequence", &jobs)).await), "BACKEND_FAILED");
    }
    let jobs = json!({ "jobs": [mail_to(&two.other), order(&two.one)] });
    let half = host.call(request("courier.sequence", &jobs)).await;
    assert_eq!(end(&host, &half), "PARTLY_DONE, suspended: half_done [done 202]");
    let message = body(&half)["message"].as_str().unwrap().to_owned();
    assert!(message.contains("(CIRCUIT_OPEN: a backend that the tool needs keeps failing"), "{message}");
    assert_eq!(two.other.counts().mails.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_fifty_callers_in_two_processes_tries_a_backend_among_others() {
    let two = Two::new("").await;
    let (first, second) = (two.open().await, two.open().await);
    two.fail(&first, "courier.fetch").await;
    two.clock.forward(OPEN);
    let release = hold(&two.one, "/orders", Moment::BeforeWork, 1);
    let mut calls = JoinSet::new();
    for n in 0..50 {
        let host = if n % 2 == 0 { first.clone() } else { second.clone() };
        let call = request("courier.fetch", &order(&two.one));
        calls.spawn(async move { host.call(call).await });
    }
    for _ in 0..49 {
        assert_eq!(code(&calls.join_next().await.unwrap().unwrap()), "CIRCUIT_OPEN");
    }
    drop(release);
    assert!(calls.join_next().await.unwrap().unwrap().ok());
    assert_eq!(requests(&two.one), 6);
    assert_eq!(states(&second), [(two.one.url.clone(), BackendState::HalfOpen)]);
    assert!(second.call(request("courier.fetch", &order(&two.one))).await.ok());
    assert_eq!(first.backends().unwrap(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_tries_a_backend_among_others_and_is_withdrawn_gives_its_place_back() {
    let two = Two::new("").await;
    let host = two.open().await;
    two.fail(&host, "courier.fetch").await;
    two.clock.forward(OPEN);
    let cancel = Cancel::default();
    let call = request("courier.fetch", &with(order(&two.one), json!({ "then": "sleep" })));
    let trying = spawn(&host, Request { cancel: Some(cancel.clone()), ..call });
    while states(&host) != [(two.one.url.clone(), BackendState::HalfOpen)] {
        tokio::task::yield_now().await;
    }
    cancel.ask();
    let withdrawn = trying.await.unwrap();
    assert_eq!(code(&withdrawn), "INTERRUPTED");
    assert!(
        text(&withdrawn).contains("the caller withdrew the call before it ended"),
        "{}",
        text(&withdrawn)
    );
    // The clock stands still: nothing but the place that is given back ends this.
    let reply = loop {
        let reply = host.call(request("courier.fetch", &order(&two.one))).await;
        if code(&reply) != "CIRCUIT_OPEN" {
            break reply;
        }
    };
    assert!(reply.ok(), "{}", text(&reply));
}

#[tokio::test(flavor = "multi_thread")]
async fn each_origin_under_a_pattern_has_a_breaker_of_its_own() {
    let backend = Backend::start().await;
    let port = backend.address.port();
    let at = |name: &str| format!("http://{name}.desk.test:{port}");
    let world = World::new()
        .with_plugins(&[guests::COURIER])
        .with_grant("courier", &at("*"), &["127.0.0.1"])
        .with_config(&once(""));
    let clock = SetClock::at(NOON);
    let seams = Seams::system(&world.config()).unwrap();
    let seams = Seams { clock: Arc::clone(&clock) as _, resolver: Arc::new(Here), ..seams };
    let host = world.open_with(seams).await;
    let fetch = async |name: &str| host.call(request("courier.fetch", &order_at(&at(name)))).await;
    backend.fault("/orders", Fault::status(Moment::BeforeWork, 500), 5);
    for _ in 0..5 {
        assert_eq!(code(&fetch("a").await), "BACKEND_FAILED");
    }
    assert_eq!(states(&host), [(at("a"), BackendState::Open)]);
    assert_eq!(code(&fetch("a").await), "CIRCUIT_OPEN");
    assert!(fetch("b").await.ok());
    // An operator holds one of them, or all.
    let holds = async |origin: Option<&str>, forced| {
        host.force("courier.fetch", origin, forced).await.map_err(|failure| failure.message)
    };
    assert_eq!(holds(Some(&at("b")), Some(Forced::Open)).await.unwrap(), [at("b")]);
    assert_eq!(code(&fetch("b").await), "CIRCUIT_OPEN");
    assert!(fetch("c").await.ok());
    assert_eq!(holds(None, Some(Forced::Open)).await.unwrap(), [at("*")]);
    let refused = fetch("c").await;
    assert_eq!((code(&refused).as_str(), refused.meta.attempts), ("CIRCUIT_OPEN", 0));
    assert_eq!(holds(None, Some(Forced::Closed)).await.unwrap(), [at("*")]);
    assert!(fetch("a").await.ok() && fetch("c").await.ok());
    assert_eq!(code(&fetch("b").await), "CIRCUIT_OPEN", "what is said of one origin goes before");
    let elsewhere = holds(Some("http://a.b.desk.test"), None).await.unwrap_err();
    assert!(elsewhere.contains(&format!("does not go there, but to {}", at("*"))), "{elsewhere}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_whose_tool_was_not_patient_says_nothing_of_the_backend() {
    let two = Two::new("[limits]\nread = \"100ms\"\n").await;
    let host = two.open().await;
    two.one.fault("", Fault::hang(Moment::BeforeWork), 12);
    let hasty = with(order(&two.one), json!({ "timeout_ms": 5 }));
    for _ in 0..6 {
        assert_eq!(code(&host.call(request("courier.fetch", &hasty)).await), "ANSWER_BROKEN");
    }
    assert_eq!(states(&host), []);
    for _ in 0..5 {
        assert_eq!(code(&host.call(request("courier.fetch", &order(&two.one))).await), "ANSWER_BROKEN");
    }
    assert_eq!(states(&host), [(two.one.url.clone(), BackendState::Open)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_goes_nowhere_reads_nothing_of_backends() {
    let two = World::in_memory().with_plugins(&[guests::ECHO, guests::NOTEBOOK]);
    let seams = Seams::system(&two.config()).unwrap();
    let flaky = Flaky::over(Arc::clone(&seams.store));
    let host = two.open_with(Seams { store: flaky.clone(), ..seams }).await;
    assert!(host.call(request("echo.echo", &json!({ "text": "x" }))).await.ok());
    assert_eq!(flaky.backends_read(), 0);
    let failure = host.force("echo.echo", None, Some(Forced::Open)).await.unwrap_err();
    assert_eq!(
        failure.message,
        "no breaker stands between echo.echo and where it goes: it sends nothing, or nothing of it is granted"
    );
    // What its retries cost comes back all the same.
    let lines = json!({ "lines": ["fail", "fail"] });
    host.call(request("notebook.bare", &lines)).await;
    assert!(host.backends().unwrap()[0].retry_tokens < 100);
    for _ in 0..100 {
        host.call(request("notebook.bare", &json!({ "lines": [] }))).await;
    }
    assert_eq!(host.backends().unwrap(), []);
    let before = flaky.backends_read();
    host.call(request("notebook.bare", &json!({ "lines": [] }))).await;
    host.call(request("notebook.bare", &json!({ "lines": [] }))).await;
    assert!(flaky.backends_read() <= before + 1, "the debt is paid");
}
