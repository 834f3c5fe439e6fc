//! Messages as they cross: a line is read once, a fault in it is answered under the id that it bears, and what a
//! client withdraws is told to the call that it means.

use std::borrow::Cow;
use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcMessage,
    RequestId, RequestMetaObject, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::error::Category;
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio::time::Sleep;

use super::stdio::{Answer, Line};
use crate::front::leave::Leave;
use crate::host::{Cancel, Host};
use crate::model::id::RunId;
use crate::model::reply::Reply;

/// Methods that are served; any other is not found.
const SERVED: &[&str] =
    &["initialize", "ping", "server/discover", "tools/list", "tools/call", "subscriptions/listen"];

/// What a request brings beside what the protocol's types hold.
#[derive(Debug, Clone)]
pub(super) struct Brought {
    /// The arguments of a call as they came: the host reads numbers and names as they were written.
    pub(super) arguments: String,
    /// The client's word that it wants no more of it.
    pub(super) cancel: Cancel,
    /// What is told once its answer has gone out.
    pub(super) delivery: Delivery,
}

/// The run whose result an answer bears, where that is to be told once it has gone out.
#[derive(Debug, Clone, Default)]
pub(super) struct Delivery(Arc<OnceLock<RunId>>);

impl Delivery {
    /// Says which run it is.
    pub(super) fn of(&self, reply: &Reply) {
        if let Some(run) = reply.undelivered {
            let _ = self.0.set(run);
        }
    }
}

/// A request that has not been answered yet.
#[derive(Debug, Clone, Default)]
struct Open {
    cancel: Cancel,
    delivery: Delivery,
}

/// The two ends of the connection, as rmcp drives them.
pub(super) struct Wire {
    lines: mpsc::Receiver<Line>,
    out: mpsc::UnboundedSender<Answer>,
    under_way: Arc<Mutex<HashMap<RequestId, Open>>>,
    host: Host,
    gone: Cancel,
    leave: Leave,
    /// How long, after the last line, answers are waited for.
    patience: Duration,
    ends: Option<Pin<Box<Sleep>>>,
}

/// The head of a message; the rest is read by what it says.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    jsonrpc: Option<Cow<'a, str>>,
    #[serde(default)]
    id: Id,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    result: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
}

/// Which message it is: one without an id wants no answer.
#[derive(Default)]
enum Id {
    #[default]
    None,
    /// As only an answer to what could not be read may have it.
    Null,
    Given(RequestId),
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Option::deserialize(deserializer)?.map_or(Self::Null, Self::Given))
    }
}

/// The parameters of a call. Those of the arguments are left as they are.
#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(rename = "_meta")]
    meta: Option<RequestMetaObject>,
}

#[derive(Deserialize)]
struct Withdrawn {
    #[serde(rename = "requestId")]
    request: Option<RequestId>,
}

/// Why a line is no message, and which one it would have been.
#[derive(Debug)]
struct Refusal {
    id: Option<RequestId>,
    error: ErrorData,
}

impl Wire {
    pub(super) fn new(
        lines: mpsc::Receiver<Line>,
        out: mpsc::UnboundedSender<Answer>,
        host: Host,
        gone: Cancel,
        leave: Leave,
        patience: Duration,
    ) -> Self {
        Self { lines, out, under_way: Arc::default(), host, gone, leave, patience, ends: None }
    }

    /// The message of a line; none where there is nothing to do about it.
    fn read(&self, line: &[u8]) -> Result<Option<ClientJsonRpcMessage>, Refusal> {
        let head = Head::read(line).map_err(|error| Refusal { id: None, error })?;
        let refusal = |error| Refusal { id: head.id.given().cloned(), error };
        let invalid = |text: &str| refusal(ErrorData::invalid_request(text.to_owned(), None));
        if head.jsonrpc.as_deref() != Some("2.0") {
            return Err(invalid("the message does not say `\"jsonrpc\": \"2.0\"`"));
        }
        match (head.method.as_deref(), &head.id) {
            // Nothing was asked of the client, so there is nothing to answer.
            (None, _) if head.result.is_some() || head.error.is_some() => Ok(None),
            (None, _) => Err(invalid("the message names no `method`")),
            (Some(_), Id::Null) => Err(invalid("the `id` of a request is a number or a text, and not null")),
            (Some("notifications/cancelled"), Id::None) => Ok(self.withdraw(line, head.params)),
            // No other notification changes what is served.
            (Some(_), Id::None) => Ok(None),
            (Some(_), Id::Given(id)) if self.lock().contains_key(id) => {
                Err(invalid("a request with this id is under way"))
            }
            (Some("tools/call"), Id::Given(id)) => self.call(id, head.params).map(Some).map_err(refusal),
            (Some(method), Id::Given(id)) => self.request(id, method, line).map(Some).map_err(refusal),
        }
    }

    /// The request to call a tool. Its arguments are not read here: they may be large, and it is the host that says
    /// what is wrong with them.
    fn call(&self, id: &RequestId, params: Option<&RawValue>) -> Result<ClientJsonRpcMessage, ErrorData> {
        let read = params.map(|params| serde_json::from_str::<Call<'_>>(params.get()));
        let call = match read {
            Some(Ok(call)) => call,
            Some(Err(error)) => return Err(malformed("tools/call", &error)),
            None => return Err(ErrorData::invalid_params("the parameters of tools/call are missing", None)),
        };
        let mut request = CallToolRequest::new(CallToolRequestParams::new(call.name.into_owned()));
        request.extensions.insert(call.meta.unwrap_or_default());
        let arguments = call.arguments.map_or("{}", RawValue::get).to_owned();
        let Open { cancel, delivery } = self.enter(id);
        request.extensions.insert(Brought { arguments, cancel, delivery });
        Ok(ClientJsonRpcMessage::request(ClientRequest::CallToolRequest(request), id.clone()))
    }

    fn request(&self, id: &RequestId, method: &str, line: &[u8]) -> Result<ClientJsonRpcMessage, ErrorData> {
        let message = serde_json::from_slice(line).map_err(|error| malformed(method, &error))?;
        // What fits no type of its own is taken for a method that only the application knows.
        let unfit = matches!(
            &message,
            ClientJsonRpcMessage::Request(request) if matches!(request.request, ClientRequest::CustomRequest(_))
        );
        if unfit && SERVED.contains(&method) {
            return Err(ErrorData::invalid_params(
                format!("the parameters of {method} cannot be read"),
                None,
            ));
        }
        self.enter(id);
        Ok(message)
    }

    /// Notes that a request is under way.
    fn enter(&self, id: &RequestId) -> Open {
        let open = Open::default();
        self.lock().insert(id.clone(), open.clone());
        open
    }

    /// Tells the call that its client wants no more of it. What is not under way has been answered by now.
    fn withdraw(&self, line: &[u8], params: Option<&RawValue>) -> Option<ClientJsonRpcMessage> {
        let withdrawn: Withdrawn = serde_json::from_str(params?.get()).ok()?;
        let open = self.lock().remove(&withdrawn.request?)?;
        open.cancel.ask();
        serde_json::from_slice(line).ok()
    }

    /// The next line; none once standard input ends, or this process was asked to end.
    async fn line(&mut self) -> Option<Line> {
        tokio::select! {
            biased;
            () = self.leave.asked.asked() => None,
            line = self.lines.recv() => line,
        }
    }

    fn put(&self, message: &ServerJsonRpcMessage) -> io::Result<()> {
        let mut delivers = None;
        match message {
            JsonRpcMessage::Error(refused) => {
                let code = refused.error.code.0;
                tracing::warn!(code, "refused a request: {}", refused.error.message.escape_debug());
                refused.id.as_ref().map(|id| self.lock().remove(id));
            }
            JsonRpcMessage::Response(response) => {
                let open = self.lock().remove(&response.id);
                delivers = open.and_then(|open| open.delivery.0.get().copied());
                // The client may ask again as soon as it has read this.
                delivers.iter().for_each(|run| self.host.delivering(*run));
            }
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => {}
        }
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        self.out.send(Answer { line, delivers }).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RequestId, Open>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Transport<RoleServer> for Wire {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        std::future::ready(self.put(&message))
    }

    /// The next message. Once there is none, what is under way is still answered: whoever closes standard input may
    /// read on.
    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        while let Some(line) = self.line().await {
            let read = match &line {
                Line::Whole(line) if line.trim_ascii().is_empty() => Ok(None),
                Line::Whole(line) => self.read(line),
                Line::TooLong(longest) => {
                    let text = format!("a message has at most {longest} bytes; this one was longer");
                    Err(Refusal { id: None, error: ErrorData::invalid_request(text, None) })
                }
            };
            match read {
                Ok(Some(message)) => return Some(message),
                Ok(None) => {}
                Err(Refusal { id, error }) => self.put(&ServerJsonRpcMessage::error(error, id)).ok()?,
            }
        }
        self.gone.ask();
        // Whenever something is answered, rmcp begins to wait here anew.
        if !self.lock().is_empty() {
            let patience = self.patience;
            let ends = self.ends.get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
            tokio::select! {
                () = ends.as_mut() => {}
                () = self.leave.over.asked() => {}
            }
        }
        None
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Id {
    fn given(&self) -> Option<&RequestId> {
        match self {
            Self::Given(id) => Some(id),
            Self::None | Self::Null => None,
        }
    }
}

impl<'a> Head<'a> {
    /// The head of the message that a line is. Where it is none, nothing is known of it, not even an id.
    fn read(line: &'a [u8]) -> Result<Self, ErrorData> {
        let text = |error: serde_json::Error| match error.classify() {
            Category::Syntax | Category::Eof | Category::Io => {
                ErrorData::parse_error(format!("the line is no JSON: {error}"), None)
            }
            Category::Data => ErrorData::invalid_request(format!("the line is no message: {error}"), None),
        };
        if line.trim_ascii_start().starts_with(b"{") {
            return serde_json::from_slice(line).map_err(text);
        }
        serde_json::from_slice::<IgnoredAny>(line).map_err(text)?;
        Err(ErrorData::invalid_request("a message is one JSON object", None))
    }
}

fn malformed(method: &str, error: &serde_json::Error) -> ErrorData {
    ErrorData::invalid_params(format!("the parameters of {method} cannot be read: {error}"), None)
}
