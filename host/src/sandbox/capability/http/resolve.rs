//! Names to addresses, once for each request, by a resolver that can be replaced.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::sync::Semaphore;

/// Look-ups under way: the system's block a thread each, until they end. One plugin's names that nobody answers for
/// leave room for the others, and all together leave half of tokio's 512 threads for what else blocks.
const LOOK_UPS_OF_A_PLUGIN: usize = 8;
const LOOK_UPS_TOGETHER: usize = 256;

/// Tells the addresses of a host that is named; an address stands for itself.
pub trait Resolve: Send + Sync {
    /// All addresses of the host, at least one.
    fn resolve(&self, host: &str, port: u16) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// The resolver of the system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve(&self, host: &str, port: u16) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let host = host.to_owned();
        async move {
            let found: Vec<_> =
                tokio::net::lookup_host((host, port)).await?.map(|socket| socket.ip()).collect();
            if found.is_empty() { Err(io::Error::other("the name has no address")) } else { Ok(found) }
        }
        .boxed()
    }
}

/// Look-ups, no more at a time than are good for the host.
pub(super) struct LookUps {
    resolver: Arc<dyn Resolve>,
    together: Arc<Semaphore>,
    plugins: Mutex<HashMap<String, Arc<Semaphore>>>,
}

impl LookUps {
    pub(super) fn new(resolver: Arc<dyn Resolve>) -> Self {
        Self { resolver, together: Arc::new(Semaphore::new(LOOK_UPS_TOGETHER)), plugins: Mutex::default() }
    }

    /// The addresses of a host, once it is the plugin's turn. A look-up that nobody waits for any more goes on to its
    /// end and keeps its turn until then, for so does its thread.
    pub(super) async fn resolve(&self, plugin: &str, host: &str, port: u16) -> io::Result<Vec<IpAddr>> {
        if let Ok(address) = host.parse() {
            return Ok(vec![address]);
        }
        let turn = self.of(plugin).acquire_owned().await.map_err(io::Error::other)?;
        let room = Arc::clone(&self.together).acquire_owned().await.map_err(io::Error::other)?;
        let resolving = self.resolver.resolve(host, port);
        let look_up = tokio::spawn(async move {
            let found = resolving.await;
            drop((turn, room));
            found
        });
        look_up.await.map_err(io::Error::other)?
    }

    fn of(&self, plugin: &str) -> Arc<Semaphore> {
        let mut plugins = self.plugins.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(turns) = plugins.get(plugin) {
            return Arc::clone(turns);
        }
        let turns = Arc::new(Semaphore::new(LOOK_UPS_OF_A_PLUGIN));
        plugins.insert(plugin.to_owned(), Arc::clone(&turns));
        turns
    }
}
