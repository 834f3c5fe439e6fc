//! What is kept of an element: its name, and the few attributes that say how it is read.

use html5ever::{Attribute, LocalName, QualName, ns};

use crate::text::on_one_line;

/// Characters of a picture's description, of a programming language's name.
const DESCRIPTION: usize = 300;

/// The longest attribute that is kept, in bytes: longer ones are pictures written into the page.
const VALUE: usize = 2048;

/// Elements whose text is not for reading.
const TEXTLESS: &[&str] =
    &["script", "style", "template", "iframe", "noembed", "noframes", "textarea", "title"];

/// Elements that nobody reads: programs, controls, pictures without words, and ways around the site.
const SKIPPED: &[&str] = &[
    "head",
    "script",
    "style",
    "template",
    "noembed",
    "noframes",
    "iframe",
    "object",
    "embed",
    "applet",
    "canvas",
    "audio",
    "video",
    "map",
    "nav",
    "button",
    "input",
    "select",
    "datalist",
    "textarea",
    "progress",
    "meter",
    "rp",
    "rt",
    "title",
    "annotation",
    "annotation-xml",
    "svg",
    "menuitem",
];

/// Roles that say the same of an element with any name.
const SKIPPED_ROLES: &[&str] = &[
    "navigation",
    "search",
    "contentinfo",
    "dialog",
    "alertdialog",
    "menu",
    "menubar",
    "toolbar",
    "tablist",
    "tooltip",
    "progressbar",
];

/// An element.
#[derive(Debug)]
pub(super) struct Element {
    name: LocalName,
    html: bool,
    hidden: bool,
    /// Whether a link says which language it leads to.
    names_a_language: bool,
    /// What the name or the role says, where the attribute of that name is kept.
    role: Option<Role>,
    /// `href` of a link, `src` of a picture, `start` of a list, `colspan` of a cell, `class` of code: each element
    /// has at most one that matters.
    value: Option<Box<str>>,
    /// A picture's or formula's own words.
    words: Option<Box<str>>,
}

/// What a page says that an element is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// The content of the page.
    Main,
    /// Beside the content.
    Beside,
    /// A table that only lays out.
    Layout,
    /// For finding one's way, or for doing something.
    Skipped,
}

impl Element {
    pub(super) fn new(name: &QualName, attributes: &[Attribute]) -> Self {
        let html = name.ns == ns!(html);
        let of = |wanted: &str| {
            let found = attributes.iter().find(|attribute| &*attribute.name.local == wanted);
            found.map(|attribute| &*attribute.value)
        };
        let local = &*name.local;
        let kept = match local {
            "a" | "base" => of("href"),
            "img" => of("src"),
            "ol" => of("start"),
            "td" | "th" => of("colspan"),
            "pre" | "code" => of("class"),
            _ => None,
        };
        let words = match local {
            "img" => of("alt"),
            "math" => of("alttext"),
            _ => None,
        };
        let words = words.map(|words| on_one_line(words, DESCRIPTION)).filter(|words| !words.is_empty());
        Self {
            html,
            hidden: is_hidden(local, of),
            names_a_language: local == "a" && of("hreflang").is_some(),
            role: of("role").and_then(role),
            value: kept.filter(|value| value.len() <= VALUE).map(Into::into),
            words: words.map(Into::into),
            name: name.local.clone(),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is of HTML, and not of a picture or a formula.
    pub(super) fn is_html(&self) -> bool {
        self.html
    }

    pub(super) fn names_a_language(&self) -> bool {
        self.names_a_language
    }

    pub(super) fn role(&self) -> Option<Role> {
        self.role
    }

    pub(super) fn value(&self) -> Option<&str> {
        self.value.as_deref()
    }

    pub(super) fn words(&self) -> Option<&str> {
        self.words.as_deref()
    }

    /// Whether its text, which may be long, need not be kept.
    pub(super) fn holds_no_text(&self) -> bool {
        TEXTLESS.contains(&self.name()) && !(self.html && self.name() == "title")
    }

    /// Whether it and what it holds is not read. Outside of an article, a section or the main part, that is also
    /// what stands below and beside the content.
    pub(super) fn is_skipped(&self, in_section: bool) -> bool {
        let beside =
            !in_section && (matches!(self.name(), "footer" | "aside") || self.role == Some(Role::Beside));
        self.hidden || SKIPPED.contains(&self.name()) || self.role == Some(Role::Skipped) || beside
    }
}

fn is_hidden<'a>(name: &str, of: impl Fn(&str) -> Option<&'a str>) -> bool {
    let style: String =
        of("style").unwrap_or_default().split_ascii_whitespace().collect::<String>().to_ascii_lowercase();
    of("hidden").is_some()
        || of("aria-hidden").is_some_and(|value| value.trim() == "true")
        || style.contains("display:none")
        || style.contains("visibility:hidden")
        || (name == "dialog" && of("open").is_none())
}

fn role(text: &str) -> Option<Role> {
    let role = text.split_ascii_whitespace().next()?.to_ascii_lowercase();
    match role.as_str() {
        "main" => Some(Role::Main),
        "complementary" => Some(Role::Beside),
        "presentation" | "none" => Some(Role::Layout),
        other => SKIPPED_ROLES.contains(&other).then_some(Role::Skipped),
    }
}
