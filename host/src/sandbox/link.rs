//! What components link against: WASI without a world, and the functions of the contract that this host has.

mod files;
mod key_value;

use serde::{Deserialize, Serialize};
use wasmtime::StoreContextMut;
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, Linker, LinkerInstance};

use super::capability::{config, log, secrets};
use super::engine::Refusal;
use super::grants::READS_ONLY;
use super::guest::{Guest, Serves, stop};
use super::inert;
use super::wit::host::Level;
use super::wit::http::{HttpError, Request, Response};
use super::wit::secrets::Algorithm;

/// The functions of the contract that are offered, by interface.
const OFFERED: &[(&str, &[&str])] = &[
    ("airlock:plugin/types@0.1.0", &[]),
    ("airlock:plugin/host@0.1.0", &["log", "config", "progress", "stop-asked", "save", "spend"]),
    ("airlock:plugin/secrets@0.1.0", &["placeholder", "basic", "sign"]),
    ("airlock:plugin/http@0.1.0", &["send"]),
    (
        "airlock:plugin/files@0.1.0",
        &["stat", "entries", "read", "write", "append", "create-directory", "move", "remove"],
    ),
    ("airlock:plugin/key-value@0.1.0", &["get", "set", "delete", "keys"]),
];

/// What a guest is told that asks for anything before it serves a call.
pub(super) const DESCRIBING: &str = "nothing is granted while a plugin describes itself";

/// Packages of WASI that are linked, inert.
const WASI: &[&str] =
    &["wasi:cli/", "wasi:clocks/", "wasi:filesystem/", "wasi:io/", "wasi:random/", "wasi:sockets/"];

pub(super) fn linker(engine: &wasmtime::Engine) -> wasmtime::Result<Linker<Guest>> {
    let mut linker = Linker::new(engine);
    inert::link(&mut linker)?;
    linker.allow_shadowing(true);
    files::link_wasi(&mut linker.instance("wasi:filesystem/types@0.2.12")?)?;
    linker.allow_shadowing(false);
    linker.instance("airlock:plugin/types@0.1.0")?;
    host(&mut linker.instance("airlock:plugin/host@0.1.0")?)?;
    secret(&mut linker.instance("airlock:plugin/secrets@0.1.0")?)?;
    http(&mut linker.instance("airlock:plugin/http@0.1.0")?)?;
    files::link(&mut linker.instance("airlock:plugin/files@0.1.0")?)?;
    key_value::link(&mut linker.instance("airlock:plugin/key-value@0.1.0")?)?;
    Ok(linker)
}

/// The versions of the contract that this host serves; a component is asked by the one whose `tools` it exports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Contract {
    V0_1_0,
}

/// Every version, by the name of the interface that a plugin exports.
const CONTRACTS: &[(&str, Contract)] = &[("airlock:plugin/tools@0.1.0", Contract::V0_1_0)];

/// The version of the contract that a component was built for.
pub(super) fn contract(engine: &wasmtime::Engine, component: &Component) -> Result<Contract, Refusal> {
    let component = component.component_type();
    let exported: Vec<&str> = component.exports(engine).map(|(name, _)| name).collect();
    let known = CONTRACTS.iter().find(|(name, _)| exported.contains(name));
    known.map(|(_, contract)| *contract).ok_or_else(|| {
        let other = exported.iter().find(|name| name.starts_with("airlock:plugin/tools@"));
        Refusal::Contract(other.map(|name| (*name).to_owned()))
    })
}

/// What a component has to do with the world outside: names of interfaces, imports with their functions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Surface {
    /// What it imports: `interface#function`, or `interface` where no function of it is named.
    pub imports: Vec<String>,
    /// The interfaces that it exports.
    pub exports: Vec<String>,
}

pub(super) fn surface(engine: &wasmtime::Engine, component: &Component) -> Surface {
    let component = component.component_type();
    let mut surface = Surface::default();
    for (name, import) in component.imports(engine) {
        let mut functions = Vec::new();
        if let ComponentItem::ComponentInstance(instance) = import.ty {
            let items = instance.exports(engine);
            functions.extend(
                items
                    .filter(|(_, item)| matches!(item.ty, ComponentItem::ComponentFunc(_)))
                    .map(|(function, _)| format!("{name}#{function}")),
            );
        }
        if functions.is_empty() {
            functions.push(name.to_owned());
        }
        surface.imports.extend(functions);
    }
    surface.exports.extend(component.exports(engine).map(|(name, _)| name.to_owned()));
    // Toolchains lay them down as it comes.
    surface.exports.sort_unstable();
    surface
}

/// Every name that is offered.
pub(super) fn offered() -> impl Iterator<Item = String> {
    let of_the_contract = OFFERED.iter().flat_map(|(interface, functions)| {
        functions
            .iter()
            .map(move |function| format!("{interface}#{function}"))
            .chain([(*interface).to_owned()])
    });
    of_the_contract
        .chain(WASI.iter().map(|package| (*package).to_owned()))
        .chain(CONTRACTS.iter().map(|(name, _)| (*name).to_owned()))
}

/// The imports of a component that nobody offers here, each as `interface` or `interface#function`.
pub(super) fn missing(engine: &wasmtime::Engine, component: &Component) -> Vec<String> {
    let mut missing = Vec::new();
    for (name, import) in component.component_type().imports(engine) {
        if WASI.iter().any(|package| name.starts_with(package)) {
            continue;
        }
        let offered = OFFERED.iter().find(|(interface, _)| *interface == name);
        match (offered, import.ty) {
            (Some((_, functions)), ComponentItem::ComponentInstance(instance)) => {
                for (function, item) in instance.exports(engine) {
                    let is_function = matches!(item.ty, ComponentItem::ComponentFunc(_));
                    if is_function && !functions.contains(&function) {
                        missing.push(format!("{name}#{function}"));
                    }
                }
            }
            (Some(_) | None, _) => missing.push(name.to_owned()),
        }
    }
    missing
}

fn host(instance: &mut LinkerInstance<'_, Guest>) -> wasmtime::Result<()> {
    instance.func_wrap("log", |store: StoreContextMut<'_, Guest>, line: (Level, String, String)| {
        log::line(&store.data().log, line.0, &line.1, &line.2);
        Ok(())
    })?;
    instance.func_wrap("config", |store: StoreContextMut<'_, Guest>, (key,): (String,)| {
        let serves = store.data().serves.as_ref();
        Ok((serves.and_then(|serves| config::value(&serves.grants, &key)),))
    })?;
    instance.func_wrap(
        "progress",
        |store: StoreContextMut<'_, Guest>, (done, total, message): (u32, Option<u32>, String)| {
            let serves = store.data().serves.as_ref();
            let progress = serves.and_then(|serves| serves.progress.as_ref());
            progress.into_iter().for_each(|progress| progress.tell(done, total, &message));
            Ok(())
        },
    )?;
    instance.func_wrap("stop-asked", |store: StoreContextMut<'_, Guest>, (): ()| {
        Ok((store.data().serves.as_ref().is_some_and(|serves| serves.stop.is_asked()),))
    })?;
    instance.func_wrap_async("save", |store: StoreContextMut<'_, Guest>, (bytes,): (Vec<u8>,)| {
        Box::new(async move {
            let serves = match setting_aside(store.data()) {
                Ok(serves) => serves,
                Err(refusal) => return Ok((Err(refusal),)),
            };
            serves.staging.save(bytes).await.map(|told| (told,)).map_err(stop)
        })
    })?;
    instance.func_wrap("spend", |store: StoreContextMut<'_, Guest>, (micros, what): (u64, String)| {
        Ok((setting_aside(store.data()).and_then(|serves| serves.staging.spend(micros, &what)),))
    })
}

/// The call that may set something aside for its end: one that only looks has none that could carry it.
fn setting_aside(guest: &Guest) -> Result<&Serves, String> {
    let serves = guest.serves.as_ref().ok_or_else(|| DESCRIBING.to_owned())?;
    if serves.grants.reads_only { Err(READS_ONLY.to_owned()) } else { Ok(serves) }
}

fn secret(instance: &mut LinkerInstance<'_, Guest>) -> wasmtime::Result<()> {
    instance.func_wrap("placeholder", |mut store: StoreContextMut<'_, Guest>, (name,): (String,)| {
        Ok((serving(store.data_mut(), &name, |serves| {
            let (key, run) = (serves.effects.secret(), serves.effects.lease().run);
            serves.texts.plain(&serves.grants, key, run, &name)
        }),))
    })?;
    instance.func_wrap(
        "basic",
        |mut store: StoreContextMut<'_, Guest>, (user, name): (String, String)| {
            Ok((serving(store.data_mut(), &name, |serves| {
                let (key, run) = (serves.effects.secret(), serves.effects.lease().run);
                serves.texts.basic(&serves.grants, key, run, &user, &name)
            }),))
        },
    )?;
    instance.func_wrap(
        "sign",
        |mut store: StoreContextMut<'_, Guest>, (name, algorithm, bytes): (String, Algorithm, Vec<u8>)| {
            let guest = store.data_mut();
            let signed = serving(guest, &name, |serves| {
                let signature = secrets::sign(&serves.grants, &name, algorithm, &bytes)?;
                let count = serves.signed.entry(name.clone()).or_default();
                *count += 1;
                Ok((signature, *count))
            });
            Ok((signed.map(|(signature, count)| {
                log::signed(&guest.log, &name, count);
                signature
            }),))
        },
    )
}

fn serving<T>(
    guest: &mut Guest,
    secret: &str,
    ask: impl FnOnce(&mut Serves) -> Result<T, String>,
) -> Result<T, String> {
    let Some(serves) = &mut guest.serves else {
        return Err(DESCRIBING.to_owned());
    };
    let plugin = serves.grants.plugin.clone();
    let secret: String = secret.chars().take(128).collect();
    ask(serves).inspect_err(|rule| {
        guest.log.host(&format!(
            "refused a secret: {rule}; where it is declared, [plugin.{plugin}] secrets = [{secret:?}] would allow it"
        ));
    })
}

type HttpReply = (Result<Response, HttpError>,);

fn http(instance: &mut LinkerInstance<'_, Guest>) -> wasmtime::Result<()> {
    instance.func_wrap_async("send", |store: StoreContextMut<'_, Guest>, (request,): (Request,)| {
        Box::new(async move {
            let guest = store.data();
            let Some(serves) = &guest.serves else {
                return Ok::<HttpReply, wasmtime::Error>((Err(HttpError::Forbidden(DESCRIBING.to_owned())),));
            };
            let sent =
                serves.egress.send(request, &serves.grants, &serves.effects, &serves.texts, &guest.log).await;
            match sent {
                Ok(answer) => Ok((answer,)),
                Err(ended) => Err(stop(ended)),
            }
        })
    })
}
