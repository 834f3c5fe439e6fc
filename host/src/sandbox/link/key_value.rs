//! The functions of the key-value store.

use std::sync::Arc;

use wasmtime::StoreContextMut;
use wasmtime::component::LinkerInstance;

use super::DESCRIBING;
use crate::sandbox::capability::key_value;
use crate::sandbox::capability::staging::{Staging, Told};
use crate::sandbox::grants::Grants;
use crate::sandbox::guest::{Guest, stop};

pub(super) fn link(instance: &mut LinkerInstance<'_, Guest>) -> wasmtime::Result<()> {
    instance.func_wrap_async("get", |store: StoreContextMut<'_, Guest>, (key,): (String,)| {
        Box::new(async move {
            told(match allowed(store.data(), key_value::allowed) {
                Ok(staging) => staging.get(key).await,
                Err(refusal) => Ok(Err(refusal)),
            })
        })
    })?;
    instance.func_wrap_async(
        "set",
        |store: StoreContextMut<'_, Guest>, (key, value): (String, Vec<u8>)| {
            Box::new(async move {
                told(match allowed(store.data(), key_value::changeable) {
                    Ok(staging) => staging.set(key, value).await,
                    Err(refusal) => Ok(Err(refusal)),
                })
            })
        },
    )?;
    instance.func_wrap_async("delete", |store: StoreContextMut<'_, Guest>, (key,): (String,)| {
        Box::new(async move {
            told(match allowed(store.data(), key_value::changeable) {
                Ok(staging) => staging.delete(key).await,
                Err(refusal) => Ok(Err(refusal)),
            })
        })
    })?;
    instance.func_wrap_async(
        "keys",
        |store: StoreContextMut<'_, Guest>, (prefix, after): (String, Option<String>)| {
            Box::new(async move {
                told(match allowed(store.data(), key_value::allowed) {
                    Ok(staging) => staging.keys(prefix, after).await,
                    Err(refusal) => Ok(Err(refusal)),
                })
            })
        },
    )
}

/// What the call sets aside, where its tool may use the store; a refusal is told to the guest, and logged with what
/// would allow it.
fn allowed(
    guest: &Guest,
    rule: impl FnOnce(&Grants) -> Result<(), (String, String)>,
) -> Result<Arc<Staging>, String> {
    let Some(serves) = &guest.serves else { return Err(DESCRIBING.to_owned()) };
    rule(&serves.grants).map(|()| Arc::clone(&serves.staging)).map_err(|(rule, remedy)| {
        guest.log.host(&format!("refused the key-value store: {rule}; {remedy}"));
        rule
    })
}

fn told<T>(told: Told<T>) -> wasmtime::Result<(Result<T, String>,)> {
    told.map(|told| (told,)).map_err(stop)
}
