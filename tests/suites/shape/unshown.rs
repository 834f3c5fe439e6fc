//! Fields that are hidden, private or named by nobody, and known secrets.

use airlock::host::{Host, Look};
use airlock::model::id::CallerName;
use airlock::model::run::Record;
use airlock_tests::guests;
use airlock_tests::world::{World, body, keyed, request};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{read, run, shown};

async fn open() -> (World, Host) {
    let world = World::new().with_plugins(&[guests::DISCREET]);
    let host = world.open().await;
    (world, host)
}

fn asked(email: &str, fail: bool) -> Value {
    json!({ "email": email, "pin": "9-8-7-6", "fail": fail })
}

/// The record, waited for: of a call that only reads nobody waits for it.
async fn record(host: &Host, id: &str, look: Look) -> Record {
    loop {
        match host.look(id, look) {
            Ok(record) => return record,
            Err(_) => tokio::task::yield_now().await,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hidden_fields_and_those_that_the_schema_does_not_name_are_not_shown() {
    let (_world, host) = open().await;
    let reply = host.call(keyed("discreet.customer", &asked("li@example.com", false), "k")).await;
    assert_snapshot!(shown(&reply), @r#"
    {
      "ok": true,
      "data": {
        "name": "Li",
        "email": "li@example.com",
        "orders": [
          {
            "id": 7
          }
        ]
      },
      "meta": {
        "trimmed": null,
        "replayed": false
      }
    }
    "#);
    let again = host.call(keyed("discreet.customer", &asked("li@example.com", false), "k")).await;
    assert_eq!(body(&again), body(&reply));
    assert!(again.meta.replayed);
}

#[tokio::test(flavor = "multi_thread")]
async fn hidden_fields_are_taken_out_of_the_details_of_an_error() {
    let (_world, host) = open().await;
    let reply = host.call(request("discreet.customer", &asked("li@example.com", true))).await;
    assert_snapshot!(shown(&reply), @r#"
    {
      "ok": false,
      "error": {
        "code": "NO_CUSTOMER",
        "kind": "rejected",
        "message": "there is no customer li@example.com",
        "retryable": false,
        "action": "tell_user",
        "retry_after_ms": 0,
        "details": {
          "email": "li@example.com",
          "hint": "none"
        }
      },
      "meta": {
        "trimmed": null,
        "replayed": false
      }
    }
    "#);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_schema_that_callers_see_asks_for_nothing_that_is_hidden() {
    let (_world, host) = open().await;
    let local = CallerName("local".to_owned());
    let view = host.tool(&local, None, "discreet.customer").unwrap();
    let asked_for = |schema: &Value| {
        (schema["required"].clone(), schema["properties"]["orders"]["items"]["required"].clone())
    };
    assert_eq!(asked_for(&view.output.unwrap()), (json!(["name", "email", "orders"]), json!(["id"])));
    let declared = view.tool.output_schema.unwrap();
    assert_eq!(asked_for(&declared), (json!(["name", "email", "token", "orders"]), json!(["id", "cost"])));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_shown_without_what_is_hidden_and_with_hashes_for_what_is_private() {
    let (_world, host) = open().await;
    for fail in [false, true] {
        let reply =
            host.call(keyed("discreet.customer", &asked("li@example.com", fail), &format!("k{fail}"))).await;
        let record = record(&host, &run(&reply), Look::Usual).await;
        let told = format!("{record:?}");
        for word in ["li@example.com", "9-8-7-6", "tok-1234567"] {
            assert!(!told.contains(word), "{word}: {told}");
        }
        let input = read(record.input.as_ref().unwrap());
        let hash = input["email"].as_str().unwrap().to_owned();
        assert!(hash.starts_with("[private ") && hash.len() == 18, "{hash}");
        assert_eq!(input, json!({ "email": hash, "fail": fail }));
        assert_eq!(
            record.attempts[0].log,
            format!("info: asked for {hash} with [hidden] {{\"token\":\"[hidden]\"}}\n"),
            "equal values have equal hashes"
        );
        let told = read(&record.stored.unwrap().body);
        if fail {
            assert_eq!(told["details"], json!({ "email": hash, "hint": "none" }));
            assert_eq!(told["message"], format!("there is no customer {hash}"));
        } else {
            assert_eq!(told, json!({ "name": "Li", "email": hash, "orders": [{ "id": 7 }] }));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_who_asks_sees_what_is_private_and_nothing_that_is_hidden() {
    let (_world, host) = open().await;
    let reply = host.call(keyed("discreet.customer", &asked("li@example.com", false), "k")).await;
    let record = record(&host, &run(&reply), Look::Private).await;
    assert_eq!(read(record.input.as_ref().unwrap()), json!({ "email": "li@example.com", "fail": false }));
    assert_eq!(
        record.attempts[0].log,
        "info: asked for li@example.com with [hidden] {\"token\":\"[hidden]\"}\n"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn another_host_makes_another_hash() {
    let hash = async || {
        let (_world, host) = open().await;
        let reply = host.call(keyed("discreet.customer", &asked("li@example.com", false), "k")).await;
        read(&record(&host, &run(&reply), Look::Usual).await.input.unwrap())["email"].clone()
    };
    assert_ne!(hash().await, hash().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_word_that_contains_a_short_secret_is_left_alone_in_every_place() {
    let world = World::new()
        .with_plugins(&[guests::DISCREET, guests::ECHO])
        .with_config("[secrets]\nanimal = { env = \"A\" }\nnumber = { env = \"N\" }")
        .with_variable("A", "cat")
        .with_variable("N", "7");
    let host = world.open().await;
    let said = host.call(request("echo.echo", &json!({ "text": "a cat, a concatenation" }))).await;
    assert_eq!(body(&said), json!({ "text": "a [secret animal], a concatenation" }));
    let found = host.call(keyed("discreet.customer", &asked("cat@concat.example", false), "k")).await;
    assert_eq!(body(&found)["email"], "[secret animal]@concat.example");
    assert_eq!(body(&found)["orders"], json!([{ "id": "[secret number]" }]), "a number is a secret too");
    let local = CallerName("local".to_owned());
    let seen = host.tool(&local, None, "discreet.customer").unwrap().output.unwrap();
    let id = &seen["properties"]["orders"]["items"]["properties"]["id"]["type"];
    assert_eq!(*id, json!(["integer", "string"]), "callers are told that it may be a text");
    let log = &record(&host, &run(&found), Look::Usual).await.attempts[0].log;
    assert!(!log.contains("cat@") && !log.contains(" cat"), "{log}");
    let failed = host.call(request("discreet.customer", &asked("my cat", true))).await;
    assert_eq!(body(&failed)["message"], "there is no customer my [secret animal]");
    assert_eq!(body(&failed)["details"]["email"], "my [secret animal]");
    let beside = json!({ "names": ["cat.txt", "concatenation.txt"] });
    let reply = host.call(request("discreet.give_back", &beside)).await;
    let names: Vec<&str> = reply.attachments.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["[secret animal].txt", "concatenation.txt"]);
    for (given, told) in [
        ("image/cat", "application/octet-stream"),
        ("cat/png; of=cat", "application/octet-stream"),
        ("text/plain; of=cat", "text/plain; of=[secret animal]"),
        ("image/concat", "image/concat"),
    ] {
        let beside = json!({ "names": ["a"], "media_type": given });
        let reply = host.call(request("discreet.give_back", &beside)).await;
        assert_eq!(reply.attachments[0].media_type, told, "{given}");
    }
}
