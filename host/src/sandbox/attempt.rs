//! One attempt: a fresh instance that holds one tool's grants, run under every limit, and never used again.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::oneshot;
use wasmtime::component::{Instance, ResourceTable};
use wasmtime::{Store, UpdateDeadline};

use super::answer::to_wit;
use super::cancel::Cancel;
use super::capability::effects::Effects;
use super::capability::files::Files;
use super::capability::http::Egress;
use super::capability::progress::{Progress, Stop};
use super::capability::secrets::Placeholders;
use super::capability::staging::Staging;
use super::engine::{Engine, Prepared};
use super::grants::Grants;
use super::guest::{Guest, Serves};
use super::inert;
pub use super::inert::Sitting;
use super::limiter::{Held, Limiter};
use super::logbook::Logbook;
use super::question::{Asked, Question};
use super::threads::Group;
use super::traps;
use super::wit::types::{CallContext, Manifest};
use crate::model::attachment::Attachment;
use crate::model::classify::Ended;
use crate::model::clock::{Clock as _, SystemClock};
use crate::model::limits::{AttemptTime, Limit, Limits};
use crate::model::reply::Usage;
use crate::model::run::LONE_STEP;

/// What may cross between guest and host in one call of a function beside the largest body or output.
const CROSSING: u64 = 1 << 20;

/// How long a guest whose caller wants no more of it may take to come to an end by itself.
const GRACE: Duration = Duration::from_millis(500);

/// Resources and handles of one store.
pub(super) const HANDLES: usize = 4096;
pub(super) const RESOURCES: usize = 1024;

/// What an attempt runs with.
#[derive(Debug)]
pub struct Attempt {
    /// The plugin.
    pub prepared: Prepared,
    /// What it is given.
    pub grants: Arc<Grants>,
    /// What the tool may know of its call.
    pub context: Context,
    /// The journal of its effects.
    pub effects: Arc<Effects>,
    /// What it sets aside.
    pub staging: Arc<Staging>,
    /// The way out.
    pub egress: Egress,
    /// The way to lent folders.
    pub files: Files,
    /// Limits.
    pub limits: Limits,
    /// How long it may take.
    pub time: AttemptTime,
    /// Where clock and random numbers start, for tools whose requests are keyed.
    pub sitting: Option<Sitting>,
    /// Whose turns it takes.
    pub group: Group,
    /// Where its log is kept.
    pub log: Logbook,
    /// By which its caller withdraws it.
    pub cancel: Option<Cancel>,
    /// Where it tells how far it is.
    pub progress: Option<Progress>,
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
    /// For whom, where the caller says so.
    pub user: Option<String>,
    /// Joins log lines.
    pub trace: String,
    /// What earlier attempts saved.
    pub saved: Option<Vec<u8>>,
    /// What came beside the input.
    pub attachments: Vec<Attachment>,
}

/// How an attempt ended, its effects apart.
#[derive(Debug)]
pub struct Finished<T> {
    /// What the guest said, or what ended it.
    pub said: Result<T, Ended>,
    /// Fuel and memory that it used, and the time from its first turn to its reply.
    pub usage: Usage,
}

/// What is seen of a guest from outside while it runs.
#[derive(Debug, Default)]
struct Seen {
    held: Arc<Held>,
    fuel_left: AtomicU64,
}

impl Engine {
    /// Asks a fresh instance; ends at the latest when its time is over, whatever the guest does.
    pub async fn attempt<Q: Question>(&self, question: Q, attempt: Box<Attempt>) -> Finished<Q::Answer> {
        if attempt.cancel.as_ref().is_some_and(Cancel::is_asked) {
            return Finished { said: Err(Ended::Withdrawn), usage: Usage::default() };
        }
        let (fuel, time) = (attempt.limits.fuel, attempt.time.clone());
        let seen = Arc::new(Seen::default());
        seen.fuel_left.store(fuel, Ordering::Relaxed);
        let (reply, answer) = oneshot::channel();
        let (living, waiting) = (self.ticks.living(), self.waits.begin());
        let engine = self.engine.clone();
        let within = Arc::clone(&seen);
        let (group, effects) = (attempt.group, Arc::clone(&attempt.effects));
        let cancel = attempt.cancel.clone();
        let running = self.threads.run(group, async move {
            let _living = living;
            let clock = SystemClock::start();
            let (said, store) = serve(&engine, question, attempt, &within).await;
            // The reply goes first, and the store is dropped when nobody waits for it any more.
            let _ = reply.send((said, clock.steady()));
            drop(store);
        });
        // Most answers come sooner than a thread that sleeps is woken, and the guest may wait for this very processor.
        if waiting.alone() {
            self.answers.look(|| !answer.is_empty() || !waiting.alone());
        }
        let answer = async {
            tokio::select! {
                biased;
                replied = answer => Some(replied),
                () = withdrawn(cancel.as_ref()) => None,
            }
        };
        let (said, took) = match tokio::time::timeout(time.time, answer).await {
            Ok(Some(Ok(replied))) => {
                running.detach();
                replied
            }
            Ok(Some(Err(_))) => (Err(Ended::Trapped("a host function panicked".to_owned())), Duration::ZERO),
            Ok(None) => (Err(Ended::Withdrawn), Duration::ZERO),
            Err(_) => (Err(Ended::Limit(Limit::Time(time.clone()))), time.time),
        };
        drop(waiting);
        let said = effects.stopped().map_or(said, Err);
        let fuel = fuel.saturating_sub(seen.fuel_left.load(Ordering::Relaxed));
        let usage = Usage { fuel, memory: seen.held.most(), time: took, ..Usage::default() };
        Finished { said, usage }
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

/// Waits until a guest has been given up: its caller wants no more of it, and it had time to see that.
async fn withdrawn(cancel: Option<&Cancel>) {
    match cancel {
        None => std::future::pending().await,
        Some(cancel) => {
            cancel.asked().await;
            tokio::time::sleep(GRACE).await;
        }
    }
}

async fn serve<Q: Question>(
    engine: &wasmtime::Engine,
    question: Q,
    attempt: Box<Attempt>,
    seen: &Arc<Seen>,
) -> (Result<Q::Answer, Ended>, Store<Guest>) {
    let Attempt {
        prepared,
        grants,
        context,
        effects,
        staging,
        egress,
        files,
        limits,
        time,
        sitting,
        log,
        group: _,
        cancel,
        progress,
    } = unpacked(attempt);
    effects.within(time.time);
    let stop = Stop::within(time.time, cancel);
    let (texts, signed) = (Placeholders::default(), BTreeMap::new());
    let files = files.within(&limits, egress.mask(), &grants);
    let serves = Serves { grants, effects, staging, egress, files, texts, progress, stop, signed };
    let mut store = store(engine, &limits, &log, sitting, Arc::clone(&seen.held), Some(serves));
    let held = Arc::clone(&seen.held);
    let said = async {
        let instance = match instance(&mut store, &prepared, &limits, seen).await {
            Ok(instance) => instance,
            Err(error) => return Err(traps::instantiation(&error, &mut store, &held, &limits)),
        };
        let context = context.to_wit(time.time);
        let asked = Asked {
            store: &mut store,
            prepared: &prepared,
            instance: &instance,
            context: &context,
            limits: &limits,
        };
        match question.ask(asked).await {
            Ok(said) => said,
            Err(error) => Err(traps::read(&error, &mut store, &held, &limits)),
        }
    }
    .await;
    seen.fuel_left.store(store.get_fuel().unwrap_or(0), Ordering::Relaxed);
    (said, store)
}

/// Takes an attempt out of its place, which is not held for as long as the guest lives.
fn unpacked(attempt: Box<Attempt>) -> Attempt {
    *attempt
}

async fn describe(
    engine: &wasmtime::Engine,
    prepared: Prepared,
    limits: &Limits,
    log: &Logbook,
) -> Result<Manifest, String> {
    let seen = Arc::new(Seen::default());
    let mut store = store(engine, limits, log, None, Arc::clone(&seen.held), None);
    let described = async {
        let instance = instance(&mut store, &prepared, limits, &seen).await?;
        prepared.ready.tools.load(&mut store, &instance)?.call_describe(&mut store).await
    };
    let described = described.await;
    described.map_err(|error| {
        let ended = traps::instantiation(&error, &mut store, &seen.held, limits);
        let why =
            if let Ended::Limit(limit) = ended { limit.failure().message } else { format!("{error:#}") };
        format!("it cannot describe itself: {why}\n{}", log.text())
    })
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
        wasi: inert::wasi(log, sitting, serves.as_ref().map(|serves| &*serves.grants)),
        table,
        limiter: Limiter::new(limits.memory, held),
        log: log.clone(),
        serves,
    };
    let mut store = Store::new(engine, guest);
    store.limiter(|guest| &mut guest.limiter);
    store.set_hostcall_fuel(usize::try_from(piece(limits)).unwrap_or(usize::MAX));
    store.set_max_component_handles(HANDLES);
    store
}

/// The most bytes that a guest hands over in one piece.
pub(super) fn piece(limits: &Limits) -> u64 {
    limits.body.max(limits.output).max(limits.attachments).saturating_add(CROSSING)
}

async fn instance(
    store: &mut Store<Guest>,
    prepared: &Prepared,
    limits: &Limits,
    seen: &Arc<Seen>,
) -> wasmtime::Result<Instance> {
    // Making the instance has fuel of its own: what a language needs to start is not the tool's doing.
    store.set_fuel(limits.fuel)?;
    store.set_epoch_deadline(1);
    let watched = Arc::clone(seen);
    store.epoch_deadline_callback(move |context| {
        watched.fuel_left.store(context.get_fuel().unwrap_or(0), Ordering::Relaxed);
        Ok(UpdateDeadline::Yield(1))
    });
    let instance = prepared.ready.pre.instantiate_async(&mut *store).await?;
    store.set_fuel(limits.fuel)?;
    Ok(instance)
}

impl Context {
    fn to_wit(&self, time_left: Duration) -> CallContext {
        CallContext {
            run_id: self.run.clone(),
            step: LONE_STEP,
            attempt: self.attempt,
            idempotency_key: self.key.clone(),
            caller: self.caller.clone(),
            user: self.user.clone(),
            trace_id: self.trace.clone(),
            time_left_ms: u32::try_from(time_left.as_millis()).unwrap_or(u32::MAX),
            saved: self.saved.clone(),
            attachments: self.attachments.iter().map(to_wit).collect(),
        }
    }
}
