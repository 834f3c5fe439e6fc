//! `airlock.lock`: which file and which manifest of each plugin was accepted.

pub mod difference;

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::config::{foreign, regular};
use crate::model::id::Digest;
use crate::sandbox::wit::types::Manifest;

/// The form of the file.
const VERSION: u32 = 1;

/// The longest file: what a thousand plugins declare.
const LONGEST: u64 = 256 << 20;

const NOTE: &str = "written by airlock; `airlock trust NAME` accepts what changed";

/// What was accepted, by the names of the plugins. One that is no longer there keeps its pin.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    note: String,
    version: u32,
    plugins: BTreeMap<String, Pin>,
}

/// What was accepted of one plugin.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pin {
    /// The SHA-256 of its file.
    pub file: Digest,
    /// The SHA-256 of what it declares, as JSON.
    pub manifest: Digest,
    /// What it declares, for showing what changed.
    accepted: Box<RawValue>,
}

impl Pin {
    /// Pins a plugin as it is.
    pub fn of(file: Digest, manifest: Digest, declared: &Manifest) -> Self {
        let accepted = serde_json::value::to_raw_value(declared).unwrap_or_default();
        Self { file, manifest, accepted }
    }

    /// Whether the plugin is still the one that was accepted.
    pub fn holds(&self, file: Digest, manifest: Digest) -> bool {
        self.file == file && self.manifest == manifest
    }

    /// What changed since.
    pub fn difference(&self, declared: &Manifest) -> Vec<String> {
        match serde_json::from_str(self.accepted.get()) {
            Ok(accepted) => difference::difference(&accepted, declared),
            Err(_) => vec!["what was accepted was declared by another version of the contract".to_owned()],
        }
    }

    /// What it declared when it was accepted, where this host can read it.
    pub fn accepted(&self) -> Option<Manifest> {
        serde_json::from_str(self.accepted.get()).ok()
    }
}

impl Lock {
    /// The file that belongs to a configuration: beside it, under its name.
    pub fn file(config: &Path) -> PathBuf {
        config.with_extension("lock")
    }

    /// Reads the file; where there is none, nothing was accepted yet.
    ///
    /// # Errors
    /// Where it cannot be read or is no such file, in words.
    pub fn read(file: &Path) -> Result<Self, String> {
        let open = match regular::open(OpenOptions::new().read(true), file) {
            Ok(open) => open,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::empty()),
            Err(error) => return Err(unreadable(&error)),
        };
        // Whoever can write it can accept a plugin.
        let metadata = open.metadata().map_err(|error| unreadable(&error))?;
        if let Some(owner) = foreign(&metadata) {
            return Err(format!("it is not obeyed: it belongs to {owner}"));
        }
        if metadata.mode() & 0o022 != 0 {
            let why = "it is not obeyed: others than its owner can write it; look at what it accepts, then";
            return Err(format!("{why} `chmod go-w {}`", file.display()));
        }
        let text = regular::whole(&open, LONGEST).map_err(|error| unreadable(&error))?;
        let lock: Self = serde_json::from_slice(&text).map_err(|error| format!("it is damaged: {error}"))?;
        if lock.version == VERSION {
            Ok(lock)
        } else {
            Err(format!("its version is {VERSION} in this host, and is {}", lock.version))
        }
    }

    /// The pin of a plugin.
    pub fn pin(&self, plugin: &str) -> Option<&Pin> {
        self.plugins.get(plugin)
    }

    /// The pin of a file with this digest, as whatever plugin it was accepted.
    pub fn pinned(&self, file: Digest) -> Option<&Pin> {
        self.plugins.values().find(|pin| pin.file == file)
    }

    /// Pins plugins that were not there before. What another process pinned meanwhile holds; gives what holds now.
    ///
    /// # Errors
    /// Where the file cannot be read or written, in words.
    pub fn add(file: &Path, state: &Path, pins: Vec<(String, Pin)>) -> Result<Self, String> {
        update(file, state, |lock| {
            for (plugin, pin) in pins {
                lock.plugins.entry(plugin).or_insert(pin);
            }
        })
    }

    /// Accepts a plugin as it is now.
    ///
    /// # Errors
    /// Where the file cannot be read or written, in words.
    pub fn accept(file: &Path, state: &Path, plugin: String, pin: Pin) -> Result<Self, String> {
        update(file, state, |lock| {
            lock.plugins.insert(plugin, pin);
        })
    }

    fn empty() -> Self {
        Self { note: NOTE.to_owned(), version: VERSION, plugins: BTreeMap::new() }
    }
}

/// Changes the file, one process at a time; readers see the old one or the new one.
fn update(file: &Path, state: &Path, change: impl FnOnce(&mut Lock)) -> Result<Lock, String> {
    let _guard =
        guard(state).map_err(|error| format!("it cannot be locked in {}: {error}", state.display()))?;
    let mut lock = Lock::read(file)?;
    change(&mut lock);
    let text = serde_json::to_string_pretty(&lock).unwrap_or_default() + "\n";
    write(file, text.as_bytes()).map_err(|error| format!("it cannot be written: {error}"))?;
    Ok(lock)
}

fn unreadable(error: &io::Error) -> String {
    format!("it cannot be read: {error}")
}

fn guard(state: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true).mode(0o600);
    let file = regular::open(&mut options, &state.join("pins.lock"))?;
    file.lock()?;
    Ok(file)
}

fn write(file: &Path, text: &[u8]) -> io::Result<()> {
    let aside = file.with_extension("lock.aside");
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o644);
    let mut written = regular::open(&mut options, &aside)?;
    written.write_all(text)?;
    written.sync_all()?;
    fs::rename(&aside, file)?;
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}
