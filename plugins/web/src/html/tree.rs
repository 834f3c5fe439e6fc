//! HTML, however broken, as a tree of its elements and texts.
//!
//! Nothing here and nothing that walks the tree recurses: how deep a page is nested is the page's choice, and the
//! stack of a plugin is small.

use std::borrow::Cow;
use std::cell::RefCell;
use std::num::NonZeroU32;
use std::rc::Rc;

use html5ever::interface::tree_builder::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::tree_builder::TreeBuilderOpts;
use html5ever::{Attribute, ExpandedName, ParseOpts, QualName, local_name, ns, parse_document};

use super::TooMuch;
use super::element::Element;
use crate::text::clean;

/// How deep elements may be nested: what browsers allow. The parser looks through all that are open again and
/// again.
const DEEPEST: u16 = 512;

/// How many elements and texts a page may have: they fit into half of a call's memory.
const MOST_NODES: usize = 250_000;

/// How much is parsed between two looks at those limits. With [`DEEPEST`] it bounds what one piece can become.
const PIECE: usize = 1024;

/// A node of a tree, by its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Id(NonZeroU32);

/// What a node is.
#[derive(Debug)]
pub(super) enum Content {
    Root,
    Element(Box<Element>),
    Text(String),
    /// A comment, or what else is not shown.
    Nothing,
}

#[derive(Debug)]
struct Node {
    content: Content,
    parent: Option<Id>,
    previous: Option<Id>,
    next: Option<Id>,
    first: Option<Id>,
    last: Option<Id>,
    depth: u16,
}

/// A page.
#[derive(Debug)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    deepest: u16,
}

impl Id {
    fn of(index: usize) -> Self {
        // A page has far fewer nodes than this type has numbers.
        let number = u32::try_from(index).unwrap_or(u32::MAX - 1) + 1;
        Self(NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN))
    }

    fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

impl Tree {
    /// Reads a page.
    ///
    /// # Errors
    /// Where it is more than can be read.
    pub(super) fn parse(html: String) -> Result<Self, TooMuch> {
        let sink = Sink { tree: RefCell::new(Self { nodes: Vec::new(), deepest: 0 }) };
        sink.tree.borrow_mut().add(Content::Root);
        // Nobody runs scripts here, so that what stands in `noscript` is meant for us.
        let tree_builder = TreeBuilderOpts { scripting_enabled: false, ..Default::default() };
        let mut parser = parse_document(sink, ParseOpts { tree_builder, ..Default::default() });
        let mut rest = html.as_str();
        while !rest.is_empty() {
            let (piece, left) = rest.split_at(rest.floor_char_boundary(PIECE));
            parser.process(StrTendril::from_slice(piece));
            parser.tokenizer.sink.sink.tree.borrow().within_limits()?;
            rest = left;
        }
        drop(html);
        let tree = parser.finish();
        tree.within_limits()?;
        Ok(tree)
    }

    fn within_limits(&self) -> Result<(), TooMuch> {
        if self.deepest > DEEPEST {
            return Err(TooMuch::Deep);
        }
        if self.nodes.len() > MOST_NODES {
            return Err(TooMuch::Elements);
        }
        Ok(())
    }

    pub(super) fn root(&self) -> Id {
        Id::of(0)
    }

    pub(super) fn content(&self, id: Id) -> &Content {
        &self.nodes[id.index()].content
    }

    pub(super) fn element(&self, id: Id) -> Option<&Element> {
        match self.content(id) {
            Content::Element(element) => Some(element),
            Content::Root | Content::Text(_) | Content::Nothing => None,
        }
    }

    pub(super) fn first_child(&self, id: Id) -> Option<Id> {
        self.nodes[id.index()].first
    }

    pub(super) fn next_sibling(&self, id: Id) -> Option<Id> {
        self.nodes[id.index()].next
    }

    pub(super) fn parent(&self, id: Id) -> Option<Id> {
        self.nodes[id.index()].parent
    }

    /// What lies below a node, in the order of the page, without what `enters` turns away.
    pub(super) fn below<'a>(
        &'a self,
        top: Id,
        enters: impl Fn(Id) -> bool + 'a,
    ) -> impl Iterator<Item = Id> + 'a {
        let mut next = self.first_child(top);
        std::iter::from_fn(move || {
            loop {
                let at = next?;
                let entered = enters(at);
                let inside = if entered { self.first_child(at) } else { None };
                next = inside.or_else(|| self.following(at, top));
                if entered {
                    return Some(at);
                }
            }
        })
    }

    /// The node after this one and what lies below it.
    fn following(&self, mut at: Id, top: Id) -> Option<Id> {
        loop {
            if let Some(next) = self.next_sibling(at) {
                return Some(next);
            }
            at = self.parent(at).filter(|parent| *parent != top)?;
        }
    }

    fn add(&mut self, content: Content) -> Id {
        let id = Id::of(self.nodes.len());
        let node =
            Node { content, parent: None, previous: None, next: None, first: None, last: None, depth: 0 };
        self.nodes.push(node);
        id
    }

    fn at(&mut self, id: Id) -> &mut Node {
        &mut self.nodes[id.index()]
    }

    fn detach(&mut self, id: Id) {
        let node = self.at(id);
        let (parent, previous, next) = (node.parent.take(), node.previous.take(), node.next.take());
        match (previous, parent) {
            (Some(previous), _) => self.at(previous).next = next,
            (None, Some(parent)) => self.at(parent).first = next,
            (None, None) => {}
        }
        match (next, parent) {
            (Some(next), _) => self.at(next).previous = previous,
            (None, Some(parent)) => self.at(parent).last = previous,
            (None, None) => {}
        }
    }

    /// Puts a node into another, before one of its children or at the end.
    fn insert(&mut self, id: Id, parent: Id, before: Option<Id>) {
        self.detach(id);
        let previous = match before {
            Some(before) => self.at(before).previous.replace(id),
            None => self.at(parent).last.replace(id),
        };
        match previous {
            Some(previous) => self.at(previous).next = Some(id),
            None => self.at(parent).first = Some(id),
        }
        let depth = self.at(parent).depth.saturating_add(1);
        self.deepest = self.deepest.max(depth);
        let node = self.at(id);
        (node.parent, node.previous, node.next, node.depth) = (Some(parent), previous, before, depth);
    }

    fn insert_text(&mut self, text: &str, parent: Id, before: Option<Id>) {
        if self.element(parent).is_some_and(Element::holds_no_text) {
            return;
        }
        let text = clean(text);
        let beside = match before {
            Some(before) => self.at(before).previous,
            None => self.at(parent).last,
        };
        if let Some(beside) = beside
            && let Content::Text(longer) = &mut self.at(beside).content
        {
            longer.push_str(&text);
            return;
        }
        let id = self.add(Content::Text(text));
        self.insert(id, parent, before);
    }
}

/// What the parser holds of a node.
#[derive(Debug, Clone)]
pub(super) struct Handle {
    id: Id,
    name: Rc<QualName>,
}

#[derive(Debug)]
struct Sink {
    tree: RefCell<Tree>,
}

impl Sink {
    fn handle(&self, content: Content) -> Handle {
        let name = QualName::new(None, ns!(), local_name!(""));
        Handle { id: self.tree.borrow_mut().add(content), name: Rc::new(name) }
    }

    fn put(&self, child: NodeOrText<Handle>, parent: Id, before: Option<Id>) {
        let mut tree = self.tree.borrow_mut();
        match child {
            NodeOrText::AppendNode(node) => tree.insert(node.id, parent, before),
            NodeOrText::AppendText(text) => tree.insert_text(&text, parent, before),
        }
    }
}

impl TreeSink for Sink {
    type Handle = Handle;
    type Output = Tree;
    type ElemName<'a> = ExpandedName<'a>;

    fn finish(self) -> Tree {
        self.tree.into_inner()
    }

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> Handle {
        Handle { id: Id::of(0), name: Rc::new(QualName::new(None, ns!(), local_name!(""))) }
    }

    fn elem_name<'a>(&'a self, target: &'a Handle) -> ExpandedName<'a> {
        target.name.expanded()
    }

    fn create_element(&self, name: QualName, attributes: Vec<Attribute>, _: ElementFlags) -> Handle {
        let element = Element::new(&name, &attributes);
        let id = self.tree.borrow_mut().add(Content::Element(Box::new(element)));
        Handle { id, name: Rc::new(name) }
    }

    fn create_comment(&self, _: StrTendril) -> Handle {
        self.handle(Content::Nothing)
    }

    fn create_pi(&self, _: StrTendril, _: StrTendril) -> Handle {
        self.handle(Content::Nothing)
    }

    fn append(&self, parent: &Handle, child: NodeOrText<Handle>) {
        self.put(child, parent.id, None);
    }

    fn append_based_on_parent_node(&self, element: &Handle, previous: &Handle, child: NodeOrText<Handle>) {
        let parent = self.tree.borrow().parent(element.id);
        match parent {
            Some(parent) => self.put(child, parent, Some(element.id)),
            None => self.put(child, previous.id, None),
        }
    }

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}

    /// What a template holds is in nobody's sight: it goes to a node outside the tree.
    fn get_template_contents(&self, _: &Handle) -> Handle {
        self.handle(Content::Nothing)
    }

    fn same_node(&self, one: &Handle, other: &Handle) -> bool {
        one.id == other.id
    }

    fn set_quirks_mode(&self, _: QuirksMode) {}

    fn append_before_sibling(&self, sibling: &Handle, child: NodeOrText<Handle>) {
        let parent = self.tree.borrow().parent(sibling.id);
        if let Some(parent) = parent {
            self.put(child, parent, Some(sibling.id));
        }
    }

    fn add_attrs_if_missing(&self, _: &Handle, _: Vec<Attribute>) {}

    fn remove_from_parent(&self, target: &Handle) {
        self.tree.borrow_mut().detach(target.id);
    }

    fn reparent_children(&self, node: &Handle, parent: &Handle) {
        let mut tree = self.tree.borrow_mut();
        while let Some(child) = tree.first_child(node.id) {
            tree.insert(child, parent.id, None);
        }
    }
}
