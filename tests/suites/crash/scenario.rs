//! What is done while hosts die: a call of each repeat class, a sequence, and a person's decisions.

use std::fmt;

use airlock_tests::backend::{Counts, Moment};
use airlock_tests::crash::Point;

/// The key that callers give.
pub(super) const KEY: &str = "parcel-7";

/// One thing that is done.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scenario {
    pub(super) name: &'static str,
    pub(super) tool: &'static str,
    pub(super) requests: &'static [&'static str],
    pub(super) key: Key,
    /// How often its first request fails before it is done; the host then tries again by itself, and else never.
    pub(super) failures: u32,
    /// Whether what is spent is bounded, so that each call holds what it may cost.
    pub(super) bounded: bool,
    /// Whether nobody waits for it: its process is the worker that makes it.
    pub(super) background: bool,
    /// What a person settles; the call before it was cut.
    pub(super) decision: Option<Decision>,
}

/// Whose key the call has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Callers,
    Hosts,
    Nobodys,
}

/// A person's word about a call whose answer was cut.
#[derive(Debug, Clone, Copy)]
pub(super) struct Decision {
    pub(super) cut: Moment,
    pub(super) word: &'static str,
}

/// What repeating a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Reads,
    Idempotent,
    Keyed,
    Once,
}

const GET: &str = "GET /orders/A-1001";
const PUT: &str = "PUT /settings/door";
const TICKET: &str = "POST /tickets";
const MAIL: &str = "POST /mails";

const fn called(name: &'static str, tool: &'static str, requests: &'static [&'static str]) -> Scenario {
    Scenario {
        name,
        tool,
        requests,
        key: Key::Callers,
        failures: 0,
        bounded: false,
        background: false,
        decision: None,
    }
}

const fn decided(scenario: Scenario, name: &'static str, cut: Moment, word: &'static str) -> Scenario {
    Scenario { name, decision: Some(Decision { cut, word }), ..scenario }
}

pub(super) const READS: Scenario = called("reads", "errand.read", &[GET]);
pub(super) const READS_KEYLESS: Scenario = Scenario { name: "reads, no key", key: Key::Nobodys, ..READS };
pub(super) const IDEMPOTENT: Scenario = called("idempotent", "errand.put", &[PUT]);
pub(super) const KEYED: Scenario = called("keyed", "errand.post_keyed", &[TICKET]);
pub(super) const KEYED_BY_HOST: Scenario =
    Scenario { name: "keyed, the host's key", key: Key::Hosts, ..KEYED };
pub(super) const ONCE: Scenario = called("once", "errand.post_once", &[MAIL]);
pub(super) const SEQUENCE: Scenario = called("sequence", "errand.sequence", &[GET, PUT, TICKET, MAIL]);
pub(super) const SEQUENCE_KEYED: Scenario =
    called("sequence, keyed", "errand.sequence_keyed", &[GET, PUT, TICKET]);
pub(super) const HAPPENED: Scenario = decided(ONCE, "once, happened", Moment::AfterWork, "happened");
pub(super) const DID_NOT: Scenario = decided(ONCE, "once, did-not", Moment::BeforeWork, "did-not");
pub(super) const AGAIN: Scenario = decided(ONCE, "once, again", Moment::BeforeWork, "again");
pub(super) const KEYED_AGAIN: Scenario = decided(KEYED, "keyed, again", Moment::AfterWork, "again");

pub(super) const READS_HELD: Scenario = Scenario { name: "reads, held", bounded: true, ..READS };
pub(super) const KEYED_HELD: Scenario = Scenario { name: "keyed, held", bounded: true, ..KEYED };
pub(super) const KEYED_RETRIED_HELD: Scenario =
    Scenario { name: "keyed, retried, held", bounded: true, ..KEYED_RETRIED };

pub(super) const READS_RETRIED: Scenario = Scenario { name: "reads, retried", failures: 1, ..READS };
pub(super) const KEYED_RETRIED: Scenario = Scenario { name: "keyed, retried", failures: 1, ..KEYED };

pub(super) const KEYED_IN_BACKGROUND: Scenario =
    Scenario { name: "keyed, in the background", background: true, bounded: true, ..KEYED_RETRIED };
pub(super) const ONCE_IN_BACKGROUND: Scenario =
    Scenario { name: "once, in the background", background: true, ..ONCE };

/// All of them.
pub(super) const ALL: [Scenario; 16] = [
    READS,
    READS_KEYLESS,
    IDEMPOTENT,
    KEYED,
    KEYED_BY_HOST,
    ONCE,
    SEQUENCE,
    SEQUENCE_KEYED,
    HAPPENED,
    DID_NOT,
    AGAIN,
    KEYED_AGAIN,
    READS_RETRIED,
    KEYED_RETRIED,
    KEYED_IN_BACKGROUND,
    ONCE_IN_BACKGROUND,
];

impl Scenario {
    /// The requests that do more than read.
    pub(super) fn written(&self) -> impl Iterator<Item = (&'static str, Class)> {
        let all = self.requests.iter().map(|request| (*request, class(request)));
        all.filter(|(_, class)| *class != Class::Reads)
    }

    /// What was done of it, in one line.
    pub(super) fn done(&self, counts: &Counts) -> String {
        let works = |request: &&str| {
            let place = request.split('/').nth(1).unwrap_or(request);
            format!("{place} {}", counts.of(request).works)
        };
        self.requests.iter().map(works).collect::<Vec<_>>().join(", ")
    }
}

fn class(request: &str) -> Class {
    match request {
        PUT => Class::Idempotent,
        TICKET => Class::Keyed,
        MAIL => Class::Once,
        _ => Class::Reads,
    }
}

/// Where a process is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kill {
    /// At a point that its store tells.
    At(Point),
    /// By the backend, while it works at a request.
    ByBackend(&'static str, Moment),
    /// Right before or after its n-th sync; the power goes with it.
    AroundSync { before: bool, n: u32 },
}

impl fmt::Display for Kill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(point) => point.fmt(f),
            Self::ByBackend(request, moment) => {
                let when = match moment {
                    Moment::BeforeWork => "before",
                    Moment::AfterWork => "after",
                    Moment::AfterHead => "answering",
                };
                write!(f, "{when} {request}")
            }
            Self::AroundSync { before: true, n } => write!(f, "before sync {n}"),
            Self::AroundSync { before: false, n } => write!(f, "after sync {n}"),
        }
    }
}

/// Who goes on after a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// The next start, which closes what was left before it does anything else.
    NextStart,
    /// A process that has been running all the while, once it is asked with the key.
    Standby,
}
