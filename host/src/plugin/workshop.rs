//! From the bytes of a component to a plugin: compiled once, asked what it is, remembered; and its code, loaded when it is
//! first called.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OnceCell, Semaphore};

use super::cache::{Cache, Fails, Record, Under, Works};
use super::compile::{CompileFailure, Compiler};
use super::discover;
use super::refusal::{self, Fault};
use crate::model::clock::Clock;
use crate::model::id::Digest;
use crate::model::limits::{CompileLimits, Limits};
use crate::sandbox::engine::{Authentic, compile};
use crate::sandbox::logbook::Logbook;
use crate::sandbox::wit::types::Manifest;
use crate::sandbox::{Engine, Prepared};

/// Components that are compiled at a time; each compiler uses every processor where it can.
const AT_ONCE: usize = 2;

/// What a process that compiles does beside compiling, at most: it is waited for that much longer.
const BESIDE: Duration = Duration::from_secs(60);

/// What makes plugins out of components.
pub(super) struct Workshop {
    engine: Arc<Engine>,
    cache: Cache,
    compiler: Compiler,
    clock: Arc<dyn Clock>,
    turns: Semaphore,
}

/// The limits under which a component is examined.
#[derive(Debug, Clone)]
pub(super) struct Bounds {
    pub(super) call: Limits,
    pub(super) compile: CompileLimits,
}

impl Bounds {
    pub(super) fn under(&self) -> Under {
        Under::of(&self.call, self.compile)
    }
}

/// What came of an examination.
#[derive(Debug)]
pub(super) struct Examined {
    pub(super) works: Works,
    /// Its code, where it was compiled just now.
    pub(super) prepared: Option<Prepared>,
}

impl Workshop {
    pub(super) fn new(
        engine: Arc<Engine>,
        folder: PathBuf,
        secret: &[u8; 32],
        compiler: Compiler,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let cache = Cache::new(folder, secret, engine.kind());
        Self { engine, cache, compiler, clock, turns: Semaphore::new(AT_ONCE) }
    }

    /// What is known of a component without examining it.
    pub(super) fn known(&self, component: Digest, bounds: &Bounds) -> Option<Result<Works, Fault>> {
        match self.cache.record(component)? {
            Record::Works(works) => Some(Ok(works)),
            Record::Fails(fails) if fails.under == bounds.under() => {
                Some(Err(Fault { faults: fails.faults, remedy: fails.remedy, lasting: true }))
            }
            Record::Fails(_) => None,
        }
    }

    /// Compiles a component and asks it what it is, unless another process has done so meanwhile.
    pub(super) async fn examine(
        self: &Arc<Self>,
        component: Digest,
        bytes: Vec<u8>,
        bounds: Bounds,
    ) -> Result<Examined, Fault> {
        compile::inspect(&bytes).map_err(refusal::refused)?;
        let _turn = self.turns.acquire().await;
        let shop = Arc::clone(self);
        let patience = bounds.compile.time + BESIDE;
        let lock = tokio::task::spawn_blocking(move || shop.cache.turn(component, patience)).await;
        if let Some(known) = self.known(component, &bounds) {
            return known.map(|works| Examined { works, prepared: None });
        }
        let made = self.make(component, bytes, &bounds).await;
        match &made {
            Ok((works, _)) => self.cache.write(component, &Record::Works(works.clone())),
            Err(fault) if fault.lasting => {
                let Fault { faults, remedy, lasting: _ } = fault.clone();
                let under = bounds.under();
                self.cache.write(component, &Record::Fails(Fails { faults, remedy, under }));
            }
            Err(_) => {}
        }
        drop(lock);
        self.cache.trim(bounds.compile.cache);
        made.map(|(works, prepared)| Examined { works, prepared: Some(prepared) })
    }

    /// Forgets what is known of a component, so that it is examined anew.
    pub(super) fn forget(&self, component: Digest) {
        self.cache.forget(component);
    }

    async fn make(
        self: &Arc<Self>,
        component: Digest,
        bytes: Vec<u8>,
        bounds: &Bounds,
    ) -> Result<(Works, Prepared), Fault> {
        let (code, authentic) = self.compile(component, bytes, bounds.compile).await?;
        let compiled =
            self.engine.load(&authentic).map_err(|error| refusal::unusable(&format!("{error:#}")))?;
        let prepared = self.engine.prepare(&compiled).map_err(refusal::refused)?;
        let declared = self.describe(&prepared, &bounds.call).await?;
        if self.describe(&prepared, &bounds.call).await? != declared {
            return Err(refusal::fickle());
        }
        let manifest = digest(&declared);
        let works = Works { code, manifest, declared, surface: self.engine.surface(&compiled) };
        Ok((works, prepared))
    }

    async fn compile(
        self: &Arc<Self>,
        component: Digest,
        bytes: Vec<u8>,
        limits: CompileLimits,
    ) -> Result<(Digest, Authentic), Fault> {
        let shop = Arc::clone(self);
        let compiling = tokio::task::spawn_blocking(move || {
            let code: File = shop.compiler.compile(&bytes, limits)?;
            let unusable = |error: std::io::Error| CompileFailure::Unavailable(error.to_string());
            shop.cache.seal(component, code).map_err(unusable)
        });
        match compiling.await {
            Ok(compiled) => compiled.map_err(refusal::uncompiled),
            Err(_) => Err(refusal::unusable("the compiler could not be waited for")),
        }
    }

    async fn describe(&self, prepared: &Prepared, limits: &Limits) -> Result<Manifest, Fault> {
        let log = Logbook::new(limits.log);
        let declared = self.engine.describe(prepared.clone(), limits, &log).await;
        declared.map_err(|text| refusal::silent(&text))
    }

    /// The code of a component from the cache; nothing where it is not there any more.
    fn load(&self, component: Digest, code: Digest) -> Option<Prepared> {
        let authentic = self.cache.code(component, code, self.clock.now())?;
        let compiled = self.engine.load(&authentic).ok()?;
        self.engine.prepare(&compiled).ok()
    }
}

/// Over what a plugin declares, as JSON.
fn digest(declared: &Manifest) -> Digest {
    Digest::of(&serde_json::to_vec(declared).unwrap_or_default())
}

/// The code of a plugin: ready when it is first asked for.
pub struct Code {
    shop: Arc<Workshop>,
    component: Digest,
    file: PathBuf,
    works: Works,
    bounds: Bounds,
    ready: OnceCell<Prepared>,
}

impl std::fmt::Debug for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Code").field("component", &self.component).finish_non_exhaustive()
    }
}

impl Code {
    pub(super) fn new(
        shop: Arc<Workshop>,
        component: Digest,
        file: PathBuf,
        examined: Examined,
        bounds: Bounds,
    ) -> Self {
        let ready = OnceCell::new_with(examined.prepared);
        Self { shop, component, file, works: examined.works, bounds, ready }
    }

    /// What the plugin said of itself.
    pub(super) fn works(&self) -> &Works {
        &self.works
    }

    /// What instances are made from. Loaded at the first call; compiled again where the cache has lost it.
    ///
    /// # Errors
    /// Where the code is lost and the plugin's file is not what it was; for the log.
    pub async fn prepared(&self) -> Result<Prepared, String> {
        self.ready.get_or_try_init(|| self.prepare()).await.cloned()
    }

    async fn prepare(&self) -> Result<Prepared, String> {
        let (shop, component, code) = (Arc::clone(&self.shop), self.component, self.works.code);
        let loading = tokio::task::spawn_blocking(move || shop.load(component, code));
        if let Ok(Some(prepared)) = loading.await {
            return Ok(prepared);
        }
        let lost =
            |text: &str| format!("the compiled code of {} is lost, and its file {text}", self.file.display());
        let file = self.file.clone();
        let read = tokio::task::spawn_blocking(move || discover::read(&file)).await;
        let (bytes, _) = read.unwrap_or_else(|error| Err(error.to_string())).map_err(|text| lost(&text))?;
        if Digest::of(&bytes) != component {
            return Err(lost("has changed since"));
        }
        self.shop.forget(component);
        let examined = self.shop.examine(component, bytes, self.bounds.clone()).await;
        match examined {
            Ok(Examined { works, .. }) if works.manifest != self.works.manifest => {
                Err(lost("declares something else by now"))
            }
            Ok(Examined { prepared: Some(prepared), .. }) => Ok(prepared),
            // Another process was faster.
            Ok(Examined { works, prepared: None }) => {
                self.shop.load(component, works.code).ok_or_else(|| lost("was compiled in vain"))
            }
            Err(fault) => Err(lost(&format!("cannot be used: {}", fault.faults.join("; ")))),
        }
    }
}
