//! A full disk: a clear error, nothing run, nothing lost.

use std::fs;
use std::path::Path;

use airlock_tests::small_disk::{self, SmallDisk};
use airlock_tests::world::{self, World, code, keyed};
use serde_json::json;

use super::{integrity, left_alone, refusal};
use crate::call::{Scene, text};

/// The largest input of a call here: a few fill the disk.
const LARGE: usize = 20_000;

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap()
}

async fn scene_on(disk: &SmallDisk) -> Scene {
    // The top of the file: what follows the tables would be theirs.
    let state = format!("state = {:?}\n", disk.folder.join("state"));
    let backend = airlock_tests::backend::Backend::start().await;
    let world = World::new().with_config(&state).with_plugins(&[airlock_tests::guests::COURIER]).with_grant(
        "courier",
        &backend.url,
        &["127.0.0.1"],
    );
    Scene { world, backend }
}

/// Writes a file until no byte fits any more.
fn fill(folder: &Path) {
    let file = folder.join("filler");
    let mut length = 2 << 20;
    while length > 0 {
        if fs::write(&file, vec![1u8; length]).is_ok() {
            return;
        }
        length -= 4096.min(length);
    }
}

#[test]
fn a_disk_that_fills_up_loses_nothing_that_was_acknowledged_and_runs_nothing_more() {
    small_disk::inside(
        "store::disk::a_disk_that_fills_up_loses_nothing_that_was_acknowledged_and_runs_nothing_more",
        |disk| runtime().block_on(fills_up(disk)),
    );
}

async fn fills_up(disk: &SmallDisk) {
    let scene = scene_on(disk).await;
    let host = scene.open().await;
    let mut acknowledged = Vec::new();
    let mut refused = Vec::new();
    while refused.len() < 3 {
        let key = format!("k{}", acknowledged.len() + refused.len());
        assert!(acknowledged.len() < 1000, "the disk does not fill up");
        let sent = scene.mails();
        let reply = host.call(keyed("courier.post_once", &mail(&scene, &key), &key)).await;
        let done = scene.mails() - sent;
        match code(&reply).as_str() {
            "ok" => acknowledged.push((key, reply)),
            "STORE_UNAVAILABLE" => {
                assert_eq!(done, 0, "{key} was told that nothing was run");
                refused.push(key);
            }
            "OUTCOME_UNKNOWN" => refused.push(key),
            other => panic!("{key}: {other}"),
        }
    }
    assert!(acknowledged.len() > 2, "the disk was full from the start");
    disk.grow();
    let key = "with room again";
    let reply = host.call(keyed("courier.post_once", &mail(&scene, key), "room")).await;
    assert!(reply.ok(), "the same host goes on once there is room: {}", text(&reply));
    drop(host);
    let host = scene.open().await;
    for (key, reply) in &acknowledged {
        let again = host.call(keyed("courier.post_once", &mail(&scene, key), key)).await;
        assert_eq!((text(&again), again.meta.replayed), (text(reply), true), "{key} was lost");
    }
    for key in &refused {
        let again = host.call(keyed("courier.post_once", &mail(&scene, key), key)).await;
        let sent = scene.backend.counts().mails.iter().filter(|mail| mail["subject"] == **key).count();
        // Where there was room for the outcome and none for the end, it is known that the mail was sent.
        let fits = match code(&again).as_str() {
            "ok" | "PARTLY_DONE" => sent == 1,
            "OUTCOME_UNKNOWN" => sent <= 1,
            _ => false,
        };
        assert!(fits, "{key}: {sent}, {}", text(&again));
    }
    assert_eq!(integrity(&disk.folder.join("state")), "ok");
}

fn mail(scene: &Scene, key: &str) -> serde_json::Value {
    let body = json!({ "subject": key, "text": "x".repeat(LARGE) });
    crate::call::with(scene.mail(key), json!({ "body": body.to_string() }))
}

#[test]
fn a_disk_that_is_full_at_the_start_is_said_to_be_full() {
    small_disk::inside("store::disk::a_disk_that_is_full_at_the_start_is_said_to_be_full", |disk| {
        runtime().block_on(full_at_the_start(disk));
    });
}

async fn full_at_the_start(disk: &SmallDisk) {
    let scene = scene_on(disk).await;
    fill(&disk.folder);
    let told = refusal(&scene.world).await.replace(disk.folder.to_str().unwrap(), "DISK");
    insta::assert_snapshot!(told, @"
    the disk is full: DISK/state/airlock.db
    hint: free space where DISK/state/airlock.db lies; what was acknowledged is kept
    ");
    fs::remove_file(disk.folder.join("filler")).unwrap();
    let host = world::open(scene.world.config()).await.expect("there is room again");
    let reply = host.call(keyed("courier.post_once", &scene.mail("a"), "k")).await;
    assert!(reply.ok(), "the same folder serves once there is room: {}", text(&reply));
}

#[test]
fn a_disk_that_is_full_when_its_store_is_opened_again_is_said_to_be_full() {
    small_disk::inside(
        "store::disk::a_disk_that_is_full_when_its_store_is_opened_again_is_said_to_be_full",
        |disk| runtime().block_on(full_when_opened_again(disk)),
    );
}

async fn full_when_opened_again(disk: &SmallDisk) {
    let scene = scene_on(disk).await;
    let host = scene.open().await;
    let mail = || keyed("courier.post_once", &scene.mail("a"), "k");
    assert!(host.call(mail()).await.ok());
    drop(host);
    left_alone(&disk.folder.join("state")).await;
    fill(&disk.folder);
    let told = refusal(&scene.world).await.replace(disk.folder.to_str().unwrap(), "DISK");
    insta::assert_snapshot!(told, @"
    the disk is full: DISK/state/airlock.db
    hint: free space where DISK/state/airlock.db lies; what was acknowledged is kept
    ");
    fs::remove_file(disk.folder.join("filler")).unwrap();
    let again = scene.open().await.call(mail()).await;
    assert!(again.ok() && again.meta.replayed, "what was acknowledged is kept: {}", text(&again));
}
