//! The configuration that the host runs by: every default applied, every secret read.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use super::mentions::Mentions;
use crate::model::budget::Budgets;
use crate::model::caller::{Caller, Confirm, Scenes};
use crate::model::id::{CallerName, ToolName};
use crate::model::limits::{CompileLimits, Limits};
use crate::model::loops::LoopLimits;
use crate::model::origin::{OriginPattern, PathPattern};
use crate::model::price::Prices;
use crate::model::secret::SecretValue;
use crate::model::{breaker, probe, retry};

/// All that an operator decides.
#[derive(Debug, Clone)]
pub struct Config {
    /// The file that it was read from.
    pub file: PathBuf,
    /// The folder of plugins.
    pub plugins: PathBuf,
    /// The folder of what the host keeps.
    pub state: PathBuf,
    /// What becomes of a plugin that is seen for the first time.
    pub pinning: Pinning,
    /// What bounds the compiling of plugins.
    pub compile: CompileLimits,
    /// Grants, by the plugin's name.
    pub grants: BTreeMap<String, PluginGrants>,
    /// Callers, by name; `local` and `mcp` are always among them.
    pub callers: BTreeMap<CallerName, Arc<Caller>>,
    /// Scenes, by name.
    pub scenes: Scenes,
    /// Secrets, by the operator's name.
    pub secrets: BTreeMap<String, SecretValue>,
    /// Limits of every call.
    pub limits: Limits,
    /// How often calls are tried again, and how soon.
    pub retries: retry::Policy,
    /// The same for calls in the background.
    pub retries_in_background: retry::Policy,
    /// When a backend that keeps failing is left alone.
    pub breaker: breaker::Policy,
    /// How plugins are asked what became of a call.
    pub probe: probe::Policy,
    /// What may be spent, and in what currency.
    pub budgets: Budgets,
    /// What models cost.
    pub prices: Prices,
    /// When calls that go round in circles are told so, and stopped.
    pub loops: LoopLimits,
    /// Where the log goes.
    pub log: LogTo,
    /// Rules of single tools.
    pub tools: BTreeMap<ToolName, ToolRules>,
    /// What tools are called over MCP, where it is not `plugin__tool`; no two the same.
    pub mcp_names: BTreeMap<ToolName, String>,
    /// Certificates that are trusted beside the system's, as PEM.
    pub roots: Vec<Vec<u8>>,
    /// What it names of plugins.
    pub mentions: Mentions,
}

/// What one plugin is given, as far as its tools declare it.
#[derive(Debug, Clone, Default)]
pub struct PluginGrants {
    /// Values by key.
    pub config: BTreeMap<String, String>,
    /// Names of secrets that it may use.
    pub secrets: BTreeSet<String>,
    /// Whether it may keep values under keys of its own.
    pub key_value: bool,
    /// Requests that it may send.
    pub http: Vec<HttpGrant>,
    /// Folders that it is lent, by the name that it knows them by.
    pub directories: BTreeMap<String, DirectoryGrant>,
}

/// A folder that a plugin is lent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryGrant {
    /// Where it is, without links on the way.
    pub path: PathBuf,
    /// What the plugin may do there.
    pub access: DirectoryAccess,
}

/// What a plugin may do in a folder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum DirectoryAccess {
    /// Look at it.
    #[default]
    Read,
    /// Change it too.
    Write,
}

/// Requests that a plugin may send.
#[derive(Debug, Clone)]
pub struct HttpGrant {
    /// Where to.
    pub origin: OriginPattern,
    /// Methods, in capitals.
    pub methods: BTreeSet<String>,
    /// Paths; all where empty.
    pub paths: Vec<PathPattern>,
    /// Addresses that are private or local, and granted all the same.
    pub addresses: Vec<AddressRange>,
    /// How long connecting may take here, where it is not the limit for all.
    pub connect: Option<Duration>,
    /// How long an answer may take here, where it is not the limit for all.
    pub read: Option<Duration>,
}

/// Addresses with a common beginning: `127.0.0.1`, `10.1.0.0/16`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressRange {
    /// The first address.
    pub base: IpAddr,
    /// How many leading bits count.
    pub bits: u8,
}

impl fmt::Display for AddressRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = if self.base.is_ipv4() { 32 } else { 128 };
        match self.bits {
            bits if bits == width => self.base.fmt(f),
            bits => write!(f, "{}/{bits}", self.base),
        }
    }
}

impl FromStr for AddressRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let base: IpAddr =
            address.parse().map_err(|_| "an address or a range of them, such as 127.0.0.1 or 10.1.0.0/16")?;
        if base.to_canonical() != base {
            return Err(format!("an IPv4 address in the clothes of IPv6; write {}", base.to_canonical()));
        }
        let width = if base.is_ipv4() { 32 } else { 128 };
        let bits = match bits.map(str::parse) {
            None => width,
            Some(Ok(bits)) if bits <= width => bits,
            Some(Ok(_) | Err(_)) => return Err(format!("the number after the / is from 0 to {width}")),
        };
        let first = Self { base, bits }.first();
        if first == base {
            Ok(Self { base, bits })
        } else {
            Err(format!("the range begins earlier; write {first}/{bits}"))
        }
    }
}

impl AddressRange {
    /// The first address that has the same leading bits.
    fn first(&self) -> IpAddr {
        let kept = |width: u32| u128::MAX.checked_shl(width - u32::from(self.bits)).unwrap_or(0);
        match self.base {
            IpAddr::V4(base) => IpAddr::V4(
                (u128::from(base.to_bits()) & kept(32)).try_into().map_or(base, Ipv4Addr::from_bits),
            ),
            IpAddr::V6(base) => IpAddr::V6(Ipv6Addr::from_bits(base.to_bits() & kept(128))),
        }
    }

    /// Whether the address is among them.
    pub fn contains(&self, address: IpAddr) -> bool {
        let (base, address, width) = match (self.base, address) {
            (IpAddr::V4(base), IpAddr::V4(address)) => {
                (u128::from(base.to_bits()), u128::from(address.to_bits()), 32)
            }
            (IpAddr::V6(base), IpAddr::V6(address)) => (base.to_bits(), address.to_bits(), 128),
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => return false,
        };
        let shift = u32::from(width - self.bits.min(width));
        base.checked_shr(shift).unwrap_or(0) == address.checked_shr(shift).unwrap_or(0)
    }
}

/// What the operator says of one tool.
#[derive(Debug, Clone, Default)]
pub struct ToolRules {
    /// Who says yes to a call, where it is not what the risk asks for.
    pub confirm: Option<Confirm>,
    /// How long one attempt may take, where it is not the limit for all.
    pub timeout: Option<Duration>,
    /// How often it is tried again, where it is not what holds for all.
    pub retries: Option<u32>,
    /// The tool that may do instead while this one fails.
    pub fallback: Option<ToolName>,
}

/// Where the lines of calls go.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogTo {
    /// What they look like.
    pub format: LogFormat,
    /// The file that they are added to; where there is none, the standard error of a process that serves.
    pub file: Option<PathBuf>,
}

/// What lines of the log look like.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// One JSON object each.
    #[default]
    Json,
    /// Words.
    Text,
}

/// What becomes of a plugin that is seen for the first time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Pinning {
    /// It is taken as it is, and pinned.
    #[default]
    First,
    /// It waits until a person trusts it.
    Strict,
}
