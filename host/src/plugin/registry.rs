//! The tools that there are, by name, and what keeps other plugins from being there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::audit::doubts;
use super::lock::{Lock, Pin};
use super::schema::Schema;
use super::workshop::Code;
use crate::config::{Config, Pinning};
use crate::model::caller::Confirm;
use crate::model::id::{Digest, ToolName};
use crate::model::limits::{AttemptTime, Says};
use crate::model::manifest::{Manifest, Risk, Tool};
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
    pub code: Arc<Code>,
    /// What it is given.
    pub grants: Arc<Grants>,
    /// What its input must be.
    pub input: Arc<Schema>,
    /// What its output must be.
    pub output: Option<Arc<Schema>>,
    /// Whether a person must say yes.
    pub confirm: bool,
    /// How long one attempt may take.
    pub attempt: AttemptTime,
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

/// A plugin that would be called if its operator had accepted it as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// Its name.
    pub plugin: String,
    /// Its file.
    pub file: PathBuf,
    /// The digest of its file.
    pub digest: Digest,
    /// What changed since it was accepted; nothing where it never was.
    pub changes: Vec<String>,
    /// The highest risk of each tool, as it was accepted and as it is.
    pub tools: BTreeMap<String, Risk>,
}

/// What about a plugin makes one look twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doubts {
    /// Its name.
    pub plugin: String,
    /// Its file.
    pub file: PathBuf,
    /// Each a sentence.
    pub doubts: Vec<String>,
}

/// A plugin that was compiled, described and audited.
#[derive(Debug)]
pub struct Plugin {
    /// Its file.
    pub file: PathBuf,
    /// The digest of its file.
    pub digest: Digest,
    /// What it declares.
    pub manifest: Manifest,
    /// What makes one look twice.
    pub doubts: Vec<String>,
    /// Its code.
    pub code: Arc<Code>,
    /// Schemas of its tools, in their order.
    pub(super) schemas: Vec<Schemas>,
}

/// The compiled schemas of a tool: of its input, and of its output where it has one.
pub(super) type Schemas = (Arc<Schema>, Option<Arc<Schema>>);

impl Plugin {
    pub(super) fn schemas(manifest: &Manifest) -> Result<Vec<Schemas>, Vec<String>> {
        let compile = |tool: &Tool| {
            let input = Arc::new(Schema::compile(&tool.input_schema)?);
            let output = tool.output_schema.as_ref().map(Schema::compile).transpose()?;
            Ok((input, output.map(Arc::new)))
        };
        manifest.tools.iter().map(compile).collect()
    }
}

/// All tools, and what is not among them.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    tools: BTreeMap<ToolName, Arc<Entry>>,
    waiting: BTreeMap<String, Waiting>,
    doubts: Vec<Doubts>,
    faults: Vec<PluginFault>,
    barred: Option<Bar>,
}

/// Why no plugin at all can be taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bar {
    /// What stands in the way.
    pub text: String,
    /// What would mend it.
    pub help: String,
}

impl Bar {
    /// The folder of plugins cannot be read.
    pub fn folder(folder: &Path, why: &str) -> Self {
        Self {
            text: format!("the folder of plugins cannot be read: {}: {why}", folder.display()),
            help: "make the folder, or name another with `plugins`".to_owned(),
        }
    }

    /// What was accepted cannot be read or written down.
    pub fn lock(file: &Path, why: &str) -> Self {
        Self {
            text: format!("no plugin can be taken without {}: {why}", file.display()),
            help: "mend the file and its folder, and look at what `airlock tools` says; without the file, each plugin counts as seen for the first time".to_owned(),
        }
    }
}

impl Registry {
    /// A registry into which nothing can be taken.
    pub(super) fn barred(bar: Bar) -> Self {
        Self { barred: Some(bar), ..Self::default() }
    }

    /// Why nothing can be taken, where that is so.
    pub fn bar(&self) -> Option<&Bar> {
        self.barred.as_ref()
    }

    /// Takes plugins in: each under its name, as it was accepted, or as it is where it was never seen.
    pub(super) fn admit(&mut self, plugins: Vec<Arc<Plugin>>, config: &Config) {
        let plugins = self.of_one_name(plugins);
        let names: Vec<&str> = plugins.iter().map(|plugin| plugin.manifest.name.as_str()).collect();
        let mut alike = doubts::alike(&names);
        let file = Lock::file(&config.file);
        let lock = match accepted(&file, &plugins, config) {
            Ok(lock) => lock,
            Err(text) => {
                self.barred = Some(Bar::lock(&file, &text));
                return;
            }
        };
        for plugin in plugins {
            let name = &plugin.manifest.name;
            let doubts: Vec<String> = plugin.doubts.iter().cloned().chain(alike.remove(name)).collect();
            if !doubts.is_empty() {
                self.doubts.push(Doubts { plugin: name.clone(), file: plugin.file.clone(), doubts });
            }
            match lock.pin(name) {
                Some(pin) if pin.holds(plugin.digest, plugin.code.works().manifest) => {
                    self.add(&plugin, config);
                }
                pin => {
                    self.waiting.insert(name.clone(), waiting(&plugin, pin));
                }
            }
        }
    }

    fn add(&mut self, plugin: &Arc<Plugin>, config: &Config) {
        let tools = plugin.manifest.tools.iter().zip(&plugin.schemas);
        let entries = tools.map(|(tool, schemas)| entry(tool, plugin, schemas, config));
        self.tools.extend(entries.map(|entry| (entry.name.clone(), Arc::new(entry))));
    }

    /// Refuses all of several plugins with one name: what is granted to the name is granted to one of them, and nobody
    /// but the operator knows to which.
    fn of_one_name(&mut self, plugins: Vec<Arc<Plugin>>) -> Vec<Arc<Plugin>> {
        const REMEDY: &str = "remove the file that is not meant, or give it another name in its manifest";
        let mut named: BTreeMap<String, Vec<Arc<Plugin>>> = BTreeMap::new();
        for plugin in plugins {
            named.entry(plugin.manifest.name.clone()).or_default().push(plugin);
        }
        let mut alone = Vec::new();
        for (name, mut plugins) in named {
            if plugins.len() == 1 {
                alone.append(&mut plugins);
                continue;
            }
            for plugin in &plugins {
                let others = plugins.iter().filter(|other| other.file != plugin.file);
                let text =
                    others.map(|other| format!("its name `{name}` is also that of {}", other.file.display()));
                let text = text.collect();
                self.refuse(plugin.file.clone(), text, REMEDY);
            }
        }
        alone
    }

    /// Notes why a file is not among the plugins.
    pub(super) fn refuse(&mut self, file: PathBuf, faults: Vec<String>, remedy: &str) {
        self.faults.push(PluginFault { file, faults, remedy: remedy.to_owned() });
        self.faults.sort_by(|one, other| one.file.cmp(&other.file));
    }

    /// The tool of this name.
    pub fn get(&self, name: &ToolName) -> Option<&Arc<Entry>> {
        self.tools.get(name)
    }

    /// The tool of this name, if it is one at all.
    pub fn named(&self, name: &str) -> Option<&Arc<Entry>> {
        name.parse().ok().and_then(|name| self.tools.get(&name))
    }

    /// All tools, in the order of their names.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.tools.values()
    }

    /// Plugins that wait for their operator, by name.
    pub fn waiting(&self) -> &BTreeMap<String, Waiting> {
        &self.waiting
    }

    /// What makes one look twice at plugins that are there, or wait.
    pub fn doubts(&self) -> &[Doubts] {
        &self.doubts
    }

    /// Why other files are not among the plugins.
    pub fn faults(&self) -> &[PluginFault] {
        &self.faults
    }
}

/// What was accepted; plugins that were never seen are, unless the operator wants to be asked.
fn accepted(file: &Path, plugins: &[Arc<Plugin>], config: &Config) -> Result<Lock, String> {
    let lock = Lock::read(file)?;
    if config.pinning == Pinning::Strict {
        return Ok(lock);
    }
    let unseen = plugins.iter().filter(|plugin| lock.pin(&plugin.manifest.name).is_none());
    let pins: Vec<_> = unseen.map(|plugin| (plugin.manifest.name.clone(), plugin.pin())).collect();
    if pins.is_empty() { Ok(lock) } else { Lock::add(file, &config.state, pins) }
}

fn waiting(plugin: &Plugin, pin: Option<&Pin>) -> Waiting {
    let mut tools: BTreeMap<String, Risk> = BTreeMap::new();
    let accepted = pin.and_then(Pin::accepted).into_iter().flat_map(|manifest| manifest.tools);
    let accepted = accepted.map(|tool| (tool.name, Risk::from(tool.risk)));
    let declared = plugin.manifest.tools.iter().map(|tool| (tool.name.clone(), tool.risk));
    for (name, risk) in accepted.chain(declared) {
        let highest = tools.entry(name).or_insert(risk);
        *highest = risk.max(*highest);
    }
    Waiting {
        plugin: plugin.manifest.name.clone(),
        file: plugin.file.clone(),
        digest: plugin.digest,
        changes: pin.map(|pin| pin.difference(&plugin.code.works().declared)).unwrap_or_default(),
        tools,
    }
}

fn entry(tool: &Tool, plugin: &Plugin, (input, output): &Schemas, config: &Config) -> Entry {
    let manifest = &plugin.manifest;
    let name = ToolName { plugin: manifest.name.clone(), tool: tool.name.clone() };
    let granted = config.grants.get(&manifest.name).cloned().unwrap_or_default();
    let rules = config.tools.get(&name).cloned().unwrap_or_default();
    let confirm = match rules.confirm {
        Some(Confirm::Nobody) => false,
        Some(Confirm::Person) => true,
        None => tool.risk >= Risk::L4,
    };
    let attempt = match (rules.timeout, tool.timeout) {
        (Some(time), _) => AttemptTime { time, says: Says::Rule(name.clone()) },
        (None, Some(time)) if time < config.limits.attempt => AttemptTime { time, says: Says::Tool },
        (None, Some(_) | None) => AttemptTime { time: config.limits.attempt, says: Says::Limits },
    };
    Entry {
        grants: Arc::new(Grants::of(&manifest.name, tool, &granted, &config.secrets)),
        input: Arc::clone(input),
        output: output.clone(),
        tool: tool.clone(),
        version: manifest.version.clone(),
        code: Arc::clone(&plugin.code),
        attempt,
        name,
        digest: plugin.digest,
        confirm,
    }
}
