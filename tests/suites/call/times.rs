//! A request has one time to connect and one to be answered, however many steps each of them takes.

use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::pin::Pin;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use airlock::host::{Host, Seams};
use airlock::sandbox::capability::http::Resolve;
use airlock_tests::guests;
use airlock_tests::world::{SetClock, World, body, request};
use serde_json::json;

use super::{NOON, Scene, singly};

const SECOND: Duration = Duration::from_secs(1);

/// A resolver that takes its time, by the clock of the host.
struct Slow {
    clock: Arc<SetClock>,
    takes: Duration,
}

impl Resolve for Slow {
    fn resolve(
        &self,
        _host: &str,
        _port: u16,
    ) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>> {
        self.clock.pass(self.takes);
        Box::pin(std::future::ready(Ok(vec![Ipv4Addr::LOCALHOST.into()])))
    }
}

/// What a guest that reads from there is told: the status, and the body or why there is no answer.
async fn fetched(host: &Host, url: &str) -> (u64, String) {
    let input = json!({ "method": "GET", "url": url, "any_answer": true });
    let data = body(&host.call(request("courier.fetch", &input)).await);
    (data["status"].as_u64().unwrap(), data["body"].as_str().unwrap().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn looking_a_name_up_and_dialling_share_the_time_to_connect() {
    let Scene { world, backend } = Scene::courier("").await;
    let origin = format!("http://desk.test:{}", backend.address.port());
    let world = world.with_grant("courier", &origin, &["127.0.0.1"]);
    let url = format!("{origin}/orders/A-1001");
    for (takes, connections) in [(4 * SECOND, 1), (5 * SECOND, 0)] {
        backend.reset();
        let clock = SetClock::at(NOON);
        let resolver = Arc::new(Slow { clock: Arc::clone(&clock), takes });
        let seams = Seams::system(&world.config()).unwrap();
        let host = world.open_with(Seams { clock, resolver, ..seams }).await;
        let (status, told) = fetched(&host, &url).await;
        assert_eq!(backend.counts().connections, connections, "{told}");
        match connections {
            0 => assert_eq!(told, "NotSent(\"no connection within 5s ([limits] connect)\")"),
            _ => assert_eq!(status, 200, "{told}"),
        }
    }
}

/// A server that answers the first request of its first connection, loses the second one after so long, and answers
/// whatever comes on others. Gives how many there were once somebody connects who asks for nothing.
fn losing(clock: &Arc<SetClock>, after: Duration) -> (SocketAddr, thread::JoinHandle<usize>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let clock = Arc::clone(clock);
    let serve = move || {
        let (mut first, _) = listener.accept().unwrap();
        answered(&mut first);
        assert_ne!(first.read(&mut [0; 4096]).unwrap(), 0);
        clock.pass(after);
        drop(first);
        let mut connections = 1;
        while answered(&mut listener.accept().unwrap().0) {
            connections += 1;
        }
        connections
    };
    (address, thread::spawn(serve))
}

/// Answers one request; `false` where none comes.
fn answered(stream: &mut TcpStream) -> bool {
    let asked = stream.read(&mut [0; 4096]).unwrap() > 0;
    asked && stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").is_ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_that_is_sent_again_on_another_connection_has_no_more_time_to_be_answered() {
    for (takes, connections) in [(9 * SECOND, 2), (10 * SECOND, 1)] {
        let clock = SetClock::at(NOON);
        let (address, serving) = losing(&clock, takes);
        let origin = format!("http://{address}");
        let world = World::new()
            .with_plugins(&[guests::COURIER])
            .with_grant("courier", &origin, &["127.0.0.1"])
            .with_config(&singly(""));
        let seams = Seams::system(&world.config()).unwrap();
        let host = world.open_with(Seams { clock, ..seams }).await;
        assert_eq!(fetched(&host, &format!("{origin}/a")).await, (200, "ok".to_owned()));
        let (status, told) = fetched(&host, &format!("{origin}/b")).await;
        drop(TcpStream::connect(address).unwrap());
        assert_eq!(serving.join().unwrap(), connections, "{told}");
        match connections {
            1 => assert_eq!(told, "BrokenRead(\"no answer within 10s ([limits] read)\")"),
            _ => assert_eq!(status, 200, "{told}"),
        }
    }
}
