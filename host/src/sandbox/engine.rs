//! The one engine of a process: its settings, the clock that interrupts guests, and what components link against.

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
use super::link;
use super::threads::Threads;
use super::wit::tools::GuestIndices;
use crate::model::limits::Limits;

/// How often a guest may be interrupted; it yields once a tick.
const TICK: Duration = Duration::from_millis(1);

/// Pages that a guest dirtied below this are cleared in place, which is cheaper than giving them back.
const KEEP_RESIDENT: usize = 384 << 10;

/// Room for recursion in guests with interpreters of their own.
const WASM_STACK: usize = 2 << 20;

/// The stack that calls run on, host functions included.
const ASYNC_STACK: usize = 4 << 20;

/// The engine, the linker, and the threads that guests run on.
pub struct Engine {
    pub(super) engine: wasmtime::Engine,
    linker: Linker<Guest>,
    pub(super) threads: Threads,
    pub(super) ticks: Ticks,
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

/// A component with its imports resolved, from which fresh instances are made.
#[derive(Clone)]
pub struct Prepared {
    pub(super) pre: InstancePre<Guest>,
    pub(super) tools: GuestIndices,
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
    /// It cannot be compiled.
    Compile(String),
    /// It imports what the host does not have.
    Imports(Vec<String>),
    /// It does not export what the contract asks for.
    Exports(String),
}

impl Engine {
    /// Starts the engine, its ticks and its threads.
    ///
    /// # Errors
    /// Where the system refuses the memory or the threads.
    pub fn start(limits: &Limits, runtime: &tokio::runtime::Handle) -> wasmtime::Result<Self> {
        let engine = wasmtime::Engine::new(&config(limits))?;
        let linker = link::linker(&engine)?;
        let ticks = Ticks::start(engine.clone())?;
        let threads = Threads::start(runtime)?;
        Ok(Self { engine, linker, threads, ticks })
    }

    /// Compiles a component, away from the threads that serve.
    ///
    /// # Errors
    /// Where the bytes are no component, or the compiler gave up on them.
    pub async fn compile(&self, bytes: Vec<u8>) -> Result<Compiled, Refusal> {
        let engine = self.engine.clone();
        let compiling = tokio::task::spawn_blocking(move || compile(&engine, &bytes));
        compiling.await.unwrap_or_else(|_| Err(Refusal::Compile("the compiler failed on it".to_owned())))
    }

    /// Resolves the imports of a component and looks for the exports of the contract.
    ///
    /// # Errors
    /// Where an import is not offered here or an export is missing.
    pub fn prepare(&self, compiled: &Compiled) -> Result<Prepared, Refusal> {
        let missing = link::missing(&self.engine, &compiled.component);
        if !missing.is_empty() {
            return Err(Refusal::Imports(missing));
        }
        let pre = self
            .linker
            .instantiate_pre(&compiled.component)
            .map_err(|error| Refusal::Imports(vec![format!("{error:#}")]))?;
        let tools = GuestIndices::new(&pre).map_err(|error| Refusal::Exports(format!("{error:#}")))?;
        Ok(Prepared { pre, tools })
    }
}

fn compile(engine: &wasmtime::Engine, bytes: &[u8]) -> Result<Compiled, Refusal> {
    if wasmtime::Engine::detect_precompiled(bytes).is_some() {
        return Err(Refusal::MachineCode);
    }
    match bytes.get(..8) {
        Some([0, b'a', b's', b'm', _, _, 1, 0]) => {}
        Some([0, b'a', b's', b'm', _, _, 0, 0]) => return Err(Refusal::Module),
        Some(_) => return Err(Refusal::NotWasm("it does not begin as WebAssembly does".to_owned())),
        None => return Err(Refusal::NotWasm(format!("it has {} bytes", bytes.len()))),
    }
    let component =
        Component::from_binary(engine, bytes).map_err(|error| Refusal::Compile(format!("{error:#}")))?;
    let _ = component.initialize_copy_on_write_image();
    Ok(Compiled { component })
}

fn config(limits: &Limits) -> Config {
    let mut config = Config::new();
    config
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool(limits)))
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

/// Slots for every place and as many again: a store is dropped after its call was answered.
fn pool(limits: &Limits) -> PoolingAllocationConfig {
    let places = limits.at_once.saturating_mul(2).max(8);
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(places)
        .total_core_instances(places.saturating_mul(6).max(120))
        .total_memories(places.saturating_mul(2).max(60))
        .total_tables(places.saturating_mul(4).max(120))
        .total_stacks(places)
        .max_core_instances_per_component(60)
        .max_memories_per_component(30)
        .max_tables_per_component(60)
        .max_component_instance_size(4 << 20)
        .max_core_instance_size(4 << 20)
        .table_elements(200_000)
        .max_memory_size(usize::try_from(limits.memory).unwrap_or(usize::MAX).min(4 << 30))
        .linear_memory_keep_resident(KEEP_RESIDENT)
        .table_keep_resident(64 << 10)
        .max_unused_warm_slots(places)
        .decommit_batch_size(16)
        .pagemap_scan(Enabled::No);
    pool
}

/// Advances the engine's epoch while any guest lives, and sleeps otherwise.
#[derive(Debug)]
pub(super) struct Ticks {
    live: Arc<AtomicUsize>,
    thread: Thread,
}

/// A guest that lives, as the ticks count them.
#[derive(Debug)]
pub(super) struct Living(Arc<AtomicUsize>);

impl Ticks {
    fn start(engine: wasmtime::Engine) -> std::io::Result<Self> {
        let live = Arc::new(AtomicUsize::new(0));
        let seen = Arc::downgrade(&live);
        let thread = std::thread::Builder::new().name("ticks".to_owned()).spawn(move || {
            while let Some(live) = seen.upgrade() {
                let idle = live.load(Ordering::SeqCst) == 0;
                drop(live);
                if idle {
                    std::thread::park();
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
