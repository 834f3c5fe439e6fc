//! Pages and what becomes of them: `cases/NAME.html` beside `cases/NAME.md`.

use std::fs;
use std::path::{Path, PathBuf};

use url::Url;

use super::{Page, TooMuch, read};

fn read_at(html: &str, url: &str) -> Result<Page, TooMuch> {
    read(html.to_owned(), &Url::parse(url).unwrap())
}

fn markdown(html: &str) -> String {
    read_at(html, "https://example.com/docs/page").unwrap().text
}

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut pages: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|kind| kind == "html")).collect();
    pages.sort();
    pages
}

#[test]
fn every_page_becomes_the_text_beside_it() {
    let pages = cases();
    assert!(pages.len() > 10);
    let mut wrong = Vec::new();
    for path in pages {
        let page = read_at(&fs::read_to_string(&path).unwrap(), "https://example.com/docs/page").unwrap();
        let title = page.title.map(|title| format!("title: {title}\n\n")).unwrap_or_default();
        let became = format!("{title}{}\n", page.text);
        let beside = fs::read_to_string(path.with_extension("md")).unwrap_or_default();
        if became != beside {
            wrong.push(format!("{}:\n--- beside\n{beside}\n--- became\n{became}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// What becomes of a page of many like parts.
fn of_many(part: &str, times: usize) -> Result<Page, TooMuch> {
    read_at(&part.repeat(times), "https://example.com/")
}

#[test]
fn depth_takes_no_stack_and_has_its_limit() {
    let nested = |tag: &str, depth: usize| {
        format!("{}deep{}", format!("<{tag}>").repeat(depth), format!("</{tag}>").repeat(depth))
    };
    // The root, `html` and `body` are above it.
    for tag in ["div", "blockquote", "span", "ul><li"] {
        assert!(markdown(&nested(tag, 240)).ends_with("deep"), "{tag}");
        assert_eq!(read_at(&nested(tag, 10_000), "https://example.com/").err(), Some(TooMuch::Deep), "{tag}");
    }
    assert_eq!(of_many("<div>", 1_000_000).err(), Some(TooMuch::Deep));
    assert_eq!(of_many("<table><tr><td>", 100_000).err(), Some(TooMuch::Deep));
}

#[test]
fn a_page_of_too_many_elements_or_too_much_text_is_not_read() {
    assert_eq!(of_many("<p>x", 130_000).err(), Some(TooMuch::Elements));
    assert_eq!(of_many("many words, ", 500_000).err(), Some(TooMuch::Text));
    let base = format!("<base href=https://example.com/{}/>", "x".repeat(1500));
    let links = base + &"<a href=a>b</a>".repeat(100_000);
    assert_eq!(read_at(&links, "https://example.com/").err(), Some(TooMuch::Text));
}

#[test]
fn formatting_that_is_never_closed_does_not_multiply() {
    // Each paragraph opens again every element of formatting that is open before it.
    let opened: String = (0..600).map(|number| format!("<b id={number}>")).collect();
    let page = opened + &"<p>x".repeat(5_000);
    assert_eq!(read_at(&page, "https://example.com/").err(), Some(TooMuch::Deep));
}

#[test]
fn the_marks_of_lists_and_quotes_are_bounded() {
    let page = format!("{}{}", "<blockquote>".repeat(400), "line<br>".repeat(2_000));
    let text = markdown(&page);
    assert!(text.len() < 2_000 * 40, "{}", text.len());
    assert!(text.ends_with("> line"));
}
