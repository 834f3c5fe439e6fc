//! The one facade: from a configuration to parts that work together, and what every door calls.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use crate::call::Request;
pub use crate::call::decide::Decision;
use crate::call::{self, Parts, decide, recover, resolve};
pub use crate::config::{Config, Faults, os_user};
use crate::model::clock::{Clock, SystemClock};
use crate::model::code;
use crate::model::failure::{Failure, Kind};
use crate::model::id::{CallerName, ProcessId, RunId, ToolName};
use crate::model::manifest::Tool;
use crate::model::reply::Reply;
use crate::model::run::{Record, Summary};
use crate::model::secret::Mask;
use crate::model::state::RunState;
pub use crate::plugin::PluginFault;
use crate::plugin::{Entry, load};
use crate::sandbox::Engine;
use crate::sandbox::capability::http::{Egress, Resolve, SystemResolver};
use crate::store::sqlite::Durability;
use crate::store::{SqliteStore, Store, StoreFailure};

/// How often keys whose time is over are removed, and how many at a time.
const SWEEP: Duration = Duration::from_secs(3600);
const SWEEP_AT_ONCE: u32 = 500;

/// A host, open. Clones are the same host.
#[derive(Clone, Debug)]
pub struct Host {
    parts: Arc<Parts>,
}

/// What can be put in place of the system's own, as tests do.
pub struct Seams {
    /// What tells the time.
    pub clock: Arc<dyn Clock>,
    /// What finds addresses.
    pub resolver: Arc<dyn Resolve>,
    /// What outlives the process.
    pub store: Arc<dyn Store>,
}

impl fmt::Debug for Seams {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seams")
    }
}

/// Why a host does not open.
#[derive(Debug)]
pub enum OpenFailure {
    /// The store cannot be used.
    Store(StoreFailure),
    /// The sandbox cannot be set up.
    Engine(String),
}

impl fmt::Display for OpenFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(failure) => failure.fmt(f),
            Self::Engine(text) => write!(f, "the sandbox cannot be set up: {text}"),
        }
    }
}

impl std::error::Error for OpenFailure {}

impl OpenFailure {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Store(failure) => Some(failure.hint()),
            Self::Engine(_) => Some("look at the limits of memory and threads of this process".to_owned()),
        }
    }
}

impl Seams {
    /// The system's clock and resolver, and the store in the configured folder.
    ///
    /// # Errors
    /// Where the store cannot be opened.
    pub fn system(config: &Config) -> Result<Self, StoreFailure> {
        let store = SqliteStore::open(&config.state, new_process(), Durability::Full)?;
        Ok(Self {
            clock: Arc::new(SystemClock::start()),
            resolver: Arc::new(SystemResolver),
            store: Arc::new(store),
        })
    }
}

/// A tool, as it is shown to a caller.
#[derive(Debug, Clone)]
pub struct ToolView {
    /// Its whole name.
    pub name: ToolName,
    /// What it declares.
    pub tool: Tool,
    /// The version of its plugin.
    pub plugin_version: String,
    /// Whether a person must say yes to a call.
    pub confirm: bool,
}

impl Host {
    /// Opens a host on the system's own clock, names and store. Runs that a dead process left are closed first.
    /// Plugins are loaded by [`Host::load`], or by the first call.
    ///
    /// # Errors
    /// Where the store or the sandbox cannot be set up.
    pub async fn open(config: Config) -> Result<Self, OpenFailure> {
        let seams = Seams::system(&config).map_err(OpenFailure::Store)?;
        Self::with(config, seams).await
    }

    /// Opens a host on the given clock, names and store.
    ///
    /// # Errors
    /// Where the sandbox cannot be set up, or the store cannot be read.
    pub async fn with(config: Config, seams: Seams) -> Result<Self, OpenFailure> {
        let Seams { clock, resolver, store } = seams;
        let runtime = tokio::runtime::Handle::current();
        let engine = Engine::start(&config.limits, &runtime)
            .map_err(|error| OpenFailure::Engine(format!("{error:#}")))?;
        let journal = Arc::clone(&store) as Arc<dyn crate::store::Journal>;
        let egress = Egress::new(
            journal,
            Arc::clone(&clock),
            runtime,
            config.limits.clone(),
            resolver,
            config.roots.clone(),
            Mask::of(&config.secrets),
        );
        let parts = Arc::new(Parts::new(config, engine, store, clock, egress));
        recover::close_all(&parts).await.map_err(OpenFailure::Store)?;
        sweep(&parts);
        Ok(Self { parts })
    }

    /// Loads the plugins, once; whoever comes while they are being loaded waits.
    pub async fn load(&self) {
        self.parts.registry.get_or_init(|| load::load(&self.parts.engine, &self.parts.config)).await;
    }

    /// The tools that are there for a caller, in the order of their names; none before [`Host::load`].
    ///
    /// # Errors
    /// Where the configuration knows no such caller.
    pub fn tools(&self, caller: &CallerName) -> Result<Vec<ToolView>, Failure> {
        let caller = resolve::caller(&self.parts, caller)?;
        Ok(resolve::seen(&self.parts, caller).map(|entry| view(entry)).collect())
    }

    /// One of the tools that are there for a caller.
    ///
    /// # Errors
    /// Where the configuration knows no such caller, or the tool is not there; the closest names are told.
    pub fn tool(&self, caller: &CallerName, name: &str) -> Result<ToolView, Failure> {
        let caller = resolve::caller(&self.parts, caller)?;
        resolve::tool(&self.parts, caller, name).map(|entry| view(entry))
    }

    /// Why files of the plugin folder are not among the plugins; none before [`Host::load`].
    pub fn faults(&self) -> &[PluginFault] {
        self.parts.registry.get().map_or(&[], |registry| registry.faults())
    }

    /// Calls a tool. The call goes on when the future is dropped; its key then gives the result.
    pub async fn call(&self, request: Request) -> Reply {
        self.load().await;
        let parts = Arc::clone(&self.parts);
        match tokio::spawn(async move { call::execute(&parts, request).await }).await {
            Ok(reply) => reply,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }

    /// The latest runs, of one state where one is given.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub fn runs(&self, limit: u32) -> Result<Vec<Summary>, Failure> {
        let all = (RunId::from_bytes([0; 16]), RunId::from_bytes([0xff; 16]));
        self.parts.store.runs(all, limit).map_err(|failure| decide::refusal(&failure))
    }

    /// One run in full, by its id or a beginning of it that no other run shares.
    ///
    /// # Errors
    /// Where there is none, or more than one.
    pub fn run(&self, id: &str) -> Result<Record, Failure> {
        let wrong = |text: String| Failure::new(Kind::InvalidInput, code::INVALID_INPUT, text);
        let range =
            RunId::beginning(id).ok_or_else(|| wrong(format!("{}: {id}", crate::model::id::NotAnId)))?;
        let found = self.parts.store.runs(range, 4).map_err(|failure| decide::refusal(&failure))?;
        match found.as_slice() {
            [] => Err(wrong(format!("there is no such run; `airlock runs` lists them: {id}"))),
            [one] => {
                let record = self.parts.store.run(one.run).map_err(|failure| decide::refusal(&failure))?;
                record.ok_or_else(|| wrong(format!("there is no such run: {id}")))
            }
            several => {
                let ids: Vec<String> = several.iter().map(|summary| summary.run.to_string()).collect();
                Err(wrong(format!("several runs begin so; give more of the id: {}", ids.join(", "))))
            }
        }
    }

    /// Settles a suspended run by a person's word.
    ///
    /// # Errors
    /// Where the run does not wait for a decision, or not for this one.
    pub async fn decide(&self, run: &str, decision: Decision, person: &str) -> Result<Reply, Failure> {
        self.load().await;
        let record = self.run(run)?;
        if matches!(record.summary.state, RunState::Running) && self.parts.drives(record.summary.run) {
            let text = format!("the run {} is still running", record.summary.run);
            return Err(Failure::new(Kind::InvalidInput, code::INVALID_INPUT, text));
        }
        decide::decide(&self.parts, &record, decision, person).await
    }

    /// Waits until what was submitted to the store is written.
    pub async fn close(self) {
        // Writes of one process become durable in order: when this one is, so are those before it.
        let _ = self.parts.store.sweep(self.parts.clock.now(), 0).await;
    }
}

fn view(entry: &Entry) -> ToolView {
    ToolView {
        name: entry.name.clone(),
        tool: entry.tool.clone(),
        plugin_version: entry.version.clone(),
        confirm: entry.confirm,
    }
}

/// Removes keys whose time is over, now and from time to time, for as long as the host lives.
fn sweep(parts: &Arc<Parts>) {
    let parts = Arc::downgrade(parts);
    tokio::spawn(async move {
        while let Some(parts) = parts.upgrade() {
            while matches!(parts.store.sweep(parts.clock.now(), SWEEP_AT_ONCE).await, Ok(SWEEP_AT_ONCE)) {}
            drop(parts);
            tokio::time::sleep(SWEEP).await;
        }
    });
}

/// An id for this process.
fn new_process() -> ProcessId {
    let mut bytes = [0; 16];
    assert!(getrandom::fill(&mut bytes).is_ok(), "the system gives no random bytes");
    ProcessId(bytes)
}
