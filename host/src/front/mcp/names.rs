//! What tools are called here: `desk__create_ticket`, or the name that the operator gave.

use crate::host::ToolView;
use crate::model::id::{Digest, ToolName};

/// What the narrowest of the usual clients takes.
const LONGEST: usize = 64;

/// What stands between the plugin's name and the tool's own.
pub(super) const BETWEEN: &str = "__";

/// How much of a digest tells long names apart, in hexadecimal digits.
const TOLD_APART: usize = 8;

/// What a tool is called.
pub(super) fn name(view: &ToolView) -> String {
    view.mcp_name.clone().unwrap_or_else(|| usual(&view.name))
}

/// The name of a tool that the operator gave none. Where it is too long, its end is told by its digest.
fn usual(tool: &ToolName) -> String {
    let whole = format!("{}{BETWEEN}{}", tool.plugin, tool.tool);
    if whole.len() <= LONGEST {
        return whole;
    }
    let digest = Digest::of(whole.as_bytes()).to_string();
    // All of it is ASCII.
    let (kept, told_apart) = (whole.get(..LONGEST - TOLD_APART - 1), digest.get(..TOLD_APART));
    format!("{}_{}", kept.unwrap_or_default(), told_apart.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_is_one_that_clients_take_and_of_one_tool_alone() {
        let tool = |name: String| usual(&name.parse().unwrap());
        let long = tool(format!("{}.{}", "p".repeat(64), "t".repeat(64)));
        assert_eq!(tool("desk.create_ticket".to_owned()), "desk__create_ticket");
        assert_eq!(long.len(), LONGEST);
        assert_ne!(long, tool(format!("{}.{}x", "p".repeat(64), "t".repeat(63))));
    }
}
