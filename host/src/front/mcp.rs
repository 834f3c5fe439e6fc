//! MCP over standard input and output: a client lists the tools that are there for its caller, and calls them.
//!
//! It translates and decides nothing. What a caller must not do, it has no way to ask for.

mod answer;
mod asked;
mod door;
mod listing;
mod names;
mod own;
mod schema;
mod stdio;
mod teller;
mod wire;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rmcp::ServiceExt as _;
use rmcp::service::ServerInitializeError;
use tokio::signal::unix::SignalKind;

use super::leave::Leave;
use crate::host::{Cancel, Host, Worker};
use crate::model::id::{CallerName, SceneName};
use crate::model::limits::Limits;
use door::Door;
use stdio::Stdio;
use wire::Wire;

/// What a message may have beside the arguments of a call.
const BESIDE: u64 = 64 << 10;

/// How long the last lines may take to be written to whoever reads them.
const LAST_LINES: Duration = Duration::from_secs(1);

/// Why the door does not open.
#[derive(Debug)]
pub enum Shut {
    /// The streams of the process cannot be used.
    Streams(std::io::Error),
    /// The first messages were none that a connection begins with.
    Beginning(String),
}

impl fmt::Display for Shut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Streams(error) => write!(f, "standard input and output cannot be used: {error}"),
            Self::Beginning(text) => write!(f, "no connection began: {text}"),
        }
    }
}

impl std::error::Error for Shut {}

/// Serves one client, with the plugins of a host that has loaded them, until standard input ends, and then waits for what is under way. Meanwhile
/// the worker makes calls in the background.
/// SIGTERM is the same, but for the time that is waited.
///
/// # Errors
/// Where the streams cannot be used, or no connection begins.
pub async fn serve(
    host: Host,
    limits: &Limits,
    caller: CallerName,
    scene: Option<SceneName>,
    worker: Worker,
) -> Result<(), Shut> {
    let longest = usize::try_from(limits.input.saturating_add(BESIDE)).unwrap_or(usize::MAX);
    let Stdio { lines, out, mut delivered, written } = stdio::take(longest).map_err(Shut::Streams)?;
    let leave = Leave::listen(&[SignalKind::terminate()]).map_err(Shut::Streams)?;
    let gone = Cancel::default();
    // A call waits for its key, then for a place, and then for its end.
    let patience = limits.wait.saturating_mul(3);
    let wire = Wire::new(lines, out, host.clone(), gone.clone(), leave.clone(), patience);
    let told = host.clone();
    let deliveries = tokio::spawn(async move {
        while let Some(run) = delivered.recv().await {
            told.delivered(run).await;
        }
    });
    let door = Arc::new(Door::new(host.clone(), caller, scene, gone));
    let since = door.since_now();
    let served = match Arc::clone(&door).serve(wire).await {
        Ok(service) => {
            let client = service.peer().clone();
            // A session was begun: whoever has one is told without having asked.
            if client.peer_info().is_some() {
                tokio::spawn(async move {
                    door.keep_told(since, async || client.notify_tool_list_changed().await.is_ok()).await;
                });
            }
            service.waiting().await.map(drop).map_err(|error| Shut::Beginning(error.to_string()))
        }
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(Shut::Beginning(error.to_string())),
    };
    // Nothing more is taken up; what was left to the background waits for another process.
    drop(worker);
    // The client is gone; what it asked for goes on to its end, which its key gives it when it comes again.
    tokio::select! {
        () = host.quiet(limits.attempt.saturating_add(limits.read)) => {}
        () = leave.over.asked() => {}
    }
    let _ = tokio::time::timeout(LAST_LINES, async { (written.await, deliveries.await) }).await;
    served
}
