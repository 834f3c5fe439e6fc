//! Every code that the SDK gives a tool has its page, with the kinds that it comes with.

use std::collections::{BTreeMap, BTreeSet};

use airlock::model::code::{PAGES, Page, Whose, page};
use insta::assert_snapshot;

use super::Place;
use crate::source::{Source, sources_below};

/// Makers of errors, and the kind of each.
const MAKERS: &[&str] = &[
    "invalid_input",
    "rejected",
    "ambiguous",
    "denied",
    "transient",
    "throttled",
    "unknown_outcome",
    "fatal",
];

/// The codes that a source gives out, with their kinds: what stands between quotes first in `ToolError::KIND("CODE"`.
fn given(source: &Source, given: &mut BTreeMap<String, BTreeSet<String>>) {
    for near in source.tokens.windows(4).filter(|near| !near[0].in_test) {
        let [of, kind, open, code] = near else { continue };
        let made = of.text == "::" && open.text == "(" && MAKERS.contains(&kind.text.as_str());
        let code = code.text.trim_matches('"');
        let is_code = code.len() > 1 && code.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
        if made && is_code {
            given.entry(code.to_owned()).or_default().insert(kind.text.clone());
        }
    }
}

#[test]
fn every_code_of_the_sdk_has_a_page_and_no_page_is_of_a_code_that_is_gone() {
    let mut codes = BTreeMap::new();
    sources_below("plugin-sdk/src").iter().for_each(|source| given(source, &mut codes));
    let mut paged: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for page in PAGES.iter().filter(|page| page.whose == Whose::Sdk) {
        let kinds = page.kinds.iter().map(|kind| kind.word().to_owned());
        paged.entry(page.code.to_owned()).or_default().extend(kinds);
    }
    // These two are the host's, and a tool says them too.
    let shared = ["INVALID_INPUT", "INTERNAL"];
    codes.retain(|code, _| !shared.contains(&code.as_str()));
    assert!(shared.iter().all(|code| page(code).is_some_and(|page| page.whose == Whose::Host)));
    assert_eq!(codes, paged);
}

#[test]
fn every_page_says_what_happened_and_first_what_its_caller_does() {
    for Page { code, meaning, remedy, .. } in PAGES {
        let for_others = ["Operators: ", "Tool authors: "].map(|whom| remedy.find(whom));
        assert!(!for_others.contains(&Some(0)), "{code} tells its caller nothing: {remedy}");
        for text in [meaning, remedy] {
            assert!(
                text.ends_with('.') && text.starts_with(|first: char| first.is_uppercase() || first == '`'),
                "{code}: {text}"
            );
        }
        if let [Some(operators), Some(authors)] = for_others {
            assert!(operators < authors, "{code}: who can do most about it is told last: {remedy}");
        }
    }
    let partly = page("PARTLY_DONE").unwrap().meaning;
    assert!(partly.contains("`left_because`"), "{partly}");
}

#[test]
fn a_code_that_tools_say_is_explained() {
    assert_snapshot!(Place::new().airlock(&["explain", "backend_failed"]), @r"
    exit 0
    -- out
    BACKEND_FAILED (transient or unknown_outcome)

    The backend failed (408 or 5xx). Where the request only reads, or this status says that nothing was done, it is transient; else it may have been done.

    What to do: Do what `action` says. `airlock runs RUN` shows the request and its status.
    -- err
    ");
    assert_snapshot!(Place::new().airlock(&["explain", "NOT_CONFIGURED"]), @r"
    exit 0
    -- out
    NOT_CONFIGURED (fatal)

    The configuration does not set a value that the tool needs. Nothing more was done.

    What to do: Stop, and tell the user. Operators: `airlock tools NAME` shows what the tool needs beside what it is granted, and the lines that grant the rest.
    -- err
    ");
    assert_snapshot!(Place::new().airlock(&["explain", "ORDER_LOST"]), @"
    exit 1
    -- out
    -- err
    error[INVALID_INPUT]: there is no page for the code ORDER_LOST
    hint: `airlock explain` lists the codes of the host and of the SDK; tools add codes of their own, which `airlock runs RUN` shows with what the tool said
    ");
}
