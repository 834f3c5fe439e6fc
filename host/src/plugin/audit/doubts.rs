//! What about a plugin makes one look twice: it is taken all the same, and the operator is told.

use std::collections::BTreeMap;

use crate::model::manifest::{Cleanup, Manifest, Need, Repeat, Tool};
use crate::sandbox::engine::Surface;

/// The interface by which a plugin takes back what it did.
const ROLLBACK: &str = "airlock:plugin/rollback@0.1.0";

/// An import, and the need that explains it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explained {
    /// `interface#function`, or `interface`.
    pub import: String,
    /// Why the component imports it.
    pub by: Explanation,
}

/// Why a component imports something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Explanation {
    /// Languages bring it, and it gives nothing.
    Inert,
    /// Every call has it.
    Every,
    /// These tools need it.
    Tools(Vec<String>),
    /// Nothing that is declared explains it.
    Nothing,
}

/// Doubts about one plugin, each a sentence.
pub(in crate::plugin) fn doubts(manifest: &Manifest, surface: &Surface) -> Vec<String> {
    let mut doubts = Vec::new();
    let rollback = surface.exports.iter().any(|export| export == ROLLBACK);
    for tool in &manifest.tools {
        doubts.extend(clean_up(tool, rollback).map(|text| format!("tool \"{}\": {text}", tool.name)));
        if tool.output_schema.is_none() {
            doubts.push(format!(
                "tool \"{}\": it has no output schema, so what it returns is checked by nobody",
                tool.name
            ));
        }
    }
    let unexplained = explain(manifest, surface).into_iter().filter(|one| one.by == Explanation::Nothing);
    doubts.extend(
        unexplained.map(|one| format!("it imports {}, and no need of its tools explains that", one.import)),
    );
    doubts
}

fn clean_up(tool: &Tool, rollback: bool) -> Option<String> {
    match (tool.repeat, tool.cleanup) {
        (Repeat::Reads, _) | (_, Cleanup::Manual) => None,
        (_, Cleanup::Nothing) => tool.needs.iter().find_map(left_behind).map(|what| {
            format!("it {what} and declares that nothing is left behind; where something is, declare manual, or export `rollback`")
        }),
        (_, Cleanup::Release | Cleanup::Automatic | Cleanup::Destructive) if rollback => None,
        (_, promised @ (Cleanup::Release | Cleanup::Automatic | Cleanup::Destructive)) => Some(format!(
            "its clean-up is {}, and the plugin exports no `rollback` that could do it; export one, or declare manual",
            promised.word()
        )),
    }
}

/// What a need leaves in the world outside, where it does.
fn left_behind(need: &Need) -> Option<&'static str> {
    match need {
        Need::Http(http) if http.repeat != Repeat::Reads => Some("sends requests that change something"),
        Need::Directory(_, true) => Some("writes files"),
        Need::KeyValue => Some("keeps values"),
        Need::Http(_) | Need::Directory(_, false) | Need::Secret(_) | Need::Config(_) => None,
    }
}

/// Every import, with what explains it.
pub(in crate::plugin) fn explain(manifest: &Manifest, surface: &Surface) -> Vec<Explained> {
    surface
        .imports
        .iter()
        .map(|import| Explained { import: import.clone(), by: explanation(manifest, import) })
        .collect()
}

fn explanation(manifest: &Manifest, import: &str) -> Explanation {
    let (interface, function) = import.split_once('#').unwrap_or((import, ""));
    let interface = interface.split('@').next().unwrap_or(interface);
    let by = |explains: fn(&Need) -> bool| {
        let tools = manifest.tools.iter().filter(|tool| tool.needs.iter().any(explains));
        let tools: Vec<String> = tools.map(|tool| tool.name.clone()).collect();
        if tools.is_empty() { Explanation::Nothing } else { Explanation::Tools(tools) }
    };
    match (interface, function) {
        ("airlock:plugin/http", _) => by(|need| matches!(need, Need::Http(_))),
        ("airlock:plugin/secrets", _) => by(|need| matches!(need, Need::Secret(_))),
        ("airlock:plugin/files", _) => by(|need| matches!(need, Need::Directory(..))),
        ("airlock:plugin/key-value", _) => by(|need| matches!(need, Need::KeyValue)),
        // Languages that bind whole interfaces bring it, and it gives what is declared and granted alone.
        ("airlock:plugin/host", "config") => match by(|need| matches!(need, Need::Config(_))) {
            Explanation::Nothing => Explanation::Inert,
            tools @ (Explanation::Inert | Explanation::Every | Explanation::Tools(_)) => tools,
        },
        (other, _) if other.starts_with("wasi:http/") => by(|need| matches!(need, Need::Http(_))),
        (other, _) if other.starts_with("airlock:plugin/") => Explanation::Every,
        (_, _) => Explanation::Inert,
    }
}

/// Names of plugins that are easily taken for each other: for each, a sentence.
pub(in crate::plugin) fn alike(names: &[&str]) -> BTreeMap<String, String> {
    let mut alike = BTreeMap::new();
    for name in names {
        if let Some(near) = names.iter().find(|other| one_slip_apart(name, other)) {
            let text = format!("its name `{name}` is easily taken for `{near}`; look whether both are meant");
            alike.insert((*name).to_owned(), text);
        }
    }
    alike
}

/// Whether one slip makes one name the other. Names that are numbered differ on purpose.
fn one_slip_apart(name: &str, other: &str) -> bool {
    let letters = |name: &str| name.trim_end_matches(|letter: char| letter.is_ascii_digit()).len();
    let numbered = letters(name) == letters(other) && name[..letters(name)] == other[..letters(other)];
    !numbered && strsim::osa_distance(name, other) == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::manifest::{DeclaredOrigin, HttpNeed};
    use crate::plugin::audit::audit;
    use crate::sandbox::wit::types as declared;

    /// A plugin with one tool that does this.
    fn tool(repeat: Repeat, cleanup: Cleanup, needs: Vec<Need>) -> Manifest {
        let tool = declared::Tool {
            name: "open".to_owned(),
            title: "Open".to_owned(),
            description: "Opens one.".to_owned(),
            input_schema: r#"{"type":"object"}"#.to_owned(),
            output_schema: Some(r#"{"type":"object"}"#.to_owned()),
            risk: declared::Risk::PublicRead,
            repeat: declared::Repeat::Reads,
            cleanup: declared::Cleanup::Nothing,
            permissions: Vec::new(),
            needs: Vec::new(),
            hidden: Vec::new(),
            private: Vec::new(),
            same_action: Vec::new(),
            poll: false,
            timeout_ms: None,
            cost_micros: None,
        };
        let text = |text: &str| text.to_owned();
        let (name, version, description) = (text("desk"), text("1.0.0"), text("The desk."));
        let mut manifest =
            audit(declared::Manifest { name, version, description, tools: vec![tool] }).unwrap();
        let tool = &mut manifest.tools[0];
        (tool.repeat, tool.cleanup, tool.needs) = (repeat, cleanup, needs);
        manifest
    }

    fn surface(imports: &[&str], exports: &[&str]) -> Surface {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Surface { imports: owned(imports), exports: owned(exports) }
    }

    fn post() -> Need {
        Need::Http(HttpNeed {
            origin: DeclaredOrigin::Granted,
            methods: vec!["POST".to_owned()],
            paths: Vec::new(),
            repeat: Repeat::Keyed,
            idempotency_header: None,
            clean_statuses: Vec::new(),
        })
    }

    #[test]
    fn a_clean_up_that_nobody_can_do_is_doubted() {
        let none = surface(&[], &[]);
        for promised in [Cleanup::Release, Cleanup::Automatic, Cleanup::Destructive] {
            let manifest = tool(Repeat::Keyed, promised, vec![post()]);
            let doubt = format!(
                "its clean-up is {}, and the plugin exports no `rollback` that could do it; export one, or declare manual",
                promised.word()
            );
            assert!(doubts(&manifest, &none)[0].ends_with(&doubt), "{promised:?}");
            assert!(doubts(&manifest, &surface(&[], &[ROLLBACK])).is_empty(), "{promised:?}");
        }
        assert!(doubts(&tool(Repeat::Keyed, Cleanup::Manual, vec![post()]), &none).is_empty());
        let nothing = doubts(&tool(Repeat::Keyed, Cleanup::Nothing, vec![post()]), &none);
        assert!(nothing[0].contains("declares that nothing is left behind"), "{nothing:?}");
        assert!(doubts(&tool(Repeat::Idempotent, Cleanup::Nothing, Vec::new()), &none).is_empty());
    }

    #[test]
    fn output_that_nobody_can_check_is_doubted() {
        let mut manifest = tool(Repeat::Reads, Cleanup::Nothing, Vec::new());
        assert!(doubts(&manifest, &surface(&[], &[])).is_empty());
        manifest.tools[0].output_schema = None;
        let doubt = "it has no output schema, so what it returns is checked by nobody";
        assert!(doubts(&manifest, &surface(&[], &[]))[0].ends_with(doubt));
    }

    #[test]
    fn an_import_is_explained_by_a_need_or_doubted() {
        let imports = [
            "airlock:plugin/http@0.1.0#send",
            "airlock:plugin/secrets@0.1.0#sign",
            "airlock:plugin/host@0.1.0#log",
            "airlock:plugin/host@0.1.0#config",
            "airlock:plugin/types@0.1.0",
            "wasi:filesystem/types@0.2.6",
        ];
        let manifest = tool(Repeat::Keyed, Cleanup::Manual, vec![post()]);
        let by: Vec<Explanation> =
            explain(&manifest, &surface(&imports, &[])).into_iter().map(|one| one.by).collect();
        let tools = Explanation::Tools(vec![manifest.tools[0].name.clone()]);
        let (every, inert) = (Explanation::Every, Explanation::Inert);
        assert_eq!(by, [tools, Explanation::Nothing, every.clone(), inert.clone(), every, inert]);
        assert_eq!(
            doubts(&manifest, &surface(&imports, &[])),
            ["it imports airlock:plugin/secrets@0.1.0#sign, and no need of its tools explains that"]
        );
    }

    #[test]
    fn names_that_are_easily_confused_are_told() {
        let alike = alike(&["bank", "bnak", "desk", "disk", "mail", "mail2", "mail3", "weather"]);
        assert_eq!(alike.keys().collect::<Vec<_>>(), ["bank", "bnak", "desk", "disk"]);
        assert_eq!(alike["desk"], "its name `desk` is easily taken for `disk`; look whether both are meant");
    }
}
