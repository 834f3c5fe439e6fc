//! Compiled code and what was found out about each component, kept in the state folder and trusted only under this host's
//! own authentication code.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Seek as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::config::regular;
use crate::model::clock::Timestamp;
use crate::model::id::Digest;
use crate::model::limits::{CompileLimits, Limits};
use crate::sandbox::capability::secrets::derived_bytes;
use crate::sandbox::engine::{Authentic, Surface};
use crate::sandbox::wit::types::Manifest;

/// What lies in front of a record: its authentication code.
const CODE: usize = 32;

/// What is left to the journal, which lies on the same disk: what is done must be written down, and code can be
/// compiled again.
const ROOM: u64 = 64 << 20;

/// The longest file of code or record: more than the largest component comes to.
const LONGEST: u64 = 2 << 30;

/// How often a lock is looked at that another process holds.
const LOOK: Duration = Duration::from_millis(10);

/// Use is noted at most so often.
const NOTED: Duration = Duration::from_secs(3600);

/// The cache of one state folder, for one kind of engine.
#[derive(Debug)]
pub(super) struct Cache {
    folder: PathBuf,
    key: [u8; 32],
    kind: Digest,
}

/// What is known of a component.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Record {
    /// It is a plugin.
    Works(Works),
    /// It is none.
    Fails(Fails),
}

/// What a plugin said of itself, and the authentication code of its compiled code.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Works {
    pub(super) code: Digest,
    /// Over what it declares, as JSON.
    pub(super) manifest: Digest,
    pub(super) declared: Manifest,
    pub(super) surface: Surface,
}

/// Why a component is no plugin. It is not tried again while this holds, for trying may take long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Fails {
    pub(super) faults: Vec<String>,
    pub(super) remedy: String,
    pub(super) under: Under,
}

/// The limits under which a component was tried; under others it may fare better.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Under {
    time: Duration,
    memory: u64,
    attempt: Duration,
    fuel: u64,
    call_memory: u64,
}

impl Under {
    pub(super) fn of(limits: &Limits, compile: CompileLimits) -> Self {
        Self {
            time: compile.time,
            memory: compile.memory,
            attempt: limits.attempt,
            fuel: limits.fuel,
            call_memory: limits.memory,
        }
    }
}

/// The right to compile a component, kept among processes; given back when this is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    _lock: Option<File>,
}

impl Cache {
    /// The cache in this folder, which is made for its owner alone. What lies there counts under this key.
    pub(super) fn new(folder: PathBuf, secret: &[u8; 32], kind: Digest) -> Self {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        if let Err(error) = made {
            tracing::warn!("compiled code is not kept: {} cannot be made: {error}", folder.display());
        }
        let key = derived_bytes(secret, &[b"compiled code"]);
        Self { folder, key, kind }
    }

    /// Waits for the right to compile a component, so that of several processes one does; only so long, for another may
    /// have been stopped.
    pub(super) fn turn(&self, component: Digest, patience: Duration) -> Turn {
        // Few files for all components, so that none need be removed.
        let name = format!("{:02x}.lock", component.0[0]);
        let open = regular::open(private().write(true).create(true).truncate(false), &self.folder.join(name));
        let Ok(lock) = open else { return Turn { _lock: None } };
        let mut waited = Duration::ZERO;
        loop {
            match lock.try_lock() {
                Ok(()) => return Turn { _lock: Some(lock) },
                Err(TryLockError::WouldBlock) if waited < patience => {
                    thread::sleep(LOOK);
                    waited += LOOK;
                }
                Err(TryLockError::WouldBlock | TryLockError::Error(_)) => return Turn { _lock: None },
            }
        }
    }

    /// What is known of a component; nothing where nothing is, or where what lies there is not this host's word.
    pub(super) fn record(&self, component: Digest) -> Option<Record> {
        let path = self.path(component, "record");
        let bytes = match regular::read(&path, LONGEST) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return None,
            // It is of no use, and stands where the next is to be kept.
            Err(_) => Vec::new(),
        };
        let record = bytes.split_at_checked(CODE).and_then(|(code, text)| {
            let right = derived_bytes(&self.key, &[&self.purpose(component, b"record"), text]);
            if code == right { serde_json::from_slice(text).ok() } else { None }
        });
        if record.is_none() {
            discard(&path);
        }
        record
    }

    /// The code of a component, checked; nothing where it is not there, or not what this host compiled.
    pub(super) fn code(&self, component: Digest, code: Digest, now: Timestamp) -> Option<Authentic> {
        let path = self.path(component, "code");
        let opened = regular::open(OpenOptions::new().read(true), &path);
        let Some(file) = opened.ok().filter(|file| file.metadata().is_ok_and(|of| of.len() <= LONGEST))
        else {
            discard(&path);
            return None;
        };
        note_use(&file, now);
        match Authentic::check(&self.key, &self.purpose(component, b"code"), &code.0, file) {
            Ok(Some(authentic)) => Some(authentic),
            Ok(None) | Err(_) => {
                discard(&path);
                None
            }
        }
    }

    /// Puts its authentication code to fresh code, and keeps it. Where it cannot be kept it can be used all the same.
    pub(super) fn seal(&self, component: Digest, mut code: File) -> io::Result<(Digest, Authentic)> {
        let purpose = self.purpose(component, b"code");
        let sealed = Authentic::seal(&self.key, &purpose, &mut code)?;
        code.rewind()?;
        let kept = self.keep(&self.path(component, "code"), &mut code);
        if let Err(error) = kept {
            tracing::warn!("compiled code is not kept in {}: {error}", self.folder.display());
        }
        let authentic = Authentic::check(&self.key, &purpose, &sealed, code)?;
        Ok((Digest(sealed), authentic.ok_or_else(|| io::Error::other("the code changed meanwhile"))?))
    }

    /// Keeps what was found out about a component.
    pub(super) fn write(&self, component: Digest, record: &Record) {
        let text = serde_json::to_vec(record).unwrap_or_default();
        let code = derived_bytes(&self.key, &[&self.purpose(component, b"record"), &text]);
        let bytes = [code.as_slice(), &text].concat();
        let kept = self.keep(&self.path(component, "record"), &mut bytes.as_slice());
        if let Err(error) = kept {
            tracing::warn!("what is known of a plugin is not kept in {}: {error}", self.folder.display());
        }
    }

    /// Forgets what was found out about a component.
    pub(super) fn forget(&self, component: Digest) {
        discard(&self.path(component, "record"));
    }

    /// Removes what was not used for longest, until the rest is no larger than this. The newest stays in any case.
    pub(super) fn trim(&self, most: u64) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        let mut files: Vec<(i64, u64, PathBuf)> = entries
            .filter_map(Result::ok)
            .filter_map(|entry| Some((entry.metadata().ok()?, entry.path())))
            .filter(|(metadata, _)| metadata.is_file())
            .map(|(metadata, path)| (metadata.mtime(), metadata.len(), path))
            .collect();
        files.sort();
        let mut all: u64 = files.iter().map(|(_, size, _)| size).sum();
        files.pop();
        for (_, size, path) in files {
            if all <= most {
                return;
            }
            if size > 0 {
                discard(&path);
                all = all.saturating_sub(size);
            }
        }
    }

    /// Writes a file aside, and gives it its name once it is whole.
    fn keep(&self, path: &Path, content: &mut dyn io::Read) -> io::Result<()> {
        let space = rustix::fs::statvfs(&self.folder)?;
        if space.f_bavail.saturating_mul(space.f_frsize) < ROOM {
            return Err(io::Error::other(format!("less than {} MiB are free on its disk", ROOM >> 20)));
        }
        // Under the component's lock: no other writes this name at this moment.
        let aside = path.with_extension("aside");
        discard(&aside);
        let mut file = private().write(true).create_new(true).open(&aside)?;
        io::copy(content, &mut file).and_then(|_| fs::rename(&aside, path)).inspect_err(|_| discard(&aside))
    }

    fn path(&self, component: Digest, what: &str) -> PathBuf {
        let kind = self.kind.to_string();
        self.folder.join(format!("{component}-{}.{what}", kind.get(..8).unwrap_or_default()))
    }

    /// What an authentication code is for: code of one component does not count for another, nor for another engine.
    fn purpose(&self, component: Digest, what: &[u8]) -> Vec<u8> {
        [&component.0, &self.kind.0, what].concat()
    }
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

fn note_use(file: &File, now: Timestamp) {
    let millis = u64::try_from(now.0).unwrap_or_default();
    let stale = file.metadata().is_ok_and(|metadata| {
        let noted = Timestamp(metadata.mtime().saturating_mul(1000));
        now.since(noted) >= NOTED
    });
    if stale {
        // Who cannot note it loses the entry sooner than need be, and nothing else.
        let _ = file.set_modified(UNIX_EPOCH + Duration::from_millis(millis));
    }
}

/// Removes what is of no use; where that fails, it is not trusted all the same.
fn discard(path: &Path) {
    let _ = fs::remove_file(path);
}
