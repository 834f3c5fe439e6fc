//! The project's own files, read as text and as tokens: enough of Rust's grammar to say what a file names.

use std::fmt;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

pub(crate) use lexer::{Kind, Token};
use lexer::{item_end, mark_tests, read};

mod lexer;

/// Something that a rule does not allow, and where it stands.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) path: String,
    pub(crate) line: usize,
    pub(crate) text: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.text)
    }
}

/// No lines at all, of a type that nothing else compares with.
pub(crate) const NO_LINES: [usize; 0] = [];

/// Fails with every fault at once.
pub(crate) fn assert_none(faults: &[Fault]) {
    let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
    assert!(faults.is_empty(), "{} found:\n{}\n", faults.len(), lines.join("\n"));
}

/// A path as written, `a::b::c`; a glob ends in `*`.
#[derive(Debug)]
pub(crate) struct Named {
    pub(crate) segments: Vec<String>,
    pub(crate) line: usize,
    pub(crate) in_test: bool,
    /// The modules written inside the file around this path.
    within: Vec<String>,
}

/// A function with a body.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) line: usize,
    pub(crate) lines: usize,
    pub(crate) in_test: bool,
    tokens: Range<usize>,
}

/// One Rust file.
pub(crate) struct Source {
    /// From the root of the repository, with `/` between the parts.
    pub(crate) path: String,
    pub(crate) text: String,
    pub(crate) tokens: Vec<Token>,
    /// Comments of every kind, with the line on which each starts.
    pub(crate) comments: Vec<(usize, String)>,
}

impl Source {
    pub(crate) fn parse(path: &str, text: &str) -> Self {
        let (mut tokens, comments) = read(text);
        let all =
            path.starts_with("tests/suites/") || path.contains("/tests/") || path.ends_with("/tests.rs");
        mark_tests(&mut tokens, all);
        Self { path: path.to_owned(), text: text.to_owned(), tokens, comments }
    }

    pub(crate) fn fault(&self, line: usize, text: impl Into<String>) -> Fault {
        Fault { path: self.path.clone(), line, text: text.into() }
    }

    /// Where the given tokens stand one after the other.
    pub(crate) fn sequences<'a>(&'a self, wanted: &'a [&str]) -> impl Iterator<Item = &'a Token> {
        self.tokens
            .windows(wanted.len())
            .filter(move |window| window.iter().zip(wanted).all(|(token, text)| token.text == *text))
            .map(|window| &window[0])
    }

    /// Every path the file names, in `use` and elsewhere, each leaf of a `use` tree by itself.
    pub(crate) fn named(&self) -> Vec<Named> {
        let mut found = Vec::new();
        let mut modules: Vec<(String, usize)> = Vec::new();
        let mut depth = 0;
        let mut at = 0;
        while at < self.tokens.len() {
            let token = &self.tokens[at];
            let within = || modules.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
            match (token.kind, token.text.as_str()) {
                (Kind::Sign, "{") => depth += 1,
                (Kind::Sign, "}") => {
                    depth -= 1;
                    modules.retain(|(_, opened)| *opened <= depth);
                }
                (Kind::Word, "mod") if self.is(at + 2, "{") => {
                    modules.push((self.tokens[at + 1].text.clone(), depth + 1));
                    at += 1;
                }
                (Kind::Word, "use") if !self.is(at + 1, "<") => {
                    at = self.use_tree(at + 1, &[], &within(), &mut found);
                    continue;
                }
                (Kind::Word, _) if !(at > 0 && self.is(at - 1, ".")) => {
                    at = self.plain_path(at, within(), &mut found);
                    continue;
                }
                (Kind::Word | Kind::Sign | Kind::Text | Kind::Other, _) => {}
            }
            at += 1;
        }
        found
    }

    /// The functions that have a body.
    pub(crate) fn functions(&self) -> Vec<Function> {
        let mut found = Vec::new();
        for at in 0..self.tokens.len() {
            let named = self.tokens.get(at + 1).is_some_and(|next| next.kind == Kind::Word);
            if self.tokens[at].text != "fn" || self.tokens[at].kind != Kind::Word || !named {
                continue;
            }
            let end = item_end(&self.tokens, at);
            if self.tokens[end].text == "}" {
                found.push(Function {
                    name: self.tokens[at + 1].text.clone(),
                    line: self.tokens[at].line,
                    lines: self.tokens[end].line - self.tokens[at].line + 1,
                    in_test: self.tokens[at].in_test,
                    tokens: at..end + 1,
                });
            }
        }
        found
    }

    /// The innermost function around a token, by the token's place in `tokens`.
    pub(crate) fn function_around(&self, at: usize) -> Option<Function> {
        self.functions().into_iter().rfind(|function| function.tokens.contains(&at))
    }

    fn is(&self, at: usize, text: &str) -> bool {
        self.tokens.get(at).is_some_and(|token| token.kind != Kind::Text && token.text == text)
    }

    fn plain_path(&self, mut at: usize, within: Vec<String>, found: &mut Vec<Named>) -> usize {
        let start = &self.tokens[at];
        let mut segments = vec![start.text.clone()];
        while self.is(at + 1, "::") && self.tokens.get(at + 2).is_some_and(|next| next.kind == Kind::Word) {
            at += 2;
            segments.push(self.tokens[at].text.clone());
        }
        if segments.len() > 1 || self.is(at + 1, "::") {
            found.push(Named { segments, line: start.line, in_test: start.in_test, within });
        }
        at + 1
    }

    /// Reads one tree of a `use` from `at`, and returns the place after it.
    fn use_tree(&self, mut at: usize, prefix: &[String], within: &[String], found: &mut Vec<Named>) -> usize {
        let mut segments = prefix.to_vec();
        let start = at;
        while let Some(token) = self.tokens.get(at) {
            match token.text.as_str() {
                "{" => {
                    at += 1;
                    while !self.is(at, "}") && !self.is(at, ";") && at < self.tokens.len() {
                        at = self.use_tree(at, &segments, within, found);
                        if self.is(at, ",") {
                            at += 1;
                        }
                    }
                    return at + 1;
                }
                "," | "}" | ";" => break,
                "as" => at += 1,
                "::" => {}
                "self" if !segments.is_empty() => {}
                _ => segments.push(token.text.clone()),
            }
            at += 1;
        }
        if let Some(token) = self.tokens.get(start) {
            let (line, in_test) = (token.line, token.in_test);
            found.push(Named { segments, line, in_test, within: within.to_vec() });
        }
        // A `}` or `,` belongs to the tree around this one.
        if prefix.is_empty() { at + 1 } else { at }
    }
}

impl Named {
    /// Whether these segments stand somewhere in the path, one after the other.
    pub(crate) fn has(&self, wanted: &[&str]) -> bool {
        self.segments.windows(wanted.len()).any(|window| window.iter().eq(wanted.iter()))
    }

    pub(crate) fn starts_with(&self, wanted: &[&str]) -> bool {
        self.segments.len() >= wanted.len() && self.segments.iter().zip(wanted).all(|(a, b)| a == b)
    }

    /// The path from the root of its crate, where it is written from there or from a parent.
    pub(crate) fn in_crate(&self, file_module: &[String]) -> Option<Vec<String>> {
        let mut module: Vec<String> = file_module.iter().chain(&self.within).cloned().collect();
        let mut rest = self.segments.as_slice();
        match rest.first().map(String::as_str) {
            Some("crate") => return Some(rest[1..].to_vec()),
            // The binary names the library so; inside the library it is a name like any other.
            Some("airlock") if file_module == ["main"] => return Some(rest[1..].to_vec()),
            Some("super" | "self") => {}
            _ => return None,
        }
        while let Some(first) = rest.first() {
            match first.as_str() {
                "self" => {}
                "super" => {
                    module.pop();
                }
                _ => break,
            }
            rest = &rest[1..];
        }
        module.extend_from_slice(rest);
        Some(module)
    }
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Every file below a folder of the repository, as paths from its root, without what is built or hidden.
pub(crate) fn files_below(folder: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let hidden = name.starts_with('.') && ![".cargo", ".ci", ".config"].contains(&name.as_str());
            let kind = entry.file_type().unwrap();
            if kind.is_dir() && !hidden && name != "target" && name != "node_modules" {
                folders.push(entry.path());
            } else if kind.is_file() {
                let path = entry.path();
                let path = path.strip_prefix(root()).unwrap().to_str().unwrap();
                found.push(path.replace('\\', "/"));
            }
        }
    }
    found.sort();
    found
}

/// The text of a file of the repository; none where it is no text.
pub(crate) fn text_of(path: &str) -> Option<String> {
    String::from_utf8(fs::read(root().join(path)).unwrap()).ok()
}

/// Every Rust file below a folder of the repository.
pub(crate) fn sources_below(folder: &str) -> Vec<Source> {
    files_below(folder)
        .iter()
        .filter(|path| path.ends_with(".rs"))
        .map(|path| Source::parse(path, &text_of(path).expect("a Rust file is text")))
        .collect()
}

#[test]
fn a_use_tree_names_each_of_its_leaves() {
    let text = "use crate::{model::{self, id::RunId as Id}, store::*};\nfn f() { std::env::var(\"x\"); Vec::<u8>::new(); }";
    let source = Source::parse("host/src/x.rs", text);

    let named: Vec<String> = source.named().iter().map(|named| named.segments.join("::")).collect();
    assert_eq!(named, ["crate::model", "crate::model::id::RunId", "crate::store::*", "std::env::var", "Vec"]);
}

#[test]
fn a_path_from_a_parent_is_found_from_the_root() {
    let source =
        Source::parse("host/src/call/settle.rs", "use super::super::host::Host; mod inner { use super::x; }");
    let module = ["call".to_owned(), "settle".to_owned()];

    let named: Vec<_> = source.named().iter().filter_map(|named| named.in_crate(&module)).collect();
    assert_eq!(named, [["host", "Host"].as_slice(), ["call", "settle", "x"].as_slice()]);
}

#[test]
fn a_function_is_as_long_as_from_its_name_to_its_brace() {
    let text =
        "trait T { fn none(&self) -> [u8; 4]; }\nfn some(a: [u8; 2])\nwhere\n    A: B,\n{\n    if a {}\n}\n";
    let functions = Source::parse("host/src/x.rs", text).functions();

    assert_eq!(functions.len(), 1);
    assert_eq!((functions[0].name.as_str(), functions[0].line, functions[0].lines), ("some", 2, 6));
}
