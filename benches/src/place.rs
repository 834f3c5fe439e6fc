//! Where a host of the benches lives: plugins and configuration in a world, its state on a real disk.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use airlock::host::{Host, Seams};
use airlock::model::clock::SystemClock;
use airlock::model::id::ProcessId;
use airlock::sandbox::capability::http::SystemResolver;
use airlock::store::sqlite::Durability;
use airlock::store::{SqliteStore, Store};
use airlock_tests::guests;
use airlock_tests::world::{World, compiler};

/// The variable that the desk's token comes from, and the token.
pub const TOKEN: (&str, &str) = ("DESK_TOKEN", "token-of-the-bench");

/// The places of the hosts that are measured.
pub const AT_ONCE: u32 = 512;

/// A world for one host, and the folder of its state.
#[derive(Debug)]
pub struct Place {
    /// Plugins and configuration.
    pub world: World,
    state: PathBuf,
}

impl Place {
    /// A world whose plugins reach the desk at this address, with the state in a folder below `disk` that stays.
    ///
    /// # Panics
    /// Where no folder can be made.
    pub fn new(disk: &Path, desk: &str) -> Self {
        let state = folder(disk);
        let grant = format!("origin = \"{desk}\"\nmethods = [\"POST\"]\naddresses = [\"127.0.0.1\"]\n");
        let callers = ["first", "second"].map(|name| {
            format!(
                "[callers.{name}]\npermissions = [\"ticket:write\"]\nmax_risk = \"L4\"\ntools = [\"*\"]\n"
            )
        });
        let config = format!(
            "state = {:?}\n\
             [limits]\nat_once = {AT_ONCE}\nattempt = \"10s\"\n\
             [secrets]\ndesk_token = {{ env = \"{}\" }}\n\
             [plugin.desk]\nconfig = {{ desk_url = \"{desk}\" }}\nsecrets = [\"desk_token\"]\n\
             [[plugin.desk.http]]\n{grant}[[plugin.courier.http]]\n{grant}{}{}",
            state, TOKEN.0, callers[0], callers[1],
        );
        let world = World::new()
            .with_plugins(&[
                guests::CALC,
                guests::ECHO,
                guests::TWOFACE,
                guests::COURIER,
                guests::DESK,
                guests::GREEDY,
            ])
            .with_config(&config)
            .with_variable(TOKEN.0, TOKEN.1);
        Self { world, state }
    }

    /// Adds lines to the configuration.
    #[must_use]
    pub fn with_config(self, lines: &str) -> Self {
        Self { world: self.world.with_config(lines), ..self }
    }

    /// The folder of its state.
    pub fn state(&self) -> PathBuf {
        self.state.clone()
    }

    /// Opens a host on the SQLite store, and gives the store too.
    ///
    /// # Panics
    /// Where it does not open.
    pub async fn open(&self, durability: Durability) -> (Host, Arc<SqliteStore>) {
        let store = Arc::new(store(&self.state, durability));
        let host = self.open_on(Arc::clone(&store) as Arc<dyn Store>).await;
        (host, store)
    }

    /// Opens a host on a store.
    ///
    /// # Panics
    /// Where it does not open, or a plugin has faults.
    pub async fn open_on(&self, store: Arc<dyn Store>) -> Host {
        let seams = Seams {
            clock: Arc::new(SystemClock::start()),
            resolver: Arc::new(SystemResolver),
            store,
            compiler: compiler(),
        };
        let host = self.world.open_with(seams).await;
        assert!(host.faults().is_empty(), "{:?}", host.faults());
        host
    }
}

/// A name for a state folder that is nobody's below `disk`; the store makes it.
///
/// # Panics
/// Where nothing can be made below `disk`.
pub fn folder(disk: &Path) -> PathBuf {
    tempfile::tempdir_in(disk).expect("the disk can be written").keep().join("state")
}

/// Opens a store in a folder, as a process of its own.
///
/// # Panics
/// Where it does not open.
pub fn store(folder: &Path, durability: Durability) -> SqliteStore {
    SqliteStore::open(folder, ProcessId([3; 16]), durability).expect("the store opens")
}
