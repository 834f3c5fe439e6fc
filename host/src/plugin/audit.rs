//! Whether a plugin's declaration can be taken at its word: all that is wrong with it, each fault a sentence.

pub mod doubts;
mod needs;
mod pointers;
pub(super) mod text;

use std::collections::HashSet;
use std::time::Duration;

use serde_json::Value;

use self::text::Kind;
use super::schema::Schema;
use crate::model::id::is_name;
use crate::model::manifest::{Cleanup, Manifest, Repeat, Risk, Tool};
use crate::model::pointer::Unshown;
use crate::sandbox::wit::types as declared;

/// Tools of one plugin: more than a model can choose among, and room for more.
const MOST_TOOLS: usize = 256;

/// Needs and permissions of one tool, pointers and fields that it names.
const MOST_LISTED: usize = 256;

/// Faults of one plugin that are told.
const MOST_FAULTS: usize = 200;

/// The text of one schema, which is compiled and sent to models whole.
const SCHEMA_BYTES: usize = 256 << 10;

/// What callers take for the host itself.
const HOSTS_OWN: &str = "airlock";

/// Reads a declaration, or says all that is wrong with it.
///
/// # Errors
/// Where it has faults; each names the tool that it is about, what is expected, and the value.
pub fn audit(declared: declared::Manifest) -> Result<Manifest, Vec<String>> {
    let mut faults = Faults { about: "the plugin".to_owned(), list: Vec::new() };
    if !is_name(&declared.name) {
        faults.add(name_fault("its name", &declared.name));
    }
    if declared.name == HOSTS_OWN {
        faults.add(format!("its name must be another: {HOSTS_OWN} is that of the host's own tools"));
    }
    if let Err(error) = semver::Version::parse(&declared.version) {
        faults.add(format!(
            "its version must be a semantic version such as 1.4.0 ({error}), and is {}",
            shown(&declared.version)
        ));
    }
    text::check(&mut faults, Kind::Description, &declared.description);
    match declared.tools.len() {
        0 => faults.add("it declares no tools, and must declare one at least"),
        1..=MOST_TOOLS => {}
        many => faults.add(format!("it declares {many} tools and may declare {MOST_TOOLS}")),
    }
    let mut names = HashSet::new();
    let mut tools = Vec::new();
    for tool in declared.tools.into_iter().take(MOST_TOOLS) {
        faults.about = format!("tool {}", shown(&tool.name));
        if !names.insert(tool.name.clone()) {
            faults.add("the name is declared twice; keep one of them");
        }
        tools.push(audit_tool(&mut faults, tool));
    }
    if !faults.list.is_empty() {
        return Err(faults.list);
    }
    Ok(Manifest { name: declared.name, version: declared.version, description: declared.description, tools })
}

/// What is wrong, and what is being looked at.
struct Faults {
    about: String,
    list: Vec<String>,
}

impl Faults {
    fn add(&mut self, text: impl AsRef<str>) {
        // What nobody can read to its end need not be made: a manifest may be one long fault.
        if self.list.len() < MOST_FAULTS {
            self.list.push(format!("{}: {}", self.about, text.as_ref()));
        }
    }

    fn add_all(&mut self, texts: impl IntoIterator<Item = String>) {
        texts.into_iter().for_each(|text| self.add(text));
    }
}

fn audit_tool(faults: &mut Faults, tool: declared::Tool) -> Tool {
    if !is_name(&tool.name) {
        faults.add(name_fault("the name", &tool.name));
    }
    text::check(faults, Kind::Title, &tool.title);
    text::check(faults, Kind::Description, &tool.description);
    let input_schema = schema(faults, "the input schema", &tool.input_schema);
    let output_schema = tool.output_schema.as_deref().map(|text| schema(faults, "the output schema", text));
    permissions(faults, &tool.permissions);
    let unshown = Unshown {
        hidden: pointers::read(faults, "hidden", &tool.hidden),
        private: pointers::read(faults, "private", &tool.private),
    };
    pointers::same_action(faults, &tool.same_action, &input_schema);
    pointers::not_the_hosts(faults, &input_schema);
    if tool.timeout_ms == Some(0) {
        faults.add("`timeout-ms` must be at least 1 and is 0; leave it out for the host's own limit");
    }
    let (risk, repeat, cleanup) = (tool.risk.into(), tool.repeat.into(), tool.cleanup.into());
    let needs = needs::read(faults, tool.needs);
    honest(faults, risk, repeat, cleanup);
    needs::as_strict(faults, repeat, &needs);
    Tool {
        name: tool.name,
        title: tool.title,
        description: tool.description,
        input_schema,
        output_schema,
        risk,
        repeat,
        cleanup,
        permissions: tool.permissions,
        needs,
        unshown,
        same_action: tool.same_action,
        poll: tool.poll,
        cost_micros: tool.cost_micros,
        timeout: tool.timeout_ms.map(|millis| Duration::from_millis(millis.into())),
    }
}

/// Reads a schema and compiles it once, to know that it can be.
fn schema(faults: &mut Faults, what: &str, text: &str) -> Value {
    if text.len() > SCHEMA_BYTES {
        faults.add(format!("{what} has {} bytes and may have {SCHEMA_BYTES}", text.len()));
        return Value::Null;
    }
    let value: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(error) => {
            faults.add(format!("{what} is no JSON: {error}"));
            return Value::Null;
        }
    };
    if let Some(hidden) = text::hidden_within(&value) {
        faults.add(format!("{what} {hidden}"));
    }
    if let Err(wrong) = Schema::compile(&value) {
        faults.add_all(wrong.into_iter().map(|wrong| format!("{what}: {wrong}")));
    }
    value
}

fn permissions(faults: &mut Faults, permissions: &[String]) {
    listed(faults, "permissions", permissions.len());
    for (place, permission) in permissions.iter().take(MOST_LISTED).enumerate() {
        let plain = permission.bytes().all(|byte| byte.is_ascii_graphic());
        if permission.is_empty() || permission.len() > 128 || !plain {
            faults.add(format!(
                "a permission has 1 to 128 visible characters and no space, such as order:read, and is {}",
                shown(permission)
            ));
        } else if permissions[..place].contains(permission) {
            faults.add(format!("the permission {permission} is listed twice; keep one"));
        }
    }
}

fn listed(faults: &mut Faults, what: &str, count: usize) {
    if count > MOST_LISTED {
        faults.add(format!("it has {count} {what} and may have {MOST_LISTED}"));
    }
}

/// What a tool says of itself must agree with what else it says.
fn honest(faults: &mut Faults, risk: Risk, repeat: Repeat, cleanup: Cleanup) {
    if risk <= Risk::L2 && repeat != Repeat::Reads {
        faults.add(format!(
            "a tool whose risk is {risk:?} reads, and this one repeats as {}; declare low-risk-write or high-risk-write, or repeat as reads",
            repeat.word()
        ));
    }
    if repeat == Repeat::Reads && cleanup != Cleanup::Nothing {
        faults.add(format!(
            "a tool that reads leaves nothing behind, and the clean-up of this one is {}; declare nothing",
            cleanup.word()
        ));
    }
}

fn name_fault(what: &str, name: &str) -> String {
    format!(
        "{what} must begin with a small letter, have small letters, digits and single `_` alone, and at most 64 characters, and is {}",
        shown(name)
    )
}

/// A text as it stands in a fault: quoted, cut, with nothing that a terminal would act on.
fn shown(text: &str) -> String {
    let mut chars = text.chars();
    let mut shown: String =
        chars.by_ref().take(64).map(|char| if text::is_hidden(char) { '\u{fffd}' } else { char }).collect();
    if chars.next().is_some() {
        shown.push('…');
    }
    format!("\"{}\"", shown.replace(['\n', '\t'], " "))
}

#[cfg(test)]
mod tests;
