//! From a folder of files to a registry of tools; one bad file does not stop the others, and what did not change is not
//! looked at again.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::{Mutex, watch};

use super::audit::{audit, doubts};
use super::compile::Compiler;
use super::discover::{self, Candidate, Stamp};
use super::lock::{Lock, Pin};
use super::refusal::{self, Fault};
use super::registry::{Bar, Plugin, Registry};
use super::workshop::{Bounds, Code, Examined, Workshop};
use crate::config::Config;
use crate::model::clock::Clock;
use crate::model::id::Digest;
use crate::sandbox::Engine;

/// The folder of compiled code, within the state folder.
const COMPILED: &str = "compiled";

/// How far loading is, for whoever waits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Loading {
    /// Plugins of the folder that were looked at.
    pub done: usize,
    /// All of them.
    pub all: usize,
    /// The file that is compiled at this moment.
    pub compiling: Option<PathBuf>,
}

/// What loads plugins, and remembers those that it loaded.
pub struct Loader {
    shop: Arc<Workshop>,
    clock: Arc<dyn Clock>,
    known: Mutex<BTreeMap<PathBuf, Known>>,
    loading: watch::Sender<Loading>,
}

impl fmt::Debug for Loader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Loader")
    }
}

/// What was found in a file, and how the file looked then.
#[derive(Clone)]
struct Known {
    /// None where it may have changed without looking different.
    stamp: Option<Stamp>,
    bounds: Bounds,
    found: Result<Arc<Plugin>, Fault>,
    /// Whether what lies there by now is the beginning of a file, which takes the place of none that was found before.
    cut_short: bool,
}

/// What one look at a file gave.
enum Looked {
    Known(Box<Known>),
    /// It was never examined, or under other limits.
    Unknown {
        stamp: Option<Stamp>,
        digest: Digest,
        bytes: Vec<u8>,
    },
}

impl Loader {
    /// A loader that keeps compiled code in this state folder, under this secret.
    pub fn new(
        engine: Arc<Engine>,
        state: &Path,
        secret: &[u8; 32],
        compiler: PathBuf,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let compiler = Compiler::new(compiler, Arc::clone(&clock));
        let shop = Workshop::new(engine, state.join(COMPILED), secret, compiler, Arc::clone(&clock));
        let loading = watch::Sender::new(Loading::default());
        Self { shop: Arc::new(shop), clock, known: Mutex::default(), loading }
    }

    /// How far loading is, as it goes on.
    pub fn loading(&self) -> watch::Receiver<Loading> {
        self.loading.subscribe()
    }

    /// Loads what is in the configured folder. Files that are still being written stay what they were.
    pub async fn load(&self, config: &Config, unfinished: &BTreeSet<PathBuf>) -> Registry {
        let mut known = self.known.lock().await;
        let folder = config.plugins.clone();
        let found = tokio::task::spawn_blocking(move || discover::discover(&folder)).await;
        let candidates = match found.unwrap_or_else(|error| Err(std::io::Error::other(error))) {
            Ok(candidates) => candidates,
            Err(error) => return Registry::barred(Bar::folder(&config.plugins, &error.to_string())),
        };
        let before = std::mem::take(&mut *known);
        *known = self.look_at_all(candidates, before, config, unfinished).await;
        self.loading.send_replace(Loading::default());
        let mut registry = Registry::default();
        let mut plugins = Vec::new();
        for (file, known) in &*known {
            match &known.found {
                Ok(plugin) => {
                    plugins.push(Arc::clone(plugin));
                    if known.cut_short {
                        let Fault { faults, remedy, .. } = refusal::cut_short();
                        registry.refuse(file.clone(), faults, &remedy);
                    }
                }
                Err(fault) => registry.refuse(file.clone(), fault.faults.clone(), &fault.remedy),
            }
        }
        registry.admit(plugins, config);
        registry
    }

    /// Accepts a plugin as it is, if it is still the one that was shown.
    ///
    /// # Errors
    /// Where it changed meanwhile, is not there, or the lock file cannot be written.
    pub async fn accept(&self, config: &Config, name: &str, digest: Digest) -> Result<(), String> {
        let known = self.known.lock().await;
        let mut plugins = known.values().filter_map(|known| known.found.as_ref().ok());
        let plugin = plugins.find(|plugin| plugin.manifest.name == name && plugin.digest == digest);
        let plugin =
            plugin.ok_or_else(|| format!("the plugin {name} changed again; look at it once more"))?;
        let file = Lock::file(&config.file);
        Lock::accept(&file, &config.state, name.to_owned(), plugin.pin())
            .map_err(|text| format!("{}: {text}", file.display()))?;
        Ok(())
    }

    /// Examines a file as if it lay in the folder; what was found out before is found out anew.
    ///
    /// # Errors
    /// Where it is no plugin: all that is wrong with it, and what to do.
    pub async fn examine(&self, file: &Path, config: &Config) -> Result<Arc<Plugin>, (Vec<String>, String)> {
        let told = |fault: Fault| (fault.faults, fault.remedy);
        let (bytes, _) = discover::read(file).map_err(|text| told(refusal::unread(text)))?;
        let digest = Digest::of(&bytes);
        self.shop.forget(digest);
        let bounds = bounds(config);
        let examined = self.shop.examine(digest, bytes, bounds.clone()).await.map_err(told)?;
        self.plugin(file, digest, examined, &bounds).map_err(told)
    }

    async fn look_at_all(
        &self,
        candidates: Vec<Candidate>,
        mut before: BTreeMap<PathBuf, Known>,
        config: &Config,
        unfinished: &BTreeSet<PathBuf>,
    ) -> BTreeMap<PathBuf, Known> {
        let bounds = bounds(config);
        let mut now = BTreeMap::new();
        let mut unseen = Vec::new();
        for Candidate { path, stamp } in candidates {
            let earlier = before.remove(&path);
            match (stamp, earlier) {
                (_, earlier) if unfinished.contains(&path) => {
                    now.extend(earlier.map(|known| (path, known)));
                }
                (Err(text), _) => {
                    let found = Err(refusal::unread(text));
                    let (bounds, cut_short) = (bounds.clone(), false);
                    now.insert(path, Known { stamp: None, bounds, found, cut_short });
                }
                (Ok(stamp), Some(known)) if known.holds(stamp, &bounds) => {
                    now.insert(path, known);
                }
                (Ok(_), earlier) => unseen.push((path, earlier)),
            }
        }
        let progress = Progress { loading: &self.loading, all: now.len() + unseen.len() };
        progress.looked_at(now.len());
        let mut unknown = Vec::new();
        for (path, looked) in self.look(unseen, &bounds).await {
            match looked {
                Looked::Known(known) => {
                    now.insert(path, *known);
                }
                Looked::Unknown { stamp, digest, bytes } => unknown.push((path, stamp, digest, bytes)),
            }
        }
        progress.looked_at(now.len());
        let examining = unknown.into_iter().map(|(path, stamp, digest, bytes)| {
            let (bounds, progress) = (bounds.clone(), &progress);
            async move {
                progress.compiles(&path);
                let examined = self.shop.examine(digest, bytes, bounds.clone()).await;
                let found = examined.and_then(|examined| self.plugin(&path, digest, examined, &bounds));
                progress.one_more();
                (path, Known { stamp, bounds, found, cut_short: false })
            }
        });
        now.extend(futures::future::join_all(examining).await);
        now
    }

    /// Looks at files side by side, as many at a time as there are processors.
    async fn look(&self, files: Vec<(PathBuf, Option<Known>)>, bounds: &Bounds) -> Vec<(PathBuf, Looked)> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let share = files.len().div_ceil(threads).max(1);
        let mut files = files.into_iter();
        let mut looking = Vec::new();
        loop {
            let part: Vec<_> = files.by_ref().take(share).collect();
            if part.is_empty() {
                break;
            }
            let (shop, bounds) = (Arc::clone(&self.shop), bounds.clone());
            let now = self.clock.now().0 / 1000;
            looking.push(tokio::task::spawn_blocking(move || {
                let look = |(path, earlier): (PathBuf, Option<Known>)| {
                    let looked = look(&shop, &path, earlier, &bounds, now);
                    (path, looked)
                };
                part.into_iter().map(look).collect::<Vec<_>>()
            }));
        }
        let mut looked = Vec::new();
        for part in looking {
            looked.extend(part.await.unwrap_or_default());
        }
        looked
    }

    fn plugin(
        &self,
        file: &Path,
        digest: Digest,
        examined: Examined,
        bounds: &Bounds,
    ) -> Result<Arc<Plugin>, Fault> {
        plugin(&self.shop, file, digest, examined, bounds)
    }
}

impl Known {
    /// Whether it still stands, for a file that looks so and under these limits.
    fn holds(&self, stamp: Stamp, bounds: &Bounds) -> bool {
        self.stamp == Some(stamp) && (self.found.is_ok() || self.bounds.under() == bounds.under())
    }
}

fn bounds(config: &Config) -> Bounds {
    Bounds { call: config.limits.clone(), compile: config.compile }
}

fn look(shop: &Arc<Workshop>, path: &Path, earlier: Option<Known>, bounds: &Bounds, now: i64) -> Looked {
    let was = |stamp, found, cut_short| {
        Looked::Known(Box::new(Known { stamp, bounds: bounds.clone(), found, cut_short }))
    };
    let known = |stamp, found| was(stamp, found, false);
    let (bytes, stamp) = match discover::read(path) {
        Ok((bytes, Some(stamp))) => (bytes, stamp),
        // Somebody is writing it: what it was holds until they have ended.
        Ok((_, None)) => {
            let before = earlier.map(|known| known.found).filter(Result::is_ok);
            return known(None, before.unwrap_or_else(|| Err(refusal::unfinished())));
        }
        Err(text) => return known(None, Err(refusal::unread(text))),
    };
    // Who writes twice in one tick of the clock leaves two contents under one stamp.
    let stamp = (stamp.written() < now - 1).then_some(stamp);
    let digest = Digest::of(&bytes);
    if let Some(Known { found: Ok(plugin), .. }) = &earlier
        && plugin.digest == digest
    {
        return known(stamp, Ok(Arc::clone(plugin)));
    }
    // Who copies over a file that is there may take a rest in the midst of it.
    if let Some(Known { found: Ok(plugin), .. }) = &earlier
        && discover::is_cut_short(&bytes)
    {
        return was(stamp, Ok(Arc::clone(plugin)), true);
    }
    match shop.known(digest, bounds) {
        Some(Ok(works)) => {
            let examined = Examined { works, prepared: None };
            known(stamp, plugin(shop, path, digest, examined, bounds))
        }
        Some(Err(fault)) => known(stamp, Err(fault)),
        None => Looked::Unknown { stamp, digest, bytes },
    }
}

fn plugin(
    shop: &Arc<Workshop>,
    file: &Path,
    digest: Digest,
    examined: Examined,
    bounds: &Bounds,
) -> Result<Arc<Plugin>, Fault> {
    // What a plugin declares is anybody's: a rule that fails over it refuses this plugin, and no other.
    let audited = std::panic::catch_unwind(|| {
        let manifest = audit(examined.works.declared.clone())?;
        Plugin::schemas(&manifest).map(|schemas| (manifest, schemas))
    });
    let (manifest, schemas) = audited
        .unwrap_or_else(|_| Err(vec!["looking at what it declares failed".to_owned()]))
        .map_err(refusal::faulty)?;
    let doubts = doubts::doubts(&manifest, &examined.works.surface);
    let code = Code::new(Arc::clone(shop), digest, file.to_owned(), examined, bounds.clone());
    Ok(Arc::new(Plugin { file: file.to_owned(), digest, manifest, schemas, doubts, code: Arc::new(code) }))
}

impl Plugin {
    /// What is written into the lock file where it is accepted.
    pub(super) fn pin(&self) -> Pin {
        let works = self.code.works();
        Pin::of(self.digest, works.manifest, &works.declared)
    }
}

/// Tells how far loading is.
struct Progress<'a> {
    loading: &'a watch::Sender<Loading>,
    all: usize,
}

impl Progress<'_> {
    fn looked_at(&self, done: usize) {
        self.loading.send_modify(|loading| (loading.done, loading.all) = (done, self.all));
    }

    fn one_more(&self) {
        self.loading.send_modify(|loading| loading.done += 1);
    }

    fn compiles(&self, file: &Path) {
        self.loading.send_modify(|loading| loading.compiling = Some(file.to_owned()));
    }
}
