//! Why a command could not do what it was asked, and the exit codes.

use std::fmt::Display;
use std::process::ExitCode;

use serde_json::Value;

use crate::host::{Faults, OpenFailure};
use crate::model::code;
use crate::model::failure::{Failure, Kind};

/// How a command ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    /// It did what was asked.
    Done,
    /// The answer is `ok: false`.
    Refused,
    /// The command line or the configuration is at fault.
    Usage,
    /// The host is at fault, or its store.
    Broken,
}

impl Exit {
    /// What an error means for whoever started the command.
    pub(super) fn of(error: &Value) -> Self {
        match (error["code"].as_str().unwrap_or_default(), error["kind"].as_str().unwrap_or_default()) {
            (code::INVALID_CONFIGURATION | code::INVALID_USAGE, _) => Self::Usage,
            (code::STORE_UNAVAILABLE, _) => Self::Broken,
            (_, kind) if kind.is_empty() || kind == Kind::Internal.word() => Self::Broken,
            _ => Self::Refused,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Refused => 1,
            Exit::Usage => 2,
            Exit::Broken => 3,
        })
    }
}

/// Why a command could not do what it was asked.
#[derive(Debug)]
pub(super) enum Problem {
    /// The configuration is missing or has faults.
    Faulty(Faults),
    /// The host does not start.
    Closed(OpenFailure),
    /// The host answered with a failure.
    Failed(Box<Failure>),
    /// The command line asks for what cannot be; with what would be right.
    Usage(String, Option<String>),
}

impl Problem {
    /// The command line asks for what cannot be.
    pub(super) fn usage(text: impl Into<String>) -> Self {
        Self::Usage(text.into(), None)
    }

    /// What was asked for is not there, which is an answer.
    pub(super) fn not_there(text: impl Into<String>, hint: impl Into<String>) -> Self {
        let failure = Failure::new(Kind::InvalidInput, code::INVALID_INPUT, text.into());
        Self::Failed(Box::new(failure.with_detail("hint", hint.into())))
    }

    /// The operating system refuses.
    pub(super) fn system(what: &str, why: &dyn Display) -> Self {
        Self::Failed(Box::new(Failure::new(Kind::Internal, code::INTERNAL, format!("{what}: {why}"))))
    }

    /// The same in the one form of results.
    pub(super) fn failure(&self) -> Failure {
        let (failure, hint) = match self {
            Self::Faulty(faults) => return faults.failure(),
            Self::Failed(failure) => return (**failure).clone(),
            Self::Closed(failure) => {
                let (kind, code) = match failure {
                    OpenFailure::Store(_) => (Kind::Transient, code::STORE_UNAVAILABLE),
                    OpenFailure::Engine(_) => (Kind::Internal, code::INTERNAL),
                };
                (Failure::new(kind, code, failure.to_string()), failure.hint())
            }
            Self::Usage(text, hint) => {
                (Failure::new(Kind::InvalidInput, code::INVALID_USAGE, text.clone()), hint.clone())
            }
        };
        match hint {
            Some(hint) => failure.with_detail("hint", hint),
            None => failure,
        }
    }
}

impl From<Faults> for Problem {
    fn from(faults: Faults) -> Self {
        Self::Faulty(faults)
    }
}

impl From<OpenFailure> for Problem {
    fn from(failure: OpenFailure) -> Self {
        Self::Closed(failure)
    }
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        Self::Failed(Box::new(failure))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_tells_whose_turn_it_is() {
        let exit = |kind, code| Exit::of(&Failure::new(kind, code, "").to_json());
        assert_eq!(exit(Kind::Rejected, "ORDER_NOT_FOUND"), Exit::Refused);
        assert_eq!(exit(Kind::Fatal, "BROKEN"), Exit::Refused);
        assert_eq!(exit(Kind::InvalidInput, code::INVALID_CONFIGURATION), Exit::Usage);
        assert_eq!(exit(Kind::Transient, code::STORE_UNAVAILABLE), Exit::Broken);
        assert_eq!(exit(Kind::Internal, code::INVALID_OUTPUT), Exit::Broken);
        assert_eq!(Exit::of(&Value::Null), Exit::Broken);
    }

    #[test]
    fn a_sandbox_that_cannot_be_set_up_is_not_the_stores_fault() {
        let problem = Problem::from(OpenFailure::Engine("no memory".to_owned()));
        let error = problem.failure().to_json();
        assert_eq!(Exit::of(&error), Exit::Broken);
        insta::assert_snapshot!(serde_json::to_string_pretty(&error).unwrap(), @r#"
        {
          "code": "INTERNAL",
          "kind": "internal",
          "message": "the sandbox cannot be set up: no memory",
          "retryable": false,
          "action": "stop",
          "retry_after_ms": 0,
          "details": {
            "hint": "look at the limits of memory and threads of this process"
          }
        }
        "#);
    }
}
