//! What tools declare beside what the operator grants, and the lines of configuration that would grant the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::json;

use crate::config::{Config, DirectoryAccess, HttpGrant, PluginGrants};
use crate::model::id::ToolName;
use crate::model::manifest::{DeclaredOrigin, HttpNeed, Need, Risk, Tool};
use crate::model::origin::{OriginPattern, PathPattern};

/// What stands for a text that only the operator knows.
const UNKNOWN: &str = "…";

/// One need of a tool, beside what is granted of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beside {
    /// The tool's name within its plugin.
    pub tool: String,
    /// What it declares.
    pub need: Need,
    /// What of it is granted.
    pub granted: Granted,
}

/// How much of a need is granted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Granted {
    /// All of it: what, in words.
    Whole(String),
    /// This much, but for this.
    Part(String, Vec<String>),
    /// Nothing.
    Nothing,
}

/// Every need of these tools of a plugin, beside what is granted.
pub fn beside(plugin: &str, tools: &[Tool], config: &Config) -> Vec<Beside> {
    let none = PluginGrants::default();
    let grants = config.grants.get(plugin).unwrap_or(&none);
    let needs = tools.iter().flat_map(|tool| tool.needs.iter().map(|need| (tool.name.clone(), need)));
    needs.map(|(tool, need)| Beside { tool, need: need.clone(), granted: granted(need, grants) }).collect()
}

fn granted(need: &Need, grants: &PluginGrants) -> Granted {
    let whole = |text: Option<String>| text.map_or(Granted::Nothing, Granted::Whole);
    match need {
        Need::Http(need) => http(need, grants),
        Need::Secret(need) => whole(grants.secrets.get(&need.name).cloned()),
        Need::Config(key) => whole(grants.config.get(key).cloned()),
        Need::KeyValue => whole(grants.key_value.then(|| "a store of its own".to_owned())),
        Need::Directory(name, write) => match grants.directories.get(name) {
            None => Granted::Nothing,
            Some(lent) if *write && lent.access == DirectoryAccess::Read => {
                Granted::Part(format!("{}, read", lent.path.display()), vec!["writing".to_owned()])
            }
            Some(lent) => Granted::Whole(lent.path.display().to_string()),
        },
    }
}

fn http(need: &HttpNeed, grants: &PluginGrants) -> Granted {
    let there: Vec<&HttpGrant> = grants
        .http
        .iter()
        .filter(|grant| match origin(&need.origin, grants) {
            Place::Any => true,
            Place::At(pattern) => pattern.overlaps(&grant.origin),
            Place::Unknown => false,
        })
        .collect();
    let places: BTreeSet<String> = there.iter().map(|grant| grant.origin.to_string()).collect();
    let places = places.into_iter().collect::<Vec<_>>().join(" ");
    let all = requests(need).count();
    let missing: Vec<String> = requests(need)
        .filter(|(method, path)| !there.iter().any(|grant| covers(grant, method, *path)))
        .map(|(method, path)| match path {
            Some(path) => format!("{method} {path}"),
            None => format!("{method} to every path"),
        })
        .collect();
    match missing.len() {
        0 => Granted::Whole(places),
        missing if missing == all => Granted::Nothing,
        _ => Granted::Part(places, missing),
    }
}

/// Each method with each path; none where every path is meant.
fn requests(need: &HttpNeed) -> impl Iterator<Item = (&str, Option<&PathPattern>)> {
    let paths: Vec<Option<&PathPattern>> = match need.paths.as_slice() {
        [] => vec![None],
        some => some.iter().map(Some).collect(),
    };
    need.methods
        .iter()
        .flat_map(move |method| paths.clone().into_iter().map(move |path| (method.as_str(), path)))
}

fn covers(grant: &HttpGrant, method: &str, path: Option<&PathPattern>) -> bool {
    let within = |path: &PathPattern| {
        let path = path.to_string();
        grant.paths.iter().any(|granted| match path.strip_suffix("/**") {
            // What follows is open, so what is granted must be open too.
            Some(fixed) => granted.to_string().ends_with("/**") && granted.matches(fixed),
            None => granted.matches(&path),
        })
    };
    grant.methods.contains(method) && (grant.paths.is_empty() || path.is_some_and(within))
}

enum Place {
    Any,
    At(OriginPattern),
    Unknown,
}

fn origin(declared: &DeclaredOrigin, grants: &PluginGrants) -> Place {
    match declared {
        DeclaredOrigin::Granted => Place::Any,
        DeclaredOrigin::Fixed(pattern) => Place::At(pattern.clone()),
        DeclaredOrigin::Configured(key) => {
            let value = grants.config.get(key).and_then(|value| value.parse().ok());
            value.map_or(Place::Unknown, Place::At)
        }
    }
}

/// The lines of configuration that would grant these tools what they lack; nothing where they lack nothing.
pub fn lines(plugin: &str, tools: &[Tool], config: &Config) -> Option<String> {
    let lacking: Vec<Need> = beside(plugin, tools, config)
        .into_iter()
        .filter(|one| !matches!(one.granted, Granted::Whole(_)))
        .map(|one| one.need)
        .collect();
    let mut text = String::new();
    if !lacking.is_empty() {
        text = grants_of(plugin, &lacking, config);
    }
    text.push_str(&confirms(plugin, tools, config));
    (!text.is_empty()).then(|| text.trim().to_owned())
}

/// What grants these needs.
fn grants_of(plugin: &str, lacking: &[Need], config: &Config) -> String {
    let none = PluginGrants::default();
    let grants = config.grants.get(plugin);
    let mut text = table(plugin, lacking, grants);
    let mut blocks = BTreeMap::new();
    for need in lacking {
        if let Need::Http(need) = need {
            requested(need, grants.unwrap_or(&none), &mut blocks);
        }
    }
    for ((origin, paths), methods) in blocks {
        let _ = write!(
            text,
            "\n[[plugin.{plugin}.http]]\norigin = {}\nmethods = {}\n",
            json!(origin),
            list(&methods)
        );
        if !paths.is_empty() {
            let _ = writeln!(text, "paths = {}", list(&paths));
        }
    }
    text.push_str(&secrets(lacking, config));
    text
}

/// The rules by which tools of the highest risk run unasked, for the operator to decide: nothing of them holds as it stands.
fn confirms(plugin: &str, tools: &[Tool], config: &Config) -> String {
    let mut text = String::new();
    for tool in tools.iter().filter(|tool| tool.risk >= Risk::L4) {
        let name = ToolName { plugin: plugin.to_owned(), tool: tool.name.clone() };
        if config.tools.get(&name).is_none_or(|rules| rules.confirm.is_none()) {
            let risk = tool.risk.word();
            let _ = write!(
                text,
                "\n# {name} is {risk}: a person must say yes to each call, unless these lines let it run unasked\n\
                 # [tools.\"{name}\"]\n# confirm = \"none\"\n"
            );
        }
    }
    text
}

/// A need in few words, for saying that it is not granted.
pub fn named(need: &Need) -> String {
    match need {
        Need::Http(need) => format!("http {}", need.methods.join(" ")),
        Need::Secret(need) => format!("secret {}", need.name),
        Need::Config(key) => format!("config {key}"),
        Need::Directory(name, _) => format!("folder {name}"),
        Need::KeyValue => "key_value".to_owned(),
    }
}

/// The plugin's own table, with what is granted already and what lacks.
fn table(plugin: &str, lacking: &[Need], grants: Option<&PluginGrants>) -> String {
    let mut whole = grants.cloned().unwrap_or_default();
    let mut folders: BTreeMap<String, (String, &str)> = BTreeMap::new();
    for (name, lent) in &whole.directories {
        let access = if lent.access == DirectoryAccess::Write { "write" } else { "read" };
        folders.insert(name.clone(), (lent.path.display().to_string(), access));
    }
    for need in lacking {
        match need {
            Need::Http(_) => {}
            Need::Config(key) => whole.config.extend([(key.clone(), UNKNOWN.to_owned())]),
            Need::Secret(need) => whole.secrets.extend([need.name.clone()]),
            Need::KeyValue => whole.key_value = true,
            Need::Directory(name, write) => {
                let lent = folders.entry(name.clone()).or_insert_with(|| (UNKNOWN.to_owned(), "read"));
                if *write {
                    lent.1 = "write";
                }
            }
        }
    }
    let places = lacking.iter().flat_map(places).filter_map(|place| match place {
        DeclaredOrigin::Configured(key) => Some(key),
        DeclaredOrigin::Fixed(_) | DeclaredOrigin::Granted => None,
    });
    for key in places {
        whole.config.entry(key.clone()).or_insert_with(|| UNKNOWN.to_owned());
    }
    let before = grants.map(|grants| (grants.config.len(), grants.secrets.len(), grants.key_value));
    let now = (whole.config.len(), whole.secrets.len(), whole.key_value);
    let lent = lacking.iter().any(|need| matches!(need, Need::Directory(..)));
    if !lent && now == before.unwrap_or_default() {
        return String::new();
    }
    let mut text = if grants.is_some() { "# in place of what stands there\n" } else { "" }.to_owned();
    let _ = writeln!(text, "[plugin.{plugin}]");
    if !whole.config.is_empty() {
        let values: Vec<String> =
            whole.config.iter().map(|(key, value)| format!("{} = {}", bare(key), json!(value))).collect();
        let _ = writeln!(text, "config = {{ {} }}", values.join(", "));
    }
    if !whole.secrets.is_empty() {
        let _ = writeln!(text, "secrets = {}", list(&whole.secrets));
    }
    if whole.key_value {
        text.push_str("key_value = true\n");
    }
    if !folders.is_empty() {
        let one = |(name, (path, access)): (&String, &(String, &str))| {
            format!("{name} = {{ path = {}, access = \"{access}\" }}", json!(path))
        };
        let folders: Vec<String> = folders.iter().map(one).collect();
        let _ = writeln!(text, "directories = {{ {} }}", folders.join(", "));
    }
    text
}

/// Where what a need sends goes.
fn places(need: &Need) -> &[DeclaredOrigin] {
    match need {
        Need::Http(need) => std::slice::from_ref(&need.origin),
        Need::Secret(need) => &need.origins,
        Need::Config(_) | Need::Directory(..) | Need::KeyValue => &[],
    }
}

/// Grants of requests: by where to and on which paths, the methods.
type Blocks = BTreeMap<(String, Vec<String>), BTreeSet<String>>;

fn requested(need: &HttpNeed, grants: &PluginGrants, blocks: &mut Blocks) {
    let place = match origin(&need.origin, grants) {
        Place::At(pattern) => pattern.to_string(),
        Place::Any | Place::Unknown => UNKNOWN.to_owned(),
    };
    let paths: Vec<String> = need.paths.iter().map(ToString::to_string).collect();
    blocks.entry((place, paths)).or_default().extend(need.methods.iter().cloned());
}

/// A list as TOML has it.
fn list<'a>(texts: impl IntoIterator<Item = &'a String>) -> String {
    let texts: Vec<String> = texts.into_iter().map(|text| json!(text).to_string()).collect();
    format!("[{}]", texts.join(", "))
}

/// A key as TOML has it: in quotes where it must be.
fn bare(key: &str) -> String {
    let plain = key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    if plain && !key.is_empty() { key.to_owned() } else { json!(key).to_string() }
}

/// The lines of secrets that come from nowhere yet.
fn secrets(lacking: &[Need], config: &Config) -> String {
    let named: BTreeSet<&str> = lacking
        .iter()
        .filter_map(|need| match need {
            Need::Secret(need) => Some(need.name.as_str()),
            Need::Http(_) | Need::Config(_) | Need::Directory(..) | Need::KeyValue => None,
        })
        .filter(|name| !config.secrets.contains_key(*name))
        .collect();
    if named.is_empty() {
        return String::new();
    }
    let header =
        if config.secrets.is_empty() { "[secrets]" } else { "# under [secrets], unless it stands there" };
    let lines = named.iter().map(|name| format!("{name} = {{ env = \"{}\" }}\n", name.to_uppercase()));
    format!("\n{header}\n{}", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::manifest::Repeat;

    fn grant(methods: &[&str], paths: &[&str]) -> HttpGrant {
        HttpGrant {
            origin: "https://desk.test".parse().unwrap(),
            methods: methods.iter().map(|method| (*method).to_owned()).collect(),
            paths: paths.iter().map(|path| path.parse().unwrap()).collect(),
            addresses: Vec::new(),
            connect: None,
            read: None,
        }
    }

    #[test]
    fn a_path_is_granted_where_whatever_it_stands_for_is() {
        let table = [
            ("/orders/*", "/orders/*", true),
            ("/orders/*", "/orders/1", false),
            ("/orders/1", "/orders/*", true),
            ("/orders/*", "/orders/**", true),
            ("/orders/**", "/orders/*", false),
            ("/orders/**", "/orders/**", true),
            ("/orders/**", "/**", true),
            ("/orders", "/orders/*", false),
        ];
        for (declared, granted, whole) in table {
            let declared: PathPattern = declared.parse().unwrap();
            let within = covers(&grant(&["GET"], &[granted]), "GET", Some(&declared));
            assert_eq!(within, whole, "{declared} within {granted}");
        }
        assert!(covers(&grant(&["GET"], &[]), "GET", None));
        assert!(!covers(&grant(&["GET"], &["/orders"]), "GET", None), "every path is more than one");
        assert!(!covers(&grant(&["GET"], &[]), "POST", None));
    }

    #[test]
    fn what_is_granted_in_part_is_told_with_what_is_not() {
        let need = HttpNeed {
            origin: DeclaredOrigin::Configured("url".to_owned()),
            methods: vec!["GET".to_owned(), "POST".to_owned()],
            paths: vec!["/orders".parse().unwrap()],
            repeat: Repeat::Once,
            idempotency_header: None,
            clean_statuses: Vec::new(),
        };
        let mut grants = PluginGrants { http: vec![grant(&["GET"], &[])], ..PluginGrants::default() };
        assert_eq!(http(&need, &grants), Granted::Nothing, "nobody knows where it goes");
        grants.config.insert("url".to_owned(), "https://desk.test".to_owned());
        let missing = vec!["POST /orders".to_owned()];
        assert_eq!(http(&need, &grants), Granted::Part("https://desk.test".to_owned(), missing));
        grants.http.push(grant(&["POST"], &["/**"]));
        assert_eq!(http(&need, &grants), Granted::Whole("https://desk.test".to_owned()));
    }
}
