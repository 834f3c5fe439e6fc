//! What a client may ask for: the list of tools, and a call of one of them.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt as _;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, SubscriptionFilter,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler};

use super::answer::{failed, result, text};
use super::asked::Asked;
use super::listing::Listing;
use super::names::BETWEEN;
use super::own::Own;
use super::teller::Teller;
use super::wire::Brought;
use crate::host::{Cancel, Changes, Host, Progress, Request};
use crate::model::code;
use crate::model::failure::Failure;
use crate::model::id::{CallerName, SceneName, TraceId};
use crate::model::nearest::nearest_tools;
use crate::model::reply::Reply;

/// What a model is told of all tools at once. All of it holds today.
const INSTRUCTIONS: &str = "\
Every call is carried out in a sandbox and written down. An error says what happened and what to do: do that, and \
nothing else.
- A call that takes long answers STILL_RUNNING with its run, and goes on. Ask for its result with \
airlock__result {\"run\": \"…\"}; do not call the tool again.
- A result that was cut says so. The whole is given in parts by airlock__page {\"run\": \"…\"}.
- The same call made twice in a row is done once: the second answers ALREADY_DONE or ALREADY_RUNNING, with the first \
result, and nothing runs. Where a second one is truly wanted, make the same call with \
\"airlock_repeat_of\": \"the run that the answer names\".
- OUTCOME_UNKNOWN and PARTLY_DONE: it may have been done, or part of it was. Do not call again in whatever form; tell \
the user that a person must look at it. Neither you nor this server can settle it.
- LOOP_DETECTED: the same calls gave the same replies again and again. Do something else, or tell the user what is \
missing.
- NEEDS_PERSON and PERMISSION_DENIED: whoever runs this host must allow it. Nothing that you call can.";

/// One client's door to the host.
pub(super) struct Door {
    host: Host,
    caller: CallerName,
    /// The scene that whoever started this chose.
    scene: Option<SceneName>,
    /// The conversation of calls that bring no trace: a client has one session here.
    session: TraceId,
    /// Said once the client sends nothing more.
    gone: Cancel,
    listing: Mutex<Option<Arc<Listing>>>,
}

impl Door {
    pub(super) fn new(host: Host, caller: CallerName, scene: Option<SceneName>, gone: Cancel) -> Self {
        let session = host.new_trace();
        Self { host, caller, scene, session, gone, listing: Mutex::default() }
    }

    /// The tools as they are now.
    fn listing(&self) -> Result<Arc<Listing>, ErrorData> {
        let edition = self.host.edition();
        let mut kept = self.listing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(listing) = kept.as_ref().filter(|listing| listing.edition == edition) {
            return Ok(Arc::clone(listing));
        }
        let views =
            self.host.tools(&self.caller, self.scene.as_ref()).map_err(|failure| refused(&failure))?;
        let listing = Arc::new(Listing::new(edition, &views));
        *kept = Some(Arc::clone(&listing));
        Ok(listing)
    }

    /// The list as it is now, and what tells when that may be another one.
    pub(super) fn since_now(&self) -> (Changes, Option<Arc<Listing>>) {
        (self.host.changes(), self.listing().ok())
    }

    /// Tells a client, by `tell`, whenever its list is another one since then, until it is gone.
    pub(super) async fn keep_told<F>(
        &self,
        (mut changes, mut known): (Changes, Option<Arc<Listing>>),
        mut tell: impl FnMut() -> F,
    ) where
        F: Future<Output = bool>,
    {
        loop {
            tokio::select! {
                more = changes.changed() => if !more { return },
                () = self.gone.asked() => return,
            }
            let now = self.listing().ok();
            let tools =
                |listing: &Option<Arc<Listing>>| listing.as_ref().map(|listing| listing.tools.clone());
            if tools(&now) != tools(&known) && !tell().await {
                return;
            }
            known = now;
        }
    }

    async fn call(
        &self,
        name: &str,
        brought: Brought,
        asked: Asked,
        teller: Option<Teller>,
    ) -> Result<CallToolResult, ErrorData> {
        let Brought { arguments, cancel, delivery } = brought;
        let listing = self.listing()?;
        if let Some(own) = Own::named(name) {
            let who = (&self.caller, asked.user.as_ref());
            let told = own.ask(&self.host, who, &arguments, &listing, &delivery).await;
            return Ok(told.unwrap_or_else(|failure| failed(&failure)));
        }
        let meant = listing.meant(name);
        let (progress, steps) = Progress::new();
        let request = Request {
            user: asked.user,
            scene: self.scene.clone(),
            key: asked.key,
            trace: Some(asked.trace.unwrap_or_else(|| self.session.clone())),
            conversation: true,
            cancel: Some(cancel),
            progress: teller.is_some().then_some(progress),
            told: asked.told,
            usage: asked.usage,
            background: asked.background,
            ..Request::new(name, arguments, self.caller.clone())
        };
        let Some(meant) = meant else { return self.told(name, &self.host.absent(request).await, false) };
        let request = Request { tool: meant.tool.to_string(), ..request };
        let told = async {
            match teller {
                Some(teller) => teller.tell(steps).await,
                None => std::future::pending().await,
            }
        };
        let reply = tokio::select! {
            biased;
            reply = self.host.call_within(request) => reply,
            never = told => match never {},
        };
        delivery.of(&reply);
        self.told(name, &reply, meant.structured)
    }

    /// A reply as the client gets it. That a tool is not there, or not any more, is the protocol's own error.
    fn told(&self, name: &str, reply: &Reply, structured: bool) -> Result<CallToolResult, ErrorData> {
        let listing = self.listing()?;
        if reply.code().as_deref() != Some(code::UNKNOWN_TOOL) {
            return Ok(result(reply, structured, &listing));
        }
        let mut unknown = unknown(name, &listing);
        if let Some(rounds) = reply.meta.rounds {
            unknown.message = format!("{}. {rounds}", unknown.message).into();
        }
        Err(unknown)
    }
}

impl ServerHandler for Door {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build();
        let airlock = Implementation::new("airlock", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(capabilities).with_server_info(airlock).with_instructions(INSTRUCTIONS)
    }

    fn accepted_subscription_filter(&self, _requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(SubscriptionFilter::builder().tools_list_changed().build())
    }

    /// Clients of the newer line are told of changes where they asked for it.
    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        let sink = subscription.sink();
        tokio::select! {
            () = self.keep_told(self.since_now(), async || sink.notify_tool_list_changed().await.is_ok()) => {}
            () = subscription.cancelled() => {}
        }
        Ok(())
    }

    async fn list_tools(
        &self,
        page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if page.is_some_and(|page| page.cursor.is_some()) {
            return Err(ErrorData::invalid_params("there is one page, and this cursor leads to none", None));
        }
        Ok(ListToolsResult::with_all_items(self.listing()?.tools.clone()))
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let asked = Asked::read(&context.meta)?;
        let brought = context.extensions.get::<Brought>().cloned();
        let brought = brought.ok_or_else(|| ErrorData::internal_error("the call brings nothing", None))?;
        let withdrawn = brought.cancel.clone();
        let call = self.call(&params.name, brought, asked, Teller::of(&context));
        tokio::select! {
            biased;
            // Whatever goes wrong inside, a request is answered.
            called = AssertUnwindSafe(call).catch_unwind() => {
                let failure = || Ok(failed(&Failure::internal("the host failed inside")));
                called.unwrap_or_else(|_| failure()).map(CallToolResponse::from)
            }
            // The host has heard it too; nobody reads what is answered now.
            () = withdrawn.asked() => Err(ErrorData::internal_error("the call was withdrawn", None)),
        }
    }
}

/// The error for a tool that is not there.
fn unknown(name: &str, listing: &Listing) -> ErrorData {
    let names: Vec<&str> = listing.tools.iter().map(|tool| &*tool.name).collect();
    let near = nearest_tools(name, BETWEEN, &names);
    let shown: String = name.chars().filter(|letter| !letter.is_control()).take(100).collect();
    let text = match near.as_slice() {
        [] => format!("there is no such tool: {shown}"),
        near => format!("there is no such tool: {shown}; did you mean {}?", near.join(" or ")),
    };
    ErrorData::invalid_params(text, None)
}

fn refused(failure: &Failure) -> ErrorData {
    ErrorData::internal_error(text(&failure.to_json(), None), None)
}
