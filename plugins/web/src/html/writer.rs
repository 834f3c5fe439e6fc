//! Markdown, written piece by piece: lines, marks and white space come only once something follows them.

/// How many quotes and lists may be nested before their marks are left out: a mark stands before each line.
const DEEPEST: usize = 12;

/// How much Markdown a page may become.
pub(super) const LONGEST: usize = 4 << 20;

/// What Markdown is written into.
#[derive(Debug, Default)]
pub(super) struct Writer {
    out: String,
    /// Where this text or this cell begins.
    start: usize,
    /// How many line feeds come before what follows: none, one, or two.
    gap: usize,
    /// Whether a space does.
    space: bool,
    /// How many things around us stay on one line.
    flat: usize,
    blocks: Vec<Block>,
    marks: Vec<Mark>,
    /// The mark that ended last, and where.
    closed: Option<(usize, &'static str)>,
    outside: Option<Outside>,
}

/// A quote, an item or a heading: what stands before its lines.
#[derive(Debug)]
struct Block {
    first: String,
    rest: String,
    fresh: bool,
}

/// What stands around a text: emphasis, a link.
#[derive(Debug)]
struct Mark {
    open: &'static str,
    close: String,
    written: bool,
}

/// The state around a cell.
#[derive(Debug)]
struct Outside {
    start: usize,
    gap: usize,
    space: bool,
    blocks: Vec<Block>,
    marks: Vec<Mark>,
}

impl Writer {
    pub(super) fn is_too_long(&self) -> bool {
        self.out.len() > LONGEST
    }

    pub(super) fn is_flat(&self) -> bool {
        self.flat > 0
    }

    pub(super) fn finish(mut self) -> String {
        self.close_marks();
        self.out
    }

    /// Begins a line of its own; with a gap of two, after an empty one.
    pub(super) fn line(&mut self, gap: usize) {
        if self.is_flat() {
            self.space = true;
        } else if !self.blocks.last().is_some_and(|block| block.fresh) {
            self.gap = self.gap.max(gap);
        }
    }

    /// Breaks the line; two breaks are an empty line.
    pub(super) fn line_break(&mut self) {
        self.line((self.gap + 1).min(2));
    }

    pub(super) fn flatten(&mut self) {
        self.flat += 1;
    }

    pub(super) fn unflatten(&mut self) {
        self.flat = self.flat.saturating_sub(1);
    }

    /// Begins a block whose first line has one mark before it, and whose other lines have another.
    pub(super) fn open_block(&mut self, first: &str, rest: &str) {
        let shown = self.blocks.len() < DEEPEST;
        let text = |text: &str| if shown { text.to_owned() } else { String::new() };
        self.blocks.push(Block { first: text(first), rest: text(rest), fresh: true });
    }

    pub(super) fn close_block(&mut self) {
        self.blocks.pop();
    }

    /// Begins what stands between two marks; nothing where it is within the same already.
    pub(super) fn open_mark(&mut self, open: &'static str, close: &str) -> bool {
        let new = self.marks.iter().all(|mark| mark.open != open);
        if new {
            self.marks.push(Mark { open, close: close.to_owned(), written: false });
        }
        new
    }

    /// Ends it; where nothing was written in between, there is no mark at all.
    pub(super) fn close_mark(&mut self) {
        if let Some(mark) = self.marks.pop().filter(|mark| mark.written) {
            self.out.push_str(&mark.close);
            self.closed = Some((self.out.len(), mark.open));
        }
    }

    /// Writes running text, its white space made single, so that nothing in it is taken for Markdown.
    pub(super) fn text(&mut self, text: &str) {
        if text.starts_with(is_space) {
            self.space = true;
        }
        for word in text.split(is_space).filter(|word| !word.is_empty()) {
            let begins_line = self.begin();
            self.word(word, begins_line);
            self.space = true;
        }
        self.space = text.ends_with(is_space) || (self.space && text.trim_matches(is_space).is_empty());
    }

    /// Writes what is Markdown already, as one word.
    pub(super) fn raw(&mut self, markdown: &str) {
        self.begin();
        self.out.push_str(markdown);
    }

    /// Writes code in a line.
    pub(super) fn code(&mut self, code: &str) {
        let code = code.split(is_space).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
        if code.is_empty() {
            return;
        }
        let fence = "`".repeat(longest_run(&code) + 1);
        let space = if code.starts_with('`') || code.ends_with('`') { " " } else { "" };
        self.raw(&format!("{fence}{space}{code}{space}{fence}"));
    }

    /// Writes lines of code as they are.
    pub(super) fn code_block(&mut self, language: &str, code: &str) {
        let fence = "`".repeat((longest_run(code) + 1).max(3));
        self.line(2);
        self.write_line(&format!("{fence}{language}"));
        for line in code.trim_matches('\n').split('\n') {
            self.line(1);
            self.write_line(line.trim_end());
        }
        self.line(1);
        self.write_line(&fence);
        self.line(2);
    }

    /// Writes one line as it is, whatever stands around it.
    pub(super) fn write_line(&mut self, line: &str) {
        self.close_marks();
        self.begin_line();
        self.out.push_str(line);
        if line.is_empty() {
            self.out.truncate(self.out.trim_end_matches(' ').len());
        }
    }

    /// Begins a cell, which is a text of its own on one line.
    pub(super) fn open_cell(&mut self) {
        self.flatten();
        self.outside = Some(Outside {
            start: self.start,
            gap: self.gap,
            space: self.space,
            blocks: std::mem::take(&mut self.blocks),
            marks: std::mem::take(&mut self.marks),
        });
        (self.start, self.gap, self.space) = (self.out.len(), 0, false);
    }

    /// Ends it, and gives its text.
    pub(super) fn close_cell(&mut self) -> String {
        self.unflatten();
        self.close_marks();
        let cell = self.out.split_off(self.start);
        self.closed = None;
        if let Some(outside) = self.outside.take() {
            (self.start, self.gap, self.space) = (outside.start, outside.gap, outside.space);
            (self.blocks, self.marks) = (outside.blocks, outside.marks);
        }
        cell
    }

    /// Writes what must come before something that is seen; tells whether that begins a line.
    fn begin(&mut self) -> bool {
        let begins_line = self.gap > 0 || self.out.len() == self.start;
        if begins_line {
            self.close_marks();
            self.begin_line();
        } else if self.space {
            self.out.push(' ');
            self.space = false;
        }
        let mut unmarked = true;
        for mark in self.marks.iter_mut().filter(|mark| !mark.written) {
            mark.written = true;
            unmarked = false;
            // Emphasis that ended here goes on.
            if mark.open == mark.close && self.closed.take() == Some((self.out.len(), mark.open)) {
                self.out.truncate(self.out.len() - mark.close.len());
            } else {
                self.out.push_str(mark.open);
            }
        }
        begins_line && unmarked
    }

    fn begin_line(&mut self) {
        if self.out.len() > self.start {
            self.out.push('\n');
            if self.gap > 1 {
                let held = self.blocks.iter().take_while(|block| !block.fresh);
                self.out.extend(held.map(|block| block.rest.as_str()));
                self.out.truncate(self.out.trim_end_matches(' ').len());
                self.out.push('\n');
            }
        }
        for block in &mut self.blocks {
            self.out.push_str(if block.fresh { &block.first } else { &block.rest });
            block.fresh = false;
        }
        (self.gap, self.space) = (0, false);
    }

    /// Marks do not reach over the end of a line.
    fn close_marks(&mut self) {
        for mark in self.marks.iter_mut().rev().filter(|mark| mark.written) {
            self.out.push_str(&mark.close);
            mark.written = false;
        }
    }

    fn word(&mut self, word: &str, begins_line: bool) {
        let mut word = word;
        if begins_line && let Some(at) = looks_like_block(word) {
            self.out.push_str(&word[..at]);
            self.out.push('\\');
            word = &word[at..];
        }
        // What stands before, also where markup lies between: `is_<wbr>this`.
        let mut before = self.out.chars().next_back();
        let mut chars = word.chars().peekable();
        while let Some(char) = chars.next() {
            let after = chars.peek().copied();
            let special = match char {
                '\\' | '`' | '*' | '[' | ']' => true,
                // Within a word it means nothing, and what nothing opens nothing closes.
                '_' => !before.is_some_and(char::is_alphanumeric),
                '<' => after.is_some_and(|after| after.is_ascii_alphabetic() || matches!(after, '/' | '!')),
                _ => false,
            };
            if special {
                self.out.push('\\');
            }
            self.out.push(char);
            before = Some(char);
        }
    }
}

/// Where a word at the beginning of a line needs a backslash, so that it begins no list, heading or quote.
fn looks_like_block(word: &str) -> Option<usize> {
    let digits = word.len() - word.trim_start_matches(|char: char| char.is_ascii_digit()).len();
    if (1..10).contains(&digits) && matches!(&word[digits..], "." | ")") {
        return Some(digits);
    }
    let alike = |marks: &str| word.chars().all(|char| marks.contains(char));
    (word.starts_with('>') || alike("#") || alike("-") || alike("+") || alike("=")).then_some(0)
}

fn longest_run(text: &str) -> usize {
    text.split(|char| char != '`').map(str::len).max().unwrap_or(0)
}

/// White space of HTML, and the kinds of it that only keep lines together.
fn is_space(char: char) -> bool {
    matches!(char, ' ' | '\t' | '\n' | '\u{a0}' | '\u{202f}')
}
