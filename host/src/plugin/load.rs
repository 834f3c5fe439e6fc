//! From a folder of files to a registry of tools; one bad file does not stop the others.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::audit::audit;
use super::registry::Registry;
use crate::config::Config;
use crate::model::id::Digest;
use crate::model::manifest::Manifest;
use crate::sandbox::engine::Refusal;
use crate::sandbox::logbook::Logbook;
use crate::sandbox::{Engine, Prepared};

/// The largest file that is read as a plugin.
const LARGEST: u64 = 64 << 20;

/// Why a file is not taken in, and what to do about it.
struct Fault {
    faults: Vec<String>,
    remedy: &'static str,
}

/// Loads every `.wasm` file of the configured folder.
pub async fn load(engine: &Engine, config: &Config) -> Registry {
    let mut registry = Registry::default();
    let files = match files(&config.plugins) {
        Ok(files) => files,
        Err(error) => {
            let text = format!("the folder of plugins cannot be read: {error}");
            registry.refuse(
                config.plugins.clone(),
                vec![text],
                "make the folder, or name another with `plugins` in airlock.toml",
            );
            return registry;
        }
    };
    for file in files {
        match plugin(engine, config, &file).await {
            Ok((digest, prepared, manifest)) => registry.add(file, digest, &prepared, &manifest, config),
            Err(Fault { faults, remedy }) => registry.refuse(file, faults, remedy),
        }
    }
    registry
}

fn files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| {
            // Compiled code is looked at too, to be refused by name.
            extension.eq_ignore_ascii_case("wasm") || extension.eq_ignore_ascii_case("cwasm")
        }) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

async fn plugin(
    engine: &Engine,
    config: &Config,
    file: &Path,
) -> Result<(Digest, Prepared, Manifest), Fault> {
    let bytes = read(file)
        .map_err(|text| Fault { faults: vec![text], remedy: "look at the file and its permissions" })?;
    let digest = Digest::of(&bytes);
    let compiled = engine.compile(bytes).await;
    let prepared = compiled.and_then(|compiled| engine.prepare(&compiled)).map_err(refused)?;
    let log = Logbook::new(config.limits.log);
    let declared = engine.describe(prepared.clone(), &config.limits, &log).await;
    let declared = declared.map_err(|text| Fault {
        faults: text.lines().map(str::to_owned).collect(),
        remedy: "mend the plugin's `describe` and build it again",
    })?;
    let manifest = audit(declared)
        .map_err(|faults| Fault { faults, remedy: "mend the manifest and build the plugin again" })?;
    Ok((digest, prepared, manifest))
}

/// Reads the whole of a regular file, once: what is hashed is what is compiled.
fn read(path: &Path) -> Result<Vec<u8>, String> {
    let failed = |error: std::io::Error| format!("it cannot be read: {error}");
    // Looked at before it is opened: opening a pipe waits for somebody to write to it.
    if !fs::metadata(path).map_err(failed)?.is_file() {
        return Err("it is no regular file".to_owned());
    }
    let file = fs::File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if metadata.len() > LARGEST {
        return Err(format!("it has {} bytes and may have {LARGEST}", metadata.len()));
    }
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

fn refused(refusal: Refusal) -> Fault {
    let one = |text: String, remedy| Fault { faults: vec![text], remedy };
    match refusal {
        Refusal::MachineCode => one(
            "it is compiled code (.cwasm), which is never taken from outside".to_owned(),
            "put the component itself there; the host compiles it",
        ),
        Refusal::Module => one(
            "it is a core WebAssembly module and no component".to_owned(),
            "build for wasm32-wasip2, or wrap it with `wasm-tools component new`",
        ),
        Refusal::NotWasm(text) => {
            one(format!("it is no WebAssembly: {text}"), "put a component there, or remove the file")
        }
        Refusal::Compile(text) => one(
            format!("it cannot be compiled: {}", text.lines().next().unwrap_or_default()),
            "copy the file again if it is cut short; else build it without options that the host leaves out",
        ),
        Refusal::Imports(missing) => Fault {
            faults: missing
                .into_iter()
                .map(|name| format!("it imports {name}, which this host does not have"))
                .collect(),
            remedy: "build the plugin against the contract that this host has (wit/plugin.wit), without that import",
        },
        Refusal::Exports(text) => one(
            format!(
                "it does not export airlock:plugin/tools@0.1.0: {}",
                text.lines().next().unwrap_or_default()
            ),
            "export `describe` and `call` as wit/plugin.wit says",
        ),
    }
}
