//! The floor under a call: wasmtime alone, a fresh instance for each call, and no limit but the pool's.

use std::path::Path;

use airlock::sandbox::wit::tools::GuestIndices;
use airlock::sandbox::wit::types::CallContext;
use wasmtime::component::{Component, InstancePre, Linker, ResourceTable};
use wasmtime::{Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Store};
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};

/// Slots of the pool; one call at a time needs few.
const SLOTS: u32 = 16;

/// A component, ready for calls without a host around it.
pub struct Bare {
    engine: Engine,
    pre: InstancePre<Guest>,
    tools: GuestIndices,
}

impl std::fmt::Debug for Bare {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Bare")
    }
}

struct Guest {
    wasi: WasiCtx,
    table: ResourceTable,
}

impl WasiView for Guest {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl Bare {
    /// Compiles a component.
    ///
    /// # Errors
    /// Where it is none, or asks for what wasmtime does not have.
    pub fn compile(component: &Path) -> wasmtime::Result<Self> {
        let engine = Engine::new(&config())?;
        let component = Component::from_file(&engine, component)?;
        component.initialize_copy_on_write_image()?;
        let mut linker = Linker::new(&engine);
        linker.define_unknown_imports_as_traps(&component)?;
        linker.allow_shadowing(true);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
        let pre = linker.instantiate_pre(&component)?;
        let tools = GuestIndices::new(&pre)?;
        Ok(Self { engine, pre, tools })
    }

    /// Calls a tool in an instance of its own, and gives the reply's data.
    ///
    /// # Errors
    /// Where it traps.
    pub async fn call(&self, tool: &str, input: &str) -> wasmtime::Result<String> {
        let guest = Guest { wasi: WasiCtxBuilder::new().build(), table: ResourceTable::new() };
        let mut store = Store::new(&self.engine, guest);
        let instance = self.pre.instantiate_async(&mut store).await?;
        let guest = self.tools.load(&mut store, &instance)?;
        let (tool, input) = (tool.to_owned(), input.to_owned());
        let reply = guest.call_call(&mut store, &tool, &input, &context()).await?;
        Ok(reply.map_or_else(|error| error.message, |reply| reply.data))
    }
}

/// The engine settings of the host that make a fresh instance cheap, without those that interrupt a guest.
fn config() -> Config {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(SLOTS)
        .total_core_instances(SLOTS * 6)
        .total_memories(SLOTS * 2)
        .total_tables(SLOTS * 4)
        .total_stacks(SLOTS)
        .max_memory_size(64 << 20)
        .linear_memory_keep_resident(384 << 10)
        .table_keep_resident(64 << 10)
        .max_unused_warm_slots(SLOTS)
        .decommit_batch_size(16);
    let mut config = Config::new();
    config
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool))
        .memory_reservation(4 << 30)
        .memory_guard_size(32 << 20)
        .concurrency_support(false)
        .wasm_backtrace_max_frames(None);
    config
}

fn context() -> CallContext {
    CallContext {
        run_id: "01JD8XK3V5R8Y2W6T9Q4M7N1BC".to_owned(),
        step: 1,
        attempt: 1,
        idempotency_key: "3c1b4f7a9d2e8065".to_owned(),
        caller: "first".to_owned(),
        user: None,
        trace_id: "4bf92f3577b34da6a3ce929d0e0e4736".to_owned(),
        time_left_ms: 30_000,
        saved: None,
        attachments: Vec::new(),
    }
}
