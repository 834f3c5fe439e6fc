//! Tests run in network namespaces of their own, where private addresses answer.

use std::io::Read;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};

use airlock_tests::netns;

#[test]
fn private_addresses_answer_inside() {
    netns::inside("netns::private_addresses_answer_inside", &netns::PRIVATE, || {
        for address in netns::PRIVATE {
            let address: IpAddr = address.parse().expect("an address is one");
            let listener = TcpListener::bind(SocketAddr::new(address, 80)).expect("the address is ours");
            let line = TcpStream::connect(listener.local_addr().expect("it listens")).expect("it answers");
            drop(listener.accept().expect("a connection waits"));
            assert_eq!((&line).read(&mut [0; 1]).expect("it closed"), 0);
        }
    });
}

#[test]
#[should_panic(expected = "failed in its namespace")]
fn a_body_that_fails_inside_fails_the_test() {
    let test = "netns::a_body_that_fails_inside_fails_the_test";
    if netns::available().is_err() {
        panic!("failed in its namespace, for there is none");
    }
    netns::inside(test, &[], || panic!("as it should"));
}

#[test]
#[should_panic(expected = "no test has this name")]
fn a_name_that_no_test_has_fails_the_test() {
    if netns::available().is_err() {
        panic!("no test has this name in a namespace, for there is none");
    }
    netns::inside("netns::nobody", &[], || {});
}
