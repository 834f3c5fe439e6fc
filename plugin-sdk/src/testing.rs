//! Runs tools in their own tests, natively: a stand-in for the host gives what the test says, and remembers what it was asked.
//!
//! As with the host, a tool gets what it declares *and* is given: what either leaves out is refused. What the host checks
//! before a call, the input's schema above all, is not checked here, and nothing is retried.
//!
//! ```
//! use airlock_sdk::testing::{Answer, Host};
//! # use airlock_sdk::{Cleanup, Context, Declaration, Origin, Repeat, Risk, Tool, ToolError, config, http};
//! # use schemars::JsonSchema;
//! # use serde::{Deserialize, Serialize};
//! # use serde_json::json;
//! # #[derive(Deserialize, JsonSchema)]
//! # struct Place { town: String }
//! # #[derive(Serialize, Deserialize, JsonSchema)]
//! # struct Weather { temperature: f64 }
//! # struct Now;
//! # impl Tool for Now {
//! #     const NAME: &'static str = "now";
//! #     type Input = Place;
//! #     type Output = Weather;
//! #     fn declare() -> Declaration {
//! #         Declaration::new("The weather now").risk(Risk::PublicRead).repeat(Repeat::Reads).cleanup(Cleanup::Nothing)
//! #             .config("weather_url").http(Origin::configured("weather_url").get(["/now"]))
//! #     }
//! #     fn call(place: Place, _context: &Context) -> Result<Weather, ToolError> {
//! #         let url = config::require("weather_url")? + "/now";
//! #         Ok(http::get(url).query("town", &place.town).send()?.ok()?.json()?)
//! #     }
//! # }
//! let host = Host::new()
//!     .config("weather_url", "https://weather.test")
//!     .answer("GET", "https://weather.test/now?town=Bonn", Answer::json(200, json!({ "temperature": 7.5 })));
//! assert_eq!(host.call::<Now>(json!({ "town": "Bonn" })).unwrap(), json!({ "temperature": 7.5 }));
//! assert_eq!(host.requests()[0].header("authorization"), None);
//! ```

mod declared;
pub(crate) mod folders;
pub(crate) mod stand_in;

use std::cell::{Ref, RefCell, RefMut};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::rc::Rc;

use serde_json::Value;

use crate::bindings::reader::airlock::plugin::types::Need;
use crate::{Access, Answer as Output, Attachment, Context, Reply, Tool, ToolError};

pub use crate::bindings::reader::airlock::plugin::host::Level;

/// A stand-in for the host. Clones are the same one.
///
/// It ends the test where a request comes that no answer was given for, and where an answer was never asked for.
#[derive(Debug, Clone)]
pub struct Host {
    state: Rc<RefCell<State>>,
}

#[derive(Debug)]
struct State {
    config: BTreeMap<String, String>,
    secrets: BTreeSet<String>,
    folders: BTreeMap<String, (PathBuf, Access)>,
    answers: VecDeque<(String, String, Answer)>,
    requests: Vec<Sent>,
    kept: BTreeMap<String, Vec<u8>>,
    staged: BTreeMap<String, Option<Vec<u8>>>,
    saved: Option<Vec<u8>>,
    spent: Vec<(u64, String)>,
    lines: Vec<(Level, String, Value)>,
    told: Vec<(u32, Option<u32>, String)>,
    stop: bool,
    context: Context,
    /// What the tool that runs declares; none where none runs.
    needs: Vec<Need>,
}

/// What a backend answers.
#[derive(Debug, Clone)]
pub struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    /// Why there is none.
    lost: Option<Lost>,
}

/// How an answer fails to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lost {
    /// Nothing left the host.
    NotSent,
    /// It was cut, or too late, after sending began.
    Broken,
    /// It is larger than the limit.
    TooLarge,
}

/// A request that was sent, with stand-ins where secrets go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// `GET`, `POST`.
    pub method: String,
    /// The whole URL.
    pub url: String,
    /// As the tool gave them.
    pub headers: Vec<(String, String)>,
    /// As the tool gave it.
    pub body: Vec<u8>,
}

impl Sent {
    /// The first header of this name, in whatever case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(key, _)| key.eq_ignore_ascii_case(name));
        values.next().map(|(_, value)| value.as_str())
    }

    /// The body read as JSON; null where it is none.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

impl Answer {
    /// An answer with this body.
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: Vec::new(), body: body.into(), lost: None }
    }

    /// An answer in JSON.
    #[must_use]
    pub fn json(status: u16, body: Value) -> Self {
        Self::new(status, body.to_string()).header("content-type", "application/json")
    }

    /// An answer that does not come.
    #[must_use]
    pub fn lost(how: Lost) -> Self {
        Self { lost: Some(how), ..Self::new(0, Vec::new()) }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }
}

impl Default for Host {
    fn default() -> Self {
        Self::new()
    }
}

impl Host {
    /// A host that gives nothing yet.
    #[must_use]
    pub fn new() -> Self {
        let context = Context {
            run_id: "01J00000000000000000000000".to_owned(),
            step: 1,
            attempt: 1,
            idempotency_key: "test-key".to_owned(),
            caller: "local".to_owned(),
            user: None,
            trace_id: "0".repeat(32),
            time_left_ms: 30_000,
            saved: None,
            attachments: Vec::new(),
        };
        let state = State {
            config: BTreeMap::new(),
            secrets: BTreeSet::new(),
            folders: BTreeMap::new(),
            answers: VecDeque::new(),
            requests: Vec::new(),
            kept: BTreeMap::new(),
            staged: BTreeMap::new(),
            saved: None,
            spent: Vec::new(),
            lines: Vec::new(),
            told: Vec::new(),
            stop: false,
            needs: Vec::new(),
            context,
        };
        Self { state: Rc::new(RefCell::new(state)) }
    }

    /// Sets a configuration value.
    #[must_use]
    pub fn config(self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.set(|state| drop(state.config.insert(key.into(), value.into())))
    }

    /// Gives a secret. Its stand-in is `{{NAME}}`, which is what [`Host::requests`] shows.
    #[must_use]
    pub fn secret(self, name: impl Into<String>) -> Self {
        self.set(|state| state.secrets.extend([name.into()]))
    }

    /// Lends a folder of the test's own under this name.
    #[must_use]
    pub fn folder(self, name: impl Into<String>, path: impl Into<PathBuf>, access: Access) -> Self {
        self.set(|state| drop(state.folders.insert(name.into(), (path.into(), access))))
    }

    /// Keeps a value in the plugin's own store.
    #[must_use]
    pub fn kept(self, key: impl Into<String>, value: impl Into<Vec<u8>>) -> Self {
        self.set(|state| drop(state.kept.insert(key.into(), value.into())))
    }

    /// Answers the next such request, once. The URL is whole, with its query.
    #[must_use]
    pub fn answer(self, method: impl Into<String>, url: impl Into<String>, answer: Answer) -> Self {
        self.set(|state| state.answers.push_back((method.into(), url.into(), answer)))
    }

    /// Says on whose behalf the caller asks.
    #[must_use]
    pub fn user(self, user: impl Into<String>) -> Self {
        self.set(|state| state.context.user = Some(user.into()))
    }

    /// Gives the call an attachment.
    #[must_use]
    pub fn attach(self, attachment: Attachment) -> Self {
        self.set(|state| state.context.attachments.push(attachment))
    }

    /// Asks the tool to come to an end.
    #[must_use]
    pub fn stop(self) -> Self {
        self.set(|state| state.stop = true)
    }

    /// Calls a tool, and gives its output; each further call is the next attempt, with what the one before saved.
    ///
    /// # Errors
    /// What the tool says.
    pub fn call<T: Tool>(&self, input: Value) -> Result<Value, ToolError> {
        Ok(serde_json::to_value(self.reply::<T>(input)?.data)?)
    }

    /// The same with all that a reply carries beside the output.
    ///
    /// # Errors
    /// What the tool says.
    pub fn reply<T: Tool>(&self, input: Value) -> Result<Reply<<T::Output as Output>::Data>, ToolError> {
        let reply = self.run::<T, _>(|context| {
            let input = serde_json::from_value(input)
                .map_err(|error| ToolError::invalid_input("INVALID_INPUT", error.to_string()))?;
            T::call(input, context).map(Output::into_reply)
        });
        let mut state = self.change();
        let staged = std::mem::take(&mut state.staged);
        if reply.is_ok() {
            for (key, value) in staged {
                match value {
                    Some(value) => state.kept.insert(key, value),
                    None => state.kept.remove(&key),
                };
            }
        }
        state.context.attempt += 1;
        state.context.saved = state.saved.clone();
        drop(state);
        reply
    }

    /// Runs whatever of a tool: its preview, its rollback, a function within it.
    pub fn run<T: Tool, R>(&self, work: impl FnOnce(&Context) -> R) -> R {
        self.change().needs = crate::export::declare::<T>().needs;
        let context = self.look().context.clone();
        let before = stand_in::enter(Some(self.clone()));
        let _leave = stand_in::Leave(before);
        work(&context)
    }

    /// The requests that were sent, in order.
    #[must_use]
    pub fn requests(&self) -> Vec<Sent> {
        self.look().requests.clone()
    }

    /// What was written to the log: level, message and fields.
    #[must_use]
    pub fn lines(&self) -> Vec<(Level, String, Value)> {
        self.look().lines.clone()
    }

    /// How far the tool said that it was: how much, of how much, and what.
    #[must_use]
    pub fn told(&self) -> Vec<(u32, Option<u32>, String)> {
        self.look().told.clone()
    }

    /// What the tool says that it cost, in millionths, and what for.
    #[must_use]
    pub fn spent(&self) -> Vec<(u64, String)> {
        self.look().spent.clone()
    }

    /// What the next attempt would find.
    #[must_use]
    pub fn saved(&self) -> Option<Vec<u8>> {
        self.look().saved.clone()
    }

    /// What the plugin's own store has under this key, once calls that succeeded are counted.
    #[must_use]
    pub fn value(&self, key: &str) -> Option<Vec<u8>> {
        self.look().kept.get(key).cloned()
    }

    fn set(self, set: impl FnOnce(&mut State)) -> Self {
        set(&mut self.change());
        self
    }

    fn look(&self) -> Ref<'_, State> {
        self.state.borrow()
    }

    fn change(&self) -> RefMut<'_, State> {
        self.state.borrow_mut()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        if Rc::strong_count(&self.state) > 1 || std::thread::panicking() {
            return;
        }
        let left: Vec<String> =
            self.look().answers.iter().map(|(method, url, _)| format!("{method} {url}")).collect();
        assert!(left.is_empty(), "nobody asked for the answers to: {}", left.join(", "));
    }
}

#[cfg(test)]
mod tests;
