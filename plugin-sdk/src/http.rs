//! HTTP requests with whole bodies.
//!
//! The host carries them out: it checks where they go and what they may carry, and remembers what
//! happened.
//!
//! ```no_run
//! # use airlock_sdk::{ToolError, http, secrets};
//! # fn search(base: String) -> Result<Vec<String>, ToolError> {
//! let orders: Vec<String> = http::get(base + "/orders")
//!     .query("name", "Li")
//!     .header("authorization", secrets::bearer("desk_token")?)
//!     .send()?
//!     .ok()?
//!     .json()?;
//! # Ok(orders)
//! # }
//! ```

use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::ToolError;
use crate::offered::http as host;

/// A `GET` request.
pub fn get(url: impl Into<String>) -> Request {
    Request::new("GET", url)
}

/// A `POST` request.
pub fn post(url: impl Into<String>) -> Request {
    Request::new("POST", url)
}

/// A `PUT` request.
pub fn put(url: impl Into<String>) -> Request {
    Request::new("PUT", url)
}

/// A `PATCH` request.
pub fn patch(url: impl Into<String>) -> Request {
    Request::new("PATCH", url)
}

/// A `DELETE` request.
pub fn delete(url: impl Into<String>) -> Request {
    Request::new("DELETE", url)
}

/// Percent-encodes a text for one segment of a path, or for a value in a query (RFC 3986, 2.3).
#[must_use]
pub fn encode(text: &str) -> String {
    const HEX: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F'];
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let (high, low) = (usize::from(byte >> 4), usize::from(byte & 15));
            encoded.extend(['%', HEX[high], HEX[low]]);
        }
    }
    encoded
}

/// One request.
#[derive(Debug, Clone)]
#[must_use = "a request does nothing until it is sent"]
pub struct Request {
    method: String,
    url: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    timeout: Option<Duration>,
    meaning: Meaning,
}

/// What a tool knows of its own request, to judge the answer by.
#[derive(Debug, Clone)]
struct Meaning {
    reads: bool,
    clean_statuses: Vec<u16>,
}

impl Request {
    /// A request of any method, in capitals, to a whole URL.
    pub fn new(method: impl Into<String>, url: impl Into<String>) -> Self {
        let method = method.into();
        Self {
            meaning: Meaning { reads: matches!(method.as_str(), "GET" | "HEAD"), clean_statuses: Vec::new() },
            method,
            url: url.into(),
            headers: Vec::new(),
            body: Vec::new(),
            timeout: None,
        }
    }

    /// Adds a parameter to the query.
    pub fn query(mut self, name: &str, value: &str) -> Self {
        self.url.push(if self.url.contains('?') { '&' } else { '?' });
        self.url.push_str(&format!("{}={}", encode(name), encode(value)));
        self
    }

    /// Adds a header.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sets the body.
    pub fn body(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.body = bytes.into();
        self
    }

    /// Sets the body to JSON, with its content type.
    ///
    /// # Errors
    /// Where the value has no form in JSON.
    pub fn json(self, body: &impl Serialize) -> Result<Self, serde_json::Error> {
        let body = serde_json::to_vec(body)?;
        Ok(self.header("content-type", "application/json").body(body))
    }

    /// How long the request may take; never above the host's limit.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Says that it only reads, as its need declares: a `POST` that searches.
    pub fn reads(mut self) -> Self {
        self.meaning.reads = true;
        self
    }

    /// The statuses of 500 and above by which this backend says that nothing was done, as its need
    /// declares them.
    pub fn clean_statuses(mut self, statuses: impl IntoIterator<Item = u16>) -> Self {
        self.meaning.clean_statuses.extend(statuses);
        self
    }

    /// Sends it and waits for the whole answer. Redirects are not followed.
    ///
    /// # Errors
    /// Where there is no answer, or none that may be seen.
    pub fn send(self) -> Result<Response, Error> {
        let sent = host::send(&host::Request {
            method: self.method,
            url: self.url,
            headers: self.headers,
            body: self.body,
            timeout_ms: self.timeout.map(|timeout| u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX)),
        });
        match sent {
            Ok(host::Response { status, headers, body }) => {
                Ok(Response { status, headers, body, meaning: self.meaning })
            }
            Err(error) => Err(Error::new(error, self.meaning.reads)),
        }
    }
}

/// An answer, whatever its status.
#[derive(Debug, Clone)]
pub struct Response {
    /// `200`, `404`.
    pub status: u16,
    /// As they came. Bytes that are not UTF-8 are read as Latin-1.
    pub headers: Vec<(String, String)>,
    /// As it came; nothing is decoded.
    pub body: Vec<u8>,
    meaning: Meaning,
}

impl Response {
    /// The first header of this name, in whatever case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name));
        values.next().map(|(_, value)| value.as_str())
    }

    /// The body read as JSON.
    ///
    /// # Errors
    /// Where it is none, or another than expected.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(&self.body)
    }

    /// The answer, if it is one of success; a tool that means something by another status looks at
    /// it first.
    ///
    /// # Errors
    /// | status | of a read | of a write |
    /// |---|---|---|
    /// | 401, 403 | `denied` | `denied` |
    /// | 408 | `transient` | `unknown_outcome` |
    /// | 429 | `throttled` | the same |
    /// | other 4xx | `rejected` | `rejected` |
    /// | 5xx | `transient` | `unknown_outcome`; `transient` where it is a clean status |
    /// | 2xx and 303 are success, any other | `fatal` | `fatal` |
    ///
    /// How long the backend asks to be left alone (`Retry-After`), the host reads by itself.
    pub fn ok(self) -> Result<Self, ToolError> {
        let clean = self.meaning.reads || self.meaning.clean_statuses.contains(&self.status);
        let error = match self.status {
            200..=299 | 303 => return Ok(self),
            401 | 403 => ToolError::denied("BACKEND_DENIED", "the backend refuses these credentials"),
            408 if !self.meaning.reads => maybe_done(),
            429 => ToolError::throttled("BACKEND_THROTTLED", "the backend asks to slow down"),
            408 | 500..=599 if clean => {
                ToolError::transient("BACKEND_FAILED", "the backend failed, and nothing was done")
            }
            500..=599 => maybe_done(),
            404 => ToolError::rejected("NOT_FOUND", "the backend does not know it"),
            400..=499 => ToolError::rejected("BACKEND_REJECTED", "the backend refuses the request"),
            _ => ToolError::fatal("UNEXPECTED_ANSWER", "the backend gave an unexpected answer"),
        };
        Err(error.cause(format!("the backend answered with status {}", self.status)))
    }
}

fn maybe_done() -> ToolError {
    ToolError::unknown_outcome("BACKEND_FAILED", "the backend failed, and it may have been done")
}

/// Why there is no answer. It becomes a [`ToolError`] through `?`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// The request is malformed; the text says where. `fatal`.
    Invalid(String),
    /// Not declared or not granted; the text names the rule. `denied`.
    Forbidden(String),
    /// Nothing left the host: no address, no connection, no TLS. `transient`.
    NotSent(String),
    /// A read was cut, or too late. `transient`.
    BrokenRead(String),
    /// A write was cut, or too late, after sending began. `unknown_outcome`.
    BrokenWrite(String),
    /// The answer is larger than the limit. `fatal`.
    TooLarge,
}

impl Error {
    fn new(error: host::HttpError, reads: bool) -> Self {
        match error {
            host::HttpError::Invalid(text) => Self::Invalid(text),
            host::HttpError::Forbidden(rule) => Self::Forbidden(rule),
            host::HttpError::NotSent(text) => Self::NotSent(text),
            host::HttpError::Broken(text) if reads => Self::BrokenRead(text),
            host::HttpError::Broken(text) => Self::BrokenWrite(text),
            host::HttpError::TooLarge => Self::TooLarge,
        }
    }
}

impl From<Error> for ToolError {
    fn from(error: Error) -> Self {
        match error {
            Error::Invalid(text) => Self::internal(text),
            Error::Forbidden(rule) => Self::denied("REQUEST_REFUSED", rule),
            Error::NotSent(text) => {
                Self::transient("BACKEND_UNREACHABLE", "the backend cannot be reached").cause(text)
            }
            Error::BrokenRead(text) => Self::transient("ANSWER_BROKEN", "the answer broke off").cause(text),
            Error::BrokenWrite(text) => {
                let message = "the answer broke off, and it may have been done";
                Self::unknown_outcome("ANSWER_BROKEN", message).cause(text)
            }
            Error::TooLarge => Self::fatal("ANSWER_TOO_LARGE", "the answer is too large"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    fn kind(method: &str, status: u16) -> Option<ErrorKind> {
        let meaning = Request::new(method, "http://desk.test/").clean_statuses([503]).meaning;
        let response = Response { status, headers: Vec::new(), body: Vec::new(), meaning };
        response.ok().err().map(|error| error.kind())
    }

    #[test]
    fn a_status_means_something_else_where_something_may_have_been_done() {
        use ErrorKind::{Denied, Fatal, Rejected, Throttled, Transient, UnknownOutcome};
        let table = [
            (200, None, None),
            (204, None, None),
            (303, None, None),
            (302, Some(Fatal), Some(Fatal)),
            (400, Some(Rejected), Some(Rejected)),
            (401, Some(Denied), Some(Denied)),
            (403, Some(Denied), Some(Denied)),
            (404, Some(Rejected), Some(Rejected)),
            (408, Some(Transient), Some(UnknownOutcome)),
            (422, Some(Rejected), Some(Rejected)),
            (429, Some(Throttled), Some(Throttled)),
            (500, Some(Transient), Some(UnknownOutcome)),
            (503, Some(Transient), Some(Transient)),
            (504, Some(Transient), Some(UnknownOutcome)),
        ];
        for (status, read, write) in table {
            assert_eq!(kind("GET", status), read, "{status} of a read");
            assert_eq!(kind("POST", status), write, "{status} of a write");
        }
    }

    #[test]
    fn a_post_that_searches_is_judged_as_a_read() {
        assert!(post("http://desk.test/search").reads().meaning.reads);
    }

    #[test]
    fn no_answer_means_something_else_where_something_may_have_been_done() {
        use host::HttpError;
        let kind = |error, reads| ToolError::from(Error::new(error, reads)).kind();
        let text = String::new;
        for reads in [true, false] {
            assert_eq!(kind(HttpError::Invalid(text()), reads), ErrorKind::Fatal);
            assert_eq!(kind(HttpError::Forbidden(text()), reads), ErrorKind::Denied);
            assert_eq!(kind(HttpError::NotSent(text()), reads), ErrorKind::Transient);
            assert_eq!(kind(HttpError::TooLarge, reads), ErrorKind::Fatal);
        }
        assert_eq!(kind(HttpError::Broken(text()), true), ErrorKind::Transient);
        assert_eq!(kind(HttpError::Broken(text()), false), ErrorKind::UnknownOutcome);
    }

    #[test]
    fn the_rule_is_told_and_the_wire_is_not() {
        let error = ToolError::from(Error::Forbidden("POST /x is not declared".to_owned()));
        assert_eq!(error.message(), "POST /x is not declared");
        let error = ToolError::from(Error::NotSent("connect 10.0.0.1: refused".to_owned()));
        assert_eq!(error.message(), "the backend cannot be reached");
    }

    #[test]
    fn a_query_is_encoded() {
        let request = get("http://desk.test/orders").query("name", "Li & Söhne/1").query("page", "2");
        assert_eq!(request.url, "http://desk.test/orders?name=Li%20%26%20S%C3%B6hne%2F1&page=2");
    }

    #[test]
    fn every_status_and_every_end_has_its_words() {
        let meaning = || Request::new("POST", "http://desk.test/").clean_statuses([503]).meaning;
        let told = |error: ToolError| format!("{}: {}", error.code(), error.message());
        let statuses = [401, 404, 408, 409, 429, 500, 503, 302].map(|status| {
            let response = Response { status, headers: Vec::new(), body: Vec::new(), meaning: meaning() };
            format!("{status} {}", told(response.ok().unwrap_err()))
        });
        assert_eq!(
            statuses.join("\n"),
            "401 BACKEND_DENIED: the backend refuses these credentials\n\
             404 NOT_FOUND: the backend does not know it\n\
             408 BACKEND_FAILED: the backend failed, and it may have been done\n\
             409 BACKEND_REJECTED: the backend refuses the request\n\
             429 BACKEND_THROTTLED: the backend asks to slow down\n\
             500 BACKEND_FAILED: the backend failed, and it may have been done\n\
             503 BACKEND_FAILED: the backend failed, and nothing was done\n\
             302 UNEXPECTED_ANSWER: the backend gave an unexpected answer"
        );
        let text = || "cut".to_owned();
        let ends = [
            Error::Forbidden("POST is not declared".to_owned()),
            Error::NotSent(text()),
            Error::BrokenRead(text()),
            Error::BrokenWrite(text()),
            Error::TooLarge,
        ];
        assert_eq!(
            ends.map(|error| told(error.into())).join("\n"),
            "REQUEST_REFUSED: POST is not declared\n\
             BACKEND_UNREACHABLE: the backend cannot be reached\n\
             ANSWER_BROKEN: the answer broke off\n\
             ANSWER_BROKEN: the answer broke off, and it may have been done\n\
             ANSWER_TOO_LARGE: the answer is too large"
        );
    }
}
