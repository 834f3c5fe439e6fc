//! The sandbox without the path around it: one attempt after the other on the host's own engine.

use std::path::Path;
use std::sync::Arc;

use airlock::model::clock::SystemClock;
use airlock::model::id::RunId;
use airlock::model::limits::{AttemptTime, CompileLimits, Limits, Says};
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
use airlock::sandbox::threads::Group;
use airlock::sandbox::{Engine, Prepared};

use airlock_tests::world::compiler;
use tokio::runtime::Handle;

use crate::forgetful::Forgetful;

/// An engine with one component, and what an attempt holds beside it.
#[derive(Debug)]
pub struct Sandbox {
    engine: Engine,
    prepared: Prepared,
    grants: Arc<Grants>,
    egress: Egress,
    files: Files,
    limits: Limits,
}

/// The component in machine code, as the host makes and loads it.
fn compiled(engine: &Engine, bytes: &[u8]) -> Prepared {
    let compiler = Compiler::new(compiler(), Arc::new(SystemClock::start()));
    let mut code = compiler.compile(bytes, CompileLimits::default()).expect("it is a component");
    let (key, purpose) = ([0; 32], b"bench");
    let sealed = Authentic::seal(&key, purpose, &mut code).expect("the code can be read");
    let code = Authentic::check(&key, purpose, &sealed, code).expect("the code can be read");
    let loaded = engine.load(&code.expect("it is what was sealed")).expect("it is for this engine");
    engine.prepare(&loaded).expect("it is a plugin")
}

impl Sandbox {
    /// Starts an engine and compiles a component.
    ///
    /// # Panics
    /// Where the component is none, or the engine does not start.
    pub async fn start(component: &Path) -> Self {
        let limits = Limits::default();
        let runtime = tokio::runtime::Handle::current();
        let engine = Engine::start(&limits, &runtime).expect("the engine starts");
        let bytes = std::fs::read(component).expect("the component was built");
        let prepared = compiled(&engine, &bytes);
        let egress = Egress::new(
            Arc::new(Forgetful),
            Arc::new(SystemClock::start()),
            runtime,
            limits.clone(),
            Arc::new(SystemResolver),
            Vec::new(),
            Mask::default(),
        );
        Self {
            engine,
            prepared,
            grants: Arc::new(Grants::default()),
            egress,
            files: Files::new(Handle::current(), Arc::new(Forgetful), Arc::new(SystemClock::start())),
            limits,
        }
    }

    /// Runs one attempt with every limit on.
    pub async fn attempt(&self, tool: &str, input: &str) -> Finished {
        let lease = Lease { run: RunId::from_bytes([9; 16]), number: 1 };
        let bounds = Bounds {
            attempt: 1,
            plugin: "echo".to_owned(),
            room: self.limits.key_value,
            spent: 0,
            cost: None,
        };
        let attempt = Attempt {
            prepared: self.prepared.clone(),
            tool: tool.to_owned(),
            grants: Arc::clone(&self.grants),
            input: input.to_owned(),
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
        self.engine.attempt(attempt).await
    }
}
