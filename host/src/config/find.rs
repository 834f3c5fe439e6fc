//! Where the configuration lies, and who is at the keyboard: what the environment tells.

use std::fs::{Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::faults::{Fault, Faults};
use super::regular;

/// The file's name.
pub(super) const NAME: &str = "airlock.toml";

/// The longest configuration: more than anybody writes.
const LONGEST: u64 = 4 << 20;

/// The file to read: the one that was named, else `./airlock.toml`, else the one in the user's configuration folder.
pub(super) fn find(named: Option<&Path>) -> Result<PathBuf, Faults> {
    if let Some(named) = named {
        return Ok(named.to_owned());
    }
    let places = [Some(PathBuf::from(NAME)), user_folder(&variable).map(|folder| folder.join(NAME))];
    let places: Vec<PathBuf> = places.into_iter().flatten().collect();
    match places.iter().find(|place| place.exists()) {
        Some(found) => Ok(found.clone()),
        None => {
            let looked: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
            let fault = Fault::new("there is no configuration")
                .expected(format!("looked for {}", looked.join(" and ")))
                .help("`airlock init` writes one here; `--config FILE` names another");
            Err(Faults::new(Path::new(NAME), "", vec![fault]))
        }
    }
}

/// The text of a configuration, if nobody but this user and root could have written it: it says what is run, and with
/// which secrets.
pub(super) fn read(file: &Path) -> Result<String, Faults> {
    let refused = |list: Vec<Fault>| Faults::new(file, "", list);
    let unreadable = |error: io::Error| {
        let fault = Fault::new(format!("{} cannot be read: {error}", file.display()));
        let help = format!("`airlock init --config {}` writes one", file.display());
        refused(vec![if error.kind() == ErrorKind::NotFound { fault.help(help) } else { fault }])
    };
    let open = regular::open(OpenOptions::new().read(true), file).map_err(unreadable)?;
    let metadata = open.metadata().map_err(unreadable)?;
    let faults = distrusted(file, foreign(&metadata), metadata.mode());
    if !faults.is_empty() {
        return Err(refused(faults));
    }
    String::from_utf8(regular::whole(&open, LONGEST).map_err(unreadable)?).map_err(|error| {
        let before = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let fault = Fault::new(format!("{} cannot be read: line {line} is no UTF-8", file.display()));
        refused(vec![fault.help("save it as UTF-8")])
    })
}

/// Why a configuration with this mode, of this other user, is not obeyed.
fn distrusted(file: &Path, other: Option<String>, mode: u32) -> Vec<Fault> {
    let shown = file.display();
    let other = other.map(|owner| {
        Fault::new(format!("{shown} is not obeyed: it belongs to {owner}"))
            .expected("a file of your own, or of root")
            .help(format!("if you want what is in it: `chown {} {shown}`", os_user()))
    });
    let open = (mode & 0o022 != 0).then(|| {
        Fault::new(format!("{shown} is not obeyed: others than its owner can write it"))
            .expected("a file that nobody else can write")
            .help(format!("if you want what is in it: `chmod go-w {shown}`"))
    });
    other.into_iter().chain(open).collect()
}

/// The user to whom a file or folder belongs, where that is neither the one of this process nor root: what lies in it
/// is not this user's word.
pub fn foreign(metadata: &Metadata) -> Option<String> {
    let (owner, own) = (metadata.uid(), rustix::process::geteuid().as_raw());
    (owner != own && owner != 0)
        .then(|| named_by_the_system(owner).unwrap_or_else(|| format!("the user {owner}")))
}

/// `airlock/` in the user's folder of configurations, as the XDG base directory specification has it.
fn user_folder(variable: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
    Some(folder.join("airlock"))
}

/// A variable of the environment, where it is set and is text.
#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The person at the keyboard, by the operating system's name: what a decision is signed with.
pub fn os_user() -> String {
    named_by_the_system(rustix::process::geteuid().as_raw())
        .or_else(|| variable("USER"))
        .or_else(|| variable("LOGNAME"))
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "unknown".to_owned())
}

/// The name of a user in `/etc/passwd`, which unlike a variable is not the user's to choose.
fn named_by_the_system(user: u32) -> Option<String> {
    let passwd = std::fs::read_to_string("/etc/passwd").ok()?;
    let line = passwd.lines().find(|line| line.split(':').nth(2) == Some(&user.to_string()))?;
    line.split(':').next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_folder_is_the_one_of_xdg_and_else_beneath_home() {
        let with = |set: &'static [(&str, &str)]| {
            user_folder(&|name| {
                set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(with(&[("XDG_CONFIG_HOME", "/x"), ("HOME", "/home/li")]), Some("/x/airlock".into()));
        assert_eq!(
            with(&[("XDG_CONFIG_HOME", "relative"), ("HOME", "/home/li")]),
            Some("/home/li/.config/airlock".into())
        );
        assert_eq!(with(&[("XDG_CONFIG_HOME", "")]), None);
    }

    #[test]
    fn a_configuration_is_obeyed_if_nobody_else_could_have_written_it() {
        let told = |owner: Option<&str>, mode| -> Vec<String> {
            let faults = distrusted(Path::new("a.toml"), owner.map(str::to_owned), mode);
            faults.into_iter().map(|fault| fault.text).collect()
        };
        for mode in [0o100_600, 0o100_644, 0o100_755, 0o100_444] {
            assert!(told(None, mode).is_empty(), "{mode:o}");
        }
        for mode in [0o100_664, 0o100_646, 0o100_777] {
            assert_eq!(
                told(None, mode),
                ["a.toml is not obeyed: others than its owner can write it"],
                "{mode:o}"
            );
        }
        assert_eq!(told(Some("eve"), 0o100_600), ["a.toml is not obeyed: it belongs to eve"]);
        assert_eq!(told(Some("eve"), 0o100_666).len(), 2);
    }

    #[test]
    fn the_user_has_a_name() {
        assert!(!os_user().is_empty());
    }
}
