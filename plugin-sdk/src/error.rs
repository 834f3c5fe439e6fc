//! Why a tool did not do its work.

use std::error::Error;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use crate::bindings::reader::airlock::plugin::types;
use crate::{ErrorKind, log};

/// Why a tool did not do its work.
///
/// The constructor says what kind it is, and the kind decides what happens next. The code is
/// `SCREAMING_SNAKE_CASE` and stable; the message is what a model reads to act on it, without stack,
/// address, path or secret.
///
/// Any type that implements [`std::error::Error`] becomes one through `?`: as
/// [`internal`](Self::internal), for such a text was written for somebody else. For that reason this
/// type does not implement that trait itself.
#[derive(Debug, Clone)]
#[must_use]
pub struct ToolError(Box<Parts>);

#[derive(Debug, Clone)]
struct Parts {
    kind: ErrorKind,
    code: String,
    message: String,
    user_message: Option<String>,
    retry_after: Option<Duration>,
    details: Option<Value>,
    cause: Option<String>,
}

impl ToolError {
    /// The input is well formed and wrong; other input could succeed.
    pub fn invalid_input(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidInput, code, message)
    }

    /// The business says no: not found, out of stock, not allowed in this state.
    pub fn rejected(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Rejected, code, message)
    }

    /// Several candidates fit; they go to `details.candidates`.
    pub fn ambiguous(
        code: impl Into<String>,
        message: impl Into<String>,
        candidates: impl IntoIterator<Item = impl Serialize>,
    ) -> Self {
        let candidates: Vec<Value> = candidates.into_iter().map(|one| json!(one)).collect();
        Self::new(ErrorKind::Ambiguous, code, message).details(json!({ "candidates": candidates }))
    }

    /// The backend refuses these credentials, or the host this request.
    pub fn denied(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Denied, code, message)
    }

    /// Nothing happened, and the same call may succeed later.
    pub fn transient(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Transient, code, message)
    }

    /// Nothing happened; the backend asks to slow down.
    pub fn throttled(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Throttled, code, message)
    }

    /// It may have happened.
    pub fn unknown_outcome(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::UnknownOutcome, code, message)
    }

    /// It will not succeed, whatever the input.
    pub fn fatal(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Fatal, code, message)
    }

    /// `fatal` and `INTERNAL`, without a word for the caller: the text goes to the host's log.
    pub fn internal(cause: impl Into<String>) -> Self {
        Self::fatal("INTERNAL", "").cause(cause)
    }

    fn new(kind: ErrorKind, code: impl Into<String>, message: impl Into<String>) -> Self {
        Self(Box::new(Parts {
            kind,
            code: code.into(),
            message: message.into(),
            user_message: None,
            retry_after: None,
            details: None,
            cause: None,
        }))
    }

    /// Adds what the user may be told.
    pub fn user_message(mut self, text: impl Into<String>) -> Self {
        self.0.user_message = Some(text.into());
        self
    }

    /// Adds how long to wait before the next try.
    pub fn retry_after(mut self, wait: impl Into<Option<Duration>>) -> Self {
        self.0.retry_after = wait.into();
        self
    }

    /// Adds what a program can read.
    pub fn details(mut self, details: Value) -> Self {
        self.0.details = Some(details);
        self
    }

    /// Adds what goes to the host's log and nowhere else.
    pub fn cause(mut self, text: impl Into<String>) -> Self {
        self.0.cause = Some(text.into());
        self
    }

    /// What decides what happens next.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What programs tell it by.
    #[must_use]
    pub fn code(&self) -> &str {
        &self.0.code
    }

    /// What a model reads.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Hands it to the host, the cause to its log.
    pub(crate) fn into_host(self) -> types::ToolError {
        let Parts { kind, code, message, user_message, retry_after, details, cause } = *self.0;
        if let Some(cause) = cause {
            let write = if kind == ErrorKind::Fatal { log::error } else { log::warn };
            write(&cause, json!({ "code": code }));
        }
        types::ToolError {
            kind,
            code,
            message,
            user_message,
            retry_after_ms: retry_after.map(|wait| u32::try_from(wait.as_millis()).unwrap_or(u32::MAX)),
            details: details.map(|details| details.to_string()),
        }
    }
}

impl<E: Error> From<E> for ToolError {
    fn from(error: E) -> Self {
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(inner) = source {
            text = format!("{text}: {inner}");
            source = inner.source();
        }
        Self::internal(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_foreign_error_is_internal_and_says_nothing_to_the_caller() {
        fn parse(text: &str) -> Result<u32, ToolError> {
            Ok(text.parse::<u32>()?)
        }
        let error = parse("seven").expect_err("it is no number");
        assert_eq!(error.0.cause.as_deref(), Some("invalid digit found in string"));
        let error = error.into_host();
        assert_eq!(error.kind, ErrorKind::Fatal);
        assert_eq!((error.code.as_str(), error.message.as_str()), ("INTERNAL", ""));
        assert_eq!((error.user_message, error.details), (None, None));
    }

    #[test]
    fn candidates_stand_in_the_details() {
        let error = ToolError::ambiguous("TWO", "two fit", ["a", "b"]).into_host();
        assert_eq!(error.details.as_deref(), Some(r#"{"candidates":["a","b"]}"#));
    }

    #[test]
    fn a_wait_too_long_for_the_contract_is_as_long_as_it_can_say() {
        let error = ToolError::throttled("SLOW", "slow down").retry_after(Duration::MAX);
        assert_eq!(error.into_host().retry_after_ms, Some(u32::MAX));
    }
}
