//! One job: a request, how often, and what comes before and after.

#![expect(clippy::disallowed_methods, reason = "what a guest sees of the clock is what is tested")]

use std::hint::black_box;
use std::time::{Duration, SystemTime};

use airlock_sdk::http::{Request, Response};
use airlock_sdk::{Context, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Job {
    method: String,
    url: String,
    #[serde(default)]
    headers: Vec<(String, String)>,
    /// `{now}` stands for the wall clock in nanoseconds, `{random}` for eight random bytes, `{attempt}` for the
    /// number of the attempt, `{user}` for whom it is made.
    #[serde(default)]
    body: String,
    timeout_ms: Option<u64>,
    /// How often it is sent.
    #[serde(default = "once")]
    times: u32,
    /// Whether a status of failure, or no answer at all, is taken for an answer.
    #[serde(default)]
    any_answer: bool,
    /// How it ends before anything is sent.
    before: Option<End>,
    /// How it ends after all is sent.
    then: Option<End>,
    /// In how many attempts it ends so; in all of them where absent.
    attempts: Option<u32>,
    #[serde(skip)]
    clean_statuses: Vec<u16>,
}

fn once() -> u32 {
    1
}

/// How a call can end other than well.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum End {
    Trap,
    Loop,
    Sleep,
    InvalidInput,
    Rejected,
    Denied,
    Transient,
    Throttled,
    UnknownOutcome,
    Fatal,
    /// An error that is not the tool's own.
    Foreign,
}

/// The last answer.
#[derive(Default, Serialize, JsonSchema)]
pub(crate) struct Answer {
    /// 0 where there was none; the body then says why.
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
    /// The length of the whole body; its text is cut after 256 KiB.
    length: usize,
}

impl Job {
    pub(crate) fn clean_statuses(mut self, statuses: impl Into<Vec<u16>>) -> Self {
        self.clean_statuses = statuses.into();
        self
    }

    pub(crate) fn run(self, context: &Context) -> Result<Answer, ToolError> {
        let ends = self.attempts.is_none_or(|attempts| context.attempt <= attempts);
        if let Some(end) = self.before.as_ref().filter(|_| ends) {
            return Err(end.come());
        }
        let mut answer = Answer::default();
        for _ in 0..self.times {
            answer = match self.request(context)?.send() {
                Ok(response) if self.any_answer => Answer::from(response),
                Ok(response) => Answer::from(response.ok()?),
                Err(error) if self.any_answer => Answer { body: format!("{error:?}"), ..Answer::default() },
                Err(error) => return Err(error.into()),
            };
        }
        match self.then.filter(|_| ends) {
            Some(end) => Err(end.come()),
            None => Ok(answer),
        }
    }

    fn request(&self, context: &Context) -> Result<Request, ToolError> {
        let mut body = self.body.replace("{attempt}", &context.attempt.to_string());
        body = body.replace("{user}", context.user.as_deref().unwrap_or("nobody"));
        if body.contains("{now}") {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
            body = body.replace("{now}", &now.as_nanos().to_string());
        }
        if body.contains("{random}") {
            body = body.replace("{random}", &format!("{:016x}", getrandom::u64()?));
        }
        let mut request = Request::new(&self.method, &self.url).body(body);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        if let Some(ms) = self.timeout_ms {
            request = request.timeout(Duration::from_millis(ms));
        }
        if self.url.ends_with("/search") {
            request = request.reads();
        }
        Ok(request.clean_statuses(self.clean_statuses.iter().copied()))
    }
}

impl End {
    fn come(&self) -> ToolError {
        let message = "as the job says";
        match self {
            Self::Trap => panic!("{message}"),
            Self::Loop => loop {
                black_box(());
            },
            Self::Sleep => loop {
                std::thread::sleep(Duration::from_secs(3600));
            },
            Self::InvalidInput => ToolError::invalid_input("TOLD_INVALID_INPUT", message),
            Self::Rejected => ToolError::rejected("TOLD_REJECTED", message),
            Self::Denied => ToolError::denied("TOLD_DENIED", message),
            Self::Transient => ToolError::transient("TOLD_TRANSIENT", message),
            Self::Throttled => {
                ToolError::throttled("TOLD_THROTTLED", message).retry_after(Duration::from_secs(1))
            }
            Self::UnknownOutcome => ToolError::unknown_outcome("TOLD_UNKNOWN_OUTCOME", message),
            Self::Fatal => ToolError::fatal("TOLD_FATAL", message),
            Self::Foreign => std::io::Error::other(message).into(),
        }
    }
}

impl From<Response> for Answer {
    fn from(response: Response) -> Self {
        const SHOWN: usize = 256 * 1024;
        let shown = &response.body[..response.body.len().min(SHOWN)];
        Self {
            status: response.status,
            body: String::from_utf8_lossy(shown).into_owned(),
            length: response.body.len(),
            headers: response.headers,
        }
    }
}
