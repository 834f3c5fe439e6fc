//! What can be reached through this door, all of it, and that no part of it approves, grants, undoes or decides.

use std::collections::BTreeSet;

use airlock_tests::guests;
use airlock_tests::mcp::call;
use insta::assert_snapshot;
use serde_json::json;

use super::Scene;
use crate::source::{Kind, sources_below};

/// What the door may ask of the host: to list, to call, to tell what became of a call, and to say when that changes.
const OF_THE_HOST: &[&str] = &[
    "absent",
    "call_within",
    "changes",
    "delivering",
    "edition",
    "new_trace",
    "page",
    "quiet",
    "result",
    "tools",
    "clone",
];

/// Every method that any line of the protocol has, and some that it has not.
const METHODS: &[&str] = &[
    "initialize",
    "ping",
    "server/discover",
    "tools/list",
    "tools/call",
    "subscriptions/listen",
    "completion/complete",
    "elicitation/create",
    "logging/setLevel",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/subscribe",
    "resources/templates/list",
    "resources/unsubscribe",
    "roots/list",
    "sampling/createMessage",
    "skills/get",
    "skills/list",
    "tasks/cancel",
    "tasks/get",
    "tasks/list",
    "tasks/result",
    "tasks/update",
    "airlock/approve",
    "airlock/decide",
    "config/set",
];

#[test]
fn what_is_served_is_listed_here() {
    let scene = Scene::with(&[guests::ECHO], "");
    let mut client = scene.client();
    client.begin();
    let told: Vec<String> = METHODS
        .iter()
        .map(|method| {
            let params =
                json!({ "name": "echo__echo", "arguments": { "text": "x" }, "uri": "a:b", "taskId": "1" });
            let answer = client.ask(method, &params);
            let word = answer["error"]["code"].as_i64().map_or("served".to_owned(), |code| code.to_string());
            format!("{method}: {word}")
        })
        .collect();
    assert_snapshot!(told.join("\n"), @r#"
    initialize: -32602
    ping: served
    server/discover: -32602
    tools/list: served
    tools/call: served
    subscriptions/listen: -32602
    completion/complete: -32601
    elicitation/create: -32601
    logging/setLevel: -32601
    prompts/get: -32601
    prompts/list: -32601
    resources/list: -32601
    resources/read: -32601
    resources/subscribe: -32601
    resources/templates/list: -32601
    resources/unsubscribe: -32601
    roots/list: -32601
    sampling/createMessage: -32601
    skills/get: -32601
    skills/list: -32601
    tasks/cancel: -32601
    tasks/get: -32601
    tasks/list: -32601
    tasks/result: -32601
    tasks/update: -32601
    airlock/approve: -32601
    airlock/decide: -32601
    config/set: -32601
    "#);
}

#[test]
fn whatever_a_caller_may_do_the_hosts_own_tools_only_tell() {
    let scene = Scene::desk("");
    let mut client = scene.agent();
    let own: Vec<_> = client
        .tools()
        .into_iter()
        .filter(|tool| !tool["name"].as_str().unwrap().contains("desk__"))
        .collect();
    let names: Vec<_> = own
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .filter(|name| name.starts_with("airlock"))
        .collect();
    assert_eq!(names, ["airlock__page", "airlock__result"]);
    for verb in
        ["approve", "deny", "decide", "grant", "trust", "rollback", "cancel", "reload", "forget", "call"]
    {
        let answer = client.ask("tools/call", &call(&format!("airlock__{verb}"), &json!({}), &json!({})));
        assert_eq!(answer["error"]["code"], -32602, "{verb}");
    }
}

#[test]
fn the_door_asks_the_host_for_what_is_listed_and_for_nothing_else() {
    let sources = sources_below("host/src/front/mcp");
    let files: BTreeSet<_> = sources.iter().map(|source| source.path.clone()).collect();
    assert!(files.len() > 5, "{files:?}");
    let mut asked = BTreeSet::new();
    for source in sources.into_iter().chain(
        sources_below("host/src/front").into_iter().filter(|source| source.path == "host/src/front/mcp.rs"),
    ) {
        for window in source.tokens.windows(3) {
            let [owner, dot, method] = window else { continue };
            if owner.text == "host" && dot.text == "." && method.kind == Kind::Word && !owner.in_test {
                asked.insert(method.text.clone());
            }
        }
    }
    let allowed: BTreeSet<String> = OF_THE_HOST.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(asked, allowed);
}
