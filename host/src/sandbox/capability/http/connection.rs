//! Connections: dialled to the address that was checked, kept for a while, one request at a time.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use rustls::pki_types::{CertificateDer, ServerName, pem::PemObject as _};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::sent::Sent;
use super::time::{Bound, Left, Part};
use crate::model::clock::Clock;
use crate::model::origin::Origin;

/// How long a connection is kept without use: below what servers usually allow.
const IDLE: Duration = Duration::from_secs(4);

/// The most idle connections of one plugin to one address, and of all together: each is a file of this process.
const IDLE_CONNECTIONS: usize = 64;
const IDLE_TOGETHER: usize = 256;

/// The most header fields of an answer, and the most bytes of its head.
const ANSWER_HEADERS: usize = 100;
const ANSWER_HEAD: usize = 64 << 10;

/// A request about to leave.
pub(super) struct Outgoing<'a> {
    pub(super) plugin: &'a str,
    pub(super) origin: &'a Origin,
    pub(super) method: &'a str,
    pub(super) path: &'a str,
    pub(super) headers: &'a [(String, String)],
    pub(super) body: Bytes,
    pub(super) reuse: bool,
    pub(super) reads: bool,
}

#[derive(Debug, PartialEq, Eq)]
struct Place {
    plugin: String,
    origin: Origin,
    address: IpAddr,
}

/// A connection that no request is on.
struct Kept {
    place: Place,
    live: Live,
    since: Duration,
}

struct Live {
    sender: SendRequest<Full<Bytes>>,
    /// Whether a byte of the request under way was given to the connection.
    wire: Arc<Wire>,
    address: IpAddr,
}

/// Idle connections, the longest idle first.
#[derive(Default)]
struct Idle {
    kept: VecDeque<Kept>,
    /// Whether a task lets go of those that nobody comes for.
    tidied: bool,
}

/// Idle connections, and what is needed to make more.
pub(super) struct Connections {
    idle: Arc<Mutex<Idle>>,
    tls: OnceLock<Result<TlsConnector, String>>,
    roots: Vec<Vec<u8>>,
    largest: u64,
    clock: Arc<dyn Clock>,
}

impl Connections {
    pub(super) fn new(roots: Vec<Vec<u8>>, largest: u64, clock: Arc<dyn Clock>) -> Self {
        Self { idle: Arc::default(), tls: OnceLock::new(), roots, largest, clock }
    }

    /// Sends a request to the first of the addresses that takes a connection.
    pub(super) async fn send(
        &self,
        outgoing: &Outgoing<'_>,
        addresses: &[IpAddr],
        left: &mut Left<'_>,
    ) -> Sent {
        if outgoing.reuse
            && let Some(live) = self.kept(outgoing, addresses)
        {
            match self.exchange(live, outgoing, left).await {
                // The other side had closed it while it was idle: nothing was lost, or a read was.
                Sent::Unsent(_) => {}
                Sent::Broken(_) if outgoing.reads => {
                    let (rest, bound) = left.left(Part::Answer);
                    if rest.is_zero() {
                        return late(bound);
                    }
                }
                sent @ (Sent::Answered { .. }
                | Sent::BrokeOff { .. }
                | Sent::Late(_)
                | Sent::Broken(_)
                | Sent::Forbidden(_)) => {
                    return sent;
                }
            }
        }
        match left.within(Part::Connect, self.dial(outgoing.origin, addresses)).await {
            Ok(Ok(live)) => self.exchange(live, outgoing, left).await,
            Ok(Err(error)) => Sent::Unsent(format!("no connection: {error}")),
            Err(Bound { time, says }) => Sent::Unsent(format!("no connection within {time:?} ({says})")),
        }
    }

    async fn exchange(&self, mut live: Live, outgoing: &Outgoing<'_>, left: &mut Left<'_>) -> Sent {
        if left.slept() {
            return Sent::Unsent("this process was asleep when it was to be sent".to_owned());
        }
        live.wire.start();
        let request = match build(outgoing) {
            Ok(request) => request,
            Err(error) => return Sent::Unsent(format!("the request cannot be written: {error}")),
        };
        let mut status = None;
        let largest = self.largest;
        let whole = async {
            let response = live.sender.send_request(request).await?;
            status = Some(response.status().as_u16());
            Ok::<_, hyper::Error>(read(response, largest).await)
        };
        let ended = left.within(Part::Answer, whole).await;
        match (ended, status) {
            (Ok(Ok(Ok((status, headers, body)))), _) => {
                if outgoing.reuse && !live.sender.is_closed() {
                    self.keep(outgoing, live);
                }
                Sent::Answered { status, headers, body }
            }
            (Ok(Ok(Err(too_large))), Some(status)) => Sent::BrokeOff { status, too_large },
            (Err(_), Some(status)) => Sent::BrokeOff { status, too_large: false },
            (Ok(Err(_)) | Err(_), None) if live.wire.give_up() => {
                Sent::Unsent("the connection was closed before anything was sent".to_owned())
            }
            (Err(bound), None) => late(bound),
            (Ok(Err(_)), Some(status)) => Sent::BrokeOff { status, too_large: false },
            (Ok(Ok(Err(_)) | Err(_)), None) => {
                Sent::Broken("the connection was cut before an answer came".to_owned())
            }
        }
    }

    fn kept(&self, outgoing: &Outgoing<'_>, addresses: &[IpAddr]) -> Option<Live> {
        let now = self.clock.steady();
        let mut idle = lock(&self.idle);
        idle.let_go(now);
        for address in addresses {
            let here = place(outgoing, *address);
            while let Some(at) = idle.kept.iter().rposition(|kept| kept.place == here) {
                let live = idle.kept.remove(at).map(|kept| kept.live);
                if let Some(live) = live.filter(|live| live.sender.is_ready() && !live.sender.is_closed()) {
                    return Some(live);
                }
            }
        }
        None
    }

    /// Keeps a connection for the next request; where there are too many, the longest idle one goes.
    fn keep(&self, outgoing: &Outgoing<'_>, live: Live) {
        let since = self.clock.steady();
        let place = place(outgoing, live.address);
        let mut idle = lock(&self.idle);
        idle.let_go(since);
        if idle.kept.iter().filter(|kept| kept.place == place).count() >= IDLE_CONNECTIONS {
            return;
        }
        if idle.kept.len() >= IDLE_TOGETHER {
            idle.kept.pop_front();
        }
        idle.kept.push_back(Kept { place, live, since });
        if !std::mem::replace(&mut idle.tidied, true) {
            tokio::spawn(tidy(Arc::downgrade(&self.idle), Arc::clone(&self.clock)));
        }
    }

    async fn dial(&self, origin: &Origin, addresses: &[IpAddr]) -> io::Result<Live> {
        let mut last = io::Error::other("the name has no address");
        for address in addresses {
            match TcpStream::connect(SocketAddr::new(*address, origin.port)).await {
                Ok(stream) => return self.open(origin, *address, stream).await,
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    async fn open(&self, origin: &Origin, address: IpAddr, stream: TcpStream) -> io::Result<Live> {
        stream.set_nodelay(true)?;
        let wire = Arc::<Wire>::default();
        let sender = if origin.tls {
            let name = ServerName::try_from(origin.host.clone()).map_err(io::Error::other)?;
            let secured = self.tls()?.connect(name, stream).await?;
            start(Watched { inner: secured, wire: Arc::clone(&wire) }).await?
        } else {
            start(Watched { inner: stream, wire: Arc::clone(&wire) }).await?
        };
        Ok(Live { sender, wire, address })
    }

    fn tls(&self) -> io::Result<&TlsConnector> {
        let made = self.tls.get_or_init(|| {
            let mut roots = rustls::RootCertStore::empty();
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            for pem in &self.roots {
                roots.add_parsable_certificates(CertificateDer::pem_slice_iter(pem).filter_map(Result::ok));
            }
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let config = rustls::ClientConfig::builder_with_provider(provider)
                .with_safe_default_protocol_versions()
                .map_err(|error| error.to_string())?
                .with_root_certificates(roots)
                .with_no_client_auth();
            Ok(TlsConnector::from(Arc::new(config)))
        });
        made.as_ref().map_err(|error| io::Error::other(error.clone()))
    }
}

impl Idle {
    /// Lets go of those that nobody came for.
    fn let_go(&mut self, now: Duration) {
        while self.kept.front().is_some_and(|kept| now.saturating_sub(kept.since) >= IDLE) {
            self.kept.pop_front();
        }
    }
}

fn lock(idle: &Mutex<Idle>) -> MutexGuard<'_, Idle> {
    idle.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets go of idle connections whose time is over also where no request comes, until there are none.
async fn tidy(idle: Weak<Mutex<Idle>>, clock: Arc<dyn Clock>) {
    loop {
        tokio::time::sleep(IDLE).await;
        let Some(idle) = idle.upgrade() else { return };
        let mut idle = lock(&idle);
        idle.let_go(clock.steady());
        if idle.kept.is_empty() {
            idle.tidied = false;
            return;
        }
    }
}

fn late(Bound { time, says }: Bound) -> Sent {
    Sent::Late(format!("no answer within {time:?} ({says})"))
}

fn place(outgoing: &Outgoing<'_>, address: IpAddr) -> Place {
    Place { plugin: outgoing.plugin.to_owned(), origin: outgoing.origin.clone(), address }
}

async fn start<T: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: Watched<T>,
) -> io::Result<SendRequest<Full<Bytes>>> {
    let (sender, connection) = http1::Builder::new()
        .max_headers(ANSWER_HEADERS)
        .max_buf_size(ANSWER_HEAD)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(io::Error::other)?;
    tokio::spawn(connection);
    Ok(sender)
}

fn build(outgoing: &Outgoing<'_>) -> http::Result<http::Request<Full<Bytes>>> {
    let authority = outgoing.origin.to_string();
    let authority = authority.split_once("://").map_or(authority.as_str(), |(_, rest)| rest);
    let target = http::uri::PathAndQuery::try_from(outgoing.path)?;
    let mut uri = http::uri::Parts::default();
    uri.path_and_query = Some(target);
    let mut request = http::Request::builder()
        .method(outgoing.method)
        .uri(http::Uri::from_parts(uri)?)
        .header(http::header::HOST, authority);
    for (name, value) in outgoing.headers {
        request = request.header(name, value);
    }
    request.body(Full::new(outgoing.body.clone()))
}

type Whole = (u16, Vec<(String, String)>, Vec<u8>);

/// Reads a whole answer; the error says whether it is too large.
async fn read(response: http::Response<hyper::body::Incoming>, largest: u64) -> Result<Whole, bool> {
    let status = response.status().as_u16();
    let text = |value: &http::HeaderValue| match value.to_str() {
        Ok(text) => text.to_owned(),
        Err(_) => match std::str::from_utf8(value.as_bytes()) {
            Ok(text) => text.to_owned(),
            Err(_) => value.as_bytes().iter().map(|byte| char::from(*byte)).collect(),
        },
    };
    let headers =
        response.headers().iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect();
    let mut incoming = response.into_body();
    let mut body = Vec::new();
    while let Some(frame) = incoming.frame().await {
        let Ok(frame) = frame else { return Err(false) };
        if let Ok(part) = frame.into_data() {
            if u64::try_from(body.len() + part.len()).unwrap_or(u64::MAX) > largest {
                return Err(true);
            }
            body.extend_from_slice(&part);
        }
    }
    Ok((status, headers, body))
}

/// Whether a request has begun to leave. Once it was given up, no byte of it leaves any more: what is said of it is so.
#[derive(Default)]
struct Wire(AtomicU8);

const STILL: u8 = 0;
const WROTE: u8 = 1;
const GIVEN_UP: u8 = 2;

impl Wire {
    fn start(&self) {
        self.0.store(STILL, Ordering::SeqCst);
    }

    /// Gives the request up, if nothing of it has left.
    fn give_up(&self) -> bool {
        self.0.compare_exchange(STILL, GIVEN_UP, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    /// Takes note that bytes are about to leave, unless the request was given up.
    fn write(&self) -> bool {
        let before = self.0.compare_exchange(STILL, WROTE, Ordering::SeqCst, Ordering::SeqCst);
        before != Err(GIVEN_UP)
    }
}

/// A stream that says whether anything was written to it.
struct Watched<T> {
    inner: T,
    wire: Arc<Wire>,
}

impl<T: AsyncRead + Unpin> AsyncRead for Watched<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Watched<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        // Marked before, not after: what a failed write may have put on the wire counts as sent.
        if !self.wire.write() {
            return Poll::Ready(Err(io::Error::other("the request was given up")));
        }
        Pin::new(&mut self.inner).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}
