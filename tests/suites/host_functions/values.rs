//! Values that plugins keep: read by the call that changes them, there for others once it succeeds.

use std::path::Path;
use std::sync::Arc;

use airlock::config::Config;
use airlock::host::Seams;
use airlock_tests::crash::{Commit, Disk, Job, Order, Point, Process};
use airlock_tests::flaky::{Flaky, Way, When};
use airlock_tests::guests::{DIARY, ECHO, NOTEBOOK};
use airlock_tests::world::{World, code};
use insta::assert_snapshot;
use serde_json::json;

use super::{answers, asked, call, call_keyed, world};

#[tokio::test(flavor = "multi_thread")]
async fn a_call_reads_its_own_changes_and_others_see_them_once_it_has_succeeded() {
    let host = world().open().await;
    let first = ["get a", "set a 1", "get a", "set b 2", "delete a", "get a", "set a 3", "keys ", "delete c"];
    assert_snapshot!(asked(&host, "notebook.write", &first).await, @r"
    nothing
    done
    1
    done
    done
    nothing
    done
    a b
    done
    ");
    assert_snapshot!(asked(&host, "notebook.write", &["get a", "get b", "delete b", "keys "]).await, @r"
    3
    2
    done
    a
    ");
    assert_snapshot!(asked(&host, "notebook.read", &["get b", "keys "]).await, @r"
    nothing
    a
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_call_changed_goes_where_it_fails_however_that_is() {
    let world = world().with_config("[tools.\"notebook.write\"]\ntimeout = \"200ms\"");
    let host = world.open().await;
    assert_eq!(asked(&host, "notebook.write", &["set kept 1"]).await, "done");
    for (end, ends) in
        [("fail", "NOT_NOW"), ("reject", "NEVER"), ("trap", "INTERNAL"), ("spin", "TIME_LIMIT")]
    {
        let reply = call(&host, "notebook.write", &["set lost 1", "delete kept", end]).await;
        assert_eq!(code(&reply), ends);
        assert_eq!(asked(&host, "notebook.read", &["get lost", "get kept"]).await, "nothing\n1", "{end}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_reading_tool_keeps_lasts_with_its_reply() {
    let world = world();
    let host = world.open().await;
    assert_eq!(asked(&host, "notebook.read", &["set seen 1"]).await, "done");
    assert_eq!(answers(&call_keyed(&host, "notebook.read", &["set seen 2"], "k").await), "done");
    // A host of its own reads what is durable.
    assert_eq!(asked(&world.open().await, "notebook.read", &["get seen"]).await, "2");
    let replayed = call_keyed(&host, "notebook.read", &["set seen 2"], "k").await;
    assert!(replayed.meta.replayed);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_come_in_order_a_thousand_at_once_with_the_changes_of_the_call() {
    let host = world().open().await;
    assert_eq!(
        asked(&host, "notebook.write", &["many m/ 1500", "set n 1", "set mz 1"]).await,
        "done\ndone\ndone"
    );
    let lines = ["count m/", "count m/1", "keys m/1 after m/1497", "keys n", "keys x", "keys m after m/1498"];
    assert_snapshot!(asked(&host, "notebook.read", &lines).await, @r"
    1000
    500
    m/1498 m/1499
    n

    m/1499 mz
    ");
    // Those that the call removes make room for those that follow, and those that it sets stand among them.
    let lines = [
        "delete m/0000",
        "set m/0000a 1",
        "delete m/1498",
        "count m/",
        "keys m/1 after m/1497",
        "keys m/0000",
    ];
    assert_snapshot!(asked(&host, "notebook.write", &lines).await, @r"
    done
    done
    done
    1000
    m/1499
    m/0000a
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_long_is_refused_and_the_call_goes_on() {
    let host = world().open().await;
    let lines = ["longkey 512", "longkey 513", "fill a 65536", "fill a 65537", "get a"];
    assert_snapshot!(asked(&host, "notebook.write", &lines).await, @r"
    done
    refused: a key has at most 512 bytes, and this one has 513
    done
    refused: a value has at most 65536 bytes, and this one has 65537
    65536 bytes
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_keeps_only_so_much_and_what_it_removes_makes_room() {
    let host = world().with_config("[limits]\nkey_value = \"128 KiB\"").open().await;
    assert_snapshot!(asked(&host, "notebook.write", &["fill a 65535", "fill b 65536", "fill b 65535"]).await, @r"
    done
    refused: a plugin keeps at most 131072 bytes of keys and values ([limits] key_value)
    done
    ");
    let lines = ["set c 1", "fill a 65535", "delete a", "set c 1", "fill a 65535", "fill a 65533"];
    assert_snapshot!(asked(&host, "notebook.write", &lines).await, @r"
    refused: a plugin keeps at most 131072 bytes of keys and values ([limits] key_value)
    done
    done
    done
    refused: a plugin keeps at most 131072 bytes of keys and values ([limits] key_value)
    done
    ");
    // What is kept is counted as it is written, over and over.
    for _ in 0..3 {
        assert_eq!(asked(&host, "notebook.write", &["delete b", "fill b 65535"]).await, "done\ndone");
    }
    let full = asked(&host, "notebook.write", &["set d 1", "get d"]).await;
    assert!(full.ends_with("nothing"), "{full}");
}

#[tokio::test(flavor = "multi_thread")]
async fn plugins_do_not_see_what_others_keep() {
    let world = world().with_plugins(&[DIARY]).with_config("[plugin.diary]\nkey_value = true");
    let host = world.open().await;
    assert_eq!(asked(&host, "notebook.write", &["set a 1"]).await, "done");
    assert_eq!(asked(&host, "diary.write", &["get a", "keys ", "set a 2"]).await, "nothing\n\ndone");
    assert_eq!(asked(&host, "notebook.read", &["get a"]).await, "1");
    assert_eq!(asked(&host, "diary.read", &["get a"]).await, "2");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_declared_or_not_granted_is_refused_and_the_log_says_what_would_allow_it() {
    let lines = ["get a", "set a 1", "delete a", "keys a"];
    let granted = world().open().await;
    assert_snapshot!(asked(&granted, "notebook.bare", &lines[..2]).await, @r"
    refused: the tool does not declare that it needs the key-value store
    refused: the tool does not declare that it needs the key-value store
    ");
    let host = World::in_memory().with_plugins(&[NOTEBOOK]).open().await;
    let reply = call(&host, "notebook.write", &lines).await;
    assert_snapshot!(answers(&reply), @r"
    refused: the key-value store is not granted to this plugin
    refused: the key-value store is not granted to this plugin
    refused: the key-value store is not granted to this plugin
    refused: the key-value store is not granted to this plugin
    ");
    let run = host.run(&reply.meta.run.unwrap().to_string()).unwrap();
    let line = "host: refused the key-value store: the key-value store is not granted to this plugin; \
                [plugin.notebook] key_value = true would allow it\n";
    assert_eq!(run.attempts[0].log, line.repeat(4));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grant_to_a_plugin_that_keeps_nothing_is_a_fault_and_so_is_a_word_in_its_place() {
    let grant = |value: &str| format!("[plugin.echo]\nkey_value = {value}");
    let missing = async |value: &str| {
        let world = World::in_memory().with_plugins(&[ECHO]).with_config(&grant(value));
        let missing = world.open().await.missing().map(|faults| faults.to_string());
        missing.map(|text| text.replace(&world.folder().display().to_string(), "WORLD"))
    };
    assert_snapshot!(missing("true").await.unwrap(), @"
    error: the plugin echo declares no key-value store
     --> WORLD/airlock.toml:2:13
      |
    2 | key_value = true
      |             ^^^^ a plugin that declares one
      |
      = help: leave it out
    ");
    assert_eq!(missing("false").await, None);
    let file = Path::new("airlock.toml");
    assert_snapshot!(Config::parse(&grant("\"yes\""), file, &|_| None).unwrap_err(), @r#"
    error: `plugin.echo.key_value` is a text
     --> airlock.toml:2:13
      |
    2 | key_value = "yes"
      |             ^^^^^ true or false
      |
      = help: write it without quotes
    "#);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_calls_that_set_one_key_the_one_that_ends_last_has_its_way() {
    let world = world();
    let (one, other) = (world.open().await, world.open().await);
    let both = tokio::join!(
        call(&one, "notebook.write", &["set a 1"]),
        call(&other, "notebook.write", &["set a 1"])
    );
    assert!(both.0.ok() && both.1.ok());
    assert_eq!(asked(&other, "notebook.write", &["set a 2"]).await, "done");
    assert_eq!(asked(&one, "notebook.read", &["get a"]).await, "2");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_end_cannot_be_stored_keeps_nothing() {
    let world = world();
    let seams = Seams::system(&world.config()).unwrap();
    let flaky = Flaky::over(Arc::clone(&seams.store));
    let host = world.open_with(Seams { store: flaky.clone(), ..seams }).await;
    for (tool, write) in [("notebook.write", "settle"), ("notebook.read", "record")] {
        let number = if write == "settle" { 2 } else { 1 };
        flaky.fail(When::Only(number), Way::Refused);
        let reply = call(&host, tool, &["set a 1"]).await;
        assert_eq!(code(&reply), "STORE_UNAVAILABLE", "{tool}: {:?}", flaky.writes());
        assert_eq!(flaky.writes().last(), Some(&write));
        flaky.heal();
        assert_eq!(asked(&host, "notebook.read", &["get a"]).await, "nothing");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_killed_keeps_the_values_of_calls_that_ended_and_no_others() {
    for (point, kept) in
        [(Point::Before(Commit::Settle, 1), "nothing"), (Point::After(Commit::Settle, 1), "1")]
    {
        let world = world();
        let order = Order {
            ahead: 0,
            config: world.write_config(),
            process: 1,
            disk: Disk::Synced,
            halt: Some(point.to_string()),
            jobs: vec![Job::Call {
                tool: "notebook.write".to_owned(),
                input: json!({ "lines": ["set a 1"] }),
                key: Some("k".to_owned()),
                background: false,
            }],
        };
        let said = Process::start(Path::new(env!("CARGO_BIN_EXE_crash-child")), &order, |_| {}).end();
        assert!(said.killed && said.points.contains(&point), "{point}");
        let host = world.open().await;
        assert_eq!(asked(&host, "notebook.read", &["get a"]).await, kept, "{point}");
        // The key goes on, or gives what there is; either way it is done once.
        let again = call_keyed(&host, "notebook.write", &["set a 1"], "k").await;
        assert_eq!((answers(&again), again.meta.replayed), ("done".to_owned(), kept == "1"));
        assert_eq!(asked(&host, "notebook.read", &["get a"]).await, "1");
    }
}
