//! What the documents say is so: links lead somewhere, examples work, and what they name is there.

use airlock_tests::world::World;

use crate::source::{files_below, root, sources_below, text_of};

const DOCUMENTS: &[&str] = &[
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "plugins/calc/README.md",
    "plugins/desk/README.md",
    "plugins/files/README.md",
    "plugins/web/README.md",
];

fn document(path: &str) -> String {
    text_of(path).unwrap_or_else(|| panic!("{path} is no text"))
}

/// What stands between two marks, each time.
fn between<'a>(text: &'a str, open: &str, close: &str) -> Vec<&'a str> {
    text.split(open).skip(1).filter_map(|rest| rest.split_once(close)).map(|(inner, _)| inner).collect()
}

/// What stands in backticks.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn every_link_leads_somewhere() {
    for path in DOCUMENTS {
        let folder = root().join(path).parent().unwrap().to_owned();
        for link in between(&document(path), "](", ")") {
            let there = link.starts_with("https://") || folder.join(link).exists();
            assert!(there, "{path}: {link}");
        }
    }
}

#[test]
fn every_configuration_that_is_shown_has_no_faults() {
    let lent = tempfile::tempdir().unwrap();
    let mut shown = 0;
    for path in DOCUMENTS {
        for block in
            between(&document(path), "```toml\n", "```").iter().filter(|block| block.contains("[plugin."))
        {
            let block = block.replace("/srv/notes", lent.path().to_str().unwrap());
            let world = World::new().with_config(&block).with_variable("DESK_TOKEN", "t");
            assert_eq!(world.config().secrets.len(), usize::from(block.contains("[secrets]")), "{path}");
            shown += 1;
        }
    }
    assert_eq!(shown, 4);
}

#[test]
fn every_target_that_is_named_is_one_of_the_makefile() {
    let makefile = document("Makefile");
    let mut named = 0;
    for path in DOCUMENTS {
        let text = document(path);
        let commands = between(&text, "`make ", "`").into_iter().chain(between(&text, "\nmake ", " "));
        for target in commands {
            assert!(makefile.contains(&format!("\n{target}: ")), "{path}: make {target}");
            named += 1;
        }
    }
    assert!(named > 5);
}

#[test]
fn every_test_that_checks_an_absence_is_there() {
    let text = document("ARCHITECTURE.md");
    let absences = text.split("## What is never so").nth(1).unwrap();
    let suites = sources_below("tests/suites");
    let checks = absences.lines().filter_map(|row| row.split('|').nth(2)).flat_map(names);
    let mut named = 0;
    for name in checks.filter(|name| *name != "disallowed-methods") {
        let (suite, test) = name.split_once("::").unwrap_or((name, ""));
        let source = suites.iter().find(|source| source.path == format!("tests/suites/{suite}.rs"));
        let source = source.unwrap_or_else(|| panic!("there is no suite {suite}"));
        let function = source.functions().iter().any(|function| function.name == test);
        assert!(test.is_empty() || function || source.text.contains(&format!("mod {test};")), "{name}");
        named += 1;
    }
    assert!(named > 5);
}

#[test]
fn every_module_of_the_map_is_there() {
    let text = document("ARCHITECTURE.md");
    let map = text.split("## The code").nth(1).unwrap().split("## ").next().unwrap();
    let files = files_below("host/src");
    let mut named = 0;
    for row in map.lines().filter(|line| line.starts_with("| `")) {
        let (folder, rest) = row[2..].split_once(" | ").unwrap();
        let folder = folder.trim_matches('`').trim_end_matches('/').trim_end_matches(".rs");
        let below: Vec<_> =
            files.iter().filter(|path| path.starts_with(&format!("host/src/{folder}"))).collect();
        for word in names(rest).map(|name| name.trim_end_matches('/')) {
            let is_module = word.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_');
            let mut parts = below.iter().flat_map(|path| path.split('/'));
            let there = parts.any(|part| part.trim_end_matches(".rs") == word);
            assert!(!is_module || there, "{folder} has no {word}");
            named += 1;
        }
    }
    assert!(named > 40);
}
