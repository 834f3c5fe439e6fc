//! What changed between two manifests, a sentence each: first what lets a plugin do more.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::model::manifest;
use crate::plugin::audit::text::visible;
use crate::sandbox::wit::types::{Access, Cleanup, HttpNeed, Manifest, Need, Origin, Repeat, Risk, Tool};

/// How much of a changed text is shown, and how much of what stands before the change.
const SHOWN: usize = 120;
const BEFORE: usize = 24;

/// What changed, told in full; never empty.
pub fn difference(old: &Manifest, new: &Manifest) -> Vec<String> {
    let mut told = Told::default();
    told.words("its version", &old.version, &new.version);
    told.words("its description", &old.description, &new.description);
    for tool in &old.tools {
        match new.tools.iter().find(|other| other.name == tool.name) {
            Some(other) => tool_changes(&mut told, tool, other),
            None => told.less(format!("tool {}: it is gone", visible(&tool.name))),
        }
    }
    for tool in &new.tools {
        if !old.tools.iter().any(|other| other.name == tool.name) {
            told.more(format!(
                "tool {}: it was not there before; its risk is {}, and it {}",
                visible(&tool.name),
                risk(tool.risk),
                if tool.needs.is_empty() {
                    "needs nothing".to_owned()
                } else {
                    list(tool.needs.iter().flat_map(needs))
                },
            ));
        }
    }
    if told.more.is_empty() && told.less.is_empty() {
        told.less.push(if old == new {
            "only its code changed; it declares what it declared before".to_owned()
        } else {
            "the order of its tools, or a detail of its requests, changed".to_owned()
        });
    }
    [told.more, told.less].concat()
}

/// Sentences: what lets a plugin do more, and the rest.
#[derive(Default)]
struct Told {
    more: Vec<String>,
    less: Vec<String>,
}

impl Told {
    fn more(&mut self, text: String) {
        self.more.push(text);
    }

    fn less(&mut self, text: String) {
        self.less.push(text);
    }

    fn words(&mut self, what: &str, old: &str, new: &str) {
        if old != new {
            let (old, new) = from_the_change(old, new);
            self.less(format!("{what} was \"{old}\" and is \"{new}\""));
        }
    }

    /// What is listed, before and now.
    fn listed(
        &mut self,
        what: &str,
        old: impl Iterator<Item = String>,
        new: impl Iterator<Item = String>,
        adds: bool,
    ) {
        let (old, new): (BTreeSet<String>, BTreeSet<String>) = (old.collect(), new.collect());
        for added in new.difference(&old) {
            let text = format!("{what} now {added}");
            if adds { self.more(text) } else { self.less(text) }
        }
        for gone in old.difference(&new) {
            self.less(format!("{what} no longer {gone}"));
        }
    }
}

fn tool_changes(told: &mut Told, old: &Tool, new: &Tool) {
    let about = format!("tool {}: ", visible(&new.name));
    let about = about.as_str();
    if old.risk != new.risk {
        let text = format!("{about}its risk was {} and is {}", risk(old.risk), risk(new.risk));
        if risk(new.risk) > risk(old.risk) { told.more(text) } else { told.less(text) }
    }
    told.listed(
        &format!("{about}it"),
        old.needs.iter().flat_map(needs),
        new.needs.iter().flat_map(needs),
        true,
    );
    let asks =
        |tool: &Tool| tool.permissions.clone().into_iter().map(|name| format!("asks for {}", visible(&name)));
    told.listed(&format!("{about}it"), asks(old), asks(new), false);
    told.words(&format!("{about}its title"), &old.title, &new.title);
    told.words(&format!("{about}its description"), &old.description, &new.description);
    schema(told, &format!("{about}its input schema"), Some(&old.input_schema), Some(&new.input_schema));
    schema(
        told,
        &format!("{about}its output schema"),
        old.output_schema.as_ref(),
        new.output_schema.as_ref(),
    );
    let mut one = |what: &str, old: String, new: String| {
        if old != new {
            told.less(format!("{about}{what} was {old} and is {new}"));
        }
    };
    one("what a repeat of it does", repeat(old.repeat).to_owned(), repeat(new.repeat).to_owned());
    one("its clean-up", cleanup(old.cleanup).to_owned(), cleanup(new.cleanup).to_owned());
    one("what it hides", all(&old.hidden), all(&new.hidden));
    one("what it keeps private", all(&old.private), all(&new.private));
    one("what makes two calls the same", all(&old.same_action), all(&new.same_action));
    one("whether it is asked again and again", old.poll.to_string(), new.poll.to_string());
    one("its time in milliseconds", optional(old.timeout_ms), optional(new.timeout_ms));
    one("its cost in millionths", optional(old.cost_micros), optional(new.cost_micros));
}

/// A schema is told by its fields, where they differ.
fn schema(told: &mut Told, what: &str, old: Option<&String>, new: Option<&String>) {
    if old == new {
        return;
    }
    let read = |text: Option<&String>| -> Value {
        text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or(Value::Null)
    };
    let (mut old, mut new) = (read(old), read(new));
    let fields = |schema: &mut Value| match schema.as_object_mut().and_then(|all| all.remove("properties")) {
        Some(Value::Object(fields)) => fields,
        Some(_) | None => Map::new(),
    };
    let (had, has) = (fields(&mut old), fields(&mut new));
    for (name, field) in &has {
        let about = format!("{what}: the field {}", visible(name));
        match had.get(name) {
            Some(before) => told.words(&about, &before.to_string(), &field.to_string()),
            None => told.less(format!("{about} was not there before")),
        }
    }
    for gone in had.keys().filter(|name| !has.contains_key(*name)) {
        told.less(format!("{what}: the field {} is gone", visible(gone)));
    }
    told.words(what, &old.to_string(), &new.to_string());
}

/// What a need lets a tool do, each on its own, so that a longer list shows what is added.
fn needs(need: &Need) -> Vec<String> {
    match need {
        Need::Http(HttpNeed { origin: place, methods, paths, repeat: again, .. }) => {
            let paths = if paths.is_empty() { "every path".to_owned() } else { visible(&paths.join(" ")) };
            let to = origin(place);
            let how = repeat(*again);
            let sends = |method: &String| format!("sends {} to {to}, {paths} ({how})", visible(method));
            methods.iter().map(sends).collect()
        }
        Need::Directory(folder) => {
            let name = visible(&folder.name);
            match folder.access {
                Access::Read => vec![format!("reads the folder {name}")],
                Access::Write => {
                    vec![format!("reads the folder {name}"), format!("writes the folder {name}")]
                }
            }
        }
        Need::Secret(secret) => {
            let body = if secret.in_body { ", also in bodies" } else { "" };
            let places = secret.origins.iter().map(origin);
            let name = visible(&secret.name);
            places.map(|place| format!("uses the secret {name} toward {place}{body}")).collect()
        }
        Need::Config(key) => vec![format!("reads the configuration key {}", visible(key))],
        Need::KeyValue => vec!["keeps a store of its own".to_owned()],
    }
}

fn origin(origin: &Origin) -> String {
    match origin {
        Origin::Fixed(pattern) => visible(pattern),
        Origin::Configured(key) => format!("the origin in config {}", visible(key)),
        Origin::Granted => "whatever origin is granted".to_owned(),
    }
}

/// Both texts from shortly before the place where they part.
fn from_the_change(old: &str, new: &str) -> (String, String) {
    let same = old.chars().zip(new.chars()).take_while(|(old, new)| old == new).count();
    let from = same.saturating_sub(BEFORE);
    let part = |text: &str| {
        let mut rest = text.chars().skip(from);
        let shown: String = rest.by_ref().take(SHOWN).collect();
        let (before, after) = (if from > 0 { "…" } else { "" }, if rest.next().is_some() { "…" } else { "" });
        format!("{before}{}{after}", visible(&shown))
    };
    (part(old), part(new))
}

fn all(list: &[String]) -> String {
    self::list(list.iter().map(|one| visible(one)))
}

fn list(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    if items.is_empty() { "nothing".to_owned() } else { items.join("; ") }
}

fn optional(number: Option<impl ToString>) -> String {
    number.map_or_else(|| "not said".to_owned(), |number| number.to_string())
}

fn risk(risk: Risk) -> &'static str {
    manifest::Risk::from(risk).word()
}

fn repeat(repeat: Repeat) -> &'static str {
    manifest::Repeat::from(repeat).word()
}

fn cleanup(cleanup: Cleanup) -> &'static str {
    manifest::Cleanup::from(cleanup).word()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::wit::types::{DirectoryNeed, SecretNeed};

    fn tool() -> Tool {
        Tool {
            name: "open".to_owned(),
            title: "Open".to_owned(),
            description: "Opens one.".to_owned(),
            input_schema: r#"{"type":"object","properties":{"a":{"type":"string"}}}"#.to_owned(),
            output_schema: None,
            risk: Risk::LowRiskWrite,
            repeat: Repeat::Keyed,
            cleanup: Cleanup::Manual,
            permissions: vec!["a:write".to_owned()],
            needs: vec![Need::Http(HttpNeed {
                origin: Origin::Fixed("https://a.example".to_owned()),
                methods: vec!["POST".to_owned()],
                paths: vec!["/a".to_owned()],
                repeat: Repeat::Keyed,
                idempotency_header: None,
                clean_statuses: Vec::new(),
            })],
            hidden: Vec::new(),
            private: Vec::new(),
            same_action: Vec::new(),
            poll: false,
            timeout_ms: None,
            cost_micros: None,
        }
    }

    /// What is told of one change to the tool.
    fn told(change: impl FnOnce(&mut Tool)) -> Vec<String> {
        let manifest = |tool| Manifest {
            name: "desk".to_owned(),
            version: "1.0.0".to_owned(),
            description: "The desk.".to_owned(),
            tools: vec![tool],
        };
        let mut changed = tool();
        change(&mut changed);
        difference(&manifest(tool()), &manifest(changed))
    }

    fn http(tool: &mut Tool) -> &mut HttpNeed {
        match &mut tool.needs[0] {
            Need::Http(need) => need,
            Need::Directory(_) | Need::Secret(_) | Need::Config(_) | Need::KeyValue => {
                panic!("it needs HTTP")
            }
        }
    }

    #[test]
    fn what_lets_a_tool_do_more_is_told_first() {
        let told = told(|tool| {
            tool.title = "Close".to_owned();
            tool.risk = Risk::HighRiskWrite;
            http(tool).methods.push("DELETE".to_owned());
        });
        assert_eq!(
            told,
            [
                "tool open: its risk was L3 and is L4",
                "tool open: it now sends DELETE to https://a.example, /a (keyed)",
                "tool open: its title was \"Open\" and is \"Close\"",
            ]
        );
    }

    #[test]
    fn every_field_of_a_tool_counts() {
        let changes: [fn(&mut Tool); 16] = [
            |tool| tool.description = "Opens another.".to_owned(),
            |tool| tool.input_schema = r#"{"type":"object"}"#.to_owned(),
            |tool| tool.output_schema = Some("{}".to_owned()),
            |tool| tool.risk = Risk::PublicRead,
            |tool| tool.repeat = Repeat::Once,
            |tool| tool.cleanup = Cleanup::Automatic,
            |tool| tool.permissions = Vec::new(),
            |tool| tool.needs.push(Need::KeyValue),
            |tool| {
                tool.needs
                    .push(Need::Directory(DirectoryNeed { name: "d".to_owned(), access: Access::Write }))
            },
            |tool| tool.hidden = vec!["/a".to_owned()],
            |tool| tool.private = vec!["/a".to_owned()],
            |tool| tool.same_action = vec!["a".to_owned()],
            |tool| tool.poll = true,
            |tool| tool.timeout_ms = Some(1),
            |tool| tool.cost_micros = Some(1),
            |tool| http(tool).clean_statuses = vec![503],
        ];
        for (number, change) in changes.into_iter().enumerate() {
            let told = told(change);
            assert!(!told.is_empty() && !told[0].contains("only its code"), "change {number}: {told:?}");
        }
        assert_eq!(told(|_| {}), ["only its code changed; it declares what it declared before"]);
    }

    #[test]
    fn a_secret_that_goes_elsewhere_is_told_by_its_place() {
        let secret = |origin: &str| {
            let origins = vec![Origin::Fixed(origin.to_owned())];
            Need::Secret(SecretNeed { name: "token".to_owned(), origins, in_body: false })
        };
        assert_eq!(
            told(|tool| tool.needs.push(secret("https://evil.example"))),
            ["tool open: it now uses the secret token toward https://evil.example"]
        );
    }

    #[test]
    fn of_long_words_the_place_is_shown_where_they_part() {
        let long = "word ".repeat(200);
        let (old, new) = from_the_change(&format!("{long}old"), &format!("{long}new\nline"));
        assert_eq!(
            (old.as_str(), new.as_str()),
            ("…ord word word word word old", "…ord word word word word new line")
        );
    }

    #[test]
    fn every_part_of_a_tool_that_changed_is_told() {
        let old = Manifest {
            name: "desk".to_owned(),
            version: "1.0.0".to_owned(),
            description: "The desk.".to_owned(),
            tools: vec![tool()],
        };
        let mut new = old.clone();
        let changed = &mut new.tools[0];
        changed.output_schema = Some(r#"{"type":"object"}"#.to_owned());
        changed.cleanup = Cleanup::Automatic;
        changed.hidden = vec!["/a".to_owned()];
        changed.private = vec!["/b".to_owned(), "/c".to_owned()];
        changed.same_action = vec!["a".to_owned()];
        changed.poll = true;
        changed.timeout_ms = Some(500);
        changed.cost_micros = Some(7);
        changed.needs.extend([
            Need::Directory(DirectoryNeed { name: "inbox".to_owned(), access: Access::Read }),
            Need::Directory(DirectoryNeed { name: "outbox".to_owned(), access: Access::Write }),
            Need::Secret(SecretNeed {
                name: "token".to_owned(),
                origins: vec![Origin::Granted],
                in_body: true,
            }),
            Need::Config("desk_url".to_owned()),
            Need::KeyValue,
        ]);
        let told = difference(&old, &new);
        insta::assert_snapshot!(told.join("\n"), @r#"
        tool open: it now keeps a store of its own
        tool open: it now reads the configuration key desk_url
        tool open: it now reads the folder inbox
        tool open: it now reads the folder outbox
        tool open: it now uses the secret token toward whatever origin is granted, also in bodies
        tool open: it now writes the folder outbox
        tool open: its output schema was "null" and is "{"type":"object"}"
        tool open: its clean-up was manual and is automatic
        tool open: what it hides was nothing and is /a
        tool open: what it keeps private was nothing and is /b; /c
        tool open: what makes two calls the same was nothing and is a
        tool open: whether it is asked again and again was false and is true
        tool open: its time in milliseconds was not said and is 500
        tool open: its cost in millionths was not said and is 7
        "#);
        let mut turned = new.clone();
        turned.tools.insert(0, Tool { name: "other".to_owned(), ..tool() });
        let mut back = turned.clone();
        back.tools.swap(0, 1);
        insta::assert_snapshot!(difference(&turned, &back).join("\n"), @"the order of its tools, or a detail of its requests, changed");
    }
}
