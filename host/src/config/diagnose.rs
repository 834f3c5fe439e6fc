//! A configuration as far as it can be read, beside all that is wrong with it: for whoever looks for faults.

use std::path::{Path, PathBuf};

use super::faults::{Fault, Faults};
use super::secrets::Secrets;
use super::{Config, find, header};

/// What is known of a configuration, however broken it is.
#[derive(Debug)]
pub struct Diagnosed {
    /// The file; none where there is none.
    pub file: Option<PathBuf>,
    /// What it says, with defaults in place of what is faulty; none where it is no TOML, or is not obeyed.
    pub config: Option<Config>,
    /// What is wrong with what it says.
    pub faults: Option<Faults>,
    /// Secrets that are not there.
    pub missing: Option<Faults>,
    /// Whether nothing is wrong but grants and secrets: without them, less is allowed, and all else holds as it was written.
    pub grants_alone: bool,
}

impl Config {
    /// Reads the configuration that [`Config::load`] would, and goes on where it has faults. Commands that print
    /// secrets are run.
    pub fn diagnose(named: Option<&Path>) -> Diagnosed {
        let none = |file, faults| Diagnosed {
            file,
            config: None,
            faults: Some(faults),
            missing: None,
            grants_alone: false,
        };
        let file = match find::find(named) {
            Ok(file) => file,
            Err(faults) => return none(None, faults),
        };
        let text = match find::read(&file) {
            Ok(text) => text,
            Err(faults) => return none(file.exists().then_some(file), faults),
        };
        let (_, wrong) = Self::resolved(&text, &file, &find::variable, Secrets::IfThere);
        let (config, all) = Self::resolved(&text, &file, &find::variable, Secrets::Needed);
        let missing: Vec<Fault> = all.into_iter().filter(|fault| !wrong.contains(fault)).collect();
        let some = |list: Vec<Fault>| (!list.is_empty()).then(|| Faults::new(&file, &text, list));
        let grants_alone = wrong.iter().chain(&missing).all(|fault| grants(&text, fault));
        Diagnosed {
            config,
            faults: some(wrong),
            missing: some(missing),
            file: Some(file.clone()),
            grants_alone,
        }
    }
}

/// Whether a fault lies below the header of a plugin or of the secrets.
fn grants(text: &str, fault: &Fault) -> bool {
    let place = fault.span.as_ref().map(|span| span.start);
    let header = place.and_then(|place| header(text, place)).unwrap_or_default();
    ["plugin.", "secrets"].iter().any(|table| header.starts_with(table))
}
