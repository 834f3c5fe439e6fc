//! Opening: folder and files that only their owner can read, pragmas, migrations.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, TransactionBehavior, params};

use super::super::StoreFailure;
use super::Durability;
use crate::config::{self, regular};

/// In order, never edited once released; each is applied whole or not at all.
const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001.sql"),
    include_str!("migrations/0002.sql"),
    include_str!("migrations/0003.sql"),
    include_str!("migrations/0004.sql"),
    include_str!("migrations/0005.sql"),
    include_str!("migrations/0006.sql"),
    include_str!("migrations/0007.sql"),
    include_str!("migrations/0008.sql"),
    include_str!("migrations/0009.sql"),
    include_str!("migrations/0010.sql"),
    include_str!("migrations/0011.sql"),
    include_str!("migrations/0012.sql"),
    include_str!("migrations/0013.sql"),
    include_str!("migrations/0014.sql"),
    include_str!("migrations/0015.sql"),
    include_str!("migrations/0016.sql"),
];

/// How long another process may hold the file before this one gives up.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often the gate is looked at while another process is inside: a group of writes takes about as long.
const LOOK: Duration = Duration::from_micros(200);

/// The pages that the writer keeps, in KiB. A commit that has balanced a tree walks over all of them, and what it needs most,
/// the latest rows of each table, is few.
const CACHE: u32 = 4096;

/// The oldest SQLite in which two connections that write and checkpoint at once cannot lose a commit.
const OLDEST_SQLITE: i32 = 3_051_003;

/// Makes the state folder and the folder of process locks, for their owner alone.
pub(super) fn folder(folder: &Path) -> Result<(), StoreFailure> {
    let make = |path: &Path| DirBuilder::new().recursive(true).mode(0o700).create(path);
    make(folder)
        .and_then(|()| private(folder))
        .and_then(|()| make(&folder.join("processes")))
        .map_err(|error| StoreFailure::Folder(folder.to_path_buf(), error.to_string()))
}

/// A folder that was there before is used as it is, or not at all: it may be somebody else's.
pub(super) fn private(folder: &Path) -> io::Result<()> {
    let metadata = std::fs::metadata(folder)?;
    if let Some(owner) = config::foreign(&metadata) {
        return Err(io::Error::other(format!(
            "it belongs to {owner}; `chown` it, if it is for airlock alone"
        )));
    }
    if metadata.permissions().mode() & 0o077 == 0 {
        Ok(())
    } else {
        Err(io::Error::other("others can enter it; `chmod 700` it, if it is for airlock alone"))
    }
}

/// The file that processes lock around each group of writes.
pub(super) fn gate(folder: &Path) -> Result<File, StoreFailure> {
    let file = folder.join("write.lock");
    regular::open(&mut writable(), &file).map_err(|error| StoreFailure::Folder(file, error.to_string()))
}

/// How a file of the state folder is opened that is made where it is not there.
fn writable() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true).mode(0o600);
    options
}

/// A database that is reached from two folders has two gates and two folders of process locks: the hosts of one would
/// take the runs of the other for lost.
pub(super) fn under_one_name(file: &Path) -> io::Result<()> {
    let metadata = match std::fs::symlink_metadata(file) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if metadata.is_symlink() {
        return Err(io::Error::other("it is a link; put the database itself there"));
    }
    if metadata.is_file() && metadata.nlink() > 1 {
        return Err(io::Error::other("it has a second name; remove that, or put a copy in its place"));
    }
    Ok(())
}

/// A database that another program made is left as it is: one of this host's has a version, and the table of its secret.
pub(super) fn own(connection: &Connection, file: &Path) -> Result<(), StoreFailure> {
    let fail = |error: rusqlite::Error| StoreFailure::from_sqlite(&error, file);
    let found =
        "SELECT count(*), count(*) FILTER (WHERE type = 'table' AND name = 'host') FROM sqlite_schema";
    let found = connection.query_row(found, [], |row| Ok((row.get(0)?, row.get(1)?)));
    let (all, hosts): (i64, i64) = found.map_err(fail)?;
    let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(fail)?;
    let own = if version == 0 { all == 0 } else { version > 0 && hosts == 1 };
    if own { Ok(()) } else { Err(StoreFailure::Foreign(file.to_path_buf())) }
}

/// Waits until no other process is inside the gate; `false` where one stays for too long, stopped perhaps.
pub(super) fn enter(gate: &File) -> bool {
    let mut waited = Duration::ZERO;
    loop {
        match gate.try_lock() {
            Ok(()) => return true,
            Err(TryLockError::WouldBlock) if waited < PATIENCE => {
                std::thread::sleep(LOOK);
                waited += LOOK;
            }
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => return false,
        }
    }
}

/// The writing connection.
pub(super) fn connection(file: &Path, durability: Durability) -> Result<Connection, StoreFailure> {
    let fail = |error: rusqlite::Error| StoreFailure::from_sqlite(&error, file);
    if rusqlite::version_number() < OLDEST_SQLITE {
        return Err(StoreFailure::Failed(
            file.to_path_buf(),
            format!("SQLite {} is too old", rusqlite::version()),
        ));
    }
    under_one_name(file)
        .and_then(|()| regular::open(&mut writable(), file))
        .map_err(|error| StoreFailure::Folder(file.to_path_buf(), error.to_string()))?;
    let connection = Connection::open(file).map_err(fail)?;
    connection.busy_timeout(PATIENCE).map_err(fail)?;
    own(&connection, file)?;
    keep_plans(&connection).map_err(fail)?;
    let synchronous = match durability {
        Durability::Full => "FULL",
        Durability::None => "OFF",
    };
    connection
        .execute_batch(&format!(
            "PRAGMA journal_mode = WAL;
             PRAGMA synchronous = {synchronous};
             PRAGMA secure_delete = FAST;
             PRAGMA trusted_schema = OFF;
             PRAGMA cell_size_check = ON;
             PRAGMA mmap_size = 0;
             PRAGMA cache_size = -{CACHE};
             PRAGMA wal_autocheckpoint = 4000;"
        ))
        .map_err(fail)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

/// A connection that moves the log into the database, as durably as the writer would.
pub(super) fn mover(file: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file, flags)?;
    connection.execute_batch("PRAGMA synchronous = FULL; PRAGMA trusted_schema = OFF;")?;
    Ok(connection)
}

/// A connection that cannot write.
pub(super) fn reader(file: &Path) -> Result<Connection, StoreFailure> {
    let fail = |error: rusqlite::Error| StoreFailure::from_sqlite(&error, file);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file, flags).map_err(fail)?;
    connection.busy_timeout(PATIENCE).map_err(fail)?;
    keep_plans(&connection).map_err(fail)?;
    connection.execute_batch("PRAGMA query_only = ON; PRAGMA trusted_schema = OFF;").map_err(fail)?;
    connection.set_prepared_statement_cache_capacity(32);
    Ok(connection)
}

/// Plans made once hold for every value; else SQLite plans some statements anew each time that one is bound.
fn keep_plans(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(|_| ())
}

/// The latest version of the database that this program knows.
pub(super) fn known() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

/// Brings the database to the version that this program knows.
pub(super) fn migrate(connection: &mut Connection, file: &Path) -> Result<(), StoreFailure> {
    let fail = |error: rusqlite::Error| StoreFailure::from_sqlite(&error, file);
    let known = known();
    let version = |connection: &Connection| connection.query_row("PRAGMA user_version", [], |row| row.get(0));
    let found: i64 = version(connection).map_err(fail)?;
    if found > known {
        return Err(StoreFailure::Newer { file: file.to_path_buf(), found, known });
    }
    if found == known {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(fail)?;
    let found: i64 = version(&transaction).map_err(fail)?;
    for migration in MIGRATIONS.iter().skip(usize::try_from(found).unwrap_or(usize::MAX)) {
        transaction.execute_batch(migration).map_err(fail)?;
    }
    transaction.execute_batch(&format!("PRAGMA user_version = {known}")).map_err(fail)?;
    transaction.commit().map_err(fail)
}

/// The secret of this database, made at its first use.
pub(super) fn secret(connection: &Connection, file: &Path) -> Result<[u8; 32], StoreFailure> {
    let fail = |error: rusqlite::Error| StoreFailure::from_sqlite(&error, file);
    let stored = || {
        connection
            .query_row("SELECT value FROM host WHERE name = 'secret'", [], |row| row.get::<_, [u8; 32]>(0))
            .optional()
    };
    if let Some(secret) = stored().map_err(fail)? {
        return Ok(secret);
    }
    let mut made = [0u8; 32];
    getrandom::fill(&mut made)
        .map_err(|error| StoreFailure::Failed(file.to_path_buf(), error.to_string()))?;
    connection
        .execute("INSERT INTO host (name, value) VALUES ('secret', ?1) ON CONFLICT DO NOTHING", params![made])
        .map_err(fail)?;
    stored().map_err(fail)?.ok_or_else(|| StoreFailure::Damaged(file.to_path_buf(), "no secret".to_owned()))
}

#[cfg(test)]
mod tests {
    use rusqlite::types::Value;

    use super::super::read::UNDER_WAY;
    use super::*;

    /// What SQLite says of how it would run a statement, whose values are all nothing.
    fn explained(db: &Connection, explain: &str, statement: &str, column: usize) -> Vec<String> {
        let mut query = db.prepare(&format!("{explain} {statement}")).unwrap();
        let values = vec![Value::Null; query.parameter_count()];
        let told = query.query_map(rusqlite::params_from_iter(values), |row| row.get(column)).unwrap();
        told.collect::<rusqlite::Result<_>>().unwrap()
    }

    #[test]
    fn writing_a_run_makes_no_table_on_the_way_and_runs_under_way_are_found_by_their_index() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("airlock.db");
        let mut db = connection(&file, Durability::Full).unwrap();
        migrate(&mut db, &file).unwrap();
        for statement in [
            "INSERT INTO run (id, state, lease, owner, caller, trace, began) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            "UPDATE run SET state = ?2, lease = ?3, owner = ?4, ended = ?5, removed = ?6 WHERE id = ?1",
        ] {
            let steps = explained(&db, "EXPLAIN", statement, 1);
            assert!(steps.iter().all(|step| step != "OpenEphemeral"), "{statement}: {steps:?}");
        }
        let found = format!("SELECT id FROM run WHERE ({UNDER_WAY}) AND owner <> ?1");
        let plan = explained(&db, "EXPLAIN QUERY PLAN", &found, 3).join("; ");
        assert!(plan.contains("run_under_way"), "{plan}");
        let over = "SELECT id FROM run WHERE removed IS NULL AND ended < ?1 ORDER BY ended LIMIT ?2";
        let plan = explained(&db, "EXPLAIN QUERY PLAN", over, 3).join("; ");
        assert!(plan.contains("run_to_empty") && !plan.contains("TEMP B-TREE"), "{plan}");
    }
}
