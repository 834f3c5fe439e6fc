//! From the file as written to the configuration that the host runs by: defaults, secrets, and what must fit together.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use toml::Spanned;

use super::bounds;
use super::faults::Fault;
use super::read::Named;
use super::resolved::{Config, HttpGrant, PluginGrants, ToolRules};
use super::written::{self, PluginName, SecretName, Written};
use crate::model::caller::{Caller, ToolPattern};
use crate::model::id::{CallerName, ToolName};
use crate::model::limits::Limits;
use crate::model::manifest::Risk;
use crate::model::nearest::nearest;
use crate::model::secret::SecretValue;

/// Resolves what was written in `file`; `env` gives the variables of the environment.
pub(super) fn resolve(
    written: Written,
    file: &Path,
    env: &dyn Fn(&str) -> Option<String>,
    faults: &mut Vec<Fault>,
) -> Config {
    let folder = file.parent().unwrap_or(Path::new(""));
    let limits = bounds::limits(value(written.limits), faults);
    let tools = tools(value(written.tools), faults);
    let names = names(written.secrets.as_ref());
    let (plugins, state) = folders(written.plugins, written.state, folder, faults);
    Config {
        file: file.to_owned(),
        grants: grants(value(written.plugin), &names, &limits, &tools, faults),
        callers: callers(value(written.callers)),
        secrets: secrets(value(written.secrets), env, faults),
        roots: roots(value(written.http), folder, faults),
        plugins,
        state,
        limits,
        tools,
    }
}

/// What was written, or the default.
fn value<T: Default>(written: Option<Spanned<T>>) -> T {
    written.map(Spanned::into_inner).unwrap_or_default()
}

fn values<T>(written: Option<Spanned<Vec<Spanned<T>>>>) -> impl Iterator<Item = T> {
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
fn straight(path: &Path) -> PathBuf {
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

fn tools(written: Named<ToolName, written::Tool>, faults: &mut Vec<Fault>) -> BTreeMap<ToolName, ToolRules> {
    let mut tools = BTreeMap::new();
    for (name, tool) in written.entries {
        let tool = tool.into_inner();
        let path = format!("tools.\"{}\".timeout", name.get_ref());
        let timeout = bounds::time(&path, tool.timeout.as_ref(), bounds::ATTEMPT, faults);
        tools
            .insert(name.into_inner(), ToolRules { confirm: tool.confirm.map(Spanned::into_inner), timeout });
    }
    tools
}

fn callers(written: Named<CallerName, written::Caller>) -> BTreeMap<CallerName, Caller> {
    let local = Caller::local();
    let mut callers = BTreeMap::from([(local.name.clone(), local)]);
    for (name, caller) in written.entries {
        let (name, caller) = (name.into_inner(), caller.into_inner());
        let tools = match caller.tools {
            None => ToolPattern::parse("*").into_iter().collect(),
            Some(patterns) => values(Some(patterns)).collect(),
        };
        let caller = Caller {
            name: name.clone(),
            permissions: Some(values(caller.permissions).collect()),
            max_risk: caller.max_risk.map_or(Risk::L2, Spanned::into_inner),
            tools,
        };
        callers.insert(name, caller);
    }
    callers
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

fn secrets(
    written: Named<SecretName, written::Secret>,
    env: &dyn Fn(&str) -> Option<String>,
    faults: &mut Vec<Fault>,
) -> BTreeMap<String, SecretValue> {
    let mut secrets = BTreeMap::new();
    for (name, secret) in written.entries {
        let (place, name, secret) = (name.span(), name.into_inner().0, secret.into_inner());
        if secret.keys.is_empty() {
            let fault =
                Fault::at(place, format!("the secret `{name}` comes from nowhere")).expected("needs `env`");
            faults.push(fault.help(format!("{name} = {{ env = \"{}\" }}", name.to_uppercase())));
        }
        let Some(variable) = secret.env else { continue };
        let (place, variable) = (variable.span(), variable.into_inner().0);
        let lacks = |how: &str| {
            Fault::at(place, format!("the secret `{name}` is missing: the variable {variable} is {how}"))
                .expected("a variable that holds the secret")
                .help(format!("export {variable}='…'"))
        };
        match env(&variable) {
            None => faults.push(lacks("not set")),
            Some(empty) if empty.trim().is_empty() => faults.push(lacks("empty")),
            Some(text) => {
                secrets.insert(name, SecretValue::new(&text));
            }
        }
    }
    secrets
}

fn grants(
    written: Named<PluginName, written::Plugin>,
    secrets: &BTreeSet<String>,
    limits: &Limits,
    tools: &BTreeMap<ToolName, ToolRules>,
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
        let why = match std::fs::read(&path) {
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
