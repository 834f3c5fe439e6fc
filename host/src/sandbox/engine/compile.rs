//! From a component to machine code: what a process of its own does, with the settings of the engine that will run it.

use std::hash::{Hash as _, Hasher};

use sha2::{Digest as _, Sha256};
use wasmtime::Engine;
use wasmtime::component::Component;

use super::{MEMORIES, Refusal, TABLES, settings};
use crate::model::id::Digest;
use crate::sandbox::link;

/// Says whether bytes look like a component, without reading further than their head.
///
/// # Errors
/// What they are instead.
pub fn inspect(bytes: &[u8]) -> Result<(), Refusal> {
    if Engine::detect_precompiled(bytes).is_some() {
        return Err(Refusal::MachineCode);
    }
    match bytes.get(..8) {
        Some([0, b'a', b's', b'm', _, _, 1, 0]) => Ok(()),
        Some([0, b'a', b's', b'm', _, _, 0, 0]) => Err(Refusal::Module),
        Some(_) => Err(Refusal::NotWasm("it does not begin as WebAssembly does".to_owned())),
        None => Err(Refusal::NotWasm(format!("it has {} bytes", bytes.len()))),
    }
}

/// Compiles a component to machine code. Whoever calls this with unknown bytes bounds its own time and memory first.
///
/// # Errors
/// Where the bytes are no component, the compiler gave up on them, or no sandbox has room for what they hold.
pub fn precompile(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let failed = |error: wasmtime::Error| format!("{error:#}");
    let engine = Engine::new(&settings()).map_err(failed)?;
    let component = Component::new(&engine, bytes).map_err(failed)?;
    if let Some(holds) = component.resources_required() {
        within("memories", holds.num_memories, MEMORIES)?;
        within("tables", holds.num_tables, TABLES)?;
    }
    component.serialize().map_err(failed)
}

fn within(what: &str, held: u32, most: u32) -> Result<(), String> {
    if held > most { Err(format!("it holds {held} {what}, and a component may hold {most}")) } else { Ok(()) }
}

/// Stands for all that compiled code, and what was found out about a component, depends on beside the component.
pub(super) fn kind(engine: &Engine) -> Digest {
    let mut hash = Sha(Sha256::new());
    env!("CARGO_PKG_VERSION").hash(&mut hash);
    link::offered().for_each(|name| name.hash(&mut hash));
    engine.precompile_compatibility_hash().hash(&mut hash);
    Digest(hash.0.finalize().into())
}

/// A digest in the clothes of a hasher.
struct Sha(Sha256);

impl Hasher for Sha {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        let bytes: [u8; 32] = self.0.clone().finalize().into();
        u64::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7]])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::limits::Limits;

    #[test]
    fn the_pool_does_not_change_what_code_is_compiled() {
        let alone = Engine::new(&settings()).unwrap();
        let mut pooled = settings();
        pooled.allocation_strategy(super::super::pool(&Limits { at_once: 2, ..Limits::default() }));
        assert_eq!(kind(&alone), kind(&Engine::new(&pooled).unwrap()));
    }
}
