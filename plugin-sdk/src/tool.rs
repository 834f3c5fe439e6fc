//! What a tool is.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Attachment, Cleanup, Context, Declaration, Happened, PastEffect, Planned, ToolError, Undone};

/// One thing that a caller can do.
///
/// The type itself holds nothing: every call runs in a fresh instance.
pub trait Tool {
    /// `[a-z][a-z0-9_]*`, without `__`: `create_ticket`.
    const NAME: &'static str;

    /// What a model fills in. Its schema is closed: fields that it does not name are dropped.
    type Input: DeserializeOwned + JsonSchema;

    /// What the caller gets: a type that serialises, or [`Reply`] around one.
    type Output: Answer;

    /// What the tool may do and needs. Called with nothing granted; the same answer every time.
    fn declare() -> Declaration;

    /// Does it. `input` has passed the schema.
    ///
    /// # Errors
    /// Whatever keeps the tool from doing its work.
    fn call(input: Self::Input, context: &Context) -> Result<Self::Output, ToolError>;

    /// Says what `call` would do, and changes nothing. Only needs that read are given.
    ///
    /// # Errors
    /// `fatal` unless the tool says otherwise.
    fn preview(input: Self::Input, context: &Context) -> Result<Planned, ToolError> {
        let _ = (input, context);
        Err(not_offered(Self::NAME, "preview"))
    }

    /// Undoes exactly what that one call did. Safe to repeat, and when it never happened.
    ///
    /// # Errors
    /// `fatal` unless the tool says otherwise.
    fn rollback(past: PastCall<Self::Input>, context: &Context) -> Result<Undone, ToolError> {
        let _ = (past, context);
        Err(not_offered(Self::NAME, "rollback"))
    }

    /// The state of what that call touched, now; unknown unless the tool says otherwise. Equal
    /// states give equal text. Only needs that read are given.
    ///
    /// # Errors
    /// Whatever keeps the tool from finding out.
    fn fingerprint(past: PastCall<Self::Input>, context: &Context) -> Result<Option<String>, ToolError> {
        let _ = (past, context);
        Ok(None)
    }

    /// Finds out whether that call took effect, and changes nothing; unknown unless the tool says
    /// otherwise. Only needs that read are given. It is asked where nobody knows what became of a
    /// call: `Yes` makes its output the call's result, `No` lets the call be made again, so say it
    /// only where the backend is not still at it, and after `Unknown` a person decides. Where it
    /// fails it is asked again, a few times.
    ///
    /// # Errors
    /// Whatever keeps the tool from finding out.
    fn probe(past: PastCall<Self::Input>, context: &Context) -> Result<Probed<Self::Output>, ToolError> {
        let _ = (past, context);
        Ok(Probed::Unknown)
    }
}

fn not_offered(tool: &str, what: &str) -> ToolError {
    ToolError::fatal("NOT_OFFERED", format!("{tool} has no {what}"))
}

/// What a tool gives back: any type that serialises, or a [`Reply`] around one.
pub trait Answer {
    /// The part that the output schema describes.
    type Data: Serialize + JsonSchema;

    /// The same with what else a reply can carry.
    fn into_reply(self) -> Reply<Self::Data>;
}

impl<T: Serialize + JsonSchema> Answer for T {
    type Data = T;

    fn into_reply(self) -> Reply<T> {
        Reply::new(self)
    }
}

impl<T: Serialize + JsonSchema> Answer for Reply<T> {
    type Data = T;

    fn into_reply(self) -> Self {
        self
    }
}

/// An output with what the host should know beside it.
#[derive(Debug, Clone)]
pub struct Reply<T> {
    pub(crate) data: T,
    pub(crate) attachments: Vec<Attachment>,
    pub(crate) fingerprint: Option<String>,
    pub(crate) cleanup: Option<Cleanup>,
}

impl<T> Reply<T> {
    /// The output alone.
    pub fn new(data: T) -> Self {
        Self { data, attachments: Vec::new(), fingerprint: None, cleanup: None }
    }

    /// The state of what the call touched, as the backend's own answer tells it: an `ETag`, a
    /// version. The same text that [`Tool::fingerprint`] gives for that state. Without it the host asks
    /// for that as soon as the call has ended, and takes what somebody else changed in between for the
    /// call's own.
    #[must_use]
    pub fn fingerprint(mut self, state: impl Into<String>) -> Self {
        self.fingerprint = Some(state.into());
        self
    }

    /// A stricter clean-up than the tool declares, for this outcome.
    #[must_use]
    pub fn cleanup(mut self, cleanup: Cleanup) -> Self {
        self.cleanup = Some(cleanup);
        self
    }

    /// Adds a picture, a sound, a file.
    #[must_use]
    pub fn attach(mut self, attachment: Attachment) -> Self {
        self.attachments.push(attachment);
        self
    }
}

/// A call that the host wants to look at or take back.
#[derive(Debug, Clone)]
pub struct PastCall<I> {
    /// What it was called with.
    pub input: I,
    /// What it returned, where the host knows.
    pub output: Option<Value>,
    /// Whether it took effect, as far as the host knows.
    pub happened: Happened,
    /// The key that its attempts had.
    pub idempotency_key: String,
    /// The requests that the host carried out for it.
    pub effects: Vec<PastEffect>,
    /// The state that it left.
    pub fingerprint: Option<String>,
    /// What it gave to the host to keep.
    pub saved: Option<Vec<u8>>,
}

/// Whether a past call took effect.
#[derive(Debug, Clone)]
pub enum Probed<O> {
    /// It did, with its result where that can still be told.
    Yes(Option<O>),
    /// It did not.
    No,
    /// Nobody can tell.
    Unknown,
}
