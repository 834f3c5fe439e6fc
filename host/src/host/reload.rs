//! Configuration and plugins, read again when they change, while calls go on with what they began with.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use tokio::sync::{Mutex, OnceCell, watch};

use super::{Host, configuration};
use crate::call::{Parts, Setting};
use crate::config::{Config, Faults};
use crate::model::code;
use crate::model::failure::{Failure, Kind};
use crate::model::id::Digest;
use crate::model::secret::Mask;
use crate::plugin::check::{self, Checked};
use crate::plugin::discover::{self, Stamp};
use crate::plugin::lock::Lock;
use crate::plugin::mentions;
use crate::plugin::{Doubts, Loader, Loading, PluginFault, Waiting};

/// How often files are looked at. What looks the same twice is whole.
const LOOK: Duration = Duration::from_secs(1);

/// What a host is loaded with, and loaded again.
#[derive(Debug)]
pub(super) struct Reload {
    loader: Loader,
    /// Whether the configuration lies in a file that can be read again.
    written: bool,
    loaded: OnceCell<()>,
    /// How everything looked that was loaded first: what changes afterwards is a change, whoever looks when.
    seen: OnceLock<Look>,
    /// One at a time.
    turn: Mutex<()>,
}

/// Told whenever configuration or plugins may have changed.
#[derive(Debug)]
pub struct Changes(watch::Receiver<Arc<Setting>>);

impl Changes {
    /// Waits for the next change; `false` where the host is gone.
    pub async fn changed(&mut self) -> bool {
        self.0.changed().await.is_ok()
    }
}

impl Reload {
    pub(super) fn new(loader: Loader, config: &Config) -> Self {
        let written = config.file.exists();
        Self { loader, written, loaded: OnceCell::new(), seen: OnceLock::new(), turn: Mutex::default() }
    }
}

impl Host {
    /// Loads the plugins, once; whoever comes while they are being loaded waits.
    pub async fn load(&self) {
        let first = || async {
            let _turn = self.reload.turn.lock().await;
            let setting = self.parts.setting();
            let mut seen = look(&setting.config);
            let registry = self.reload.loader.load(&setting.config, &BTreeSet::new()).await;
            // Loading wrote this one.
            let lock = Lock::file(&setting.config.file);
            seen.insert(lock.clone(), Stamp::at(&lock));
            let _ = self.reload.seen.set(seen);
            self.parts.set(Setting { registry, ..Setting::clone(&setting) });
        };
        self.reload.loaded.get_or_init(first).await;
    }

    /// How far [`Host::load`] is, as it goes on.
    pub fn loading(&self) -> watch::Receiver<Loading> {
        self.reload.loader.loading()
    }

    /// Reads configuration and plugins again, as they lie there. A faulty configuration is among [`Host::faults`],
    /// and the last good one stays. Calls that are under way keep what they began with.
    pub async fn reload(&self) {
        self.reload_but(&BTreeSet::new()).await;
    }

    /// Looks for changes of configuration and plugins once a second, and reads again what changed, for as long as the
    /// host lives.
    pub fn watch(&self) {
        let (parts, reload) = (Arc::downgrade(&self.parts), Arc::clone(&self.reload));
        tokio::spawn(keep_watch(parts, reload));
    }

    /// Tells of changes from now on.
    pub fn changes(&self) -> Changes {
        Changes(self.parts.changes())
    }

    /// Why files are not among the plugins, and what is wrong with the configuration as it lies there by now.
    pub fn faults(&self) -> Vec<PluginFault> {
        let setting = self.parts.setting();
        setting.faults.iter().chain(setting.registry.faults()).cloned().collect()
    }

    /// Plugins that wait until their operator trusts them, by name.
    pub fn waiting(&self) -> Vec<Waiting> {
        self.parts.setting().registry.waiting().values().cloned().collect()
    }

    /// What makes one look twice at plugins.
    pub fn doubts(&self) -> Vec<Doubts> {
        self.parts.setting().registry.doubts().to_vec()
    }

    /// Accepts a plugin that waits, if it is still the one with this digest: a person's word, and nobody else's.
    ///
    /// # Errors
    /// Where no such plugin waits, it changed meanwhile, or `airlock.lock` cannot be written.
    pub async fn trust(&self, plugin: &str, digest: Digest) -> Result<(), Failure> {
        let wrong = |text: String| Failure::new(Kind::InvalidInput, code::INVALID_INPUT, text);
        self.load().await;
        let setting = self.parts.setting();
        match setting.registry.waiting().get(plugin) {
            None => return Err(wrong(format!("no plugin of this name waits to be trusted: {plugin}"))),
            Some(waiting) if waiting.digest != digest => {
                return Err(wrong(format!("the plugin changed again; look at it once more: {plugin}")));
            }
            Some(_) => {}
        }
        self.reload.loader.accept(&setting.config, plugin, digest).await.map_err(wrong)?;
        self.reload().await;
        Ok(())
    }

    /// Examines a file as if it lay in the folder of plugins.
    pub async fn check(&self, file: &Path) -> Checked {
        check::check(&self.reload.loader, file, &self.parts.setting().config).await
    }

    async fn reload_but(&self, unfinished: &BTreeSet<PathBuf>) {
        self.load().await;
        let _turn = self.reload.turn.lock().await;
        let before = self.parts.setting();
        let mut faults = Vec::new();
        let read = if self.reload.written { read(before.config.file.clone()).await } else { None };
        let mut next = Setting::clone(&before);
        match read {
            None => {}
            Some(Ok(mut config)) => {
                faults.extend(unchangeable(&before.config, &mut config));
                next.mask = Mask::of(&config.secrets);
                next.egress = before.egress.under(&config.limits, &config.roots, &next.mask);
                next.config = config;
            }
            Some(Err(wrong)) => {
                tracing::warn!("the configuration stays as it was: {wrong}");
                faults.push(faulty(&before.config, &wrong));
            }
        }
        next.faults = faults;
        next.registry = self.reload.loader.load(&next.config, unfinished).await;
        if let Some(missing) = mentions::missing(&next.config, &next.registry) {
            tracing::warn!("the configuration names what is not there, and holds all the same: {missing}");
        }
        self.parts.set(next);
    }
}

/// Reads a configuration; its secrets may come from commands, which take their time.
async fn read(file: PathBuf) -> Option<Result<Config, Faults>> {
    tokio::task::spawn_blocking(move || configuration(Some(&file))).await.ok()
}

/// What cannot change in a host that is open stays, and is told.
fn unchangeable(before: &Config, now: &mut Config) -> Option<PluginFault> {
    let mut changed = Vec::new();
    let mut keep = |name: &str, same: bool| {
        if !same {
            changed.push(format!("`{name}` changed, and holds once the host is started again"));
        }
    };
    keep("state", now.state == before.state);
    keep("[limits] at_once", now.limits.at_once == before.limits.at_once);
    keep("[limits] waiting", now.limits.waiting == before.limits.waiting);
    keep("[log]", now.log == before.log);
    now.state.clone_from(&before.state);
    now.log.clone_from(&before.log);
    now.limits.at_once = before.limits.at_once;
    now.limits.waiting = before.limits.waiting;
    let remedy = "start the host again".to_owned();
    (!changed.is_empty()).then(|| PluginFault { file: before.file.clone(), faults: changed, remedy })
}

fn faulty(config: &Config, faults: &Faults) -> PluginFault {
    let line = |fault| match faults.line(fault) {
        Some(line) => format!("line {line}: {}", fault.text),
        None => fault.text.clone(),
    };
    PluginFault {
        file: config.file.clone(),
        faults: faults.list().iter().map(line).collect(),
        remedy: "mend the file; until then, the configuration that was read last holds".to_owned(),
    }
}

/// How everything looked that a change of counts.
type Look = BTreeMap<PathBuf, Option<Stamp>>;

fn look(config: &Config) -> Look {
    let mut look = discover::look(&config.plugins);
    for file in [config.file.clone(), Lock::file(&config.file)] {
        let stamp = Stamp::at(&file);
        look.insert(file, stamp);
    }
    look
}

async fn keep_watch(parts: Weak<Parts>, reload: Arc<Reload>) {
    let mut loaded: Option<Look> = None;
    let mut before = Look::new();
    loop {
        let Some(parts) = parts.upgrade() else { return };
        let setting = parts.setting();
        let looking = tokio::task::spawn_blocking(move || look(&setting.config)).await;
        let Ok(now) = looking else { return };
        let known = loaded.get_or_insert_with(|| reload.seen.get().unwrap_or(&now).clone());
        let changed: BTreeSet<PathBuf> = known
            .keys()
            .chain(now.keys())
            .filter(|file| known.get(*file) != now.get(*file))
            .cloned()
            .collect();
        // What looks as it did a moment ago is whole; the rest is being written.
        let (whole, unfinished): (BTreeSet<_>, BTreeSet<_>) =
            changed.into_iter().partition(|file| before.get(file) == now.get(file));
        if !whole.is_empty() {
            let host = Host { parts, reload: Arc::clone(&reload) };
            host.reload_but(&unfinished).await;
            for file in whole {
                match now.get(&file) {
                    Some(stamp) => known.insert(file, *stamp),
                    None => known.remove(&file),
                };
            }
        }
        before = now;
        tokio::time::sleep(LOOK).await;
    }
}
