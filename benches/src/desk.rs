//! The least backend that a writing call can meet: it takes every POST at once, on a thread of its own.

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::thread::JoinHandle;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// What it answers: a ticket, to whoever asks.
const TICKET: &[u8] = br#"{"ticket_id":"T-1","url":"http://desk.test/tickets/T-1","status":"open"}"#;

/// A backend under way; dropping it ends it.
#[derive(Debug)]
pub struct Desk {
    /// Where it is reached, without a slash at the end.
    pub url: String,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Desk {
    /// Starts it on a free port of 127.0.0.1.
    ///
    /// # Panics
    /// Where it cannot listen.
    pub fn start() -> Self {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).expect("a port is free");
        let url = format!("http://{}", listener.local_addr().expect("it is bound"));
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new().name("desk".to_owned()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = serve(listener) => {}
                    _ = stopped => {}
                }
            });
        });
        Self { url, stop: Some(stop), thread: Some(thread.expect("a thread starts")) }
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic there was printed when it happened.
            let _ = thread.join();
        }
    }
}

async fn serve(listener: TcpListener) {
    while let Ok((stream, _)) = listener.accept().await {
        let _ = stream.set_nodelay(true);
        tokio::spawn(async move {
            // A client that leaves in the middle is no concern of the bench.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service_fn(answer))
                .await;
        });
    }
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    // The whole request is read, as a desk would.
    let _ = request.into_body().collect().await;
    let mut response = Response::new(Full::new(Bytes::from_static(TICKET)));
    *response.status_mut() = hyper::StatusCode::CREATED;
    Ok(response)
}
