//! What the operator decided and which tools there are, at one moment: a call keeps what it began with.

use crate::config::Config;
use crate::model::secret::Mask;
use crate::plugin::{PluginFault, Registry};
use crate::sandbox::capability::http::Egress;

/// Configuration, tools and the way out, which change together and as a whole.
#[derive(Debug, Clone)]
pub struct Setting {
    /// What the operator decided.
    pub config: Config,
    /// Tools; none before they are loaded.
    pub registry: Registry,
    /// Values that never leave.
    pub mask: Mask,
    /// What is wrong with the configuration as it lies there by now; this one was read before.
    pub faults: Vec<PluginFault>,
    /// The way out.
    pub egress: Egress,
}
