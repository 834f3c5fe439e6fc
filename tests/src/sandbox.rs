//! The sandbox without the path around it: attempts on the host's own engine, with every limit on.

use std::path::Path;
use std::sync::Arc;

use airlock::model::clock::SystemClock;
use airlock::model::id::RunId;
use airlock::model::limits::{AttemptTime, CompileLimits, Limits, Says};
use airlock::model::reply::Output;
use airlock::model::run::Lease;
use airlock::model::secret::Mask;
use airlock::plugin::compile::Compiler;
use airlock::sandbox::attempt::{Attempt, Context, Finished};
use airlock::sandbox::capability::effects::Effects;
use airlock::sandbox::capability::files::Files;
use airlock::sandbox::capability::http::{Egress, SystemResolver};
use airlock::sandbox::capability::staging::{Bounds, Staging};
use airlock::sandbox::engine::Authentic;
use airlock::sandbox::grants::Grants;
use airlock::sandbox::logbook::Logbook;
use airlock::sandbox::question::Call;
use airlock::sandbox::threads::Group;
use airlock::sandbox::{Engine, Prepared};
use tokio::runtime::Handle;

use crate::forgetful::Forgetful;
use crate::world::compiler;

/// An engine, and what an attempt holds beside it.
#[derive(Debug)]
pub struct Sandbox {
    engine: Engine,
    grants: Arc<Grants>,
    egress: Egress,
    files: Files,
    limits: Limits,
}

impl Sandbox {
    /// Starts an engine on the runtime that this is called in.
    ///
    /// # Panics
    /// Where the engine does not start.
    pub fn start(limits: Limits) -> Self {
        let engine = Engine::start(&limits, &Handle::current()).expect("the engine starts");
        let egress = Egress::new(
            Arc::new(Forgetful),
            Arc::new(SystemClock::start()),
            Handle::current(),
            limits.clone(),
            Arc::new(SystemResolver),
            Vec::new(),
            Mask::default(),
        );
        let files = Files::new(Handle::current(), Arc::new(Forgetful), Arc::new(SystemClock::start()));
        Self { engine, grants: Arc::new(Grants::default()), egress, files, limits }
    }

    /// A component from a file, as the host compiles and loads it.
    ///
    /// # Panics
    /// Where it is no plugin.
    pub fn load(&self, component: &Path) -> Prepared {
        self.prepare(&std::fs::read(component).expect("the component was built"))
    }

    /// A component in these bytes, as the host compiles and loads it.
    ///
    /// # Panics
    /// Where it is no plugin.
    pub fn prepare(&self, component: &[u8]) -> Prepared {
        let compiler = Compiler::new(compiler(), Arc::new(SystemClock::start()));
        let mut code = compiler.compile(component, CompileLimits::default()).expect("it is a component");
        let (key, purpose) = ([0; 32], b"harness");
        let sealed = Authentic::seal(&key, purpose, &mut code).expect("the code can be read");
        let code = Authentic::check(&key, purpose, &sealed, code).expect("the code can be read");
        let loaded = self.engine.load(&code.expect("it is what was sealed")).expect("it is for this engine");
        self.engine.prepare(&loaded).expect("it is a plugin")
    }

    /// Runs one attempt with every limit on.
    pub async fn attempt(&self, plugin: &Prepared, tool: &str, input: &str) -> Finished<Output> {
        let lease = Lease { run: RunId::from_bytes([9; 16]), number: 1 };
        let bounds = Bounds {
            attempt: 1,
            plugin: "echo".to_owned(),
            room: self.limits.key_value,
            spent: 0,
            cost: None,
            saves: true,
        };
        let attempt = Attempt {
            prepared: plugin.clone(),
            grants: Arc::clone(&self.grants),
            context: Context {
                run: "01JD8XK3V5R8Y2W6T9Q4M7N1BC".to_owned(),
                attempt: 1,
                key: "3c1b4f7a9d2e8065".to_owned(),
                caller: "first".to_owned(),
                user: None,
                trace: "4bf92f3577b34da6a3ce929d0e0e4736".to_owned(),
                saved: None,
                attachments: Vec::new(),
            },
            effects: Effects::new(lease, 1, [7; 32], Vec::new(), self.limits.requests),
            staging: Staging::new(Arc::new(Forgetful), lease, bounds),
            egress: self.egress.clone(),
            files: self.files.clone(),
            limits: self.limits.clone(),
            time: AttemptTime { time: self.limits.attempt, says: Says::Limits },
            sitting: None,
            group: Group::of("echo", "first"),
            log: Logbook::new(self.limits.log),
            cancel: None,
            progress: None,
        };
        let question = Call { tool: tool.to_owned(), input: input.to_owned() };
        self.engine.attempt(question, Box::new(attempt)).await
    }
}
