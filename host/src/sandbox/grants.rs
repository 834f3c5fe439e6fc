//! What one tool is given: what it declares, cut down to what the operator granted.

use std::collections::{BTreeMap, BTreeSet};

use crate::config::{DirectoryAccess, DirectoryGrant, HttpGrant, PluginGrants};
use crate::model::manifest::{DeclaredOrigin, HttpNeed, Need, Repeat, Tool};
use crate::model::origin::{Origin, OriginPattern, PathPattern};
use crate::model::secret::SecretValue;

/// The most of a name that a refusal repeats.
const TOLD: usize = 128;

/// What one tool is given.
#[derive(Debug, Clone, Default)]
pub struct Grants {
    /// The plugin's name, for the line of configuration that would allow what is refused.
    pub plugin: String,
    /// Values by key, of the keys that the tool declares.
    pub config: BTreeMap<String, String>,
    /// Secrets by name.
    pub secrets: BTreeMap<String, SecretGrant>,
    /// Requests that the tool declares, in its order: the first that matches counts.
    pub declared: Vec<HttpRule>,
    /// Requests that the operator grants.
    pub granted: Vec<HttpGrant>,
    /// The origins that it may go to, as far as they are named.
    pub origins: Vec<String>,
    /// What stands for several origins that it may go to as well.
    pub patterns: Vec<OriginPattern>,
    /// Whether it may keep values.
    pub key_value: KeyValue,
    /// Folders that the tool declares, by name.
    pub directories: BTreeMap<String, DirectoryRule>,
    /// Whether nothing may be changed, whatever else is declared and granted.
    pub reads_only: bool,
}

/// What a guest is told that would change something while it looks ahead of a call or back at one.
pub(crate) const READS_ONLY: &str = "only what reads is allowed here";

/// A folder that a tool declares.
#[derive(Debug, Clone)]
pub struct DirectoryRule {
    /// What the tool declares to do there.
    pub declared: DirectoryAccess,
    /// What the operator grants under this name.
    pub granted: Option<DirectoryGrant>,
}

/// A folder that a tool may not use so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NotLent {
    /// What the guest is told.
    pub(crate) rule: String,
    /// The line of configuration that would allow it, where there is one.
    pub(crate) line: Option<String>,
}

/// Whether a tool may use its plugin's key-value store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum KeyValue {
    /// It does not ask for it.
    #[default]
    Undeclared,
    /// It asks, and the operator does not grant it.
    Ungranted,
    /// It may.
    Granted,
}

/// Requests that a tool declares.
#[derive(Debug, Clone)]
pub struct HttpRule {
    /// Where to.
    pub origin: Places,
    /// Methods, in capitals.
    pub methods: Vec<String>,
    /// All paths where empty.
    pub paths: Vec<PathPattern>,
    /// What repeating one does.
    pub repeat: Repeat,
    /// The header in which the backend takes a key.
    pub idempotency_header: Option<String>,
    /// Statuses of 500 and above that say that nothing was done.
    pub clean_statuses: Vec<u16>,
}

/// A secret that a tool may use.
#[derive(Debug, Clone)]
pub struct SecretGrant {
    /// Its value.
    pub value: SecretValue,
    /// The only places that it is sent to.
    pub origins: Vec<Places>,
    /// Whether it may stand in a body.
    pub in_body: bool,
}

/// A declared origin, once the configuration is known.
#[derive(Debug, Clone)]
pub enum Places {
    /// These.
    These(OriginPattern),
    /// All that the operator grants.
    Granted,
    /// None: the key that would name one has no value, or no origin in it.
    Unset(String),
}

impl Places {
    fn of(declared: &DeclaredOrigin, granted: &PluginGrants) -> Self {
        match declared {
            DeclaredOrigin::Fixed(pattern) => Self::These(pattern.clone()),
            DeclaredOrigin::Granted => Self::Granted,
            DeclaredOrigin::Configured(key) => match granted.config.get(key).map(|text| text.parse()) {
                Some(Ok(pattern)) => Self::These(pattern),
                Some(Err(_)) | None => Self::Unset(key.clone()),
            },
        }
    }

    /// Whether the origin is among them; what is granted is checked apart.
    pub fn hold(&self, origin: &Origin) -> bool {
        match self {
            Self::These(pattern) => pattern.matches(origin),
            Self::Granted => true,
            Self::Unset(_) => false,
        }
    }
}

impl Grants {
    /// What the tool of this plugin is given.
    pub fn of(
        plugin: &str,
        tool: &Tool,
        granted: &PluginGrants,
        secrets: &BTreeMap<String, SecretValue>,
    ) -> Self {
        let mut grants = Self { plugin: plugin.to_owned(), granted: granted.http.clone(), ..Self::default() };
        for need in &tool.needs {
            match need {
                Need::Http(need) => grants.declared.push(HttpRule::of(need, granted)),
                Need::Secret(need) => {
                    let value = secrets.get(&need.name).filter(|_| granted.secrets.contains(&need.name));
                    if let Some(value) = value {
                        let origins = need.origins.iter().map(|origin| Places::of(origin, granted)).collect();
                        let grant = SecretGrant { value: value.clone(), origins, in_body: need.in_body };
                        grants.secrets.insert(need.name.clone(), grant);
                    }
                }
                Need::Config(key) => {
                    if let Some(value) = granted.config.get(key) {
                        grants.config.insert(key.clone(), value.clone());
                    }
                }
                Need::KeyValue if granted.key_value => grants.key_value = KeyValue::Granted,
                Need::KeyValue => grants.key_value = KeyValue::Ungranted,
                Need::Directory(name, writes) => {
                    let declared = if *writes { DirectoryAccess::Write } else { DirectoryAccess::Read };
                    let granted = granted.directories.get(name).cloned();
                    let rule = DirectoryRule { declared, granted };
                    let rule = grants.directories.entry(name.clone()).or_insert(rule);
                    rule.declared = rule.declared.max(declared);
                }
            }
        }
        (grants.origins, grants.patterns) = grants.reach();
        grants
    }

    /// The same for a look ahead of a call or back at one: what reads, and nothing else.
    #[must_use]
    pub fn reading(&self) -> Self {
        Self { reads_only: true, ..self.clone() }
    }

    /// Where both the manifest and the operator let it go: origins by name, and patterns.
    fn reach(&self) -> (Vec<String>, Vec<OriginPattern>) {
        let pairs = self.declared.iter().flat_map(|rule| self.granted.iter().map(move |grant| (rule, grant)));
        let both =
            pairs.filter(|(rule, grant)| rule.methods.iter().any(|method| grant.methods.contains(method)));
        let (mut named, mut patterns) = (BTreeSet::new(), Vec::new());
        for (rule, grant) in both {
            match rule.one(grant) {
                Some(one) => drop(named.insert(one.to_string())),
                None if rule.several(grant) && !patterns.contains(&grant.origin) => {
                    patterns.push(grant.origin.clone());
                }
                None => {}
            }
        }
        (named.into_iter().collect(), patterns)
    }

    /// Whether the tool may go to this origin at all.
    pub fn reaches(&self, origin: &Origin) -> bool {
        let text = origin.to_string();
        self.origins.contains(&text) || self.patterns.iter().any(|pattern| pattern.matches(origin))
    }

    /// The folder of this name, where the tool may do this there: what it declares and what is granted both allow it.
    pub(crate) fn directory(&self, name: &str, access: DirectoryAccess) -> Result<&DirectoryGrant, NotLent> {
        let not = |rule: String, line: Option<String>| Err(NotLent { rule, line });
        let shown: String = name.escape_debug().take(TOLD).collect();
        let Some(rule) = self.directories.get(name) else {
            return not(format!("the tool declares no folder `{shown}`"), None);
        };
        if self.reads_only && access > DirectoryAccess::Read {
            return not(READS_ONLY.to_owned(), None);
        }
        if access > rule.declared {
            return not(format!("the tool declares to read the folder `{shown}`, not to write it"), None);
        }
        let line = |path: &str| {
            let write = if access == DirectoryAccess::Write { ", access = \"write\"" } else { "" };
            Some(format!("[plugin.{}.directories] {shown:?} = {{ path = {path:?}{write} }}", self.plugin))
        };
        match &rule.granted {
            None => not(format!("the folder `{shown}` is not granted"), line("…")),
            Some(granted) if access > granted.access => {
                let path = granted.path.display().to_string();
                not(format!("the folder `{shown}` is granted for reading"), line(&path))
            }
            Some(granted) => Ok(granted),
        }
    }

    /// Whether the tool may change anything in any folder.
    pub(crate) fn writes(&self) -> bool {
        self.directories.keys().any(|name| self.directory(name, DirectoryAccess::Write).is_ok())
    }

    /// The folders that the tool may read, by name.
    pub(crate) fn lent(&self) -> impl Iterator<Item = (&str, &DirectoryGrant)> {
        self.directories.iter().filter_map(|(name, rule)| Some((name.as_str(), rule.granted.as_ref()?)))
    }

    /// Whether the same attempt must see the same clock and the same random numbers each time.
    pub fn keyed(&self) -> bool {
        self.declared.iter().any(|rule| rule.repeat == Repeat::Keyed)
    }
}

impl HttpRule {
    fn of(need: &HttpNeed, granted: &PluginGrants) -> Self {
        Self {
            origin: Places::of(&need.origin, granted),
            methods: need.methods.clone(),
            paths: need.paths.clone(),
            repeat: need.repeat,
            idempotency_header: need.idempotency_header.clone(),
            clean_statuses: need.clean_statuses.clone(),
        }
    }

    /// The one origin that is both declared here and granted there; none where there are several, or none.
    pub fn one<'a>(&'a self, grant: &'a HttpGrant) -> Option<&'a Origin> {
        let one = match &self.origin {
            Places::These(pattern) => pattern.one().or_else(|| grant.origin.one()),
            Places::Granted => grant.origin.one(),
            Places::Unset(_) => None,
        };
        one.filter(|origin| self.origin.hold(origin) && grant.origin.matches(origin))
    }

    /// Whether several origins are both declared here and granted there.
    fn several(&self, grant: &HttpGrant) -> bool {
        match &self.origin {
            Places::These(pattern) => pattern == &grant.origin && pattern.one().is_none(),
            Places::Granted => grant.origin.one().is_none(),
            Places::Unset(_) => false,
        }
    }

    /// Whether the request is declared here.
    pub fn covers(&self, origin: &Origin, method: &str, path: &str) -> bool {
        self.origin.hold(origin)
            && self.methods.iter().any(|one| one == method)
            && (self.paths.is_empty() || self.paths.iter().any(|pattern| pattern.matches(path)))
    }
}

/// Whether the request is granted here.
pub fn grants(grant: &HttpGrant, origin: &Origin, method: &str, path: &str) -> bool {
    grant.origin.matches(origin)
        && grant.methods.contains(method)
        && (grant.paths.is_empty() || grant.paths.iter().any(|pattern| pattern.matches(path)))
}
