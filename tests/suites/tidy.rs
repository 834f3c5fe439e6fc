//! The habits of CONTRIBUTING that can be read off the files.

use std::collections::BTreeSet;

use crate::source::{Fault, Kind, NO_LINES, Source, assert_none, files_below, sources_below, text_of};

/// Lines that a file may have beside its tests, and a function from its name to its brace.
const LONGEST_FILE: usize = 400;
const LONGEST_FUNCTION: usize = 60;

/// Files that are longer, each with the reason.
const LONG_FILES: &[(&str, &str)] = &[];

/// Functions that are longer: file, function, reason.
const LONG_FUNCTIONS: &[(&str, &str, &str)] = &[];

/// Where Rust code is.
const FOLDERS: &[&str] = &["host", "plugin-sdk", "plugins", "tests", "benches"];

/// The packages of the workspace.
const PACKAGES: &[&str] = &["host", "plugin-sdk", "tests", "benches"];

/// Names that say nothing about what is inside.
const EMPTY_NAMES: &[&str] = &[
    "common", "data", "helper", "helpers", "info", "manager", "misc", "service", "shared", "util", "utils",
    "utility",
];

/// Words of work that is not done, and of how the project was made rather than what it is.
fn words_out_of_place() -> Vec<String> {
    // Put together here, for this file is read as well.
    [
        ("TO", "DO"),
        ("FIX", "ME"),
        ("XX", "X"),
        ("issue ", "#"),
        ("this ", "session"),
        ("helper ", "agent"),
        ("as ", "requested"),
        ("new ", "implementation"),
        ("old ", "implementation"),
        ("improved ", "version"),
    ]
    .iter()
    .map(|(a, b)| format!("{a}{b}"))
    .collect()
}

/// Places that exist on one machine, and hosts of registries, which a mirror replaces.
fn places_out_of_place() -> Vec<String> {
    [
        ("/wo", "rk/main"),
        ("/wo", "rk/shared"),
        ("/ro", "ot/"),
        ("index.crates", ".io"),
        ("static.crates", ".io"),
        ("static.rust-", "lang.org"),
        ("deb.de", "bian.org"),
        ("security.de", "bian.org"),
        ("snapshot.de", "bian.org"),
        ("archive.ubu", "ntu.com"),
        ("registry.npm", "js.org"),
        ("files.python", "hosted.org"),
        ("py", "pi.org"),
        ("proxy.gol", "ang.org"),
    ]
    .iter()
    .map(|(a, b)| format!("{a}{b}"))
    .collect()
}

fn opens_with_what_it_is_for(source: &Source) -> Vec<Fault> {
    if source.text.starts_with("//!") {
        return Vec::new();
    }
    vec![source.fault(1, "a file opens with `//!` and one sentence that says what it is for")]
}

fn has_a_name_that_says_something(source: &Source) -> Vec<Fault> {
    let mut faults = Vec::new();
    if source.path.ends_with("/mod.rs") {
        faults.push(source.fault(1, "no `mod.rs`: `x.rs` stands beside `x/`"));
    }
    for part in source.path.trim_end_matches(".rs").split('/') {
        if EMPTY_NAMES.contains(&part) {
            faults.push(source.fault(1, format!("`{part}` says nothing about what is inside")));
        }
    }
    faults
}

/// Lines of a file that belong to no test.
fn lines_beside_tests(source: &Source) -> usize {
    let in_tests: BTreeSet<usize> = source
        .tokens
        .windows(2)
        .filter(|pair| pair[0].in_test && pair[1].in_test)
        .flat_map(|pair| pair[0].line..=pair[1].line)
        .collect();
    source.text.lines().count() - in_tests.len()
}

fn is_of_a_readable_size(
    source: &Source,
    files: &[(&str, &str)],
    functions: &[(&str, &str, &str)],
) -> Vec<Fault> {
    let mut faults = Vec::new();
    let lines = lines_beside_tests(source);
    match (lines > LONGEST_FILE, files.iter().any(|(path, _)| *path == source.path)) {
        (true, false) => {
            faults.push(source.fault(1, format!("{lines} lines, which is more than {LONGEST_FILE}")))
        }
        (false, true) => faults.push(source.fault(1, "is listed as a long file and is not: unlist it")),
        (true, true) | (false, false) => {}
    }
    for function in source.functions().iter().filter(|function| !function.in_test) {
        let listed = functions.iter().any(|(path, name, _)| *path == source.path && *name == function.name);
        let (name, lines) = (&function.name, function.lines);
        match (lines > LONGEST_FUNCTION, listed) {
            (true, false) => {
                let text = format!("`{name}` has {lines} lines, which is more than {LONGEST_FUNCTION}");
                faults.push(source.fault(function.line, text));
            }
            (false, true) => {
                faults.push(
                    source.fault(function.line, format!("`{name}` is listed as long and is not: unlist it")),
                );
            }
            (true, true) | (false, false) => {}
        }
    }
    faults
}

fn is_finished(source: &Source) -> Vec<Fault> {
    let wanted: &[(&[&str], &str)] = &[
        (&["todo", "!"], "`todo!` is not done"),
        (&["unimplemented", "!"], "`unimplemented!` is not done"),
        (&["#", "[", "ignore"], "a test that is ignored proves nothing: mend it or remove it"),
        (&["#", "[", "allow", "("], "`expect` with a reason, never `allow`"),
        (&["#", "!", "[", "allow", "("], "`expect` with a reason, never `allow`"),
    ];
    let mut faults = Vec::new();
    for (tokens, text) in wanted {
        faults.extend(source.sequences(tokens).map(|token| source.fault(token.line, *text)));
    }
    faults
}

fn does_not_unwrap(source: &Source) -> Vec<Fault> {
    if source.path.starts_with("tests/") {
        return Vec::new();
    }
    source
        .sequences(&[".", "unwrap", "(", ")"])
        .filter(|token| !token.in_test)
        .map(|token| source.fault(token.line, "no `unwrap` outside tests"))
        .collect()
}

fn does_not_sleep(source: &Source) -> Vec<Fault> {
    if !source.path.starts_with("tests/suites/") {
        return Vec::new();
    }
    let named = source.named();
    let sleeps =
        named.iter().filter(|named| named.has(&["thread", "sleep"]) || named.has(&["time", "sleep"]));
    sleeps.map(|named| source.fault(named.line, "no sleeping in tests: the clock is a value")).collect()
}

const RULES: &[fn(&Source) -> Vec<Fault>] = &[
    opens_with_what_it_is_for,
    has_a_name_that_says_something,
    |source| is_of_a_readable_size(source, LONG_FILES, LONG_FUNCTIONS),
    is_finished,
    does_not_unwrap,
    does_not_sleep,
];

/// Finds whole words alone, so that a longer word is not taken for one of them.
fn speaks_of(line: &str, phrase: &str) -> bool {
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let ends_in_a_word = is_word(phrase.chars().next_back());
    line.match_indices(phrase).any(|(at, _)| {
        let goes_on_before = is_word(line[..at].chars().next_back());
        let goes_on_after = ends_in_a_word && is_word(line[at + phrase.len()..].chars().next());
        !goes_on_before && !goes_on_after
    })
}

/// What a file says beside its code: the comments of Rust, the whole of anything else.
fn said_in(path: &str, text: &str) -> Vec<(usize, String)> {
    if path.ends_with(".rs") {
        let lines = |(start, comment): (usize, String)| {
            comment.lines().enumerate().map(|(n, line)| (start + n, line.to_owned())).collect::<Vec<_>>()
        };
        return Source::parse(path, text).comments.into_iter().flat_map(lines).collect();
    }
    text.lines().enumerate().map(|(n, line)| (n + 1, line.to_owned())).collect()
}

fn speaks_of_the_project_alone(path: &str, text: &str) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (line, said) in said_in(path, text) {
        for phrase in words_out_of_place().iter().filter(|phrase| speaks_of(&said, phrase)) {
            faults.push(Fault {
                path: path.to_owned(),
                line,
                text: format!("`{phrase}` does not belong here"),
            });
        }
    }
    faults
}

fn names_no_machine(path: &str, text: &str) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (at, line) in text.lines().enumerate() {
        for place in places_out_of_place().iter().filter(|place| line.contains(place.as_str())) {
            let text = format!("`{place}` is of one machine or one registry");
            faults.push(Fault { path: path.to_owned(), line: at + 1, text });
        }
    }
    faults
}

/// The lines of a `Cargo.toml` that name a dependency: line, name, what it is set to.
fn dependencies_in(text: &str) -> Vec<(usize, String, String)> {
    let mut found = Vec::new();
    let mut inside = false;
    for (at, line) in text.lines().enumerate() {
        if line.starts_with('[') {
            inside = line.trim_end().ends_with("dependencies]");
        } else if let Some((name, value)) = line.split_once('=')
            && inside
            && !line.starts_with('#')
        {
            found.push((at + 1, name.trim().to_owned(), value.trim().to_owned()));
        }
    }
    found
}

/// Every dependency has its row in the table of CONTRIBUTING, and no row is left over.
fn dependencies_earn_their_place(manifest: &str, contributing: &str) -> Vec<Fault> {
    let table = contributing.split("\n## Dependencies\n").nth(1).unwrap_or_default();
    let table = table.split("\n## ").next().unwrap_or_default();
    let rows: Vec<Vec<&str>> = table
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    let row_of =
        |name: &str| rows.iter().find(|row| row[0].split(", ").any(|cell| cell == format!("`{name}`")));
    let mut wanted = dependencies_in(manifest);
    wanted.retain(|(_, _, value)| !value.contains("path = "));

    let mut faults = Vec::new();
    let mut fault = |path: &str, line, text| faults.push(Fault { path: path.to_owned(), line, text });
    for (line, name, _) in &wanted {
        match row_of(name) {
            None => fault(
                "Cargo.toml",
                *line,
                format!("`{name}` has no row among the dependencies of CONTRIBUTING"),
            ),
            Some(row) if row.len() != 3 || row.iter().any(|cell| cell.is_empty()) => {
                fault("CONTRIBUTING.md", 1, format!("`{name}`: say what for, and what was left aside"));
            }
            Some(_) => {}
        }
    }
    for name in rows.iter().flat_map(|row| row[0].split(", ")).map(|cell| cell.trim_matches('`')) {
        if wanted.iter().all(|(_, wanted, _)| wanted != name) {
            fault("CONTRIBUTING.md", 1, format!("`{name}` has a row and is no dependency"));
        }
    }
    faults
}

/// Versions are given once, in the workspace.
fn takes_versions_from_the_workspace(path: &str, text: &str) -> Vec<Fault> {
    dependencies_in(text)
        .into_iter()
        .filter(|(_, name, value)| {
            !name.ends_with(".workspace") && !value.contains("workspace = true") && !value.contains("path = ")
        })
        .map(|(line, name, _)| Fault {
            path: path.to_owned(),
            line,
            text: format!("`{name}` takes its version from the workspace: `{name}.workspace = true`"),
        })
        .collect()
}

#[test]
fn every_rust_file_is_tidy() {
    let sources: Vec<Source> = FOLDERS.iter().flat_map(|folder| sources_below(folder)).collect();
    assert!(!sources.is_empty(), "no source was found");
    let faults: Vec<Fault> =
        sources.iter().flat_map(|file| RULES.iter().flat_map(|rule| rule(file))).collect();
    assert_none(&faults);
}

#[test]
fn what_is_listed_as_long_is_there() {
    let sources: Vec<Source> = FOLDERS.iter().flat_map(|folder| sources_below(folder)).collect();
    for (path, _) in LONG_FILES {
        assert!(sources.iter().any(|file| file.path == *path), "{path} is listed as long and is gone");
    }
    for (path, name, _) in LONG_FUNCTIONS {
        let mut files = sources.iter().filter(|file| file.path == *path);
        let found = files.any(|file| file.functions().iter().any(|function| function.name == *name));
        assert!(found, "`{name}` in {path} is listed as long and is gone");
    }
}

#[test]
fn every_file_speaks_of_the_project_alone_and_names_no_machine() {
    let mut faults = Vec::new();
    for path in files_below("").iter().filter(|path| *path != "Cargo.lock" && *path != "LICENSE") {
        let Some(text) = text_of(path) else { continue };
        faults.extend(speaks_of_the_project_alone(path, &text));
        faults.extend(names_no_machine(path, &text));
    }
    assert_none(&faults);
}

#[test]
fn every_dependency_earns_its_place() {
    let manifest = text_of("Cargo.toml").expect("the manifest is text");
    let contributing = text_of("CONTRIBUTING.md").expect("the document is text");
    let mut faults = dependencies_earn_their_place(&manifest, &contributing);
    for package in PACKAGES {
        let path = format!("{package}/Cargo.toml");
        if files_below(package).contains(&path) {
            faults.extend(takes_versions_from_the_workspace(
                &path,
                &text_of(&path).expect("a manifest is text"),
            ));
        }
    }
    assert_none(&faults);
}

fn faults_of(rule: fn(&Source) -> Vec<Fault>, path: &str, text: &str) -> Vec<usize> {
    rule(&Source::parse(path, text)).into_iter().map(|fault| fault.line).collect()
}

#[test]
fn a_file_that_does_not_say_what_it_is_for_is_found() {
    assert_eq!(faults_of(opens_with_what_it_is_for, "host/src/a.rs", "use x;\n//! late"), [1]);
    assert_eq!(faults_of(opens_with_what_it_is_for, "host/src/a.rs", "//! For this.\nuse x;"), NO_LINES);
}

#[test]
fn an_empty_name_is_found() {
    let rule = has_a_name_that_says_something;
    assert_eq!(faults_of(rule, "host/src/call/mod.rs", ""), [1]);
    assert_eq!(faults_of(rule, "host/src/util/time.rs", ""), [1]);
    assert_eq!(faults_of(rule, "host/src/helpers.rs", ""), [1]);
    assert_eq!(faults_of(rule, "host/src/call/settle.rs", ""), NO_LINES);
}

#[test]
fn a_long_file_and_a_long_function_are_found() {
    let long_file = format!("//! x\n{}", "struct A;\n".repeat(LONGEST_FILE));
    let tested = format!("//! x\n#[cfg(test)]\nmod tests {{\n{}}}\n", "struct A;\n".repeat(LONGEST_FILE));
    let long_function = format!("//! x\nfn f() {{\n{}}}\n", "g();\n".repeat(LONGEST_FUNCTION - 1));
    let fine = format!("//! x\nfn f() {{\n{}}}\n", "g();\n".repeat(LONGEST_FUNCTION - 2));
    let lines = |text: &str, files: &[_], functions: &[_]| -> Vec<usize> {
        let source = Source::parse("host/src/a.rs", text);
        is_of_a_readable_size(&source, files, functions).into_iter().map(|fault| fault.line).collect()
    };

    assert_eq!(lines(&long_file, &[], &[]), [1]);
    assert_eq!(lines(&long_file, &[("host/src/a.rs", "a reason")], &[]), NO_LINES);
    assert_eq!(lines(&fine, &[("host/src/a.rs", "a reason")], &[]), [1]);
    assert_eq!(lines(&tested, &[], &[]), NO_LINES);
    assert_eq!(lines(&long_function, &[], &[]), [2]);
    assert_eq!(lines(&long_function, &[], &[("host/src/a.rs", "f", "a reason")]), NO_LINES);
    assert_eq!(lines(&fine, &[], &[("host/src/a.rs", "f", "a reason")]), [2]);
    assert_eq!(lines(&fine, &[], &[]), NO_LINES);
}

#[test]
fn unfinished_work_is_found() {
    let text = "fn f() { todo!() }\nfn g() { unimplemented!() }\n#[test]\n#[ignore = \"slow\"]\nfn h() {}\n#[allow(dead_code)]\nfn i() {}";
    let mut lines = faults_of(is_finished, "host/src/a.rs", text);
    lines.sort_unstable();
    assert_eq!(lines, [1, 2, 4, 6]);
    let fine = "#[expect(dead_code, reason = \"…\")]\nfn allow() { let todo = \"todo!\"; }";
    assert_eq!(faults_of(is_finished, "host/src/a.rs", fine), NO_LINES);
}

#[test]
fn an_unwrap_is_found() {
    let text = "fn f() { x.unwrap(); }\n#[cfg(test)]\nmod tests { fn g() { x.unwrap(); } }";
    assert_eq!(faults_of(does_not_unwrap, "host/src/a.rs", text), [1]);
    assert_eq!(faults_of(does_not_unwrap, "plugins/desk/src/lib.rs", text), [1]);
    assert_eq!(faults_of(does_not_unwrap, "host/src/a.rs", "fn f() { x.unwrap_or_default(); }"), NO_LINES);
}

#[test]
fn a_sleeping_test_is_found() {
    let text = "use std::thread::sleep;\nfn f() { tokio::time::sleep(a).await;\n std::thread::sleep(b); }";
    assert_eq!(faults_of(does_not_sleep, "tests/suites/call.rs", text), [1, 2, 3]);
    assert_eq!(faults_of(does_not_sleep, "tests/guests/sleeper/src/lib.rs", text), NO_LINES);
}

#[test]
fn words_of_how_it_was_made_are_found() {
    for phrase in words_out_of_place() {
        let comment = format!("fn f() {{}}\n// see {phrase}\n");
        assert_eq!(speaks_of_the_project_alone("host/src/a.rs", &comment).len(), 1, "{phrase}");
        assert_eq!(speaks_of_the_project_alone("README.md", &format!("- {phrase}")).len(), 1, "{phrase}");
    }
    let fine = "// A session of MCP; the plan of a run.\nconst MASK: &str = \"XXXX\";";
    assert_eq!(speaks_of_the_project_alone("host/src/a.rs", fine), []);
}

#[test]
fn places_of_one_machine_are_found() {
    for place in places_out_of_place() {
        assert_eq!(names_no_machine("Makefile", &format!("\ncd {place}x")).len(), 1, "{place}");
    }
    assert_eq!(names_no_machine("README.md", "see /usr/share/keyrings and https://example.com/a"), []);
}

#[test]
fn a_dependency_without_its_row_is_found() {
    let manifest = "[workspace.dependencies]\nserde = \"1\"\n# none = 1\nurl = { version = \"2\" }\n[profile.release]\ndebug = 1";
    let table = |rows: &str| {
        format!("# C\n\n## Dependencies\n\n| crate | for | aside |\n|---|---|---|\n{rows}\n## More\n")
    };
    let both = table("| `serde`, `url` | values | nothing |\n");

    assert_eq!(dependencies_earn_their_place(manifest, &both), []);
    assert_eq!(dependencies_earn_their_place(manifest, &table("| `serde` | values | nothing |\n")).len(), 1);
    assert_eq!(dependencies_earn_their_place(manifest, &table("| `serde`, `url` | values | |\n")).len(), 2);
    let left_over = table("| `serde`, `url`, `ureq` | values | nothing |\n");
    assert_eq!(dependencies_earn_their_place(manifest, &left_over).len(), 1);
}

#[test]
fn a_version_beside_the_workspace_is_found() {
    let text = "[dependencies]\nserde.workspace = true\nurl = \"2\"\nairlock-host = { path = \"../host\" }\n[lints]\nworkspace = true";
    let lines: Vec<usize> =
        takes_versions_from_the_workspace("host/Cargo.toml", text).iter().map(|f| f.line).collect();
    assert_eq!(lines, [3]);
}

#[test]
fn a_raw_text_is_not_read_as_code() {
    let source = Source::parse("host/src/a.rs", "const A: &str = r#\"x.unwrap()\"#;");
    assert_eq!(source.tokens.iter().filter(|token| token.kind == Kind::Text).count(), 1);
    assert_eq!(does_not_unwrap(&source), []);
}
