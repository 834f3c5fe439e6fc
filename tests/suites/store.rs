//! The store when it cannot do what it is asked: nothing is acknowledged that is not kept, and nothing is run blindly.

mod backends;
mod damage;
mod disk;
mod failing;
mod folder;
mod group;
mod kept;
mod processes;
mod refused;

use std::fs;
use std::path::Path;

use airlock::host::Host;
use airlock_tests::world::World;
use rusqlite::Connection;

/// What the database itself finds wrong: `ok` where nothing is.
pub(crate) fn integrity(state: &Path) -> String {
    let database = Connection::open(state.join("airlock.db")).unwrap();
    database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap()
}

/// Why a host does not open, and the hint that goes with it, without this machine's paths.
pub(crate) async fn refusal(world: &World) -> String {
    let failure = Host::open(world.config()).await.expect_err("the store cannot be used");
    let hint = failure.hint().expect("every failure of a store has a hint");
    format!("{failure}\nhint: {hint}").replace(world.folder().to_str().unwrap(), "HOME")
}

/// Waits until nobody holds the store of a folder any more: its hosts have ended, as if their processes had.
pub(crate) async fn left_alone(state: &Path) {
    while fs::read_dir(state.join("processes")).unwrap().next().is_some() {
        tokio::task::yield_now().await;
    }
}
