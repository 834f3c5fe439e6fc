//! Where secrets come from: a variable of the environment, a file, or a command that prints one.

mod command;

use std::collections::BTreeMap;
use std::fs::{Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::ops::Range;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use toml::Spanned;

use super::faults::Fault;
use super::read::Named;
use super::regular;
use super::written::{self, SecretName};
use crate::model::secret::SecretValue;

/// The longest secret: more than any key or chain of certificates has.
const LONGEST: u64 = 64 << 10;

/// Whether every secret must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Secrets {
    /// Tools may run: one that is missing is a fault.
    Needed,
    /// No tool runs: one that is missing is left out, and no command is run.
    IfThere,
}

/// Where one secret comes from.
#[derive(Debug)]
enum Source {
    Variable(String),
    File(PathBuf),
    Command(Vec<String>),
}

/// Why a secret is not there, and what would mend that.
#[derive(Debug, PartialEq, Eq)]
struct Missing {
    why: String,
    expected: &'static str,
    help: String,
}

/// Resolves `[secrets]`; paths are relative to `folder`, where commands run too.
pub(super) fn secrets(
    written: Named<SecretName, written::Secret>,
    folder: &Path,
    env: &dyn Fn(&str) -> Option<String>,
    needed: Secrets,
    faults: &mut Vec<Fault>,
) -> BTreeMap<String, SecretValue> {
    let mut asked = Vec::new();
    for (name, secret) in written.entries {
        let (place, name) = (name.span(), name.into_inner().0);
        match source(secret.into_inner(), &name, folder, place) {
            Ok(None) => {}
            Ok(Some((_, Source::Command(_)))) if needed == Secrets::IfThere => {}
            Ok(Some((place, source))) => asked.push((place, name, source)),
            Err(fault) => faults.push(fault),
        }
    }
    let mut secrets = BTreeMap::new();
    for ((place, name, _), found) in asked.iter().zip(fetch(&asked, folder, env)) {
        match found {
            Ok(text) => {
                secrets.insert(name.clone(), SecretValue::new(&text));
            }
            Err(_) if needed == Secrets::IfThere => {}
            Err(Missing { why, expected, help }) => {
                let text = format!("the secret `{name}` is missing: {why}");
                faults.push(Fault::at(place.clone(), text).expected(expected).help(help));
            }
        }
    }
    secrets
}

/// Where a secret comes from, and where that is written; none where that left a fault already.
fn source(
    written: written::Secret,
    name: &str,
    folder: &Path,
    place: Range<usize>,
) -> Result<Option<(Range<usize>, Source)>, Fault> {
    let mut sources = Vec::new();
    if let Some(variable) = written.env {
        sources.push((variable.span(), Source::Variable(variable.into_inner().0)));
    }
    if let Some(file) = written.file {
        sources.push((file.span(), Source::File(folder.join(file.get_ref()))));
    }
    if let Some(command) = written.command {
        let (span, words) = (command.span(), command.into_inner());
        let words: Vec<String> = words.into_iter().map(Spanned::into_inner).collect();
        if words.is_empty() {
            let fault = Fault::at(span, format!("the command of the secret `{name}` is empty"));
            return Err(fault.expected("a program and what it takes, such as [\"pass\", \"show\", \"desk\"]"));
        }
        sources.push((span, Source::Command(words)));
    }
    let needs = "needs one of `env`, `file` and `command`";
    let line = format!("{name} = {{ env = \"{}\" }}", name.to_uppercase());
    match (sources.len(), written.keys.len()) {
        (0, 0) => {
            let fault = Fault::at(place, format!("the secret `{name}` comes from nowhere"));
            Err(fault.expected(needs).help(line))
        }
        (2.., _) => {
            let fault = Fault::at(place, format!("the secret `{name}` comes from several places"));
            Err(fault.expected(needs).help(line))
        }
        (0 | 1, _) => Ok(sources.pop()),
    }
}

/// What each source gives; commands run side by side, since each may take its time.
fn fetch(
    asked: &[(Range<usize>, String, Source)],
    folder: &Path,
    env: &dyn Fn(&str) -> Option<String>,
) -> Vec<Result<String, Missing>> {
    std::thread::scope(|threads| {
        let running: Vec<_> = asked
            .iter()
            .map(|(_, _, source)| match source {
                Source::Command(words) => Some(threads.spawn(|| printed(words, folder))),
                Source::Variable(_) | Source::File(_) => None,
            })
            .collect();
        let found = asked.iter().zip(running).map(|((_, _, source), running)| match (source, running) {
            (Source::Variable(variable), _) => held(variable, env),
            (Source::File(file), _) => kept(file),
            (Source::Command(words), None) => printed(words, folder),
            (Source::Command(words), Some(running)) => {
                running.join().unwrap_or_else(|_| Err(unprinted(words, "failed inside".to_owned())))
            }
        });
        found.collect()
    })
}

/// What a variable holds.
fn held(variable: &str, env: &dyn Fn(&str) -> Option<String>) -> Result<String, Missing> {
    let missing = |how: &str| Missing {
        why: format!("the variable {variable} is {how}"),
        expected: "a variable that holds the secret",
        help: format!("export {variable}='…'"),
    };
    match env(variable) {
        None => Err(missing("not set")),
        Some(text) if text.trim().is_empty() => Err(missing("empty")),
        Some(text) => Ok(text),
    }
}

/// What a file holds, that nobody else can read.
fn kept(file: &Path) -> Result<String, Missing> {
    let shown = file.display();
    let missing = |why: String, help: String| Missing { why, expected: "a file that holds the secret", help };
    let write = || format!("write it there, for your eyes alone: `install -m 600 /dev/stdin {shown}`");
    let unreadable = |error: io::Error| missing(format!("{shown} cannot be read: {error}"), write());
    let open = regular::open(OpenOptions::new().read(true), file).map_err(unreadable)?;
    let metadata = open.metadata().map_err(unreadable)?;
    if let Some(mend) = open_to_others(&metadata) {
        let why = format!("{shown} is not used: others can read it");
        return Err(missing(why, format!("`chmod {mend} {shown}`, and think of who may have read it")));
    }
    let mut bytes = Vec::new();
    open.take(LONGEST + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    text(bytes).map_err(|how| missing(format!("{shown} {how}"), write()))
}

/// How others are kept from reading a file: from one of this user's own all others, as ssh does with keys; from one
/// that the system puts there, perhaps for a group, whoever is in none.
fn open_to_others(metadata: &Metadata) -> Option<&'static str> {
    let own = metadata.uid() == rustix::process::geteuid().as_raw();
    let (bits, mend) = if own { (0o077, "600") } else { (0o007, "o=") };
    (metadata.mode() & bits != 0).then_some(mend)
}

/// What a command prints.
fn printed(words: &[String], folder: &Path) -> Result<String, Missing> {
    let printed =
        command::run(words, folder, command::TIME).and_then(|bytes| text(bytes).map_err(str::to_owned));
    printed.map_err(|how| unprinted(words, how))
}

fn unprinted(words: &[String], how: String) -> Missing {
    Missing {
        why: format!("`{}` {how}", words.join(" ")),
        expected: "a command that prints the secret and nothing else",
        help: "run it by hand in the folder of this file, and see what it says".to_owned(),
    }
}

/// A secret as text, without the end of the line that editors and programs put there.
fn text(bytes: Vec<u8>) -> Result<String, &'static str> {
    if u64::try_from(bytes.len()).is_ok_and(|length| length > LONGEST) {
        return Err("gives more than 64 KiB");
    }
    let mut text = String::from_utf8(bytes).map_err(|_| "gives something that is no UTF-8")?;
    text.truncate(text.trim_end_matches(['\r', '\n']).len());
    if text.trim().is_empty() { Err("gives nothing") } else { Ok(text) }
}
