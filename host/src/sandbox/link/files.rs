//! The functions for files in lent folders, and WASI's way to open one.

use std::sync::Arc;

use wasmtime::StoreContextMut;
use wasmtime::component::{LinkerInstance, Resource};
use wasmtime_wasi::filesystem::{Descriptor, Dir, File};
use wasmtime_wasi::p2::bindings::filesystem::types::{DescriptorFlags, ErrorCode, OpenFlags, PathFlags};
use wasmtime_wasi::{FsPerms, OpenMode};

use super::DESCRIBING;
use crate::sandbox::capability::files::beneath::{Opened, Relative, Trouble, readable};
use crate::sandbox::capability::files::change::Doing;
use crate::sandbox::capability::files::{Asked, Files};
use crate::sandbox::guest::{Guest, stop};
use crate::sandbox::wit::files::{Entry, FileError};

type Given<T> = wasmtime::Result<(Result<T, FileError>,)>;

pub(super) fn link(instance: &mut LinkerInstance<'_, Guest>) -> wasmtime::Result<()> {
    instance.func_wrap_async(
        "stat",
        |store: StoreContextMut<'_, Guest>, (directory, path): (String, String)| {
            Box::new(async move {
                let asking = asked(store.data(), "look at", &directory, &path);
                let given = match asking {
                    Ok((files, asked)) => files.stat(asked).await,
                    Err(refusal) => Err(refusal),
                };
                Given::<Entry>::Ok((given,))
            })
        },
    )?;
    instance.func_wrap_async(
        "entries",
        |store: StoreContextMut<'_, Guest>, (directory, path, after): (String, String, Option<String>)| {
            Box::new(async move {
                let asking = asked(store.data(), "list", &directory, &path);
                let given = match asking {
                    Ok((files, asked)) => files.entries(asked, after).await,
                    Err(refusal) => Err(refusal),
                };
                Given::<Vec<Entry>>::Ok((given,))
            })
        },
    )?;
    instance.func_wrap_async(
        "read",
        |store: StoreContextMut<'_, Guest>, (directory, path, offset, length): (String, String, u64, u32)| {
            Box::new(async move {
                let asking = asked(store.data(), "read", &directory, &path);
                let given = match asking {
                    Ok((files, asked)) => files.read(asked, offset, length).await,
                    Err(refusal) => Err(refusal),
                };
                Given::<Vec<u8>>::Ok((given,))
            })
        },
    )?;
    changes(instance)
}

fn asked<'a>(
    guest: &'a Guest,
    what: &'static str,
    directory: &'a str,
    path: &'a str,
) -> Result<(&'a Files, Asked<'a>), FileError> {
    let Some(serves) = &guest.serves else { return Err(FileError::Forbidden(DESCRIBING.to_owned())) };
    Ok((&serves.files, Asked { grants: &serves.grants, log: &guest.log, what, directory, path }))
}

fn changes(instance: &mut LinkerInstance<'_, Guest>) -> wasmtime::Result<()> {
    type Written = (String, String, Vec<u8>);
    instance.func_wrap_async(
        "write",
        |store: StoreContextMut<'_, Guest>, (directory, path, bytes): Written| {
            Box::new(async move { change(store, "write", directory, path, Doing::Write(bytes)).await })
        },
    )?;
    instance.func_wrap_async(
        "append",
        |store: StoreContextMut<'_, Guest>, (directory, path, bytes): Written| {
            Box::new(async move { change(store, "append to", directory, path, Doing::Append(bytes)).await })
        },
    )?;
    instance.func_wrap_async(
        "create-directory",
        |store: StoreContextMut<'_, Guest>, (directory, path): (String, String)| {
            Box::new(async move { change(store, "make", directory, path, Doing::CreateDirectory).await })
        },
    )?;
    instance.func_wrap_async(
        "move",
        |store: StoreContextMut<'_, Guest>, (directory, path, to): (String, String, String)| {
            Box::new(async move { change(store, "move", directory, path, Doing::Move(to)).await })
        },
    )?;
    instance.func_wrap_async(
        "remove",
        |store: StoreContextMut<'_, Guest>, (directory, path): (String, String)| {
            Box::new(async move { change(store, "remove", directory, path, Doing::Remove).await })
        },
    )
}

async fn change(
    store: StoreContextMut<'_, Guest>,
    what: &'static str,
    directory: String,
    path: String,
    doing: Doing,
) -> Given<()> {
    let asking = match &store.data().serves {
        Some(serves) => Ok((serves.files.clone(), Arc::clone(&serves.grants), Arc::clone(&serves.effects))),
        None => Err(FileError::Forbidden(DESCRIBING.to_owned())),
    };
    let log = store.data().log.clone();
    match asking {
        Ok((files, grants, effects)) => {
            let asked = Asked { grants: &grants, log: &log, what, directory: &directory, path: &path };
            files.change(asked, doing, &effects).await.map(|given| (given,)).map_err(stop)
        }
        Err(refusal) => Ok((Err(refusal),)),
    }
}

/// Puts our own way to open a file in the place of WASI's, which would follow links, and wait for a pipe's other end.
pub(super) fn link_wasi(instance: &mut LinkerInstance<'_, Guest>) -> wasmtime::Result<()> {
    type Opening = (Resource<Descriptor>, PathFlags, String, OpenFlags, DescriptorFlags);
    instance.func_wrap_async(
        "[method]descriptor.open-at",
        |mut store: StoreContextMut<'_, Guest>, (folder, _, path, how, wants): Opening| {
            Box::new(async move {
                let opened = open(store.data_mut(), &folder, path, how, wants).await?;
                Ok((match opened {
                    Ok(descriptor) => Ok(store.data_mut().table.push(descriptor)?),
                    Err(code) => Err(code),
                },))
            })
        },
    )
}

async fn open(
    guest: &mut Guest,
    folder: &Resource<Descriptor>,
    path: String,
    how: OpenFlags,
    wants: DescriptorFlags,
) -> wasmtime::Result<Result<Descriptor, ErrorCode>> {
    let Descriptor::Dir(folder) = guest.table.get(folder)? else { return Ok(Err(ErrorCode::NotDirectory)) };
    let Some(serves) = &guest.serves else { return Ok(Err(ErrorCode::NotPermitted)) };
    let (files, folder) = (serves.files.clone(), Arc::clone(&folder.dir));
    let changes = DescriptorFlags::WRITE | DescriptorFlags::MUTATE_DIRECTORY;
    let makes = OpenFlags::CREATE | OpenFlags::EXCLUSIVE | OpenFlags::TRUNCATE;
    if wants.intersects(changes) || how.intersects(makes) {
        return Ok(Err(ErrorCode::NotPermitted));
    }
    let known = files.known();
    let opened = files.work(move || readable(&folder, &Relative::read(&path)?, known.as_deref())).await;
    Ok(match opened {
        Ok(Opened::Folder(dir)) => {
            Ok(Descriptor::Dir(Dir::new(dir, FsPerms::ReadOnly, OpenMode::READ, false)))
        }
        Ok(Opened::File(_)) if how.contains(OpenFlags::DIRECTORY) => Err(ErrorCode::NotDirectory),
        Ok(Opened::File(file)) => {
            Ok(Descriptor::File(File::new(file, FsPerms::ReadOnly, OpenMode::READ, false)))
        }
        Err(trouble) => Err(code(trouble)),
    })
}

fn code(trouble: Trouble) -> ErrorCode {
    match trouble {
        Trouble::Forbidden { .. } => ErrorCode::NotPermitted,
        Trouble::NotFound => ErrorCode::NoEntry,
        Trouble::NoFolder => ErrorCode::NotDirectory,
        Trouble::Exists => ErrorCode::Exist,
        Trouble::Changed(_) => ErrorCode::Busy,
        Trouble::TooLarge | Trouble::Other(_) => ErrorCode::Io,
    }
}
