//! Tools as a client sees them: schemas that it takes, and hints derived from what is enforced.

use std::collections::HashMap;
use std::sync::Arc;

use rmcp::model::{Tool, ToolAnnotations};

use super::names::{BETWEEN, name};
use super::own;
use super::schema::{of_input, of_output};
use crate::host::{Edition, ToolView};
use crate::model::id::ToolName;
use crate::model::manifest::{Need, Repeat, Risk};

/// Methods that add to what is there, or only look at it.
const ADDS: &[&str] = &["GET", "HEAD", "OPTIONS", "POST", "QUERY"];

/// All tools that are there for a caller, in the order of their names, as long as an edition holds.
#[derive(Debug)]
pub(super) struct Listing {
    pub(super) edition: Edition,
    pub(super) tools: Vec<Tool>,
    meant: HashMap<String, Meant>,
}

/// The tool that a name stands for.
#[derive(Debug, Clone)]
pub(super) struct Meant {
    pub(super) tool: ToolName,
    /// Whether it says what its output looks like.
    pub(super) structured: bool,
}

impl Listing {
    pub(super) fn new(edition: Edition, views: &[ToolView]) -> Self {
        let mut tools = own::tools(edition.wait());
        tools.extend(views.iter().map(tool));
        let meant = views
            .iter()
            .map(|view| (name(view), Meant { tool: view.name.clone(), structured: view.output.is_some() }));
        Self { edition, tools, meant: meant.collect() }
    }

    /// What a tool is called here.
    pub(super) fn called(&self, tool: &str) -> Option<&str> {
        let named = self.meant.iter().find(|(_, meant)| meant.tool.to_string() == tool);
        named.map(|(name, _)| name.as_str())
    }

    /// The tool that is called so. One that is not listed may be known to the host all the same: it then says why the
    /// tool is not there.
    pub(super) fn meant(&self, name: &str) -> Option<Meant> {
        self.meant.get(name).cloned().or_else(|| {
            let (plugin, own) = name.split_once(BETWEEN)?;
            let tool = format!("{plugin}.{own}").parse().ok()?;
            let listed = self.meant.values().any(|meant| meant.tool == tool);
            (!listed).then_some(Meant { tool, structured: false })
        })
    }
}

fn tool(view: &ToolView) -> Tool {
    let declared = &view.tool;
    let mut description = declared.description.clone();
    if view.confirm {
        description.push_str("\n\nA person must say yes to each call.");
    }
    let tool = Tool::new(name(view), description, of_input(&declared.input_schema))
        .with_title(&declared.title)
        .with_annotations(annotations(view));
    match &view.output {
        Some(schema) => tool.with_raw_output_schema(Arc::new(of_output(schema))),
        None => tool,
    }
}

/// All four are said, since a client may take what is not said for the worst.
fn annotations(view: &ToolView) -> ToolAnnotations {
    let tool = &view.tool;
    let changes = |need: &Need| match need {
        Need::Http(http) => http.methods.iter().any(|method| !ADDS.contains(&method.as_str())),
        Need::Directory(_, writes) => *writes,
        Need::Secret(_) | Need::Config(_) | Need::KeyValue => false,
    };
    let leaves = |need: &Need| match need {
        Need::Http(_) => true,
        Need::Directory(..) | Need::Secret(_) | Need::Config(_) | Need::KeyValue => false,
    };
    ToolAnnotations::new()
        .read_only(tool.reads())
        .destructive(!tool.reads() && (tool.risk >= Risk::L4 || tool.needs.iter().any(changes)))
        .idempotent(match tool.repeat {
            Repeat::Reads | Repeat::Idempotent => true,
            // A second call has a key of its own.
            Repeat::Keyed | Repeat::Once => false,
        })
        .open_world(tool.needs.iter().any(leaves))
}
