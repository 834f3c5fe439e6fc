//! What really happened, counted.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How often something was asked for, and how often it was done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// Requests whose head arrived.
    pub requests: u64,
    /// Works done: answers to reads that were found, and writes. A ticket given again for its key is none.
    pub works: u64,
}

/// A setting and how often it was written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// What it is now.
    pub value: Value,
    /// How often it was written, with the same value too.
    pub writes: u64,
}

/// Everything that happened since the start or the last reset.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// TCP connections accepted, those for faults and counts included.
    pub connections: u64,
    /// Per method and path as they came, without the query: `POST /tickets`.
    pub routes: BTreeMap<String, Count>,
    /// Per value of `Idempotency-Key`.
    pub keys: BTreeMap<String, Count>,
    /// The tickets that exist, in order.
    pub tickets: Vec<Value>,
    /// The mails that went out, in order.
    pub mails: Vec<Value>,
    /// The settings by name.
    pub settings: BTreeMap<String, Setting>,
}

impl Counts {
    /// The count of one method and path: `of("POST /tickets")`.
    #[must_use]
    pub fn of(&self, route: &str) -> Count {
        self.routes.get(route).copied().unwrap_or_default()
    }

    /// The sum over every method and path that begins so: `under("GET /orders/")`; all of them: `under("")`.
    #[must_use]
    pub fn under(&self, beginning: &str) -> Count {
        let routes = self.routes.iter().filter(|(route, _)| route.starts_with(beginning));
        routes.fold(Count::default(), |sum, (_, count)| Count {
            requests: sum.requests + count.requests,
            works: sum.works + count.works,
        })
    }

    /// The count of one idempotency key.
    #[must_use]
    pub fn key(&self, key: &str) -> Count {
        self.keys.get(key).copied().unwrap_or_default()
    }
}

/// A request as it arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The method.
    pub method: String,
    /// The request target, query included.
    pub target: String,
    /// The headers in order, names in lower case, values as far as they are text.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// The ordinal of the connection that it came over, from 1.
    pub connection: u64,
}

impl Seen {
    /// How many requests are kept: enough for every test, little beside a bench's memory.
    pub const KEPT: usize = 10_000;

    /// The value of a header that was sent.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// The counters behind [`Counts`].
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) connections: u64,
    pub(super) routes: BTreeMap<String, Count>,
    pub(super) keys: BTreeMap<String, Count>,
}

impl Tally {
    pub(super) fn arrived(&mut self, route: &str, key: Option<&str>) {
        self.each(route, key, |count| count.requests += 1);
    }

    pub(super) fn worked(&mut self, route: &str, key: Option<&str>) {
        self.each(route, key, |count| count.works += 1);
    }

    fn each(&mut self, route: &str, key: Option<&str>, add: impl Fn(&mut Count)) {
        add(self.routes.entry(route.to_owned()).or_default());
        if let Some(key) = key {
            add(self.keys.entry(key.to_owned()).or_default());
        }
    }
}
