//! Names to addresses, once for each request, by a resolver that can be replaced.

use std::io;
use std::net::IpAddr;

use futures::FutureExt as _;
use futures::future::BoxFuture;

/// Tells the addresses of a host.
pub trait Resolve: Send + Sync {
    /// All addresses of the host, at least one.
    fn resolve(&self, host: &str, port: u16) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// The resolver of the system; addresses written as such stand for themselves.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve(&self, host: &str, port: u16) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        if let Ok(address) = host.parse() {
            return std::future::ready(Ok(vec![address])).boxed();
        }
        let host = host.to_owned();
        async move {
            let found: Vec<_> =
                tokio::net::lookup_host((host, port)).await?.map(|socket| socket.ip()).collect();
            if found.is_empty() { Err(io::Error::other("the name has no address")) } else { Ok(found) }
        }
        .boxed()
    }
}
