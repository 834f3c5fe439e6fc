//! Sockets, names and files of WASI, which are linked and always refuse.

use std::fs;
use std::net::UdpSocket;

use airlock_tests::backend::{Backend, Listener};
use airlock_tests::guests::{COURIER, SOCKETEER};
use airlock_tests::world::{World, body, code};
use serde_json::json;

use crate::attack::{get, open, open_world};

#[tokio::test(flavor = "multi_thread")]
async fn no_socket_is_opened_although_http_to_the_same_place_is_granted() {
    let listener = Listener::start_on("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = listener.address().to_string();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    udp.set_nonblocking(true).unwrap();
    let world = World::new().with_plugins(&[SOCKETEER, COURIER]);
    let backend = Backend::start().await;
    let world = world.with_grant("socketeer", &format!("http://{address}"), &["127.0.0.1"]).with_grant(
        "courier",
        &backend.url,
        &["127.0.0.1"],
    );
    let open = open_world(world).await;
    for (tool, address) in [
        ("connect", address),
        ("connect", "[::1]:80".to_owned()),
        ("listen", "127.0.0.1:0".to_owned()),
        ("listen", "0.0.0.0:0".to_owned()),
        ("datagram", udp.local_addr().unwrap().to_string()),
    ] {
        let reply = open.call(&format!("socketeer.{tool}"), json!({ "address": address })).await;
        assert_eq!(code(&reply), "NOT_REACHED", "{tool} {address}: {}", body(&reply));
        let message = body(&reply)["message"].to_string();
        assert!(message.contains("PermissionDenied"), "{tool} {address}: {message}");
    }
    assert_eq!(listener.connections(), 0);
    assert!(udp.recv(&mut [0; 16]).is_err(), "no datagram came");
    // The way that there is leads to the same machine.
    let data = open.data("courier.fetch", get(&format!("{}/orders/A-1002", backend.url))).await;
    assert_eq!(data["status"], 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_name_is_looked_up() {
    let open = open(&[SOCKETEER], "").await;
    for name in ["localhost", "example.com", "127.0.0.1"] {
        let reply = open.call("socketeer.lookup", json!({ "name": name })).await;
        if name == "127.0.0.1" && reply.ok() {
            // An address is no name; it is read inside the guest.
            continue;
        }
        assert_eq!(code(&reply), "NOT_REACHED", "{name}: {}", body(&reply));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_file_is_read_written_or_listed() {
    let open = open(&[SOCKETEER], "").await;
    let own = open.world.folder().join("note.txt");
    fs::write(&own, "here").unwrap();
    let own = own.to_str().unwrap();
    for path in
        ["/etc/passwd", "/", ".", "..", "airlock.toml", "/proc/self/environ", own, "../../etc/passwd", ""]
    {
        for tool in ["read_file", "write_file", "list_folder"] {
            let reply = open.call(&format!("socketeer.{tool}"), json!({ "path": path })).await;
            assert_eq!(code(&reply), "NOT_REACHED", "{tool} {path}: {}", body(&reply));
        }
    }
    assert_eq!(fs::read_to_string(own).unwrap(), "here");
}
