//! What tools declare beside what is granted, for people who decide about it.

use super::Host;
use crate::model::id::ToolName;
use crate::model::limits::AttemptTime;
use crate::model::manifest::Tool;
use crate::plugin::granted::{self, Beside};

impl Host {
    /// What these tools of a plugin declare, each need beside what the configuration grants of it.
    pub fn beside(&self, plugin: &str, tools: &[Tool]) -> Vec<Beside> {
        granted::beside(plugin, tools, &self.parts.setting().config)
    }

    /// The lines of configuration that would grant these tools what they lack; nothing where they lack nothing.
    pub fn lines(&self, plugin: &str, tools: &[Tool]) -> Option<String> {
        granted::lines(plugin, tools, &self.parts.setting().config)
    }

    /// How long one attempt of a tool may take, and who says so.
    pub fn attempt_time(&self, tool: &ToolName) -> Option<AttemptTime> {
        self.parts.setting().registry.get(tool).map(|entry| entry.attempt.clone())
    }
}
