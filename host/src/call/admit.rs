//! Places: how many calls run at once, at most half of them for one plugin or one caller, and who waits and is next.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use super::validate::Valid;
use super::{Parts, Turn, fallback};
use crate::model::code;
use crate::model::failure::{Failure, Kind};
use crate::model::id::CallerName;
use crate::model::limits::Limits;
use crate::sandbox::Prepared;

/// When asking again makes sense, once the queue is full.
pub(super) const COME_BACK: Duration = Duration::from_secs(1);

/// A call that has a place.
#[derive(Debug)]
pub struct Admitted {
    valid: Valid,
    place: Place,
    prepared: Prepared,
}

impl Admitted {
    /// What was checked before.
    pub fn valid(&self) -> &Valid {
        &self.valid
    }

    /// Gives the parts on to the stage that starts.
    pub(super) fn into_parts(self) -> (Valid, Place, Prepared) {
        (self.valid, self.place, self.prepared)
    }
}

/// Waits for a place, in turn among callers.
pub(super) async fn admit(parts: &Parts, valid: Valid) -> Result<Admitted, Turn> {
    let (place, prepared) = again(parts, &valid).await?;
    Ok(Admitted { valid, place, prepared })
}

/// The same for a call that had a place before.
pub(super) async fn again(parts: &Parts, valid: &Valid) -> Result<(Place, Prepared), Turn> {
    let resolved = valid.fresh().authorized().resolved();
    let wait = resolved.setting().config.limits.wait;
    let prepared = resolved.tool().code.prepared().await;
    let prepared = prepared.map_err(|text| Turn::Refuse(Failure::internal(text)))?;
    let place = place(parts, &resolved.tool().name.plugin, resolved.asker().caller(), wait).await;
    let place = place.map_err(|failure| Turn::Refuse(fallback::offer(resolved, failure)))?;
    Ok((place, prepared))
}

/// Waits for a place of this plugin and this caller.
///
/// # Errors
/// Where too many wait already, or none becomes free in time.
pub(super) async fn place(
    parts: &Parts,
    plugin: &str,
    caller: &CallerName,
    wait: Duration,
) -> Result<Place, Failure> {
    let want = Want { plugin: plugin.to_owned(), caller: caller.0.clone() };
    let overloaded = |text: String| Failure::new(Kind::Throttled, code::OVERLOADED, text).after(COME_BACK);
    match parts.places.ask(want) {
        Asked::Granted(place) => Ok(place),
        Asked::Full(full) => Err(overloaded(format!("{full}; nothing was run"))),
        Asked::Queued(turn) => match tokio::time::timeout(wait, turn).await {
            Ok(Ok(place)) => Ok(place),
            Ok(Err(_)) | Err(_) => {
                Err(overloaded(format!("no place became free within {wait:?}; nothing was run")))
            }
        },
    }
}

/// Whose call it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Want {
    plugin: String,
    caller: String,
}

/// All places.
#[derive(Debug, Clone)]
pub struct Places {
    shared: Arc<Mutex<Table>>,
}

#[derive(Debug)]
struct Table {
    at_once: u32,
    /// The most for one plugin or one caller.
    share: u32,
    most_waiting: u32,
    taken: u32,
    plugins: HashMap<String, u32>,
    callers: HashMap<String, u32>,
    /// Calls that wait, by caller; callers take turns.
    queues: VecDeque<(String, VecDeque<Waiting>)>,
    waiting: u32,
}

/// A call that waits, and how it is told.
type Waiting = (Want, oneshot::Sender<Place>);

/// A place; dropping it gives it to the next.
#[derive(Debug)]
pub struct Place {
    /// None where the one it was meant for had left.
    held: Option<(Arc<Mutex<Table>>, Want)>,
}

#[derive(Debug)]
enum Asked {
    Granted(Place),
    Queued(oneshot::Receiver<Place>),
    Full(Full),
}

/// Why a call may not even wait: so many wait already.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Full {
    /// Of all callers.
    All(u32),
    /// Of this caller: the rest is for others.
    Caller(u32),
    /// Of this plugin, whoever calls it.
    Plugin(String, u32),
}

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All(waiting) => write!(f, "every place is taken and {waiting} calls wait already"),
            Self::Caller(waiting) => write!(
                f,
                "every place that this caller may have is taken, and {waiting} of its calls wait already: the rest of the \
                 queue is for other callers"
            ),
            Self::Plugin(plugin, waiting) => write!(
                f,
                "every place that the plugin {plugin} may have is taken, and {waiting} calls wait for it already: the rest \
                 of the queue is for other plugins"
            ),
        }
    }
}

impl Places {
    /// As many places as the limits say.
    pub fn new(limits: &Limits) -> Self {
        let table = Table {
            at_once: limits.at_once,
            share: (limits.at_once / 2).max(1),
            most_waiting: limits.waiting,
            taken: 0,
            plugins: HashMap::new(),
            callers: HashMap::new(),
            queues: VecDeque::new(),
            waiting: 0,
        };
        Self { shared: Arc::new(Mutex::new(table)) }
    }

    fn ask(&self, want: Want) -> Asked {
        let mut table = lock(&self.shared);
        // Whoever waits does not fit: a place that is given back goes to all that then do.
        if table.fits(&want) {
            table.take(&want);
            return Asked::Granted(Place { held: Some((Arc::clone(&self.shared), want)) });
        }
        if table.full(&want).is_some() {
            table.forget_who_left();
        }
        if let Some(full) = table.full(&want) {
            return Asked::Full(full);
        }
        let (turn, place) = oneshot::channel();
        table.waiting += 1;
        match table.queues.iter_mut().find(|(caller, _)| *caller == want.caller) {
            Some((_, queue)) => queue.push_back((want, turn)),
            None => table.queues.push_back((want.caller.clone(), VecDeque::from([(want, turn)]))),
        }
        Asked::Queued(place)
    }
}

impl Table {
    fn fits(&self, want: &Want) -> bool {
        let held = |counts: &HashMap<String, u32>, name: &String| counts.get(name).copied().unwrap_or(0);
        self.taken < self.at_once
            && held(&self.plugins, &want.plugin) < self.share
            && held(&self.callers, &want.caller) < self.share
    }

    fn take(&mut self, want: &Want) {
        self.taken += 1;
        *self.plugins.entry(want.plugin.clone()).or_default() += 1;
        *self.callers.entry(want.caller.clone()).or_default() += 1;
    }

    fn give_back(&mut self, want: &Want) {
        self.taken = self.taken.saturating_sub(1);
        for (counts, name) in [(&mut self.plugins, &want.plugin), (&mut self.callers, &want.caller)] {
            if let Some(count) = counts.get_mut(name) {
                *count = count.saturating_sub(1);
                if *count == 0 {
                    counts.remove(name);
                }
            }
        }
    }

    /// Whether the call may not wait. A caller may have as many calls in the queue as it leaves free, and a plugin three
    /// times as many: one that wants all of it gets half, two a third each, and there is room for one more.
    fn full(&self, want: &Want) -> Option<Full> {
        let free = self.most_waiting.saturating_sub(self.waiting);
        if free == 0 {
            return Some(Full::All(self.waiting));
        }
        let of_caller = self.queues.iter().find(|(caller, _)| *caller == want.caller);
        let of_caller = of_caller.map_or(0, |(_, queue)| count(queue.len()));
        if of_caller >= free {
            return Some(Full::Caller(of_caller));
        }
        let waiting = self.queues.iter().flat_map(|(_, queue)| queue);
        let of_plugin = count(waiting.filter(|(waits, _)| waits.plugin == want.plugin).count());
        (of_plugin >= free.saturating_mul(3)).then(|| Full::Plugin(want.plugin.clone(), of_plugin))
    }

    /// Takes out those who no longer wait.
    fn forget_who_left(&mut self) {
        for (_, queue) in &mut self.queues {
            queue.retain(|(_, turn)| !turn.is_closed());
        }
        self.queues.retain(|(_, queue)| !queue.is_empty());
        self.waiting = count(self.queues.iter().map(|(_, queue)| queue.len()).sum());
    }

    /// The next call that fits: callers in turn, and of one caller the first that fits.
    fn next(&mut self) -> Option<Waiting> {
        for place in 0..self.queues.len() {
            let fitting = self
                .queues
                .get(place)
                .and_then(|(_, queue)| queue.iter().position(|(want, _)| self.fits(want)));
            let Some(fitting) = fitting else { continue };
            let (caller, mut queue) = self.queues.remove(place)?;
            let next = queue.remove(fitting)?;
            self.waiting = self.waiting.saturating_sub(1);
            if !queue.is_empty() {
                self.queues.push_back((caller, queue));
            }
            return Some(next);
        }
        None
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some((shared, want)) = self.held.take() else { return };
        let mut table = lock(&shared);
        table.give_back(&want);
        while let Some((want, turn)) = table.next() {
            table.take(&want);
            let place = Place { held: Some((Arc::clone(&shared), want)) };
            // Who no longer waits does not keep the place.
            if let Err(mut place) = turn.send(place)
                && let Some((_, want)) = place.held.take()
            {
                table.give_back(&want);
            }
        }
    }
}

fn count(calls: usize) -> u32 {
    u32::try_from(calls).unwrap_or(u32::MAX)
}

fn lock(shared: &Mutex<Table>) -> MutexGuard<'_, Table> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
