//! A host that is asked to end: calls under way come to theirs, no other is taken, and what was done is known.

use serde_json::json;

use super::waiting::held;
use super::{Scene, key, ticket};

#[test]
fn a_host_that_is_asked_to_end_answers_what_is_under_way_and_ends_well() {
    let scene = Scene::desk("");
    let mut client = scene.agent();
    let (id, open) = held(&scene, &mut client, &key("k1"));
    client.terminate();
    open.send(()).unwrap();
    let ended = client.outlive();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    let told = ended.left.iter().find(|message| message["id"] == id);
    let told = told.unwrap_or_else(|| panic!("the call was not answered: {ended:?}"));
    assert_eq!(told["result"]["structuredContent"]["ticket_id"], "T-1001");
    let again = scene.agent().call("desk__create_ticket", &ticket(), &key("k1"));
    assert_eq!(again["_meta"]["airlock/meta"]["replayed"], true);
    assert_eq!(again["content"], told["result"]["content"]);
    assert_eq!(scene.tickets(), 1);
}

#[test]
fn a_host_that_is_asked_to_end_waits_a_little_and_what_it_left_is_found_under_its_key() {
    let scene = Scene::desk("");
    let mut client = scene.agent();
    let (id, open) = held(&scene, &mut client, &key("k1"));
    client.terminate();
    // The desk has opened the ticket, and says so to nobody while the host lives.
    let ended = client.outlive();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    assert!(ended.left.iter().all(|message| message["id"] != id), "{:?}", ended.left);
    open.send(()).unwrap();
    let again = scene.agent().call("desk__create_ticket", &ticket(), &key("k1"));
    assert_eq!(again["structuredContent"]["ticket_id"], "T-1001", "{again}");
    assert_eq!(scene.tickets(), 1);
}

#[test]
fn a_host_that_is_asked_to_end_before_anything_was_asked_of_it_ends_well() {
    let scene = Scene::desk("");
    let mut client = scene.client();
    client.ask("ping", &json!({}));
    client.terminate();
    let ended = client.outlive();
    assert_eq!((ended.status.code(), ended.left.len()), (Some(0), 0), "{ended:?}");
}
