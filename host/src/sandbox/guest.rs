//! What a store holds while a guest runs: its grants, its limits, and what the host keeps of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use super::capability::effects::Effects;
use super::capability::files::Files;
use super::capability::http::Egress;
use super::capability::progress::{self, Progress};
use super::capability::secrets::Placeholders;
use super::capability::staging::Staging;
use super::grants::Grants;
use super::limiter::Limiter;
use super::logbook::Logbook;
use crate::model::classify::Ended;

/// The state of one instance, of one call, of one tool.
pub(super) struct Guest {
    pub(super) wasi: WasiCtx,
    pub(super) table: ResourceTable,
    pub(super) limiter: Limiter,
    pub(super) log: Logbook,
    pub(super) serves: Option<Serves>,
}

/// The call that the instance serves; none while it only describes itself.
pub(super) struct Serves {
    pub(super) grants: Arc<Grants>,
    pub(super) effects: Arc<Effects>,
    pub(super) egress: Egress,
    pub(super) files: Files,
    pub(super) texts: Placeholders,
    pub(super) progress: Option<Progress>,
    pub(super) stop: progress::Stop,
    pub(super) staging: Arc<Staging>,
    /// Signatures, by the secret that they were made with.
    pub(super) signed: BTreeMap<String, u64>,
}

impl WasiView for Guest {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

/// The host ends the attempt; the guest is not told.
#[derive(Debug)]
pub(super) struct Stop(pub(super) Ended);

/// The error by which a function of the host ends the attempt.
pub(super) fn stop(ended: Ended) -> wasmtime::Error {
    wasmtime::Error::new(Stop(ended))
}

impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the host ends the attempt")
    }
}

impl std::error::Error for Stop {}
