//! The state folder: whose it is, and what is said where it cannot be used.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::Path;

use airlock_tests::guests;
use airlock_tests::skip::skip;
use airlock_tests::world::{World, keyed};
use insta::assert_snapshot;
use rusqlite::Connection;
use serde_json::json;

use super::{left_alone, refusal};
use crate::files::pipe;

fn echo() -> World {
    World::new().with_plugins(&[guests::ECHO])
}

/// Every file and folder below a folder with the bits of who may use it.
fn modes(folder: &Path) -> Vec<(String, u32)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let metadata = fs::metadata(&path).unwrap();
        found.push((path.to_string_lossy().into_owned(), metadata.permissions().mode() & 0o7777));
        if metadata.is_dir() {
            found.extend(modes(&path));
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn the_folder_and_its_files_are_their_owners_alone() {
    let world = echo();
    let host = world.open().await;
    assert!(host.call(keyed("echo.echo_write", &json!({ "text": "a" }), "k")).await.ok());
    let folder = fs::metadata(world.state()).unwrap().permissions().mode() & 0o7777;
    assert_eq!(folder, 0o700);
    let modes = modes(&world.state());
    assert!(modes.len() >= 4, "{modes:?}");
    for (path, mode) in modes {
        let wanted = if Path::new(&path).is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode, wanted, "{path} is {mode:o}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn folders_on_the_way_are_made() {
    let world = echo().with_config("state = \"a/b/c\"");
    let _host = world.open().await;
    assert!(world.folder().join("a/b/c/airlock.db").is_file());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_others_can_enter_is_not_used() {
    let world = echo();
    fs::create_dir(world.state()).unwrap();
    fs::set_permissions(world.state(), Permissions::from_mode(0o755)).unwrap();
    assert_snapshot!(refusal(&world).await, @"
    the state folder cannot be used (others can enter it; `chmod 700` it, if it is for airlock alone): HOME/.airlock
    hint: choose a folder that can be made and written with `state` in airlock.toml
    ");
    assert!(modes(&world.state()).is_empty(), "nothing was written there");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_of_another_user_is_not_used() {
    let world = echo();
    fs::create_dir(world.state()).unwrap();
    fs::set_permissions(world.state(), Permissions::from_mode(0o700)).unwrap();
    if chown(world.state(), Some(54321), None).is_err() {
        return skip("only root can give a folder to another user");
    }
    assert_snapshot!(refusal(&world).await, @"
    the state folder cannot be used (it belongs to the user 54321; `chown` it, if it is for airlock alone): HOME/.airlock
    hint: choose a folder that can be made and written with `state` in airlock.toml
    ");
    assert!(modes(&world.state()).is_empty(), "nothing was written there");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_below_a_file_cannot_be_made() {
    let world = echo().with_config("state = \"notes.txt/state\"");
    fs::write(world.folder().join("notes.txt"), "notes").unwrap();
    assert_snapshot!(refusal(&world).await, @"
    the state folder cannot be used (Not a directory (os error 20)): HOME/notes.txt/state
    hint: choose a folder that can be made and written with `state` in airlock.toml
    ");
    let world = echo();
    fs::write(world.state(), "notes").unwrap();
    assert_snapshot!(refusal(&world).await, @"
    the state folder cannot be used (File exists (os error 17)): HOME/.airlock
    hint: choose a folder that can be made and written with `state` in airlock.toml
    ");
    assert_eq!(fs::read_to_string(world.state()).unwrap(), "notes");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_a_folder_is_no_database() {
    let world = echo();
    drop(world.open().await);
    fs::remove_file(world.state().join("airlock.db")).unwrap();
    fs::create_dir(world.state().join("airlock.db")).unwrap();
    assert_snapshot!(refusal(&world).await, @"
    the state folder cannot be used (Is a directory (os error 21)): HOME/.airlock/airlock.db
    hint: choose a folder that can be made and written with `state` in airlock.toml
    ");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_of_a_later_version_is_left_as_it_is() {
    let world = echo();
    let host = world.open().await;
    assert!(host.call(keyed("echo.echo_write", &json!({ "text": "a" }), "k")).await.ok());
    host.close().await;
    let file = world.state().join("airlock.db");
    let version = |version: i64| -> i64 {
        let database = Connection::open(&file).unwrap();
        let found = database.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
        database.pragma_update(None, "user_version", version).unwrap();
        database.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
        found
    };
    let own = version(99);
    let before = fs::read(&file).unwrap();
    assert_snapshot!(refusal(&world).await, @"
    the database has version 99 and this program knows 16: HOME/.airlock/airlock.db
    hint: run the version of airlock that wrote it, or a later one
    ");
    assert!(fs::read(&file).unwrap() == before, "the file was changed");
    version(own);
    let host = world.open().await;
    let again = host.call(keyed("echo.echo_write", &json!({ "text": "a" }), "k")).await;
    assert!(again.ok() && again.meta.replayed, "what it held is still there");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_stands_in_place_of_a_file_of_the_store_is_not_waited_for() {
    let world = echo();
    drop(world.open().await);
    left_alone(&world.state()).await;
    let mut told = Vec::new();
    for name in ["write.lock", "airlock.db"] {
        let (file, aside) = (world.state().join(name), world.folder().join(name));
        fs::rename(&file, &aside).unwrap();
        pipe(&file);
        told.push(refusal(&world).await);
        fs::rename(aside, file).unwrap();
    }
    assert_snapshot!(told.join("\n"), @"
    the state folder cannot be used (it is no regular file): HOME/.airlock/write.lock
    hint: choose a folder that can be made and written with `state` in airlock.toml
    the state folder cannot be used (it is no regular file): HOME/.airlock/airlock.db
    hint: choose a folder that can be made and written with `state` in airlock.toml
    ");
    pipe(&world.state().join("processes/pipe.lock"));
    let host = world.open().await;
    assert!(host.call(keyed("echo.echo_write", &json!({ "text": "a" }), "k")).await.ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_another_folder_may_hold_too_is_not_used() {
    let world = echo();
    drop(world.open().await);
    left_alone(&world.state()).await;
    let (file, elsewhere) = (world.state().join("airlock.db"), world.folder().join("elsewhere.db"));
    fs::hard_link(&file, &elsewhere).unwrap();
    let second = refusal(&world).await;
    fs::remove_file(&file).unwrap();
    symlink(&elsewhere, &file).unwrap();
    assert_snapshot!([second, refusal(&world).await].join("\n"), @"
    the state folder cannot be used (it has a second name; remove that, or put a copy in its place): HOME/.airlock/airlock.db
    hint: choose a folder that can be made and written with `state` in airlock.toml
    the state folder cannot be used (it is a link; put the database itself there): HOME/.airlock/airlock.db
    hint: choose a folder that can be made and written with `state` in airlock.toml
    ");
    fs::rename(&elsewhere, &file).unwrap();
    drop(world.open().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_of_another_program_is_left_as_it_is() {
    let world = echo();
    drop(world.open().await);
    left_alone(&world.state()).await;
    let file = world.state().join("airlock.db");
    let mut told = Vec::new();
    for version in [0, 1, 99, -1] {
        fs::remove_file(&file).unwrap();
        let other = Connection::open(&file).unwrap();
        other.execute_batch(&format!("CREATE TABLE notes (text); PRAGMA user_version = {version}")).unwrap();
        drop(other);
        let before = fs::read(&file).unwrap();
        told.push(refusal(&world).await);
        assert!(fs::read(&file).unwrap() == before, "version {version}: the file was changed");
    }
    told.dedup();
    assert_snapshot!(told.join("\n"), @"
    the database is another program's: HOME/.airlock/airlock.db
    hint: name a folder of airlock's own with `state` in airlock.toml; this database was left as it is
    ");
}
