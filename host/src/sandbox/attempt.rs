//! One attempt: a fresh instance that holds one tool's grants, run under every limit, and never used again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::oneshot;
use wasmtime::component::ResourceTable;
use wasmtime::{Store, UpdateDeadline};

use super::capability::effects::Effects;
use super::capability::http::Egress;
use super::capability::secrets::Placeholders;
use super::engine::{Engine, Prepared};
use super::grants::Grants;
use super::guest::{Guest, Serves};
use super::inert;
pub use super::inert::Sitting;
use super::limiter::{Held, Limiter};
use super::logbook::Logbook;
use super::threads::Group;
use super::traps;
use super::wit::types::{CallContext, Manifest};
use super::wit::{tools, types};
use crate::model::classify::{Ended, Limit};
use crate::model::failure::{Failure, Kind};
use crate::model::limits::Limits;
use crate::model::reply::Usage;

/// What may cross between guest and host in one call of a function beside the largest body or output.
const CROSSING: u64 = 1 << 20;

/// Details of errors that only the host gives.
const OWN_DETAILS: &[&str] = &["key", "run", "open", "done", "faults"];

/// The longest that a tool may ask a caller to wait.
const LONGEST_WAIT: Duration = Duration::from_secs(15 * 60);

/// Resources and handles of one store.
const HANDLES: usize = 4096;
const RESOURCES: usize = 1024;

/// What an attempt runs with.
#[derive(Debug)]
pub struct Attempt {
    /// The plugin.
    pub prepared: Prepared,
    /// The tool's own name.
    pub tool: String,
    /// What it is given.
    pub grants: Arc<Grants>,
    /// JSON text that has passed the tool's schema.
    pub input: String,
    /// What the tool may know of its call.
    pub context: Context,
    /// The journal of its effects.
    pub effects: Arc<Effects>,
    /// The way out.
    pub egress: Egress,
    /// Limits, the attempt's own time among them.
    pub limits: Limits,
    /// Where clock and random numbers start, for tools whose requests are keyed.
    pub sitting: Option<Sitting>,
    /// Whose turns it takes.
    pub group: Group,
    /// Where its log is kept.
    pub log: Logbook,
}

/// What a tool may know of the call that it serves.
#[derive(Debug, Clone)]
pub struct Context {
    /// The run's id.
    pub run: String,
    /// From 1.
    pub attempt: u32,
    /// Equal for every attempt of one action.
    pub key: String,
    /// Who asks.
    pub caller: String,
    /// Joins log lines.
    pub trace: String,
}

/// How an attempt ended, its effects apart.
#[derive(Debug)]
pub struct Finished {
    /// How.
    pub ended: Ended,
    /// What it used.
    pub usage: Usage,
}

/// What is seen of a guest from outside while it runs.
#[derive(Debug, Default)]
struct Seen {
    held: Arc<Held>,
    fuel_left: AtomicU64,
}

impl Engine {
    /// Runs an attempt; ends at the latest when its time is over, whatever the guest does.
    pub async fn attempt(&self, attempt: Attempt) -> Finished {
        let limits = attempt.limits.clone();
        let seen = Arc::new(Seen::default());
        seen.fuel_left.store(limits.fuel, Ordering::Relaxed);
        let (reply, answer) = oneshot::channel();
        let living = self.ticks.living();
        let engine = self.engine.clone();
        let within = Arc::clone(&seen);
        let (group, effects) = (attempt.group, Arc::clone(&attempt.effects));
        let running = self.threads.run(group, async move {
            let _living = living;
            let (ended, store) = serve(&engine, attempt, &within).await;
            // The reply goes first, and the store is dropped when nobody waits for it any more.
            let _ = reply.send(ended);
            drop(store);
        });
        let ended = match tokio::time::timeout(limits.attempt, answer).await {
            Ok(Ok(ended)) => {
                running.detach();
                ended
            }
            Ok(Err(_)) => Ended::Trapped("a host function panicked".to_owned()),
            Err(_) => Ended::Limit(Limit::Time(limits.attempt)),
        };
        let ended = effects.stopped().unwrap_or(ended);
        let fuel = limits.fuel.saturating_sub(seen.fuel_left.load(Ordering::Relaxed));
        let usage =
            Usage { fuel, memory: seen.held.most(), effects: effects.requests(), time: Duration::ZERO };
        Finished { ended, usage }
    }

    /// Asks a plugin what it is, with nothing granted.
    ///
    /// # Errors
    /// Where it traps or goes over a limit; the text is for the operator.
    pub async fn describe(
        &self,
        prepared: Prepared,
        limits: &Limits,
        log: &Logbook,
    ) -> Result<Manifest, String> {
        let engine = self.engine.clone();
        let (limits, log) = (limits.clone(), log.clone());
        let time = limits.attempt;
        let (reply, answer) = oneshot::channel();
        let living = self.ticks.living();
        let _running = self.threads.run(Group::of("", ""), async move {
            let _living = living;
            let _ = reply.send(describe(&engine, prepared, &limits, &log).await);
        });
        match tokio::time::timeout(time, answer).await {
            Ok(Ok(manifest)) => manifest,
            Ok(Err(_)) => Err("a host function panicked while it described itself".to_owned()),
            Err(_) => Err(format!("it took longer than {time:?} to describe itself ([limits] attempt)")),
        }
    }
}

async fn serve(engine: &wasmtime::Engine, attempt: Attempt, seen: &Arc<Seen>) -> (Ended, Store<Guest>) {
    let Attempt { prepared, tool, grants, input, context, effects, egress, limits, sitting, log, group: _ } =
        attempt;
    let serves = Serves { grants, effects, egress, texts: Placeholders::default() };
    let mut store = store(engine, &limits, &log, sitting, Arc::clone(&seen.held), Some(serves));
    let held = Arc::clone(&seen.held);
    let ended = async {
        let guest = match instance(&mut store, &prepared, &limits, seen).await {
            Ok(guest) => guest,
            Err(error) => return traps::instantiation(&error, &held, &limits),
        };
        let context = context.to_wit(limits.attempt);
        match guest.call_call(&mut store, &tool, &input, &context).await {
            Ok(Ok(reply)) => replied(reply, &limits),
            Ok(Err(error)) => declared(error, &limits),
            Err(error) => traps::read(&error, &held, &limits),
        }
    }
    .await;
    seen.fuel_left.store(store.get_fuel().unwrap_or(0), Ordering::Relaxed);
    (ended, store)
}

async fn describe(
    engine: &wasmtime::Engine,
    prepared: Prepared,
    limits: &Limits,
    log: &Logbook,
) -> Result<Manifest, String> {
    let seen = Arc::new(Seen::default());
    let mut store = store(engine, limits, log, None, Arc::clone(&seen.held), None);
    let failed = |error: wasmtime::Error| format!("it cannot describe itself: {error:#}\n{}", log.text());
    let guest = instance(&mut store, &prepared, limits, &seen).await.map_err(failed)?;
    guest.call_describe(&mut store).await.map_err(failed)
}

fn store(
    engine: &wasmtime::Engine,
    limits: &Limits,
    log: &Logbook,
    sitting: Option<Sitting>,
    held: Arc<Held>,
    serves: Option<Serves>,
) -> Store<Guest> {
    let mut table = ResourceTable::new();
    table.set_max_capacity(RESOURCES);
    let guest = Guest {
        wasi: inert::wasi(log, sitting),
        table,
        limiter: Limiter::new(limits.memory, held),
        log: log.clone(),
        serves,
    };
    let mut store = Store::new(engine, guest);
    store.limiter(|guest| &mut guest.limiter);
    let crossing = limits.body.max(limits.output).saturating_add(CROSSING);
    store.set_hostcall_fuel(usize::try_from(crossing).unwrap_or(usize::MAX));
    store.set_max_component_handles(HANDLES);
    store
}

async fn instance(
    store: &mut Store<Guest>,
    prepared: &Prepared,
    limits: &Limits,
    seen: &Arc<Seen>,
) -> wasmtime::Result<tools::Guest> {
    // Making the instance has fuel of its own: what a language needs to start is not the tool's doing.
    store.set_fuel(limits.fuel)?;
    store.set_epoch_deadline(1);
    let watched = Arc::clone(seen);
    store.epoch_deadline_callback(move |context| {
        watched.fuel_left.store(context.get_fuel().unwrap_or(0), Ordering::Relaxed);
        Ok(UpdateDeadline::Yield(1))
    });
    let instance = prepared.pre.instantiate_async(&mut *store).await?;
    let guest = prepared.tools.load(&mut *store, &instance)?;
    store.set_fuel(limits.fuel)?;
    Ok(guest)
}

impl Context {
    fn to_wit(&self, time_left: Duration) -> CallContext {
        CallContext {
            run_id: self.run.clone(),
            step: 1,
            attempt: self.attempt,
            idempotency_key: self.key.clone(),
            caller: self.caller.clone(),
            user: None,
            trace_id: self.trace.clone(),
            time_left_ms: u32::try_from(time_left.as_millis()).unwrap_or(u32::MAX),
            saved: None,
            attachments: Vec::new(),
        }
    }
}

fn replied(reply: types::Reply, limits: &Limits) -> Ended {
    if !reply.attachments.is_empty() {
        return Ended::BadOutput("the tool gave attachments, which this host does not take".to_owned());
    }
    if u64::try_from(reply.data.len()).unwrap_or(u64::MAX) > limits.output {
        return Ended::Limit(Limit::Output(limits.output));
    }
    Ended::Replied(reply.data)
}

/// A tool's own error, in the host's words where the tool must not choose them.
fn declared(error: types::ToolError, limits: &Limits) -> Ended {
    let texts =
        [Some(&error.message), error.user_message.as_ref(), error.details.as_ref(), Some(&error.code)];
    let size: usize = texts.into_iter().flatten().map(String::len).sum();
    if u64::try_from(size).unwrap_or(u64::MAX) > limits.output {
        return Ended::Limit(Limit::Output(limits.output));
    }
    let details = match error.details.as_deref().map(serde_json::from_str::<serde_json::Value>) {
        None => None,
        Some(Ok(mut details)) => {
            // What these say, the host says: which key is safe, and which run stands in the way.
            if let Some(fields) = details.as_object_mut() {
                fields.retain(|name, _| !OWN_DETAILS.contains(&name.as_str()));
            }
            Some(details)
        }
        Some(Err(fault)) => return Ended::BadOutput(format!("the details of an error are no JSON: {fault}")),
    };
    let kind = match error.kind {
        types::ErrorKind::InvalidInput => Kind::InvalidInput,
        types::ErrorKind::Rejected => Kind::Rejected,
        types::ErrorKind::Ambiguous => Kind::Ambiguous,
        types::ErrorKind::Denied => Kind::Denied,
        types::ErrorKind::Transient => Kind::Transient,
        types::ErrorKind::Throttled => Kind::Throttled,
        types::ErrorKind::UnknownOutcome => Kind::UnknownOutcome,
        types::ErrorKind::Fatal => Kind::Fatal,
    };
    let plain = !error.code.is_empty()
        && error.code.len() <= 64
        && error.code.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    if !plain {
        return Ended::BadOutput(format!(
            "the code of an error is not in capitals: {}",
            error.code.escape_default()
        ));
    }
    // The host's codes are the host's word, all but the two that a tool shares with it.
    let shared = matches!(
        (kind, error.code.as_str()),
        (Kind::InvalidInput, crate::model::code::INVALID_INPUT) | (Kind::Fatal, crate::model::code::INTERNAL)
    );
    if crate::model::code::page(&error.code).is_some() && !shared {
        return Ended::BadOutput(format!("the code of an error is one of the host's own: {}", error.code));
    }
    if kind == Kind::Fatal && (error.code == crate::model::code::INTERNAL || error.message.is_empty()) {
        return Ended::Declared(Failure::internal(format!("fatal {}: {}", error.code, error.message)));
    }
    Ended::Declared(Failure {
        kind,
        code: error.code.into(),
        message: error.message,
        user_message: error.user_message,
        retry_after: Duration::from_millis(error.retry_after_ms.map_or(0, u64::from)).min(LONGEST_WAIT),
        details,
        log: None,
    })
}
