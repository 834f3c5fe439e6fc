//! Where the configuration lies, and who is at the keyboard: what the environment tells.

use std::path::{Path, PathBuf};

use super::faults::{Fault, Faults};

/// The file's name.
pub(super) const NAME: &str = "airlock.toml";

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
    named_by_the_system()
        .or_else(|| variable("USER"))
        .or_else(|| variable("LOGNAME"))
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "unknown".to_owned())
}

/// The name of this process's user in `/etc/passwd`, which unlike a variable is not the user's to choose.
fn named_by_the_system() -> Option<String> {
    use std::os::unix::fs::MetadataExt as _;
    let user = std::fs::metadata("/proc/self").ok()?.uid().to_string();
    let passwd = std::fs::read_to_string("/etc/passwd").ok()?;
    let line = passwd.lines().find(|line| line.split(':').nth(2) == Some(&user))?;
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
    fn the_user_has_a_name() {
        assert!(!os_user().is_empty());
    }
}
