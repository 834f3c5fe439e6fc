//! Whether what the configuration names of plugins is there: what is granted to nobody protects nobody.

use std::collections::{BTreeMap, BTreeSet};

use super::registry::{Bar, Registry};
use super::survey::Declared;
use crate::config::{Config, Fault, Faults, Mention};
use crate::model::id::ToolName;
use crate::model::manifest::{DeclaredOrigin, Manifest, Need, Tool};
use crate::model::nearest::nearest;
use crate::model::origin::OriginPattern;

/// What the configuration names and no plugin has. Of plugins that wait for their operator it is known that they are
/// there, and which tools they have.
pub fn missing(config: &Config, registry: &Registry) -> Option<Faults> {
    if let Some(bar) = registry.bar() {
        return Some(barred(config, bar));
    }
    let there = There::of(config, registry);
    config.mentions.faults(&config.file, |mention| there.fault(mention))
}

/// The same by what files declare, without a plugin that was loaded.
pub fn missing_of(config: &Config, declared: &Declared) -> Option<Faults> {
    let there = There::declared(config, declared);
    config.mentions.faults(&config.file, |mention| there.fault(mention))
}

/// The fault that no plugin at all can be taken: then nothing that is named can be there.
pub fn barred(config: &Config, bar: &Bar) -> Faults {
    Faults::new(&config.file, "", vec![Fault::new(bar.text.as_str()).help(bar.help.as_str())])
}

/// What is wrong, what belongs there, and what would mend it.
type Told = (String, String, String);

/// What there is.
struct There<'a> {
    config: &'a Config,
    /// The tools of each plugin.
    plugins: BTreeMap<&'a str, BTreeSet<ToolName>>,
    /// What the tools of each plugin need; nothing of one that waits.
    needs: BTreeMap<&'a str, Vec<&'a Need>>,
    /// The permissions that tools ask for; none where some plugin does not tell its own yet.
    permissions: Option<BTreeSet<&'a str>>,
    /// Whether some file is no plugin that can be used: any name may be that one's.
    doubtful: bool,
}

impl<'a> There<'a> {
    fn of(config: &'a Config, registry: &'a Registry) -> Self {
        let mut there = Self {
            config,
            plugins: BTreeMap::new(),
            needs: BTreeMap::new(),
            permissions: None,
            doubtful: !registry.faults().is_empty(),
        };
        if registry.waiting().is_empty() {
            let asked = registry.tools().flat_map(|entry| &entry.tool.permissions);
            there.permissions = Some(asked.map(String::as_str).collect());
        }
        for entry in registry.tools() {
            there.plugins.entry(&entry.name.plugin).or_default().insert(entry.name.clone());
            there.needs.entry(&entry.name.plugin).or_default().extend(&entry.tool.needs);
        }
        for (plugin, waiting) in registry.waiting() {
            let name = |tool: &String| ToolName { plugin: plugin.clone(), tool: tool.clone() };
            there.plugins.entry(plugin).or_default().extend(waiting.tools.keys().map(name));
        }
        there
    }

    fn declared(config: &'a Config, declared: &'a Declared) -> Self {
        let mut there = Self {
            config,
            plugins: BTreeMap::new(),
            needs: BTreeMap::new(),
            permissions: None,
            doubtful: !declared.unknown.is_empty(),
        };
        let asked = declared.manifests.iter().flat_map(|manifest| &manifest.tools);
        there.permissions = Some(asked.flat_map(|tool| &tool.permissions).map(String::as_str).collect());
        for Manifest { name, tools, .. } in &declared.manifests {
            let tool = |tool: &Tool| ToolName { plugin: name.clone(), tool: tool.name.clone() };
            there.plugins.entry(name).or_default().extend(tools.iter().map(tool));
            if !declared.waits.contains(name) {
                there.needs.entry(name).or_default().extend(tools.iter().flat_map(|tool| &tool.needs));
            }
        }
        there
    }

    fn fault(&self, mention: &Mention) -> Option<Told> {
        match mention {
            Mention::Plugin(name) => self.plugin(name),
            Mention::Tool(name) => self.tool(name),
            Mention::Permission(name) => self.permission(name),
            Mention::Value { plugin, key } => {
                let keys = self.needs.get(plugin.as_str())?.iter().flat_map(|need| keys(need)).collect();
                undeclared(plugin, "value", key, &keys)
            }
            Mention::Secret { plugin, name } => {
                let secrets = self.needs.get(plugin.as_str())?.iter().filter_map(|need| match need {
                    Need::Secret(need) => Some(need.name.as_str()),
                    Need::Http(_) | Need::Directory(..) | Need::Config(_) | Need::KeyValue => None,
                });
                undeclared(plugin, "secret", name, &secrets.collect())
            }
            Mention::Directory { plugin, name } => {
                let folders = self.needs.get(plugin.as_str())?.iter().filter_map(|need| match need {
                    Need::Directory(name, _) => Some(name.as_str()),
                    Need::Http(_) | Need::Secret(_) | Need::Config(_) | Need::KeyValue => None,
                });
                undeclared(plugin, "folder", name, &folders.collect())
            }
            Mention::KeyValue { plugin } => {
                let keeps =
                    self.needs.get(plugin.as_str())?.iter().any(|need| matches!(need, Need::KeyValue));
                (!keeps).then(|| {
                    let text = format!("the plugin {plugin} declares no key-value store");
                    (text, "a plugin that declares one".to_owned(), "leave it out".to_owned())
                })
            }
            Mention::Http { plugin, origin } => self.origin(plugin, origin),
        }
    }

    fn plugin(&self, name: &str) -> Option<Told> {
        if self.doubtful || self.plugins.contains_key(name) {
            return None;
        }
        let folder = self.config.plugins.display();
        let help = match (nearest(name, self.plugins.keys().copied()).first(), self.plugins.is_empty()) {
            (Some(near), _) => format!("did you mean `{near}`?"),
            (None, true) => format!("{folder} holds no plugins yet; put the .wasm file there"),
            (None, false) => {
                let names: Vec<&str> = self.plugins.keys().copied().collect();
                format!("put its .wasm file into {folder}; the plugins there are {}", names.join(", "))
            }
        };
        Some((format!("there is no plugin `{name}`"), format!("the name of a plugin in {folder}"), help))
    }

    fn tool(&self, name: &ToolName) -> Option<Told> {
        let Some(tools) = self.plugins.get(name.plugin.as_str()) else { return self.plugin(&name.plugin) };
        if tools.contains(name) {
            return None;
        }
        let names: Vec<String> = tools.iter().map(ToString::to_string).collect();
        let help = match nearest(&name.to_string(), names.iter().map(String::as_str)).first() {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("the tools of {} are {}", name.plugin, names.join(", ")),
        };
        Some((format!("there is no tool `{name}`"), "the name of a tool".to_owned(), help))
    }

    /// A permission that nobody asks for permits nothing, and may be for a tool to come; one that is nearly that of a tool is
    /// a slip, which takes from the caller what it was to have.
    fn permission(&self, name: &str) -> Option<Told> {
        let asked = self.permissions.as_ref().filter(|asked| !self.doubtful && !asked.contains(name))?;
        let near = *nearest(name, asked.iter().copied()).first()?;
        let text = format!("no tool asks for the permission `{name}`");
        Some((text, "a permission that a tool asks for".to_owned(), format!("did you mean `{near}`?")))
    }

    fn origin(&self, plugin: &str, origin: &OriginPattern) -> Option<Told> {
        let needs = self.needs.get(plugin)?;
        let declared: Vec<&DeclaredOrigin> = needs
            .iter()
            .filter_map(|need| match need {
                Need::Http(need) => Some(&need.origin),
                Need::Secret(_) | Need::Directory(..) | Need::Config(_) | Need::KeyValue => None,
            })
            .collect();
        if declared.iter().any(|declared| self.covers(plugin, declared, origin)) {
            return None;
        }
        let places: BTreeSet<String> =
            declared.iter().map(|declared| self.described(plugin, declared)).collect();
        let places: Vec<String> = places.into_iter().collect();
        let help = match places.as_slice() {
            [] => format!("leave the grant out: {plugin} sends no requests"),
            some => format!("{plugin} declares {}", some.join(" and ")),
        };
        Some((
            format!("the plugin {plugin} declares no requests to {origin}"),
            "an origin that it declares".to_owned(),
            help,
        ))
    }

    fn value(&self, plugin: &str, key: &str) -> Option<&str> {
        Some(self.config.grants.get(plugin)?.config.get(key)?)
    }

    fn covers(&self, plugin: &str, declared: &DeclaredOrigin, granted: &OriginPattern) -> bool {
        match declared {
            DeclaredOrigin::Granted => true,
            DeclaredOrigin::Fixed(pattern) => pattern.overlaps(granted),
            DeclaredOrigin::Configured(key) => {
                let value = self.value(plugin, key).and_then(|text| text.parse::<OriginPattern>().ok());
                value.is_some_and(|pattern| pattern.overlaps(granted))
            }
        }
    }

    fn described(&self, plugin: &str, declared: &DeclaredOrigin) -> String {
        match declared {
            DeclaredOrigin::Granted => "whatever is granted".to_owned(),
            DeclaredOrigin::Fixed(pattern) => pattern.to_string(),
            DeclaredOrigin::Configured(key) => match self.value(plugin, key) {
                Some(value) => format!("the origin in its value `{key}`, which is {value}"),
                None => format!("the origin in its value `{key}`, which is not set"),
            },
        }
    }
}

/// The keys of configuration values that a need names.
fn keys(need: &Need) -> Vec<&str> {
    let origins = match need {
        Need::Config(key) => return vec![key],
        Need::Http(need) => std::slice::from_ref(&need.origin),
        Need::Secret(need) => need.origins.as_slice(),
        Need::Directory(..) | Need::KeyValue => &[],
    };
    origins
        .iter()
        .filter_map(|origin| match origin {
            DeclaredOrigin::Configured(key) => Some(key.as_str()),
            DeclaredOrigin::Fixed(_) | DeclaredOrigin::Granted => None,
        })
        .collect()
}

fn undeclared(plugin: &str, kind: &str, name: &str, declared: &BTreeSet<&str>) -> Option<Told> {
    if declared.contains(name) {
        return None;
    }
    let help = match nearest(name, declared.iter().copied()).first() {
        Some(near) => format!("did you mean `{near}`?"),
        None if declared.is_empty() => format!("leave it out: {plugin} declares no {kind}"),
        None => {
            let names: Vec<&str> = declared.iter().copied().collect();
            format!("{plugin} declares {}", names.join(", "))
        }
    };
    Some((
        format!("the plugin {plugin} declares no {kind} `{name}`"),
        format!("a {kind} that it declares"),
        help,
    ))
}
