//! Which schemas are taken: of 2020-12, about an object, complete in themselves, and quick to check.

use std::collections::{HashMap, HashSet};
use std::ptr;

use jsonschema::{Draft, PatternOptions, ValidationError, Validator};
use serde_json::Value;

use super::effort::Patterns;
use super::places::{in_place, inner, references};
use super::words::short;

/// What a pattern may grow to, compiled; room for long classes of Unicode, repeated.
const PATTERN_BYTES: usize = 1 << 20;

/// No state of a compiled pattern takes less.
const STATE_BYTES: usize = 24;

/// The first of the sizes that are tried, each twice the one before, to learn how large a pattern is.
const SMALLEST_PATTERN: usize = 1 << 10;

/// Patterns of one schema, each of which takes memory.
const MOST_PATTERNS: usize = 100;

/// Schemas that are referred to: compiling follows one from another.
const MOST_TARGETS: usize = 256;

/// Steps from part to part about one and the same value, and all parts that are looked at for it.
const DEEPEST_PARTS: usize = 16;
const MOST_PARTS: u64 = 10_000;

/// The dialect, which a schema need not name.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Compiles a schema, and measures its patterns, or says all that is wrong with it.
pub(super) fn compile(schema: &Value) -> Result<(Validator, Patterns), Vec<String>> {
    let mut patterns = HashMap::new();
    let mut faults: Vec<String> = about_an_object(schema).into_iter().collect();
    if schema.is_object() {
        let dialect = jsonschema::draft202012::meta::validator();
        let malformed = dialect.iter_errors(schema).map(|error| malformed(&error));
        let walk = Walk::through(schema);
        patterns = walk.states;
        for text in malformed.chain(walk.faults) {
            if !faults.contains(&text) {
                faults.push(text);
            }
        }
    }
    if faults.is_empty() {
        faults.extend(too_intricate(schema));
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    let validator = linear(PATTERN_BYTES)
        .with_draft(Draft::Draft202012)
        .should_validate_formats(true)
        .build(schema)
        .map_err(|error| vec![malformed(&error)])?;
    Ok((validator, Patterns::of(patterns)))
}

fn linear(bytes: usize) -> jsonschema::ValidationOptions<'static> {
    let patterns = PatternOptions::regex().size_limit(bytes).dfa_size_limit(PATTERN_BYTES);
    jsonschema::options().with_pattern_options(patterns).offline()
}

fn about_an_object(schema: &Value) -> Option<String> {
    match (schema.is_object(), schema.get("type")) {
        (true, Some(Value::String(kind))) if kind == "object" => None,
        (true, Some(other)) => {
            Some(format!("its root must be `\"type\": \"object\"` and has the type {}", short(other)))
        }
        (true, None) => Some("its root must be `\"type\": \"object\"` and names no type".to_owned()),
        (false, _) => {
            Some(format!("must be a JSON object with `\"type\": \"object\"` and is {}", short(schema)))
        }
    }
}

/// What the dialect's own schema, or the compiler, has against it.
fn malformed(error: &ValidationError<'_>) -> String {
    let place = error.instance_path().as_str();
    if place.ends_with("/type") && !place.ends_with("/properties/type") {
        return format!(
            "at {place}: a type is string, number, integer, boolean, array, object or null, and this is {}",
            short(error.instance())
        );
    }
    let text: String = error.to_string().chars().take(200).collect();
    if place.is_empty() { text } else { format!("at {place}: {text}") }
}

/// A walk through all that the schema consists of and refers to.
struct Walk<'s> {
    root: &'s Value,
    seen: HashSet<*const Value>,
    targets: HashSet<*const Value>,
    patterns: usize,
    /// Of each pattern.
    states: HashMap<String, u64>,
    faults: Vec<String>,
}

impl<'s> Walk<'s> {
    fn through(root: &'s Value) -> Self {
        let mut walk = Self {
            root,
            seen: HashSet::new(),
            targets: HashSet::new(),
            patterns: 0,
            states: HashMap::new(),
            faults: Vec::new(),
        };
        let mut waiting = vec![(String::new(), root)];
        while let Some((place, schema)) = waiting.pop() {
            if !walk.seen.insert(ptr::from_ref(schema)) {
                continue;
            }
            walk.identity(&place, schema);
            walk.patterns(&place, schema);
            let referred = walk.referred(&place, schema);
            waiting.extend(referred);
            let parts = inner(schema).into_iter().rev();
            waiting.extend(parts.map(|(suffix, part)| (format!("{place}{suffix}"), part)));
        }
        if walk.patterns > MOST_PATTERNS {
            walk.faults.push(format!("it has {} patterns and may have {MOST_PATTERNS}", walk.patterns));
        }
        if walk.targets.len() > MOST_TARGETS {
            let count = walk.targets.len();
            walk.faults
                .push(format!("it refers to {count} schemas of its own and may refer to {MOST_TARGETS}"));
        }
        walk
    }

    fn fault(&mut self, place: &str, text: String) {
        self.faults.push(if place.is_empty() { text } else { format!("at {place}: {text}") });
    }

    fn identity(&mut self, place: &str, schema: &Value) {
        if let Some(dialect) = schema.get("$schema")
            && dialect.as_str().map(|text| text.trim_end_matches('#')) != Some(DIALECT)
        {
            self.fault(place, format!("`$schema` may be {DIALECT} alone and is {}", short(dialect)));
        }
        if let Some(id) = schema.get("$id").filter(|_| !place.is_empty()) {
            self.fault(place, format!("`$id` may stand at the root alone, and here it is {}", short(id)));
        }
    }

    fn referred(&mut self, place: &str, schema: &'s Value) -> Vec<(String, &'s Value)> {
        let mut found = Vec::new();
        for (reference, target) in references(self.root, schema) {
            match target {
                Some(target) => {
                    self.targets.insert(ptr::from_ref(target));
                    found.push((reference.trim_start_matches('#').to_owned(), target));
                }
                None if reference.starts_with('#') => {
                    self.fault(
                        place,
                        format!("refers to {reference}, which is not there; write `#/$defs/…`"),
                    );
                }
                None => self.fault(
                    place,
                    format!(
                        "refers outside itself, and may refer to `#/$defs/…` alone: {}",
                        short(&reference.into())
                    ),
                ),
            }
        }
        found
    }

    fn patterns(&mut self, place: &str, schema: &Value) {
        let own = schema.get("pattern").and_then(Value::as_str);
        let names = schema.get("patternProperties").and_then(Value::as_object);
        for pattern in own.into_iter().chain(names.into_iter().flat_map(|all| all.keys()).map(String::as_str))
        {
            self.patterns += 1;
            if self.patterns > MOST_PATTERNS || self.states.contains_key(pattern) {
                continue;
            }
            match states(pattern) {
                Some(states) => {
                    self.states.insert(pattern.to_owned(), states);
                }
                None => self.fault(place, pattern_fault(pattern)),
            }
        }
    }
}

/// What tells whether a text matches a pattern; none where it cannot be compiled, or grows too large.
pub(super) fn matcher(pattern: &str) -> Option<Validator> {
    linear(PATTERN_BYTES).build(&serde_json::json!({ "pattern": pattern })).ok()
}

/// How many states a pattern has at most; none where it cannot be compiled, or grows too large.
fn states(pattern: &str) -> Option<u64> {
    let alone = serde_json::json!({ "pattern": pattern });
    let mut bytes = SMALLEST_PATTERN;
    while linear(bytes).build(&alone).is_err() {
        bytes *= 2;
        if bytes > PATTERN_BYTES {
            return None;
        }
    }
    u64::try_from(bytes / STATE_BYTES).ok()
}

/// Why a pattern is not taken.
fn pattern_fault(pattern: &str) -> String {
    let alone = serde_json::json!({ "pattern": pattern });
    let shown = short(&pattern.into());
    let unbounded = jsonschema::options().with_pattern_options(PatternOptions::regex()).build(&alone);
    let backtracking =
        jsonschema::options().with_pattern_options(PatternOptions::fancy_regex()).build(&alone);
    match (unbounded.is_ok(), backtracking.is_ok()) {
        (true, _) => format!("the pattern grows too large when it is compiled; repeat less in {shown}"),
        (false, true) => {
            format!(
                "the pattern cannot run in linear time; write it without look-around and back-references: {shown}"
            )
        }
        (false, false) => {
            format!("the pattern is no regular expression that can run in linear time: {shown}")
        }
    }
}

/// A schema that applies itself to the same value again, or so many parts that checking one value takes long.
fn too_intricate(root: &Value) -> Option<String> {
    let mut weights = Weights { root, known: HashMap::new(), under_way: Vec::new() };
    let mut waiting = vec![root];
    let mut seen = HashSet::new();
    while let Some(schema) = waiting.pop() {
        if !seen.insert(ptr::from_ref(schema)) {
            continue;
        }
        if let Err(text) = weights.of(schema) {
            return Some(text);
        }
        waiting.extend(inner(schema).into_iter().map(|(_, part)| part));
        waiting.extend(references(root, schema).filter_map(|(_, target)| target));
    }
    None
}

/// How many parts are looked at for one value, and how deep they are nested.
#[derive(Debug, Clone, Copy)]
struct Weight {
    parts: u64,
    depth: usize,
}

/// The weights of schemas.
struct Weights<'s> {
    root: &'s Value,
    known: HashMap<*const Value, Weight>,
    under_way: Vec<*const Value>,
}

impl<'s> Weights<'s> {
    fn of(&mut self, schema: &'s Value) -> Result<Weight, String> {
        let this = ptr::from_ref(schema);
        if let Some(weight) = self.known.get(&this) {
            return Ok(*weight);
        }
        if self.under_way.contains(&this) {
            return Err(
                "it refers to itself without going on to a field or an item, and so without end".to_owned()
            );
        }
        if self.under_way.len() > DEEPEST_PARTS {
            return Err(too_deep());
        }
        self.under_way.push(this);
        let mut weight = Weight { parts: 1, depth: 1 };
        for part in in_place(self.root, schema) {
            let inside = self.of(part)?;
            weight.parts = weight.parts.saturating_add(inside.parts);
            weight.depth = weight.depth.max(inside.depth + 1);
        }
        self.under_way.pop();
        if weight.depth > DEEPEST_PARTS {
            return Err(too_deep());
        }
        if weight.parts > MOST_PARTS {
            return Err(format!("more than {MOST_PARTS} of its parts speak of one and the same value"));
        }
        self.known.insert(this, weight);
        Ok(weight)
    }
}

fn too_deep() -> String {
    format!("its parts about one value are nested more than {DEEPEST_PARTS} deep")
}
