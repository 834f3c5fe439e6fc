//! The same over MCP, where a session is a conversation and an answer that went out has arrived.

use airlock_tests::backend::Moment;
use airlock_tests::mcp::call;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::call::hold;
use crate::mcp::{Scene, key, shown, text, ticket};

fn meta(result: &Value) -> &Value {
    &result["_meta"]["airlock/meta"]
}

fn error(result: &Value) -> &Value {
    &result["_meta"]["airlock/error"]
}

/// The text of a refusal with its run and the desk's place made equal.
fn told(scene: &Scene, result: &Value) -> String {
    let run = error(result)["details"]["run"].as_str().unwrap_or_else(|| panic!("it names no run: {result}"));
    text(result).replace(run, "RUN").replace(&scene.backend().url, "http://desk.test")
}

#[test]
fn of_two_equal_calls_at_once_the_second_is_told_so_and_nothing_runs() {
    let scene = Scene::desk("");
    let mut client = scene.agent();
    let release = hold(scene.backend(), "POST /tickets", Moment::AfterWork, 1);
    let params = call("desk__create_ticket", &ticket(), &json!({}));
    let asked = [client.send("tools/call", &params), client.send("tools/call", &params)];
    // Whichever of them comes second has its answer first.
    let second = client.receive();
    let first = asked.into_iter().find(|id| second["id"] != *id).unwrap();
    let second = second["result"].clone();
    assert_snapshot!(told(&scene, &second), @r#"
    ALREADY_RUNNING: the same call was made before in this conversation, and is under way in run RUN; nothing was run. Its result comes there; to do it once more on purpose, make the same call with "airlock_repeat_of": "RUN"
    What to do: do not call again, the first goes on; ask for its result with airlock__result {"run": "RUN"}
    run: RUN
    "#);
    drop(release);
    let first = client.answer(first)["result"].take();
    assert_eq!(first["isError"], false);
    let third = client.call("desk__create_ticket", &ticket(), &json!({}));
    assert_snapshot!(told(&scene, &third), @r#"
    ALREADY_DONE: the same call was made before in this conversation, and was done, in run RUN; nothing was run. `first` is its result; to do it once more on purpose, make the same call with "airlock_repeat_of": "RUN"
    What to do: use the first result, and do not call again unless the user wants it done once more
    first: {"ok":true,"data":{"ticket_id":"T-1001","url":"http://desk.test/tickets/T-1001","status":"open"}}
    run: RUN
    "#);
    let data: Value = serde_json::from_str(text(&first)).unwrap();
    assert_eq!(error(&third)["details"]["first"], json!({ "ok": true, "data": data }));
    assert_eq!(scene.tickets(), 1);
}

#[test]
fn a_second_one_that_is_wanted_is_asked_for_by_the_run_that_the_answer_names() {
    let scene = Scene::desk("");
    let mut client = scene.agent();
    client.call("desk__create_ticket", &ticket(), &json!({}));
    let refused = client.call("desk__create_ticket", &ticket(), &json!({}));
    let mut asked = ticket();
    asked["airlock_repeat_of"] = error(&refused)["details"]["run"].clone();
    for _ in 0..2 {
        let second = client.call("desk__create_ticket", &asked, &json!({}));
        assert_eq!(second["isError"], false, "{second}");
    }
    assert_eq!(scene.tickets(), 2);
}

#[test]
fn a_client_whose_host_was_killed_gets_the_result_in_the_next_session_of_its_trace() {
    let scene = Scene::desk("");
    let parent = json!({ "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" });
    let mut client = scene.agent();
    let release = hold(scene.backend(), "POST /tickets", Moment::AfterWork, 1);
    client.send("tools/call", &call("desk__create_ticket", &ticket(), &parent));
    scene.backend().wait_until(|counts| counts.tickets.len() == 1);
    client.kill();
    drop(release);
    // Nobody knew what became of it, and its plugin finds out.
    let mut client = scene.agent();
    let again = client.call("desk__create_ticket", &ticket(), &parent);
    assert_eq!((&again["isError"], &meta(&again)["replayed"]), (&json!(false), &json!(true)), "{again}");
    assert_eq!(meta(&again)["duplicate_of"], meta(&again)["run"], "{again}");
    let third = client.call("desk__create_ticket", &ticket(), &parent);
    assert_eq!(error(&third)["code"], "ALREADY_DONE");
    // Another session is another conversation, where nothing says that it is not.
    assert_eq!(scene.agent().call("desk__create_ticket", &ticket(), &json!({}))["isError"], false);
    assert_eq!(scene.tickets(), 2);
}

#[test]
fn a_call_that_was_withdrawn_is_delivered_when_it_is_asked_for_again() {
    let scene = Scene::desk("");
    let mut client = scene.agent();
    let release = hold(scene.backend(), "POST /tickets", Moment::AfterWork, 1);
    let first = client.send("tools/call", &call("desk__create_ticket", &ticket(), &json!({})));
    scene.backend().wait_until(|counts| counts.tickets.len() == 1);
    client.notify("notifications/cancelled", &json!({ "requestId": first }));
    drop(release);
    // It ends as it ends: what was done is not done again.
    let mut again = client.call("desk__create_ticket", &ticket(), &json!({}));
    while error(&again)["code"] == "ALREADY_RUNNING" {
        again = client.call("desk__create_ticket", &ticket(), &json!({}));
    }
    assert_eq!(meta(&again)["duplicate_of"], meta(&again)["run"], "{again}");
    assert_eq!(scene.tickets(), 1);
}

#[test]
fn a_result_that_came_late_has_arrived_with_the_answer_that_bears_it() {
    let scene = Scene::desk("[limits]\nwait = \"50ms\"\n");
    let mut client = scene.agent();
    let release = hold(scene.backend(), "POST /tickets", Moment::AfterWork, 1);
    let waiting = client.call("desk__create_ticket", &ticket(), &json!({}));
    let run = error(&waiting)["details"]["run"].clone();
    assert_eq!(error(&waiting)["code"], "STILL_RUNNING");
    drop(release);
    let mut result = client.call("airlock__result", &json!({ "run": run }), &json!({}));
    while error(&result)["code"] == "STILL_RUNNING" {
        result = client.call("airlock__result", &json!({ "run": run }), &json!({}));
    }
    assert_eq!(result["isError"], false, "{result}");
    let again = client.call("desk__create_ticket", &ticket(), &json!({}));
    assert_eq!(error(&again)["code"], "ALREADY_DONE");
    assert_eq!(scene.tickets(), 1);
}

#[test]
fn a_client_that_gives_keys_is_left_to_them() {
    let scene = Scene::desk("");
    let mut client = scene.agent();
    for name in ["k1", "k2"] {
        assert_eq!(client.call("desk__create_ticket", &ticket(), &key(name))["isError"], false);
    }
    assert_eq!(scene.tickets(), 2);
}

#[test]
fn a_model_is_told_of_it_and_sees_the_field() {
    let scene = Scene::desk("");
    let mut client = scene.client_with(&["--as", "agent"]);
    let said = client.begin();
    let instructions = said["result"]["instructions"].as_str().unwrap();
    let lines: Vec<_> = instructions.lines().filter(|line| line.contains("ALREADY_DONE")).collect();
    assert_snapshot!(lines.join("\n"), @r#"- The same call made twice in a row is done once: the second answers ALREADY_DONE or ALREADY_RUNNING, with the first result, and nothing runs. Where a second one is truly wanted, make the same call with "airlock_repeat_of": "the run that the answer names"."#);
    let tools = client.tools();
    let tool = tools.iter().find(|tool| tool["name"] == "desk__create_ticket").unwrap();
    assert_snapshot!(shown(&tool["inputSchema"]["properties"]["airlock_repeat_of"]), @r#"
    {
      "type": "string",
      "description": "Leave it out. To do the same once more on purpose, give the run that an ALREADY_DONE or ALREADY_RUNNING answer names."
    }
    "#);
    let reads = tools.iter().find(|tool| tool["name"] == "desk__find_order").unwrap();
    assert!(reads["inputSchema"]["properties"].get("airlock_repeat_of").is_none());
}
