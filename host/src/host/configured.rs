//! The configuration that a host is opened with, and all of its faults that can be told before one is.

use std::path::Path;

use crate::config::{Config, Faults};
use crate::plugin::Bar;
use crate::plugin::lock::Lock;
use crate::plugin::mentions::{barred, missing_of};
use crate::plugin::survey::{Declared, survey};

/// Finds and reads the configuration. Where it has faults, what it names and no plugin has is among them, as far as
/// `airlock.lock` knows the plugins: none is loaded, and nothing is started.
///
/// # Errors
/// Where there is none, it is not obeyed, or it has faults: all of them.
pub fn configuration(named: Option<&Path>) -> Result<Config, Faults> {
    Config::load(named, |config| {
        let looked = survey(&config.plugins)
            .map_err(|error| Bar::folder(&config.plugins, &error.to_string()))
            .and_then(|surveyed| {
                let file = Lock::file(&config.file);
                let lock = Lock::read(&file).map_err(|text| Bar::lock(&file, &text))?;
                Ok((surveyed, lock))
            });
        let (surveyed, lock) = match looked {
            Ok(looked) => looked,
            Err(bar) => return Some(barred(config, &bar)),
        };
        missing_of(config, &Declared::by(&lock, &surveyed))
    })
}
