//! A page, however it is written, as Markdown.

mod element;
mod links;
mod reader;
mod table;
mod tree;
mod writer;

use url::Url;

use self::element::{Element, Role};
use self::links::Place;
use self::tree::{Content, Id, Tree};
use crate::text::on_one_line;

/// The longest title, in characters.
const TITLE: usize = 300;

/// Why a page is not read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TooMuch {
    /// Its elements are nested too deep.
    Deep,
    /// It has too many elements.
    Elements,
    /// Its text is too long.
    Text,
}

/// A page, read.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) title: Option<String>,
    pub(crate) text: String,
}

/// Reads a page that was found at this address.
///
/// # Errors
/// Where it is more than can be read.
pub(crate) fn read(html: String, url: &Url) -> Result<Page, TooMuch> {
    let tree = Tree::parse(html)?;
    let place = Place::new(url, named(&tree, "base").find_map(|(_, element)| element.value()));
    let mut text = String::new();
    if let Some(main) = main(&tree) {
        text = reader::read(&tree, &place, main, true)?;
    }
    if text.is_empty() {
        text = reader::read(&tree, &place, tree.root(), false)?;
    }
    Ok(Page { title: title(&tree), text })
}

fn named<'a>(tree: &'a Tree, name: &'a str) -> impl Iterator<Item = (Id, &'a Element)> {
    let all = tree.below(tree.root(), |_| true).filter_map(|id| Some((id, tree.element(id)?)));
    all.filter(move |(_, element)| element.is_html() && element.name() == name)
}

fn title(tree: &Tree) -> Option<String> {
    let (title, _) = named(tree, "title").next()?;
    let Content::Text(text) = tree.content(tree.first_child(title)?) else { return None };
    Some(on_one_line(text, TITLE)).filter(|title| !title.is_empty())
}

/// The part that the page itself says is its content.
fn main(tree: &Tree) -> Option<Id> {
    let seen = |id: Id| tree.element(id).is_none_or(|element| !element.is_skipped(true));
    tree.below(tree.root(), seen).find(|id| {
        tree.element(*id)
            .is_some_and(|element| element.name() == "main" || element.role() == Some(Role::Main))
    })
}

#[cfg(test)]
mod tests;
