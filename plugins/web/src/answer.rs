//! What an answer is: its type, and what its status means to who asked for a page.

use airlock_sdk::ToolError;
use airlock_sdk::http::Response;
use serde_json::{Value, json};

use crate::text::on_one_line;

/// How much is shown of a type that a site names.
const SHOWN: usize = 100;

/// What kind of text an answer holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Html,
    Json,
    Plain,
}

/// The type of an answer, as its header says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) form: Form,
    /// `text/html`.
    pub(crate) media_type: String,
    /// The encoding, where the header names one.
    pub(crate) charset: Option<String>,
}

/// The answer, if it brings a page.
///
/// # Errors
/// What its status means.
pub(crate) fn success(response: Response) -> Result<Response, ToolError> {
    let status = response.status;
    let with_status = |error: ToolError| error.details(json!({ "status": status }));
    match status {
        200..=299 => Ok(response),
        401 | 403 => {
            Err(with_status(ToolError::denied("PAGE_DENIED", "the site does not give this page out")))
        }
        404 | 410 => Err(with_status(ToolError::rejected("NOT_FOUND", "the site has no such page"))),
        // These say whether and when to try again, which the SDK knows how to read.
        408 | 429 | 500..=599 => response.ok(),
        _ => {
            let message = format!("the site gives no page; it answers with status {status}");
            Err(with_status(ToolError::rejected("PAGE_REFUSED", message)))
        }
    }
}

/// The type of an answer that can be shown as text.
///
/// # Errors
/// Where it cannot.
pub(crate) fn kind(response: &Response) -> Result<Kind, ToolError> {
    let header = |name: &str| response.header(name).map(str::trim).filter(|value| !value.is_empty());
    if let Some(coding) = header("content-encoding").filter(|coding| !coding.eq_ignore_ascii_case("identity"))
    {
        let coding = on_one_line(coding, SHOWN);
        return Err(unsupported(&format!("compressed with {coding}"), json!({ "content_encoding": coding })));
    }
    let Some(content_type) = header("content-type") else {
        return sniff(&response.body).ok_or_else(|| unsupported("of no known type", Value::Null));
    };
    read(content_type).ok_or_else(|| {
        let shown = on_one_line(content_type, SHOWN);
        unsupported(&shown, json!({ "content_type": shown }))
    })
}

fn unsupported(what: &str, details: Value) -> ToolError {
    let message = format!("only pages, JSON and plain text can be read, and this is {what}");
    let error = ToolError::rejected("UNSUPPORTED_TYPE", message);
    if details.is_null() { error } else { error.details(details) }
}

/// Reads `text/html; charset=utf-8`.
fn read(header: &str) -> Option<Kind> {
    let mut parts = header.split(';').map(str::trim);
    let media_type = parts.next().unwrap_or_default().to_ascii_lowercase();
    let charset = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches(['"', '\'']).to_owned())
    });
    let form = form(&media_type)?;
    Some(Kind { form, media_type, charset })
}

fn form(media_type: &str) -> Option<Form> {
    match media_type {
        "text/html" | "application/xhtml+xml" => Some(Form::Html),
        "application/json" | "text/json" => Some(Form::Json),
        "application/xml"
        | "application/javascript"
        | "application/ecmascript"
        | "application/yaml"
        | "application/x-yaml"
        | "application/toml"
        | "application/sql"
        | "application/x-ndjson"
        | "application/jsonl"
        | "application/json-seq" => Some(Form::Plain),
        text if text.starts_with("text/") => Some(Form::Plain),
        // A picture, though it is written in XML.
        "image/svg+xml" => None,
        json if json.ends_with("+json") => Some(Form::Json),
        xml if xml.ends_with("+xml") || xml.ends_with("+yaml") => Some(Form::Plain),
        _ => None,
    }
}

/// Tells the type of an answer that does not say it.
fn sniff(body: &[u8]) -> Option<Kind> {
    let text = std::str::from_utf8(body).ok().filter(|text| !text.contains('\0'))?;
    let begins = |mark: &str| {
        let text = text.trim_start();
        text.get(..mark.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(mark))
    };
    let (form, media_type) = if begins("<!doctype html") || begins("<html") {
        (Form::Html, "text/html")
    } else {
        (Form::Plain, "text/plain")
    };
    Some(Kind { form, media_type: media_type.to_owned(), charset: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_read_with_its_encoding() {
        let kind = read(" Text/HTML ; Charset=\"ISO-8859-1\" ").unwrap();
        assert_eq!(kind.form, Form::Html);
        assert_eq!((kind.media_type.as_str(), kind.charset.as_deref()), ("text/html", Some("ISO-8859-1")));
        assert_eq!(read("text/plain").unwrap().charset, None);
    }

    #[test]
    fn what_can_be_read_is_told_from_what_cannot() {
        for (media_type, wanted) in [
            ("application/xhtml+xml", Some(Form::Html)),
            ("application/json", Some(Form::Json)),
            ("application/problem+json", Some(Form::Json)),
            ("text/markdown", Some(Form::Plain)),
            ("application/rss+xml", Some(Form::Plain)),
            ("image/svg+xml", None),
            ("image/png", None),
            ("application/pdf", None),
            ("application/octet-stream", None),
            ("", None),
        ] {
            assert_eq!(form(media_type), wanted, "{media_type}");
        }
    }

    #[test]
    fn an_answer_that_does_not_say_what_it_is_is_looked_at() {
        let form = |body: &[u8]| sniff(body).map(|kind| kind.form);
        assert_eq!(form(b"\n<!DOCTYPE html><p>x"), Some(Form::Html));
        assert_eq!(form(b"<HTML>"), Some(Form::Html));
        assert_eq!(form(b"plain"), Some(Form::Plain));
        assert_eq!(form(b""), Some(Form::Plain));
        assert_eq!(form(b"%PDF-1.7\n\xe2\xe3"), None);
        assert_eq!(form(b"a\0b"), None);
    }
}
