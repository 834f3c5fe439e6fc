//! The walk through a page, which writes what a reader sees.

use super::TooMuch;
use super::element::Element;
use super::links::{Place, Target};
use super::table::{Table, has_rows_and_columns};
use super::tree::{Content, Id, Tree};
use super::writer::Writer;

/// Reads what stands below a node; in a section, what is beside it belongs to it.
///
/// # Errors
/// Where it is more than can be read.
pub(super) fn read(tree: &Tree, place: &Place, top: Id, in_section: bool) -> Result<String, TooMuch> {
    Reader::new(tree, place, in_section).read(top)
}

/// What is to be done where an element ends.
enum End {
    Nothing,
    /// A block of lines of its own; where it is a section, what is beside it is part of it.
    Block {
        gap: usize,
        section: bool,
    },
    Heading,
    Item,
    List,
    Quote,
    Mark,
    Link,
    Code,
    CodeBlock,
    Table,
    Cell,
}

struct Reader<'a> {
    tree: &'a Tree,
    place: &'a Place,
    writer: Writer,
    /// What is to be done where the elements around us end.
    ends: Vec<End>,
    /// How many articles and sections are around us.
    sections: usize,
    /// The number of the last item of each list around us; bullets have none.
    lists: Vec<Option<u64>>,
    /// What was read of the code that we are in.
    code: Option<String>,
    table: Option<Table>,
}

impl<'a> Reader<'a> {
    fn new(tree: &'a Tree, place: &'a Place, in_section: bool) -> Self {
        Self {
            tree,
            place,
            writer: Writer::default(),
            ends: Vec::new(),
            sections: usize::from(in_section),
            lists: Vec::new(),
            code: None,
            table: None,
        }
    }

    fn read(mut self, top: Id) -> Result<String, TooMuch> {
        let mut at = top;
        loop {
            if self.enter(at) {
                if let Some(child) = self.tree.first_child(at) {
                    at = child;
                    continue;
                }
                self.leave(at);
            }
            loop {
                if self.writer.is_too_long() {
                    return Err(TooMuch::Text);
                }
                if at == top {
                    return Ok(self.writer.finish());
                }
                if let Some(next) = self.tree.next_sibling(at) {
                    at = next;
                    break;
                }
                let Some(parent) = self.tree.parent(at) else { return Ok(self.writer.finish()) };
                at = parent;
                self.leave(at);
            }
        }
    }

    /// Begins a node; tells whether what is inside is to be read.
    fn enter(&mut self, id: Id) -> bool {
        let end = match self.tree.content(id) {
            Content::Root => Some(End::Nothing),
            Content::Nothing => None,
            Content::Text(text) => {
                match &mut self.code {
                    Some(code) => code.push_str(text),
                    None => self.writer.text(text),
                }
                None
            }
            Content::Element(element) if element.is_skipped(self.sections > 0) => None,
            Content::Element(element) => self.begin(id, element),
        };
        let enters = end.is_some();
        self.ends.extend(end);
        enters
    }

    fn begin(&mut self, id: Id, element: &Element) -> Option<End> {
        if self.code.is_some() {
            return self.begin_in_code(element);
        }
        match element.name() {
            "br" => {
                self.writer.line_break();
                None
            }
            "hr" => {
                self.rule();
                None
            }
            "img" => {
                self.picture(element);
                None
            }
            "math" if element.words().is_some() => {
                self.writer.code(element.words().unwrap_or_default());
                None
            }
            "b" | "strong" => Some(self.mark("**", "**")),
            "i" | "em" | "cite" | "dfn" | "var" => Some(self.mark("*", "*")),
            "s" | "del" | "strike" => Some(self.mark("~~", "~~")),
            "q" => Some(self.mark("“", "”")),
            "a" => self.link(id, element),
            "code" | "kbd" | "samp" | "tt" => {
                self.code = Some(String::new());
                Some(End::Code)
            }
            name => Some(self.block(id, element, name)),
        }
    }

    fn begin_in_code(&mut self, element: &Element) -> Option<End> {
        if element.name() == "br"
            && let Some(code) = &mut self.code
        {
            code.push('\n');
        }
        Some(End::Nothing)
    }

    fn block(&mut self, id: Id, element: &Element, name: &str) -> End {
        match name {
            "table" => self.open_table(id),
            "tr" if self.table.is_some() => {
                self.table.iter_mut().for_each(Table::open_row);
                End::Nothing
            }
            "td" | "th" if self.table.is_some() => {
                self.writer.open_cell();
                End::Cell
            }
            "thead" | "tbody" | "tfoot" if self.table.is_some() => End::Nothing,
            "tr" | "td" | "th" => self.open(1, false),
            "p" | "dt" | "div" | "header" | "footer" | "aside" | "figure" | "figcaption" | "details"
            | "summary" | "address" | "fieldset" | "legend" | "form" | "dl" | "center" | "hgroup"
            | "search" | "caption" | "body" | "dialog" | "optgroup" | "thead" | "tbody" | "tfoot" => {
                self.open(2, false)
            }
            "main" | "article" | "section" => self.open(2, true),
            _ if self.writer.is_flat() => self.flat(name),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                let level = name.bytes().last().map_or(1, |digit| usize::from(digit - b'0'));
                self.writer.line(2);
                self.writer.open_block(&format!("{} ", "#".repeat(level)), "");
                self.writer.flatten();
                End::Heading
            }
            "ul" | "ol" | "menu" | "dir" => {
                self.writer.line(if self.lists.is_empty() { 2 } else { 1 });
                let first = element.value().and_then(|start| start.trim().parse().ok()).unwrap_or(1_u64);
                self.lists.push((name == "ol").then(|| first.saturating_sub(1)));
                End::List
            }
            "li" => self.item(),
            "dd" => {
                self.writer.line(1);
                self.writer.open_block("- ", "  ");
                End::Item
            }
            "blockquote" => {
                self.writer.line(2);
                self.writer.open_block("> ", "> ");
                End::Quote
            }
            "pre" | "listing" | "xmp" | "plaintext" => {
                self.code = Some(String::new());
                End::CodeBlock
            }
            _ => End::Nothing,
        }
    }

    /// What stands on one line, whatever it is.
    fn flat(&mut self, name: &str) -> End {
        match name {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "ul" | "ol" | "menu" | "dir" | "li" | "dd"
            | "blockquote" => self.open(1, false),
            "pre" | "listing" | "xmp" | "plaintext" => {
                self.code = Some(String::new());
                End::Code
            }
            _ => End::Nothing,
        }
    }

    fn open(&mut self, gap: usize, section: bool) -> End {
        self.writer.line(gap);
        self.sections += usize::from(section);
        End::Block { gap, section }
    }

    fn mark(&mut self, open: &'static str, close: &str) -> End {
        if self.writer.open_mark(open, close) { End::Mark } else { End::Nothing }
    }

    fn item(&mut self) -> End {
        let marker = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number = number.saturating_add(1);
                format!("{number}. ")
            }
            Some(None) | None => "- ".to_owned(),
        };
        self.writer.line(1);
        self.writer.open_block(&marker, &" ".repeat(marker.len()));
        End::Item
    }

    fn rule(&mut self) {
        self.writer.line(2);
        if !self.writer.is_flat() {
            self.writer.write_line("---");
            self.writer.line(2);
        }
    }

    fn picture(&mut self, element: &Element) {
        let Some(words) = element.words() else { return };
        match self.place.picture(element) {
            Some(address) => {
                self.writer.open_mark("![", &format!("]({address})"));
                self.writer.text(words);
                self.writer.close_mark();
            }
            None => self.writer.text(words),
        }
    }

    fn link(&mut self, id: Id, element: &Element) -> Option<End> {
        match self.place.link(self.tree, id, element) {
            Target::Skipped => None,
            Target::None => Some(End::Nothing),
            Target::Address(address) => {
                if !self.writer.open_mark("[", &format!("]({address})")) {
                    return Some(End::Nothing);
                }
                self.writer.flatten();
                Some(End::Link)
            }
        }
    }

    fn open_table(&mut self, id: Id) -> End {
        let inside = self.writer.is_flat() || self.table.is_some();
        if inside || !has_rows_and_columns(self.tree, id) {
            return self.open(2, false);
        }
        self.writer.line(2);
        self.table = Some(Table::default());
        End::Table
    }

    fn leave(&mut self, id: Id) {
        match self.ends.pop() {
            None | Some(End::Nothing) => {}
            Some(End::Block { gap, section }) => {
                self.writer.line(gap);
                self.sections -= usize::from(section);
            }
            Some(End::Heading) => {
                self.writer.unflatten();
                self.writer.close_block();
                self.writer.line(2);
            }
            Some(End::Item) => {
                self.writer.close_block();
                self.writer.line(1);
            }
            Some(End::List) => {
                self.lists.pop();
                self.writer.line(if self.lists.is_empty() { 2 } else { 1 });
            }
            Some(End::Quote) => {
                self.writer.close_block();
                self.writer.line(2);
            }
            Some(End::Mark) => self.writer.close_mark(),
            Some(End::Link) => {
                self.writer.close_mark();
                self.writer.unflatten();
            }
            Some(End::Code) => {
                let code = self.code.take().unwrap_or_default();
                self.writer.code(&code);
            }
            Some(End::CodeBlock) => {
                let code = self.code.take().unwrap_or_default();
                if !code.trim().is_empty() {
                    self.writer.code_block(language(self.tree, id), &code);
                }
            }
            Some(End::Table) => {
                let lines = self.table.take().map(Table::lines).unwrap_or_default();
                self.writer.line(2);
                for line in lines {
                    self.writer.write_line(&line);
                    self.writer.line(1);
                }
                self.writer.line(2);
            }
            Some(End::Cell) => {
                let cell = self.writer.close_cell();
                let span = self.tree.element(id).and_then(Element::value);
                self.table.iter_mut().for_each(|table| table.add(&cell, span));
            }
        }
    }
}

/// The language of a block of code, as its class tells it: `language-rust`, `lang-rust`.
fn language(tree: &Tree, block: Id) -> &str {
    let inside = tree.below(block, |_| true).filter_map(|id| tree.element(id));
    let classes = tree.element(block).into_iter().chain(inside.take(1)).filter_map(Element::value);
    let named = classes.flat_map(str::split_ascii_whitespace).find_map(|class| {
        ["language-", "lang-", "highlight-source-"].iter().find_map(|prefix| class.strip_prefix(prefix))
    });
    let sound = |name: &&str| {
        name.len() <= 20 && name.chars().all(|char| char.is_ascii_alphanumeric() || "+#-_.".contains(char))
    };
    named.filter(sound).unwrap_or_default()
}
