//! Addresses that no request may reach unless the operator granted them, in every way in which one can be written.

use std::net::{IpAddr, SocketAddr};

use airlock_tests::backend::{Backend, Listener};
use airlock_tests::guests::COURIER;
use airlock_tests::netns::{self, PRIVATE};
use airlock_tests::world::{World, body, code};
use serde_json::json;

use super::{Open, get, open_world, told};

/// Where servers listen in a namespace.
const PORT: u16 = 8080;

/// Ways to write 127.0.0.1 that are no names.
const LOOPBACK: [&str; 12] = [
    "127.0.0.1",
    "2130706433",
    "0x7f000001",
    "0x7F.0.0.1",
    "0177.0.0.1",
    "0x7f.1",
    "127.1",
    "127.0.1",
    "017700000001",
    "127.0.0.1.",
    "%31%32%37.0.0.1",
    "127.0.0.0x1",
];

/// Ways to write it in the clothes of IPv6.
const MAPPED: [&str; 4] =
    ["[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:127.0.0.1]", "[::FFFF:7F00:0001]"];

/// A host where the courier may send to these hosts, with these addresses granted.
async fn granted(hosts: &[&str], port: u16, addresses: &[&str]) -> Open {
    let mut world = World::new().with_plugins(&[COURIER]);
    for host in hosts {
        world = world.with_grant("courier", &format!("http://{host}:{port}"), addresses);
    }
    open_world(world).await
}

fn in_url(address: &str) -> String {
    if address.contains(':') { format!("[{address}]") } else { address.to_owned() }
}

async fn says_what_kind(open: &Open, host: &str, port: u16, kind: &str) {
    let data = open.data("courier.fetch", get(&format!("http://{host}:{port}/orders/A-1002"))).await;
    let article = if kind.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    let rule = format!(
        "Forbidden(\"the name leads to {article} {kind} address, which must be granted by address\")"
    );
    assert_eq!(told(&data), rule, "{host}");
}

#[tokio::test(flavor = "multi_thread")]
async fn this_machine_is_not_reached_however_it_is_written() {
    let listener = Listener::start_on("127.0.0.1:0".parse().unwrap()).unwrap();
    let port = listener.address().port();
    let hosts = ["127.0.0.1", "localhost", "localhost.", "0.0.0.0", "[::1]", "[::]", "[::ffff:127.0.0.1]"];
    let open = granted(&hosts, port, &[]).await;
    for host in LOOPBACK {
        says_what_kind(&open, host, port, "loopback").await;
    }
    for host in MAPPED {
        says_what_kind(&open, host, port, "mapped").await;
    }
    for (host, kind) in [
        ("localhost", "loopback"),
        ("LOCALHOST", "loopback"),
        ("[::1]", "loopback"),
        ("0", "unspecified"),
        ("[::]", "unspecified"),
    ] {
        says_what_kind(&open, host, port, kind).await;
    }
    // A name with a dot at its end is another name, which may lead nowhere; where it leads here it is refused.
    let data = open.data("courier.fetch", get(&format!("http://localhost.:{port}/"))).await;
    assert!(told(&data).starts_with("Forbidden(") || told(&data).starts_with("NotSent("), "{data}");
    assert_eq!(listener.connections(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn this_machine_is_reached_once_its_address_is_granted_however_it_is_written() {
    let backend = Backend::start().await;
    let port = backend.address.port();
    let open = granted(&["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"], port, &["127.0.0.1", "::1"]).await;
    for host in LOOPBACK.iter().chain(&MAPPED).chain(&["localhost"]) {
        let data = open.data("courier.fetch", get(&format!("http://{host}:{port}/orders/A-1002"))).await;
        assert_eq!(data["status"], 200, "{host}: {data}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grant_for_one_way_of_writing_is_none_for_another_host() {
    let listener = Listener::start_on("127.0.0.1:0".parse().unwrap()).unwrap();
    let port = listener.address().port();
    let open = granted(&["127.0.0.1"], port, &["127.0.0.1", "::1"]).await;
    for host in [
        "localhost",
        "localhost.",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "127.0.0.2",
        "0.0.0.0",
        "127.0.0.1.nip.test",
    ] {
        let data = open.data("courier.fetch", get(&format!("http://{host}:{port}/"))).await;
        assert!(
            told(&data).starts_with("Forbidden(\"the operator has not granted this origin"),
            "{host}: {data}"
        );
    }
    assert_eq!(listener.connections(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_of_no_public_network_are_refused_by_their_kind() {
    let kinds = [
        ("10.0.0.5", "private"),
        ("172.31.255.255", "private"),
        ("192.168.1.1", "private"),
        ("169.254.169.254", "link-local"),
        ("100.64.0.1", "shared"),
        ("192.0.0.8", "reserved"),
        ("198.18.0.1", "reserved"),
        ("224.0.0.1", "multicast"),
        ("255.255.255.255", "reserved"),
        ("fc00::1", "private"),
        ("fd00:ec2::254", "private"),
        ("fe80::1", "link-local"),
        ("ff02::1", "multicast"),
        ("::ffff:10.0.0.5", "mapped"),
        ("64:ff9b::a00:5", "translated"),
        ("2002:a00:5::1", "translated"),
        ("::127.0.0.1", "unspecified"),
    ];
    let hosts: Vec<String> = kinds.iter().map(|(address, _)| in_url(address)).collect();
    let open = granted(&hosts.iter().map(String::as_str).collect::<Vec<_>>(), PORT, &[]).await;
    for (address, kind) in kinds {
        says_what_kind(&open, &in_url(address), PORT, kind).await;
    }
    for zone in ["[fe80::1%25lo]", "[fe80::1%lo]"] {
        let data = open.data("courier.fetch", get(&format!("http://{zone}:{PORT}/"))).await;
        assert!(told(&data).starts_with("Invalid("), "{zone}: {data}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_line_that_would_allow_an_address_is_kept_for_the_operator_and_does_allow_it() {
    let backend = Backend::start().await;
    let port = backend.address.port();
    for host in ["127.0.0.1", "[::ffff:127.0.0.1]", "localhost"] {
        let ungranted = granted(&[host], port, &[]).await;
        let mut job = get(&format!("http://{host}:{port}/orders/A-1002"));
        job["any_answer"] = json!(false);
        let reply = ungranted.call("courier.fetch", job.clone()).await;
        assert_eq!(code(&reply), "REQUEST_REFUSED");
        let shown = body(&reply).to_string();
        assert!(!shown.contains("127.0.0.1") && !shown.contains("[[plugin"), "{shown}");
        let log = ungranted.log(&reply).await;
        let (_, line) = log.split_once("addresses = [").expect(&log);
        let (addresses, rest) = line.split_once(']').unwrap();
        assert_eq!(rest, " would allow it\n");
        let addresses: Vec<&str> = addresses.split(", ").map(|text| text.trim_matches('"')).collect();
        let twin = granted(&[host], port, &addresses).await;
        assert_eq!(twin.data("courier.fetch", job).await["status"], 200, "{addresses:?}");
    }
}

/// Runs to its end on a runtime of its own, as a body inside a namespace must.
pub(super) fn block_on(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(test);
}

#[test]
fn private_servers_that_listen_are_not_reached_until_their_address_is_granted() {
    let name =
        "attack::addresses::private_servers_that_listen_are_not_reached_until_their_address_is_granted";
    netns::inside(name, &PRIVATE, || block_on(private_servers()));
}

async fn private_servers() {
    let addresses: Vec<&str> = PRIVATE.into_iter().chain(["127.0.0.1", "::1"]).collect();
    let hosts: Vec<String> = addresses.iter().map(|address| in_url(address)).collect();
    let hosts: Vec<&str> = hosts.iter().map(String::as_str).collect();
    let ungranted = granted(&hosts, PORT, &[]).await;
    // An address beside each that is granted.
    let beside = granted(&hosts, PORT, &["10.0.0.6", "192.168.0.0/24", "fd00:ec2::255"]).await;
    let by_address = granted(&hosts, PORT, &addresses).await;
    let by_range = granted(&hosts, PORT, &["0.0.0.0/0", "::/0"]).await;
    for (address, host) in addresses.iter().zip(&hosts) {
        let place = SocketAddr::new(address.parse::<IpAddr>().unwrap(), PORT);
        let url = format!("http://{host}:{PORT}/orders/A-1002");
        let listener = Listener::start_on(place).unwrap();
        for open in [&ungranted, &beside] {
            let data = open.data("courier.fetch", get(&url)).await;
            assert!(told(&data).starts_with("Forbidden(\"the name leads to a "), "{host}: {data}");
        }
        assert_eq!(listener.connections(), 0, "{host}");
        drop(listener);
        let backend = served(place).await;
        for open in [&by_address, &by_range] {
            assert_eq!(open.data("courier.fetch", get(&url)).await["status"], 200, "{host}");
        }
        assert_eq!(backend.counts().of("GET /orders/A-1002").works, 2, "{host}");
    }
}

/// A backend on a place that a listener may still be leaving.
async fn served(place: SocketAddr) -> Backend {
    loop {
        let options = airlock_tests::backend::Options { address: place, ..Default::default() };
        match options.start() {
            Ok(backend) => return backend,
            Err(_) => tokio::task::yield_now().await,
        }
    }
}
