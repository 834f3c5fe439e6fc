//! Who may ask for what.

use std::collections::BTreeSet;

use super::id::{CallerName, ToolName};
use super::manifest::Risk;

/// A caller as configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Its name; also half of the scope of its keys.
    pub name: CallerName,
    /// What it is permitted; everything where absent.
    pub permissions: Option<BTreeSet<String>>,
    /// Tools above this risk are not there for it.
    pub max_risk: Risk,
    /// Tools outside these patterns are not there for it.
    pub tools: Vec<ToolPattern>,
}

impl Caller {
    /// The person at the command line, who may do everything that the plugins were granted.
    pub fn local() -> Self {
        Self {
            name: CallerName("local".to_owned()),
            permissions: None,
            max_risk: Risk::L4,
            tools: vec![ToolPattern("*".to_owned())],
        }
    }

    /// Whether the tool is there for this caller at all.
    pub fn sees(&self, tool: &ToolName, risk: Risk) -> bool {
        risk <= self.max_risk && self.tools.iter().any(|pattern| pattern.matches(tool))
    }

    /// The permissions that the tool asks for and the caller does not have.
    pub fn lacks<'a>(&self, wanted: &'a [String]) -> Vec<&'a str> {
        match &self.permissions {
            None => Vec::new(),
            Some(held) => wanted.iter().filter(|one| !held.contains(*one)).map(String::as_str).collect(),
        }
    }
}

/// Tools by name: `desk.find_order`, `desk.*` or `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolPattern(String);

impl ToolPattern {
    /// Reads a pattern; none where it is neither a tool's name, a plugin's with `.*`, nor `*`.
    pub fn parse(text: &str) -> Option<Self> {
        let whole_plugin = text.strip_suffix(".*").is_some_and(super::id::is_name);
        (text == "*" || whole_plugin || text.parse::<ToolName>().is_ok()).then(|| Self(text.to_owned()))
    }

    /// Whether the tool is meant.
    pub fn matches(&self, tool: &ToolName) -> bool {
        self.0 == "*" || self.0.strip_suffix(".*") == Some(&tool.plugin) || self.0 == tool.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_sees_what_its_patterns_and_its_risk_allow() {
        let caller = Caller {
            name: CallerName("bot".into()),
            permissions: Some(BTreeSet::from(["order:read".to_owned()])),
            max_risk: Risk::L2,
            tools: vec![ToolPattern::parse("desk.*").unwrap()],
        };
        let tool: ToolName = "desk.find_order".parse().unwrap();
        assert!(caller.sees(&tool, Risk::L2));
        assert!(!caller.sees(&tool, Risk::L3));
        assert!(!caller.sees(&"desks.find_order".parse().unwrap(), Risk::L1));
        assert_eq!(caller.lacks(&["order:read".into(), "order:write".into()]), ["order:write"]);
    }

    #[test]
    fn patterns_are_names_or_whole_plugins() {
        for bad in ["", "desk", "desk.**", "*.x", "Desk.*"] {
            assert!(ToolPattern::parse(bad).is_none(), "{bad}");
        }
    }
}
