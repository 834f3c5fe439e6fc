//! What a client is told of the tools: which are there, what they are called, what they take, and what they may do.

use std::fs;

use airlock_tests::guests;
use insta::assert_snapshot;
use serde_json::json;

use super::{Scene, shown};

#[test]
fn a_caller_of_whom_nothing_is_said_sees_what_only_reads() {
    let scene = Scene::desk("");
    let mut client = scene.client();
    client.begin();
    assert_snapshot!(shown(&json!(client.tools())), @r#"
    [
      {
        "name": "airlock__page",
        "title": "The rest of a long result",
        "description": "Gives the whole of a result that was cut, part by part, as the text of its JSON. Each part ends with the cursor of the next. Reads what is stored; calls nothing.",
        "inputSchema": {
          "type": "object",
          "properties": {
            "run": {
              "type": "string",
              "description": "The run, as the answer named it."
            },
            "cursor": {
              "type": "string",
              "description": "Where to go on; the beginning where it is left out."
            }
          },
          "required": [
            "run"
          ],
          "additionalProperties": false
        },
        "annotations": {
          "readOnlyHint": true,
          "destructiveHint": false,
          "idempotentHint": true,
          "openWorldHint": false
        }
      },
      {
        "name": "airlock__result",
        "title": "The result of a call that takes long",
        "description": "Gives the result of a call that answered STILL_RUNNING, by its run. Waits up to wait_s seconds (20 at most) for it to end. Calling the tool itself again would do its work again.",
        "inputSchema": {
          "type": "object",
          "properties": {
            "run": {
              "type": "string",
              "description": "The run, as the answer named it."
            },
            "wait_s": {
              "type": "integer",
              "minimum": 0,
              "maximum": 20,
              "default": 20
            }
          },
          "required": [
            "run"
          ],
          "additionalProperties": false
        },
        "annotations": {
          "readOnlyHint": true,
          "destructiveHint": false,
          "idempotentHint": true,
          "openWorldHint": false
        }
      },
      {
        "name": "desk__find_order",
        "title": "Find an order",
        "description": "Looks up one order by its number or by the customer's name. Where several fit, the answer lists them: ask which one is meant.",
        "inputSchema": {
          "type": "object",
          "properties": {
            "name": {
              "type": [
                "string",
                "null"
              ],
              "description": "The customer's name, or a part of it.",
              "minLength": 1
            },
            "order_id": {
              "type": [
                "string",
                "null"
              ],
              "description": "The order's number; where it is given, the name is not looked at.",
              "pattern": "^[A-Za-z0-9-]+$"
            }
          },
          "minProperties": 1,
          "additionalProperties": false
        },
        "outputSchema": {
          "type": "object",
          "properties": {
            "order_id": {
              "type": "string"
            },
            "name": {
              "type": "string",
              "description": "Who ordered."
            },
            "city": {
              "type": "string"
            },
            "status": {
              "type": "string",
              "description": "`paid`, `shipped`, `delivered`, `returned`."
            },
            "total": {
              "type": "string",
              "description": "In the currency's main unit, with its decimals."
            },
            "currency": {
              "type": "string",
              "description": "ISO 4217."
            }
          },
          "required": [
            "order_id",
            "name",
            "city",
            "status",
            "total",
            "currency"
          ]
        },
        "annotations": {
          "readOnlyHint": true,
          "destructiveHint": false,
          "idempotentHint": true,
          "openWorldHint": true
        }
      },
      {
        "name": "echo__echo",
        "title": "Echo",
        "description": "Gives back the text.",
        "inputSchema": {
          "type": "object",
          "properties": {
            "text": {
              "type": "string"
            }
          },
          "required": [
            "text"
          ],
          "additionalProperties": false
        },
        "outputSchema": {
          "type": "object",
          "properties": {
            "text": {
              "type": "string"
            }
          },
          "required": [
            "text"
          ]
        },
        "annotations": {
          "readOnlyHint": true,
          "destructiveHint": false,
          "idempotentHint": true,
          "openWorldHint": false
        }
      }
    ]
    "#);
}

#[test]
fn what_a_tool_may_do_is_told_by_what_is_enforced() {
    let scene = Scene::desk("");
    let mut client = scene.agent();
    let lines: Vec<String> = client
        .tools()
        .iter()
        .map(|tool| format!("{}: {}", tool["name"].as_str().unwrap(), tool["annotations"]))
        .collect();
    assert_snapshot!(lines.join("\n"), @r#"
    airlock__page: {"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}
    airlock__result: {"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}
    desk__assign_ticket: {"readOnlyHint":false,"destructiveHint":true,"idempotentHint":true,"openWorldHint":true}
    desk__cancel_ticket: {"readOnlyHint":false,"destructiveHint":true,"idempotentHint":true,"openWorldHint":true}
    desk__create_ticket: {"readOnlyHint":false,"destructiveHint":false,"idempotentHint":false,"openWorldHint":true}
    desk__find_order: {"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":true}
    desk__send_mail: {"readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":true}
    echo__echo: {"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}
    echo__echo_write: {"readOnlyHint":false,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}
    "#);
}

#[test]
fn the_list_is_the_same_each_time_and_has_one_page() {
    let scene = Scene::desk("");
    let mut client = scene.agent();
    let first = client.ask("tools/list", &json!({}));
    let second = client.ask("tools/list", &json!({}));
    assert_eq!(first["result"], second["result"]);
    assert!(first["result"].get("nextCursor").is_none());
    let third = client.ask("tools/list", &json!({ "cursor": "2" }));
    assert_eq!(third["error"]["code"], -32602);
}

#[test]
fn a_tool_goes_by_the_name_that_the_operator_gave_it_and_by_no_other() {
    let scene = Scene::with(&[guests::ECHO], "[mcp.names]\n\"echo.echo\" = \"say_again\"\n");
    let mut client = scene.client();
    client.begin();
    let names: Vec<_> = client.tools().iter().map(|tool| tool["name"].clone()).collect();
    assert_eq!(names, ["airlock__page", "airlock__result", "say_again"]);
    let said = client.call("say_again", &json!({ "text": "hello" }), &json!({}));
    assert_eq!(said["structuredContent"], json!({ "text": "hello" }));
    let usual = client.ask("tools/call", &json!({ "name": "echo__echo", "arguments": { "text": "hello" } }));
    assert_eq!(usual["error"]["code"], -32602);
}

#[test]
fn there_is_one_page_and_a_cursor_to_another_leads_to_none() {
    let scene = Scene::with(&[guests::ECHO], "");
    let mut client = scene.client();
    client.begin();
    let refused = client.ask("tools/list", &json!({ "cursor": "2" }));
    assert_snapshot!(refused["error"], @r#"{"code":-32602,"message":"there is one page, and this cursor leads to none"}"#);
    assert_eq!(client.ask("tools/list", &json!({}))["result"]["tools"][2]["name"], "echo__echo");
}

#[test]
fn a_tool_that_a_person_must_confirm_says_so_to_the_model() {
    let scene = Scene::with(&[guests::ECHO], "[tools.\"echo.echo\"]\nconfirm = \"person\"\n");
    let mut client = scene.client();
    client.begin();
    let tools = client.tools();
    let description = tools[2]["description"].as_str().unwrap();
    assert_eq!(description, "Gives back the text.\n\nA person must say yes to each call.");
    let refused = client.call("echo__echo", &json!({ "text": "x" }), &json!({}));
    assert_eq!(refused["_meta"]["airlock/error"]["code"], "NEEDS_PERSON");
}

/// Puts the desk beside the plugins that are there.
fn add_desk(scene: &Scene) {
    fs::copy(guests::DESK, scene.world.plugins().join("desk.wasm")).unwrap();
}

const GRANTED: &str = "[callers.mcp]\npermissions = [\"order:read\"]\n";

#[test]
fn a_client_with_a_session_is_told_when_its_list_is_another_one() {
    let scene = Scene::with(&[guests::ECHO], GRANTED);
    let mut client = scene.client();
    assert_eq!(client.begin()["result"]["capabilities"]["tools"]["listChanged"], true);
    add_desk(&scene);
    assert_eq!(client.receive()["method"], "notifications/tools/list_changed");
    let names: Vec<_> = client.tools().iter().map(|tool| tool["name"].clone()).collect();
    assert_eq!(names, ["airlock__page", "airlock__result", "desk__find_order", "echo__echo"]);
    fs::remove_file(scene.world.plugins().join("desk.wasm")).unwrap();
    assert_eq!(client.receive()["method"], "notifications/tools/list_changed");
    let gone = client.ask("tools/call", &json!({ "name": "desk__find_order", "arguments": {} }));
    assert_snapshot!(gone["error"], @r#"{"code":-32602,"message":"there is no such tool: desk__find_order"}"#);
}

#[test]
fn what_is_wrong_with_a_configuration_that_changed_is_told_in_the_log_and_the_last_good_one_holds() {
    let scene = Scene::with(&[guests::ECHO], GRANTED);
    let mut client = scene.client();
    client.begin();
    let file = scene.world.folder().join("airlock.toml");
    let written = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{written}\n[limits]\natempt = \"5s\"\n")).unwrap();
    add_desk(&scene);
    assert_eq!(client.receive()["method"], "notifications/tools/list_changed");
    fs::write(&file, format!("{written}\n[tools.\"nobody.does\"]\nconfirm = \"none\"\n")).unwrap();
    fs::remove_file(scene.world.plugins().join("desk.wasm")).unwrap();
    assert_eq!(client.receive()["method"], "notifications/tools/list_changed");
    let errors = client.end().errors;
    for told in [
        "the configuration stays as it was: ",
        "unknown setting `limits.atempt`",
        "the configuration names what is not there, and holds all the same: ",
    ] {
        assert!(errors.contains(told), "{told}: {errors}");
    }
}

#[test]
fn a_client_of_the_newer_line_is_told_where_it_asked_for_it() {
    let scene = Scene::with(&[guests::ECHO], GRANTED);
    let mut client = scene.client();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}
    });
    let wanted = json!({ "toolsListChanged": true, "resourcesListChanged": true });
    let listening = client.send("subscriptions/listen", &json!({ "notifications": wanted, "_meta": meta }));
    assert_snapshot!(shown(&client.receive()), @r#"
    {
      "jsonrpc": "2.0",
      "method": "notifications/subscriptions/acknowledged",
      "params": {
        "_meta": {
          "io.modelcontextprotocol/subscriptionId": 1
        },
        "notifications": {
          "toolsListChanged": true
        }
      }
    }
    "#);
    add_desk(&scene);
    assert_snapshot!(shown(&client.receive()), @r#"
    {
      "jsonrpc": "2.0",
      "method": "notifications/tools/list_changed",
      "params": {
        "_meta": {
          "io.modelcontextprotocol/subscriptionId": 1
        }
      }
    }
    "#);
    // The host ends although nobody ended the subscription.
    let ended = client.end();
    assert!(ended.status.success() && ended.left.len() == 1, "{ended:?}");
    assert_eq!(ended.left[0]["id"], listening);
}
