//! Names that lead to places where no request may go, at once or only the second time.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use airlock::host::Seams;
use airlock::sandbox::capability::http::Resolve;
use airlock_tests::backend::{Backend, Listener, Options};
use airlock_tests::guests::COURIER;
use airlock_tests::netns;
use airlock_tests::world::{World, body, code, request};
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::addresses::block_on;
use super::{Open, get, told};

type Resolved = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// Answers that are given one after the other; the last stays.
#[derive(Clone)]
struct Answers {
    left: Arc<Mutex<VecDeque<Vec<IpAddr>>>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Answers {
    fn of(answers: &[&[&str]]) -> Self {
        let parse = |answer: &&[&str]| answer.iter().map(|text| text.parse().unwrap()).collect();
        Self { left: Arc::new(Mutex::new(answers.iter().map(parse).collect())), asked: Arc::default() }
    }

    /// How often anything was asked.
    fn asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

impl Resolve for Answers {
    fn resolve(&self, host: &str, _port: u16) -> Resolved {
        self.asked.lock().unwrap().push(host.to_owned());
        let mut left = self.left.lock().unwrap();
        let answer = if left.len() > 1 { left.pop_front() } else { left.front().cloned() };
        Box::pin(std::future::ready(answer.ok_or_else(|| io::Error::other("inside.test: 10.1.2.3 says no"))))
    }
}

/// A resolver that never comes back.
struct Silent;

impl Resolve for Silent {
    fn resolve(&self, _host: &str, _port: u16) -> Resolved {
        Box::pin(std::future::pending())
    }
}

/// A host whose names are resolved so, and whose courier may send to one of them.
async fn named(origin: &str, addresses: &[&str], more: &str, resolver: Arc<dyn Resolve>) -> Open {
    let world =
        World::new().with_plugins(&[COURIER]).with_grant("courier", origin, addresses).with_config(more);
    let mut seams = Seams::system(&world.config()).unwrap();
    seams.resolver = resolver;
    let host = world.open_with(seams).await;
    Open { host, world }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_leads_to_this_machine_is_refused_until_its_address_is_granted() {
    let listener = Listener::start_on("127.0.0.1:0".parse().unwrap()).unwrap();
    let origin = format!("http://inside.test:{}", listener.address().port());
    let resolver = Arc::new(Answers::of(&[&["127.0.0.1"]]));
    let open = named(&origin, &[], "", resolver.clone()).await;
    let reply = open.call("courier.fetch", get(&format!("{origin}/orders/A-1002"))).await;
    assert_eq!(
        told(&body(&reply)),
        "Forbidden(\"the name leads to a loopback address, which must be granted by address\")"
    );
    assert_eq!(reply.meta.effects, 0, "it did not leave the sandbox");
    assert_eq!((listener.connections(), resolver.asked()), (0, 1));

    let backend = Backend::start().await;
    let origin = format!("http://inside.test:{}", backend.address.port());
    let twin = named(&origin, &["127.0.0.1"], "", Arc::new(Answers::of(&[&["127.0.0.1"]]))).await;
    let reply = twin.call("courier.fetch", get(&format!("{origin}/orders/A-1002"))).await;
    assert_eq!((&body(&reply)["status"], reply.meta.effects), (&json!(200), 1));
    assert_eq!(backend.requests()[0].header("host"), origin.strip_prefix("http://"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_is_resolved_once_and_the_address_that_was_checked_is_dialled() {
    let backend = Backend::start().await;
    let other =
        Listener::start_on(SocketAddr::new("127.0.0.2".parse().unwrap(), backend.address.port())).unwrap();
    let origin = format!("http://inside.test:{}", backend.address.port());
    let resolver = Arc::new(Answers::of(&[&["127.0.0.1"], &["127.0.0.2"]]));
    let open = named(&origin, &["127.0.0.1"], "", resolver.clone()).await;
    assert_eq!(open.data("courier.fetch", get(&format!("{origin}/orders/A-1002"))).await["status"], 200);
    assert_eq!((resolver.asked(), other.connections()), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_changes_its_answer_is_checked_each_time() {
    let backend = Backend::start().await;
    let other =
        Listener::start_on(SocketAddr::new("127.0.0.2".parse().unwrap(), backend.address.port())).unwrap();
    let origin = format!("http://inside.test:{}", backend.address.port());
    let answers: &[&[&str]] = &[&["127.0.0.1"], &["127.0.0.2"], &["127.0.0.1"]];
    let open = named(&origin, &["127.0.0.1"], "", Arc::new(Answers::of(answers))).await;
    let url = format!("{origin}/orders/A-1002");
    assert_eq!(open.data("courier.fetch", get(&url)).await["status"], 200);
    let data = open.data("courier.fetch", get(&url)).await;
    assert!(told(&data).starts_with("Forbidden(\"the name leads to a loopback address"), "{data}");
    assert_eq!(open.data("courier.fetch", get(&url)).await["status"], 200);
    assert_eq!((other.connections(), backend.counts().of("GET /orders/A-1002").works), (0, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_call_that_meets_a_changed_answer_between_its_requests_is_stopped_there() {
    let backend = Backend::start().await;
    let other =
        Listener::start_on(SocketAddr::new("127.0.0.2".parse().unwrap(), backend.address.port())).unwrap();
    let origin = format!("http://inside.test:{}", backend.address.port());
    let answers: &[&[&str]] = &[&["127.0.0.1"], &["127.0.0.2"]];
    let open = named(&origin, &["127.0.0.1"], "", Arc::new(Answers::of(answers))).await;
    let job = json!({ "method": "GET", "url": format!("{origin}/orders/A-1002"), "times": 2 });
    assert_eq!(open.code("courier.fetch", job).await, "REQUEST_REFUSED");
    assert_eq!((other.connections(), backend.counts().of("GET /orders/A-1002").works), (0, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_with_one_address_that_is_not_granted_is_refused_whole() {
    let first = Listener::start_on("127.0.0.1:0".parse().unwrap()).unwrap();
    let place = SocketAddr::new("127.0.0.2".parse().unwrap(), first.address().port());
    let second = Listener::start_on(place).unwrap();
    let origin = format!("http://inside.test:{}", first.address().port());
    for mixed in [["127.0.0.1", "127.0.0.2"], ["127.0.0.2", "127.0.0.1"]] {
        let open = named(&origin, &["127.0.0.1"], "", Arc::new(Answers::of(&[&mixed]))).await;
        let data = open.data("courier.fetch", get(&format!("{origin}/"))).await;
        assert!(told(&data).starts_with("Forbidden("), "{data}");
    }
    assert_eq!((first.connections(), second.connections()), (0, 0));
    drop((first, second));

    let backend = Backend::start().await;
    let origin = format!("http://inside.test:{}", backend.address.port());
    let both = &["127.0.0.2", "127.0.0.1"];
    let twin = named(&origin, both, "", Arc::new(Answers::of(&[both]))).await;
    assert_eq!(twin.data("courier.fetch", get(&format!("{origin}/orders/A-1002"))).await["status"], 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_with_a_dot_at_its_end_needs_a_grant_of_its_own() {
    let listener = Listener::start_on("127.0.0.1:0".parse().unwrap()).unwrap();
    let port = listener.address().port();
    let resolver = Arc::new(Answers::of(&[&["127.0.0.1"]]));
    let open = named(&format!("http://inside.test:{port}"), &["127.0.0.1"], "", resolver.clone()).await;
    for host in ["inside.test.", "inside.test.evil.test", "evil.inside.test", "insidextest"] {
        let data = open.data("courier.fetch", get(&format!("http://{host}:{port}/"))).await;
        assert!(told(&data).starts_with("Forbidden(\"the operator has not granted"), "{data}");
    }
    assert_eq!((listener.connections(), resolver.asked()), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_star_in_an_origin_is_one_label_and_its_addresses_are_checked_all_the_same() {
    let listener = Listener::start_on("127.0.0.1:8080".parse().unwrap());
    let resolver = Arc::new(Answers::of(&[&["127.0.0.1"]]));
    let open = named("http://*.allowed.test:8080", &[], "", resolver.clone()).await;
    for host in ["a.b.allowed.test", "allowed.test", ".allowed.test"] {
        let data = open.data("courier.fetch_fixed", get(&format!("http://{host}:8080/"))).await;
        assert!(told(&data).starts_with("Forbidden(\"the "), "{host}: {data}");
    }
    assert_eq!(resolver.asked(), 0);
    let data = open.data("courier.fetch_fixed", get("http://a.allowed.test:8080/")).await;
    assert!(told(&data).starts_with("Forbidden(\"the name leads to a loopback"), "{data}");
    if let Ok(listener) = listener {
        assert_eq!(listener.connections(), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_without_an_address_is_not_sent_to_and_what_the_resolver_said_stays_here() {
    let open = named("http://inside.test", &[], "", Arc::new(Answers::of(&[]))).await;
    let reply = open.call("courier.fetch", json!({ "method": "GET", "url": "http://inside.test/" })).await;
    assert_eq!((code(&reply).as_str(), &body(&reply)["kind"]), ("BACKEND_UNREACHABLE", &json!("transient")));
    let shown = body(&reply).to_string();
    assert!(!shown.contains("10.1.2.3") && !shown.contains("inside.test"), "{shown}");
    assert!(open.log(&reply).await.contains("10.1.2.3 says no"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resolver_that_never_answers_holds_a_request_no_longer_than_connecting_may_take() {
    let open = named("http://inside.test", &[], "[limits]\nconnect = \"100ms\"", Arc::new(Silent)).await;
    let data = open.data("courier.fetch", get("http://inside.test/")).await;
    assert_eq!(told(&data), "NotSent(\"the name was not resolved within 100ms ([limits] connect)\")");
}

/// A resolver whose answers, all the same one, are held back until it is opened; it counts who waits for them.
struct Gate {
    open: watch::Sender<bool>,
    waiting: AtomicUsize,
    most: AtomicUsize,
}

impl Gate {
    fn closed() -> Arc<Self> {
        Arc::new(Self {
            open: watch::Sender::new(false),
            waiting: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
        })
    }
}

/// The gate, as the host is given it.
struct Gated(Arc<Gate>);

impl Resolve for Gated {
    fn resolve(&self, _host: &str, _port: u16) -> Resolved {
        let (gate, mut open) = (Arc::clone(&self.0), self.0.open.subscribe());
        Box::pin(async move {
            gate.most.fetch_max(gate.waiting.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            let opened = open.wait_for(|open| *open).await.is_ok();
            gate.waiting.fetch_sub(1, Ordering::SeqCst);
            assert!(opened, "the gate outlives those who wait");
            Ok(vec!["127.0.0.1".parse().unwrap()])
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_nobody_answers_for_take_no_more_than_a_few_look_ups_at_a_time() {
    let backend = Backend::start().await;
    let origin = format!("http://inside.test:{}", backend.address.port());
    let gate = Gate::closed();
    let resolver = Arc::new(Gated(Arc::clone(&gate)));
    let open = named(&origin, &["127.0.0.1"], "[limits]\nconnect = \"1s\"", resolver).await;
    let url = format!("{origin}/orders/A-1002");
    let all = async || {
        let mut calls = JoinSet::new();
        for _ in 0..20 {
            let (host, asked) = (open.host.clone(), request("courier.fetch", &get(&url)));
            calls.spawn(async move { body(&host.call(asked).await) });
        }
        calls.join_all().await
    };
    for data in all().await {
        assert_eq!(told(&data), "NotSent(\"the name was not resolved within 1s ([limits] connect)\")");
    }
    // Those that nobody waits for any more still run, as a thread of the system's resolver would.
    assert_eq!(gate.most.load(Ordering::SeqCst), 8);
    assert_eq!(gate.waiting.load(Ordering::SeqCst), 8);
    // An address needs no look-up, and so no turn.
    let address = format!("http://127.0.0.1:{}", backend.address.port());
    let data = open.data("courier.fetch", get(&format!("{address}/orders/A-1002"))).await;
    assert!(told(&data).starts_with("Forbidden(\"the operator has not granted"), "{data}");
    let _ = gate.open.send(true);
    for data in all().await {
        assert_eq!(data["status"], 200, "{data}");
    }
    assert_eq!(gate.most.load(Ordering::SeqCst), 8);
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_wait_for_a_next_request_are_bounded_in_number_and_in_time() {
    let backend = Backend::start().await;
    let port = backend.address.port();
    let resolver = Arc::new(Answers::of(&[&["127.0.0.1"]]));
    let open = named(&format!("http://*.inside.test:{port}"), &["127.0.0.1"], "", resolver).await;
    // A place each, so that none is used twice.
    for number in 0..300 {
        let data = open
            .data("courier.fetch", get(&format!("http://n{number}.inside.test:{port}/orders/A-1002")))
            .await;
        assert_eq!(data["status"], 200, "{data}");
        assert!(
            backend.open_connections() <= 258,
            "256 that wait, one in use, and one whose end is still under way"
        );
    }
    assert_eq!(backend.counts().connections, 300);
    // Nobody sends anything, and they are let go all the same.
    let waiting = tokio::task::spawn_blocking(move || backend.wait_open(0));
    waiting.await.unwrap();
    drop(open);
}

#[test]
fn a_public_name_that_turns_private_is_stopped_at_its_second_request() {
    let name = "attack::names::a_public_name_that_turns_private_is_stopped_at_its_second_request";
    netns::inside(name, &["9.9.9.9", "2620:fe::9", "10.0.0.5", "fd00::5"], || block_on(turns_private()));
}

async fn turns_private() {
    for (public, private) in [("9.9.9.9", "10.0.0.5"), ("2620:fe::9", "fd00::5"), ("9.9.9.9", "fd00::5")] {
        let place = |address: &str| SocketAddr::new(address.parse().unwrap(), 0);
        let backend = Options { address: place(public), ..Options::default() }.start().unwrap();
        let port = backend.address.port();
        let listener = Listener::start_on(SocketAddr::new(private.parse().unwrap(), port)).unwrap();
        let origin = format!("http://rebind.test:{port}");
        let resolver = Answers::of(&[&[public], &[private]]);
        // Nothing is granted by address: the public one needs no grant.
        let open = named(&origin, &[], "", Arc::new(resolver)).await;
        let url = format!("{origin}/orders/A-1002");
        assert_eq!(open.data("courier.fetch", get(&url)).await["status"], 200, "{public}");
        let data = open.data("courier.fetch", get(&url)).await;
        assert!(told(&data).starts_with("Forbidden(\"the name leads to a private address"), "{data}");
        assert_eq!(listener.connections(), 0);
        drop(listener);

        let inside = Options { address: place(private), ..Options::default() }.start().unwrap();
        let origin = format!("http://rebind.test:{}", inside.address.port());
        let twin = named(&origin, &[private], "", Arc::new(Answers::of(&[&[private]]))).await;
        assert_eq!(twin.data("courier.fetch", get(&format!("{origin}/orders/A-1002"))).await["status"], 200);
    }
}
