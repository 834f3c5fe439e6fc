//! What one tool is given: what it declares, cut down to what the operator granted.

use std::collections::BTreeMap;

use crate::config::{HttpGrant, PluginGrants};
use crate::model::manifest::{DeclaredOrigin, HttpNeed, Need, Repeat, Tool};
use crate::model::origin::{Origin, OriginPattern, PathPattern};
use crate::model::secret::SecretValue;

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
                // No host of this version lends folders or keeps a store for plugins; nothing is linked for them.
                Need::Directory(..) | Need::KeyValue => {}
            }
        }
        grants
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
