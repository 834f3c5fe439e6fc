//! The way to a tool's backends in one attempt: which of them are left alone, and at which of them it is the one that tries.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::model::breaker::{Answer, Breaker, Forced, State};
use crate::model::classify::Ended;
use crate::model::clock::{Clock, Timestamp};
use crate::model::failure::Kind;
use crate::model::health::Health;
use crate::model::id::ToolName;
use crate::sandbox::grants::Grants;
use crate::store::{Ask, Asked, Store, StoreFailure};

/// The way to a tool's backends in one attempt.
pub struct Gate {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    tool: ToolName,
    /// The attempt's own number.
    by: u64,
    /// Until when its place is kept, where it is the one that tries.
    until: Timestamp,
    /// How long a backend is left alone the first time.
    open: Duration,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// Whether every origin that the tool may go to was asked about ahead.
    whole: bool,
    /// Origins that it may go to.
    passed: Vec<String>,
    /// Origins at which it is the one that tries.
    tries: Vec<String>,
    /// Origins where something went wrong of late, so that what goes well is told too.
    unclear: Vec<String>,
    /// The backend that it was kept from last.
    shut: Option<Shut>,
}

/// A backend that is left alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shut {
    /// The origin, or the pattern that an operator keeps shut.
    pub origin: String,
    /// For how long; none where an operator must say otherwise.
    pub wait: Option<Duration>,
}

/// Why an attempt may not go to a backend.
#[derive(Debug)]
pub enum Closed {
    /// It is left alone.
    Shut(Shut),
    /// The store cannot be read or written.
    Store(StoreFailure),
}

/// What is known of an origin before anything is written.
enum Look {
    Open,
    /// Somebody must try it, or its state must be written.
    Claims,
    Shut(Option<Duration>),
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").field("tool", &self.tool).field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl Gate {
    /// The way of an attempt of this number. A place that it takes is kept for so long at most; a backend is left alone for
    /// `open` the first time.
    pub fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        tool: ToolName,
        by: u64,
        keep: Duration,
        open: Duration,
    ) -> Self {
        let until = clock.now().plus(keep);
        Self { store, clock, tool, by, until, open, inner: Mutex::default() }
    }

    /// Asks before the attempt begins: of a tool that goes to one origin, whether it may; of one that goes to several, whether
    /// there is any left. `owing` where the tool owes tokens for retries that met no backend.
    ///
    /// # Errors
    /// Where all of them are left alone, or the store cannot be used.
    pub async fn ahead(&self, grants: &Grants, owing: bool) -> Result<(), Closed> {
        let patterns = grants.patterns.iter().map(ToString::to_string);
        let places: Vec<String> = grants.origins.iter().cloned().chain(patterns).collect();
        let nowhere = owing.then(String::new);
        if places.is_empty() && nowhere.is_none() {
            self.lock().whole = true;
            return Ok(());
        }
        let asked: Vec<String> = places.iter().cloned().chain(nowhere).collect();
        let known = self.known(&asked)?;
        if places.is_empty() || (known.is_empty() && self.is_one(grants)) {
            self.lock().whole = true;
            return Ok(());
        }
        let looks: Vec<(&String, Look)> =
            places.iter().map(|place| (place, self.look(find(&known, place)))).collect();
        if self.is_one(grants) {
            let Some((place, look)) = looks.into_iter().next() else { return Ok(()) };
            self.pass(place, look).await?;
            self.lock().whole = true;
            return Ok(());
        }
        let shut: Option<Vec<Shut>> = looks.into_iter().map(|(place, look)| shut(place, look)).collect();
        // Where one is left alone until somebody says otherwise, another may come back by itself.
        let first = shut.and_then(|all| all.into_iter().min_by_key(|one| one.wait.unwrap_or(Duration::MAX)));
        first.map_or(Ok(()), |first| Err(self.kept_from(first)))
    }

    /// Whether a request may go to this origin, as far as that is known without asking.
    pub(crate) fn passes(&self, origin: &str) -> bool {
        let inner = self.lock();
        inner.whole || inner.passed.iter().any(|passed| passed == origin)
    }

    /// Asks whether a request may go to this origin, which was not asked about ahead. `pattern` where the origin is granted
    /// among others.
    ///
    /// # Errors
    /// Where it is left alone, or the store cannot be used.
    pub(crate) async fn at(&self, origin: &str, pattern: Option<&str>) -> Result<(), Closed> {
        let asked: Vec<String> = [origin].into_iter().chain(pattern).map(str::to_owned).collect();
        let known = self.known(&asked)?;
        let own = find(&known, origin);
        let over_all = pattern.and_then(|pattern| find(&known, pattern)?.breaker.forced);
        match over_all.filter(|_| own.is_none_or(|own| own.breaker.forced.is_none())) {
            Some(Forced::Open) => {
                let origin = pattern.unwrap_or(origin).to_owned();
                return Err(self.kept_from(Shut { origin, wait: None }));
            }
            Some(Forced::Closed) => {}
            None => self.pass(origin, self.look(own)).await?,
        }
        self.lock().passed.push(origin.to_owned());
        Ok(())
    }

    /// What an attempt that ended so means, where it was kept from a backend: what may pass is then the backend's coming back.
    pub fn seen_in(&self, ended: Ended) -> Ended {
        let shut = self.lock().shut.clone();
        match (&ended, shut) {
            (Ended::Declared(failure), Some(shut)) if failure.kind == Kind::Transient => {
                let log = format!("the breaker of {} is open: {}", self.tool, shut.origin);
                Ended::LeftAlone { wait: shut.wait, log }
            }
            (_, _) => ended,
        }
    }

    /// Origins at which it is the one that tries.
    pub fn tries(&self) -> Vec<String> {
        self.lock().tries.clone()
    }

    /// Origins where something went wrong of late.
    pub fn unclear(&self) -> Vec<String> {
        self.lock().unclear.clone()
    }

    /// Takes note that what became of the places is told.
    pub fn told(&self) {
        self.lock().tries.clear();
    }

    fn is_one(&self, grants: &Grants) -> bool {
        grants.origins.len() == 1 && grants.patterns.is_empty()
    }

    fn known(&self, origins: &[String]) -> Result<Vec<(String, Health)>, Closed> {
        let known = self.store.health(&self.tool, origins).map_err(Closed::Store)?;
        if !known.is_empty() {
            self.lock().unclear.extend(known.iter().map(|(origin, _)| origin.clone()));
        }
        Ok(known)
    }

    fn look(&self, health: Option<&Health>) -> Look {
        let Some(Health { breaker, .. }) = health else { return Look::Open };
        let (now, mut asked) = (self.clock.now(), breaker.clone());
        match asked.ask(self.by, self.until, now) {
            Answer::Pass => Look::Open,
            Answer::Refuse(over) if asked == *breaker => Look::Shut(self.wait(breaker, over, now)),
            Answer::Probe | Answer::Refuse(_) => Look::Claims,
        }
    }

    /// How long it takes until asking again makes sense: whoever tries a backend may be done long before its place is lost.
    fn wait(&self, breaker: &Breaker, over: Option<Timestamp>, now: Timestamp) -> Option<Duration> {
        let wait = over?.since(now);
        Some(match breaker.state {
            State::HalfOpen { .. } => wait.min(self.open),
            State::Open { .. } | State::Closed => wait,
        })
    }

    /// Goes to an origin, as the one that tries it where somebody must.
    async fn pass(&self, origin: &str, look: Look) -> Result<(), Closed> {
        match look {
            Look::Open => return Ok(()),
            Look::Shut(wait) => return Err(self.kept_from(Shut { origin: origin.to_owned(), wait })),
            Look::Claims => {}
        }
        // Whoever is withdrawn while it asks may have been given the place all the same, and gives it back.
        self.lock().tries.push(origin.to_owned());
        let (tool, at) = (self.tool.clone(), self.clock.now());
        let ask = Ask { tool, origins: vec![origin.to_owned()], by: self.by, until: self.until, at };
        let asked = self.store.ask(ask).await.map_err(Closed::Store)?;
        let (tries, refused) = match asked {
            Asked::Passes { tries } => (tries, None),
            Asked::Refused { until, .. } => (Vec::new(), Some(until)),
        };
        self.lock().tries.retain(|one| one != origin || tries.contains(one));
        match refused {
            None => Ok(()),
            Some(until) => {
                let wait = until.map(|until| until.since(at).min(self.open));
                Err(self.kept_from(Shut { origin: origin.to_owned(), wait }))
            }
        }
    }

    fn kept_from(&self, shut: Shut) -> Closed {
        self.lock().shut = Some(shut.clone());
        Closed::Shut(shut)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn find<'a>(known: &'a [(String, Health)], origin: &str) -> Option<&'a Health> {
    known.iter().find(|(place, _)| place == origin).map(|(_, health)| health)
}

fn shut(place: &str, look: Look) -> Option<Shut> {
    match look {
        Look::Shut(wait) => Some(Shut { origin: place.to_owned(), wait }),
        Look::Open | Look::Claims => None,
    }
}
