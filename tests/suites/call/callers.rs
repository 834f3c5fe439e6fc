//! Who may ask for what, and what a caller is told of tools that it may not see.

use airlock::model::id::CallerName;
use airlock_tests::guests;
use airlock_tests::world::{body, code, request};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{Scene, as_caller};

const CALLERS: &str = "
[callers.nobody]
[callers.clerk]
permissions = [\"order:read\", \"ticket:write\"]
max_risk = \"L3\"
[callers.reader]
permissions = [\"order:read\", \"ticket:write\", \"mail:send\"]
[callers.mailer]
permissions = [\"mail:send\", \"order:read\"]
max_risk = \"L4\"
tools = [\"desk.send_mail\", \"echo.*\"]
[callers.blind]
permissions = [\"order:read\"]
tools = []
";

async fn office(lines: &str) -> (Scene, airlock::host::Host) {
    let Scene { world, backend } = Scene::desk(&format!("{CALLERS}{lines}")).await;
    let scene = Scene { world: world.with_plugins(&[guests::ECHO]), backend };
    let host = scene.open().await;
    (scene, host)
}

fn ticket() -> Value {
    json!({ "order_id": "A-1001", "subject": "s", "body": "b" })
}

fn mail() -> Value {
    json!({ "to": "ada@example.com", "subject": "s", "body": "b" })
}

#[tokio::test(flavor = "multi_thread")]
async fn each_caller_sees_the_tools_of_its_patterns_and_its_risk() {
    let (_scene, host) = office("").await;
    let mut lines = Vec::new();
    for caller in ["local", "nobody", "clerk", "reader", "mailer", "blind"] {
        let tools = host.tools(&CallerName(caller.to_owned()), None).unwrap();
        let names: Vec<_> = tools.iter().map(|tool| tool.name.to_string()).collect();
        lines.push(format!("{caller}: {names:?}"));
    }
    assert_snapshot!(lines.join("\n"), @r#"
    local: ["desk.assign_ticket", "desk.cancel_ticket", "desk.create_ticket", "desk.find_order", "desk.send_mail", "echo.echo", "echo.echo_write"]
    nobody: ["desk.find_order", "echo.echo"]
    clerk: ["desk.assign_ticket", "desk.create_ticket", "desk.find_order", "echo.echo", "echo.echo_write"]
    reader: ["desk.find_order", "echo.echo"]
    mailer: ["desk.send_mail", "echo.echo", "echo.echo_write"]
    blind: []
    "#);
    let stranger = host.tools(&CallerName("stranger".to_owned()), None).unwrap_err();
    assert_eq!(stranger.code, "PERMISSION_DENIED");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_caller_does_not_see_is_not_there_when_it_calls() {
    let (scene, host) = office("").await;
    for (caller, tool, input) in [
        ("reader", "desk.create_ticket", ticket()),
        ("clerk", "desk.send_mail", mail()),
        ("mailer", "desk.find_order", json!({ "order_id": "A-1001" })),
        ("blind", "desk.find_order", json!({ "order_id": "A-1001" })),
        ("local", "desk.delete_order", json!({})),
        ("local", "desk", json!({})),
        ("local", "", json!({})),
        ("local", "Desk.Find Order", json!({})),
    ] {
        let refused = host.call(as_caller(caller, request(tool, &input))).await;
        assert_eq!(code(&refused), "UNKNOWN_TOOL", "{caller} {tool}");
    }
    assert_eq!(scene.backend.counts().connections, 0);
    assert!(host.runs(None, 10).unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_closest_names_are_those_that_the_caller_may_see() {
    let (scene, host) = office("").await;
    let mut told = Vec::new();
    for (caller, tool) in [
        ("local", "desk.create_tickets"),
        ("reader", "desk.create_tickets"),
        ("reader", "desk.create_ticket"),
        ("local", "desk__find_order"),
        ("local", "echo.echo_writes"),
        ("mailer", "desk.send_mial"),
        ("blind", "desk.find_order"),
        ("local", "weather.tomorrow"),
    ] {
        let refused = host.call(as_caller(caller, request(tool, &json!({})))).await;
        let error = body(&refused);
        told.push(format!(
            "{caller}: {} {}",
            error["message"].as_str().unwrap(),
            error["details"]["closest"]
        ));
    }
    assert_snapshot!(told.join("\n"), @r#"
    local: there is no such tool: desk.create_tickets; did you mean desk.create_ticket or desk.cancel_ticket? ["desk.create_ticket","desk.cancel_ticket"]
    reader: there is no such tool: desk.create_tickets []
    reader: there is no such tool: desk.create_ticket []
    local: there is no such tool: desk__find_order; did you mean desk.find_order? ["desk.find_order"]
    local: there is no such tool: echo.echo_writes; did you mean echo.echo_write? ["echo.echo_write"]
    mailer: there is no such tool: desk.send_mial; did you mean desk.send_mail? ["desk.send_mail"]
    blind: there is no such tool: desk.find_order []
    local: there is no such tool: weather.tomorrow []
    "#);
    let refused = host.call(request("desk.find_ordr", &json!({}))).await;
    assert_snapshot!(scene.shown(&refused), @r#"
    {
      "ok": false,
      "error": {
        "code": "UNKNOWN_TOOL",
        "kind": "invalid_input",
        "message": "there is no such tool: desk.find_ordr; did you mean desk.find_order?",
        "retryable": false,
        "action": "fix_input",
        "retry_after_ms": 0,
        "details": {
          "closest": [
            "desk.find_order"
          ]
        }
      },
      "meta": {
        "attempts": 0,
        "duration_ms": "COUNTED",
        "fuel": 0,
        "memory_bytes": 0,
        "effects": 0,
        "cost_micros": 0,
        "replayed": false,
        "trace_id": "TRACE"
      }
    }
    "#);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_permission_is_named_before_the_input_is_looked_at() {
    let (scene, host) = office("").await;
    for input in [json!({ "order_id": "A-1001" }), json!({ "nonsense": [] })] {
        let refused = host.call(as_caller("nobody", request("desk.find_order", &input))).await;
        assert_eq!(code(&refused), "PERMISSION_DENIED");
    }
    let mut broken = as_caller("nobody", request("desk.find_order", &json!({})));
    broken.input = "{".to_owned();
    assert_eq!(code(&host.call(broken).await), "PERMISSION_DENIED");
    let refused = host.call(as_caller("nobody", request("desk.find_order", &json!({})))).await;
    assert_snapshot!(scene.shown(&refused), @r#"
    {
      "ok": false,
      "error": {
        "code": "PERMISSION_DENIED",
        "kind": "denied",
        "message": "the caller lacks a permission that desk.find_order asks for: order:read",
        "retryable": false,
        "action": "ask_permission",
        "retry_after_ms": 0,
        "details": {
          "missing": [
            "order:read"
          ]
        }
      },
      "meta": {
        "attempts": 0,
        "duration_ms": "COUNTED",
        "fuel": 0,
        "memory_bytes": 0,
        "effects": 0,
        "cost_micros": 0,
        "replayed": false,
        "trace_id": "TRACE"
      }
    }
    "#);
    assert_eq!(scene.backend.counts().connections, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_is_not_configured_may_do_nothing() {
    let (scene, host) = office("").await;
    for caller in ["stranger", "", "Local", "local "] {
        let refused = host.call(as_caller(caller, request("echo.echo", &json!({ "text": "a" })))).await;
        assert_eq!(code(&refused), "PERMISSION_DENIED", "{caller:?}");
        assert_eq!(body(&refused)["kind"], "denied");
    }
    let clerk = as_caller("clerk", request("desk.create_ticket", &ticket()));
    assert!(host.call(clerk).await.ok());
    assert_eq!(scene.backend.counts().tickets.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_hard_to_put_right_needs_a_person_unless_the_operator_says_otherwise() {
    let (scene, host) = office("").await;
    for caller in ["local", "mailer"] {
        let refused = host.call(as_caller(caller, request("desk.send_mail", &mail()))).await;
        assert_eq!(code(&refused), "NEEDS_PERSON", "{caller}");
    }
    let refused = host.call(request("desk.send_mail", &mail())).await;
    assert_snapshot!(scene.shown(&refused), @r#"
    {
      "ok": false,
      "error": {
        "code": "NEEDS_PERSON",
        "kind": "denied",
        "message": "a person must say yes to desk.send_mail, and nobody can be asked here",
        "retryable": false,
        "action": "ask_permission",
        "retry_after_ms": 0
      },
      "meta": {
        "attempts": 0,
        "duration_ms": "COUNTED",
        "fuel": 0,
        "memory_bytes": 0,
        "effects": 0,
        "cost_micros": 0,
        "replayed": false,
        "trace_id": "TRACE"
      }
    }
    "#);
    assert!(host.runs(None, 10).unwrap().is_empty());
    assert_eq!(scene.mails(), 0);
    let shown = host.tools(&CallerName("local".to_owned()), None).unwrap();
    let asks: Vec<_> = shown.iter().filter(|tool| tool.confirm).map(|tool| tool.name.tool.as_str()).collect();
    assert_eq!(asks, ["cancel_ticket", "send_mail"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operator_says_who_is_asked() {
    let rules =
        "[tools.\"desk.send_mail\"]\nconfirm = \"none\"\n[tools.\"desk.find_order\"]\nconfirm = \"person\"\n";
    let (scene, host) = office(rules).await;
    assert!(host.call(as_caller("mailer", request("desk.send_mail", &mail()))).await.ok());
    assert_eq!(scene.mails(), 1);
    let order = json!({ "order_id": "A-1001" });
    let refused = host.call(as_caller("clerk", request("desk.find_order", &order))).await;
    assert_eq!(code(&refused), "NEEDS_PERSON");
    assert_eq!(scene.backend.counts().under("GET").requests, 0);
    // A permission that is missing comes first: no person could give it.
    let refused = host.call(as_caller("nobody", request("desk.find_order", &order))).await;
    assert_eq!(code(&refused), "PERMISSION_DENIED");
}
