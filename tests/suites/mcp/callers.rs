//! For whom a client asks, and in which scene its operator put it.

use airlock_tests::mcp::call;
use insta::assert_snapshot;
use serde_json::json;

use super::{Scene, text, ticket};

const USERS: &str = "
[callers.agent.users.ada]
permissions = [\"order:read\"]
[scenes.orders]
tools = [\"desk.find_order\", \"echo.*\"]
";

#[test]
fn a_scene_narrows_what_a_client_is_shown_and_can_call() {
    let scene = Scene::desk(USERS);
    let mut client = scene.client_with(&["--as", "agent", "--scene", "orders"]);
    client.begin();
    let names: Vec<_> = client.tools().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
    assert_snapshot!(names.join(" "), @"airlock__page airlock__result desk__find_order echo__echo echo__echo_write");
    let refused = client.ask("tools/call", &call("desk__create_ticket", &ticket(), &json!({})));
    assert_snapshot!(refused["error"]["message"].as_str().unwrap(), @"there is no such tool: desk__create_ticket");
    // A client has no way to choose another.
    for meta in [json!({ "airlock/scene": "everything" }), json!({ "airlock/caller": "local" })] {
        let answer = client.ask("tools/call", &call("desk__create_ticket", &ticket(), &meta));
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    assert_eq!(scene.tickets(), 0);
    let mut open = scene.agent();
    assert_eq!(open.call("desk__create_ticket", &ticket(), &json!({}))["isError"], false);
}

#[test]
fn keys_results_and_permissions_are_those_of_the_user_that_a_call_names() {
    let scene = Scene::desk(USERS);
    let mut client = scene.agent();
    let meta = |user: &str| json!({ "airlock/user": user, "airlock/idempotencyKey": "k" });
    let refused = client.call("desk__create_ticket", &ticket(), &meta("ada"));
    assert_snapshot!(text(&refused), @r#"
    PERMISSION_DENIED: the user for whom the caller asks lacks a permission that desk.create_ticket asks for: ticket:write
    What to do: do not call again; tell the user that whoever runs this host must allow it
    missing: ["ticket:write"]
    "#);
    let eve = client.call("desk__create_ticket", &ticket(), &meta("eve"));
    let una = client.call("desk__create_ticket", &ticket(), &meta("una"));
    assert_ne!(text(&eve), text(&una));
    assert_eq!(scene.tickets(), 2);
    let again = client.call("desk__create_ticket", &ticket(), &meta("eve"));
    assert_eq!((text(&again), scene.tickets()), (text(&eve), 2));
    let ask = json!({ "run": eve["_meta"]["airlock/meta"]["run"], "wait_s": 0 });
    let result = |client: &mut airlock_tests::mcp::Client, meta| client.call("airlock__result", &ask, &meta);
    assert_eq!(text(&result(&mut client, json!({ "airlock/user": "eve" }))), text(&eve));
    for meta in [json!({ "airlock/user": "una" }), json!({})] {
        assert_eq!(result(&mut client, meta)["_meta"]["airlock/error"]["code"], "INVALID_INPUT");
    }
    let nobody = client.ask("tools/call", &call("desk__create_ticket", &ticket(), &meta("ada lovelace")));
    assert_snapshot!(nobody["error"]["message"].as_str().unwrap(), @r#"`_meta["airlock/user"]` names no user: a user is named by 1 to 255 visible ASCII characters without spaces, such as ada@example.com"#);
    assert_eq!(scene.tickets(), 2);
}
