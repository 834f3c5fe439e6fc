//! The journal of effects of one attempt: what is about to be, what became of it, and what is still under way.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::secrets::{derived, of_step};
use crate::model::classify::Ended;
use crate::model::clock::Timestamp;
use crate::model::effect::{Answered, Effect, EffectState};
use crate::model::health::Met;
use crate::model::id::Digest;
use crate::model::limits::Limit;
use crate::model::manifest::Repeat;
use crate::model::run::{LONE_STEP, Lease};
use crate::sandbox::gate::Gate;
use crate::store::Outcome;

/// The effects of one attempt; shared by the guest and the tasks that carry its requests out.
#[derive(Debug)]
pub struct Effects {
    lease: Lease,
    attempt: u32,
    secret: [u8; 32],
    /// Those of earlier attempts of the same step.
    earlier: Vec<Effect>,
    requests_at_most: u64,
    /// How long the attempt may take, and so each of its requests; none where nobody has said so yet.
    longest: OnceLock<Duration>,
    /// What says which origins are left alone; none where nobody asks.
    gate: OnceLock<Arc<Gate>>,
    inner: Mutex<Inner>,
    quiet: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    /// Requests that the guest asked for, the refused among them.
    asked: u32,
    /// Those that left the sandbox.
    requests: u32,
    /// Effects that were begun, those among them whose intent nobody can vouch for.
    begun: u32,
    effects: Vec<Effect>,
    outcomes: Vec<Outcome>,
    /// Keys of earlier attempts that this attempt has used again.
    matched: Vec<String>,
    keyed: HashMap<(String, String), u32>,
    /// The origins that it met, each once.
    met: Vec<Met>,
    /// The longest that one of them asks to be left alone.
    asked_for: Duration,
    /// What the last request took longer than, where it did.
    slow: Option<String>,
    /// Whether any request was given up, so that its backend may be at it still.
    given_up: bool,
    under_way: u32,
    closed: bool,
    stopped: Option<Ended>,
}

/// A request under way; the attempt is not judged before it is dropped.
#[derive(Debug)]
pub(crate) struct UnderWay(Arc<Effects>);

/// A request as the journal sees it.
#[derive(Debug, Clone)]
pub(crate) struct Intent<'a> {
    pub(crate) repeat: Repeat,
    pub(crate) method: &'a str,
    /// With placeholders unfilled.
    pub(crate) url: &'a url::Url,
    pub(crate) request: Digest,
}

/// What makes a request the same as an earlier one.
pub(crate) fn request_hash(method: &str, url: &url::Url, body: &[u8]) -> Digest {
    Digest::of_parts(&[method.as_bytes(), url.as_str().as_bytes(), body])
}

impl Effects {
    /// The empty journal of an attempt.
    pub fn new(
        lease: Lease,
        attempt: u32,
        secret: [u8; 32],
        earlier: Vec<Effect>,
        requests_at_most: u64,
    ) -> Arc<Self> {
        let (inner, quiet) = (Mutex::default(), Notify::new());
        let (longest, gate) = (OnceLock::new(), OnceLock::new());
        Arc::new(Self { lease, attempt, secret, earlier, requests_at_most, longest, gate, inner, quiet })
    }

    /// Says how long the attempt may take.
    pub(crate) fn within(&self, time: Duration) {
        let _ = self.longest.set(time);
    }

    /// Says what the requests pass on their way out.
    pub fn behind(&self, gate: &Arc<Gate>) {
        let _ = self.gate.set(Arc::clone(gate));
    }

    /// What still has to be asked before a request goes to this origin.
    pub(crate) fn gate_at(&self, origin: &str) -> Option<Arc<Gate>> {
        self.gate.get().filter(|gate| !gate.passes(origin)).cloned()
    }

    /// How long a request may take at most.
    pub(crate) fn longest(&self) -> Duration {
        self.longest.get().copied().unwrap_or(Duration::MAX)
    }

    /// The run that they belong to.
    pub fn lease(&self) -> Lease {
        self.lease
    }

    /// The attempt that they belong to.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    pub(crate) fn secret(&self) -> &[u8; 32] {
        &self.secret
    }

    /// Counts a request; none where the attempt has sent all that it may, and is over.
    pub(crate) fn enter(self: &Arc<Self>) -> Option<UnderWay> {
        let mut inner = self.lock();
        if inner.closed {
            return None;
        }
        if u64::from(inner.asked) >= self.requests_at_most {
            inner.stopped.get_or_insert(Ended::Limit(Limit::Requests(self.requests_at_most)));
            return None;
        }
        inner.asked += 1;
        inner.under_way += 1;
        Some(UnderWay(Arc::clone(self)))
    }

    /// Makes the intent of an effect that does more than read.
    ///
    /// # Errors
    /// Where it is keyed, matches none of those that an earlier attempt sent, and one of those is still unmatched:
    /// sending it could do a second thing under the guise of the first.
    pub(crate) fn intend(&self, intent: &Intent<'_>) -> Result<Effect, Ended> {
        let request = intent.request;
        let mut inner = self.lock();
        let key = match intent.repeat {
            Repeat::Keyed => Some(self.key(&mut inner, intent, request)?),
            Repeat::Reads | Repeat::Idempotent | Repeat::Once => None,
        };
        Ok(self.begin(&mut inner, intent.repeat, intent.method, intent.url.to_string(), request, key))
    }

    /// Makes the intent of a change below a lent folder. It is never repeated where it was not put back.
    pub(crate) fn intend_change(&self, method: &str, target: String, request: Digest) -> Effect {
        self.begin(&mut self.lock(), Repeat::Once, method, target, request, None)
    }

    fn begin(
        &self,
        inner: &mut Inner,
        repeat: Repeat,
        method: &str,
        target: String,
        request: Digest,
        key: Option<String>,
    ) -> Effect {
        inner.begun += 1;
        let effect = Effect {
            attempt: self.attempt,
            ordinal: inner.begun,
            repeat,
            method: method.to_owned(),
            target,
            request,
            key,
            state: EffectState::Open,
            status: None,
        };
        inner.effects.push(effect.clone());
        effect
    }

    fn key(&self, inner: &mut Inner, intent: &Intent<'_>, request: Digest) -> Result<String, Ended> {
        let recorded = self.earlier.iter().filter_map(|effect| effect.key.as_ref().map(|key| (effect, key)));
        let unmatched: Vec<_> = recorded.filter(|(_, key)| !inner.matched.contains(key)).collect();
        if let Some((_, key)) = unmatched.iter().find(|(effect, _)| effect.request == request) {
            let key = (*key).clone();
            inner.matched.push(key.clone());
            return Ok(key);
        }
        let left = |effect: &Effect| matches!(effect.state, EffectState::Open | EffectState::Done);
        if let Some((effect, _)) = unmatched.iter().find(|(effect, _)| left(effect)) {
            let ended = Ended::Drifted(format!(
                "{} {} differs from what attempt {} sent as {} {}, which may have been done; it was not sent",
                intent.method, intent.url, effect.attempt, effect.method, effect.target
            ));
            inner.stopped.get_or_insert(ended.clone());
            return Err(ended);
        }
        let place = (intent.method.to_owned(), intent.url[..url::Position::AfterPath].to_owned());
        let ordinal = inner.keyed.entry(place.clone()).or_default();
        loop {
            *ordinal += 1;
            let keys = of_step(&self.secret, b"key", self.lease.run, LONE_STEP);
            let key = derived(&keys, &[place.0.as_bytes(), place.1.as_bytes(), &ordinal.to_be_bytes()]);
            if self.earlier.iter().all(|effect| effect.key.as_ref() != Some(&key)) {
                return Ok(key);
            }
        }
    }

    /// Takes note of what became of an effect.
    pub(crate) fn known(
        &self,
        ordinal: u32,
        state: EffectState,
        answer: Option<(u16, Option<Answered>)>,
        at: Timestamp,
    ) -> Outcome {
        let status = answer.as_ref().map(|(status, _)| *status);
        let answered = answer.and_then(|(_, answered)| answered).map(Arc::new);
        let outcome = Outcome { attempt: self.attempt, ordinal, state, status, answered, at };
        let mut inner = self.lock();
        if let Some(effect) = inner.effects.iter_mut().find(|effect| effect.ordinal == ordinal) {
            effect.state = state;
            effect.status = status;
        }
        inner.outcomes.push(outcome.clone());
        outcome
    }

    /// Ends the attempt, for nobody can tell whether a request may leave.
    pub(crate) fn stop(&self, ended: Ended) {
        self.lock().stopped.get_or_insert(ended);
    }

    /// Takes back an effect whose intent nobody can vouch for: it was not sent, and where the intent was written
    /// after all, the end of the attempt says so.
    pub(crate) fn unwritten(&self, ordinal: u32, ended: Ended, at: Timestamp) {
        let mut inner = self.lock();
        inner.effects.retain(|effect| effect.ordinal != ordinal);
        let state = EffectState::NotSent;
        let (attempt, status, answered) = (self.attempt, None, None);
        inner.outcomes.push(Outcome { attempt, ordinal, state, status, answered, at });
        inner.stopped.get_or_insert(ended);
    }

    /// Lets no further request begin, and waits until none is under way.
    pub async fn close(&self) {
        self.lock().closed = true;
        loop {
            let quiet = self.quiet.notified();
            if self.lock().under_way == 0 {
                return;
            }
            quiet.await;
        }
    }

    /// Whether nothing is under way.
    pub fn quiet(&self) -> bool {
        self.lock().under_way == 0
    }

    /// All effects of the step, those of earlier attempts first.
    pub fn all(&self) -> Vec<Effect> {
        let mut all = self.earlier.clone();
        all.extend(self.lock().effects.iter().cloned());
        all
    }

    /// What became of the effects of this attempt, as far as it is known.
    pub fn outcomes(&self) -> Vec<Outcome> {
        self.lock().outcomes.clone()
    }

    /// Takes note of what a request says of the origin that it went to, how long that asks to be left alone, and what the
    /// request took longer than.
    pub(crate) fn meet(&self, met: Met, asked: Option<Duration>, slow: Option<String>) {
        let mut inner = self.lock();
        inner.given_up |= slow.is_some();
        inner.slow = slow;
        inner.asked_for = inner.asked_for.max(asked.unwrap_or_default());
        match inner.met.iter_mut().find(|known| known.origin == met.origin) {
            Some(known) => {
                known.failed |= met.failed;
                known.slowed |= met.slowed;
                known.last_failed = met.last_failed;
            }
            None => inner.met.push(met),
        }
    }

    /// The origins that it met, each once.
    pub fn met(&self) -> Vec<Met> {
        self.lock().met.clone()
    }

    /// The longest that a backend asks to be left alone.
    pub fn asked_for(&self) -> Duration {
        self.lock().asked_for
    }

    /// What the last request took longer than, and which setting moves that, none where it was in time; and whether any
    /// was given up.
    pub fn slow(&self) -> (Option<String>, bool) {
        let inner = self.lock();
        (inner.slow.clone(), inner.given_up)
    }

    /// Counts a request that left the sandbox: what a policy refused did not.
    pub(crate) fn left(&self) {
        self.lock().requests += 1;
    }

    /// Requests that left the sandbox, reads included; whole once the attempt is closed.
    pub fn requests(&self) -> u32 {
        self.lock().requests
    }

    /// Why the host ended the attempt, where it did.
    pub fn stopped(&self) -> Option<Ended> {
        self.lock().stopped.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.lock().under_way -= 1;
        self.0.quiet.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::id::RunId;

    fn effects(earlier: Vec<Effect>) -> Arc<Effects> {
        let lease = Lease { run: RunId::from_bytes([9; 16]), number: 1 };
        Effects::new(lease, u32::from(!earlier.is_empty()) + 1, [1; 32], earlier, 100)
    }

    fn intend(effects: &Effects, url: &str, body: &[u8]) -> Result<Effect, Ended> {
        let url = url::Url::parse(url).unwrap();
        let request = request_hash("POST", &url, body);
        effects.intend(&Intent { repeat: Repeat::Keyed, method: "POST", url: &url, request })
    }

    #[test]
    fn keys_differ_between_requests_and_are_equal_between_attempts() {
        let first = effects(vec![]);
        let a = intend(&first, "http://x/t?q=1", b"a").unwrap();
        let b = intend(&first, "http://x/t?q=2", b"b").unwrap();
        assert_ne!(a.key, b.key);
        let second = effects(vec![a.clone(), b.clone()]);
        assert_eq!(intend(&second, "http://x/t?q=2", b"b").unwrap().key, b.key);
        assert_eq!(intend(&second, "http://x/t?q=1", b"a").unwrap().key, a.key);
        let fresh = intend(&second, "http://x/t?q=3", b"c").unwrap();
        assert!(fresh.key != a.key && fresh.key != b.key);
    }

    #[test]
    fn a_request_that_drifted_is_not_sent() {
        let first = effects(vec![]);
        let a = intend(&first, "http://x/t", b"a").unwrap();
        let second = effects(vec![a]);
        assert!(matches!(intend(&second, "http://x/t", b"other"), Err(Ended::Drifted(_))));
        assert!(second.stopped().is_some());
    }

    #[test]
    fn a_request_that_was_refused_binds_nobody() {
        let first = effects(vec![]);
        let mut a = intend(&first, "http://x/t", b"a").unwrap();
        a.state = EffectState::Refused;
        assert!(intend(&effects(vec![a]), "http://x/t", b"other").is_ok());
    }

    #[test]
    fn requests_are_counted_and_bounded() {
        let lease = Lease { run: RunId::from_bytes([9; 16]), number: 1 };
        let effects = Effects::new(lease, 1, [1; 32], vec![], 1);
        let first = effects.enter();
        assert!(first.is_some() && effects.enter().is_none());
        assert_eq!(effects.stopped(), Some(Ended::Limit(Limit::Requests(1))));
    }
}
