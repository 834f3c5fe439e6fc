//! Calls that take long, that are withdrawn, and whose client is lost on the way: judged by what the backend counted.

use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};

use airlock_tests::backend::{Fault, Moment};
use airlock_tests::guests;
use airlock_tests::mcp::{Client, call};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::calls::record;
use super::{Scene, key, text, ticket};

/// A caller waits hardly at all.
const IMPATIENT: &str = "[limits]\nwait = \"50ms\"\n";

/// Who may walk.
const WALKER: &str = "[callers.agent]\nmax_risk = \"L3\"\n";

/// A fault that holds a request, its work done, until it is let go.
pub(super) fn gate() -> (Sender<()>, Fault) {
    gate_at(Moment::AfterWork)
}

fn gate_at(moment: Moment) -> (Sender<()>, Fault) {
    let (open, closed) = channel();
    let closed = Mutex::new(closed);
    let wait = move || {
        // Where the test ended, the request goes on.
        let _ = closed.lock().unwrap().recv();
    };
    (open, Fault::call(moment, wait))
}

/// A call that the desk holds, its ticket opened.
pub(super) fn held(scene: &Scene, client: &mut Client, meta: &Value) -> (u64, Sender<()>) {
    let (open, gate) = gate();
    scene.backend().fault("POST /tickets", gate, 1);
    let id = client.send("tools/call", &call("desk__create_ticket", &ticket(), meta));
    scene.backend().wait_until(|counts| counts.of("POST /tickets").works == 1);
    (id, open)
}

fn run_of(result: &Value) -> String {
    result["_meta"]["airlock/error"]["details"]["run"].as_str().unwrap().to_owned()
}

fn withdraw(client: &mut Client, id: u64) {
    client.notify("notifications/cancelled", &json!({ "requestId": id, "reason": "the user pressed stop" }));
}

#[test]
fn a_call_that_takes_long_answers_with_its_run_and_goes_on() {
    let scene = Scene::desk(IMPATIENT);
    let mut client = scene.agent();
    let (id, open) = held(&scene, &mut client, &json!({}));
    let waiting = client.answer(id)["result"].take();
    let run = run_of(&waiting);
    assert_snapshot!(text(&waiting).replace(&run, "RUN"), @r#"
    STILL_RUNNING: the call is still running, in run RUN
    What to do: do not call again, it goes on; ask for its result with airlock__result {"run": "RUN"}
    run: RUN
    "#);
    // It is still held, so asking for it says the same.
    let result =
        |client: &mut Client| client.call("airlock__result", &json!({ "run": run, "wait_s": 0 }), &json!({}));
    assert_eq!(result(&mut client)["_meta"]["airlock/error"]["code"], "STILL_RUNNING");
    open.send(()).unwrap();
    let done = loop {
        let result = result(&mut client);
        if result["isError"] == false {
            break result;
        }
    };
    assert!(text(&done).contains("T-1001"), "{done}");
    assert_eq!(done["_meta"]["airlock/meta"]["replayed"], true);
    assert_eq!(scene.tickets(), 1);
}

#[test]
fn a_call_that_only_reads_can_be_asked_for_too() {
    let scene = Scene::desk(IMPATIENT);
    let mut client = scene.agent();
    let (open, gate) = gate();
    scene.backend().fault("GET /orders", gate, 1);
    let waiting = client.call("desk__find_order", &json!({ "order_id": "A-1001" }), &json!({}));
    let run = run_of(&waiting);
    let ask = json!({ "run": run, "wait_s": 1 });
    assert_eq!(
        client.call("airlock__result", &ask, &json!({}))["_meta"]["airlock/error"]["code"],
        "STILL_RUNNING"
    );
    open.send(()).unwrap();
    while client.call("airlock__result", &ask, &json!({}))["isError"] == true {}
}

#[test]
fn a_run_is_told_to_the_caller_who_asked_for_it_and_to_nobody_else() {
    let scene = Scene::desk(IMPATIENT);
    let mut client = scene.agent();
    let (open, gate) = gate();
    scene.backend().fault("GET /orders", gate, 1);
    let reading = run_of(&client.call("desk__find_order", &json!({ "order_id": "A-1001" }), &json!({})));
    let (id, held) = held(&scene, &mut client, &json!({}));
    let writing = run_of(&client.answer(id)["result"]);
    let mut stranger = scene.client();
    stranger.begin();
    for run in [reading.as_str(), &writing, "01JD8XK3V5R8Y2W6T9Q4M7N1BC", "no run"] {
        let asked = stranger.call("airlock__result", &json!({ "run": run, "wait_s": 0 }), &json!({}));
        assert_eq!(
            text(&asked).lines().next().unwrap(),
            format!("INVALID_INPUT: there is no such run of this caller: {run}")
        );
    }
    open.send(()).unwrap();
    held.send(()).unwrap();
}

#[test]
fn what_is_asked_for_a_result_is_checked() {
    let scene = Scene::with(&[guests::ECHO], "");
    let mut client = scene.client();
    client.begin();
    let mut told = Vec::new();
    for arguments in [
        json!({}),
        json!({ "run": 5 }),
        json!({ "run": "x", "wait": 5 }),
        json!({ "run": "x", "wait_s": -1 }),
    ] {
        told.push(text(&client.call("airlock__result", &arguments, &json!({}))).to_owned());
    }
    assert_snapshot!(told.join("\n---\n"), @r#"
    INVALID_INPUT: the input of airlock__result cannot be used; missing field `run` at line 1 column 2; it is {"run": "…", "wait_s": 20}
    What to do: mend the input and call again
    ---
    INVALID_INPUT: the input of airlock__result cannot be used; invalid type: integer `5`, expected a string at line 1 column 8; it is {"run": "…", "wait_s": 20}
    What to do: mend the input and call again
    ---
    INVALID_INPUT: the input of airlock__result cannot be used; unknown field `wait`, expected `run` or `wait_s` at line 1 column 17; it is {"run": "…", "wait_s": 20}
    What to do: mend the input and call again
    ---
    INVALID_INPUT: the input of airlock__result cannot be used; invalid value: integer `-1`, expected u64 at line 1 column 22; it is {"run": "…", "wait_s": 20}
    What to do: mend the input and call again
    "#);
}

#[test]
fn a_call_that_is_withdrawn_gets_no_answer_and_its_effect_is_known() {
    let scene = Scene::desk("[limits]\nat_once = 2\n");
    let mut client = scene.agent();
    let (id, open) = held(&scene, &mut client, &key("k1"));
    withdraw(&mut client, id);
    // Its plugin has one place: that this one is served says that the guest was stopped, its effect still under way.
    let found = client.call("desk__find_order", &json!({ "order_id": "A-1001" }), &json!({}));
    assert_eq!(found["isError"], false, "{found}");
    open.send(()).unwrap();
    let ended = client.end();
    assert!(ended.left.iter().all(|message| message["id"] != id), "{:?}", ended.left);
    // Asked for once more, it goes on as the same run, and the desk knows its key.
    let again = scene.agent().call("desk__create_ticket", &ticket(), &key("k1"));
    assert_eq!(again["structuredContent"]["ticket_id"], "T-1001", "{again}");
    let journal = record(&scene, again["_meta"]["airlock/meta"]["run"].as_str().unwrap())["journal"].take();
    let told = |list: &str, field: &str| -> Vec<String> {
        journal[list].as_array().unwrap().iter().map(|one| one[field].to_string()).collect()
    };
    assert_eq!(
        told("events", "event"),
        [r#""began""#, r#""suspended: half_done""#, r#""rearmed""#, r#""completed""#]
    );
    assert_eq!(told("attempts", "outcome"), [r#""PARTLY_DONE""#, r#""ok""#]);
    assert_eq!(
        (told("effects", "state")[0].as_str(), told("effects", "status")[0].as_str()),
        (r#""done""#, "201")
    );
    assert_eq!(scene.tickets(), 1);
}

#[test]
fn a_call_that_is_withdrawn_before_anything_was_done_leaves_nothing() {
    let scene = Scene::desk("");
    let mut client = scene.agent();
    let (open, gate) = gate_at(Moment::BeforeWork);
    scene.backend().fault("GET /orders", gate, 1);
    let id =
        client.send("tools/call", &call("desk__find_order", &json!({ "order_id": "A-1001" }), &key("k1")));
    scene.backend().wait_until(|counts| counts.under("GET /orders").requests == 1);
    withdraw(&mut client, id);
    let first =
        client.send("tools/call", &call("desk__find_order", &json!({ "order_id": "A-1001" }), &key("k2")));
    assert_eq!(client.answer(first)["result"]["isError"], false, "others are served meanwhile");
    open.send(()).unwrap();
    let again = client.call("desk__find_order", &json!({ "order_id": "A-1001" }), &key("k1"));
    assert_eq!(again["isError"], false, "{again}");
}

#[test]
fn a_guest_that_never_ends_is_stopped_when_its_call_is_withdrawn() {
    let config = "[limits]\nattempt = \"1h\"\nat_once = 2\n[callers.agent]\nmax_risk = \"L4\"\n";
    let scene = Scene::with(&[guests::GREEDY], config);
    let mut client = scene.agent();
    let loops = json!({});
    let id = client.send("tools/call", &call("greedy__spin", &loops, &key("k1")));
    // One of two places is all that a plugin gets: the next call of it waits until this one is gone.
    withdraw(&mut client, id);
    let next = client.send("tools/call", &call("greedy__spin", &loops, &key("k2")));
    withdraw(&mut client, next);
    let ended = client.end();
    assert!(ended.status.success(), "{ended:?}");
}

#[test]
fn a_call_that_waits_for_a_place_can_be_withdrawn() {
    let scene = Scene::desk("[limits]\nat_once = 2\n");
    let mut client = scene.agent();
    let (id, open) = held(&scene, &mut client, &key("k1"));
    let queued = client.send("tools/call", &call("desk__create_ticket", &ticket(), &key("k2")));
    withdraw(&mut client, queued);
    // Messages are read in turn: once this one is answered, that one was heard.
    client.ask("ping", &json!({}));
    open.send(()).unwrap();
    assert_eq!(client.answer(id)["result"]["isError"], false);
    let ended = client.end();
    assert!(ended.left.is_empty(), "{:?}", ended.left);
    assert_eq!(scene.tickets(), 1);
}

#[test]
fn a_client_that_is_lost_asks_again_with_its_key_and_the_desk_worked_once() {
    let scene = Scene::desk("");
    let mut client = scene.agent();
    let (_, open) = held(&scene, &mut client, &key("k1"));
    // The host is killed while the desk has done its work and nobody heard of it.
    client.kill();
    open.send(()).unwrap();
    let again = scene.agent().call("desk__create_ticket", &ticket(), &key("k1"));
    assert_eq!(again["isError"], false, "{again}");
    assert_eq!(scene.tickets(), 1);
}

#[test]
fn a_client_that_hangs_up_finds_the_result_under_its_key() {
    let scene = Scene::desk("");
    let mut client = scene.agent();
    let (id, open) = held(&scene, &mut client, &key("k1"));
    open.send(()).unwrap();
    let ended = client.end();
    assert!(ended.status.success(), "{ended:?}");
    let told = ended.left.iter().find(|message| message["id"] == id);
    let again = scene.agent().call("desk__create_ticket", &ticket(), &key("k1"));
    assert_eq!(again["_meta"]["airlock/meta"]["replayed"], true);
    assert_eq!(told.map(|told| &told["result"]["content"]), Some(&again["content"]));
    assert_eq!(scene.tickets(), 1);
}

#[test]
fn a_client_that_asks_is_told_how_far_its_call_is_and_less_and_less_is_never_said() {
    let scene = Scene::with(&[guests::PATIENT], &format!("{WALKER}[limits]\nattempt = \"1h\"\n"));
    let mut client = scene.agent();
    let meta = json!({ "progressToken": "p7", "airlock/idempotencyKey": "k1" });
    let id = client.send("tools/call", &call("patient__walk", &json!({ "words": "one more" }), &meta));
    let mut last = 0;
    for _ in 0..3 {
        let told = client.receive();
        assert_eq!(
            (&told["method"], &told["params"]["progressToken"]),
            (&json!("notifications/progress"), &json!("p7"))
        );
        assert_eq!(told["params"]["message"], "one more");
        let done = told["params"]["progress"].as_f64().unwrap() as u64;
        assert!(done > last, "{told}");
        last = done;
    }
    // It has no end of its own; asked to stop it comes to one, and its key gives that.
    withdraw(&mut client, id);
    let stopped = client.call("patient__walk", &json!({ "words": "one more" }), &key("k1"));
    assert_eq!(stopped["structuredContent"]["stopped"], true, "{stopped}");
    assert!(stopped["structuredContent"]["steps"].as_u64().unwrap() >= last);
    assert!(client.end().left.iter().all(|message| message["id"] != id));
}

#[test]
fn a_client_hears_of_another_attempt_between_the_steps_of_both() {
    let scene = Scene::with(&[guests::PATIENT], &format!("{WALKER}[limits]\nattempt = \"1h\"\n"));
    let mut client = scene.agent();
    let meta = json!({ "progressToken": "p8", "airlock/idempotencyKey": "k1" });
    let way = json!({ "words": "one more", "rests_after": 5 });
    let id = client.send("tools/call", &call("patient__walk", &way, &meta));
    let (mut told, mut last) = (Vec::new(), -1.0);
    while told.iter().filter(|words| *words != "one more").count() == 0 || told.last().unwrap() != "one more"
    {
        let message = client.receive();
        let done = message["params"]["progress"].as_f64().unwrap();
        assert!(done > last, "{message}");
        last = done;
        told.push(message["params"]["message"].as_str().unwrap().to_owned());
    }
    let lines: Vec<&str> = told.iter().map(String::as_str).filter(|words| *words != "one more").collect();
    assert_eq!((told[0].as_str(), lines), ("one more", vec!["attempt 2 of 4 in 1000 ms"]));
    withdraw(&mut client, id);
    assert!(client.end().left.iter().all(|message| message["id"] != id));
}

#[test]
fn a_client_that_does_not_ask_is_told_nothing_on_the_way() {
    let scene = Scene::with(&[guests::PATIENT], WALKER);
    let mut client = scene.agent();
    let walked = client.call("patient__walk", &json!({ "steps": 1000 }), &json!({}));
    assert_eq!(walked["structuredContent"], json!({ "steps": 1000, "stopped": false }));
    assert!(client.end().left.is_empty());
}

#[test]
fn a_guest_whose_time_is_nearly_over_is_asked_to_end_and_does() {
    let scene = Scene::with(&[guests::PATIENT], &format!("{WALKER}[limits]\nattempt = \"2s\"\n"));
    let mut client = scene.agent();
    let walked = client.call("patient__walk", &json!({}), &json!({}));
    assert_eq!(walked["structuredContent"]["stopped"], true, "{walked}");
}
