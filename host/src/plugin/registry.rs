//! The tools that there are, by name, and what keeps other plugins from being there.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::schema::Schema;
use crate::config::{Config, Confirm};
use crate::model::id::{Digest, ToolName};
use crate::model::manifest::{Manifest, Need, Risk, Tool};
use crate::sandbox::Prepared;
use crate::sandbox::grants::Grants;

/// A tool, ready to be called.
#[derive(Debug)]
pub struct Entry {
    /// Its whole name.
    pub name: ToolName,
    /// What it declares.
    pub tool: Tool,
    /// The version of its plugin.
    pub version: String,
    /// The digest of its plugin's file.
    pub digest: Digest,
    /// What instances are made from.
    pub prepared: Prepared,
    /// What it is given.
    pub grants: Arc<Grants>,
    /// What its input must be.
    pub input: Schema,
    /// What its output must be.
    pub output: Option<Schema>,
    /// Whether a person must say yes.
    pub confirm: bool,
    /// How long one attempt may take.
    pub attempt: Duration,
}

/// Why a file of the folder is not among the plugins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginFault {
    /// The file.
    pub file: PathBuf,
    /// What is wrong with it, all of it.
    pub faults: Vec<String>,
    /// What to do.
    pub remedy: String,
}

/// All tools, and the faults of what is not among them.
#[derive(Debug, Default)]
pub struct Registry {
    tools: BTreeMap<ToolName, Arc<Entry>>,
    files: BTreeMap<String, PathBuf>,
    faults: Vec<PluginFault>,
}

impl Registry {
    /// Takes a plugin in, or notes why not.
    pub(super) fn add(
        &mut self,
        file: PathBuf,
        digest: Digest,
        prepared: &Prepared,
        manifest: &Manifest,
        config: &Config,
    ) {
        if let Some(other) = self.files.get(&manifest.name).cloned() {
            self.clash(&manifest.name, other, file);
            return;
        }
        let mut faults = Vec::new();
        let mut entries = Vec::new();
        for tool in &manifest.tools {
            match entry(tool, manifest, digest, prepared, config) {
                Ok(entry) => entries.push(entry),
                Err(more) => {
                    faults.extend(more.into_iter().map(|text| format!("tool \"{}\": {text}", tool.name)))
                }
            }
        }
        if !faults.is_empty() {
            self.refuse(file, faults, "mend the manifest and build the plugin again");
            return;
        }
        self.files.insert(manifest.name.clone(), file);
        self.tools.extend(entries.into_iter().map(|entry| (entry.name.clone(), Arc::new(entry))));
    }

    /// Refuses both of two plugins with one name: what is granted to the name is granted to one of them, and nobody
    /// but the operator knows to which.
    fn clash(&mut self, name: &str, first: PathBuf, second: PathBuf) {
        const REMEDY: &str = "remove the file that is not meant, or give it another name in its manifest";
        self.tools.retain(|tool, _| tool.plugin != name);
        let text = |other: &PathBuf| vec![format!("its name `{name}` is also that of {}", other.display())];
        if !self.faults.iter().any(|fault| fault.file == first) {
            self.refuse(first.clone(), text(&second), REMEDY);
        }
        let fault = text(&first);
        self.refuse(second, fault, REMEDY);
    }

    /// Notes why a file is not among the plugins.
    pub(super) fn refuse(&mut self, file: PathBuf, faults: Vec<String>, remedy: &str) {
        self.faults.push(PluginFault { file, faults, remedy: remedy.to_owned() });
    }

    /// The tool of this name.
    pub fn get(&self, name: &ToolName) -> Option<&Arc<Entry>> {
        self.tools.get(name)
    }

    /// All tools, in the order of their names.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.tools.values()
    }

    /// Why other files are not among the plugins.
    pub fn faults(&self) -> &[PluginFault] {
        &self.faults
    }
}

fn entry(
    tool: &Tool,
    manifest: &Manifest,
    digest: Digest,
    prepared: &Prepared,
    config: &Config,
) -> Result<Entry, Vec<String>> {
    let lent = tool.needs.iter().filter_map(|need| match need {
        Need::Directory(name, _) => Some(format!("it needs the folder `{name}`, and this host lends none")),
        Need::KeyValue => Some("it needs a key-value store, and this host has none".to_owned()),
        Need::Http(_) | Need::Secret(_) | Need::Config(_) => None,
    });
    let faults: Vec<_> = lent.collect();
    if !faults.is_empty() {
        return Err(faults);
    }
    let name = ToolName { plugin: manifest.name.clone(), tool: tool.name.clone() };
    let granted = config.grants.get(&manifest.name).cloned().unwrap_or_default();
    let rules = config.tools.get(&name).cloned().unwrap_or_default();
    let confirm = match rules.confirm {
        Some(Confirm::Nobody) => false,
        Some(Confirm::Person) => true,
        None => tool.risk >= Risk::L4,
    };
    let declared = tool.timeout.unwrap_or(config.limits.attempt).min(config.limits.attempt);
    Ok(Entry {
        grants: Arc::new(Grants::of(&manifest.name, tool, &granted, &config.secrets)),
        input: Schema::compile(&tool.input_schema)?,
        output: tool.output_schema.as_ref().map(Schema::compile).transpose()?,
        tool: tool.clone(),
        version: manifest.version.clone(),
        prepared: prepared.clone(),
        attempt: rules.timeout.unwrap_or(declared),
        name,
        digest,
        confirm,
    })
}
