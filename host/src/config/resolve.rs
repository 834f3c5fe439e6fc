//! From the file as written to the configuration that the host runs by: defaults, secrets, and what must fit together.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use toml::Spanned;

use super::directories::{self, Own};
use super::faults::Fault;
use super::mentions::Mentions;
use super::read::Named;
use super::resolved::{Config, HttpGrant, PluginGrants, ToolRules};
use super::secrets::Secrets;
use super::written::{self, McpName, PluginName, SecretName, Written};
use super::{bounds, budgets, callers, log, loops, regular, retries, secrets, tools};
use crate::model::id::ToolName;
use crate::model::limits::Limits;
use crate::model::nearest::nearest;

/// The longest file of certificates: more than the whole web trusts.
const MOST_ROOTS: u64 = 16 << 20;

/// Resolves what was written in `file`, which has this text; `env` gives the variables of the environment.
pub(super) fn resolve(
    written: Written,
    text: &str,
    file: &Path,
    env: &dyn Fn(&str) -> Option<String>,
    needed: Secrets,
    faults: &mut Vec<Fault>,
) -> Config {
    let folder = file.parent().unwrap_or(Path::new(""));
    let mentions = Mentions::of(text, &written);
    let currency = budgets::currency(&written, faults);
    let scenes = callers::scenes(value(written.scenes), faults);
    let retried = tools::retried(written.tools.as_ref());
    let tools = tools::tools(value(written.tools), faults);
    let longest = tools.values().filter_map(|rules| rules.timeout).max().unwrap_or_default();
    let limits = bounds::limits(value(written.limits), longest, faults);
    let names = names(written.secrets.as_ref());
    let (plugins, state) = folders(written.plugins, written.state, folder, faults);
    let (retries, retries_in_background) =
        retries::retries(value(written.retries), &retried, limits.run, faults);
    let log = log::log(value(written.log), folder, faults);
    let own = Own::of(folder, &plugins, &state, log.file.as_deref());
    Config {
        file: file.to_owned(),
        grants: grants(value(written.plugin), &names, &limits, &tools, &own, faults),
        callers: callers::callers(value(written.callers), &scenes, faults),
        secrets: secrets::secrets(value(written.secrets), folder, env, needed, faults),
        roots: roots(value(written.http), folder, faults),
        pinning: value(written.lock),
        compile: bounds::compile(value(written.compile), faults),
        retries,
        retries_in_background,
        breaker: retries::breaker(value(written.breaker), faults),
        budgets: budgets::budgets(value(written.budgets), currency),
        prices: budgets::prices(value(written.prices), faults),
        probe: retries::probe(value(written.probe), faults),
        loops: loops::loops(value(written.loops), faults),
        mcp_names: mcp_names(value(value(written.mcp).names), faults),
        mentions,
        scenes,
        plugins,
        state,
        log,
        limits,
        tools,
    }
}

/// What was written, or the default.
pub(super) fn value<T: Default>(written: Option<Spanned<T>>) -> T {
    written.map(Spanned::into_inner).unwrap_or_default()
}

pub(super) fn values<T>(written: Option<Spanned<Vec<Spanned<T>>>>) -> impl Iterator<Item = T> {
    value(written).into_iter().map(Spanned::into_inner)
}

fn folders(
    plugins: Option<Spanned<String>>,
    state: Option<Spanned<String>>,
    folder: &Path,
    faults: &mut Vec<Fault>,
) -> (PathBuf, PathBuf) {
    let span = state.as_ref().or(plugins.as_ref()).map(Spanned::span);
    let path = |written: Option<Spanned<String>>, usual: &str| {
        folder.join(written.map_or_else(|| usual.to_owned(), Spanned::into_inner))
    };
    let (plugins, state) = (path(plugins, "plugins"), path(state, ".airlock"));
    if let (Some(span), true) = (span, straight(&state).starts_with(straight(&plugins))) {
        let text = "the state folder lies in the folder of plugins";
        faults.push(Fault::at(span, text).expected(format!("a folder outside of {}", plugins.display())));
    }
    (plugins, state)
}

/// The absolute path without `.` and `..`, as far as its letters tell.
pub(super) fn straight(path: &Path) -> PathBuf {
    let mut straight = PathBuf::new();
    for part in std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).components() {
        match part {
            Component::ParentDir => {
                straight.pop();
            }
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => straight.push(part),
        }
    }
    straight
}

/// The names that tools have over MCP. A name that two tools would have is nobody's.
fn mcp_names(written: Named<ToolName, McpName>, faults: &mut Vec<Fault>) -> BTreeMap<ToolName, String> {
    let renamed: BTreeSet<String> = written.entries.iter().map(|(tool, _)| usual(tool.get_ref())).collect();
    let mut names: BTreeMap<ToolName, String> = BTreeMap::new();
    for (tool, name) in written.entries {
        let (tool, place, name) = (tool.into_inner(), name.span(), name.into_inner().0);
        let clash = |text: String| Fault::at(place, text).expected("a name that no other tool has");
        if let Some((other, _)) = names.iter().find(|(_, taken)| **taken == name) {
            faults.push(clash(format!("`{name}` is already the name of {other}")));
        } else if let Some(other) = named_so(&name).filter(|other| *other != tool && !renamed.contains(&name))
        {
            faults.push(clash(format!("`{name}` is what {other} is called unless it has a name of its own")));
        } else {
            names.insert(tool, name);
        }
    }
    names
}

/// What a tool is called over MCP where nothing else is said.
fn usual(tool: &ToolName) -> String {
    format!("{}__{}", tool.plugin, tool.tool)
}

/// The tool that is called so where nothing else is said.
fn named_so(name: &str) -> Option<ToolName> {
    let (plugin, tool) = name.split_once("__")?;
    format!("{plugin}.{tool}").parse().ok()
}

/// The names under `[secrets]`.
fn names(written: Option<&Spanned<Named<SecretName, written::Secret>>>) -> BTreeSet<String> {
    let Some(named) = written.map(Spanned::get_ref) else { return BTreeSet::new() };
    named
        .entries
        .iter()
        .map(|(name, _)| name.get_ref())
        .chain(&named.faulty)
        .map(|name| name.0.clone())
        .collect()
}

fn grants(
    written: Named<PluginName, written::Plugin>,
    secrets: &BTreeSet<String>,
    limits: &Limits,
    tools: &BTreeMap<ToolName, ToolRules>,
    own: &Own,
    faults: &mut Vec<Fault>,
) -> BTreeMap<String, PluginGrants> {
    let mut grants = BTreeMap::new();
    for (name, plugin) in written.entries {
        let (name, plugin) = (name.into_inner().0, plugin.into_inner());
        let config = value(plugin.config).entries.into_iter();
        let timeouts =
            tools.iter().filter(|(tool, _)| tool.plugin == name).filter_map(|(_, rules)| rules.timeout);
        let longest = timeouts.chain([limits.attempt]).max().unwrap_or(limits.attempt);
        let granted = PluginGrants {
            config: config.map(|(key, value)| (key.into_inner(), value.into_inner().0)).collect(),
            secrets: known_secrets(value(plugin.secrets), secrets, faults),
            key_value: value(plugin.key_value),
            directories: directories::directories(value(plugin.directories), &name, own, faults),
            http: value(plugin.http)
                .into_iter()
                .filter_map(|grant| http(grant, &name, longest, faults))
                .collect(),
        };
        grants.insert(name, granted);
    }
    grants
}

fn known_secrets(
    written: Vec<Spanned<SecretName>>,
    known: &BTreeSet<String>,
    faults: &mut Vec<Fault>,
) -> BTreeSet<String> {
    for name in &written {
        let (place, name) = (name.span(), &name.get_ref().0);
        if !known.contains(name) {
            let fault =
                Fault::at(place, format!("there is no secret `{name}`")).expected("a name under [secrets]");
            faults.push(fault.help(match nearest(name, known.iter().map(String::as_str)).first() {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("write under [secrets]: {name} = {{ env = \"{}\" }}", name.to_uppercase()),
            }));
        }
    }
    written.into_iter().map(|name| name.into_inner().0).collect()
}

fn http(
    grant: Spanned<written::Grant>,
    plugin: &str,
    longest: Duration,
    faults: &mut Vec<Fault>,
) -> Option<HttpGrant> {
    let (place, grant) = (grant.span(), grant.into_inner());
    let path = format!("plugin.{plugin}.http");
    let has = |key: &str| grant.keys.iter().any(|written| written == key);
    let mut lacks = |key: &str, line: &str| {
        let fault =
            Fault::at(place.clone(), format!("`{path}` lacks `{key}`")).expected(format!("needs `{key}`"));
        faults.push(fault.help(line));
    };
    if !has("origin") {
        lacks("origin", "origin = \"https://api.example.com\"");
    }
    if !has("methods") {
        lacks("methods", "methods = [\"GET\"]");
    }
    let mut empty = |place: Option<Range<usize>>, key: &str, help: &str| {
        let fault =
            place.map(|place| Fault::at(place, format!("`{path}.{key}` is empty")).expected("at least one"));
        faults.extend(fault.map(|fault| fault.help(help)));
    };
    let hollow = |list: &Spanned<Vec<_>>| list.get_ref().is_empty().then(|| list.span());
    empty(
        grant.methods.as_ref().and_then(hollow),
        "methods",
        "leave the whole grant out where nothing is to be sent",
    );
    let hollow = |list: &Spanned<Vec<_>>| list.get_ref().is_empty().then(|| list.span());
    empty(grant.paths.as_ref().and_then(hollow), "paths", "leave it out where all paths are meant");
    let mut time = |key: &str, written: Option<&Spanned<Duration>>| {
        let within = (bounds::ATTEMPT.0, longest);
        bounds::time(&format!("{path}.{key}"), written, within, faults)
    };
    Some(HttpGrant {
        connect: time("connect", grant.connect.as_ref()),
        read: time("read", grant.read.as_ref()),
        origin: grant.origin?.into_inner(),
        methods: values(grant.methods).map(|method| method.0).collect(),
        paths: values(grant.paths).collect(),
        addresses: values(grant.addresses).collect(),
    })
}

fn roots(written: written::Http, folder: &Path, faults: &mut Vec<Fault>) -> Vec<Vec<u8>> {
    let mut roots = Vec::new();
    for name in value(written.roots) {
        let path = folder.join(name.get_ref());
        let why = match regular::read(&path, MOST_ROOTS) {
            Ok(pem) => match CertificateDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>() {
                Ok(certificates) if !certificates.is_empty() => {
                    roots.push(pem);
                    continue;
                }
                Ok(_) | Err(_) => "it holds no certificate".to_owned(),
            },
            Err(error) => error.to_string(),
        };
        let fault = Fault::at(name.span(), format!("{} cannot be trusted: {why}", path.display()));
        faults.push(fault.expected("a file of certificates in PEM (-----BEGIN CERTIFICATE-----)"));
    }
    roots
}
