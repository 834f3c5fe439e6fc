//! Damaged databases: they are named, left as they are, and nothing is run on what they say.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _};
use std::path::PathBuf;

use airlock::host::Host;
use airlock_tests::world::{self, code, keyed};
use insta::assert_snapshot;

use super::{left_alone, refusal};
use crate::call::Scene;

/// A page of SQLite.
const PAGE: usize = 4096;

/// A scene whose database holds a call and lies whole in one file, which nobody has open.
async fn closed() -> (Scene, PathBuf) {
    let scene = Scene::courier("").await;
    let host = scene.open().await;
    assert!(host.call(keyed("courier.post_once", &scene.mail("a"), "k1")).await.ok());
    drop(host);
    let state = scene.world.state();
    left_alone(&state).await;
    assert!(!state.join("airlock.db-wal").exists(), "whoever closes it last folds the log into the file");
    let file = state.join("airlock.db");
    (scene, file)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_no_database_is_named_and_left_as_it_is() {
    let (scene, file) = closed().await;
    let garbage = vec![0x2a; 3 * PAGE];
    fs::write(&file, &garbage).unwrap();
    assert_snapshot!(refusal(&scene.world).await, @"
    the database is damaged (file is not a database): HOME/.airlock/airlock.db
    hint: put a backup of HOME/.airlock/airlock.db in its place; or move HOME/.airlock/airlock.db and its -wal aside to begin anew, and keep them: they hold the record of what was done
    ");
    assert!(fs::read(&file).unwrap() == garbage, "the file was changed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_was_cut_short_is_named() {
    let (scene, file) = closed().await;
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[..2 * PAGE]).unwrap();
    assert_snapshot!(refusal(&scene.world).await, @"
    the database is damaged (database disk image is malformed): HOME/.airlock/airlock.db
    hint: put a backup of HOME/.airlock/airlock.db in its place; or move HOME/.airlock/airlock.db and its -wal aside to begin anew, and keep them: they hold the record of what was done
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn whichever_page_is_damaged_nothing_is_done_twice_and_nothing_is_acknowledged_that_is_not_kept() {
    let (scene, file) = closed().await;
    let whole = fs::read(&file).unwrap();
    let mut damaged = 0;
    for page in 1..whole.len() / PAGE {
        let mut bytes = whole.clone();
        bytes[page * PAGE..(page + 1) * PAGE].fill(0xa5);
        // A folder of its own, so that nothing of the page before is left in a log.
        let mut config = scene.world.config();
        config.state = scene.world.folder().join(format!("state-{page}"));
        DirBuilder::new().mode(0o700).create(&config.state).unwrap();
        fs::write(config.state.join("airlock.db"), bytes).unwrap();
        match world::open(config).await {
            Ok(host) => damaged += usize::from(mattered(&scene, &host, page).await),
            Err(failure) => {
                assert!(failure.to_string().contains("damaged"), "page {page}: {failure}");
                damaged += 1;
            }
        }
    }
    assert!(damaged > 3, "only {damaged} pages mattered");
}

/// Calls once more under the key of a call that was made, and once under another; tells whether the damage showed.
async fn mattered(scene: &Scene, host: &Host, page: usize) -> bool {
    let sent = scene.mails();
    let again = host.call(keyed("courier.post_once", &scene.mail("a"), "k1")).await;
    assert!(again.meta.replayed || code(&again) == "STORE_UNAVAILABLE", "page {page}: {}", code(&again));
    assert_eq!(scene.mails(), sent, "page {page}: the first call was made again");
    let other = host.call(keyed("courier.post_once", &scene.mail("b"), "k2")).await;
    let done = scene.mails() - sent;
    match code(&other).as_str() {
        "ok" => assert_eq!(done, 1, "page {page}"),
        "STORE_UNAVAILABLE" => assert_eq!(done, 0, "page {page}"),
        "OUTCOME_UNKNOWN" => {}
        other => panic!("page {page}: {other}"),
    }
    !again.meta.replayed || !other.ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_damaged_under_a_running_host_stops_it_from_writing() {
    let (scene, file) = closed().await;
    let host = scene.open().await;
    let database = fs::OpenOptions::new().write(true).open(&file).unwrap();
    let pages = database.metadata().unwrap().len() as usize / PAGE;
    for page in 1..pages {
        database.write_all_at(&[0xa5; PAGE], (page * PAGE) as u64).unwrap();
    }
    let mut codes = Vec::new();
    for key in ["k1", "k2", "k3"] {
        codes.push(code(&host.call(keyed("courier.post_once", &scene.mail(key), key)).await));
    }
    assert_eq!(codes, ["STORE_UNAVAILABLE", "STORE_UNAVAILABLE", "STORE_UNAVAILABLE"]);
    assert_eq!(scene.mails(), 1, "nothing was run");
}
