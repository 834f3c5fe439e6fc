//! Serves connections by hand, so that a fault can close, break off or silence one at an exact moment.

use std::fmt;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

use super::fault::{Act, Callback, Fault, Moment};
use super::routes::{self, Replayed};
use super::stream::{Script, Step};
use super::{Seen, Shared};

/// The most of a body, in or out, that is collected: beyond any limit of a host that is tested here.
const BODY_LIMIT: usize = 64 * 1024 * 1024;

/// How long accepting rests after it failed, for want of descriptors most likely.
const ACCEPT_REST: Duration = Duration::from_millis(20);

/// Accepts and serves until the other end of `stopped` is dropped.
pub(super) fn serve_until(
    runtime: Runtime,
    listener: TcpListener,
    shared: Arc<Shared>,
    stopped: oneshot::Receiver<()>,
) {
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener).expect("the listener is non-blocking");
        tokio::select! {
            () = accept(listener, shared) => {}
            _ = stopped => {}
        }
    });
    // A callback that still blocks is not waited for.
    runtime.shutdown_background();
}

async fn accept(listener: tokio::net::TcpListener, shared: Arc<Shared>) {
    let router = TowerToHyperService::new(routes::router(Arc::clone(&shared)));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_REST).await;
            continue;
        };
        let connection = {
            let mut state = shared.lock();
            state.tally.connections += 1;
            state.open += 1;
            state.tally.connections
        };
        shared.changed.notify_all();
        tokio::spawn(serve(stream, connection, Arc::clone(&shared), router.clone()));
    }
}

type Desk = TowerToHyperService<Router>;

async fn serve(stream: TcpStream, connection: u64, shared: Arc<Shared>, router: Desk) {
    // Without it a body's last piece may wait for an acknowledgement; nothing else depends on it.
    let _ = stream.set_nodelay(true);
    let open = Arc::clone(&shared);
    let service = service_fn(move |request| answer(request, connection, Arc::clone(&shared), router.clone()));
    // A client that closes right after its request has sent it all the same.
    let served = hyper::server::conn::http1::Builder::new()
        .half_close(true)
        .serve_connection(TokioIo::new(stream), service);
    // An error here is a cut that was asked for, or a client that left.
    let _ = served.await;
    open.lock().open -= 1;
    open.changed.notify_all();
}

/// Why a connection ends without an answer.
#[derive(Debug)]
struct Cut;

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the line is cut")
    }
}

impl std::error::Error for Cut {}

/// What a request came to.
enum End {
    Answer(Response<Body>),
    Cut,
    Silence,
}

async fn answer(
    request: Request<Incoming>,
    connection: u64,
    shared: Arc<Shared>,
    router: Desk,
) -> Result<Response<Body>, Cut> {
    let (parts, body) = request.into_parts();
    if routes::is_control(parts.uri.path()) {
        return router
            .call(Request::from_parts(parts, Body::new(body)))
            .await
            .map_err(|never| match never {});
    }
    let visit = Visit::arrive(shared, &parts, connection);
    // A task of its own: work that has begun is finished, also for a client that is gone.
    match tokio::spawn(visit.carry_out(parts, body, router)).await {
        Ok(End::Answer(answer)) => Ok(answer),
        Ok(End::Silence) => std::future::pending().await,
        Ok(End::Cut) | Err(_) => Err(Cut),
    }
}

/// One request on its way through the desk; while it lives, the backend is not idle.
struct Visit {
    shared: Arc<Shared>,
    route: String,
    key: Option<String>,
    connection: u64,
    fault: Option<Fault>,
}

impl Visit {
    fn arrive(shared: Arc<Shared>, parts: &Parts, connection: u64) -> Self {
        let (method, path) = (parts.method.as_str(), parts.uri.path());
        let route = format!("{method} {path}");
        let key = routes::idempotency_key(&parts.headers);
        let mut state = shared.lock();
        state.working += 1;
        state.tally.arrived(&route, key.as_deref());
        let fault = state.faults.take(method, path);
        drop(state);
        shared.changed.notify_all();
        Self { shared, route, key, connection, fault }
    }

    async fn carry_out(self, parts: Parts, body: Incoming, router: Desk) -> End {
        let Ok(body) = axum::body::to_bytes(Body::new(body), BODY_LIMIT).await else {
            self.log("the request broke off");
            return End::Cut;
        };
        self.keep(&parts, &body);
        if let Some(end) = self.act(Moment::BeforeWork).await {
            self.log("no work done");
            return end;
        }
        let request = Request::from_parts(parts, Body::from(body));
        let answer = router.call(request).await.unwrap_or_else(|never| match never {});
        self.log(&format!("{}{}", answer.status().as_u16(), self.count(&answer)));
        if let Some(end) = self.act(Moment::AfterWork).await {
            return end;
        }
        self.send(answer).await
    }

    /// Keeps the request for those who ask what was sent.
    fn keep(&self, parts: &Parts, body: &Bytes) {
        let mut state = self.shared.lock();
        if state.seen.len() < Seen::KEPT {
            state.seen.push(Seen {
                method: parts.method.to_string(),
                target: parts.uri.to_string(),
                headers: texts(&parts.headers),
                body: body.to_vec(),
                connection: self.connection,
            });
        }
    }

    fn count(&self, answer: &Response<Body>) -> &'static str {
        if answer.status().as_u16() >= 400 {
            return "";
        }
        if answer.extensions().get::<Replayed>().is_some() {
            return ", the same again";
        }
        self.shared.lock().tally.worked(&self.route, self.key.as_deref());
        self.shared.changed.notify_all();
        ", work done"
    }

    /// Acts out the fault if its moment is now; an end that it brings is the request's.
    async fn act(&self, now: Moment) -> Option<End> {
        let fault = self.fault.as_ref().filter(|fault| fault.moment == now)?;
        match &fault.act {
            Act::Wait(wait) => {
                tokio::time::sleep(*wait).await;
                None
            }
            Act::Call(callback) => {
                run(Arc::clone(callback)).await;
                None
            }
            Act::Status { code, retry_after } => Some(End::Answer(refusal(*code, retry_after.as_deref()))),
            Act::Cut => Some(End::Cut),
            Act::Hang => Some(End::Silence),
        }
    }

    /// Sends the answer; a fault after its head makes its body one that is acted out.
    async fn send(&self, answer: Response<Body>) -> End {
        let Some(fault) = self.fault.as_ref().filter(|fault| fault.moment == Moment::AfterHead) else {
            return End::Answer(answer);
        };
        let (parts, body) = answer.into_parts();
        let Ok(body) = axum::body::to_bytes(body, BODY_LIMIT).await else { return End::Cut };
        let steps = match &fault.act {
            Act::Wait(wait) => {
                vec![Step::Flush, Step::Await(Box::pin(tokio::time::sleep(*wait))), Step::Send(body.clone())]
            }
            Act::Call(callback) => {
                vec![Step::Flush, Step::Await(Box::pin(run(Arc::clone(callback)))), Step::Send(body.clone())]
            }
            Act::Hang => vec![Step::Flush, Step::Await(Box::pin(std::future::pending()))],
            Act::Cut | Act::Status { .. } => {
                vec![Step::Flush, Step::Send(body.slice(..body.len() / 2)), Step::Flush, Step::Break]
            }
        };
        End::Answer(Response::from_parts(parts, Body::new(Script::new(body.len(), steps))))
    }

    fn log(&self, end: &str) {
        if self.shared.log {
            let key = self.key.as_ref().map(|key| format!(" key={key}")).unwrap_or_default();
            let fault = self.fault.as_ref().map(|fault| format!(" [{fault}]")).unwrap_or_default();
            routes::print(&format!("{}{key}: {end}{fault}", self.route));
        }
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.shared.lock().working -= 1;
        self.shared.changed.notify_all();
    }
}

async fn run(callback: Callback) {
    // A callback that panics has said why; its request goes on.
    let _ = tokio::task::spawn_blocking(move || callback()).await;
}

fn refusal(code: u16, retry_after: Option<&str>) -> Response<Body> {
    let status = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut answer = routes::error(status, "FAULT", "the backend was asked to go wrong here");
    if let Some(value) = retry_after.and_then(|value| HeaderValue::from_str(value).ok()) {
        answer.headers_mut().insert(header::RETRY_AFTER, value);
    }
    answer
}

fn texts(headers: &HeaderMap) -> Vec<(String, String)> {
    let headers = headers.iter();
    headers
        .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
        .collect()
}
