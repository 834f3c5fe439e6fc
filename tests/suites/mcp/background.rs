//! Calls that an agent leaves to the background: answered at once, made by the very server that it talks to.

use airlock_tests::backend::{Fault, Moment};
use airlock_tests::mcp::call;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::waiting::gate;
use super::{Scene, text, ticket};

fn background(key: &str) -> Value {
    json!({ "airlock/background": true, "airlock/idempotencyKey": key })
}

fn run_of(result: &Value) -> String {
    result["_meta"]["airlock/error"]["details"]["run"]
        .as_str()
        .unwrap_or_else(|| panic!("{result}"))
        .to_owned()
}

#[test]
fn a_call_in_the_background_is_answered_with_its_run_and_its_result_is_asked_for() {
    let scene = Scene::desk("");
    let mut client = scene.agent();
    let waiting = client.call("desk__create_ticket", &ticket(), &background("k1"));
    let run = run_of(&waiting);
    assert_snapshot!(text(&waiting).replace(&run, "RUN"), @r#"
    STILL_RUNNING: the call is made in the background, as run RUN
    What to do: do not call again, it goes on; ask for its result with airlock__result {"run": "RUN"}
    run: RUN
    "#);
    let done = client.call("airlock__result", &json!({ "run": run }), &json!({}));
    assert!(text(&done).contains("T-1001"), "{done}");
    let trace = |result: &Value| result["_meta"]["airlock/meta"]["trace_id"].clone();
    assert_eq!(trace(&done), trace(&waiting), "one conversation");
    let again = client.call("desk__create_ticket", &ticket(), &background("k1"));
    assert_eq!(again["_meta"]["airlock/meta"]["replayed"], true, "{again}");
    assert_eq!(scene.tickets(), 1);
}

#[test]
fn a_call_in_the_background_is_not_withdrawn_with_the_request_that_asked_for_it() {
    let scene = Scene::desk("");
    let mut client = scene.agent();
    let (open, gate) = gate();
    scene.backend().fault("POST /tickets", gate, 1);
    let id = client.send("tools/call", &call("desk__create_ticket", &ticket(), &background("k1")));
    let run = run_of(&client.answer(id)["result"]);
    scene.backend().wait_until(|counts| counts.of("POST /tickets").works == 1);
    client.notify("notifications/cancelled", &json!({ "requestId": id, "reason": "the user pressed stop" }));
    client.ask("ping", &json!({}));
    drop(open);
    let done = client.call("airlock__result", &json!({ "run": run }), &json!({}));
    assert!(text(&done).contains("T-1001"), "{done}");
    assert_eq!(scene.tickets(), 1);
}

#[test]
fn a_call_in_the_background_outlives_the_server_that_it_was_left_to() {
    let scene = Scene::desk("");
    let mut client = scene.agent();
    scene.backend().fault("POST /tickets", Fault::kill(Moment::BeforeWork, client.process()), 1);
    let _ = client.send("tools/call", &call("desk__create_ticket", &ticket(), &background("k1")));
    scene.backend().wait_until(|counts| counts.of("POST /tickets").requests == 1);
    drop(client.kill());
    let mut next = scene.agent();
    let told = next.call("desk__create_ticket", &ticket(), &json!({ "airlock/idempotencyKey": "k1" }));
    assert!(text(&told).contains("T-1001"), "{told}");
    assert_eq!(scene.tickets(), 1);
}

#[test]
fn whether_a_call_is_left_to_the_background_is_said_by_true_or_false() {
    let scene = Scene::desk("");
    let mut client = scene.agent();
    let params = call("desk__create_ticket", &ticket(), &json!({ "airlock/background": "yes" }));
    let answer = client.ask("tools/call", &params);
    assert_eq!(answer["error"]["message"], "`_meta[\"airlock/background\"]` must be true or false");
    let now = client.call("desk__create_ticket", &ticket(), &json!({ "airlock/background": false }));
    assert!(text(&now).contains("T-1001"), "{now}");
}
