//! What a plugin declares of itself.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::origin::{OriginPattern, PathPattern};
use super::pointer::Unshown;

/// How much harm a wrong call can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Risk {
    /// Reads what anyone may read.
    L1,
    /// Reads what the business keeps to itself.
    L2,
    /// Writes what is easily put right.
    L3,
    /// Writes what is not.
    L4,
}

impl Risk {
    /// The word that is shown.
    pub fn word(self) -> &'static str {
        match self {
            Self::L1 => "L1",
            Self::L2 => "L2",
            Self::L3 => "L3",
            Self::L4 => "L4",
        }
    }
}

/// What doing the same thing a second time does to the world outside, from the loosest to the strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repeat {
    /// Nothing is changed.
    Reads,
    /// The second time changes nothing more.
    Idempotent,
    /// The backend takes a key and does it once.
    Keyed,
    /// It is done twice.
    Once,
}

impl Repeat {
    /// The word that is stored and shown.
    pub fn word(self) -> &'static str {
        match self {
            Self::Reads => "reads",
            Self::Idempotent => "idempotent",
            Self::Keyed => "keyed",
            Self::Once => "once",
        }
    }

    /// The value that was stored as this word.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Reads, Self::Idempotent, Self::Keyed, Self::Once]
            .into_iter()
            .find(|repeat| repeat.word() == word)
    }
}

/// What becomes of what a call left behind when its run fails, from the loosest to the strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cleanup {
    /// Nothing is left behind.
    Nothing,
    /// Given back when the run ends.
    Release,
    /// A rollback may put it right unattended.
    Automatic,
    /// A person confirms the rollback first.
    Destructive,
    /// A person decides.
    Manual,
}

impl Cleanup {
    /// The word that is shown.
    pub fn word(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Release => "release",
            Self::Automatic => "automatic",
            Self::Destructive => "destructive",
            Self::Manual => "manual",
        }
    }

    /// The value that was stored as this word.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Nothing, Self::Release, Self::Automatic, Self::Destructive, Self::Manual]
            .into_iter()
            .find(|cleanup| cleanup.word() == word)
    }
}

/// Where requests go, as declared.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DeclaredOrigin {
    /// A fixed origin or a pattern of them.
    Fixed(OriginPattern),
    /// The origin in this configuration key.
    Configured(String),
    /// Whatever the operator grants.
    Granted,
}

/// HTTP requests that a tool sends.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct HttpNeed {
    /// Where they go.
    pub origin: DeclaredOrigin,
    /// Methods in capitals.
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

/// A secret that a tool uses without seeing it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct SecretNeed {
    /// The operator's name for it.
    pub name: String,
    /// The only places that it is sent to.
    pub origins: Vec<DeclaredOrigin>,
    /// Whether it may stand in a body.
    pub in_body: bool,
}

/// One thing beyond pure computation that a tool needs.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Need {
    /// Requests over HTTP.
    Http(HttpNeed),
    /// A lent folder, by name; `true` where it is written.
    Directory(String, bool),
    /// A secret.
    Secret(SecretNeed),
    /// A configuration value, by key.
    Config(String),
    /// The plugin's own store.
    KeyValue,
}

/// One tool, audited.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tool {
    /// Its name inside the plugin.
    pub name: String,
    /// A short title for people.
    pub title: String,
    /// What a model reads.
    pub description: String,
    /// JSON Schema of the input.
    pub input_schema: serde_json::Value,
    /// JSON Schema of the output.
    pub output_schema: Option<serde_json::Value>,
    /// How much harm a wrong call can do.
    pub risk: Risk,
    /// What a repeat does.
    pub repeat: Repeat,
    /// What becomes of what it leaves behind.
    pub cleanup: Cleanup,
    /// What the caller must be permitted.
    pub permissions: Vec<String>,
    /// What it needs.
    pub needs: Vec<Need>,
    /// What is not to be seen of its input, its output and the details of its errors.
    #[serde(flatten)]
    pub unshown: Unshown,
    /// The input fields that make two calls the same action; all of them where empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub same_action: Vec<String>,
    /// Whether calling it again and again with one input is how it is used.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub poll: bool,
    /// What one call costs at most, in millionths of the budget's currency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
    /// How long one attempt may take, where the tool says.
    #[serde(skip)]
    pub timeout: Option<Duration>,
}

impl Tool {
    /// Whether the tool changes nothing outside, so that its calls promise no single execution.
    pub fn reads(&self) -> bool {
        self.repeat == Repeat::Reads
    }
}

/// A plugin, audited.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Manifest {
    /// The plugin's name.
    pub name: String,
    /// Its semantic version.
    pub version: String,
    /// What it is for.
    pub description: String,
    /// Its tools, in the order of their declaration.
    pub tools: Vec<Tool>,
}
