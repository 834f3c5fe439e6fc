//! A world of its own for each test: a folder with plugins, configuration and state, and hosts opened on it.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use airlock::config::Config;
use airlock::host::{Host, OpenFailure, Request, Seams};
use airlock::model::clock::{Clock, SystemClock, Timestamp};
use airlock::model::id::CallerName;
use airlock::model::reply::Reply;
use serde_json::Value;

/// A folder with everything that a host needs. It goes when this is dropped.
#[derive(Debug)]
pub struct World {
    folder: tempfile::TempDir,
    config: String,
    environment: BTreeMap<String, String>,
}

impl World {
    /// An empty world: no plugins, and a configuration that grants nothing.
    ///
    /// # Panics
    /// Where no folder can be made.
    pub fn new() -> Self {
        Self::on(tempfile::tempdir().expect("the system gives a temporary folder"))
    }

    /// An empty world that no disk holds, where the system has such a place: for tests that open hosts by the
    /// hundred, and wait for none of their syncs.
    ///
    /// # Panics
    /// Where no folder can be made.
    pub fn in_memory() -> Self {
        tempfile::tempdir_in("/dev/shm").map_or_else(|_| Self::new(), Self::on)
    }

    fn on(folder: tempfile::TempDir) -> Self {
        fs::create_dir(folder.path().join("plugins")).expect("the folder is empty");
        Self { folder, config: String::new(), environment: BTreeMap::new() }
    }

    /// Puts components into the folder of plugins, by the paths in [`crate::guests`].
    ///
    /// # Panics
    /// Where a component is not there.
    #[must_use]
    pub fn with_plugins(self, components: &[&str]) -> Self {
        for component in components {
            let name = Path::new(component).file_name().expect("a component is a file");
            fs::copy(component, self.plugins().join(name)).expect("the component was built");
        }
        self
    }

    /// Adds lines to `airlock.toml`.
    #[must_use]
    pub fn with_config(mut self, lines: &str) -> Self {
        self.config.push_str(lines);
        self.config.push('\n');
        self
    }

    /// Grants a plugin every request to this origin, at these addresses.
    #[must_use]
    pub fn with_grant(self, plugin: &str, origin: &str, addresses: &[&str]) -> Self {
        let lines = format!(
            "[[plugin.{plugin}.http]]\norigin = \"{origin}\"\n\
             methods = [\"GET\", \"HEAD\", \"POST\", \"PUT\", \"DELETE\", \"PATCH\"]\naddresses = {addresses:?}\n"
        );
        self.with_config(&lines)
    }

    /// Sets a variable of the environment that the configuration is read with.
    #[must_use]
    pub fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.environment.insert(name.to_owned(), value.to_owned());
        self
    }

    /// The folder of this world.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The folder of plugins.
    pub fn plugins(&self) -> PathBuf {
        self.folder().join("plugins")
    }

    /// The state folder.
    pub fn state(&self) -> PathBuf {
        self.folder().join(".airlock")
    }

    /// Writes `airlock.toml`, for programs that read it, and gives its path.
    ///
    /// # Panics
    /// Where it cannot be written.
    pub fn write_config(&self) -> PathBuf {
        let file = self.folder().join("airlock.toml");
        fs::write(&file, &self.config).expect("the folder can be written");
        // Whatever the umask is: what others can write is not obeyed.
        fs::set_permissions(&file, Permissions::from_mode(0o644)).expect("the file was just made");
        file
    }

    /// The variables of the environment that the configuration is read with.
    pub fn environment(&self) -> &BTreeMap<String, String> {
        &self.environment
    }

    /// The configuration, resolved.
    ///
    /// # Panics
    /// Where it has faults; they are the message.
    pub fn config(&self) -> Config {
        let read = |name: &str| self.environment.get(name).cloned();
        match Config::parse(&self.config, &self.folder().join("airlock.toml"), &read) {
            Ok(config) => config,
            Err(faults) => panic!("{faults}"),
        }
    }

    /// Opens a host on the system's own clock, names and store, with its plugins loaded.
    ///
    /// # Panics
    /// Where it does not open.
    pub async fn open(&self) -> Host {
        let config = self.config();
        let seams = Seams::system(&config).expect("the store opens");
        self.open_with(seams).await
    }

    /// Opens a host on the given clock, names and store, with its plugins loaded.
    ///
    /// # Panics
    /// Where it does not open.
    pub async fn open_with(&self, seams: Seams) -> Host {
        let seams = Seams { compiler: compiler(), ..seams };
        let host = Host::with(self.config(), seams).await.expect("the host opens");
        host.load().await;
        host
    }
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}

/// Opens a host as [`Host::open`] does, from a program that is not `airlock`.
///
/// # Errors
/// Where it does not open.
///
/// # Panics
/// Where the compiler was not built.
pub async fn open(config: Config) -> Result<Host, OpenFailure> {
    let seams = Seams::system(&config).map_err(OpenFailure::Store)?;
    Host::with(config, Seams { compiler: compiler(), ..seams }).await
}

/// The program that compiles plugins: the host's own, which is built beside the tests.
///
/// # Panics
/// Where it was not built.
pub fn compiler() -> PathBuf {
    let own = std::env::current_exe().expect("a program knows its place");
    let program = own.ancestors().map(|folder| folder.join("airlock-under-test")).find(|file| file.is_file());
    program.expect("`airlock-under-test` is built: cargo build --release -p airlock-tests --bins")
}

/// A call of the local caller.
pub fn request(tool: &str, input: &Value) -> Request {
    Request::new(tool, input.to_string(), CallerName("local".to_owned()))
}

/// A call of the local caller under a key.
pub fn keyed(tool: &str, input: &Value, key: &str) -> Request {
    Request { key: Some(key.to_owned()), ..request(tool, input) }
}

/// The `data` or the `error` of a reply, read.
///
/// # Panics
/// Where it is no JSON.
pub fn body(reply: &Reply) -> Value {
    let (Ok(body) | Err(body)) = &reply.body;
    serde_json::from_str(body.get()).expect("a body is JSON")
}

/// The code of a reply: `ok`, or that of its error.
pub fn code(reply: &Reply) -> String {
    reply.code().unwrap_or_else(|| "ok".to_owned())
}

/// A clock that stands, and moves when it is told to; the steady part goes on as the system's does, and can be moved on.
#[derive(Debug)]
pub struct SetClock {
    now: AtomicI64,
    steady: SystemClock,
    passed: AtomicU64,
}

impl SetClock {
    /// A clock that stands at this moment.
    pub fn at(now: Timestamp) -> Arc<Self> {
        Arc::new(Self { now: AtomicI64::new(now.0), steady: SystemClock::start(), passed: AtomicU64::new(0) })
    }

    /// Moves it forward.
    pub fn forward(&self, by: Duration) {
        self.now.fetch_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX), Ordering::SeqCst);
    }

    /// Lets time pass: all of it moves forward.
    pub fn pass(&self, time: Duration) {
        self.forward(time);
        self.passed.fetch_add(u64::try_from(time.as_millis()).unwrap_or(u64::MAX), Ordering::SeqCst);
    }

    /// Moves it back.
    pub fn back(&self, by: Duration) {
        self.now.fetch_sub(i64::try_from(by.as_millis()).unwrap_or(i64::MAX), Ordering::SeqCst);
    }
}

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.now.load(Ordering::SeqCst))
    }

    fn steady(&self) -> Duration {
        self.steady.steady() + Duration::from_millis(self.passed.load(Ordering::SeqCst))
    }
}
