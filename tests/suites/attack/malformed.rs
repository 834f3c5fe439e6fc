//! Requests that say two things at once, or more than a request may say.

use std::collections::BTreeSet;

use airlock_tests::backend::{Backend, Listener};
use airlock_tests::guests::COURIER;
use airlock_tests::world::{body, code};
use insta::{assert_json_snapshot, assert_snapshot};
use serde_json::json;

use super::requests::{everything, listened};
use super::{get, open, told};

/// Each once, a line each.
fn lines(rules: &BTreeSet<String>) -> String {
    rules.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_url_that_can_be_read_in_two_ways_is_not_sent() {
    let (listener, open) = listened(everything).await;
    let address = listener.address();
    let url = format!("http://{address}");
    let urls = [
        format!("{url}/orders/../admin"),
        format!("{url}/orders/%2e%2E/admin"),
        format!("{url}/a%2Fb"),
        format!("{url}/a%5Cb"),
        format!("{url}/a\\b"),
        format!("{url}\\@elsewhere.test/"),
        format!("http://user@{address}/"),
        format!("http://user:pass@{address}/"),
        format!("http://@{address}/"),
        format!("http://:@{address}/"),
        format!("http:///{address}/"),
        format!("http://?{address}/"),
        "http://".to_owned(),
        format!("http:{address}/"),
        format!("http:/{address}/"),
        format!("//{address}/"),
        format!("{address}/"),
        "/orders/7".to_owned(),
        format!("{url}/a b"),
        format!("{url}/a\r\nhost: elsewhere.test"),
        format!("{url}/\u{0}"),
        format!("{url}/\u{fc}"),
        format!("http://\u{ff11}27.0.0.1:{}/", address.port()),
        format!("ftp://{address}/"),
        "file:///etc/passwd".to_owned(),
        format!("javascript:{url}"),
        format!("{url}/{}", "x".repeat(9000)),
        String::new(),
    ];
    let mut rules = BTreeSet::new();
    for bad in urls {
        let reply = open.call("courier.fetch", get(&bad)).await;
        let data = body(&reply);
        assert!(told(&data).starts_with("Invalid("), "{bad}: {data}");
        rules.insert(told(&data).to_owned());
    }
    assert_snapshot!(lines(&rules), @r#"
    Invalid("the URL cannot be read: empty host")
    Invalid("the URL may have 8192 bytes")
    Invalid("the URL may hold visible ASCII without backslashes; encode the rest")
    Invalid("the URL must begin with http:// or https://")
    Invalid("the URL must name its host after //, and may not hold credentials")
    Invalid("the path may not hold `.` or `..` segments, %2F or %5C")
    "#);
    assert_eq!(listener.connections(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_url_as_a_path_stays_a_path_of_the_granted_origin() {
    let backend = Backend::start().await;
    let listener = Listener::start_on("127.0.0.1:0".parse().unwrap()).unwrap();
    let open = open(&[COURIER], &everything(&backend.url)).await;
    let elsewhere = format!("http://{}/secret", listener.address());
    let job = get(&format!("{}/things/{elsewhere}", backend.url));
    let data = open.data("courier.fetch", job).await;
    assert_eq!(data["status"], 200);
    let seen = backend.requests();
    assert_eq!(seen[0].target, format!("/things/{elsewhere}"));
    assert_eq!(seen[0].header("host"), backend.url.strip_prefix("http://"));
    assert_eq!(listener.connections(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_method_that_is_no_word_or_opens_a_tunnel_is_not_sent() {
    let (listener, open) = listened(everything).await;
    let url = format!("http://{}/orders/7", listener.address());
    let mut rules = BTreeSet::new();
    for method in [
        "get",
        "",
        "GET ",
        "G\r\nET",
        "GET / HTTP/1.1\r\nX: y",
        "CONNECT",
        "TRACE",
        "TRACK",
        "GET\t",
        "\u{213}ET",
    ] {
        let reply =
            open.call("courier.fetch", json!({ "method": method, "url": url, "any_answer": true })).await;
        let data = body(&reply);
        assert!(told(&data).starts_with("Invalid("), "{method:?}: {data}");
        rules.insert(told(&data).to_owned());
    }
    assert_snapshot!(lines(&rules), @r#"
    Invalid("CONNECT, TRACE and TRACK are never sent")
    Invalid("a method is written in capitals, such as GET")
    "#);
    assert_eq!(listener.connections(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_of_the_host_and_of_the_connection_are_not_the_guests_to_write() {
    let (listener, open) = listened(everything).await;
    let url = format!("http://{}/orders/7", listener.address());
    for name in [
        "Host",
        "HOST",
        "connection",
        "Keep-Alive",
        "proxy-connection",
        "Proxy-Authorization",
        "Transfer-Encoding",
        "te",
        "trailer",
        "Upgrade",
        "expect",
        "http2-settings",
    ] {
        let mut job = get(&url);
        job["headers"] = json!([[name, "elsewhere.test"]]);
        let data = open.data("courier.fetch", job).await;
        let rule = format!("Forbidden(\"the header {} is the host's to write\")", name.to_lowercase());
        assert_eq!(told(&data), rule);
    }
    let mut rules = BTreeSet::new();
    for (name, value) in [
        ("x-a", "b\r\nhost: elsewhere.test"),
        ("x-a", "b\nx: y"),
        ("x-a", "b\0"),
        ("x-a\r\nhost", "elsewhere.test"),
        ("x a", "b"),
        ("x:a", "b"),
        ("", "b"),
        (":authority", "elsewhere.test"),
        ("h\u{f6}st", "b"),
        ("content-length", "7"),
        ("Content-Length", "-1"),
        ("content-length", "0x0"),
        ("content-length", "00"),
        ("content-length", "+0"),
    ] {
        let mut job = get(&url);
        job["headers"] = json!([[name, value]]);
        let data = open.data("courier.fetch", job).await;
        assert!(told(&data).starts_with("Invalid("), "{name:?} {value:?}: {data}");
        rules.insert(told(&data).to_owned());
    }
    assert_snapshot!(lines(&rules), @r#"
    Invalid("content-length says +0 and the body has 0 bytes")
    Invalid("content-length says -1 and the body has 0 bytes")
    Invalid("content-length says 00 and the body has 0 bytes")
    Invalid("content-length says 0x0 and the body has 0 bytes")
    Invalid("content-length says 7 and the body has 0 bytes")
    Invalid("the header  holds what no header may")
    Invalid("the header :authority holds what no header may")
    Invalid("the header h\\u{f6}st holds what no header may")
    Invalid("the header x a holds what no header may")
    Invalid("the header x-a holds what no header may")
    Invalid("the header x-a\\r\\nhost holds what no header may")
    Invalid("the header x:a holds what no header may")
    "#);
    assert_eq!(listener.connections(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_that_are_the_guests_arrive_and_lengths_are_the_hosts_own() {
    let backend = Backend::start().await;
    let open = open(&[COURIER], &everything(&backend.url)).await;
    let job = json!({
        "method": "POST", "url": format!("{}/search", backend.url), "body": "{\"query\":\"Li\"}",
        "headers": [["X-Trace", "a"], ["x-trace", "b"], ["Content-Length", "14"], ["Accept", "text/plain"]],
    });
    assert_eq!(open.data("courier.fetch", job).await["status"], 200);
    let seen = backend.requests().remove(0);
    let headers: Vec<_> = seen.headers.iter().filter(|(name, _)| name != "host").collect();
    assert_json_snapshot!(headers, @r#"
    [
      [
        "x-trace",
        "a"
      ],
      [
        "x-trace",
        "b"
      ],
      [
        "accept",
        "text/plain"
      ],
      [
        "content-length",
        "14"
      ]
    ]
    "#);
    assert_eq!(seen.header("host"), backend.url.strip_prefix("http://"));
}

#[tokio::test(flavor = "multi_thread")]
async fn too_many_headers_and_too_long_ones_are_not_sent() {
    let (listener, open) = listened(everything).await;
    let url = format!("http://{}/orders/7", listener.address());
    let many: Vec<_> = (0..101).map(|number| json!([format!("x-{number}"), "y"])).collect();
    for headers in [json!(many), json!([["x", "y".repeat(40_000)]])] {
        let mut job = get(&url);
        job["headers"] = headers;
        let data = open.data("courier.fetch", job).await;
        assert_eq!(told(&data), "Invalid(\"a request may have 100 headers of 32768 bytes in all\")");
    }
    assert_eq!(listener.connections(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_beyond_the_limit_is_not_sent_and_one_within_it_is() {
    let backend = Backend::start().await;
    let config = "[limits]\nbody = \"1 KiB\"\n".to_owned() + &everything(&backend.url);
    let open = open(&[COURIER], &config).await;
    let job = |bytes: usize| {
        let url = format!("{}/settings/a", backend.url);
        json!({ "method": "PUT", "url": url, "body": "1".repeat(bytes), "any_answer": true })
    };
    let reply = open.call("courier.put", job(1025)).await;
    assert_eq!(told(&body(&reply)), "Invalid(\"the body may have 1024 bytes\")");
    assert_eq!(backend.counts().connections, 0);
    let reply = open.call("courier.put", job(1024)).await;
    assert_eq!((code(&reply).as_str(), backend.requests().len()), ("ok", 1));
}
