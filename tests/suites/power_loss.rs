//! The simulated power loss tells a store that syncs from one that does not.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use airlock_tests::power_loss;
use rusqlite::Connection;

/// Tells a process of this binary to write: the folder, a space, the setting of `synchronous`, a space, how
/// many rows.
const WRITE: &str = "AIRLOCK_TEST_POWER_LOSS_WRITE";

/// Written before each row that was acknowledged.
const ACKNOWLEDGED: &str = "acknowledged ";

/// What was left after a process died and the power with it.
struct Left {
    acknowledged: BTreeSet<i64>,
    stored: BTreeSet<i64>,
    syncs: u64,
}

/// The process that is killed; as a test of its own it does nothing.
#[test]
#[expect(clippy::disallowed_methods, reason = "how a process of this binary is told what to do")]
fn the_process_that_is_killed() {
    let Ok(told) = std::env::var(WRITE) else { return };
    let [folder, synchronous, rows] = told.split(' ').collect::<Vec<_>>()[..] else {
        panic!("three words are needed: {told}");
    };
    let store = Connection::open(Path::new(folder).join("airlock.db")).expect("the database opens");
    let set_up = format!(
        "PRAGMA journal_mode=WAL; PRAGMA synchronous={synchronous}; PRAGMA wal_autocheckpoint=5;
         CREATE TABLE IF NOT EXISTS rows (number INTEGER PRIMARY KEY);"
    );
    store.execute_batch(&set_up).expect("the database is set up");
    for _ in 0..rows.parse::<u64>().expect("a number of rows") {
        store.execute("INSERT INTO rows DEFAULT VALUES", ()).expect("a row is committed");
        // Past the capture of the test binary, and at once.
        let line = format!("{ACKNOWLEDGED}{}\n", store.last_insert_rowid());
        std::io::stdout().write_all(line.as_bytes()).expect("the parent reads");
    }
    drop(store);
}

/// Lets a process write until it has acknowledged `rows` rows or died, kills it, and takes the power away.
fn lose_power(disk: &Path, synchronous: &str, rows: u64, set: impl FnOnce(&mut Command)) -> Left {
    let (folder, shadow) = (disk.join("state"), disk.join("shadow"));
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    let mut command = Command::new(std::env::current_exe().expect("the test binary knows its place"));
    command
        .args(["--exact", "power_loss::the_process_that_is_killed", "--nocapture"])
        .env(WRITE, format!("{} {synchronous} 1000000", folder.display()))
        .stdout(Stdio::piped());
    power_loss::preload(&mut command, &folder, &shadow).expect("the library compiles");
    set(&mut command);
    let mut writer = command.spawn().expect("the test binary runs again");
    let mut lines = BufReader::new(writer.stdout.take().expect("it is piped")).lines().map_while(Result::ok);
    let number = |line: String| line.strip_prefix(ACKNOWLEDGED).and_then(|number| number.parse::<i64>().ok());
    let mut acknowledged: BTreeSet<i64> = BTreeSet::new();
    while (acknowledged.len() as u64) < rows {
        let Some(line) = lines.next() else { break };
        acknowledged.extend(number(line));
    }
    writer.kill().expect("the process is ours");
    writer.wait().expect("the process is ours");
    acknowledged.extend(lines.filter_map(number));
    power_loss::restore(&folder, &shadow).expect("what was synced comes back");
    Left { acknowledged, stored: stored(&shadow), syncs: power_loss::syncs(&shadow) }
}

/// The rows of a database that is sound, read from a copy, since opening writes; none where there is no table.
fn stored(shadow: &Path) -> BTreeSet<i64> {
    let beside = tempfile::tempdir().expect("a folder can be made");
    power_loss::restore(beside.path(), shadow).expect("what was synced can be copied");
    let store = Connection::open(beside.path().join("airlock.db")).expect("the database opens");
    let sound: String =
        store.query_row("PRAGMA integrity_check", (), |row| row.get(0)).expect("it can be checked");
    assert_eq!(sound, "ok");
    let Ok(mut rows) = store.prepare("SELECT number FROM rows") else { return BTreeSet::new() };
    let rows = rows.query_map((), |row| row.get(0)).expect("rows can be read");
    rows.collect::<Result<_, _>>().expect("rows can be read")
}

#[test]
fn what_a_store_that_syncs_acknowledged_survives() {
    let disk = tempfile::tempdir().expect("a folder can be made");
    let left = lose_power(disk.path(), "FULL", 50, |_| {});
    assert!(left.acknowledged.len() >= 50);
    assert!(
        left.acknowledged.is_subset(&left.stored),
        "lost: {:?}",
        left.acknowledged.difference(&left.stored)
    );
}

#[test]
fn what_a_store_that_never_syncs_acknowledged_is_lost() {
    let disk = tempfile::tempdir().expect("a folder can be made");
    let left = lose_power(disk.path(), "OFF", 50, |_| {});
    assert!(left.acknowledged.len() >= 50);
    assert_eq!(left.stored, BTreeSet::new());
}

#[test]
fn what_a_store_that_syncs_at_checkpoints_alone_acknowledged_is_lost_since_the_last() {
    let lost = (10..20).map(|sync| {
        let disk = tempfile::tempdir().expect("a folder can be made");
        let left = lose_power(disk.path(), "NORMAL", u64::MAX, |command| {
            command.env(power_loss::KILL_BEFORE, sync.to_string());
        });
        assert!(!left.stored.is_empty(), "nothing is left before sync {sync}");
        left.acknowledged.difference(&left.stored).count()
    });
    // A checkpoint syncs the log first, then the database: before the second nothing is at stake.
    let lost: Vec<usize> = lost.collect();
    assert!(lost.iter().any(|rows| *rows > 0) && lost.contains(&0), "{lost:?}");
}

#[test]
fn a_process_killed_around_any_sync_loses_nothing_acknowledged_twice_in_a_row() {
    for setting in [power_loss::KILL_BEFORE, power_loss::KILL_AT] {
        for sync in 1..=25_u64 {
            let disk = tempfile::tempdir().expect("a folder can be made");
            let mut before = BTreeSet::new();
            for sitting in 1..=2 {
                let left = lose_power(disk.path(), "FULL", u64::MAX, |command| {
                    command.env(setting, sync.to_string());
                });
                let promised: BTreeSet<i64> = before.union(&left.acknowledged).copied().collect();
                let lost: Vec<_> = promised.difference(&left.stored).collect();
                assert!(lost.is_empty(), "{setting}={sync}, sitting {sitting}: lost {lost:?}");
                assert!(left.syncs >= sync - 1, "{setting}={sync} was never reached: {} syncs", left.syncs);
                before = left.stored;
            }
        }
    }
}

#[test]
fn what_was_there_before_counts_as_synced_once_it_is_seeded() {
    let disk = tempfile::tempdir().expect("a folder can be made");
    let (folder, shadow) = (disk.path().join("state"), disk.path().join("shadow"));
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    let store = Connection::open(folder.join("airlock.db")).expect("the database opens");
    store
        .execute_batch("CREATE TABLE rows (number INTEGER PRIMARY KEY); INSERT INTO rows VALUES (7)")
        .expect("it writes");
    drop(store);
    std::fs::write(folder.join("kept.txt"), "no database").expect("a file can be written");
    power_loss::seed(&folder, &shadow).expect("the shadow can be filled");
    let left = lose_power(disk.path(), "OFF", 5, |_| {});
    assert_eq!(left.stored, BTreeSet::from([7]));
    assert!(folder.join("kept.txt").exists());
}
