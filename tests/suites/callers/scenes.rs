//! Scenes: they narrow what a caller sees, and nobody is told what lies outside.

use airlock::model::id::{CallerName, SceneName};
use airlock_tests::guests;
use airlock_tests::world::{body, code, request};
use insta::assert_snapshot;

use super::{in_scene, mail, order, ticket};
use crate::call::{Scene, as_caller, shown};

const SCENES: &str = "
[scenes.orders]
tools = [\"desk.find_order\"]
[scenes.refund]
tools = [\"desk.find_order\", \"desk.create_ticket\", \"desk.send_mail\"]
[scenes.talk]
tools = [\"echo.*\"]
[scenes.everything]
tools = [\"*\"]
[scenes.nothing]
tools = []
[callers.free]
permissions = [\"order:read\", \"ticket:write\"]
max_risk = \"L3\"
[callers.bound]
permissions = [\"order:read\", \"ticket:write\"]
max_risk = \"L3\"
scenes = [\"orders\", \"talk\"]
[callers.narrow]
permissions = [\"order:read\"]
tools = [\"desk.*\"]
scenes = [\"talk\", \"everything\"]
";

async fn office() -> (Scene, airlock::host::Host) {
    let Scene { world, backend } = Scene::desk(SCENES).await;
    let scene = Scene { world: world.with_plugins(&[guests::ECHO]), backend };
    let host = scene.open().await;
    (scene, host)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scene_leaves_what_it_names_of_what_the_caller_sees() {
    let (_scene, host) = office().await;
    let mut lines = Vec::new();
    for caller in ["local", "free", "bound", "narrow"] {
        for scene in [None, Some("orders"), Some("refund"), Some("talk"), Some("everything"), Some("nothing")]
        {
            let named: Option<SceneName> = scene.map(|scene| scene.parse().unwrap());
            let seen = match host.tools(&CallerName(caller.to_owned()), named.as_ref()) {
                Ok(tools) if tools.is_empty() => "none".to_owned(),
                Ok(tools) => tools.iter().map(|tool| tool.name.to_string()).collect::<Vec<_>>().join(" "),
                Err(failure) => failure.code.into_owned(),
            };
            lines.push(format!("{caller:7}{:11}{seen}", scene.unwrap_or("-")));
        }
    }
    assert_snapshot!(lines.join("\n"), @"
    local  -          desk.assign_ticket desk.cancel_ticket desk.create_ticket desk.find_order desk.send_mail echo.echo echo.echo_write
    local  orders     desk.find_order
    local  refund     desk.create_ticket desk.find_order desk.send_mail
    local  talk       echo.echo echo.echo_write
    local  everything desk.assign_ticket desk.cancel_ticket desk.create_ticket desk.find_order desk.send_mail echo.echo echo.echo_write
    local  nothing    none
    free   -          desk.assign_ticket desk.create_ticket desk.find_order echo.echo echo.echo_write
    free   orders     desk.find_order
    free   refund     desk.create_ticket desk.find_order
    free   talk       echo.echo echo.echo_write
    free   everything desk.assign_ticket desk.create_ticket desk.find_order echo.echo echo.echo_write
    free   nothing    none
    bound  -          desk.find_order echo.echo echo.echo_write
    bound  orders     desk.find_order
    bound  refund     PERMISSION_DENIED
    bound  talk       echo.echo echo.echo_write
    bound  everything PERMISSION_DENIED
    bound  nothing    PERMISSION_DENIED
    narrow -          desk.find_order
    narrow orders     PERMISSION_DENIED
    narrow refund     PERMISSION_DENIED
    narrow talk       none
    narrow everything desk.find_order
    narrow nothing    PERMISSION_DENIED
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_outside_of_the_scene_is_not_there_when_it_is_called() {
    let (scene, host) = office().await;
    for (caller, chosen, tool, input) in [
        ("free", "orders", "desk.create_ticket", ticket()),
        ("local", "orders", "desk.send_mail", mail()),
        ("free", "nothing", "desk.find_order", order()),
        ("narrow", "talk", "desk.find_order", order()),
    ] {
        let refused = host.call(in_scene(caller, chosen, request(tool, &input))).await;
        assert_eq!(code(&refused), "UNKNOWN_TOOL", "{caller} {chosen} {tool}");
        assert!(!body(&refused).to_string().contains("did you mean"), "{}", body(&refused));
    }
    let refused = host.call(as_caller("bound", request("desk.create_ticket", &ticket()))).await;
    assert_eq!(code(&refused), "UNKNOWN_TOOL");
    assert_eq!(scene.backend.counts().connections, 0);
    assert!(host.call(in_scene("free", "refund", request("desk.create_ticket", &ticket()))).await.ok());
    assert!(host.call(in_scene("bound", "orders", request("desk.find_order", &order()))).await.ok());
    assert!(host.call(as_caller("bound", request("desk.find_order", &order()))).await.ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_closest_names_are_those_of_the_scene() {
    let (_scene, host) = office().await;
    let call = |scene| in_scene("local", scene, request("desk.send_mial", &mail()));
    let error = body(&host.call(call("refund")).await);
    assert_eq!(error["details"]["closest"][0], "desk.send_mail");
    let error = body(&host.call(call("orders")).await);
    assert_eq!(error["details"]["closest"].as_array().unwrap().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scene_that_the_caller_does_not_have_is_told_with_those_that_it_has() {
    let (scene, host) = office().await;
    let refused = host.call(in_scene("bound", "refund", request("desk.find_order", &order()))).await;
    assert_snapshot!(shown(&refused), @r#"
    {
      "ok": false,
      "error": {
        "code": "PERMISSION_DENIED",
        "kind": "denied",
        "message": "the caller bound has the scenes orders, talk, and none of this name: refund",
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
    let refused = host.call(in_scene("free", "refnd", request("desk.find_order", &order()))).await;
    assert_snapshot!(body(&refused)["message"].as_str().unwrap(), @"the caller free has the scenes everything, nothing, orders, refund, talk, and none of this name: refnd");
    assert_eq!(scene.backend.counts().connections, 0);
    let alone = Scene::desk("").await.open().await;
    let refused = alone.call(in_scene("local", "refund", request("desk.find_order", &order()))).await;
    assert_snapshot!(body(&refused)["message"].as_str().unwrap(), @"the caller local has no scenes, and none of this name: refund");
}
