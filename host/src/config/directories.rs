//! Folders that plugins are lent: that each is there, and that none that is written holds what the host goes by.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use toml::Spanned;

use super::faults::Fault;
use super::read::Named;
use super::resolve::straight;
use super::resolved::{DirectoryAccess, DirectoryGrant};
use super::written::{self, DirectoryName};

/// The folders that the host goes by.
#[derive(Debug)]
pub(super) struct Own {
    /// Where `airlock.toml` and `airlock.lock` lie.
    folder: PathBuf,
    /// Each, with what it is.
    all: Vec<(PathBuf, &'static str)>,
}

impl Own {
    pub(super) fn of(folder: &Path, plugins: &Path, state: &Path, log: Option<&Path>) -> Self {
        let mut all = vec![
            (real(folder), "the configuration and its lock"),
            (real(plugins), "plugins"),
            (real(state), "what the host keeps"),
        ];
        all.extend(log.map(|log| (real(log), "the log")));
        Self { folder: folder.to_owned(), all }
    }
}

/// The path without links, as far as it is there.
fn real(path: &Path) -> PathBuf {
    // A file that is named without a folder lies in the one where the command is called.
    let path = straight(if path.as_os_str().is_empty() { Path::new(".") } else { path });
    let mut there = path.as_path();
    loop {
        match (fs::canonicalize(there), there.parent()) {
            (Ok(found), _) => {
                return match path.strip_prefix(there) {
                    Ok(rest) if rest.as_os_str().is_empty() => found,
                    Ok(rest) => found.join(rest),
                    Err(_) => found,
                };
            }
            (Err(_), Some(parent)) => there = parent,
            (Err(_), None) => return path,
        }
    }
}

/// Resolves `[plugin.NAME.directories]`.
pub(super) fn directories(
    written: Named<DirectoryName, written::Directory>,
    plugin: &str,
    own: &Own,
    faults: &mut Vec<Fault>,
) -> BTreeMap<String, DirectoryGrant> {
    let mut granted = BTreeMap::new();
    for (name, directory) in written.entries {
        let (name, place, directory) = (name.into_inner().0, directory.span(), directory.into_inner());
        let Some(path) = directory.path else {
            if !directory.keys.iter().any(|key| key == "path") {
                let text = format!("`plugin.{plugin}.directories.{name}` lacks `path`");
                let fault = Fault::at(place, text).expected("needs `path`");
                faults.push(fault.help(format!("{name} = {{ path = \"/srv/{name}\" }}")));
            }
            continue;
        };
        let access = directory.access.map_or(DirectoryAccess::Read, Spanned::into_inner);
        match lent(&own.folder.join(path.get_ref()), access, own) {
            Ok(path) => {
                granted.insert(name, DirectoryGrant { path, access });
            }
            Err((text, expected, help)) => {
                faults.push(Fault::at(path.span(), text).expected(expected).help(help));
            }
        }
    }
    granted
}

/// The folder without links on the way, or what is wrong, what belongs there, and what would mend it.
fn lent(path: &Path, access: DirectoryAccess, own: &Own) -> Result<PathBuf, (String, &'static str, String)> {
    let shown = straight(path);
    let shown = shown.display();
    let folder = "a folder that is there and can be read";
    let found = fs::canonicalize(path).map_err(|error| {
        (format!("{shown} cannot be lent: {error}"), folder, format!("`mkdir -p {shown}`"))
    })?;
    if !found.is_dir() {
        let help = "lend the folder that the file lies in".to_owned();
        return Err((format!("{shown} cannot be lent: it is no folder"), folder, help));
    }
    if let Err(error) = fs::read_dir(&found) {
        let help = format!("let the user that the host runs as read it: `ls -ld {shown}` shows who may");
        return Err((format!("{shown} cannot be lent: {error}"), folder, help));
    }
    let met = own.all.iter().find(|(own, _)| found.starts_with(own) || own.starts_with(&found));
    match (access, met) {
        (DirectoryAccess::Read, _) | (DirectoryAccess::Write, None) => Ok(found),
        (DirectoryAccess::Write, Some((own, what))) => {
            let how = if own.starts_with(&found) { "holds" } else { "lies in" };
            let text = format!("{shown} cannot be lent for writing: it {how} the folder of {what}");
            let help = "lend another folder, or this one with access = \"read\"".to_owned();
            Err((text, "a folder apart from those that the host goes by", help))
        }
    }
}
