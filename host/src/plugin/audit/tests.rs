//! Declarations with one fault each, and with all.

use crate::model::manifest::{DeclaredOrigin, Need, Repeat, Risk};
use crate::sandbox::wit::types::{
    Access, Cleanup, DirectoryNeed, HttpNeed, Manifest, Need as Declared, Origin, Repeat as Repeats,
    Risk as Risks, SecretNeed, Tool,
};

use super::audit;

fn tool(name: &str) -> Tool {
    Tool {
        name: name.to_owned(),
        title: "Find an order".to_owned(),
        description: "Finds one order.".to_owned(),
        input_schema:
            r#"{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}"#
                .to_owned(),
        output_schema: Some(r#"{"type":"object","properties":{"b":{"type":"string"}}}"#.to_owned()),
        risk: Risks::PublicRead,
        repeat: Repeats::Reads,
        cleanup: Cleanup::Nothing,
        permissions: vec!["order:read".to_owned()],
        needs: Vec::new(),
        hidden: vec!["/b".to_owned()],
        private: vec!["/lines/*/a~1b".to_owned()],
        same_action: vec!["a".to_owned()],
        poll: false,
        timeout_ms: Some(500),
        cost_micros: None,
    }
}

fn plugin(tools: Vec<Tool>) -> Manifest {
    Manifest {
        name: "desk".to_owned(),
        version: "1.2.3-beta.1".to_owned(),
        description: "The desk.".to_owned(),
        tools,
    }
}

fn get() -> HttpNeed {
    HttpNeed {
        origin: Origin::Fixed("https://*.example.com:8443".to_owned()),
        methods: vec!["GET".to_owned()],
        paths: vec!["/orders/*".to_owned()],
        repeat: Repeats::Reads,
        idempotency_header: None,
        clean_statuses: vec![503],
    }
}

/// A writing tool that opens tickets under a key.
fn writer(change: impl FnOnce(&mut Tool, &mut HttpNeed)) -> Tool {
    let mut tool =
        Tool { risk: Risks::LowRiskWrite, repeat: Repeats::Keyed, cleanup: Cleanup::Manual, ..tool("open") };
    let mut need = HttpNeed {
        methods: vec!["POST".to_owned()],
        repeat: Repeats::Keyed,
        idempotency_header: Some("Idempotency-Key".to_owned()),
        ..get()
    };
    change(&mut tool, &mut need);
    tool.needs.push(Declared::Http(need));
    tool
}

fn faults(manifest: Manifest) -> Vec<String> {
    audit(manifest).unwrap_err()
}

fn fault(tool: Tool) -> String {
    let mut faults = faults(plugin(vec![tool]));
    assert_eq!(faults.len(), 1, "{faults:?}");
    faults.remove(0)
}

#[test]
fn a_declaration_without_fault_is_taken() {
    let mut finder = tool("find");
    finder.needs = vec![
        Declared::Http(get()),
        Declared::Directory(DirectoryNeed { name: "inbox".to_owned(), access: Access::Read }),
        Declared::Secret(SecretNeed {
            name: "token".to_owned(),
            origins: vec![Origin::Granted],
            in_body: false,
        }),
        Declared::Config("desk_url".to_owned()),
        Declared::KeyValue,
    ];
    let manifest = audit(plugin(vec![finder, writer(|_, _| ())])).unwrap();
    assert_eq!(manifest.tools[0].risk, Risk::L1);
    assert_eq!(manifest.tools[0].needs.len(), 5);
    assert_eq!(manifest.tools[0].needs[1], Need::Directory("inbox".to_owned(), false));
    assert_eq!(manifest.tools[1].repeat, Repeat::Keyed);
    let Need::Http(http) = &manifest.tools[1].needs[0] else { panic!("{:?}", manifest.tools[1].needs) };
    let DeclaredOrigin::Fixed(origin) = &http.origin else { panic!("{:?}", http.origin) };
    assert_eq!(origin.to_string(), "https://*.example.com:8443");
    assert_eq!(manifest.tools[1].timeout, Some(std::time::Duration::from_millis(500)));
}

#[test]
fn the_plugin_itself_is_looked_at() {
    let bad = Manifest {
        name: "Odd__Ball".to_owned(),
        version: "1.x".to_owned(),
        description: "hides \u{202e} this".to_owned(),
        tools: Vec::new(),
    };
    assert_eq!(
        faults(bad),
        [
            "the plugin: its name must begin with a small letter, have small letters, digits and single `_` alone, and at most 64 characters, and is \"Odd__Ball\"",
            "the plugin: its version must be a semantic version such as 1.4.0 (unexpected character 'x' while parsing minor version number), and is \"1.x\"",
            "the plugin: the description must hold visible characters alone, and hides U+202E",
            "the plugin: it declares no tools, and must declare one at least",
        ]
    );
    let many = (0..257).map(|n| tool(&format!("t{n}"))).collect();
    assert_eq!(faults(plugin(many)), ["the plugin: it declares 257 tools and may declare 256"]);
}

#[test]
fn no_plugin_is_called_as_the_host_is() {
    let faults = audit(Manifest { name: "airlock".to_owned(), ..plugin(vec![tool("result")]) }).unwrap_err();
    assert_eq!(faults, ["the plugin: its name must be another: airlock is that of the host's own tools"]);
    assert!(audit(Manifest { name: "airlocks".to_owned(), ..plugin(vec![tool("result")]) }).is_ok());
}

#[test]
fn names_are_plain_and_given_once() {
    assert_eq!(
        faults(plugin(vec![tool("twin"), tool("twin"), tool("x")])),
        ["tool \"twin\": the name is declared twice; keep one of them"]
    );
    for name in
        ["", "Upper", "two__bars", "9_first", "with space", "hyphen-ated", "a\u{202e}b", &"a".repeat(65)]
    {
        assert!(fault(tool(name)).contains("the name must begin with a small letter"), "{name}");
    }
    assert!(!fault(tool("a\u{202e}b\n")).contains(['\u{202e}', '\n']));
}

#[test]
fn texts_say_something_and_hide_nothing() {
    assert_eq!(
        fault(Tool { title: " ".to_owned(), ..tool("x") }),
        "tool \"x\": the title must say something and is empty"
    );
    assert_eq!(
        fault(Tool { title: "t".repeat(121), ..tool("x") }),
        "tool \"x\": the title has 121 characters and may have 120"
    );
    assert_eq!(
        fault(Tool { description: String::new(), ..tool("x") }),
        "tool \"x\": the description must say something and is empty"
    );
    assert_eq!(
        fault(Tool { description: "d".repeat(8193), ..tool("x") }),
        "tool \"x\": the description has 8193 bytes and may have 8192"
    );
    assert_eq!(
        fault(Tool { description: "a\u{1b}[31m\u{2066}".to_owned(), ..tool("x") }),
        "tool \"x\": the description must hold visible characters alone, and hides U+001B, U+2066"
    );
    let hiding = r#"{"type":"object","properties":{"a":{"description":"x\u200by"}}}"#;
    assert_eq!(
        fault(Tool { input_schema: hiding.to_owned(), same_action: vec![], ..tool("x") }),
        "tool \"x\": the input schema must hold visible characters alone, and hides U+200B"
    );
}

#[test]
fn schemas_are_compiled_once() {
    let input = |text: &str| fault(Tool { input_schema: text.to_owned(), same_action: vec![], ..tool("x") });
    assert_eq!(
        input("{"),
        "tool \"x\": the input schema is no JSON: EOF while parsing an object at line 1 column 1"
    );
    assert_eq!(
        input(r#"{"type":"array"}"#),
        "tool \"x\": the input schema: its root must be `\"type\": \"object\"` and has the type \"array\""
    );
    assert_eq!(
        input(&format!("{{}}{}", " ".repeat(262_143))),
        "tool \"x\": the input schema has 262145 bytes and may have 262144"
    );
    assert_eq!(
        fault(Tool { output_schema: Some("7".to_owned()), ..tool("x") }),
        "tool \"x\": the output schema: must be a JSON object with `\"type\": \"object\"` and is 7"
    );
    assert!(audit(plugin(vec![Tool { output_schema: None, ..tool("x") }])).is_ok());
    assert_eq!(
        input(r#"{"type":"object","properties":{"airlock_repeat_of":{"type":"string"}}}"#),
        "tool \"x\": the input schema has the field airlock_repeat_of, which is the host's own; give it another name"
    );
}

#[test]
fn permissions_pointers_and_fields_are_well_formed() {
    let list = |text: &str| vec![text.to_owned()];
    assert_eq!(
        faults(plugin(vec![Tool {
            permissions: vec!["order read".into(), String::new(), "a".into(), "a".into()],
            ..tool("x")
        }])),
        [
            "tool \"x\": a permission has 1 to 128 visible characters and no space, such as order:read, and is \"order read\"",
            "tool \"x\": a permission has 1 to 128 visible characters and no space, such as order:read, and is \"\"",
            "tool \"x\": the permission a is listed twice; keep one",
        ]
    );
    assert!(fault(Tool { hidden: list("no_slash"), ..tool("x") }).ends_with("and one is \"no_slash\""));
    assert!(
        fault(Tool { private: list("/a/~2"), ..tool("x") })
            .starts_with("tool \"x\": `private` holds JSON pointers")
    );
    assert_eq!(
        fault(Tool { same_action: list("missing"), ..tool("x") }),
        "tool \"x\": `same-action` names fields of the input (it has a), and one is \"missing\""
    );
    assert!(fault(Tool { timeout_ms: Some(0), ..tool("x") }).contains("`timeout-ms` must be at least 1"));
}

#[test]
fn requests_are_declared_as_they_are_sent() {
    let of = |change: fn(&mut HttpNeed)| fault(writer(|_, need| change(need)));
    for bad in [
        "",
        "example.com",
        "ftp://example.com",
        "https://example.com/path",
        "https://user@example.com",
        "https://*",
        "https://a.*.example.com",
    ] {
        let text = fault(writer(|_, need| need.origin = Origin::Fixed(bad.to_owned())));
        assert!(
            text.contains("an origin is scheme, host and port")
                && text.ends_with(&format!("and one is \"{bad}\"")),
            "{text}"
        );
    }
    for bad in ["a", "/a/../b", "/**/a", "/a%2Fb", ""] {
        let text = fault(writer(|_, need| need.paths = vec![bad.to_owned()]));
        assert!(text.contains("a path begins with /"), "{text}");
    }
    assert!(of(|need| need.methods = vec![]).contains("the list is empty"));
    assert!(
        of(|need| need.methods = vec!["post".to_owned()])
            .ends_with("a method is written in capitals, such as GET, and one is \"post\"")
    );
    assert!(
        of(|need| need.methods = vec!["TRACE".to_owned()])
            .ends_with("TRACE and TRACK are never sent, and one is \"TRACE\"")
    );
    assert!(
        of(|need| need.origin = Origin::Configured(String::new()))
            .contains("the configuration key of an origin")
    );
    assert!(of(|need| need.idempotency_header = None).contains("must name its `idempotency-header`"));
    assert!(
        of(|need| need.idempotency_header = Some("a b".to_owned()))
            .contains("must be the name of a header, and is \"a b\"")
    );
    assert!(
        of(|need| need.idempotency_header = Some("Host".to_owned()))
            .contains("is \"Host\", which has another use")
    );
    assert!(
        of(|need| need.repeat = Repeats::Idempotent)
            .contains("must repeat as keyed, and repeats as idempotent")
    );
    assert!(
        of(|need| need.clean_statuses = vec![404])
            .ends_with("`clean-statuses` holds statuses from 500 to 599, and one is 404")
    );
}

#[test]
fn a_tool_that_writes_in_a_folder_is_no_reading_one() {
    let mut keeper = tool("keep");
    keeper.needs =
        vec![Declared::Directory(DirectoryNeed { name: "inbox".to_owned(), access: Access::Write })];
    assert_eq!(
        audit(plugin(vec![keeper])).unwrap_err(),
        [
            "tool \"keep\": it repeats as reads, which is looser than what it does: writing in the folder \"inbox\" repeats as idempotent; declare idempotent"
        ]
    );
}

#[test]
fn a_tool_is_as_strict_as_its_strictest_request() {
    let once = |tool: &mut Tool, need: &mut HttpNeed| {
        tool.repeat = Repeats::Idempotent;
        need.repeat = Repeats::Once;
        need.idempotency_header = None;
    };
    assert_eq!(
        fault(writer(once)),
        "tool \"open\": it repeats as idempotent, which is looser than what it does: POST to https://*.example.com:8443 repeats as once; declare once"
    );
    // GET and HEAD read, whatever is declared; a stricter tool is welcome.
    let mut reading = tool("x");
    reading.needs = vec![Declared::Http(HttpNeed { repeat: Repeats::Once, ..get() })];
    assert!(audit(plugin(vec![reading])).is_ok());
    assert!(audit(plugin(vec![writer(|tool, _| tool.repeat = Repeats::Once)])).is_ok());
}

#[test]
fn what_a_tool_says_of_itself_agrees() {
    assert_eq!(
        fault(writer(|tool, _| tool.risk = Risks::BusinessRead)),
        "tool \"open\": a tool whose risk is L2 reads, and this one repeats as keyed; declare low-risk-write or high-risk-write, or repeat as reads"
    );
    assert_eq!(
        fault(Tool { cleanup: Cleanup::Automatic, ..tool("x") }),
        "tool \"x\": a tool that reads leaves nothing behind, and the clean-up of this one is automatic; declare nothing"
    );
}

#[test]
fn secrets_folders_and_keys_have_names_and_places() {
    let need = |need: Declared| fault(Tool { needs: vec![need], ..tool("x") });
    let secret =
        |name: &str, origins| Declared::Secret(SecretNeed { name: name.to_owned(), origins, in_body: false });
    assert!(
        need(secret("", vec![Origin::Granted]))
            .contains("the name of a secret has 1 to 128 visible characters")
    );
    assert!(need(secret("token", vec![])).contains("the secret \"token\" must name the origins"));
    assert!(need(secret("token", vec![Origin::Fixed("x".to_owned())])).contains("an origin is scheme"));
    assert!(
        need(Declared::Config("a b".to_owned()))
            .ends_with("a configuration key has 1 to 128 visible characters and no space, and is \"a b\"")
    );
    assert!(
        need(Declared::Directory(DirectoryNeed { name: String::new(), access: Access::Read }))
            .contains("the name of a directory")
    );
}

#[test]
fn every_fault_of_a_need_is_told() {
    let many = || (0..2_000).map(|number| format!("/orders/{number}")).collect::<Vec<_>>();
    let told = [
        fault(writer(|_, need| need.methods.clear())),
        fault(writer(|_, need| need.idempotency_header = Some("Idem Key".to_owned()))),
        fault(writer(|_, need| need.paths = many())),
        fault(writer(|tool, _| tool.title = "two\nlines".to_owned())),
        fault(writer(|tool, need| {
            tool.repeat = Repeats::Idempotent;
            need.origin = Origin::Granted;
        })),
    ];
    insta::assert_snapshot!(told.join("\n"), @r#"
    tool "open": the methods of an HTTP need must be listed, such as GET, and the list is empty
    tool "open": `idempotency-header` must be the name of a header, and is "Idem Key"
    tool "open": it has 2000 paths in one need and may have 256
    tool "open": the title must be one line
    tool "open": it repeats as idempotent, which is looser than what it does: POST to a granted origin repeats as keyed; declare keyed
    "#);
}
