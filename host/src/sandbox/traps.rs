//! How an instance ended, told by the types of its errors and never by their texts.

use wasmtime::Trap;

use super::guest::Stop;
use super::limiter::Held;
use crate::model::classify::{Ended, Limit};
use crate::model::limits::Limits;

/// Reads the error that ended a call of a guest.
pub(super) fn read(error: &wasmtime::Error, held: &Held, limits: &Limits) -> Ended {
    if let Some(Stop(ended)) = error.downcast_ref::<Stop>() {
        return ended.clone();
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::OutOfFuel) => Ended::Limit(Limit::Fuel(limits.fuel)),
        // A guest that was refused memory and then gave up ended for want of memory, however it gave up.
        Some(_) if held.refused() => Ended::Limit(Limit::Memory(limits.memory)),
        Some(trap) => Ended::Trapped(format!("trap: {trap}")),
        None if error.downcast_ref::<std::str::Utf8Error>().is_some() => {
            Ended::Trapped(format!("the guest gave text that is no UTF-8: {error:#}"))
        }
        None if error.downcast_ref::<wasmtime_wasi::I32Exit>().is_some() => {
            Ended::Trapped("the guest left by `exit`".to_owned())
        }
        // What is left are values too large to be taken from the guest's memory, or malformed ones.
        None => Ended::Limit(Limit::Output(limits.output)),
    }
}

/// Whether a guest could not be made because the engine's slots or the limits did not allow it.
pub(super) fn instantiation(error: &wasmtime::Error, held: &Held, limits: &Limits) -> Ended {
    if held.refused() {
        return Ended::Limit(Limit::Memory(limits.memory));
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::OutOfFuel) => Ended::Limit(Limit::Fuel(limits.fuel)),
        Some(_) | None => Ended::Trapped(format!("the instance could not be made: {error:#}")),
    }
}
