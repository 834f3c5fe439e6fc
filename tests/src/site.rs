//! A small web site: gives out the pages that a test puts there, and remembers what was asked for.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, Uri};
use tokio::task::JoinHandle;

/// A running site; dropping it ends it.
#[derive(Debug)]
pub struct Site {
    /// Where it is reached, without a slash at the end: `http://127.0.0.1:43121`.
    pub url: String,
    state: Arc<Mutex<State>>,
    task: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct State {
    pages: BTreeMap<String, Page>,
    asked: Vec<Asked>,
}

/// What is at one place.
#[derive(Debug, Clone)]
pub struct Page {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

/// A request that arrived.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Path and query.
    pub target: String,
    /// With names in small letters.
    pub headers: BTreeMap<String, String>,
}

impl Page {
    /// An answer of success with this type; with none where it is empty.
    #[must_use]
    pub fn new(content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        let page = Self { status: 200, headers: Vec::new(), body: body.into() };
        if content_type.is_empty() { page } else { page.header("content-type", content_type) }
    }

    /// A page of HTML.
    #[must_use]
    pub fn html(body: impl Into<Vec<u8>>) -> Self {
        Self::new("text/html; charset=utf-8", body)
    }

    /// An answer of this status without a type or a body.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Vec::new() }
    }

    /// A redirect to there.
    #[must_use]
    pub fn redirect(status: u16, location: &str) -> Self {
        Self::status(status).header("location", location)
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

impl Site {
    /// Starts one on a free port of 127.0.0.1, with nothing on it.
    ///
    /// # Panics
    /// If it cannot listen.
    pub async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let url = format!("http://{}", listener.local_addr().expect("it listens"));
        let state = Arc::new(Mutex::new(State::default()));
        let answering = Arc::clone(&state);
        let router = Router::new().fallback(move |uri: Uri, headers: HeaderMap| {
            std::future::ready(answer(&answering, &uri, &headers))
        });
        let task = tokio::spawn(async move {
            // It ends with the test.
            let _ = axum::serve(listener, router).await;
        });
        Self { url, state, task }
    }

    /// Puts a page at a place: a path, with a query where it has one.
    #[must_use]
    pub fn with(self, target: &str, page: Page) -> Self {
        lock(&self.state).pages.insert(target.to_owned(), page);
        self
    }

    /// The whole address of a place.
    pub fn at(&self, target: &str) -> String {
        format!("{}{target}", self.url)
    }

    /// What was asked for, in order.
    pub fn asked(&self) -> Vec<Asked> {
        lock(&self.state).asked.clone()
    }

    /// The places that were asked for, in order.
    pub fn targets(&self) -> Vec<String> {
        self.asked().into_iter().map(|asked| asked.target).collect()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().expect("no thread panics while it holds the state")
}

fn answer(state: &Mutex<State>, uri: &Uri, headers: &HeaderMap) -> Response<Body> {
    let target = uri.path_and_query().map_or_else(String::new, ToString::to_string);
    let headers = headers.iter();
    let headers =
        headers.map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into()));
    let mut state = lock(state);
    state.asked.push(Asked { target: target.clone(), headers: headers.collect() });
    let page = state.pages.get(&target).cloned().unwrap_or_else(|| Page::status(404));
    drop(state);
    let mut answer = Response::new(Body::from(page.body));
    *answer.status_mut() = StatusCode::from_u16(page.status).expect("a status has three digits");
    for (name, value) in page.headers {
        let name = HeaderName::try_from(name).expect("a header has a name");
        answer.headers_mut().append(name, HeaderValue::from_str(&value).expect("a header's value is ASCII"));
    }
    answer
}
