//! What comes, changes and goes while a host is open, and calls that keep what they began with.

use std::fs;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use airlock::host::Host;
use airlock_tests::backend::{Backend, Moment};
use airlock_tests::changeling::{self, put, put_bytes};
use airlock_tests::guests::ECHO;
use airlock_tests::world::{World, body, code, request};
use serde_json::json;

use super::{faults, named, says, world_with};
use crate::call::hold;

/// How long the files of a folder that is watched may take to be seen: far more than they do.
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
async fn plugins_come_and_go_without_a_restart() {
    let world = World::new();
    let host = world.open().await;
    assert_eq!(says(&host, "crane").await, "UNKNOWN_TOOL");
    let file = put(&world.plugins(), "crane.wasm", &named("crane", "here"));
    assert_eq!(says(&host, "crane").await, "UNKNOWN_TOOL", "nothing is read before it is asked for");
    host.reload().await;
    assert_eq!(says(&host, "crane").await, "here");
    fs::remove_file(file).unwrap();
    host.reload().await;
    assert_eq!(says(&host, "crane").await, "UNKNOWN_TOOL");
    put(&world.plugins(), "other.wasm", &named("crane", "here"));
    host.reload().await;
    assert_eq!(says(&host, "crane").await, "here", "it is the one that was accepted, under another name");
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_calls_of_a_plugin_that_is_replaced_end_as_they_began() {
    let backend = Backend::start().await;
    let world = world_with(&changeling::nature()).with_config("[limits]\nat_once = 200").with_grant(
        "changeling",
        &backend.url,
        &["127.0.0.1"],
    );
    let host = world.open().await;
    let release = hold(&backend, "GET /orders", Moment::BeforeWork, 50);
    let url = json!({ "url": format!("{}/orders", backend.url) });
    let calls: Vec<_> = (0..50)
        .map(|_| {
            let (host, request) = (host.clone(), request("changeling.turn", &url));
            tokio::spawn(async move { host.call(request).await })
        })
        .collect();
    tokio::task::block_in_place(|| backend.wait_open(50));

    put(&world.plugins(), "changeling.wasm", &named("changeling", "second"));
    host.reload().await;
    assert_eq!(says(&host, "changeling").await, "PERMISSION_DENIED", "it changed, and nobody accepted it");
    accept(&host, "changeling").await;
    assert_eq!(says(&host, "changeling").await, "second");
    fs::remove_file(world.plugins().join("changeling.wasm")).unwrap();
    host.reload().await;
    assert_eq!(says(&host, "changeling").await, "UNKNOWN_TOOL");

    drop(release);
    for call in calls {
        let reply = call.await.unwrap();
        assert_eq!((code(&reply).as_str(), &body(&reply)["word"]), ("ok", &json!("first")));
    }
}

async fn accept(host: &Host, plugin: &str) {
    let waiting = host.waiting().into_iter().find(|waiting| waiting.plugin == plugin).unwrap();
    host.trust(plugin, waiting.digest).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_half_copied_is_a_fault_until_the_copy_ends() {
    let world = World::new().with_plugins(&[ECHO]);
    let host = world.open().await;
    let whole = changeling::component(&changeling::nature());
    put_bytes(&world.plugins(), "changeling.wasm", &whole[..whole.len() / 2]);
    host.reload().await;
    assert_eq!(host.faults().len(), 1);
    assert!(host.faults()[0].remedy.contains("copy the file again if it is cut short"));
    assert_eq!(says(&host, "changeling").await, "UNKNOWN_TOOL");
    put_bytes(&world.plugins(), "changeling.wasm", &whole);
    host.reload().await;
    assert_eq!((host.faults(), says(&host, "changeling").await), (vec![], "first".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_stays_until_the_one_that_is_copied_over_it_is_whole() {
    let world = world_with(&changeling::nature());
    let host = world.open().await;
    let file = world.plugins().join("changeling.wasm");
    let whole = changeling::component(&named("changeling", "second"));
    for length in [0, 5, whole.len() / 2, whole.len() - 1] {
        fs::write(&file, &whole[..length]).unwrap();
        host.reload().await;
        assert_eq!(says(&host, "changeling").await, "first", "{length}");
        insta::allow_duplicates! {
            insta::assert_snapshot!(faults(&host, &world), @r"
            WORLD/plugins/changeling.wasm
              - it is cut short, so the plugin that was read before holds
              = wait until the copy has ended, or copy it again; better, copy it aside and rename it
            ");
        }
    }
    fs::write(&file, &whole).unwrap();
    host.reload().await;
    assert_eq!((host.faults(), says(&host, "changeling").await), (vec![], "PERMISSION_DENIED".to_owned()));
    accept(&host, "changeling").await;
    assert_eq!(says(&host, "changeling").await, "second");
    // What is whole and no plugin takes the place of one all the same.
    fs::write(&file, "no plugin").unwrap();
    host.reload().await;
    assert_eq!((host.faults().len(), says(&host, "changeling").await), (1, "UNKNOWN_TOOL".to_owned()));
}

/// Writes the first byte of a file over and over, as it stands there, until this is dropped.
struct Pen {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Pen {
    fn on(file: &Path) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let (told, first) = (Arc::clone(&over), fs::read(file).unwrap()[0]);
        let file = fs::OpenOptions::new().write(true).open(file).unwrap();
        let thread = thread::spawn(move || {
            while !told.load(Ordering::Relaxed) {
                file.write_all_at(&[first], 0).unwrap();
            }
        });
        Self { over, thread: Some(thread) }
    }
}

impl Drop for Pen {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

/// How often a file is read while it is written: what is written in between is seen by the system's clock alone, whose
/// ticks are longer than most readings.
const READINGS: usize = 100;

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_written_while_it_is_read_is_no_plugin_yet() {
    let world = World::new();
    let host = world.open().await;
    let half = changeling::component(&changeling::nature());
    let file = put_bytes(&world.plugins(), "changeling.wasm", &half[..half.len() / 2]);
    let pen = Pen::on(&file);
    let told = async {
        while !faults(&host, &world).contains("while it was read") {
            host.reload().await;
        }
    };
    tokio::time::timeout(PATIENCE, told).await.expect("it is seen that somebody writes");
    drop(pen);
    insta::assert_snapshot!(faults(&host, &world), @r"
    WORLD/plugins/changeling.wasm
      - it was written to while it was read
      = wait until the copy has ended; better, copy it aside and rename it
    ");
    put(&world.plugins(), "changeling.wasm", &changeling::nature());
    host.reload().await;
    assert_eq!((host.faults(), says(&host, "changeling").await), (vec![], "first".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_whose_file_is_being_written_stays_what_it_was() {
    let world = world_with(&changeling::nature());
    let host = world.open().await;
    let pen = Pen::on(&world.plugins().join("changeling.wasm"));
    for _ in 0..READINGS {
        host.reload().await;
        assert_eq!(host.faults(), []);
    }
    assert_eq!(says(&host, "changeling").await, "first");
    drop(pen);
    put(&world.plugins(), "changeling.wasm", &named("changeling", "second"));
    host.reload().await;
    assert_eq!(says(&host, "changeling").await, "PERMISSION_DENIED", "what it is now is seen");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_is_broken_and_mended_while_calls_go_on() {
    let world = world_with(&changeling::nature());
    let file = world.write_config();
    let host = world.open().await;
    let told = || async {
        host.reload().await;
        (says(&host, "changeling").await, faults(&host, &world))
    };
    assert_eq!(told().await, ("first".to_owned(), String::new()));
    fs::write(&file, "[limits]\nfuel = 1\natempt = \"5s\"\n").unwrap();
    let (word, faults) = told().await;
    assert_eq!(word, "first", "the last good one stays");
    insta::assert_snapshot!(faults, @r"
    WORLD/airlock.toml
      - line 3: unknown setting `limits.atempt`
      = mend the file; until then, the configuration that was read last holds
    ");
    fs::write(&file, "[limits]\nfuel = 1\n").unwrap();
    assert_eq!(told().await, ("FUEL_LIMIT".to_owned(), String::new()));
    fs::remove_file(&file).unwrap();
    let (word, faults) = told().await;
    assert_eq!(word, "FUEL_LIMIT", "the last good one stays");
    assert!(faults.contains("cannot be read"), "{faults}");
    fs::write(&file, "").unwrap();
    assert_eq!(told().await, ("first".to_owned(), String::new()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_keeps_the_limits_and_grants_that_it_began_with() {
    let backend = Backend::start().await;
    let world = world_with(&changeling::nature()).with_grant("changeling", &backend.url, &["127.0.0.1"]);
    let file = world.write_config();
    let host = world.open().await;
    let release = hold(&backend, "GET /orders", Moment::BeforeWork, 1);
    let ask = request("changeling.turn", &json!({ "url": format!("{}/orders", backend.url) }));
    let call = tokio::spawn({
        let (host, ask) = (host.clone(), ask.clone());
        async move { host.call(ask).await }
    });
    tokio::task::block_in_place(|| backend.wait_open(1));
    fs::write(&file, "[limits]\noutput = \"64 B\"\n").unwrap();
    host.reload().await;
    assert_eq!(host.faults(), []);
    drop(release);
    assert_eq!(body(&call.await.unwrap())["word"], "first");
    assert_ne!(code(&host.call(ask).await), "ok", "what is granted no longer is no longer given");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_needs_a_restart_says_so_and_stays() {
    let world = world_with(&changeling::nature());
    let file = world.write_config();
    let host = world.open().await;
    fs::write(&file, "state = \"elsewhere\"\n[limits]\nat_once = 2\nwaiting = 1\n").unwrap();
    host.reload().await;
    insta::assert_snapshot!(faults(&host, &world), @r"
    WORLD/airlock.toml
      - `state` changed, and holds once the host is started again
      - `[limits] at_once` changed, and holds once the host is started again
      - `[limits] waiting` changed, and holds once the host is started again
      = start the host again
    ");
    assert_eq!(says(&host, "changeling").await, "first");
    assert!(!world.folder().join("elsewhere").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn less_memory_than_a_plugin_begins_with_ends_its_calls_by_that_limit_and_more_lets_them_run() {
    let world = world_with(&changeling::nature());
    let file = world.write_config();
    let host = world.open().await;
    for (memory, says_then) in [("64 KiB", "MEMORY_LIMIT"), ("16 MiB", "first")] {
        fs::write(&file, format!("[limits]\nmemory = \"{memory}\"\n")).unwrap();
        host.reload().await;
        assert_eq!(says(&host, "changeling").await, says_then, "{memory}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_is_watched_is_read_again_when_it_changes() {
    let world = World::new();
    let file = world.write_config();
    let host = world.open().await;
    host.watch();
    let mut changes = host.changes();
    put(&world.plugins(), "crane.wasm", &named("crane", "here"));
    until(&mut changes, || async { says(&host, "crane").await == "here" }).await;
    fs::write(&file, "[limits]\nfuel = 1\n").unwrap();
    until(&mut changes, || async { says(&host, "crane").await == "FUEL_LIMIT" }).await;
    fs::write(&file, "").unwrap();
    put(&world.plugins(), "crane.wasm", &named("crane", "other"));
    until(&mut changes, || async { says(&host, "crane").await == "PERMISSION_DENIED" }).await;
    fs::remove_file(world.plugins().join("crane.wasm")).unwrap();
    until(&mut changes, || async { says(&host, "crane").await == "UNKNOWN_TOOL" }).await;
}

/// Waits for changes until something is so.
async fn until<F: Future<Output = bool>>(changes: &mut airlock::host::Changes, so: impl Fn() -> F) {
    let waiting = async {
        while !so().await {
            assert!(changes.changed().await, "the host is open");
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.expect("the change is seen");
}
