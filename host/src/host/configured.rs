//! The configuration that a host is opened with, and all of its faults that can be told before one is.

use std::path::Path;

use crate::config::{Config, Diagnosed, Faults};
use crate::plugin::Bar;
use crate::plugin::lock::Lock;
use crate::plugin::mentions::{barred, missing_of};
use crate::plugin::survey::{Declared, survey};

/// The configuration for whoever only looks: where nothing is wrong with it but grants and secrets, what is left of it, beside
/// its faults.
///
/// # Errors
/// As [`configuration`], where anything else is wrong.
pub fn configuration_to_list(named: Option<&Path>) -> Result<(Config, Option<Faults>), Faults> {
    let faults = match configuration(named) {
        Ok(config) => return Ok((config, None)),
        Err(faults) => faults,
    };
    match Config::diagnose(named) {
        Diagnosed { config: Some(config), grants_alone: true, .. } => Ok((config, Some(faults))),
        Diagnosed { .. } => Err(faults),
    }
}

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
