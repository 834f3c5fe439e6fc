//! The judge is judged: what the desk's backend does to the wire, read by a client of bare bytes.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use airlock_tests::backend::{Backend, Count, Fault, Listener, Moment, Options};
use serde_json::{Value, json};

/// Bounds every read here; no answer that comes takes nearly so long.
const READ_LIMIT: Duration = Duration::from_secs(20);

/// How long nothing must come before it counts as silence.
const SILENCE: Duration = Duration::from_millis(150);

fn start() -> Backend {
    Options::default().start().expect("a port is free")
}

fn request(method: &str, target: &str, headers: &str, body: &str) -> String {
    format!(
        "{method} {target} HTTP/1.1\r\nHost: desk\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn ticket(key: &str, body: &str) -> String {
    request("POST", "/tickets", &format!("Authorization: Bearer t\r\nIdempotency-Key: {key}\r\n"), body)
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the backend listens");
    stream.set_read_timeout(Some(READ_LIMIT)).expect("a limit above zero is accepted");
    stream
}

fn send(backend: &Backend, request: &str) -> TcpStream {
    let mut stream = connect(backend.address);
    stream.write_all(request.as_bytes()).expect("the backend reads");
    stream
}

/// All bytes until the backend closes the connection.
fn until_closed(mut stream: TcpStream) -> String {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("the backend closes the connection in an orderly way");
    String::from_utf8(bytes).expect("everything here is text")
}

/// One answer that says its length; the connection stays open.
fn answer(stream: &mut TcpStream) -> (String, String) {
    let (mut bytes, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n")
            && body.len() >= promised(head)
        {
            return (head.to_owned(), body.to_owned());
        }
        let length = stream.read(&mut buffer).expect("the answer comes");
        assert_ne!(length, 0, "the connection closed after {text:?}");
        bytes.extend_from_slice(&buffer[..length]);
    }
}

fn promised(head: &str) -> usize {
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    length.map_or(0, |length| length.parse().expect("a length is a number"))
}

fn ask(backend: &Backend, request: &str) -> (String, Value) {
    let (head, body) = answer(&mut send(backend, request));
    (head, serde_json::from_str(&body).unwrap_or(Value::Null))
}

fn status(head: &str) -> u16 {
    let code = head.split(' ').nth(1).expect("a status line has a code");
    code.parse().expect("a code is a number")
}

fn count(requests: u64, works: u64) -> Count {
    Count { requests, works }
}

#[test]
fn orders_are_found_by_a_part_of_a_name_in_any_case() {
    let backend = start();
    let (_, several) = ask(&backend, &request("GET", "/orders?name=Li", "", ""));
    let (_, one) = ask(&backend, &request("GET", "/orders?name=oKAFOR", "", ""));
    let (head, order) = ask(&backend, &request("GET", "/orders/A-1003", "", ""));
    let (missing, error) = ask(&backend, &request("GET", "/orders/A-9", "", ""));
    assert_eq!(several["orders"].as_array().map(Vec::len), Some(3));
    assert_eq!((status(&head), &one["orders"]), (200, &json!([order])));
    assert_eq!((status(&missing), &error["error"]["code"]), (404, &json!("ORDER_NOT_FOUND")));
    assert_eq!(backend.counts().under("GET /orders"), count(4, 3));
}

#[test]
fn a_key_opens_one_ticket_and_gives_it_again_byte_for_byte() {
    let backend = start();
    let mut line = connect(backend.address);
    let mut again = || {
        line.write_all(ticket("k1", r#"{"subject":"Broken"}"#).as_bytes()).expect("the connection is kept");
        let (head, body) = answer(&mut line);
        let undated: Vec<_> =
            head.lines().filter(|line| !line.starts_with("date: ")).map(str::to_owned).collect();
        (undated, body)
    };
    let (first, second) = (again(), again());
    assert_eq!(first, second);
    let url = format!("{}/tickets/T-1001", backend.url);
    let made = json!({ "ticket_id": "T-1001", "url": url, "status": "open", "subject": "Broken" });
    assert_eq!(serde_json::from_str::<Value>(&first.1).expect("a ticket is JSON"), made);
    let counts = backend.counts();
    assert_eq!((counts.of("POST /tickets"), counts.key("k1")), (count(2, 1), count(2, 1)));
    assert_eq!((counts.tickets, counts.connections), (vec![made], 1));
}

#[test]
fn a_key_with_another_body_a_body_that_is_none_and_no_token_open_nothing() {
    let backend =
        Options { token: Some("right".to_owned()), ..Options::default() }.start().expect("a port is free");
    let with = |token: &str, body: &str| {
        let headers = format!("Authorization: Bearer {token}\r\nIdempotency-Key: k\r\n");
        status(&ask(&backend, &request("POST", "/tickets", &headers, body)).0)
    };
    let bare = status(&ask(&backend, &request("POST", "/tickets", "", "{}")).0);
    let found =
        [bare, with("wrong", "{}"), with("right", "[]"), with("right", "{}"), with("right", r#"{"a":1}"#)];
    assert_eq!(found, [401, 401, 400, 201, 422]);
    assert_eq!(backend.counts().of("POST /tickets"), count(5, 1));
}

#[test]
fn every_mail_goes_out_and_every_write_of_a_setting_counts() {
    let backend = start();
    for _ in 0..2 {
        let headers = "Idempotency-Key: k\r\n";
        let (head, _) = ask(&backend, &request("POST", "/mails", headers, r#"{"to":"a@example.org"}"#));
        assert_eq!(status(&head), 202);
        assert_eq!(status(&ask(&backend, &request("PUT", "/settings/tone", "", r#""warm""#)).0), 200);
    }
    let counts = backend.counts();
    assert_eq!((counts.mails.len(), counts.key("k")), (2, count(2, 2)));
    assert_eq!((&counts.settings["tone"].value, counts.settings["tone"].writes), (&json!("warm"), 2));
}

#[test]
fn a_line_cut_before_or_after_the_work_carries_not_one_byte() {
    let backend = start();
    for (moment, works) in [(Moment::BeforeWork, 0), (Moment::AfterWork, 1)] {
        backend.fault("POST /tickets", Fault::cut(moment), 1);
        assert_eq!(until_closed(send(&backend, &ticket("k", "{}"))), "");
        assert_eq!(backend.counts().key("k").works, works);
    }
    assert_eq!(status(&ask(&backend, &ticket("k", "{}")).0), 201);
    assert_eq!(backend.counts().key("k"), count(3, 1));
}

#[test]
fn a_line_cut_after_the_head_carries_the_head_and_half_of_the_body() {
    let backend = start();
    backend.fault("/tickets", Fault::cut(Moment::AfterHead), 1);
    let bytes = until_closed(send(&backend, &ticket("k", r#"{"subject":"Broken"}"#)));
    let (head, half) = bytes.split_once("\r\n\r\n").expect("the head is whole");
    assert_eq!(status(head), 201);
    assert_eq!(half.len(), promised(head) / 2);
    assert!(head.contains("location: /tickets/T-1001"), "{head}");
    assert_eq!(backend.counts().key("k"), count(1, 1));
}

#[test]
fn a_silent_backend_keeps_the_connection_and_sends_nothing_more() {
    let backend = start();
    for (moment, works) in [(Moment::BeforeWork, 0), (Moment::AfterWork, 1), (Moment::AfterHead, 1)] {
        backend.fault("/mails", Fault::hang(moment), 1);
        let mut line = send(&backend, &request("POST", "/mails", "", "{}"));
        if moment == Moment::AfterHead {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                line.read_exact(&mut byte).expect("the head comes");
                head.extend(byte);
            }
        }
        line.set_read_timeout(Some(SILENCE)).expect("a limit above zero is accepted");
        let silence = line.read(&mut [0; 1]).expect_err("no byte and no end comes");
        assert_eq!(silence.kind(), std::io::ErrorKind::WouldBlock);
        backend.wait_idle();
        assert_eq!(backend.counts().mails.len(), works);
        backend.reset();
    }
}

#[test]
fn statuses_come_before_or_after_the_work_and_say_when_to_come_back() {
    let backend = start();
    backend.fault("/mails", Fault::status(Moment::BeforeWork, 429).retry_after(7), 1);
    backend.fault("/mails", Fault::status(Moment::BeforeWork, 503), 2);
    backend.fault("/mails", Fault::status(Moment::AfterWork, 500), 1);
    let mail = request("POST", "/mails", "", "{}");
    let heads: Vec<String> = (0..5).map(|_| ask(&backend, &mail).0).collect();
    let codes: Vec<u16> = heads.iter().map(|head| status(head)).collect();
    assert_eq!(codes, [429, 503, 503, 500, 202]);
    assert!(heads[0].contains("retry-after: 7"), "{}", heads[0]);
    assert_eq!(backend.counts().of("POST /mails"), count(5, 2));
    assert_eq!(backend.faults(), []);
}

#[test]
fn a_callback_runs_at_its_moment_and_the_answer_waits_for_it() {
    let backend = Arc::new(start());
    for (moment, bytes_before, works) in
        [(Moment::BeforeWork, false, 0), (Moment::AfterWork, false, 1), (Moment::AfterHead, true, 1)]
    {
        let mut line = connect(backend.address);
        let (tell, told) = mpsc::channel();
        let (desk, reader) = (Arc::downgrade(&backend), line.try_clone().expect("a stream can be shared"));
        let callback = move || {
            reader.set_read_timeout(Some(SILENCE)).expect("a limit above zero is accepted");
            let bytes = reader.peek(&mut [0; 1]).is_ok();
            let desk = desk.upgrade().expect("the backend outlives its requests");
            tell.send((bytes, desk.counts().of("POST /mails").works)).expect("the test waits");
        };
        backend.fault("/mails", Fault::call(moment, callback), 1);
        line.write_all(request("POST", "/mails", "", "{}").as_bytes()).expect("the backend reads");
        // Nobody reads before the callback has looked.
        assert_eq!(told.recv(), Ok((bytes_before, works)), "{moment:?}");
        line.set_read_timeout(Some(READ_LIMIT)).expect("a limit above zero is accepted");
        let (head, body) = answer(&mut line);
        assert_eq!((status(&head), body.len()), (202, promised(&head)));
        backend.reset();
    }
}

#[test]
fn work_that_has_begun_is_done_also_for_a_client_that_is_gone() {
    let backend = start();
    let (arrived, wait) = mpsc::channel();
    let (leave, left) = mpsc::channel::<()>();
    let left = Mutex::new(left);
    let callback = move || {
        arrived.send(()).expect("the test waits");
        left.lock().expect("one callback runs").recv().expect("the test says when");
    };
    backend.fault("/mails", Fault::call(Moment::BeforeWork, callback), 1);
    let line = send(&backend, &request("POST", "/mails", "", "{}"));
    wait.recv().expect("the request arrives");
    line.shutdown(Shutdown::Both).expect("the connection is open");
    drop(line);
    leave.send(()).expect("the callback waits");
    backend.wait_idle();
    assert_eq!(backend.counts().of("POST /mails"), count(1, 1));
}

#[test]
fn a_request_sent_just_before_its_client_died_is_counted() {
    let backend = start();
    for sent in 1..=200 {
        drop(send(&backend, &request("POST", "/mails", "", "{}")));
        backend.wait_idle();
        assert_eq!(backend.counts().of("POST /mails"), count(sent, sent));
    }
}

#[test]
fn bodies_are_as_long_and_as_slow_as_asked_and_redirects_go_where_asked() {
    let backend = start();
    let (head, body) = answer(&mut send(&backend, &request("GET", "/bytes?n=100000", "", "")));
    assert_eq!((promised(&head), body.len()), (100_000, 100_000));
    let (head, body) = answer(&mut send(&backend, &request("GET", "/slow-body?ms=1&n=5", "", "")));
    assert_eq!((promised(&head), body.as_str()), (5, "xxxxx"));
    let (head, _) =
        ask(&backend, &request("GET", "/redirect?to=http%3A%2F%2F10.0.0.5%2F&status=307", "", ""));
    assert_eq!((status(&head), head.contains("location: http://10.0.0.5/")), (307, true));
    let mut endless = send(&backend, &request("GET", "/endless", "", ""));
    endless.read_exact(&mut vec![0; 1_000_000]).expect("it does not end before");
}

#[test]
fn an_echo_tells_what_came_and_the_backend_keeps_it() {
    let backend = start();
    let (_, echo) = ask(&backend, &request("POST", "/echo?a=1", "X-One: 1\r\nX-One: 2\r\n", "hello"));
    let headers = json!({ "host": "desk", "x-one": "1, 2", "content-length": "5" });
    let whole =
        json!({ "method": "POST", "path": "/echo", "query": "a=1", "headers": headers, "body": "hello" });
    assert_eq!(echo, whole);
    let kept = &backend.requests()[0];
    assert_eq!(
        (kept.target.as_str(), kept.header("Host"), kept.body.as_slice()),
        ("/echo?a=1", Some("desk"), &b"hello"[..])
    );
}

#[test]
fn every_error_has_one_form() {
    let backend = start();
    for (method, target, code) in
        [("GET", "/nowhere", 404), ("DELETE", "/mails", 405), ("GET", "/bytes", 400)]
    {
        let (head, error) = ask(&backend, &request(method, target, "", ""));
        assert_eq!(status(&head), code);
        assert!(error["error"]["code"].is_string() && error["error"]["message"].is_string(), "{error}");
    }
}

#[test]
fn faults_and_counts_are_asked_for_over_http() {
    let backend = start();
    let fault = |body: Value| ask(&backend, &request("POST", "/faults", "", &body.to_string()));
    let (head, _) = fault(json!({ "path": "POST /mails", "fault": "cut_after", "times": 2 }));
    assert_eq!(status(&head), 201);
    fault(json!({ "path": "/mails", "fault": "429", "retry_after": 3 }));
    let words = [("POST /mails", "line cut after the work", 2), ("/mails", "status 429 before the work", 1)];
    let words = words.map(|(place, fault, times)| json!({ "place": place, "fault": fault, "times": times }));
    assert_eq!(ask(&backend, &request("GET", "/faults", "", "")).1, json!({ "faults": words }));
    for nonsense in ["cut_soon", "500_head", "kill", "999", "", "slowly"] {
        assert_eq!(status(&fault(json!({ "path": "/", "fault": nonsense })).0), 400, "{nonsense}");
    }
    assert_eq!(until_closed(send(&backend, &request("POST", "/mails", "", "{}"))), "");
    let (_, counts) = ask(&backend, &request("GET", "/counts?reset", "", ""));
    assert_eq!(counts["routes"], json!({ "POST /mails": { "requests": 1, "works": 1 } }));
    assert_eq!(backend.counts().under(""), count(0, 0));
}

#[test]
fn a_fault_asked_for_over_http_kills_a_process() {
    let backend = start();
    let mut victim = std::process::Command::new("sleep").arg("600").spawn().expect("sleep runs");
    let fault = json!({ "path": "/mails", "fault": "kill_after", "pid": victim.id() });
    assert_eq!(status(&ask(&backend, &request("POST", "/faults", "", &fault.to_string())).0), 201);
    assert_eq!(status(&ask(&backend, &request("POST", "/mails", "", "{}")).0), 202);
    let end = victim.wait().expect("the victim was ours");
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&end), Some(9));
}

#[test]
fn a_listener_counts_a_connection_that_was_made_a_moment_ago() {
    let listener = Listener::start_on(Options::default().address).expect("a port is free");
    assert_eq!(listener.connections(), 0);
    let lines: Vec<TcpStream> = (0..20).map(|_| connect(listener.address())).collect();
    assert_eq!(listener.connections(), 20);
    assert_eq!((lines.len(), listener.bytes()), (20, 0));
}

#[test]
fn a_backend_listens_on_ipv6_and_its_port_is_free_once_it_is_dropped() {
    let address = SocketAddr::from((std::net::Ipv6Addr::LOCALHOST, 0));
    let backend = Options { address, ..Options::default() }.start().expect("the loopback device has ::1");
    let address = backend.address;
    assert_eq!(backend.url, format!("http://[::1]:{}", address.port()));
    drop(backend);
    let backend = Options { address, ..Options::default() }.start().expect("the port is free again");
    assert_eq!(status(&ask(&backend, &request("GET", "/orders", "", "")).0), 200);
}
