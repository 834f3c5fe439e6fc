//! HTTP requests of guests: checked, written down, carried out by a task of the host, and written down again.

mod address;
mod connection;
mod policy;
pub mod resolve;
mod sent;
mod time;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::oneshot;

pub use address::ungranted;
pub(crate) use policy::OWN;
pub use resolve::{Resolve, SystemResolver};

use self::connection::Connections;
use self::policy::Allowed;
use self::resolve::LookUps;
use self::sent::Sent;
use self::time::{Bound, Left, Part, Times};
use super::effects::{Effects, Intent, UnderWay, request_hash};
use super::secrets::Placeholders;
use crate::model::classify::Ended;
use crate::model::clock::Clock;
use crate::model::effect::{Answered, Effect, EffectState};
use crate::model::id::Digest;
use crate::model::limits::Limits;
use crate::model::manifest::Repeat;
use crate::model::secret::Mask;
use crate::sandbox::gate::Closed;
use crate::sandbox::grants::Grants;
use crate::sandbox::logbook::Logbook;
use crate::sandbox::wit::http::{HttpError, Request, Response};
use crate::store::Journal;

/// What says how long a request may take, where its tool is less patient than it might be.
const OWN_TIME: &str = "as the tool asks";

/// What says how long all of a request may take, where nothing else does.
const WHOLE: &str = "connecting among it: the time of an attempt";

/// How much longer than its attempt a request may take that only reads: the attempt's own limit is to end it.
const BEYOND: Duration = Duration::from_millis(100);

/// What a guest is told whose request was not sent for its backend's sake.
const LEFT_ALONE: &str = "the backend keeps failing, so it is left alone for now";

/// What carries requests out; one for the whole host.
#[derive(Clone)]
pub struct Egress {
    inner: Arc<Inner>,
}

struct Inner {
    journal: Arc<dyn Journal>,
    clock: Arc<dyn Clock>,
    runtime: tokio::runtime::Handle,
    limits: Limits,
    look_ups: Arc<LookUps>,
    connections: Connections,
    mask: Mask,
}

impl std::fmt::Debug for Egress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Egress")
    }
}

/// One request, owned by its task.
struct Task {
    allowed: Allowed,
    /// Over method, URL and body, with placeholders unfilled.
    hash: Digest,
    headers: Vec<(String, String)>,
    body: Bytes,
    times: Times,
    /// How long the tool itself waits, where it says so.
    patience: Option<Duration>,
    grants: Arc<Grants>,
    effects: Arc<Effects>,
    log: Logbook,
}

impl Egress {
    /// Sets up the way out.
    pub fn new(
        journal: Arc<dyn Journal>,
        clock: Arc<dyn Clock>,
        runtime: tokio::runtime::Handle,
        limits: Limits,
        resolver: Arc<dyn Resolve>,
        roots: Vec<Vec<u8>>,
        mask: Mask,
    ) -> Self {
        let look_ups = Arc::new(LookUps::new(resolver));
        let connections = Connections::new(roots, limits.body, Arc::clone(&clock));
        Self { inner: Arc::new(Inner { journal, clock, runtime, limits, look_ups, connections, mask }) }
    }

    /// The same way out under other limits, with other roots and other secrets to mask; connections are made anew.
    #[must_use]
    pub fn under(&self, limits: &Limits, roots: &[Vec<u8>], mask: &Mask) -> Self {
        let inner = &self.inner;
        let clock = Arc::clone(&inner.clock);
        let connections = Connections::new(roots.to_vec(), limits.body, Arc::clone(&clock));
        Self {
            inner: Arc::new(Inner {
                journal: Arc::clone(&inner.journal),
                clock,
                runtime: inner.runtime.clone(),
                limits: limits.clone(),
                look_ups: Arc::clone(&inner.look_ups),
                connections,
                mask: mask.clone(),
            }),
        }
    }

    /// Values that never leave, and are not written down.
    pub(crate) fn mask(&self) -> &Mask {
        &self.inner.mask
    }

    /// Sends a request for a guest. The request goes on when the guest no longer waits for it.
    ///
    /// # Errors
    /// Where the attempt must end here: the guest never sees that.
    pub(crate) async fn send(
        &self,
        request: Request,
        grants: &Arc<Grants>,
        effects: &Arc<Effects>,
        texts: &Placeholders,
        log: &Logbook,
    ) -> Result<Result<Response, HttpError>, Ended> {
        let Some(under_way) = effects.enter() else {
            return Err(effects.stopped().unwrap_or(Ended::Interrupted));
        };
        let task = match self.check(request, grants, effects, texts, log) {
            Ok(task) => task,
            Err(refusal) => {
                log.host(&refusal.line);
                return Ok(Err(refusal.error));
            }
        };
        let (passed, under_way) = self.pass(&task, under_way).await?;
        if let Err(error) = passed {
            return Ok(Err(error));
        }
        let effect = match task.allowed.repeat {
            Repeat::Reads => None,
            Repeat::Idempotent | Repeat::Keyed | Repeat::Once => Some(effects.intend(&task.intent())?),
        };
        let (reply, answer) = oneshot::channel();
        let inner = Arc::clone(&self.inner);
        self.inner.runtime.spawn(async move {
            let ended = inner.carry_out(task, effect, under_way).await;
            // The guest may be gone; what happened is written down all the same.
            let _ = reply.send(ended);
        });
        answer.await.unwrap_or_else(|_| {
            Err(Ended::Trapped("the task of an effect ended without an answer".to_owned()))
        })
    }

    /// Asks whether the backend is left alone, where that was not asked before. The request is under way meanwhile: a place
    /// that it is given counts for its attempt, also where the guest no longer waits.
    async fn pass(
        &self,
        task: &Task,
        under_way: UnderWay,
    ) -> Result<(Result<(), HttpError>, UnderWay), Ended> {
        let origin = task.allowed.origin.to_string();
        let Some(gate) = task.effects.gate_at(&origin) else { return Ok((Ok(()), under_way)) };
        let pattern = task.allowed.pattern.clone();
        let asking = async move { (gate.at(&origin, pattern.as_deref()).await, under_way) };
        let ended = match self.inner.runtime.spawn(asking).await {
            Ok((Ok(()), under_way)) => return Ok((Ok(()), under_way)),
            Ok((Err(Closed::Shut(shut)), under_way)) => {
                task.log.host(&format!("sent nothing to {}: its breaker is open", shut.origin));
                return Ok((Err(HttpError::NotSent(LEFT_ALONE.to_owned())), under_way));
            }
            Ok((Err(Closed::Store(failure)), _)) => Ended::StoreFailed(failure.to_string()),
            Err(_) => Ended::Trapped("the question after a backend ended without an answer".to_owned()),
        };
        task.effects.stop(ended.clone());
        Err(ended)
    }

    /// Checks a request and fills in its secrets.
    fn check(
        &self,
        request: Request,
        grants: &Arc<Grants>,
        effects: &Arc<Effects>,
        texts: &Placeholders,
        log: &Logbook,
    ) -> Result<Task, policy::Refusal> {
        let limits = &self.inner.limits;
        let mut allowed = policy::check(&request, grants, texts, limits.body)?;
        // Nobody waits for what was only to be read; of what changes something the outcome is waited for.
        let (longest, whole) = match allowed.repeat {
            Repeat::Reads => {
                let longest = effects.longest().saturating_add(BEYOND);
                (longest, longest)
            }
            Repeat::Idempotent | Repeat::Keyed | Repeat::Once => {
                (Duration::MAX, effects.longest().max(limits.attempt))
            }
        };
        let asked = request.timeout_ms.map(|millis| Duration::from_millis(u64::from(millis)));
        let bound = |granted: Option<Duration>, limit, of_grant, of_limits| {
            let (time, says) = granted.map_or((limit, of_limits), |granted| (granted, of_grant));
            match asked.filter(|asked| *asked < time) {
                Some(time) => Bound { time, says: OWN_TIME },
                None => Bound { time: time.min(longest), says },
            }
        };
        let times = Times {
            connect: bound(allowed.connect, limits.connect, "`connect` of its grant", "[limits] connect"),
            answer: bound(allowed.read, limits.read, "`read` of its grant", "[limits] read"),
            whole: match asked {
                Some(time) => Bound { time: time.min(whole), says: OWN_TIME },
                None => Bound { time: whole, says: WHOLE },
            },
        };
        let forbidden = |allowed: &Allowed, rule: &str| {
            policy::Refusal::forbidden(&allowed.method, &allowed.url, rule, None)
        };
        // The hash is over what the guest asked for, before any secret stands in it.
        let hash = request_hash(&allowed.method, &allowed.url, &request.body);
        let headers =
            policy::fill_headers(std::mem::take(&mut allowed.headers), grants, &allowed.origin, texts)
                .map_err(|rule| forbidden(&allowed, &rule))?;
        let body = texts
            .fill_body(grants, &allowed.origin, request.body, limits.body)
            .map_err(|not_here| forbidden(&allowed, &not_here.rule))?;
        Ok(Task {
            allowed,
            hash,
            headers,
            body: Bytes::from(body),
            patience: asked,
            times,
            grants: Arc::clone(grants),
            effects: Arc::clone(effects),
            log: log.clone(),
        })
    }
}

impl Task {
    fn intent(&self) -> Intent<'_> {
        let Allowed { repeat, method, url, .. } = &self.allowed;
        Intent { repeat: *repeat, method, url, request: self.hash }
    }
}

impl Inner {
    async fn carry_out(
        &self,
        mut task: Task,
        effect: Option<Effect>,
        under_way: UnderWay,
    ) -> Result<Result<Response, HttpError>, Ended> {
        let ordinal = effect.as_ref().map(|effect| effect.ordinal);
        let mut left = Left::of(task.times, &*self.clock);
        if let Some(effect) = effect {
            if let (Some(header), Some(key)) = (&task.allowed.idempotency_header, &effect.key) {
                task.headers.retain(|(name, _)| !name.eq_ignore_ascii_case(header));
                task.headers.push((header.clone(), key.clone()));
            }
            self.write_down(&task, effect).await?;
        }
        let began = self.clock.steady();
        let sent = self.exchange(&task, &mut left).await;
        let slow =
            left.over().map(|Bound { time, says }| format!("a request took longer than {time:?} ({says})"));
        let took = self.clock.steady().saturating_sub(began);
        let hasty = task.patience.is_some_and(|patience| took >= patience);
        let of_status = |status| EffectState::of_status(status, &task.allowed.clean_statuses);
        let (state, came) = match &sent {
            Sent::Answered { status, headers, body } => {
                let kept = ordinal.map(|_| self.kept(headers, body));
                (of_status(*status), Some((*status, kept)))
            }
            Sent::BrokeOff { status, .. } => (of_status(*status), Some((*status, None))),
            Sent::Unsent(_) | Sent::Forbidden(_) => (EffectState::NotSent, None),
            Sent::Late(_) | Sent::Broken(_) => (EffectState::Open, None),
        };
        if let Some(ordinal) = ordinal {
            let outcome = task.effects.known(ordinal, state, came, self.clock.now());
            if state != EffectState::Open {
                // Submitted now and in order; the attempt's end carries it again, and waits.
                drop(self.journal.outcome(task.effects.lease().run, outcome));
            }
        }
        match &sent {
            Sent::Answered { .. }
            | Sent::BrokeOff { .. }
            | Sent::Unsent(_)
            | Sent::Late(_)
            | Sent::Broken(_) => {
                task.effects.left();
                let (met, asked) = (sent.met(&task.allowed.origin, hasty), sent.asked(self.clock.now()));
                task.effects.meet(met, asked, slow);
            }
            // It never left the sandbox: the address that its name led to was not granted.
            Sent::Forbidden(_) => {}
        }
        drop(under_way);
        Ok(answer(sent))
    }

    /// What is kept of an answer for whoever looks at its call later, secrets masked.
    fn kept(&self, headers: &[(String, String)], body: &[u8]) -> Answered {
        let masked = |text: &str| self.mask.text(text).unwrap_or_else(|| text.to_owned());
        let header = |name: &str| {
            let found = headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
            found.map(|(_, value)| masked(value))
        };
        let body = match std::str::from_utf8(body) {
            Ok(text) => masked(text).into_bytes(),
            Err(_) => body.to_vec(),
        };
        let body = body.into_iter().take(Answered::BODY).collect();
        Answered { location: header("location"), etag: header("etag"), body }
    }

    /// Writes the intent down before anything leaves the host.
    async fn write_down(&self, task: &Task, mut effect: Effect) -> Result<(), Ended> {
        let ordinal = effect.ordinal;
        // A backend may have given a secret back, and the guest have put it into the URL.
        effect.target = self.mask.text(&effect.target).unwrap_or(effect.target);
        let ended = match self.journal.intend(task.effects.lease(), effect, None, self.clock.now()).await {
            Ok(true) => return Ok(()),
            Ok(false) => Ended::StoreFailed("another process has taken the run over".to_owned()),
            Err(failure) => Ended::StoreFailed(failure.to_string()),
        };
        task.effects.unwritten(ordinal, ended.clone(), self.clock.now());
        Err(ended)
    }

    async fn exchange(&self, task: &Task, left: &mut Left<'_>) -> Sent {
        let origin = &task.allowed.origin;
        let resolving = self.look_ups.resolve(&task.grants.plugin, &origin.host, origin.port);
        let addresses = match left.within(Part::Connect, resolving).await {
            Ok(Ok(addresses)) => addresses,
            Ok(Err(error)) => return Sent::Unsent(format!("the name has no address: {error}")),
            Err(Bound { time, says }) => {
                return Sent::Unsent(format!("the name was not resolved within {time:?} ({says})"));
            }
        };
        let addresses = match address::check(&addresses, &task.allowed.granted_addresses) {
            Ok(addresses) => addresses,
            Err((lacking, rule)) => {
                let lacking: Vec<String> = lacking.iter().map(ToString::to_string).collect();
                let remedy = format!(
                    "[[plugin.{}.http]] origin = \"{origin}\", addresses = {lacking:?}",
                    task.grants.plugin
                );
                let Allowed { method, url, .. } = &task.allowed;
                task.log.host(&policy::Refusal::forbidden(method, url, &rule, Some(&remedy)).line);
                return Sent::Forbidden(rule);
            }
        };
        let request = connection::Outgoing {
            plugin: &task.grants.plugin,
            origin,
            method: &task.allowed.method,
            path: &task.allowed.url[url::Position::BeforePath..url::Position::AfterQuery],
            headers: &task.headers,
            body: task.body.clone(),
            // What must not be done twice never meets a connection that the other side may just be closing.
            reuse: task.allowed.repeat != Repeat::Once,
            reads: task.allowed.repeat == Repeat::Reads,
        };
        self.connections.send(&request, &addresses, left).await
    }
}

fn answer(sent: Sent) -> Result<Response, HttpError> {
    match sent {
        Sent::Answered { status, headers, body } => Ok(Response { status, headers, body }),
        Sent::BrokeOff { too_large: true, .. } => Err(HttpError::TooLarge),
        Sent::BrokeOff { status, too_large: false } => {
            Err(HttpError::Broken(format!("the answer broke off after its head, which said {status}")))
        }
        Sent::Unsent(text) => Err(HttpError::NotSent(text)),
        Sent::Late(text) | Sent::Broken(text) => Err(HttpError::Broken(text)),
        Sent::Forbidden(rule) => Err(HttpError::Forbidden(rule)),
    }
}
