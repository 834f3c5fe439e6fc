//! What went wrong, whose fault it is, what the caller may know, and what it should do.

use std::borrow::Cow;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use super::id::ToolName;

/// Whose fault a failure is, and so what happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The model's: other input could succeed.
    InvalidInput,
    /// Nobody's: the business says no.
    Rejected,
    /// The input's: several candidates fit.
    Ambiguous,
    /// A caller, a policy or a backend refuses.
    Denied,
    /// The system's: nothing happened, and it may succeed later.
    Transient,
    /// The system's: it asks to slow down.
    Throttled,
    /// The system's: it may have happened.
    UnknownOutcome,
    /// The system's: part of it happened.
    Partial,
    /// The model's: it was asked for before, and was done or is under way.
    Duplicate,
    /// It goes on without the caller.
    Waiting,
    /// The tool's: it went over a limit.
    Limit,
    /// The tool's: it will never succeed.
    Fatal,
    /// The host's or the tool's, in words that are not for the caller.
    Internal,
}

impl Kind {
    /// The word in results and in the store.
    pub fn word(self) -> &'static str {
        match self {
            Self::InvalidInput => "invalid_input",
            Self::Rejected => "rejected",
            Self::Ambiguous => "ambiguous",
            Self::Denied => "denied",
            Self::Transient => "transient",
            Self::Throttled => "throttled",
            Self::UnknownOutcome => "unknown_outcome",
            Self::Partial => "partial",
            Self::Duplicate => "duplicate",
            Self::Waiting => "waiting",
            Self::Limit => "limit",
            Self::Fatal => "fatal",
            Self::Internal => "internal",
        }
    }

    /// Whether the same call may succeed later.
    pub fn retryable(self) -> bool {
        match self {
            Self::Transient | Self::Throttled => true,
            Self::InvalidInput
            | Self::Rejected
            | Self::Ambiguous
            | Self::Denied
            | Self::UnknownOutcome
            | Self::Partial
            | Self::Duplicate
            | Self::Waiting
            | Self::Limit
            | Self::Fatal
            | Self::Internal => false,
        }
    }
}

/// Why a call did not give what was asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// Whose fault it is.
    pub kind: Kind,
    /// Stable, in capitals: `ORDER_NOT_FOUND`.
    pub code: Cow<'static, str>,
    /// What a model reads to act on it.
    pub message: String,
    /// What the user may be told.
    pub user_message: Option<String>,
    /// When asking again makes sense; zero where nothing is known.
    pub retry_after: Duration,
    /// More for the caller, by the code's own rules.
    pub details: Option<Value>,
    /// What only the log sees.
    pub log: Option<String>,
}

impl Failure {
    /// A failure with a code and a message.
    pub fn new(kind: Kind, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            kind,
            code: Cow::Borrowed(code),
            message: message.into(),
            user_message: None,
            retry_after: Duration::ZERO,
            details: None,
            log: None,
        }
    }

    /// The failure whose text is not for the caller: it goes to the log.
    pub fn internal(log: impl Into<String>) -> Self {
        let mut failure = Self::new(
            Kind::Internal,
            super::code::INTERNAL,
            "the tool failed inside; quote the trace id to whoever runs this host",
        );
        failure.log = Some(log.into());
        failure
    }

    /// Adds one field to the details.
    #[must_use]
    pub fn with_detail(mut self, name: &str, value: impl Into<Value>) -> Self {
        match &mut self.details {
            Some(Value::Object(fields)) => {
                fields.insert(name.to_owned(), value.into());
            }
            Some(_) | None => self.details = Some(json!({ name: value.into() })),
        }
        self
    }

    /// Says when asking again makes sense.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.retry_after = delay;
        self
    }

    /// What the caller should do.
    pub fn action(&self) -> &'static str {
        match self.kind {
            Kind::InvalidInput => "fix_input",
            Kind::Rejected => "tell_user",
            Kind::Ambiguous => "clarify",
            Kind::Denied
                if matches!(&*self.code, super::code::PERMISSION_DENIED | super::code::NEEDS_PERSON) =>
            {
                "ask_permission"
            }
            Kind::Denied | Kind::Limit | Kind::Fatal | Kind::Internal => "stop",
            // Which tool may do instead is the host's own word too.
            Kind::Transient | Kind::Throttled if self.names("fallback") => "use_fallback",
            Kind::Transient | Kind::Throttled => "retry_later",
            // What is told of a key is the host's own word: a plugin cannot say it.
            Kind::UnknownOutcome | Kind::Partial if self.names("key") => "repeat_with_key",
            Kind::UnknownOutcome | Kind::Partial => "do_not_repeat",
            Kind::Duplicate => "confirm_repeat",
            Kind::Waiting => "wait",
        }
    }

    /// Names the tool that may do instead.
    #[must_use]
    pub fn with_fallback(self, tool: &ToolName) -> Self {
        self.with_detail("fallback", tool.to_string())
    }

    fn names(&self, detail: &str) -> bool {
        self.details.as_ref().is_some_and(|details| details.get(detail).is_some())
    }

    /// The `error` object of a result.
    pub fn to_json(&self) -> Value {
        let mut error = json!({
            "code": self.code,
            "kind": self.kind.word(),
            "message": self.message,
            "retryable": self.kind.retryable(),
            "action": self.action(),
            "retry_after_ms": u64::try_from(self.retry_after.as_millis()).unwrap_or(u64::MAX),
        });
        if let Some(text) = &self.user_message {
            error["user_message"] = json!(text);
        }
        if let Some(details) = &self.details {
            error["details"] = details.clone();
        }
        error
    }
}
