//! Whether a host could start and do its work here, and what would mend it where it could not; nothing is changed.

mod named;
mod waits;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use bytesize::ByteSize;

use crate::config::{Config, Diagnosed, Fault, Faults, foreign};
use crate::model::clock::{Clock as _, SystemClock};
use crate::plugin::lock::Lock;
use crate::plugin::mentions::missing_of;
use crate::plugin::survey::{Surveyed, survey, unaccepted};
use crate::store::sqlite::{Inspected, inspect};

/// Below this a write may fail soon: a run keeps so much of what it changes.
const LITTLE: u64 = 1 << 30;

/// Below this the next large call may not be written down.
const TOO_LITTLE: u64 = 64 << 20;

/// What was looked at, and how it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// What it is about: `store`.
    pub about: &'static str,
    /// How it is.
    pub health: Health,
    /// What was found, in words.
    pub text: String,
    /// What would mend it.
    pub mend: Option<String>,
}

/// How something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Health {
    /// As it should be.
    Well,
    /// Something to look at, which stops nothing.
    Doubtful,
    /// The host does not start, or does not do its work.
    Faulty,
}

impl Health {
    /// The word that is shown.
    pub fn word(self) -> &'static str {
        match self {
            Self::Well => "ok",
            Self::Doubtful => "warn",
            Self::Faulty => "fault",
        }
    }
}

impl Found {
    /// It is as it should be.
    pub fn well(about: &'static str, text: impl Into<String>) -> Self {
        Self { about, health: Health::Well, text: text.into(), mend: None }
    }

    /// It stops nothing, and should be looked at.
    pub fn doubtful(about: &'static str, text: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { about, health: Health::Doubtful, text: text.into(), mend: Some(mend.into()) }
    }

    /// It must be mended.
    pub fn faulty(about: &'static str, text: impl Into<String>, mend: impl Into<String>) -> Self {
        Self { about, health: Health::Faulty, text: text.into(), mend: Some(mend.into()) }
    }
}

/// Looks at the configuration that is named, or found, and at all that it names. Plugins that were not accepted are asked
/// in a sandbox what they declare; the others declared it when they were.
pub async fn examine(named: Option<&Path>) -> Vec<Found> {
    let diagnosed = Config::diagnose(named);
    let mut found = Vec::new();
    match &diagnosed.config {
        Some(config) => {
            let (files, surveyed) = plugins(&config.plugins);
            let named::Asked { declared, faults } = named::ask(config, &surveyed).await;
            found.extend(configuration(&diagnosed, missing_of(config, &declared)));
            found.extend(secrets(config, diagnosed.missing.as_ref()));
            found.extend(files);
            found.extend(faults);
            found.extend(named::grants(config, &declared));
            found.extend(named::addresses(config));
            found.extend(lock(config, &surveyed));
            found.extend(store(&config.state));
            found.push(cache(config));
            found.push(clock(&[
                config.file.clone(),
                Lock::file(&config.file),
                config.state.join("airlock.db"),
            ]));
        }
        None => {
            found.extend(configuration(&diagnosed, None));
            let text = "secrets, plugins, lock, store and cache were not looked at: the configuration says where they are";
            found.push(Found::doubtful("configuration", text, "mend the configuration, and ask again"));
            found.push(clock(&diagnosed.file.into_iter().collect::<Vec<_>>()));
        }
    }
    found
}

fn configuration(diagnosed: &Diagnosed, missing: Option<Faults>) -> Vec<Found> {
    let all = match diagnosed.faults.clone() {
        Some(faults) => Some(faults.and(missing)),
        None => missing,
    };
    match (all, &diagnosed.file) {
        (Some(faults), _) => told("configuration", &faults),
        (None, Some(file)) => vec![Found::well("configuration", format!("{} has no faults", file.display()))],
        (None, None) => Vec::new(),
    }
}

fn told(about: &'static str, faults: &Faults) -> Vec<Found> {
    let one = |fault: &Fault| {
        let text = match faults.line(fault) {
            Some(line) => format!("line {line}: {}", fault.text),
            None => fault.text.clone(),
        };
        let expected = fault.expected.as_ref().map(|expected| format!("expected is {expected}"));
        let line = faults.line(fault).map(|_| "mend that line".to_owned());
        let mend = fault.help.clone().or(expected).or(line);
        Found { about, health: Health::Faulty, text, mend }
    };
    faults.list().iter().map(one).collect()
}

fn secrets(config: &Config, missing: Option<&Faults>) -> Vec<Found> {
    match (missing, config.secrets.len()) {
        (Some(missing), _) => told("secrets", missing),
        (None, 0) => vec![Found::well("secrets", "none are named")],
        (None, 1) => vec![Found::well("secrets", "the one that is named is there")],
        (None, many) => vec![Found::well("secrets", format!("all {many} are there"))],
    }
}

fn plugins(folder: &Path) -> (Vec<Found>, Vec<Surveyed>) {
    let shown = folder.display();
    let surveyed = match survey(folder) {
        Ok(surveyed) => surveyed,
        Err(error) => {
            let text = format!("the folder of plugins cannot be read: {error}: {shown}");
            let mend = format!("`mkdir -p {shown}`, or name another with `plugins` in the configuration");
            return (vec![Found::faulty("plugins", text, mend)], Vec::new());
        }
    };
    let mut found = Vec::new();
    found.push(match surveyed.len() {
        0 => Found::doubtful("plugins", format!("none in {shown}"), "put plugins (.wasm files) there"),
        1 => Found::well("plugins", format!("1 file in {shown}")),
        many => Found::well("plugins", format!("{many} files in {shown}")),
    });
    found.extend(open_to_others("plugins", folder, "put plugins there"));
    for one in &surveyed {
        if let Err(text) = &one.digest {
            let text = format!("{}: {text}", one.file.display());
            found.push(Found::doubtful("plugins", text, "mend or remove it; the others work"));
        }
    }
    (found, surveyed)
}

/// What others can change that only this user and root should.
fn open_to_others(about: &'static str, path: &Path, so: &str) -> Option<Found> {
    let (metadata, shown) = (fs::metadata(path).ok()?, path.display());
    if let Some(owner) = foreign(&metadata) {
        let text = format!("{shown} belongs to {owner}, who can {so}");
        return Some(Found::doubtful(about, text, format!("take what is yours: `chown $USER {shown}`")));
    }
    (metadata.permissions().mode() & 0o022 != 0)
        .then(|| Found::doubtful(about, format!("others can {so}: {shown}"), format!("`chmod go-w {shown}`")))
}

fn lock(config: &Config, surveyed: &[Surveyed]) -> Vec<Found> {
    let file = Lock::file(&config.file);
    let shown = file.display();
    let lock = match Lock::read(&file) {
        Ok(lock) => lock,
        Err(text) => {
            let mend = "mend the file; without it, each plugin counts as seen for the first time";
            return vec![Found::faulty("lock", format!("{shown}: {text}"), mend)];
        }
    };
    let mut found = Vec::new();
    let unaccepted = unaccepted(surveyed, &lock);
    if !file.exists() {
        found.push(Found::well("lock", format!("nothing was accepted yet: {shown} is not there")));
    } else if unaccepted.is_empty() {
        found.push(Found::well("lock", format!("every plugin is as {shown} has it")));
    }
    let mend = "`airlock trust` lists the plugins that wait for you, and what changed";
    found.extend(unaccepted.iter().filter(|_| file.exists()).map(|path| {
        Found::doubtful("lock", format!("{} is new, or changed since it was accepted", path.display()), mend)
    }));
    found.extend(open_to_others("lock", &file, "accept plugins"));
    found
}

fn store(folder: &Path) -> Vec<Found> {
    match inspect(folder) {
        Ok(Some(inspected)) => {
            let mut found = vec![usable(folder, &inspected)];
            found.extend(inspected.readable.iter().map(|file| readable(file)));
            found.extend(waits::waits(&inspected.waits));
            found
        }
        Ok(None) => {
            let text = format!("nothing is kept yet: {} is made when it is needed", folder.display());
            vec![Found::well("store", text)]
        }
        Err(failure) => vec![Found::faulty("store", failure.to_string(), failure.hint())],
    }
}

fn usable(folder: &Path, inspected: &Inspected) -> Found {
    let shown = folder.display();
    let Inspected { version, known, open, free, .. } = *inspected;
    let left = ByteSize::b(free).display().iec();
    if free < LITTLE {
        let text = format!("{left} are left on its disk: {shown}");
        let mend = "free space there, or move the folder and name it with `state`";
        let make = if free < TOO_LITTLE { Found::faulty } else { Found::doubtful };
        return make("store", text, mend);
    }
    let version = match version {
        None => "no database yet".to_owned(),
        Some(version) if version == known => format!("version {version}"),
        Some(version) => format!("version {version}, which the next start brings to {known}"),
    };
    let by = match open {
        0 => "not open at the moment".to_owned(),
        1 => "open in 1 process".to_owned(),
        many => format!("open in {many} processes"),
    };
    Found::well("store", format!("{shown}: {version}, {by}, {left} left on its disk"))
}

fn readable(file: &Path) -> Found {
    let shown = file.display();
    let text = format!("others could read it if they entered its folder: {shown}");
    Found::doubtful("store", text, format!("`chmod 600 {shown}`"))
}

fn cache(config: &Config) -> Found {
    let folder = config.state.join("compiled");
    let Ok(entries) = fs::read_dir(&folder) else {
        return Found::well("cache", "nothing is compiled yet");
    };
    let sizes = entries.filter_map(Result::ok).filter_map(|entry| entry.metadata().ok());
    let sum: u64 = sizes.filter(fs::Metadata::is_file).map(|metadata| metadata.len()).sum();
    let (sum, most) = (ByteSize::b(sum).display().iec(), ByteSize::b(config.compile.cache).display().iec());
    let writable = rustix::fs::access(&folder, rustix::fs::Access::WRITE_OK);
    match writable {
        Ok(()) => Found::well("cache", format!("{sum} of compiled code, of {most} that may be kept")),
        Err(error) => {
            let text = format!("compiled code is not kept: {} cannot be written: {error}", folder.display());
            let mend =
                format!("`chmod 700 {}`; until then each start compiles what is new", folder.display());
            Found::doubtful("cache", text, mend)
        }
    }
}

/// Keys and results lapse by the clock: one that stands before what was written is wrong.
fn clock(files: &[PathBuf]) -> Found {
    let now = UNIX_EPOCH + Duration::from_millis(u64::try_from(SystemClock::start().now().0).unwrap_or(0));
    let written = files.iter().filter_map(|file| Some((fs::metadata(file).ok()?.modified().ok()?, file)));
    let shown = humantime::format_rfc3339_seconds;
    match written.max() {
        Some((at, file)) if at > now + Duration::from_secs(60) => {
            let text = format!("it says {}, and {} was written at {}", shown(now), file.display(), shown(at));
            Found::faulty(
                "clock",
                text,
                "set it, for keys and results lapse by it: `timedatectl set-ntp true`",
            )
        }
        Some(_) | None => Found::well("clock", format!("it says {}", shown(now))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::sqlite;

    #[test]
    fn a_store_is_told_by_its_version_who_has_it_open_and_what_is_left() {
        let inspected = |version, open, free| Inspected {
            version,
            known: 9,
            open,
            free,
            readable: Vec::new(),
            waits: sqlite::Waits::default(),
        };
        let all = [
            inspected(None, 0, 1 << 40),
            inspected(Some(9), 1, 1 << 40),
            inspected(Some(7), 2, 1 << 40),
            inspected(Some(9), 0, 1 << 29),
            inspected(Some(9), 0, 1 << 20),
        ];
        let told = all.map(|inspected| {
            let Found { health, text, mend, .. } = usable(Path::new("/state"), &inspected);
            format!("{}: {text}{}", health.word(), mend.map(|mend| format!("\n  {mend}")).unwrap_or_default())
        });
        insta::assert_snapshot!(told.join("\n"), @"
        ok: /state: no database yet, not open at the moment, 1.0 TiB left on its disk
        ok: /state: version 9, open in 1 process, 1.0 TiB left on its disk
        ok: /state: version 7, which the next start brings to 9, open in 2 processes, 1.0 TiB left on its disk
        warn: 512.0 MiB are left on its disk: /state
          free space there, or move the folder and name it with `state`
        fault: 1.0 MiB are left on its disk: /state
          free space there, or move the folder and name it with `state`
        ");
    }

    #[test]
    fn a_state_folder_that_is_not_there_is_made_when_it_is_needed() {
        let found = store(Path::new("/tmp/no-such-folder/state"));
        assert_eq!(found[0].text, "nothing is kept yet: /tmp/no-such-folder/state is made when it is needed");
        assert_eq!(found[0].health, Health::Well);
    }
}
