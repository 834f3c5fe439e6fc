//! Configuration: `airlock.toml` as written, and as resolved with its defaults applied.

mod bounds;
mod budgets;
mod callers;
mod diagnose;
mod directories;
mod faults;
mod find;
mod log;
mod loops;
pub mod mentions;
mod read;
pub mod regular;
mod resolve;
pub mod resolved;
mod retries;
mod secrets;
mod tools;
mod written;

use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

pub use diagnose::Diagnosed;
pub use faults::{Fault, Faults};
pub use find::{foreign, os_user};
pub use mentions::Mention;
pub use resolved::{
    AddressRange, Config, DirectoryAccess, DirectoryGrant, HttpGrant, LogFormat, LogTo, Pinning,
    PluginGrants, ToolRules,
};

use read::{Read as _, Reader};
use secrets::Secrets;
use written::Written;

impl Config {
    /// Finds and reads the configuration: the file that is named, else `./airlock.toml`, else the one in the user's
    /// configuration folder. Secrets are read from the environment. Where it has faults, what it names and no plugin
    /// has is told with them, as far as `missing` knows.
    ///
    /// # Errors
    /// Where there is none, somebody else than this user and root can write it, or it has faults: all of them.
    pub fn load(named: Option<&Path>, missing: impl FnOnce(&Self) -> Option<Faults>) -> Result<Self, Faults> {
        Self::from_file(named, Secrets::Needed, missing)
    }

    /// The same for commands that run no tool: they need no secret, and mask those that are there.
    ///
    /// # Errors
    /// As [`Config::load`] has them, but for secrets that are missing.
    pub fn load_to_look(named: Option<&Path>) -> Result<Self, Faults> {
        Self::from_file(named, Secrets::IfThere, |_| None)
    }

    fn from_file(
        named: Option<&Path>,
        secrets: Secrets,
        missing: impl FnOnce(&Self) -> Option<Faults>,
    ) -> Result<Self, Faults> {
        let file = find::find(named)?;
        Self::read(&find::read(&file)?, &file, &find::variable, secrets, missing)
    }

    /// Reads the text of a configuration as if it stood in `file`, with `env` for the environment's variables.
    ///
    /// # Errors
    /// Where it has faults: all of them.
    pub fn parse(text: &str, file: &Path, env: &dyn Fn(&str) -> Option<String>) -> Result<Self, Faults> {
        Self::read(text, file, env, Secrets::Needed, |_| None)
    }

    fn read(
        text: &str,
        file: &Path,
        env: &dyn Fn(&str) -> Option<String>,
        secrets: Secrets,
        missing: impl FnOnce(&Self) -> Option<Faults>,
    ) -> Result<Self, Faults> {
        match Self::resolved(text, file, env, secrets) {
            (Some(config), faults) if faults.is_empty() => Ok(config),
            (config, faults) => {
                let faults = Faults::new(file, text, faults);
                Err(faults.and(config.as_ref().and_then(missing)))
            }
        }
    }

    /// What the text says, with defaults in place of what is faulty, and all that is; nothing where it is no TOML.
    fn resolved(
        text: &str,
        file: &Path,
        env: &dyn Fn(&str) -> Option<String>,
        secrets: Secrets,
    ) -> (Option<Self>, Vec<Fault>) {
        let (table, broken) = DeTable::parse_recoverable(text);
        if !broken.is_empty() {
            let faults = broken.iter().map(|error| Fault {
                hidden: error.span().is_some_and(|span| among_secrets(text, span.start)),
                span: error.span(),
                ..Fault::new(format!("the file is no TOML: {}", error.message()))
            });
            return (None, faults.collect());
        }
        let mut reader = Reader::default();
        let whole = Spanned::new(table.span(), DeValue::Table(table.into_inner()));
        let written = Written::read(&whole, &mut reader).unwrap_or_default();
        let mut faults = reader.faults;
        let config = resolve::resolve(written, text, file, env, secrets, &mut faults);
        (Some(config), faults)
    }

    /// The reference file: every setting that exists, with its default, commented out.
    pub fn reference() -> &'static str {
        include_str!("config/reference.toml")
    }
}

/// Whether the last header before this place is that of the secrets.
fn among_secrets(text: &str, place: usize) -> bool {
    header(text, place).is_some_and(|header| header.starts_with("secrets"))
}

/// The last header before this place, without its brackets in front.
fn header(text: &str, place: usize) -> Option<&str> {
    let before = text.get(..place).unwrap_or(text);
    let header = before.lines().rev().map(str::trim_start).find(|line| line.starts_with('['))?;
    Some(header.trim_start_matches(['[', ' ']))
}

#[cfg(test)]
mod tests;
