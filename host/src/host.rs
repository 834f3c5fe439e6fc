//! The one facade: from a configuration to parts that work together, and what every door calls.

mod backends;
mod beside;
mod configured;
mod costs;
mod doctor;
mod past;
mod reload;
mod under_way;
mod upkeep;
mod worker;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub use crate::call::decide::Decision;
pub use crate::call::{By, Cancel, Progress, Request, Step, Steps, Told};
pub use backends::{Backend, BackendState};
pub use configured::{configuration, configuration_to_list};
pub use costs::{Spent, Standing};
pub use doctor::{Found, Health, examine as doctor};
pub use past::{Stats, Traced};
pub use reload::Changes;
use reload::Reload;
use under_way::UnderWay;
pub use worker::Worker;

pub use crate::call::log::LINES;
pub use crate::call::shape::private::Look;
use crate::call::{self, Parts, Setting, authorize, awaited, decide, preview, recover, resolve, shape};
pub use crate::config::{Config, Faults, LogFormat, LogTo, os_user};
use crate::model::caller::Asker;
use crate::model::clock::{Clock, SystemClock};
use crate::model::code;
use crate::model::failure::{Failure, Kind};
use crate::model::guard::{self, held_against};
use crate::model::id::{CallerName, ProcessId, SceneName, ToolName, TraceId, UserName};
use crate::model::manifest::Tool;
use crate::model::reply::Reply;
use crate::model::secret::Mask;
pub use crate::plugin::audit::doubts::Explanation;
pub use crate::plugin::check::Checked;
pub use crate::plugin::compile::{COMMAND as COMPILE, serve as compile};
pub use crate::plugin::granted::{Beside, Granted};
use crate::plugin::schema::{Shaping, advertised};
pub use crate::plugin::{Bar, Doubts, Loading, PluginFault, Waiting};
use crate::plugin::{Entry, Loader, Registry, mentions};
use crate::sandbox::Engine;
use crate::sandbox::capability::http::{Egress, Resolve, SystemResolver};
use crate::store::sqlite::Durability;
use crate::store::{SqliteStore, Store, StoreFailure};

/// Runs that a dead process left and that are closed before a host is open; more are closed while it serves.
const FEW: usize = 32;

/// This very program, whatever lies under its name by now.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// A host, open. Clones are the same host.
#[derive(Clone, Debug)]
pub struct Host {
    parts: Arc<Parts>,
    reload: Arc<Reload>,
}

/// What can be put in place of the system's own, as tests do.
pub struct Seams {
    /// What tells the time.
    pub clock: Arc<dyn Clock>,
    /// What finds addresses.
    pub resolver: Arc<dyn Resolve>,
    /// What outlives the process.
    pub store: Arc<dyn Store>,
    /// The program that compiles plugins: `airlock`, which is called again for each.
    pub compiler: PathBuf,
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
            compiler: PathBuf::from(THIS_PROGRAM),
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
    /// What its output is, once it is shaped: looser than what the tool declares, where that can be broken.
    pub output: Option<serde_json::Value>,
    /// The version of its plugin.
    pub plugin_version: String,
    /// Whether a person must say yes to a call.
    pub confirm: bool,
    /// What the operator calls it over MCP, where it is not `plugin__tool`.
    pub mcp_name: Option<String>,
}

/// What the operator decided and which tools there are, at one moment.
#[derive(Debug, Clone)]
pub struct Edition(Arc<Setting>);

impl Edition {
    /// How long a caller waits.
    pub fn wait(&self) -> Duration {
        self.0.config.limits.wait
    }
}

impl PartialEq for Edition {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Host {
    /// Opens a host on the system's own clock, names and store. Runs that a dead process left are closed first, as far as
    /// they are few.
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
        let Seams { clock, resolver, store, compiler } = seams;
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
        let mask = Mask::of(&config.secrets);
        let engine = Arc::new(engine);
        let loader =
            Loader::new(Arc::clone(&engine), &config.state, &store.secret(), compiler, Arc::clone(&clock));
        let reload = Reload::new(loader, &config);
        let setting = Setting { config, registry: Registry::default(), mask, faults: Vec::new(), egress };
        let parts = Arc::new(Parts::new(setting, engine, store, clock));
        recover::close_some(&parts, FEW).await.map_err(OpenFailure::Store)?;
        upkeep::sweep(&parts);
        upkeep::look_after(&parts);
        Ok(Self { parts, reload: Arc::new(reload) })
    }

    /// The tools that are there for a caller in a scene, in the order of their names; none before [`Host::load`].
    ///
    /// # Errors
    /// Where the configuration knows no such caller, or no such scene of it.
    pub fn tools(&self, caller: &CallerName, scene: Option<&SceneName>) -> Result<Vec<ToolView>, Failure> {
        let setting = self.parts.setting();
        let asker = resolve::asker(&setting, caller, None, scene)?;
        Ok(resolve::seen(&setting, &asker).map(|entry| view(&setting, &asker, entry)).collect())
    }

    /// What the configuration names and no plugin has, once plugins are loaded: a host that has such does not serve.
    pub fn missing(&self) -> Option<Faults> {
        let setting = self.parts.setting();
        mentions::missing(&setting.config, &setting.registry)
    }

    /// Why no plugin at all can be taken, where that is so.
    pub fn bar(&self) -> Option<Bar> {
        self.parts.setting().registry.bar().cloned()
    }

    /// What holds now: it differs as soon as a tool may.
    pub fn edition(&self) -> Edition {
        Edition(self.parts.setting())
    }

    /// One of the tools that are there for a caller in a scene.
    ///
    /// # Errors
    /// Where the configuration knows no such caller or scene, or the tool is not there; the closest names are told.
    pub fn tool(
        &self,
        caller: &CallerName,
        scene: Option<&SceneName>,
        name: &str,
    ) -> Result<ToolView, Failure> {
        let setting = self.parts.setting();
        let asker = resolve::asker(&setting, caller, None, scene)?;
        resolve::tool(&setting, &asker, name).map(|entry| view(&setting, &asker, entry))
    }

    /// An id for a conversation that begins now, for calls that bring none.
    pub fn new_trace(&self) -> TraceId {
        self.parts.new_trace()
    }

    /// Calls a tool. The call goes on when the future is dropped; its key then gives the result.
    pub async fn call(&self, request: Request) -> Reply {
        self.start(request).await.1.await
    }

    /// Calls a tool, and answers `STILL_RUNNING` with the run where that takes longer than a caller waits; the call
    /// goes on.
    pub async fn call_within(&self, request: Request) -> Reply {
        let (call, mut running) = self.start(request).await;
        let wait = call.setting().config.limits.wait;
        match tokio::time::timeout(wait, &mut running).await {
            Ok(reply) => reply,
            Err(_) => tokio::select! {
                biased;
                reply = running => reply,
                reply = awaited::waiting(&self.parts, &call) => reply,
            },
        }
    }

    /// Answers a call of a tool that is there under no name that its door knows. It is told, counted and goes round in circles as
    /// any other.
    pub async fn absent(&self, request: Request) -> Reply {
        self.load().await;
        let call = shape::Call::begin(&self.parts, &request);
        call::absent(&self.parts, &request, &call)
    }

    /// Says what a call would do, as its plugin tells: a sentence, what would change, the state of what would be touched,
    /// and how risky that is. Who may make the call may ask. Nothing is changed, and no run is made.
    pub async fn preview(&self, request: Request) -> Reply {
        self.load().await;
        let _under_way = self.parts.enter();
        let call = shape::Call::begin(&self.parts, &request);
        preview::preview(&self.parts, &request, &call).await
    }

    /// The result of a run that this caller asked for, for this user. Where it is still running it is waited for: so long, and never longer
    /// than a caller waits.
    pub async fn result(
        &self,
        caller: &CallerName,
        user: Option<&UserName>,
        run: &str,
        wait: Option<Duration>,
    ) -> Reply {
        let most = self.edition().wait();
        awaited::awaited(&self.parts, caller, user, run, wait.map_or(most, |wait| wait.min(most))).await
    }

    async fn start(
        &self,
        request: Request,
    ) -> (Arc<shape::Call>, UnderWay<impl Future<Output = Reply> + Send + 'static>) {
        self.load().await;
        let (parts, under_way) = (Arc::clone(&self.parts), self.parts.enter());
        let call = Arc::new(shape::Call::begin(&parts, &request));
        let within = Arc::clone(&call);
        let running = UnderWay::new(async move {
            let reply = call::execute(&parts, &request, &within).await;
            drop(under_way);
            reply
        });
        (call, running)
    }

    /// Settles a suspended run by a person's word.
    ///
    /// # Errors
    /// Where the run does not wait for a decision, or not for this one.
    pub async fn decide(&self, run: &str, decision: Decision, person: &str) -> Result<Reply, Failure> {
        self.load().await;
        let record = self.record(run)?;
        if record.summary.state.under_way() && self.parts.drives(record.summary.run) {
            let text = format!("the run {} is still running", record.summary.run);
            return Err(Failure::new(Kind::InvalidInput, code::INVALID_INPUT, text));
        }
        decide::decide(&self.parts, &record, decision, person).await
    }

    /// Waits until no call is under way, at most so long.
    pub async fn quiet(&self, most: Duration) {
        let _ = tokio::time::timeout(most, self.parts.quiet()).await;
    }

    /// Waits until what was submitted to the store is written.
    pub async fn close(self) {
        // Writes of one process become durable in order: when this one is, so are those before it.
        let _ = self.parts.store.sweep(self.parts.clock.now(), Duration::MAX, 0).await;
    }
}

fn view(setting: &Setting, asker: &Asker, entry: &Entry) -> ToolView {
    let shaping = Shaping {
        hidden: &entry.tool.unshown.hidden,
        mask: &setting.mask,
        reply: usize::try_from(setting.config.limits.reply).unwrap_or(usize::MAX),
    };
    let mut tool = entry.tool.clone();
    if held_against(tool.repeat) && !setting.config.limits.same_action.is_zero() {
        guard::add_field(&mut tool.input_schema);
    }
    ToolView {
        name: entry.name.clone(),
        output: entry.tool.output_schema.as_ref().map(|schema| advertised(schema, shaping)),
        tool,
        plugin_version: entry.version.clone(),
        confirm: authorize::confirm(asker, entry),
        mcp_name: setting.config.mcp_names.get(&entry.name).cloned(),
    }
}

/// An id for this process.
fn new_process() -> ProcessId {
    let mut bytes = [0; 16];
    assert!(getrandom::fill(&mut bytes).is_ok(), "the system gives no random bytes");
    ProcessId(bytes)
}
