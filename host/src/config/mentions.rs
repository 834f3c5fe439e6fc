//! What the configuration names of plugins, and where: only once they are loaded can it be told whether it is there.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use toml::Spanned;

use super::faults::{Fault, Faults};
use super::read::Named;
use super::written::Written;
use crate::model::caller::ToolPattern;
use crate::model::id::ToolName;
use crate::model::origin::OriginPattern;

/// One thing that a plugin must have, or what is said of it means nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mention {
    /// The plugin itself.
    Plugin(String),
    /// A configuration value that it is given.
    Value {
        /// The plugin.
        plugin: String,
        /// The value's key.
        key: String,
    },
    /// A secret that it may use.
    Secret {
        /// The plugin.
        plugin: String,
        /// The secret's name.
        name: String,
    },
    /// A folder that it is lent.
    Directory {
        /// The plugin.
        plugin: String,
        /// The folder's name.
        name: String,
    },
    /// That it may keep values of its own.
    KeyValue {
        /// The plugin.
        plugin: String,
    },
    /// Requests that it may send.
    Http {
        /// The plugin.
        plugin: String,
        /// Where to.
        origin: OriginPattern,
    },
    /// A tool.
    Tool(ToolName),
    /// What a caller is permitted, by the name that tools have for it.
    Permission(String),
}

/// All of them, with their places.
#[derive(Debug, Clone, Default)]
pub struct Mentions {
    text: Arc<str>,
    list: Vec<(Range<usize>, Mention)>,
}

impl Mentions {
    /// What the file with this text names.
    pub(super) fn of(text: &str, written: &Written) -> Self {
        let mut list = Vec::new();
        plugins(written, &mut list);
        tools(written, &mut list);
        Self { text: text.into(), list }
    }

    /// Judges each: the faults, if there are any, in a file of this name. A judge that finds a fault says what is wrong,
    /// what belongs there, and what would mend it.
    pub fn faults(
        &self,
        file: &Path,
        judge: impl Fn(&Mention) -> Option<(String, String, String)>,
    ) -> Option<Faults> {
        let judged = |(place, mention): &(Range<usize>, Mention)| {
            let (text, expected, help) = judge(mention)?;
            Some(Fault::at(place.clone(), text).expected(expected).help(help))
        };
        let faults: Vec<Fault> = self.list.iter().filter_map(judged).collect();
        (!faults.is_empty()).then(|| Faults::new(file, &self.text, faults))
    }
}

fn entries<K, T>(named: Option<&Spanned<Named<K, T>>>) -> impl Iterator<Item = (&Spanned<K>, &T)> {
    let entries = named.map(|named| named.get_ref().entries.as_slice()).unwrap_or_default();
    entries.iter().map(|(name, value)| (name, value.get_ref()))
}

fn items<T>(list: Option<&Spanned<Vec<Spanned<T>>>>) -> impl Iterator<Item = &Spanned<T>> {
    list.map(|list| list.get_ref().as_slice()).unwrap_or_default().iter()
}

fn plugins(written: &Written, list: &mut Vec<(Range<usize>, Mention)>) {
    for (name, grants) in entries(written.plugin.as_ref()) {
        let plugin = || name.get_ref().0.clone();
        list.push((name.span(), Mention::Plugin(plugin())));
        let values = entries(grants.config.as_ref())
            .map(|(key, _)| (key.span(), Mention::Value { plugin: plugin(), key: key.get_ref().clone() }));
        let secrets = items(grants.secrets.as_ref())
            .map(|name| (name.span(), Mention::Secret { plugin: plugin(), name: name.get_ref().0.clone() }));
        // Where a value cannot be read, nobody knows which origin a need means by it.
        let unread = grants.config.as_ref().is_some_and(|values| !values.get_ref().faulty.is_empty());
        let origins = items(grants.http.as_ref()).filter_map(|grant| grant.get_ref().origin.as_ref());
        let origins = origins.filter(|_| !unread);
        let http = origins.map(|origin| {
            (origin.span(), Mention::Http { plugin: plugin(), origin: origin.get_ref().clone() })
        });
        let directories = entries(grants.directories.as_ref()).map(|(name, _)| {
            (name.span(), Mention::Directory { plugin: plugin(), name: name.get_ref().0.clone() })
        });
        let kept = grants.key_value.as_ref().filter(|granted| *granted.get_ref());
        let kept = kept.map(|granted| (granted.span(), Mention::KeyValue { plugin: plugin() }));
        list.extend(values.chain(secrets).chain(kept).chain(http).chain(directories));
    }
}

fn tools(written: &Written, list: &mut Vec<(Range<usize>, Mention)>) {
    let tool = |name: &Spanned<ToolName>| (name.span(), Mention::Tool(name.get_ref().clone()));
    for (_, caller) in entries(written.callers.as_ref()) {
        let permissions = items(caller.permissions.as_ref());
        list.extend(permissions.map(|name| (name.span(), Mention::Permission(name.get_ref().clone()))));
        list.extend(items(caller.tools.as_ref()).filter_map(pattern));
        list.extend(entries(caller.confirm.as_ref()).map(|(name, _)| tool(name)));
    }
    for (_, scene) in entries(written.scenes.as_ref()) {
        list.extend(items(scene.tools.as_ref()).filter_map(pattern));
    }
    for (name, rules) in entries(written.tools.as_ref()) {
        list.push(tool(name));
        list.extend(rules.fallback.as_ref().map(tool));
    }
    let names = written.mcp.as_ref().and_then(|mcp| mcp.get_ref().names.as_ref());
    list.extend(entries(names).map(|(name, _)| tool(name)));
}

fn pattern(written: &Spanned<ToolPattern>) -> Option<(Range<usize>, Mention)> {
    let pattern = written.get_ref();
    let plugin = pattern.plugin().map(|plugin| Mention::Plugin(plugin.to_owned()));
    let mention = plugin.or_else(|| pattern.tool().map(Mention::Tool))?;
    Some((written.span(), mention))
}
