//! What components link against: WASI without a world, and the functions of the contract that this host has.

use wasmtime::StoreContextMut;
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, Linker, LinkerInstance};

use super::capability::{config, log, secrets};
use super::guest::{Guest, Serves, Stop};
use super::wit::host::Level;
use super::wit::http::{HttpError, Request, Response};
use super::wit::secrets::Algorithm;
use crate::model::classify::Ended;

/// The functions of the contract that are offered, by interface.
const OFFERED: &[(&str, &[&str])] = &[
    ("airlock:plugin/types@0.1.0", &[]),
    ("airlock:plugin/host@0.1.0", &["log", "config"]),
    ("airlock:plugin/secrets@0.1.0", &["placeholder", "basic", "sign"]),
    ("airlock:plugin/http@0.1.0", &["send"]),
];

/// Packages of WASI that are linked, inert.
const WASI: &[&str] =
    &["wasi:cli/", "wasi:clocks/", "wasi:filesystem/", "wasi:io/", "wasi:random/", "wasi:sockets/"];

pub(super) fn linker(engine: &wasmtime::Engine) -> wasmtime::Result<Linker<Guest>> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    linker.instance("airlock:plugin/types@0.1.0")?;
    host(&mut linker.instance("airlock:plugin/host@0.1.0")?)?;
    secret(&mut linker.instance("airlock:plugin/secrets@0.1.0")?)?;
    http(&mut linker.instance("airlock:plugin/http@0.1.0")?)?;
    Ok(linker)
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
    })
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
            Ok((serving(store.data_mut(), &name, |serves| {
                secrets::sign(&serves.grants, &name, algorithm, &bytes)
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
        return Err("nothing is granted while a plugin describes itself".to_owned());
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
                let text = "nothing is granted while a plugin describes itself".to_owned();
                return Ok::<HttpReply, wasmtime::Error>((Err(HttpError::Forbidden(text)),));
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

fn stop(ended: Ended) -> wasmtime::Error {
    wasmtime::Error::new(Stop(ended))
}
