//! Rust's text as tokens and comments.

use crate::source::Source;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Word,
    Sign,
    Text,
    Other,
}

#[derive(Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) text: String,
    pub(crate) line: usize,
    /// Part of a test: of `#[cfg(test)]`, of `#[test]`, or of a file that holds nothing else.
    pub(crate) in_test: bool,
}

/// The tokens of a text, and its comments with the line on which each starts.
pub(crate) fn read(text: &str) -> (Vec<Token>, Vec<(usize, String)>) {
    Lexer::new(text).run()
}

/// The place of the last token of the item that starts at `at`: its closing brace, or its semicolon.
pub(crate) fn item_end(tokens: &[Token], at: usize) -> usize {
    let mut depth = 0_usize;
    let mut in_body = false;
    for (place, token) in tokens.iter().enumerate().skip(at) {
        if token.kind != Kind::Sign {
            continue;
        }
        match token.text.as_str() {
            "{" | "(" | "[" => {
                in_body |= depth == 0 && token.text == "{";
                depth += 1;
            }
            "}" | ")" | "]" => {
                depth = depth.saturating_sub(1);
                if depth == 0 && in_body && token.text == "}" {
                    return place;
                }
            }
            ";" if depth == 0 => return place,
            _ => {}
        }
    }
    tokens.len() - 1
}

/// Marks what belongs to a test, or everything.
pub(crate) fn mark_tests(tokens: &mut [Token], all: bool) {
    if all {
        tokens.iter_mut().for_each(|token| token.in_test = true);
        return;
    }
    let mut at = 0;
    while at + 1 < tokens.len() {
        if tokens[at].text != "#" || tokens[at + 1].text != "[" {
            at += 1;
            continue;
        }
        let close = item_close(tokens, at + 1);
        let words: Vec<&str> = tokens[at..close].iter().map(|token| token.text.as_str()).collect();
        let is_test = words.contains(&"test") && !words.contains(&"not");
        if is_test && (words.get(2) == Some(&"cfg") || words.last() == Some(&"test")) {
            let mut item = close + 1;
            while item + 1 < tokens.len() && tokens[item].text == "#" {
                item = item_close(tokens, item + 1) + 1;
            }
            let end = item_end(tokens, item);
            tokens[at..=end].iter_mut().for_each(|token| token.in_test = true);
            at = end;
        } else {
            at = close;
        }
    }
}

/// The place of the bracket that closes the one at `at`.
fn item_close(tokens: &[Token], at: usize) -> usize {
    let mut depth = 0_usize;
    for (place, token) in tokens.iter().enumerate().skip(at) {
        match (token.kind, token.text.as_str()) {
            (Kind::Sign, "[") => depth += 1,
            (Kind::Sign, "]") => {
                depth -= 1;
                if depth == 0 {
                    return place;
                }
            }
            _ => {}
        }
    }
    tokens.len() - 1
}

struct Lexer {
    chars: Vec<char>,
    at: usize,
    line: usize,
    tokens: Vec<Token>,
    comments: Vec<(usize, String)>,
}

impl Lexer {
    fn new(text: &str) -> Self {
        Self { chars: text.chars().collect(), at: 0, line: 1, tokens: Vec::new(), comments: Vec::new() }
    }

    fn run(mut self) -> (Vec<Token>, Vec<(usize, String)>) {
        while let Some(first) = self.peek(0) {
            let next = self.peek(1);
            match first {
                '/' if next == Some('/') => self.line_comment(),
                '/' if next == Some('*') => self.block_comment(),
                '"' => self.string(0),
                '\'' => self.quote(),
                _ if first.is_whitespace() => self.advance(1),
                _ if first.is_alphabetic() || first == '_' => self.word(),
                _ if first.is_ascii_digit() => self.number(),
                ':' if next == Some(':') => self.push(Kind::Sign, 2),
                _ => self.push(Kind::Sign, 1),
            }
        }
        (self.tokens, self.comments)
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn advance(&mut self, count: usize) {
        for _ in 0..count {
            if self.peek(0) == Some('\n') {
                self.line += 1;
            }
            self.at += 1;
        }
    }

    fn slice(&self, from: usize) -> String {
        self.chars[from..self.at.min(self.chars.len())].iter().collect()
    }

    fn push(&mut self, kind: Kind, length: usize) {
        let (from, line) = (self.at, self.line);
        self.advance(length);
        self.tokens.push(Token { kind, text: self.slice(from), line, in_test: false });
    }

    fn line_comment(&mut self) {
        let (from, line) = (self.at, self.line);
        while self.peek(0).is_some_and(|c| c != '\n') {
            self.advance(1);
        }
        self.comments.push((line, self.slice(from)));
    }

    fn block_comment(&mut self) {
        let (from, line) = (self.at, self.line);
        let mut depth = 0;
        while let Some(first) = self.peek(0) {
            match (first, self.peek(1)) {
                ('/', Some('*')) => {
                    depth += 1;
                    self.advance(2);
                }
                ('*', Some('/')) => {
                    depth -= 1;
                    self.advance(2);
                    if depth == 0 {
                        break;
                    }
                }
                _ => self.advance(1),
            }
        }
        self.comments.push((line, self.slice(from)));
    }

    /// A string whose opening quote is `ahead` characters away.
    fn string(&mut self, ahead: usize) {
        let mut length = ahead + 1;
        while let Some(c) = self.peek(length) {
            length += if c == '\\' { 2 } else { 1 };
            if c == '"' {
                break;
            }
        }
        self.push(Kind::Text, length);
    }

    /// A raw string with its hashes and opening quote `ahead` characters away.
    fn raw_string(&mut self, ahead: usize, hashes: usize) {
        let mut length = ahead + hashes + 1;
        while let Some(c) = self.peek(length) {
            length += 1;
            if c == '"' && (0..hashes).all(|n| self.peek(length + n) == Some('#')) {
                length += hashes;
                break;
            }
        }
        self.push(Kind::Text, length);
    }

    /// A character or a lifetime.
    fn quote(&mut self) {
        let is_char = self.peek(1) == Some('\\') || self.peek(2) == Some('\'');
        let mut length = 1;
        if is_char {
            length += if self.peek(1) == Some('\\') { 2 } else { 1 };
            while self.peek(length).is_some_and(|c| c != '\'') {
                length += 1;
            }
            length += 1;
        } else {
            while self.peek(length).is_some_and(|c| c.is_alphanumeric() || c == '_') {
                length += 1;
            }
        }
        self.push(Kind::Other, length);
    }

    fn number(&mut self) {
        let mut length = 1;
        while let Some(c) = self.peek(length) {
            let decimal = c == '.' && self.peek(length + 1).is_some_and(|next| next.is_ascii_digit());
            if !(c.is_alphanumeric() || c == '_' || decimal) {
                break;
            }
            length += 1;
        }
        self.push(Kind::Other, length);
    }

    fn word(&mut self) {
        let mut length = 1;
        while self.peek(length).is_some_and(|c| c.is_alphanumeric() || c == '_') {
            length += 1;
        }
        let word: String = self.chars[self.at..self.at + length].iter().collect();
        let prefix = matches!(word.as_str(), "r" | "b" | "c" | "br" | "cr");
        let hashes = (0..).take_while(|n| self.peek(length + n) == Some('#')).count();
        if prefix && word.ends_with('r') && self.peek(length + hashes) == Some('"') {
            self.raw_string(length, hashes);
        } else if prefix && self.peek(length) == Some('"') {
            self.string(length);
        } else if word == "r" && hashes == 1 {
            // A raw identifier is the word without its mark.
            self.advance(2);
            self.word();
        } else if word == "b" && self.peek(length) == Some('\'') {
            self.advance(1);
            self.quote();
        } else {
            self.push(Kind::Word, length);
        }
    }
}

#[test]
fn strings_and_comments_are_no_code() {
    let text = r####"
        // unsafe { one }
        /* unsafe /* { */ two */
        let a = "unsafe \" {"; let b = r#"unsafe "{" "#; let c = b"unsafe"; let d = '{'; let e = '\''; let f: &'a str;
    "####;
    let source = Source::parse("host/src/x.rs", text);

    assert_eq!(source.comments.len(), 2);
    assert!(source.tokens.iter().all(|token| token.kind != Kind::Word || token.text != "unsafe"));
    assert!(source.tokens.iter().all(|token| token.kind != Kind::Sign || token.text != "{"));
    assert_eq!(source.tokens.last().unwrap().text, ";");
}

#[test]
fn tests_inside_a_file_are_told_apart() {
    let text = "fn a() {}\n#[cfg(test)]\nmod tests { fn b() {} }\n#[cfg(not(test))]\nfn c() {}\n#[tokio::test]\nasync fn d() {}";
    let source = Source::parse("host/src/x.rs", text);

    let marked: Vec<_> = source.functions().into_iter().map(|f| (f.name, f.in_test)).collect();
    let expected = [("a", false), ("b", true), ("c", false), ("d", true)];
    assert_eq!(marked, expected.map(|(name, in_test)| (name.to_owned(), in_test)));
}
