//! Where a host is killed: before or after the n-th time that it writes something down, or after it has replied.

use std::fmt;
use std::str::FromStr;

/// A write of the journal; each is one commit at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Commit {
    /// `Journal::reserve`.
    Reserve,
    /// `Journal::record`.
    Record,
    /// `Journal::take`.
    Take,
    /// `Journal::intend`.
    Intend,
    /// `Journal::outcome`.
    Outcome,
    /// `Journal::save`.
    Save,
    /// `Journal::rest`.
    Rest,
    /// `Journal::hear`.
    Hear,
    /// `Journal::ask`.
    Ask,
    /// `Journal::force`.
    Force,
    /// `Journal::settle`.
    Settle,
    /// `Journal::decide`.
    Decide,
    /// `Journal::roll_back`.
    RollBack,
    /// `Journal::note`.
    Note,
    /// `Journal::delivered`.
    Delivered,
    /// `Journal::sweep`.
    Sweep,
    /// `Driving::put_off`.
    PutOff,
}

impl Commit {
    /// Every write that there is.
    pub const ALL: [Self; 17] = [
        Self::Reserve,
        Self::Record,
        Self::Take,
        Self::Intend,
        Self::Outcome,
        Self::Save,
        Self::Rest,
        Self::Hear,
        Self::Ask,
        Self::Force,
        Self::Settle,
        Self::Decide,
        Self::RollBack,
        Self::Note,
        Self::Delivered,
        Self::Sweep,
        Self::PutOff,
    ];

    fn word(self) -> &'static str {
        match self {
            Self::Reserve => "reserve",
            Self::Record => "record",
            Self::Take => "take",
            Self::Intend => "intend",
            Self::Outcome => "outcome",
            Self::Save => "save",
            Self::Rest => "rest",
            Self::Hear => "hear",
            Self::Ask => "ask",
            Self::Force => "force",
            Self::Settle => "settle",
            Self::Decide => "decide",
            Self::RollBack => "roll_back",
            Self::Note => "note",
            Self::Delivered => "delivered",
            Self::Sweep => "sweep",
            Self::PutOff => "put_off",
        }
    }
}

/// A point in the life of a process; occurrences are counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Point {
    /// Everything before the write is durable, and the write is not asked for yet.
    Before(Commit, u32),
    /// The write is durable, and nobody knows it yet.
    After(Commit, u32),
    /// The reply is acknowledged.
    Replied(u32),
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Before(commit, n) => write!(f, "before {} {n}", commit.word()),
            Self::After(commit, n) => write!(f, "after {} {n}", commit.word()),
            Self::Replied(n) => write!(f, "after reply {n}"),
        }
    }
}

impl FromStr for Point {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("a point is such as `before settle 1`, and not: {text}");
        let mut words = text.split(' ');
        let (edge, what, n) = (words.next(), words.next().unwrap_or_default(), words.next());
        let n = n.and_then(|n| n.parse().ok()).ok_or_else(wrong)?;
        let commit = Commit::ALL.into_iter().find(|commit| commit.word() == what);
        match (edge, commit) {
            (Some("before"), Some(commit)) => Ok(Self::Before(commit, n)),
            (Some("after"), Some(commit)) => Ok(Self::After(commit, n)),
            (Some("after"), None) if what == "reply" => Ok(Self::Replied(n)),
            (Some(_) | None, Some(_) | None) => Err(wrong()),
        }
    }
}
