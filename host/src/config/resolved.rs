//! The configuration that the host runs by: every default applied, every secret read.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use crate::model::caller::Caller;
use crate::model::id::{CallerName, ToolName};
use crate::model::limits::Limits;
use crate::model::origin::{OriginPattern, PathPattern};
use crate::model::secret::SecretValue;

/// All that an operator decides.
#[derive(Debug, Clone)]
pub struct Config {
    /// The file that it was read from.
    pub file: PathBuf,
    /// The folder of plugins.
    pub plugins: PathBuf,
    /// The folder of what the host keeps.
    pub state: PathBuf,
    /// Grants, by the plugin's name.
    pub grants: BTreeMap<String, PluginGrants>,
    /// Callers, by name; `local` is always among them.
    pub callers: BTreeMap<CallerName, Caller>,
    /// Secrets, by the operator's name.
    pub secrets: BTreeMap<String, SecretValue>,
    /// Limits of every call.
    pub limits: Limits,
    /// Rules of single tools.
    pub tools: BTreeMap<ToolName, ToolRules>,
    /// Certificates that are trusted beside the system's, as PEM.
    pub roots: Vec<Vec<u8>>,
}

/// What one plugin is given, as far as its tools declare it.
#[derive(Debug, Clone, Default)]
pub struct PluginGrants {
    /// Values by key.
    pub config: BTreeMap<String, String>,
    /// Names of secrets that it may use.
    pub secrets: BTreeSet<String>,
    /// Requests that it may send.
    pub http: Vec<HttpGrant>,
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
}

/// Who says yes to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confirm {
    /// Nobody is asked.
    Nobody,
    /// A person is.
    Person,
}
