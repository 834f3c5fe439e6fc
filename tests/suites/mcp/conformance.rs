//! What the MCP project's own conformance suite asks of a server's tools, here on standard input and output.
//!
//! Its scenarios `tools-list`, `json-schema-2020-12`, `tools-call-simple-text` and `tools-call-error`, and of its requirements that no
//! schema is fetched. Those of attachments stand in `calls`, those of progress in `waiting`. One of them does not hold, and is meant not
//! to: composition at the root of an input's schema is left out of lists, for several clients drop a tool that has it. The host checks by it.

use airlock_tests::{changeling, guests};
use serde_json::{Value, json};

use super::{Scene, text};

/// The dialect by which schemas are read.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The schema that the suite has a server list.
fn canonical() -> Value {
    json!({
        "$schema": DIALECT,
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } }
            }
        },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" }
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false
    })
}

/// A host with one tool, which takes this.
fn taking(input: &Value) -> Scene {
    let scene = Scene::with(&[], "");
    let mut nature = changeling::nature();
    nature["tool"]["input"] = input.clone();
    changeling::put(&scene.world.plugins(), "changeling.wasm", &nature);
    scene
}

/// The tool of that host, as it is listed.
fn listed(scene: &Scene) -> Option<Value> {
    let mut client = scene.client();
    client.begin();
    client.tools().into_iter().find(|tool| tool["name"] == "changeling__turn")
}

#[test]
fn every_tool_that_is_listed_has_a_name_a_description_and_a_schema_of_an_object() {
    let all = [guests::DESK, guests::CALC, guests::WEB, guests::FILES, guests::ECHO, guests::DISCREET];
    let scene = Scene::with(&all, "[callers.mcp]\nmax_risk = \"L4\"\n");
    let mut client = scene.client();
    client.begin();
    let tools = client.tools();
    assert!(tools.len() > 15, "{}", tools.len());
    for tool in &tools {
        let name = tool["name"].as_str().unwrap();
        let sign = |letter: char| letter.is_ascii_alphanumeric() || "_./-".contains(letter);
        assert!((1..=64).contains(&name.len()) && name.chars().all(sign), "{name}");
        assert!(tool["description"].as_str().is_some_and(|text| !text.is_empty()), "{name}");
        assert_eq!(tool["inputSchema"]["type"], "object", "{name}");
        if let Some(output) = tool.get("outputSchema") {
            assert_eq!(output["type"], "object", "{name}");
        }
    }
}

#[test]
fn keywords_of_json_schema_2020_12_stay_in_the_schema_of_an_input() {
    let tool = listed(&taking(&canonical())).unwrap();
    let schema = &tool["inputSchema"];
    assert_eq!(schema["$schema"], DIALECT);
    assert_eq!(schema["$defs"], canonical()["$defs"], "with the anchor in it");
    assert_eq!(schema["additionalProperties"], false);
    assert_eq!(schema["properties"], canonical()["properties"], "with the reference in it");
    for keyword in ["allOf", "if", "then", "else"] {
        assert!(schema.get(keyword).is_none(), "{keyword} makes clients drop the tool");
    }
}

#[test]
fn composition_stays_below_the_root() {
    let contact = json!({
        "type": "object",
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "required": ["phone"] },
        "then": { "properties": { "phone": { "type": "string" } } },
        "else": { "not": { "required": ["phone"] } }
    });
    let tool = listed(&taking(&json!({ "type": "object", "properties": { "contact": contact } }))).unwrap();
    assert_eq!(tool["inputSchema"]["properties"]["contact"], contact);
}

#[test]
fn what_is_left_out_of_a_list_is_checked_all_the_same() {
    let scene = taking(&canonical());
    let mut client = scene.client();
    client.begin();
    let call = |client: &mut airlock_tests::mcp::Client, input: Value| {
        client.call("changeling__turn", &input, &json!({}))
    };
    let phone = json!({ "contactMethod": "phone", "email": "ada@example.com" });
    let refused = call(&mut client, phone);
    assert_eq!(refused["isError"], true, "{refused}");
    assert!(text(&refused).starts_with("INVALID_INPUT: ") && text(&refused).contains("phone"), "{refused}");
}

#[test]
fn a_schema_that_would_have_to_be_fetched_is_refused_and_nothing_is_fetched() {
    let site = airlock_tests::backend::Options::default().start().unwrap();
    let schema =
        json!({ "type": "object", "properties": { "a": { "$ref": format!("{}/orders", site.url) } } });
    assert!(listed(&taking(&schema)).is_none());
    assert_eq!(site.counts().of("GET /orders").requests, 0);
}

#[test]
fn a_result_has_content_and_what_the_schema_of_its_output_says() {
    let scene = Scene::with(&[guests::CALC], "");
    let mut client = scene.client();
    client.begin();
    let tool = client.tools().into_iter().find(|tool| tool["name"] == "calc__evaluate").unwrap();
    let result = client.call("calc__evaluate", &json!({ "expression": "1/3 + 1/6" }), &json!({}));
    assert_eq!(result["isError"], false);
    assert_eq!(result["content"][0]["type"], "text");
    let (said, structured) = (text(&result), &result["structuredContent"]);
    assert_eq!(
        serde_json::from_str::<Value>(said).unwrap(),
        *structured,
        "the text is the same, for who reads text alone"
    );
    let (schema, fields) = (&tool["outputSchema"], structured.as_object().unwrap());
    for name in schema["required"].as_array().unwrap() {
        assert!(fields.contains_key(name.as_str().unwrap()), "{name} is required: {structured}");
    }
    for (name, value) in fields {
        let kind = if value.is_boolean() { "boolean" } else { "string" };
        assert!(schema["properties"][name]["type"].to_string().contains(kind), "{name}: {schema}");
    }
}

#[test]
fn an_error_of_a_tool_is_a_result_that_says_so_in_text() {
    let scene = Scene::with(&[guests::CALC], "");
    let mut client = scene.client();
    client.begin();
    let failed = client.call("calc__evaluate", &json!({ "expression": "1/0" }), &json!({}));
    assert_eq!(failed["isError"], true, "{failed}");
    assert_eq!(failed["content"][0]["type"], "text");
    assert!(!text(&failed).is_empty());
    assert!(failed.get("structuredContent").is_none(), "clients hold it against the schema of the output");
}
