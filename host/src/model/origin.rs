//! Origins and paths: what is declared and granted, and whether a request falls under it.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use url::Url;

/// Scheme, host and port of one request.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Origin {
    /// Whether the connection is encrypted.
    pub tls: bool,
    /// A name in lower case, or an address; IPv6 without brackets.
    pub host: String,
    /// The port, spelled out.
    pub port: u16,
}

impl Origin {
    /// The origin of a URL; none where it is not HTTP or names no host.
    pub fn of(url: &Url) -> Option<Self> {
        let tls = match url.scheme() {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        let host = url.host_str()?.trim_start_matches('[').trim_end_matches(']').to_owned();
        Some(Self { tls, host, port: url.port_or_known_default()? })
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, usual) = if self.tls { ("https", 443) } else { ("http", 80) };
        let (open, close) = if self.host.contains(':') { ("[", "]") } else { ("", "") };
        write!(f, "{scheme}://{open}{}{close}", self.host)?;
        if self.port == usual { Ok(()) } else { write!(f, ":{}", self.port) }
    }
}

/// One origin, or all whose host has one more label in front: `https://*.example.com`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OriginPattern {
    any_label: bool,
    origin: Origin,
}

impl OriginPattern {
    /// Whether the request's origin is meant; `*.` stands for exactly one label.
    pub fn matches(&self, origin: &Origin) -> bool {
        if !self.any_label {
            return self.origin == *origin;
        }
        let label = origin.host.strip_suffix(&self.origin.host).and_then(|front| front.strip_suffix('.'));
        origin.tls == self.origin.tls
            && origin.port == self.origin.port
            && label.is_some_and(|label| !label.is_empty() && !label.contains('.'))
    }

    /// The one origin that is meant; none where there are several.
    pub fn one(&self) -> Option<&Origin> {
        (!self.any_label).then_some(&self.origin)
    }

    /// Whether some origin is meant by both.
    pub fn overlaps(&self, other: &Self) -> bool {
        match (self.any_label, other.any_label) {
            (true, true) => self.origin == other.origin,
            (true, false) => self.matches(&other.origin),
            (false, true | false) => other.matches(&self.origin),
        }
    }
}

impl FromStr for OriginPattern {
    type Err = NotAnOrigin;

    fn from_str(text: &str) -> Result<Self, NotAnOrigin> {
        let (any_label, plain) = match text.split_once("://*.") {
            Some((scheme, rest)) => (true, format!("{scheme}://{rest}")),
            None => (false, text.to_owned()),
        };
        let url = Url::parse(&plain).map_err(|_| NotAnOrigin)?;
        let bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
        if plain.contains('*') || !bare || !url.username().is_empty() || url.password().is_some() {
            return Err(NotAnOrigin);
        }
        let origin = Origin::of(&url).ok_or(NotAnOrigin)?;
        Ok(Self { any_label, origin })
    }
}

impl fmt::Display for OriginPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.origin.to_string();
        match (self.any_label, text.split_once("://")) {
            (true, Some((scheme, rest))) => write!(f, "{scheme}://*.{rest}"),
            (true | false, _) => f.write_str(&text),
        }
    }
}

impl Serialize for OriginPattern {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The text is no origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAnOrigin;

impl fmt::Display for NotAnOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an origin is scheme, host and port, such as https://api.example.com or https://*.example.com:8443")
    }
}

/// Paths: `*` stands for one segment, a final `/**` for the rest.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PathPattern(String);

impl PathPattern {
    /// Whether a request's path, without its query, is meant.
    pub fn matches(&self, path: &str) -> bool {
        let (fixed, rest) = match self.0.strip_suffix("/**") {
            Some(fixed) => (fixed, true),
            None => (self.0.as_str(), false),
        };
        let mut wanted = fixed.split('/');
        let mut given = path.split('/');
        loop {
            match (wanted.next(), given.next()) {
                (None, None) => return true,
                (None, Some(_)) => return rest,
                (Some(_), None) => return false,
                (Some("*"), Some(segment)) if !segment.is_empty() => {}
                (Some(wanted), Some(given)) if wanted == given => {}
                (Some(_), Some(_)) => return false,
            }
        }
    }

    /// Whether some path is meant by both.
    pub fn overlaps(&self, other: &Self) -> bool {
        let split = |text: &'_ str| match text.strip_suffix("/**") {
            Some(fixed) => (fixed.to_owned(), true),
            None => (text.to_owned(), false),
        };
        let ((mine, on), (theirs, they_on)) = (split(&self.0), split(&other.0));
        let (mut mine, mut theirs) = (mine.split('/'), theirs.split('/'));
        loop {
            match (mine.next(), theirs.next()) {
                (None, None) => return true,
                (None, Some(_)) => return on,
                (Some(_), None) => return they_on,
                (Some("*"), Some(segment)) | (Some(segment), Some("*")) if !segment.is_empty() => {}
                (Some(one), Some(other)) if one == other => {}
                (Some(_), Some(_)) => return false,
            }
        }
    }
}

impl FromStr for PathPattern {
    type Err = NotAPath;

    fn from_str(text: &str) -> Result<Self, NotAPath> {
        let body = text.strip_suffix("/**").unwrap_or(text);
        let stars_stand_alone = body.split('/').all(|segment| segment == "*" || !segment.contains('*'));
        let plain =
            (text == "/**" || body.starts_with('/')) && !body.contains(['?', '#']) && stars_stand_alone;
        if plain && clean_path(body) { Ok(Self(text.to_owned())) } else { Err(NotAPath) }
    }
}

impl fmt::Display for PathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for PathPattern {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The text is no pattern of paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAPath;

impl fmt::Display for NotAPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a path begins with / ; * stands for one segment and a final /** for the rest, such as /orders/*",
        )
    }
}

/// Whether a path means to everybody what it says: no dot segments, no encoded slash, backslash or dot segment.
pub fn clean_path(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    // Some servers decode twice, take control characters or overlong forms for others, or cut a segment at `;`.
    let twofold = ["%2f", "%5c", "\\", "%252e", "%252f", "%255c", "%0", "%1", "%c0", "%c1"];
    let segment = |segment: &str| segment.split(';').next().unwrap_or_default().replace("%2e", ".");
    !twofold.iter().any(|part| lower.contains(part))
        && lower.split('/').all(|part| !matches!(segment(part).as_str(), "." | ".."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_paths_overlap_where_some_path_is_meant_by_both() {
        let table = [
            ("/orders/*", "/orders/1", true),
            ("/orders/*", "/tickets/*", false),
            ("/*/1", "/orders/*", true),
            ("/orders", "/orders/*", false),
            ("/orders/**", "/orders", true),
            ("/orders/**", "/orders/*/lines", true),
            ("/orders/*", "/orders/", false),
            ("/**", "/orders", true),
        ];
        for (one, other, both) in table {
            let (a, b): (PathPattern, PathPattern) = (one.parse().unwrap(), other.parse().unwrap());
            assert_eq!((a.overlaps(&b), b.overlaps(&a)), (both, both), "{one} and {other}");
        }
    }

    fn origin(text: &str) -> Origin {
        Origin::of(&Url::parse(text).unwrap()).unwrap()
    }

    #[test]
    fn an_origin_matches_itself_and_nothing_near_it() {
        let pattern: OriginPattern = "https://api.example.com".parse().unwrap();
        assert!(pattern.matches(&origin("https://API.example.com:443/x")));
        for other in
            ["http://api.example.com", "https://api.example.com:444", "https://api.example.com.evil.test"]
        {
            assert!(!pattern.matches(&origin(other)), "{other}");
        }
    }

    #[test]
    fn a_star_is_exactly_one_label() {
        let pattern: OriginPattern = "https://*.example.com:8443".parse().unwrap();
        assert!(pattern.matches(&origin("https://a.example.com:8443")));
        for other in ["https://example.com:8443", "https://a.b.example.com:8443", "https://aexample.com:8443"]
        {
            assert!(!pattern.matches(&origin(other)), "{other}");
        }
        assert_eq!(pattern.to_string(), "https://*.example.com:8443");
    }

    #[test]
    fn patterns_overlap_where_some_origin_is_meant_by_both() {
        let pattern = |text: &str| text.parse::<OriginPattern>().unwrap();
        for (one, other, both) in [
            ("https://a.example.com", "https://a.example.com", true),
            ("https://a.example.com", "https://b.example.com", false),
            ("https://*.example.com", "https://a.example.com", true),
            ("https://*.example.com", "https://*.example.com", true),
            ("https://*.example.com", "https://*.a.example.com", false),
            ("https://*.example.com", "https://a.b.example.com", false),
            ("https://*.example.com", "http://a.example.com", false),
        ] {
            assert_eq!(pattern(one).overlaps(&pattern(other)), both, "{one} {other}");
            assert_eq!(pattern(other).overlaps(&pattern(one)), both, "{other} {one}");
        }
    }

    #[test]
    fn what_is_more_than_an_origin_is_refused() {
        for bad in
            ["api.example.com", "ftp://x", "https://x/path", "https://u@x", "https://x?y", "https://a*.x", ""]
        {
            assert!(bad.parse::<OriginPattern>().is_err(), "{bad}");
        }
    }

    #[test]
    fn paths_match_segment_by_segment() {
        let one: PathPattern = "/orders/*".parse().unwrap();
        assert!(one.matches("/orders/7"));
        for other in ["/orders", "/orders/", "/orders/7/lines", "/ordersx/7"] {
            assert!(!one.matches(other), "{other}");
        }
        let rest: PathPattern = "/a/**".parse().unwrap();
        assert!(rest.matches("/a/b/c") && rest.matches("/a/") && rest.matches("/a") && !rest.matches("/ab"));
        let all: PathPattern = "/**".parse().unwrap();
        assert!(all.matches("/") && all.matches("/x/y"));
        for bad in ["orders", "/a*", "/a/../b", "/a?x", "/%2e%2e/x", "/**/x"] {
            assert!(bad.parse::<PathPattern>().is_err(), "{bad}");
        }
    }

    #[test]
    fn paths_that_servers_read_in_two_ways_are_not_clean() {
        for bad in [
            "/a/../b",
            "/a/./b",
            "/a%2Fb",
            "/a%5cb",
            "/a\\b",
            "/%2E%2e/b",
            "/a/.%2e",
            "/a/..;/b",
            "/a/%252e%252e/b",
            "/a%00",
            "/a/%c0%ae/b",
        ] {
            assert!(!clean_path(bad), "{bad}");
        }
        assert!(clean_path("/a/b.c/...d"));
    }
}
