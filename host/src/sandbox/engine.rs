//! The one engine of a process: its settings, the clock that interrupts guests, and what components link against.

mod code;
pub mod compile;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Thread;
use std::time::Duration;

use wasmtime::component::{Component, InstancePre, Linker};
use wasmtime::{
    Config, Enabled, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig, WasmBacktraceDetails,
    WasmFeatures,
};

use super::guest::Guest;
use super::link::{self, Contract};
use super::lookout::Lookout;
use super::threads::Threads;
use super::wit::{preview, rollback, tools};
use crate::model::id::Digest;
use crate::model::limits::Limits;

pub use code::Authentic;
pub use link::Surface;

/// How often a guest may be interrupted; it yields once a tick.
const TICK: Duration = Duration::from_millis(1);

/// Ticks without a guest after which they stop: calls in a row need not start them anew.
const LINGER: u32 = 100;

/// Pages that a guest dirtied below this are cleared in place, which is cheaper than giving them back.
const KEEP_RESIDENT: usize = 384 << 10;

/// Room for recursion in guests with interpreters of their own.
const WASM_STACK: usize = 2 << 20;

/// The stack that calls run on, host functions included.
const ASYNC_STACK: usize = 4 << 20;

/// What 32 bits address. How much of it a guest may have, its store's limiter says, and names the setting.
const MEMORY: usize = 4 << 30;

/// What one component may be composed of; what composes Python or QuickJS has up to 38 instances and 3 memories.
const CORE_INSTANCES: u32 = 60;
const MEMORIES: u32 = 30;
const TABLES: u32 = 60;

/// The engine, the linker, and the threads that guests run on.
pub struct Engine {
    pub(super) engine: wasmtime::Engine,
    linker: Linker<Guest>,
    pub(super) threads: Threads,
    pub(super) ticks: Ticks,
    pub(super) waits: Waits,
    /// Looks for answers of guests.
    pub(super) answers: Lookout,
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Engine")
    }
}

/// A component in machine code.
#[derive(Clone)]
pub struct Compiled {
    component: Component,
}

impl fmt::Debug for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Compiled")
    }
}

/// A component with its imports resolved, from which fresh instances are made. Clones are the same one.
#[derive(Clone)]
pub struct Prepared {
    pub(super) ready: Arc<Ready>,
}

/// What instances are made from.
pub(super) struct Ready {
    pub(super) pre: InstancePre<Guest>,
    pub(super) tools: tools::GuestIndices,
    /// None where the component does not export it.
    pub(super) preview: Option<preview::GuestIndices>,
    /// The same.
    pub(super) rollback: Option<rollback::GuestIndices>,
}

impl Prepared {
    /// Whether the component has a way back, and can tell and find out about past calls.
    pub fn rolls_back(&self) -> bool {
        self.ready.rollback.is_some()
    }
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Prepared")
    }
}

/// Why a component is not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// Compiled code from outside, which nobody can check.
    MachineCode,
    /// A core module, which declares nothing.
    Module,
    /// No WebAssembly at all, or a damaged file.
    NotWasm(String),
    /// It imports what the host does not have.
    Imports(Vec<String>),
    /// It exports no version of the contract that the host knows; perhaps this other one.
    Contract(Option<String>),
    /// What it exports is not what the contract says.
    Exports(String),
}

impl Engine {
    /// Starts the engine, its ticks and its threads.
    ///
    /// # Errors
    /// Where the system refuses the memory or the threads.
    pub fn start(limits: &Limits, runtime: &tokio::runtime::Handle) -> wasmtime::Result<Self> {
        let engine = wasmtime::Engine::new(settings().allocation_strategy(pool(limits)))?;
        let linker = link::linker(&engine)?;
        let ticks = Ticks::start(engine.clone())?;
        let threads = Threads::start(runtime)?;
        Ok(Self { engine, linker, threads, ticks, waits: Waits::default(), answers: Lookout::default() })
    }

    /// Stands for all that compiled code depends on beside the component.
    pub fn kind(&self) -> Digest {
        compile::kind(&self.engine)
    }

    /// What a component imports, as `interface` or `interface#function`, and the interfaces that it exports.
    pub fn surface(&self, compiled: &Compiled) -> Surface {
        link::surface(&self.engine, &compiled.component)
    }

    /// Resolves the imports of a component and looks for the exports of the contract.
    ///
    /// # Errors
    /// Where an import is not offered here or an export is missing.
    pub fn prepare(&self, compiled: &Compiled) -> Result<Prepared, Refusal> {
        // What another contract imports says less than that it is another.
        let contract = link::contract(&self.engine, &compiled.component)?;
        let missing = link::missing(&self.engine, &compiled.component);
        if !missing.is_empty() {
            return Err(Refusal::Imports(missing));
        }
        let pre = self
            .linker
            .instantiate_pre(&compiled.component)
            .map_err(|error| Refusal::Imports(vec![format!("{error:#}")]))?;
        let refused = |error: wasmtime::Error| Refusal::Exports(format!("{error:#}"));
        match contract {
            Contract::V0_1_0 => {
                let exports = |name: &str| compiled.component.get_export_index(None, name).is_some();
                let previews = exports("airlock:plugin/preview@0.1.0");
                let rolls_back = exports("airlock:plugin/rollback@0.1.0");
                let ready = Ready {
                    tools: tools::GuestIndices::new(&pre).map_err(refused)?,
                    preview: previews
                        .then(|| preview::GuestIndices::new(&pre))
                        .transpose()
                        .map_err(refused)?,
                    rollback: rolls_back
                        .then(|| rollback::GuestIndices::new(&pre))
                        .transpose()
                        .map_err(refused)?,
                    pre,
                };
                Ok(Prepared { ready: Arc::new(ready) })
            }
        }
    }
}

/// What code is compiled for, wherever it is compiled and however its instances are allocated.
fn settings() -> Config {
    let mut config = Config::new();
    config
        .memory_reservation(4 << 30)
        .memory_guard_size(32 << 20)
        .memory_init_cow(true)
        .consume_fuel(true)
        .epoch_interruption(true)
        .max_wasm_stack(WASM_STACK)
        .async_stack_size(ASYNC_STACK)
        .concurrency_support(false)
        .wasm_backtrace_max_frames(None)
        .wasm_backtrace_details(WasmBacktraceDetails::Disable)
        .native_unwind_info(false)
        .generate_address_map(false)
        .cranelift_opt_level(OptLevel::Speed)
        .wasm_memory64(false)
        .wasm_relaxed_simd(false)
        .wasm_tail_call(false)
        .wasm_features(
            WasmFeatures::EXCEPTIONS | WasmFeatures::THREADS | WasmFeatures::FUNCTION_REFERENCES,
            false,
        );
    config
}

/// Slots for every place and as many again: a store is dropped after its call was answered. Core instances are only
/// counted, so there are enough for the largest component everywhere; a table reserves 1.6 MB of addresses, and there are
/// sixteen for each place. A memory reserves 4 GiB, so there are four for each place: what Python or JavaScript is
/// composed to has three. Where larger components use them up, who comes next is told to come back.
fn pool(limits: &Limits) -> InstanceAllocationStrategy {
    let places = limits.at_once.saturating_mul(2).max(8);
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(places)
        .total_core_instances(places.saturating_mul(CORE_INSTANCES))
        .total_memories(places.saturating_mul(2).max(2 * MEMORIES))
        .total_tables(places.saturating_mul(8).max(2 * TABLES))
        .total_stacks(places)
        .max_core_instances_per_component(CORE_INSTANCES)
        .max_memories_per_component(MEMORIES)
        .max_memories_per_module(MEMORIES)
        .max_tables_per_component(TABLES)
        .max_tables_per_module(TABLES)
        .max_component_instance_size(4 << 20)
        .max_core_instance_size(4 << 20)
        .table_elements(200_000)
        .max_memory_size(MEMORY)
        .linear_memory_keep_resident(KEEP_RESIDENT)
        .table_keep_resident(64 << 10)
        .max_unused_warm_slots(places)
        .decommit_batch_size(16)
        .pagemap_scan(Enabled::No);
    InstanceAllocationStrategy::Pooling(pool)
}

/// Advances the engine's epoch while any guest lives and for a while longer, and sleeps otherwise.
#[derive(Debug)]
pub(super) struct Ticks {
    live: Arc<AtomicUsize>,
    thread: Thread,
}

/// How many ticks without a guest there have been, after one more.
fn still(quiet: u32, live: usize) -> u32 {
    if live == 0 { quiet.saturating_add(1) } else { 0 }
}

/// A guest that lives, as the ticks count them.
#[derive(Debug)]
pub(super) struct Living(Arc<AtomicUsize>);

impl Ticks {
    fn start(engine: wasmtime::Engine) -> std::io::Result<Self> {
        let live = Arc::new(AtomicUsize::new(0));
        let seen = Arc::downgrade(&live);
        let thread = std::thread::Builder::new().name("ticks".to_owned()).spawn(move || {
            let mut quiet = 0;
            while let Some(live) = seen.upgrade() {
                quiet = still(quiet, live.load(Ordering::SeqCst));
                drop(live);
                if quiet > LINGER {
                    std::thread::park();
                    quiet = 0;
                } else {
                    std::thread::sleep(TICK);
                    engine.increment_epoch();
                }
            }
        })?;
        Ok(Self { live, thread: thread.thread().clone() })
    }

    pub(super) fn living(&self) -> Living {
        if self.live.fetch_add(1, Ordering::SeqCst) == 0 {
            self.thread.unpark();
        }
        Living(Arc::clone(&self.live))
    }
}

impl Drop for Ticks {
    fn drop(&mut self) {
        self.thread.unpark();
    }
}

impl Drop for Living {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// How many guests are waited for.
#[derive(Debug, Default)]
pub(super) struct Waits(AtomicUsize);

/// One who waits for a guest, until this is dropped.
#[derive(Debug)]
pub(super) struct Waiting<'a>(&'a Waits);

impl Waits {
    pub(super) fn begin(&self) -> Waiting<'_> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Waiting(self)
    }
}

impl Waiting<'_> {
    /// Whether nobody else waits.
    pub(super) fn alone(&self) -> bool {
        self.0.0.load(Ordering::Relaxed) == 1
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_go_on_for_a_while_after_the_last_guest() {
        let quiet = (0..LINGER).fold(0, |quiet, _| still(quiet, 0));
        assert!(quiet <= LINGER && still(quiet, 0) > LINGER);
        assert_eq!(still(quiet, 1), 0);
    }

    #[test]
    fn who_waits_is_alone_until_another_does() {
        let waits = Waits::default();
        let first = waits.begin();
        assert!(first.alone());
        let second = waits.begin();
        assert!(!first.alone() && !second.alone());
        drop(first);
        assert!(second.alone());
    }
}
