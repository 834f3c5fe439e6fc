//! How an instance ended, told by the types of its errors and never by their texts.

use wasmtime::component::{Resource, ResourceTableError};
use wasmtime::{MemoryAccessError, PoolConcurrencyLimitError, Store, Trap};

use super::attempt::{HANDLES, RESOURCES, piece};
use super::guest::{Guest, Stop};
use super::limiter::Held;
use crate::model::classify::Ended;
use crate::model::limits::{Limit, Limits};

/// Reads the error that ended a call of a guest.
pub(super) fn read(error: &wasmtime::Error, store: &mut Store<Guest>, held: &Held, limits: &Limits) -> Ended {
    if let Some(Stop(ended)) = error.downcast_ref::<Stop>() {
        return ended.clone();
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::OutOfFuel) => return Ended::Limit(Limit::Fuel(limits.fuel)),
        // A guest that was refused memory and then gave up ended for want of memory, however it gave up.
        Some(_) if held.refused() => return Ended::Limit(Limit::Memory(limits.memory)),
        Some(trap) => return Ended::Trapped(format!("trap: {trap}")),
        None => {}
    }
    if error.is::<PoolConcurrencyLimitError>() {
        return no_room(error);
    }
    if let Some(ResourceTableError::Full) = error.downcast_ref() {
        return Ended::Limit(Limit::Resources(count(RESOURCES)));
    }
    if error.is::<std::str::Utf8Error>() {
        return Ended::Trapped(format!("the guest gave text that is no UTF-8: {error:#}"));
    }
    if error.is::<wasmtime_wasi::I32Exit>() {
        return Ended::Trapped("the guest left by `exit`".to_owned());
    }
    if too_large(error) {
        return Ended::Limit(Limit::Piece(piece(limits)));
    }
    if !takes_a_handle(store) {
        return Ended::Limit(Limit::Handles(count(HANDLES)));
    }
    Ended::Trapped(format!("the instance ended: {error:#}"))
}

/// Why a guest could not be made.
pub(super) fn instantiation(
    error: &wasmtime::Error,
    store: &mut Store<Guest>,
    held: &Held,
    limits: &Limits,
) -> Ended {
    if held.refused() {
        return Ended::Limit(Limit::Memory(limits.memory));
    }
    if error.is::<PoolConcurrencyLimitError>() {
        return no_room(error);
    }
    let ended = read(error, store, held, limits);
    if let Ended::Trapped(text) = &ended {
        return Ended::Trapped(format!("the instance could not be made: {text}"));
    }
    ended
}

/// The pool gives nothing out before it gives all: whoever finds it empty has not begun.
fn no_room(error: &wasmtime::Error) -> Ended {
    Ended::NoRoom(format!("the pool of instances is used up: {error:#}"))
}

/// Whether more was handed over than may be taken from the guest's memory. Wasmtime keeps that error's type to itself;
/// of those that end a guest it alone carries nothing.
fn too_large(error: &wasmtime::Error) -> bool {
    let carries_nothing = error.chain().last().is_some_and(|root| size_of_val(root) == 0);
    carries_nothing && !error.is::<MemoryAccessError>()
}

/// Whether the store takes one handle more. That it took too many is told by a text alone, so it is tried: the store is
/// never used again.
fn takes_a_handle(store: &mut Store<Guest>) -> bool {
    struct Tried;
    Resource::<Tried>::new_own(0).try_into_resource_any(store).is_ok()
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
