//! Places: how many calls run at once, at most half of them for one plugin or one caller, and who is next.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use super::validate::Valid;
use super::{Parts, Turn};
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
    Ok((place.map_err(Turn::Refuse)?, prepared))
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
        Asked::Full(waiting) => {
            Err(overloaded(format!("every place is taken and {waiting} calls wait already; nothing was run")))
        }
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
    Full(u32),
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
        if table.waiting >= table.most_waiting {
            table.forget_who_left();
        }
        if table.waiting >= table.most_waiting {
            return Asked::Full(table.waiting);
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

    /// Takes out those who no longer wait.
    fn forget_who_left(&mut self) {
        for (_, queue) in &mut self.queues {
            queue.retain(|(_, turn)| !turn.is_closed());
        }
        self.queues.retain(|(_, queue)| !queue.is_empty());
        let waiting: usize = self.queues.iter().map(|(_, queue)| queue.len()).sum();
        self.waiting = u32::try_from(waiting).unwrap_or(u32::MAX);
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

fn lock(shared: &Mutex<Table>) -> MutexGuard<'_, Table> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(at_once: u32, waiting: u32) -> Places {
        Places::new(&Limits { at_once, waiting, ..Limits::default() })
    }

    fn want(plugin: &str, caller: &str) -> Want {
        Want { plugin: plugin.into(), caller: caller.into() }
    }

    fn granted(asked: Asked) -> Option<Place> {
        match asked {
            Asked::Granted(place) => Some(place),
            Asked::Queued(_) | Asked::Full(_) => None,
        }
    }

    #[test]
    fn half_of_the_places_are_the_most_for_one_plugin_or_one_caller() {
        let places = places(4, 10);
        let first = granted(places.ask(want("p", "a")));
        let second = granted(places.ask(want("p", "b")));
        assert!(first.is_some() && second.is_some());
        assert!(granted(places.ask(want("p", "c"))).is_none());
        assert!(granted(places.ask(want("q", "a"))).is_some());
    }

    #[test]
    fn half_of_an_odd_number_is_the_smaller_part() {
        let places = places(3, 10);
        let _held = granted(places.ask(want("p", "a"))).unwrap();
        assert!(granted(places.ask(want("p", "b"))).is_none());
        assert!(granted(places.ask(want("q", "a"))).is_none());
        assert!(granted(places.ask(want("q", "b"))).is_some());
    }

    #[test]
    fn a_place_goes_to_callers_in_turn() {
        let places = places(2, 10);
        let held = granted(places.ask(want("p", "x"))).unwrap();
        let other = granted(places.ask(want("q", "y"))).unwrap();
        let mut waits = Vec::new();
        for caller in ["a", "a", "b"] {
            let Asked::Queued(turn) = places.ask(want("p", caller)) else { panic!("no place is free") };
            waits.push(turn);
        }
        drop(held);
        let first = waits[0].try_recv().unwrap();
        assert!(waits[1].try_recv().is_err() && waits[2].try_recv().is_err());
        drop(first);
        let second = waits[2].try_recv().unwrap();
        assert!(waits[1].try_recv().is_err());
        drop(second);
        assert!(waits[1].try_recv().is_ok());
        drop(other);
    }

    #[test]
    fn who_gave_up_waiting_keeps_nothing() {
        let places = places(2, 10);
        let held = granted(places.ask(want("p", "a"))).unwrap();
        drop(places.ask(want("p", "b")));
        let Asked::Queued(mut turn) = places.ask(want("p", "c")) else { panic!("half is taken") };
        drop(held);
        assert!(turn.try_recv().is_ok());
    }

    #[test]
    fn a_place_that_is_given_back_goes_to_all_that_it_kept_waiting() {
        let places = places(4, 10);
        let held = granted(places.ask(want("p", "a"))).unwrap();
        let _others = [granted(places.ask(want("p", "b"))), granted(places.ask(want("q", "a")))];
        let Asked::Queued(mut of_the_plugin) = places.ask(want("p", "c")) else { panic!("p has its half") };
        let Asked::Queued(mut of_the_caller) = places.ask(want("r", "a")) else { panic!("a has its half") };
        drop(held);
        assert!(of_the_plugin.try_recv().is_ok() && of_the_caller.try_recv().is_ok());
    }

    #[test]
    fn a_caller_that_waits_for_one_plugin_is_served_by_another() {
        let places = places(4, 10);
        let _held = [granted(places.ask(want("p", "a"))), granted(places.ask(want("p", "b")))];
        let Asked::Queued(_waiting) = places.ask(want("p", "c")) else { panic!("p has its half") };
        assert!(granted(places.ask(want("q", "c"))).is_some());
    }

    #[test]
    fn who_gave_up_waiting_takes_no_room_in_the_queue() {
        let places = places(2, 1);
        let _held = granted(places.ask(want("p", "a"))).unwrap();
        drop(places.ask(want("p", "b")));
        assert!(matches!(places.ask(want("p", "b")), Asked::Queued(_)));
    }

    #[test]
    fn the_queue_is_bounded() {
        let places = places(1, 1);
        let _held = granted(places.ask(want("p", "a"))).unwrap();
        let _queued = places.ask(want("p", "b"));
        assert!(matches!(places.ask(want("p", "c")), Asked::Full(1)));
    }
}
