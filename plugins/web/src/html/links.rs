//! Where the links and pictures of a page lead.

use url::{Position, Url};

use super::element::Element;
use super::tree::{Content, Id, Tree};
use crate::address::has_credentials;

/// The longest address that is shown: longer ones are made for machines.
const LONGEST: usize = 2048;

/// The most bytes of what is beside a heading to link to it: `¶`, `#`.
const SIGN: usize = 8;

/// Where a page is, and what its addresses are relative to.
#[derive(Debug)]
pub(super) struct Place {
    page: Url,
    base: Url,
}

/// What a link leads to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Target {
    Address(String),
    /// Nothing that could be fetched, or the page itself: its words are read all the same.
    None,
    /// The place where it stands, by one sign, or the same page in another language: there is nothing to read.
    Skipped,
}

impl Place {
    /// A page at this address, which says itself what its addresses are relative to, or does not.
    pub(super) fn new(page: &Url, base: Option<&str>) -> Self {
        let base = base.and_then(|href| page.join(href.trim()).ok());
        let base = base.filter(|base| matches!(base.scheme(), "http" | "https"));
        Self { base: base.unwrap_or_else(|| page.clone()), page: page.clone() }
    }

    pub(super) fn link(&self, tree: &Tree, id: Id, element: &Element) -> Target {
        let in_list = || {
            tree.parent(id)
                .and_then(|parent| tree.element(parent))
                .is_some_and(|parent| parent.name() == "li")
        };
        if element.names_a_language() && in_list() {
            return Target::Skipped;
        }
        let Some(to) = self.join(element) else { return Target::None };
        let here = to.fragment().is_some() && to[..Position::AfterQuery] == self.page[..Position::AfterQuery];
        match shown(&to) {
            Some(address) if !here => Target::Address(address),
            Some(_) if is_sign(tree, id) => Target::Skipped,
            Some(_) | None => Target::None,
        }
    }

    pub(super) fn picture(&self, element: &Element) -> Option<String> {
        shown(&self.join(element)?)
    }

    fn join(&self, element: &Element) -> Option<Url> {
        self.base.join(element.value()?.trim()).ok()
    }
}

/// An address as it stands in Markdown, where it is one to show.
fn shown(to: &Url) -> Option<String> {
    let shown = matches!(to.scheme(), "http" | "https" | "mailto") && !has_credentials(to);
    if !shown || to.as_str().len() > LONGEST {
        return None;
    }
    let address = to.as_str().replace(['<', '>', ' '], "");
    // Parentheses may stand in an address as long as each that opens is closed.
    let mut open = 0_i32;
    let never_below = address.chars().all(|char| {
        open += i32::from(char == '(') - i32::from(char == ')');
        open >= 0
    });
    let balanced = never_below && open == 0;
    Some(if balanced { address } else { address.replace('(', "%28").replace(')', "%29") })
}

fn is_sign(tree: &Tree, link: Id) -> bool {
    let mut words = String::new();
    for id in tree.below(link, |_| true) {
        if let Content::Text(text) = tree.content(id) {
            words.push_str(text.trim());
        }
        if words.len() > SIGN {
            return false;
        }
    }
    !words.chars().any(char::is_alphanumeric)
}
