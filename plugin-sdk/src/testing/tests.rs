//! The stand-in against what the contract says of the host.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::*;
use crate::{
    Cleanup, Declaration, ErrorKind, Origin, Repeat, Risk, config, cost, files, http, key_value, log,
    progress, saved, secrets,
};

#[derive(Deserialize, JsonSchema)]
struct Order {
    id: String,
    fail: bool,
}

#[derive(Serialize, JsonSchema)]
struct Done {
    status: u16,
    before: Option<String>,
}

/// Uses whatever the host offers.
struct Busy;

impl Tool for Busy {
    const NAME: &'static str = "busy";
    type Input = Order;
    type Output = Done;

    fn declare() -> Declaration {
        Declaration::new("Busy")
            .risk(Risk::LowRiskWrite)
            .repeat(Repeat::Once)
            .cleanup(Cleanup::Manual)
            .config("url")
            .secret("token", [Origin::configured("url")])
            .http(Origin::configured("url").post(["/orders/*"]))
            .key_value()
    }

    fn call(order: Order, context: &Context) -> Result<Done, ToolError> {
        progress::tell(1, 2, "asked");
        log::info("asking", json!({ "attempt": context.attempt }));
        let before = key_value::get_text("last")?;
        key_value::set("last", &order.id)?;
        saved::save(&order.id)?;
        cost::spend(20, "asking")?;
        let response = http::post(format!("{}/orders/{}", config::require("url")?, order.id))
            .header("authorization", secrets::bearer("token")?)
            .json(&json!({ "id": order.id }))?
            .send()?;
        if order.fail {
            return Err(ToolError::rejected("ASKED_TO", "it was asked to fail"));
        }
        Ok(Done { status: response.status, before })
    }
}

fn host() -> Host {
    Host::new().config("url", "https://desk.test").secret("token")
}

fn input(id: &str, fail: bool) -> Value {
    json!({ "id": id, "fail": fail })
}

#[test]
fn a_call_gets_what_it_is_given_and_leaves_what_it_did() {
    let host = host().answer("POST", "https://desk.test/orders/a", Answer::new(201, "made"));
    assert_eq!(host.call::<Busy>(input("a", false)).unwrap(), json!({ "status": 201, "before": null }));
    let sent = host.requests();
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].header("Authorization"), Some("Bearer {{token}}"));
    assert_eq!(sent[0].json(), json!({ "id": "a" }));
    assert_eq!(host.told(), [(1, Some(2), "asked".to_owned())]);
    assert_eq!(host.lines().len(), 1);
    assert_eq!(host.spent(), [(20, "asking".to_owned())]);
    assert_eq!(host.saved().as_deref(), Some(b"a".as_slice()));
    assert_eq!(host.value("last").as_deref(), Some(b"a".as_slice()));
}

#[test]
fn what_a_failed_call_kept_is_not_kept_and_what_it_saved_is_there_for_the_next() {
    let host = host().answer("POST", "https://desk.test/orders/a", Answer::new(200, "")).answer(
        "POST",
        "https://desk.test/orders/b",
        Answer::new(200, ""),
    );
    assert_eq!(host.call::<Busy>(input("a", true)).unwrap_err().code(), "ASKED_TO");
    assert_eq!(host.value("last"), None);
    let next = host.run::<Busy, _>(|context| (context.attempt, context.saved.clone()));
    assert_eq!(next, (2, Some(b"a".to_vec())));
    assert_eq!(host.call::<Busy>(input("b", false)).unwrap()["before"], Value::Null);
}

#[test]
fn what_is_not_declared_or_not_given_is_refused() {
    let host = host();
    let kind = |sent: Result<http::Response, http::Error>| ToolError::from(sent.unwrap_err()).kind();
    host.run::<Busy, _>(|_| {
        for url in [
            "https://desk.test/orders",
            "https://desk.test/orders/a/b",
            "https://evil.test/orders/a",
            "http://desk.test/orders/a",
        ] {
            assert_eq!(kind(http::post(url).send()), ErrorKind::Denied, "{url}");
        }
        assert_eq!(kind(http::get("https://desk.test/orders/a").send()), ErrorKind::Denied);
        assert_eq!(
            secrets::placeholder("other").unwrap_err().message(),
            "the tool does not declare the secret other"
        );
        assert_eq!(config::get("other"), None);
        assert!(matches!(files::directory("notes").stat(""), Err(files::Error::Forbidden(_))));
    });
    assert!(host.requests().is_empty());
    let bare = Host::new();
    assert_eq!(bare.call::<Busy>(input("a", false)).unwrap_err().code(), "NOT_CONFIGURED");
}

#[test]
fn an_answer_that_does_not_come_is_what_it_would_be() {
    let kind = |how| {
        let host = host().answer("POST", "https://desk.test/orders/a", Answer::lost(how));
        host.call::<Busy>(input("a", false)).unwrap_err().kind()
    };
    assert_eq!(kind(Lost::NotSent), ErrorKind::Transient);
    assert_eq!(kind(Lost::Broken), ErrorKind::UnknownOutcome);
    assert_eq!(kind(Lost::TooLarge), ErrorKind::Fatal);
}

#[test]
#[should_panic(expected = "the test gave no answer to POST https://desk.test/orders/a")]
fn a_request_without_an_answer_ends_the_test() {
    let _ = host().call::<Busy>(input("a", false));
}

#[test]
#[should_panic(expected = "nobody asked for the answers to: POST https://desk.test/orders/a")]
fn an_answer_that_nobody_asks_for_ends_the_test() {
    drop(host().answer("POST", "https://desk.test/orders/a", Answer::new(200, "")));
}

#[test]
fn a_tool_without_a_host_is_told_where_to_find_one() {
    let error = secrets::placeholder("token").unwrap_err();
    assert!(error.message().contains("airlock_sdk::testing::Host"), "{}", error.message());
}

/// Needs two folders.
struct Filing;

impl Tool for Filing {
    const NAME: &'static str = "filing";
    type Input = Order;
    type Output = Done;

    fn declare() -> Declaration {
        Declaration::new("Filing").directory("notes", Access::Write).directory("manuals", Access::Read)
    }

    fn call(_order: Order, _context: &Context) -> Result<Done, ToolError> {
        Ok(Done { status: 0, before: None })
    }
}

#[test]
fn folders_of_the_test_are_lent_for_what_they_are_declared_and_given_for() {
    let (notes, manuals) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(manuals.path().join("a.txt"), "first").unwrap();
    let host = Host::new().folder("notes", notes.path(), Access::Write);
    let host = host.folder("manuals", manuals.path(), Access::Write);
    host.run::<Filing, _>(|_| {
        let (notes, manuals) = (files::directory("notes"), files::directory("manuals"));
        assert_eq!(manuals.text("a.txt").unwrap(), "first");
        let refused = |error: files::Error| {
            let files::Error::Forbidden(rule) = error else { panic!("{error:?}") };
            rule
        };
        let for_reading = refused(manuals.write("a.txt", "second").unwrap_err());
        assert_eq!(for_reading, "the folder manuals is not lent for writing");
        let out = refused(notes.text("../a.txt").unwrap_err());
        assert_eq!(out, "the path leads out of the folder notes: ../a.txt");
        assert!(matches!(notes.text("a.txt"), Err(files::Error::NotFound)));
        notes.create_directory("in").unwrap();
        notes.write("in/b.txt", "one").unwrap();
        notes.append("in/b.txt", " two").unwrap();
        notes.rename("in/b.txt", "c.txt").unwrap();
        assert!(matches!(notes.create_directory("in"), Err(files::Error::Exists)));
        notes.remove("in").unwrap();
        let names: Vec<String> = notes.entries("").unwrap().into_iter().map(|entry| entry.name).collect();
        assert_eq!((names, notes.text("c.txt").unwrap()), (vec!["c.txt".to_owned()], "one two".to_owned()));
    });
}

#[test]
fn what_is_no_text_too_long_or_without_a_host_is_told() {
    let told = |error: ToolError| format!("{}: {}", error.code(), error.message());
    let kept = host().kept("bytes", vec![0xff]);
    let said = kept.run::<Busy, _>(|_| {
        let long = "k".repeat(513);
        [
            told(key_value::get_text("bytes").unwrap_err()),
            told(key_value::get(&long).unwrap_err()),
            told(key_value::set("a", vec![0; 65_537]).unwrap_err()),
        ]
    });
    assert_eq!(
        said,
        [
            "NO_TEXT: what is kept under bytes is no text",
            "KEY_VALUE_REFUSED: a key has 512 bytes at most, and this one 513",
            "KEY_VALUE_REFUSED: a value has 65536 bytes at most, and this one 65537",
        ]
    );
    let alone = told(key_value::get("a").unwrap_err());
    assert_eq!(alone, "KEY_VALUE_REFUSED: no host is here: call the tool through airlock_sdk::testing::Host");
    let alone = files::directory("notes").text("a.txt").unwrap_err();
    assert!(matches!(&alone, files::Error::Forbidden(rule) if rule == "no host is here"), "{alone:?}");
}
