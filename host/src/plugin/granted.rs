//! What tools declare beside what the operator grants, and the lines of configuration that would grant the rest.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::json;

use crate::config::{Config, DirectoryAccess, HttpGrant, PluginGrants};
use crate::model::id::ToolName;
use crate::model::manifest::{DeclaredOrigin, HttpNeed, Need, Risk, Tool};
use crate::model::origin::{OriginPattern, PathPattern};
use crate::sandbox::capability::http::ungranted;

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
    let there = there(need, grants);
    let (mut given, mut missing) = (BTreeSet::new(), Vec::new());
    for (method, path) in requests(need) {
        let asked = path.map_or_else(|| format!("{method} to every path"), |path| format!("{method} {path}"));
        let lesser = within(&there, method, path).into_iter().map(|path| format!("{method} {path}"));
        let lesser: Vec<String> = lesser.collect();
        match (whole(&there, need, method, path), lesser.is_empty()) {
            (true, true) => given.extend([asked]),
            (true, false) => given.extend(lesser),
            (false, true) => missing.push(asked),
            (false, false) => {
                given.extend(lesser);
                missing.push(format!("the rest of {asked}"));
            }
        }
    }
    let places: BTreeSet<String> = there.iter().map(|grant| grant.origin.to_string()).collect();
    let places = places.into_iter().collect::<Vec<_>>().join(" ");
    match (given.is_empty(), missing.is_empty()) {
        (_, true) => Granted::Whole(places),
        (true, false) => Granted::Nothing,
        (false, false) => {
            let given: Vec<String> = given.into_iter().collect();
            Granted::Part(format!("{places}, {}", given.join(", ")), missing)
        }
    }
}

/// The grants of places that a need may mean. Which of several it is, is the operator's choice, and none of them lacks.
fn there<'a>(need: &HttpNeed, grants: &'a PluginGrants) -> Vec<&'a HttpGrant> {
    let place = origin(&need.origin, grants);
    let meant = |grant: &&HttpGrant| match &place {
        Place::Any => true,
        Place::At(pattern) => pattern.overlaps(&grant.origin),
        Place::Unknown => false,
    };
    grants.http.iter().filter(meant).collect()
}

/// Whether requests of this method to all of these paths are granted.
fn whole(there: &[&HttpGrant], need: &HttpNeed, method: &str, path: Option<&PathPattern>) -> bool {
    // What goes wherever is granted goes on whichever paths are.
    let wherever = need.origin == DeclaredOrigin::Granted && path.is_none();
    there.iter().any(|grant| covers(grant, method, path) || (wherever && grant.methods.contains(method)))
}

/// The paths that are granted of these, where not all of them are.
fn within<'a>(there: &[&'a HttpGrant], method: &str, path: Option<&PathPattern>) -> Vec<&'a PathPattern> {
    if there.iter().any(|grant| covers(grant, method, path)) {
        return Vec::new();
    }
    let granted = there.iter().filter(|grant| grant.methods.contains(method)).flat_map(|grant| &grant.paths);
    granted.filter(|granted| path.is_none_or(|path| path.overlaps(granted))).collect()
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
    for ((origin, methods), paths) in gathered(blocks) {
        let _ = write!(
            text,
            "\n[[plugin.{plugin}.http]]\norigin = {}\nmethods = {}\n",
            json!(origin),
            list(&methods)
        );
        if !paths.is_empty() {
            let _ = writeln!(text, "paths = {}", list(&paths));
        }
        let addresses = addresses(&origin, grants.unwrap_or(&none));
        if !addresses.is_empty() {
            let _ = writeln!(text, "addresses = {}", list(&addresses));
        }
    }
    text.push_str(&secrets(lacking, config));
    text
}

/// The same requests with one entry for each origin and its methods; no paths stand for all of them.
fn gathered(blocks: Blocks) -> BTreeMap<(String, BTreeSet<String>), BTreeSet<String>> {
    let mut gathered = BTreeMap::<_, BTreeSet<String>>::new();
    for ((origin, paths), methods) in blocks {
        match gathered.entry((origin, methods)) {
            Entry::Vacant(place) => {
                place.insert(paths.into_iter().collect());
            }
            Entry::Occupied(mut there) if paths.is_empty() => there.get_mut().clear(),
            Entry::Occupied(there) if there.get().is_empty() => {}
            Entry::Occupied(mut there) => there.get_mut().extend(paths),
        }
    }
    gathered
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

/// What lacks of a need, and nothing that is granted: at the place where a part of it is, if that is one.
fn requested(need: &HttpNeed, grants: &PluginGrants, blocks: &mut Blocks) {
    let there = there(need, grants);
    let places: BTreeSet<String> = there.iter().map(|grant| grant.origin.to_string()).collect();
    let place = match (places.len(), origin(&need.origin, grants)) {
        (1, _) => places.into_iter().collect(),
        (_, Place::At(pattern)) => pattern.to_string(),
        (_, Place::Any | Place::Unknown) => UNKNOWN.to_owned(),
    };
    for method in &need.methods {
        let lacking = requests(need).filter(|(one, path)| *one == method && !whole(&there, need, one, *path));
        let lacking: Vec<Option<&PathPattern>> = lacking.map(|(_, path)| path).collect();
        if !lacking.is_empty() {
            let paths = lacking.into_iter().flatten().map(ToString::to_string).collect();
            blocks.entry((place.clone(), paths)).or_default().insert(method.clone());
        }
    }
}

/// The addresses by which a place must be granted: those that its name tells, and those of its other grants.
fn addresses(place: &str, grants: &PluginGrants) -> BTreeSet<String> {
    let origin: Option<OriginPattern> = place.parse().ok();
    let named = origin.map(|origin| ungranted(&origin, &[])).unwrap_or_default();
    let others = grants.http.iter().filter(|grant| grant.origin.to_string() == place);
    let others = others.flat_map(|grant| &grant.addresses).map(ToString::to_string);
    named.iter().map(ToString::to_string).chain(others).collect()
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
        assert_eq!(http(&need, &grants), Granted::Part("https://desk.test, GET /orders".to_owned(), missing));
        grants.http.push(grant(&["POST"], &["/**"]));
        assert_eq!(http(&need, &grants), Granted::Whole("https://desk.test".to_owned()));
    }

    /// What is told of a need where these are granted, and the lines that grant the rest.
    fn told(need: &HttpNeed, grants: &[HttpGrant]) -> String {
        let grants = PluginGrants { http: grants.to_vec(), ..PluginGrants::default() };
        let mut blocks = BTreeMap::new();
        requested(need, &grants, &mut blocks);
        let lines = blocks.iter().map(|((origin, paths), methods)| {
            let methods: Vec<&str> = methods.iter().map(String::as_str).collect();
            format!("add {} {origin} {}", methods.join(","), paths.join(","))
        });
        let said = match http(need, &grants) {
            Granted::Whole(what) => format!("all: {what}"),
            Granted::Part(what, missing) => format!("part: {what}; not {}", missing.join(", ")),
            Granted::Nothing => "nothing".to_owned(),
        };
        std::iter::once(said).chain(lines).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn requests_with_the_same_methods_are_advised_together_and_every_path_stays_every_path() {
        let site = || "https://desk.test".to_owned();
        let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let set = |words: &[&str]| list(words).into_iter().collect::<BTreeSet<_>>();
        let blocks = Blocks::from([
            ((site(), list(&["/b"])), set(&["GET"])),
            ((site(), list(&["/a", "/b"])), set(&["GET"])),
            ((site(), list(&["/c"])), set(&["GET", "POST"])),
            ((site(), list(&["/d"])), set(&["PUT"])),
            ((site(), list(&[])), set(&["PUT"])),
            ((site(), list(&["/e"])), set(&["PUT"])),
        ]);
        let expected = BTreeMap::from([
            ((site(), set(&["GET"])), set(&["/a", "/b"])),
            ((site(), set(&["GET", "POST"])), set(&["/c"])),
            ((site(), set(&["PUT"])), set(&[])),
        ]);
        assert_eq!(gathered(blocks), expected);
    }

    #[test]
    fn a_need_that_is_granted_in_part_is_told_so_and_only_the_rest_of_it_is_advised() {
        let mut need = HttpNeed {
            origin: DeclaredOrigin::Fixed("https://desk.test".parse().unwrap()),
            methods: vec!["GET".to_owned(), "POST".to_owned()],
            paths: vec!["/orders/*".parse().unwrap(), "/tickets".parse().unwrap()],
            repeat: Repeat::Once,
            idempotency_header: None,
            clean_statuses: Vec::new(),
        };
        let seen = [
            told(&need, &[]),
            told(&need, &[grant(&["GET"], &["/orders/1"])]),
            told(&need, &[grant(&["GET"], &["/orders/**"]), grant(&["POST"], &["/tickets"])]),
            told(&need, &[grant(&["PUT"], &[])]),
            told(&need, &[grant(&["GET", "POST"], &[])]),
        ];
        insta::assert_snapshot!(seen.join("\n\n"), @"
        nothing
        add GET,POST https://desk.test /orders/*,/tickets

        part: https://desk.test, GET /orders/1; not the rest of GET /orders/*, GET /tickets, POST /orders/*, POST /tickets
        add GET,POST https://desk.test /orders/*,/tickets

        part: https://desk.test, GET /orders/*, POST /tickets; not GET /tickets, POST /orders/*
        add POST https://desk.test /orders/*
        add GET https://desk.test /tickets

        nothing
        add GET,POST https://desk.test /orders/*,/tickets

        all: https://desk.test
        ");
        need.paths.clear();
        let narrow = grant(&["GET"], &["/docs/**"]);
        insta::assert_snapshot!(told(&need, std::slice::from_ref(&narrow)), @"
        part: https://desk.test, GET /docs/**; not the rest of GET to every path, POST to every path
        add GET,POST https://desk.test
        ");
        need.origin = DeclaredOrigin::Granted;
        insta::assert_snapshot!(told(&need, &[narrow]), @"
        part: https://desk.test, GET /docs/**; not POST to every path
        add POST https://desk.test
        ");
    }
}
