//! Configuration: `airlock.toml` as written, and as resolved with its defaults applied.

mod bounds;
mod faults;
mod find;
mod read;
mod resolve;
pub mod resolved;
mod written;

use std::io::ErrorKind;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

pub use faults::{Fault, Faults};
pub use find::os_user;
pub use resolved::{AddressRange, Config, Confirm, HttpGrant, PluginGrants, ToolRules};

use read::{Read as _, Reader};
use written::Written;

impl Config {
    /// Finds and reads the configuration: the file that is named, else `./airlock.toml`, else the one in the user's
    /// configuration folder. Secrets are read from the environment.
    ///
    /// # Errors
    /// Where there is none, or it has faults: all of them.
    pub fn load(named: Option<&Path>) -> Result<Self, Faults> {
        let file = find::find(named)?;
        let text = std::fs::read_to_string(&file).map_err(|error| {
            let fault = Fault::new(format!("{} cannot be read: {error}", file.display()));
            let help = format!("`airlock init --config {}` writes one", file.display());
            let fault = if error.kind() == ErrorKind::NotFound { fault.help(help) } else { fault };
            Faults::new(&file, "", vec![fault])
        })?;
        Self::parse(&text, &file, &find::variable)
    }

    /// Reads the text of a configuration as if it stood in `file`, with `env` for the environment's variables.
    ///
    /// # Errors
    /// Where it has faults: all of them.
    pub fn parse(text: &str, file: &Path, env: &dyn Fn(&str) -> Option<String>) -> Result<Self, Faults> {
        let (table, broken) = DeTable::parse_recoverable(text);
        if !broken.is_empty() {
            let faults = broken.iter().map(|error| Fault {
                hidden: error.span().is_some_and(|span| among_secrets(text, span.start)),
                span: error.span(),
                ..Fault::new(format!("the file is no TOML: {}", error.message()))
            });
            return Err(Faults::new(file, text, faults.collect()));
        }
        let mut reader = Reader::default();
        let whole = Spanned::new(table.span(), DeValue::Table(table.into_inner()));
        let written = Written::read(&whole, &mut reader).unwrap_or_default();
        let mut faults = reader.faults;
        let config = resolve::resolve(written, file, env, &mut faults);
        if faults.is_empty() { Ok(config) } else { Err(Faults::new(file, text, faults)) }
    }

    /// The reference file: every setting that exists, with its default, commented out.
    pub fn reference() -> &'static str {
        include_str!("config/reference.toml")
    }
}

/// Whether the last header before this place is that of the secrets.
fn among_secrets(text: &str, place: usize) -> bool {
    let before = text.get(..place).unwrap_or(text);
    let header = before.lines().rev().map(str::trim_start).find(|line| line.starts_with('['));
    header.is_some_and(|header| header.trim_start_matches(['[', ' ']).starts_with("secrets"))
}

#[cfg(test)]
mod tests;
