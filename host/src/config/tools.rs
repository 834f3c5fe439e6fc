//! Resolves `[tools."plugin.tool"]`: what holds for single tools.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use toml::Spanned;
use toml::de::DeValue;

use super::bounds;
use super::faults::Fault;
use super::read::{Named, Read, Reader, Text, tables};
use super::resolved::ToolRules;
use super::retries;
use crate::model::caller::Confirm;
use crate::model::id::ToolName;

tables! {
    /// `[tools."plugin.tool"]`: what holds for one tool.
    Tool {
        confirm: Confirm,
        timeout: Duration,
        retries: u64,
        fallback: ToolName,
    }
}

impl Text for Confirm {
    const IS: &'static str = "\"none\" where nobody is asked, \"person\" where a person is";

    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self::Nobody),
            "person" => Ok(Self::Person),
            _ => Err(String::new()),
        }
    }
}

/// Resolves the rules of all tools.
pub(super) fn tools(
    written: Named<ToolName, Tool>,
    faults: &mut Vec<Fault>,
) -> BTreeMap<ToolName, ToolRules> {
    let (mut tools, mut fallbacks) = (BTreeMap::new(), Vec::new());
    for (name, tool) in written.entries {
        let (name, tool) = (name.into_inner(), tool.into_inner());
        let timeout = bounds::time(&path(&name, "timeout"), tool.timeout.as_ref(), bounds::ATTEMPT, faults);
        let retries = retries::most(&path(&name, "retries"), tool.retries.as_ref(), faults);
        let confirm = tool.confirm.map(Spanned::into_inner);
        fallbacks.extend(tool.fallback.as_ref().map(|fallback| (name.clone(), fallback.span())));
        let fallback = tool.fallback.map(Spanned::into_inner);
        tools.insert(name, ToolRules { confirm, timeout, retries, fallback });
    }
    faults.extend(fallbacks.into_iter().filter_map(|(tool, place)| ring(&tools, &tool, place)));
    tools
}

/// How often single tools are tried again, as it is written.
pub(super) fn retried(written: Option<&Spanned<Named<ToolName, Tool>>>) -> Vec<(String, Spanned<u64>)> {
    let entries = written.map(|tools| tools.get_ref().entries.as_slice()).unwrap_or_default();
    let one = |(name, tool): &(Spanned<ToolName>, Spanned<Tool>)| {
        Some((path(name.get_ref(), "retries"), tool.get_ref().retries.clone()?))
    };
    entries.iter().filter_map(one).collect()
}

fn path(tool: &ToolName, key: &str) -> String {
    format!("tools.\"{tool}\".{key}")
}

/// The fault of a tool whose fallbacks lead back to it: where each of them fails, its caller would be sent round.
fn ring(tools: &BTreeMap<ToolName, ToolRules>, tool: &ToolName, place: Range<usize>) -> Option<Fault> {
    let mut way = vec![tool];
    while let Some(next) = tools.get(way.last()?).and_then(|rules| rules.fallback.as_ref()) {
        if next == tool {
            let shown: Vec<String> = way.iter().chain([&tool]).map(ToString::to_string).collect();
            let text =
                format!("`{}` leads back to the tool itself: {}", path(tool, "fallback"), shown.join(" → "));
            let fault = Fault::at(place, text).expected("a tool that does not lead back here");
            return Some(fault.help("leave one of them out: the last tool of the row has no fallback"));
        }
        if way.contains(&next) {
            return None;
        }
        way.push(next);
    }
    None
}
