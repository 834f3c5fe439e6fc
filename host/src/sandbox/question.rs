//! What a fresh instance is asked: one question, and its answer in plain values.

use wasmtime::Store;
use wasmtime::component::Instance;

use super::answer::{self, declared, replied};
use super::engine::Prepared;
use super::guest::Guest;
use super::wit::rollback;
use super::wit::types::CallContext;
use crate::model::classify::Ended;
use crate::model::code;
use crate::model::failure::{Failure, Kind};
use crate::model::limits::Limits;
use crate::model::past::{PastCall, Planned, Probed, Undone};
use crate::model::reply::Output;

/// Runs a tool.
#[derive(Debug)]
pub struct Call {
    /// The tool's own name.
    pub tool: String,
    /// JSON text that has passed the tool's schema.
    pub input: String,
}

/// Says what running a tool would do.
#[derive(Debug)]
pub struct Preview {
    /// The tool's own name.
    pub tool: String,
    /// JSON text that has passed the tool's schema.
    pub input: String,
}

/// Undoes what a past call did.
#[derive(Debug)]
pub struct Rollback(pub PastCall);

/// Tells the state of what a past call touched.
#[derive(Debug)]
pub struct Fingerprint(pub PastCall);

/// Finds out whether a past call took effect.
#[derive(Debug)]
pub struct Probe(pub PastCall);

/// An instance that waits for its question.
pub struct Asked<'a> {
    pub(super) store: &'a mut Store<Guest>,
    pub(super) prepared: &'a Prepared,
    pub(super) instance: &'a Instance,
    pub(super) context: &'a CallContext,
    pub(super) limits: &'a Limits,
}

impl std::fmt::Debug for Asked<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Asked")
    }
}

/// The outer error is the instance's end, the inner one the end of the attempt in words of the host.
pub type Said<T> = wasmtime::Result<Result<T, Ended>>;

/// One question to a fresh instance.
pub trait Question: Send + 'static {
    /// What comes back.
    type Answer: Send + 'static;

    /// Asks it.
    fn ask(self, asked: Asked<'_>) -> impl Future<Output = Said<Self::Answer>> + Send;
}

impl Question for Call {
    type Answer = Output;

    async fn ask(self, asked: Asked<'_>) -> Said<Output> {
        let Asked { store, prepared, instance, context, limits } = asked;
        let guest = prepared.ready.tools.load(&mut *store, instance)?;
        let said = guest.call_call(store, &self.tool, &self.input, context).await?;
        Ok(said.map_or_else(|error| Err(declared(error, limits)), |reply| replied(reply, limits)))
    }
}

impl Question for Preview {
    type Answer = Planned;

    async fn ask(self, asked: Asked<'_>) -> Said<Planned> {
        let Asked { store, prepared, instance, context, limits } = asked;
        let Some(exported) = &prepared.ready.preview else { return Ok(Err(not_offered("preview"))) };
        let guest = exported.load(&mut *store, instance)?;
        let said = guest.call_preview(store, &self.tool, &self.input, context).await?;
        Ok(said.map_or_else(|error| Err(declared(error, limits)), |planned| answer::planned(planned, limits)))
    }
}

impl Question for Rollback {
    type Answer = Undone;

    async fn ask(self, asked: Asked<'_>) -> Said<Undone> {
        let Asked { context, limits, .. } = asked;
        let Some((guest, store)) = way_back(asked)? else { return Ok(Err(not_offered("way back"))) };
        let said = guest.call_rollback(store, &answer::past(self.0), context).await?;
        Ok(said.map_or_else(|error| Err(declared(error, limits)), |undone| answer::undone(undone, limits)))
    }
}

impl Question for Fingerprint {
    type Answer = Option<String>;

    async fn ask(self, asked: Asked<'_>) -> Said<Option<String>> {
        let Asked { context, limits, .. } = asked;
        let Some((guest, store)) = way_back(asked)? else { return Ok(Err(not_offered("way back"))) };
        let said = guest.call_fingerprint(store, &answer::past(self.0), context).await?;
        Ok(said.map_or_else(|error| Err(declared(error, limits)), |state| answer::state(state, limits)))
    }
}

impl Question for Probe {
    type Answer = Probed<Output>;

    async fn ask(self, asked: Asked<'_>) -> Said<Probed<Output>> {
        let Asked { context, limits, .. } = asked;
        let Some((guest, store)) = way_back(asked)? else { return Ok(Err(not_offered("way back"))) };
        let said = guest.call_probe(store, &answer::past(self.0), context).await?;
        Ok(said.map_or_else(|error| Err(declared(error, limits)), |probed| answer::probed(probed, limits)))
    }
}

/// The exports of `rollback`, where the plugin has them.
fn way_back(asked: Asked<'_>) -> wasmtime::Result<Option<(rollback::Guest, &mut Store<Guest>)>> {
    let Asked { store, prepared, instance, .. } = asked;
    let Some(exported) = &prepared.ready.rollback else { return Ok(None) };
    Ok(Some((exported.load(&mut *store, instance)?, store)))
}

fn not_offered(what: &str) -> Ended {
    let text = format!("the tool's plugin has no {what}");
    Ended::Declared(Failure::new(Kind::Fatal, code::NOT_OFFERED, text))
}
