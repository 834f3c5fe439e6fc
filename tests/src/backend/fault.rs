//! What goes wrong on demand: which requests, at what moment, in what way.

use std::collections::VecDeque;
use std::fmt;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What a test wants run at a chosen moment; it may block.
pub type Callback = Arc<dyn Fn() + Send + Sync>;

/// When a fault comes in the life of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// The request arrived whole, nothing was done.
    BeforeWork,
    /// The work is done, no byte of an answer was sent.
    AfterWork,
    /// The work is done, the head of the answer left, no byte of its body.
    AfterHead,
}

/// One way to go wrong at one moment.
#[derive(Debug, Clone)]
pub struct Fault {
    pub(super) moment: Moment,
    pub(super) act: Act,
}

#[derive(Clone)]
pub(super) enum Act {
    /// Waits, then goes on.
    Wait(Duration),
    /// Answers with an error.
    Status { code: u16, retry_after: Option<String> },
    /// Closes the connection.
    Cut,
    /// Keeps the connection and never sends another byte.
    Hang,
    /// Runs something to its end, then goes on.
    Call(Callback),
}

impl Fault {
    /// Waits, then goes on as if nothing had been.
    #[must_use]
    pub fn slow(moment: Moment, wait: Duration) -> Self {
        Self { moment, act: Act::Wait(wait) }
    }

    /// Answers with this status and an error instead.
    ///
    /// # Panics
    /// If the head of the answer has left already.
    #[must_use]
    pub fn status(moment: Moment, code: u16) -> Self {
        assert_ne!(moment, Moment::AfterHead, "the status is in the head");
        Self { moment, act: Act::Status { code, retry_after: None } }
    }

    /// Adds a `Retry-After` to a status: seconds or a date.
    ///
    /// # Panics
    /// If this fault is not a status.
    #[must_use]
    pub fn retry_after(mut self, value: impl fmt::Display) -> Self {
        let Act::Status { retry_after, .. } = &mut self.act else {
            panic!("only a status has a Retry-After");
        };
        *retry_after = Some(value.to_string());
        self
    }

    /// Closes the connection: before the head without a single byte, after it in the middle of the body.
    #[must_use]
    pub fn cut(moment: Moment) -> Self {
        Self { moment, act: Act::Cut }
    }

    /// Never sends another byte and keeps the connection open.
    #[must_use]
    pub fn hang(moment: Moment) -> Self {
        Self { moment, act: Act::Hang }
    }

    /// Runs something, waits for its end, then goes on: how a test kills a process at an exact moment.
    #[must_use]
    pub fn call(moment: Moment, callback: impl Fn() + Send + Sync + 'static) -> Self {
        Self { moment, act: Act::Call(Arc::new(callback)) }
    }

    /// Kills a process at an exact moment, as `kill -9` does.
    #[must_use]
    pub fn kill(moment: Moment, pid: u32) -> Self {
        Self::call(moment, move || {
            let killed = Command::new("sh").arg("-c").arg(format!("kill -9 {pid}")).status();
            assert!(killed.is_ok_and(|status| status.success()), "process {pid} could not be killed");
        })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.act {
            Act::Wait(wait) => write!(f, "slow by {wait:?}")?,
            Act::Status { code, .. } => write!(f, "status {code}")?,
            Act::Cut => write!(f, "line cut")?,
            Act::Hang => write!(f, "silence")?,
            Act::Call(_) => write!(f, "callback")?,
        }
        f.write_str(match self.moment {
            Moment::BeforeWork => " before the work",
            Moment::AfterWork => " after the work",
            Moment::AfterHead => " after the head of the answer",
        })
    }
}

impl fmt::Debug for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wait(wait) => write!(f, "Wait({wait:?})"),
            Self::Status { code, retry_after } => write!(f, "Status({code}, {retry_after:?})"),
            Self::Cut => write!(f, "Cut"),
            Self::Hang => write!(f, "Hang"),
            Self::Call(_) => write!(f, "Call"),
        }
    }
}

/// A fault that has not come, or not often enough.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pending {
    /// The beginning of a path, after a method if only that one is meant.
    pub place: String,
    /// The fault in words.
    pub fault: String,
    /// How often it is still to come.
    pub times: u32,
}

/// The faults that are still to come, in the order they were asked for.
#[derive(Debug, Default)]
pub(super) struct Faults(VecDeque<(String, Fault, u32)>);

impl Faults {
    pub(super) fn push(&mut self, place: &str, fault: Fault, times: u32) {
        if times > 0 {
            self.0.push_back((place.to_owned(), fault, times));
        }
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn pending(&self) -> Vec<Pending> {
        let pending = self.0.iter();
        pending
            .map(|(place, fault, times)| Pending {
                place: place.clone(),
                fault: fault.to_string(),
                times: *times,
            })
            .collect()
    }

    /// Takes the fault for a request off the list.
    pub(super) fn take(&mut self, method: &str, path: &str) -> Option<Fault> {
        let found = self.0.iter().position(|(place, _, _)| meets(place, method, path))?;
        let (_, fault, times) = &mut self.0[found];
        let fault = fault.clone();
        *times -= 1;
        if *times == 0 {
            self.0.remove(found);
        }
        Some(fault)
    }
}

fn meets(place: &str, method: &str, path: &str) -> bool {
    match place.split_once(' ') {
        Some((only, beginning)) => only == method && path.starts_with(beginning),
        None => path.starts_with(place),
    }
}

/// A fault as it is asked for over HTTP.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Asked {
    /// The place: `/tickets`, `POST /tickets`.
    pub(super) path: String,
    /// `slow`, `cut`, `hang`, `kill` or a status, then `_before` (where nothing is said), `_after`, `_head`.
    fault: String,
    /// How often; once where nothing is said.
    #[serde(default = "once")]
    pub(super) times: u32,
    /// For `slow`: how many milliseconds.
    #[serde(default)]
    ms: u64,
    /// For a status: seconds or a date.
    retry_after: Option<serde_json::Value>,
    /// For `kill`: which process.
    pid: Option<u32>,
}

fn once() -> u32 {
    1
}

impl Asked {
    /// The fault that is meant, or in words why there is none.
    pub(super) fn fault(&self) -> Result<Fault, String> {
        let (what, moment) = match self.fault.rsplit_once('_') {
            None => (self.fault.as_str(), Moment::BeforeWork),
            Some((what, "before")) => (what, Moment::BeforeWork),
            Some((what, "after")) => (what, Moment::AfterWork),
            Some((what, "head")) => (what, Moment::AfterHead),
            Some((_, other)) => return Err(format!("a moment is before, after or head, and not {other}")),
        };
        match what {
            "slow" => Ok(Fault::slow(moment, Duration::from_millis(self.ms))),
            "cut" => Ok(Fault::cut(moment)),
            "hang" => Ok(Fault::hang(moment)),
            "kill" => {
                let pid = self.pid.filter(|pid| *pid > 1).ok_or("kill needs the pid of a process")?;
                Ok(Fault::kill(moment, pid))
            }
            status => self.status(moment, status),
        }
    }

    fn status(&self, moment: Moment, status: &str) -> Result<Fault, String> {
        let code = status.parse().ok().filter(|code| (300..600).contains(code));
        let code =
            code.ok_or_else(|| format!("a fault is slow, cut, hang, kill or a status, and not {status}"))?;
        if moment == Moment::AfterHead {
            return Err("the status is in the head".to_owned());
        }
        let fault = Fault::status(moment, code);
        Ok(match &self.retry_after {
            Some(serde_json::Value::String(date)) => fault.retry_after(date),
            Some(seconds) => fault.retry_after(seconds),
            None => fault,
        })
    }
}
