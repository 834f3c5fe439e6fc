//! What an author or an operator is told of one file before it is put into the folder.

use std::path::Path;
use std::sync::Arc;

use super::audit::doubts::{Explained, explain};
use super::load::Loader;
use super::registry::Plugin;
use crate::config::Config;
use crate::model::id::Digest;
use crate::model::manifest::Manifest;

/// What was found in a file.
#[derive(Debug)]
pub struct Checked {
    /// What it declares; none where it has faults.
    pub manifest: Option<Manifest>,
    /// The digest of the file; none where it has faults.
    pub digest: Option<Digest>,
    /// What it imports, each with what explains it.
    pub imports: Vec<Explained>,
    /// The interfaces that it exports.
    pub exports: Vec<String>,
    /// What keeps it from being a plugin.
    pub faults: Vec<String>,
    /// What to do about the faults.
    pub remedy: Option<String>,
    /// What makes one look twice.
    pub doubts: Vec<String>,
}

/// Examines a file as if it lay in the folder of plugins, and anew if it was examined before.
pub async fn check(loader: &Loader, file: &Path, config: &Config) -> Checked {
    match loader.examine(file, config).await {
        Ok(plugin) => found(&plugin),
        Err((faults, remedy)) => Checked {
            manifest: None,
            digest: None,
            imports: Vec::new(),
            exports: Vec::new(),
            faults,
            remedy: Some(remedy),
            doubts: Vec::new(),
        },
    }
}

fn found(plugin: &Arc<Plugin>) -> Checked {
    let surface = &plugin.code.works().surface;
    Checked {
        imports: explain(&plugin.manifest, surface),
        exports: surface.exports.clone(),
        manifest: Some(plugin.manifest.clone()),
        digest: Some(plugin.digest),
        faults: Vec::new(),
        remedy: None,
        doubts: plugin.doubts.clone(),
    }
}
