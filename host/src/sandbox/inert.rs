//! WASI without a world: no arguments, no environment, no network, lent folders to read; streams go to the log.

use std::time::Duration;

use bytes::Bytes;
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use tokio::io::AsyncWrite;
use wasmtime::component::{HasSelf, Linker};
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::bindings::random::{insecure, random};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};
use wasmtime_wasi::{FsPerms, HostWallClock, WasiCtx, WasiCtxBuilder};

use super::grants::Grants;
use super::guest::{Guest, stop};
use super::logbook::{Logbook, Stream};
use crate::model::classify::Ended;
use crate::model::clock::Timestamp;
use crate::model::limits::Limit;

/// The most random bytes of one request.
const RANDOM: u64 = 64 << 10;

/// What one write to a stream may hold.
const WRITE: usize = 8 << 10;

/// What every attempt of one sitting sees alike, so that what it builds is alike.
#[derive(Debug, Clone, Copy)]
pub struct Sitting {
    /// Where random numbers start.
    pub seed: [u8; 32],
    /// Where the wall clock starts.
    pub start: Timestamp,
}

/// Links WASI, with a bound on random bytes that names itself: the one that comes with it is told by a text alone.
pub(super) fn link(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    wasmtime_wasi::p2::add_to_linker_async(linker)?;
    linker.allow_shadowing(true);
    random::add_to_linker::<Guest, HasSelf<Guest>>(linker, |guest| guest)?;
    insecure::add_to_linker::<Guest, HasSelf<Guest>>(linker, |guest| guest)?;
    linker.allow_shadowing(false);
    Ok(())
}

fn bounded(bytes: u64) -> wasmtime::Result<u64> {
    if bytes > RANDOM { Err(stop(Ended::Limit(Limit::Random(RANDOM)))) } else { Ok(bytes) }
}

impl random::Host for Guest {
    fn get_random_bytes(&mut self, bytes: u64) -> wasmtime::Result<Vec<u8>> {
        random::Host::get_random_bytes(self.wasi.random(), bounded(bytes)?)
    }

    fn get_random_u64(&mut self) -> wasmtime::Result<u64> {
        random::Host::get_random_u64(self.wasi.random())
    }
}

impl insecure::Host for Guest {
    fn get_insecure_random_bytes(&mut self, bytes: u64) -> wasmtime::Result<Vec<u8>> {
        insecure::Host::get_insecure_random_bytes(self.wasi.random(), bounded(bytes)?)
    }

    fn get_insecure_random_u64(&mut self) -> wasmtime::Result<u64> {
        insecure::Host::get_insecure_random_u64(self.wasi.random())
    }
}

/// The context of a guest.
pub(super) fn wasi(log: &Logbook, sitting: Option<Sitting>, grants: Option<&Grants>) -> WasiCtx {
    let mut wasi = WasiCtxBuilder::new();
    for (name, granted) in grants.into_iter().flat_map(Grants::lent) {
        if let Err(error) = wasi.preopened_dir(&granted.path, name, FsPerms::ReadOnly) {
            log.host(&format!("the folder `{name}` cannot be opened: {error:#}"));
        }
    }
    wasi.allow_tcp(false).allow_udp(false).allow_ip_name_lookup(false);
    wasi.stdout(Logged { log: log.clone(), stream: Stream::Out })
        .stderr(Logged { log: log.clone(), stream: Stream::Err });
    if let Some(sitting) = sitting {
        let seed = |part: u8| {
            let mut seed = sitting.seed;
            seed[0] ^= part;
            seed
        };
        let mut number = [0u8; 16];
        number.copy_from_slice(&seed(3)[..16]);
        wasi.secure_random(StdRng::from_seed(seed(1)))
            .insecure_random(StdRng::from_seed(seed(2)))
            .insecure_random_seed(u128::from_le_bytes(number))
            .wall_clock(Restarted { start: sitting.start });
    }
    wasi.build()
}

/// A wall clock that stands at the sitting's start: the first attempt and the last build the same.
struct Restarted {
    start: Timestamp,
}

impl HostWallClock for Restarted {
    fn resolution(&self) -> Duration {
        Duration::from_millis(1)
    }

    fn now(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.start.0).unwrap_or(0))
    }
}

#[derive(Debug, Clone)]
struct Logged {
    log: Logbook,
    stream: Stream,
}

impl IsTerminal for Logged {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Logged {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        // Only interfaces that are not linked here ask for it.
        Box::new(tokio::io::sink())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

impl OutputStream for Logged {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.log.stream(self.stream, &bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(WRITE)
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for Logged {
    async fn ready(&mut self) {}
}
