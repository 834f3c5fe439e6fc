//! The path of a call as its caller sees it: what is asked, what is answered, and what the backend counted.

mod attempts;
mod callers;
mod decisions;
mod ends;
mod faults;
mod input;
mod keys;
mod late;
mod life;
mod payloads;
mod places;
mod results;
mod sequences;
mod times;
mod together;

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

use airlock::host::{Decision, Host, Request, Seams};
use airlock::model::clock::Timestamp;
use airlock::model::id::CallerName;
use airlock::model::reply::Reply;
use airlock::model::run::Record;
use airlock_tests::backend::{Backend, Fault, Moment};
use airlock_tests::guests;
use airlock_tests::world::{SetClock, World, body, code, keyed};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

/// Some moment; tests with a clock of their own begin here.
pub(crate) const NOON: Timestamp = Timestamp(1_800_000_000_000);

/// A world and the backend that its plugin may reach.
pub(crate) struct Scene {
    pub(crate) world: World,
    pub(crate) backend: Backend,
}

impl Scene {
    /// With the plugin that sends what it is told to; `lines` are added to the configuration.
    pub(crate) async fn courier(lines: &str) -> Self {
        Self::retrying(&singly(lines)).await
    }

    /// The same, where the host tries again.
    pub(crate) async fn retrying(lines: &str) -> Self {
        let backend = Backend::start().await;
        let world = World::new()
            .with_plugins(&[guests::COURIER])
            .with_grant("courier", &backend.url, &["127.0.0.1"])
            .with_config(lines);
        Self { world, backend }
    }

    /// With the support desk, which is not asked what became of its calls.
    pub(crate) async fn desk(lines: &str) -> Self {
        Self::asked_desk(&(singly(lines) + "[probe]\ntries = 0\n")).await
    }

    /// With the support desk as these lines configure it.
    pub(crate) async fn asked_desk(lines: &str) -> Self {
        let backend = Backend::start().await;
        let url = &backend.url;
        let granted = format!(
            "[plugin.desk]\nconfig = {{ desk_url = \"{url}\" }}\nsecrets = [\"desk_token\"]\n\
             [secrets]\ndesk_token = {{ env = \"DESK_TOKEN\" }}\n"
        );
        let world = World::new()
            .with_plugins(&[guests::DESK])
            .with_variable("DESK_TOKEN", "a token that opens tickets")
            .with_config(&granted)
            .with_grant("desk", url, &["127.0.0.1"])
            .with_config(lines);
        Self { world, backend }
    }

    /// A host of this world.
    pub(crate) async fn open(&self) -> Host {
        self.world.open().await
    }

    /// A host whose clock stands until it is moved.
    pub(crate) async fn open_at(&self, clock: &Arc<SetClock>) -> Host {
        let seams = Seams::system(&self.world.config()).unwrap();
        self.world.open_with(Seams { clock: Arc::clone(clock) as _, ..seams }).await
    }

    /// A job for the courier.
    pub(crate) fn job(&self, method: &str, path: &str) -> Value {
        json!({ "method": method, "url": format!("{}{path}", self.backend.url) })
    }

    /// The job of sending one mail, which the desk does each time it is asked.
    pub(crate) fn mail(&self, subject: &str) -> Value {
        with(self.job("POST", "/mails"), json!({ "body": json!({ "subject": subject }).to_string() }))
    }

    /// The job of opening one ticket, which the desk does once for a key.
    pub(crate) fn ticket(&self, subject: &str) -> Value {
        let body = json!({ "subject": subject }).to_string();
        let headers = json!([["authorization", "Bearer t"]]);
        with(self.job("POST", "/tickets"), json!({ "body": body, "headers": headers }))
    }

    /// The job of writing one setting, which can be written twice.
    pub(crate) fn setting(&self, name: &str) -> Value {
        with(self.job("PUT", &format!("/settings/{name}")), json!({ "body": "1" }))
    }

    /// How many mails went out.
    pub(crate) fn mails(&self) -> usize {
        self.backend.counts().mails.len()
    }

    /// A reply in full, without what differs from one time to the next.
    pub(crate) fn shown(&self, reply: &Reply) -> String {
        shown(reply).replace(&self.backend.url, "BACKEND")
    }
}

/// The same lines, where the host tries nothing again by itself.
pub(crate) fn once(lines: &str) -> String {
    format!("{lines}\n[retries]\nmost = 0\n")
}

/// The same lines, where each attempt stands for itself: it is not tried again, and whatever it comes to keeps no other from
/// its backend.
pub(crate) fn singly(lines: &str) -> String {
    once(lines) + "[breaker]\nin_a_row = 10000\nleast = 10000\n"
}

/// Holds the next requests to a place at a moment, until what is given back is dropped.
pub(crate) fn hold(backend: &Backend, place: &str, moment: Moment, times: u32) -> Sender<()> {
    let (release, released) = channel();
    let released = Mutex::new(released);
    let wait = move || {
        // An error is the other end being dropped, which is what is waited for.
        let _ = released.lock().unwrap().recv();
    };
    backend.fault(place, Fault::call(moment, wait), times);
    release
}

/// Makes a call that goes on beside the test.
pub(crate) fn spawn(host: &Host, call: Request) -> JoinHandle<Reply> {
    let host = host.clone();
    tokio::spawn(async move { host.call(call).await })
}

/// An object with more fields.
pub(crate) fn with(mut object: Value, more: Value) -> Value {
    let Value::Object(more) = more else { panic!("the fields stand in an object") };
    object.as_object_mut().unwrap().extend(more);
    object
}

/// A call of another caller.
pub(crate) fn as_caller(caller: &str, request: Request) -> Request {
    Request { caller: CallerName(caller.to_owned()), ..request }
}

/// The word that a request of the courier happened, with what the courier gives of it.
pub(crate) fn happened() -> Decision {
    let answer = json!({ "status": 202, "headers": [], "body": "", "length": 0 });
    Decision::Happened { data: Some(answer.to_string()) }
}

/// The text of a reply's `data` or `error`.
pub(crate) fn text(reply: &Reply) -> &str {
    let (Ok(body) | Err(body)) = &reply.body;
    body.get()
}

/// The run of a reply, in full.
pub(crate) fn record(host: &Host, reply: &Reply) -> Record {
    host.run(&reply.meta.run.expect("the reply has a run").to_string()).unwrap()
}

/// Where a run stands and what is known of its effects: `completed [open 500, done 201]`.
pub(crate) fn standing(record: &Record) -> String {
    let effects = record.effects.iter().map(|effect| match effect.status {
        Some(status) => format!("{} {status}", effect.state.word()),
        None => effect.state.word().to_owned(),
    });
    format!("{} [{}]", record.summary.state.word(), effects.collect::<Vec<_>>().join(", "))
}

/// How a call ended: its code, whether a key is told, and where its run stands.
pub(crate) fn end(host: &Host, reply: &Reply) -> String {
    let key = if body(reply)["details"]["key"].is_string() { "+key" } else { "" };
    format!("{}{key}, {}", code(reply), standing(&record(host, reply)))
}

/// A reply in full, without what differs from one time to the next.
pub(crate) fn shown(reply: &Reply) -> String {
    let mut whole = serde_json::to_value(reply).unwrap();
    let meta = whole["meta"].as_object_mut().unwrap();
    let run = meta.get("run").and_then(Value::as_str).map(str::to_owned);
    meta["trace_id"] = json!("TRACE");
    for counted in ["duration_ms", "fuel", "memory_bytes"] {
        if meta[counted] != 0 || counted == "duration_ms" {
            meta[counted] = json!("COUNTED");
        }
    }
    let text = serde_json::to_string_pretty(&whole).unwrap();
    run.map_or_else(|| text.clone(), |run| text.replace(&run, "RUN"))
}

/// Calls twice under one key and says what became of it: the code, the run, and for the second time whether the
/// stored answer came, byte for byte.
pub(crate) async fn twice(host: &Host, tool: &str, input: &Value, key: &str) -> (Reply, Reply) {
    let first = host.call(keyed(tool, input, key)).await;
    let second = host.call(keyed(tool, input, key)).await;
    (first, second)
}

/// Asserts that a reply is the stored one of an earlier call.
#[track_caller]
pub(crate) fn assert_stored(first: &Reply, again: &Reply) {
    assert_eq!((first.ok(), text(first)), (again.ok(), text(again)));
    assert_eq!(first.meta.run, again.meta.run);
    assert!(again.meta.replayed, "{} was carried out a second time", code(again));
}
