//! Which requests may leave: declared by the tool and granted by the operator, and saying one thing only.

use std::time::Duration;

use http::{HeaderName, HeaderValue};
use url::Url;

use crate::config::AddressRange;
use crate::model::manifest::Repeat;
use crate::model::method;
use crate::model::origin::{Origin, clean_path};
use crate::sandbox::capability::secrets::Placeholders;
use crate::sandbox::grants::{Grants, HttpRule, Places, READS_ONLY, grants as granted};
use crate::sandbox::wit::http::{HttpError, Request};

/// The most header fields of a request, and the most bytes that they may have.
const HEADERS: usize = 100;
const HEADER_BYTES: usize = 32 << 10;

/// The longest URL.
const URL_BYTES: usize = 8 << 10;

/// What is told of a URL: the log has room for many refusals.
const TOLD: usize = 256;

/// Headers that are the host's to write: where the request goes, how long it is, and how the connection is used.
pub(crate) const OWN: &[&str] = &[
    "host",
    "connection",
    "keep-alive",
    "proxy-connection",
    "proxy-authorization",
    "transfer-encoding",
    "te",
    "trailer",
    "upgrade",
    "expect",
    "http2-settings",
    // Backends and proxies take these for another method, another path or another sender than was checked.
    "x-http-method-override",
    "x-http-method",
    "x-method-override",
    "x-original-url",
    "x-rewrite-url",
    "forwarded",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
];

/// A request that may leave.
#[derive(Debug)]
pub(super) struct Allowed {
    pub(super) method: String,
    pub(super) url: Url,
    pub(super) origin: Origin,
    /// The pattern under which the origin is granted, where that stands for others too.
    pub(super) pattern: Option<String>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) repeat: Repeat,
    pub(super) idempotency_header: Option<String>,
    pub(super) clean_statuses: Vec<u16>,
    pub(super) granted_addresses: Vec<AddressRange>,
    pub(super) connect: Option<Duration>,
    pub(super) read: Option<Duration>,
}

/// A request that may not, in words for the guest and in a line for the record.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) error: HttpError,
    pub(super) line: String,
}

impl Refusal {
    fn invalid(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { line: format!("refused a request: {text}"), error: HttpError::Invalid(text) }
    }

    pub(super) fn forbidden(method: &str, url: &Url, rule: &str, remedy: Option<&str>) -> Self {
        let target: String = url[..url::Position::AfterPath].chars().take(TOLD).collect();
        let rule: String = rule.chars().take(2 * TOLD).collect();
        let rule = rule.as_str();
        let remedy = remedy.map(|line| format!("; {line} would allow it")).unwrap_or_default();
        Self {
            line: format!("refused {method} {target}: {rule}{remedy}"),
            error: HttpError::Forbidden(rule.to_owned()),
        }
    }
}

/// Checks a request against what the tool declares and the operator grants.
pub(super) fn check(
    request: &Request,
    grants: &Grants,
    texts: &Placeholders,
    body: u64,
) -> Result<Allowed, Refusal> {
    let url = parse(&request.url, texts)?;
    let origin =
        Origin::of(&url).ok_or_else(|| Refusal::invalid("the URL must begin with http:// or https://"))?;
    let method = method::read(&request.method).map_err(|why| Refusal::invalid(why.to_string()))?.to_owned();
    if u64::try_from(request.body.len()).unwrap_or(u64::MAX) > body {
        return Err(Refusal::invalid(format!("the body may have {body} bytes")));
    }
    let headers = headers(&request.headers, request.body.len())?;
    let declared = grants.declared.iter().find(|rule| rule.covers(&origin, &method, url.path()));
    let Some(rule) = declared else { return Err(undeclared(grants, &method, &url, &origin)) };
    let grant = grants.granted.iter().find(|grant| granted(grant, &origin, &method, url.path()));
    let Some(grant) = grant else { return Err(ungranted(grants, &method, &url, &origin)) };
    let repeat = repeat(&method, rule);
    if grants.reads_only && repeat != Repeat::Reads {
        return Err(Refusal::forbidden(&method, &url, READS_ONLY, None));
    }
    let pattern = rule.one(grant).is_none().then(|| grant.origin.to_string());
    Ok(Allowed {
        pattern,
        repeat,
        idempotency_header: rule.idempotency_header.clone(),
        clean_statuses: rule.clean_statuses.clone(),
        granted_addresses: grant.addresses.clone(),
        connect: grant.connect,
        read: grant.read,
        method,
        url,
        origin,
        headers,
    })
}

fn undeclared(grants: &Grants, method: &str, url: &Url, origin: &Origin) -> Refusal {
    let here = grants.declared.iter().filter(|rule| rule.origin.hold(origin));
    let lacking = lacking(method, here.map(|rule| rule.methods.iter().any(|one| one == method)));
    let unset = grants.declared.iter().find_map(|rule| match &rule.origin {
        Places::Unset(key) => Some(key),
        Places::These(_) | Places::Granted => None,
    });
    let remedy = unset.map(|key| format!("[plugin.{}] config = {{ {key} = \"{origin}\" }}", grants.plugin));
    Refusal::forbidden(method, url, &format!("the tool does not declare {lacking}"), remedy.as_deref())
}

fn ungranted(grants: &Grants, method: &str, url: &Url, origin: &Origin) -> Refusal {
    let here = grants.granted.iter().filter(|grant| grant.origin.matches(origin));
    let lacking = lacking(method, here.map(|grant| grant.methods.contains(method)));
    let remedy = format!(
        "[[plugin.{}.http]] origin = \"{origin}\", methods = [\"{method}\"], paths = [\"{}\"]",
        grants.plugin,
        url.path()
    );
    Refusal::forbidden(method, url, &format!("the operator has not granted {lacking}"), Some(&remedy))
}

/// What of a request is missing, for the guest and so for the model: never where the request was to go. `methods` says
/// of each entry with its origin whether it holds the method.
fn lacking(method: &str, methods: impl Iterator<Item = bool>) -> String {
    match methods.reduce(|one, other| one || other) {
        None => "this origin".to_owned(),
        Some(false) => format!("the method {method} at this origin"),
        Some(true) => format!("this path for {method} at this origin"),
    }
}

/// GET and HEAD read; anything else repeats as its need says.
fn repeat(method: &str, rule: &HttpRule) -> Repeat {
    if method::reads(method) { Repeat::Reads } else { rule.repeat }
}

fn parse(text: &str, texts: &Placeholders) -> Result<Url, Refusal> {
    if text.len() > URL_BYTES {
        return Err(Refusal::invalid(format!("the URL may have {URL_BYTES} bytes")));
    }
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) || text.contains('\\') {
        return Err(Refusal::invalid("the URL may hold visible ASCII without backslashes; encode the rest"));
    }
    if texts.stand_in(text.as_bytes()) {
        return Err(Refusal::invalid("a secret may stand in headers, not in the URL"));
    }
    let lower = text.get(..8).unwrap_or(text).to_ascii_lowercase();
    if !lower.starts_with("http://") && lower != "https://" {
        return Err(Refusal::invalid("the URL must begin with http:// or https://"));
    }
    let url =
        Url::parse(text).map_err(|error| Refusal::invalid(format!("the URL cannot be read: {error}")))?;
    let after_scheme = text.split_once("://").map_or("", |(_, rest)| rest);
    let (authority, rest) =
        after_scheme.split_at(after_scheme.find(['/', '?', '#']).unwrap_or(after_scheme.len()));
    // Empty ones are skipped over by some who read URLs, and not by others.
    if authority.is_empty() || authority.contains('@') {
        return Err(Refusal::invalid("the URL must name its host after //, and may not hold credentials"));
    }
    if !clean_path(rest.split(['?', '#']).next().unwrap_or_default()) {
        return Err(Refusal::invalid("the path may not hold `.` or `..` segments, %2F or %5C"));
    }
    Ok(url)
}

fn headers(given: &[(String, String)], body: usize) -> Result<Vec<(String, String)>, Refusal> {
    let bytes: usize = given.iter().map(|(name, value)| name.len() + value.len()).sum();
    if given.len() > HEADERS || bytes > HEADER_BYTES {
        return Err(Refusal::invalid(format!(
            "a request may have {HEADERS} headers of {HEADER_BYTES} bytes in all"
        )));
    }
    let mut kept = Vec::new();
    for (name, value) in given {
        let lower = name.to_ascii_lowercase();
        if HeaderName::from_bytes(lower.as_bytes()).is_err() || HeaderValue::from_str(value).is_err() {
            return Err(Refusal::invalid(format!(
                "the header {} holds what no header may",
                name.escape_default()
            )));
        }
        if OWN.contains(&lower.as_str()) {
            let text = format!("the header {lower} is the host's to write");
            return Err(Refusal {
                line: format!("refused a request: {text}"),
                error: HttpError::Forbidden(text),
            });
        }
        if lower == "content-length" {
            if value.trim() != body.to_string() {
                return Err(Refusal::invalid(format!(
                    "content-length says {value} and the body has {body} bytes"
                )));
            }
            continue;
        }
        kept.push((lower, value.clone()));
    }
    Ok(kept)
}

/// Fills secrets in; the error is the rule for the guest.
pub(super) fn fill_headers(
    headers: Vec<(String, String)>,
    grants: &Grants,
    origin: &Origin,
    texts: &Placeholders,
) -> Result<Vec<(String, String)>, String> {
    let fill = |(name, value): (String, String)| {
        let filled = texts.fill_header(grants, origin, &value).map_err(|not_here| not_here.rule)?;
        if filled.len() > HEADER_BYTES {
            return Err(format!("the header {name} with its secrets may have {HEADER_BYTES} bytes"));
        }
        if HeaderValue::from_str(&filled).is_err() {
            return Err(format!("a secret in the header {name} holds what no header may"));
        }
        Ok((name, filled))
    };
    headers.into_iter().map(fill).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::HttpGrant;

    fn grants() -> Grants {
        let rule = HttpRule {
            origin: Places::These("https://api.test".parse().unwrap()),
            methods: vec!["GET".into(), "POST".into()],
            paths: vec!["/orders/*".parse().unwrap(), "/search".parse().unwrap()],
            repeat: Repeat::Once,
            idempotency_header: None,
            clean_statuses: vec![],
        };
        let grant = HttpGrant {
            origin: "https://api.test".parse().unwrap(),
            methods: ["GET".to_owned()].into(),
            paths: vec![],
            addresses: vec![],
            connect: None,
            read: None,
        };
        Grants { plugin: "p".into(), declared: vec![rule], granted: vec![grant], ..Grants::default() }
    }

    fn asked(method: &str, url: &str, headers: &[(&str, &str)]) -> Result<Allowed, Refusal> {
        let request = Request {
            method: method.into(),
            url: url.into(),
            headers: headers.iter().map(|(a, b)| ((*a).into(), (*b).into())).collect(),
            body: b"abc".to_vec(),
            timeout_ms: None,
        };
        check(&request, &grants(), &Placeholders::default(), 100)
    }

    #[test]
    fn what_is_declared_and_granted_leaves() {
        assert_eq!(asked("GET", "https://api.test/orders/7?x=/../y", &[]).unwrap().repeat, Repeat::Reads);
    }

    #[test]
    fn what_is_declared_and_not_granted_is_refused_with_the_line_that_would_allow_it() {
        let refusal = asked("POST", "https://api.test/search?q=1", &[]).unwrap_err();
        assert!(
            matches!(&refusal.error, HttpError::Forbidden(rule) if rule == "the operator has not granted the method POST at this origin")
        );
        assert_eq!(
            refusal.line,
            "refused POST https://api.test/search: the operator has not granted the method POST at this origin; \
             [[plugin.p.http]] origin = \"https://api.test\", methods = [\"POST\"], paths = [\"/search\"] would allow it"
        );
    }

    #[test]
    fn what_is_not_declared_is_refused() {
        for url in [
            "https://api.test/orders",
            "https://api.test/orders/7/x",
            "http://api.test/orders/7",
            "https://api.test:444/orders/7",
            "https://api.test.evil.test/orders/7",
            "https://evil.test/https://api.test/orders/7",
        ] {
            let HttpError::Forbidden(rule) = asked("GET", url, &[]).unwrap_err().error else {
                panic!("{url} is forbidden");
            };
            assert!(!rule.contains("://") && !rule.contains(".test") && !rule.contains('/'), "{url}: {rule}");
        }
    }

    #[test]
    fn urls_that_could_be_read_in_two_ways_are_invalid() {
        for url in [
            "https://api.test/orders/../admin",
            "https://api.test/orders/%2e%2e/admin",
            "https://api.test/orders/a%2Fb",
            "https://api.test\\@evil.test/orders/7",
            "https://user@api.test/orders/7",
            "https://@api.test/orders/7",
            "https:///api.test/orders/7",
            "https://api.test/orders/7\r\nhost: evil",
            "//api.test/orders/7",
            "ftp://api.test/orders/7",
            "https:api.test/orders/../x",
        ] {
            assert!(asked("GET", url, &[]).is_err(), "{url}");
        }
    }

    #[test]
    fn headers_of_the_connection_are_not_the_guests() {
        for name in ["Host", "Connection", "Transfer-Encoding", "TE", "Upgrade", "Proxy-Authorization"] {
            assert!(asked("GET", "https://api.test/orders/7", &[(name, "x")]).is_err(), "{name}");
        }
        for (name, value) in
            [("a b", "x"), ("x", "a\r\nb: c"), ("content-length", "4"), ("", "x"), (":path", "x")]
        {
            assert!(asked("GET", "https://api.test/orders/7", &[(name, value)]).is_err(), "{name}");
        }
        let kept =
            asked("GET", "https://api.test/orders/7", &[("Content-Length", "3"), ("X-A", "b")]).unwrap();
        assert_eq!(kept.headers, [("x-a".to_owned(), "b".to_owned())]);
    }

    #[test]
    fn what_is_missing_of_a_request_is_told_and_not_where_it_was_to_go() {
        let rule = |method, url| {
            let refused = asked(method, url, &[]).unwrap_err().error;
            let HttpError::Forbidden(rule) = refused else { panic!("{refused:?}") };
            rule
        };
        for (method, url, told) in [
            ("GET", "https://10.0.0.7/orders/7", "the tool does not declare this origin"),
            ("PUT", "https://api.test/orders/7", "the tool does not declare the method PUT at this origin"),
            ("GET", "https://api.test/admin", "the tool does not declare this path for GET at this origin"),
        ] {
            assert_eq!(rule(method, url), told);
        }
    }

    #[test]
    fn methods_are_words_in_capitals() {
        for bad in ["get", "", "GET ", "G\nET", "CONNECT", "TRACE"] {
            assert!(asked(bad, "https://api.test/orders/7", &[]).is_err(), "{bad}");
        }
    }
}
