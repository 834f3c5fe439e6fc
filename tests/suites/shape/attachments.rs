//! What goes beside input and output: bounded, named plainly, kept with the run, and part of the action.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::time::Duration;

use airlock::host::{Host, Request, Seams};
use airlock::model::attachment::Attachment;
use airlock::model::clock::Timestamp;
use airlock_tests::guests;
use airlock_tests::world::{SetClock, World, body, code, keyed, request};
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::shown;

async fn open(config: &str) -> (World, Host) {
    let world = World::new().with_plugins(&[guests::DISCREET]).with_config(config);
    let host = world.open().await;
    (world, host)
}

fn with(request: Request, attachments: &[(&str, &str, &[u8])]) -> Request {
    let attachment =
        |(name, media_type, bytes): &(&str, &str, &[u8])| Attachment::new(name, media_type, *bytes);
    Request { attachments: attachments.iter().map(attachment).collect(), ..request }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_comes_is_given_to_the_tool_and_what_it_gives_is_told_kept_and_told_again() {
    let (world, host) = open("").await;
    let call = || {
        let input = json!({ "names": ["../../etc/report\u{202e}.txt", ".."], "bytes": 3 });
        with(keyed("discreet.give_back", &input, "k"), &[("photo.png", "image/png", b"\x89PNG")])
    };
    let reply = host.call(call()).await;
    assert_snapshot!(shown(&reply), @r#"
    {
      "ok": true,
      "data": {
        "came": [
          "photo.png image/png 4"
        ]
      },
      "attachments": [
        {
          "name": "photo.png",
          "media_type": "image/png",
          "bytes": 4,
          "sha256": "0f4636c78f65d3639ece5a064b5ae753e3408614a14fb18ab4d7540d2c248543"
        },
        {
          "name": "report.txt",
          "media_type": "text/plain",
          "bytes": 3,
          "sha256": "cd2eb0837c9b4c962c22d2ff8b5441b7b45805887f051d39bf133b583baf6860"
        },
        {
          "name": "attachment",
          "media_type": "text/plain",
          "bytes": 3,
          "sha256": "cd2eb0837c9b4c962c22d2ff8b5441b7b45805887f051d39bf133b583baf6860"
        }
      ],
      "meta": {
        "trimmed": null,
        "replayed": false
      }
    }
    "#);
    let again = host.call(call()).await;
    assert!(again.meta.replayed);
    assert_eq!(again.attachments, reply.attachments);
    assert_eq!(&*again.attachments[0].bytes, b"\x89PNG");
    host.close().await;
    let reopened = world.open().await;
    assert_eq!(reopened.call(call()).await.attachments, reply.attachments, "they outlive the process");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_comes_beside_the_input_is_part_of_the_action() {
    let (_world, host) = open("").await;
    let call =
        |bytes: &[u8]| with(keyed("discreet.give_back", &json!({}), "k"), &[("a.txt", "text/plain", bytes)]);
    assert_eq!(code(&host.call(call(b"one")).await), "ok");
    assert_eq!(code(&host.call(call(b"two")).await), "KEY_REUSED");
    assert_eq!(code(&host.call(keyed("discreet.give_back", &json!({}), "k")).await), "KEY_REUSED");
    assert!(host.call(call(b"one")).await.meta.replayed);
}

#[tokio::test(flavor = "multi_thread")]
async fn all_of_a_call_are_bounded_together() {
    let (_world, host) = open("[limits]\nattachments = \"1 KiB\"").await;
    let call = |came: usize, given: usize| {
        let input = json!({ "names": ["a"], "bytes": given });
        with(request("discreet.give_back", &input), &[("b", "text/plain", &vec![b'y'; came])])
    };
    assert_eq!(
        code(&host.call(call(300, 424)).await),
        "ok",
        "what came is given back: 300 + 300 + 424 are 1024"
    );
    let told = |reply| {
        let error: Value = body(&reply);
        format!("{}: {}", error["code"].as_str().unwrap(), error["message"].as_str().unwrap())
    };
    let refused = [host.call(call(300, 425)).await, host.call(call(1025, 0)).await].map(told);
    assert_snapshot!(refused.join("\n"), @r#"
    OUTPUT_LIMIT: the tool gave attachments that make more than 1024 bytes with those of the call ([limits] attachments)
    INVALID_INPUT: the input of discreet.give_back cannot be used; the attachments have 1025 bytes and may have 1024 ([limits] attachments)
    "#);
}

#[tokio::test(flavor = "multi_thread")]
async fn as_much_as_a_call_may_have_goes_in_and_comes_back() {
    let (_world, host) = open("").await;
    let half = vec![b'z'; 4 << 20];
    let reply =
        host.call(with(request("discreet.give_back", &json!({})), &[("a", "text/plain", &half)])).await;
    assert_eq!(code(&reply), "ok", "{}", body(&reply));
    assert_eq!(&*reply.attachments[0].bytes, &*half);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_media_type_is_one() {
    let (_world, host) = open("").await;
    let came = host.call(with(request("discreet.give_back", &json!({})), &[("a", "text plain", b"")])).await;
    assert_snapshot!(body(&came)["message"].as_str().unwrap(), @r#"the input of discreet.give_back cannot be used; the attachment "a" needs a media type such as image/png, and has "text plain""#);
    let given = json!({ "names": ["a"], "media_type": "\u{1b}[2J/x" });
    let gave = host.call(keyed("discreet.give_back", &given, "k")).await;
    assert_eq!(code(&gave), "INVALID_OUTPUT");
    let log = host.run(&gave.meta.run.unwrap().to_string()).unwrap().attempts[0].log.clone();
    assert_snapshot!(log.trim_end(), @r"host: an attachment is of no media type such as image/png: \u{1b}[2J/x");
    let many: Vec<(&str, &str, &[u8])> = vec![("a", "text/plain", b""); 101];
    let came = host.call(with(request("discreet.give_back", &json!({})), &many)).await;
    assert_snapshot!(body(&came)["message"].as_str().unwrap(), @"the input of discreet.give_back cannot be used; at most 100 attachments go with a call, not 101");
}

#[tokio::test(flavor = "multi_thread")]
async fn equal_bytes_are_kept_once_and_with_modes_for_their_owner_alone() {
    let (world, host) = open("").await;
    for key in ["a", "b"] {
        let input = json!({ "names": ["x", "y"], "bytes": 100 });
        assert_eq!(code(&host.call(keyed("discreet.give_back", &input, key)).await), "ok");
    }
    host.close().await;
    let store = rusqlite::Connection::open(world.state().join("airlock.db")).unwrap();
    let count = |sql: &str| store.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!((count("SELECT count(*) FROM content"), count("SELECT count(*) FROM attachment")), (1, 4));
    assert_eq!(fs::metadata(world.state().join("airlock.db")).unwrap().permissions().mode() & 0o777, 0o600);
}

#[tokio::test(flavor = "multi_thread")]
async fn they_go_with_the_texts_of_the_last_run_that_holds_them() {
    const MONTH: Duration = Duration::from_secs(30 * 24 * 3600);
    let world = World::new().with_plugins(&[guests::DISCREET]);
    let clock = SetClock::at(Timestamp(1_800_000_000_000));
    let open = async || {
        let seams = Seams::system(&world.config()).unwrap();
        world.open_with(Seams { clock: Arc::clone(&clock) as _, ..seams }).await
    };
    let call = |key: &str, bytes: &[u8]| {
        with(
            keyed("discreet.give_back", &json!({}), key),
            &[("a", "text/plain", b"both"), ("b", "text/plain", bytes)],
        )
    };
    let store = || rusqlite::Connection::open(world.state().join("airlock.db")).unwrap();
    let kept = || {
        let sql = "SELECT group_concat(CAST(bytes AS TEXT), ' ' ORDER BY bytes) FROM content";
        store().query_row(sql, [], |row| row.get::<_, Option<String>>(0)).unwrap().unwrap_or_default()
    };
    let host = open().await;
    assert!(host.call(call("first", b"early")).await.ok());
    clock.forward(MONTH / 2);
    assert!(host.call(call("second", b"late")).await.ok());
    assert_eq!(kept(), "both early late");
    for left in ["both late", ""] {
        clock.forward(MONTH / 2 + Duration::from_millis(1));
        let _later = open().await;
        let swept = async {
            while kept() != left {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), swept).await.expect("the bytes stay");
    }
    let hashes =
        store().query_row("SELECT count(*) FROM attachment", [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(hashes, 8, "name, type, size and hash stay");
}
