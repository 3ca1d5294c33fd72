//! A web that changes while it is served: pages are put, changed and removed by the test.
//!
//! Answers with an ETag, and with 304 to a request that has it. Every request is noted with what it asked for. Real HTTP
//! on a port of its own; it ends when it is dropped.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use tokio_util::sync::CancellationToken;

const HTML: &str = "text/html; charset=utf-8";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveRequest {
    pub path: String,
    /// What it sent in `If-None-Match`.
    pub known_tag: Option<String>,
    pub status: u16,
}

#[derive(Debug, Default)]
struct Pages {
    by_path: BTreeMap<String, Page>,
    requests: Vec<LiveRequest>,
}

#[derive(Debug, Clone)]
struct Page {
    status: u16,
    content_type: String,
    /// Beside the content type.
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

#[derive(Debug)]
pub struct LiveWeb {
    address: SocketAddr,
    pages: Arc<Mutex<Pages>>,
    shutdown: CancellationToken,
}

impl Default for LiveWeb {
    fn default() -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
        listener.set_nonblocking(true).expect("a socket can be made non-blocking");
        let address = listener.local_addr().expect("a bound socket has an address");
        let (pages, shutdown) = (Arc::<Mutex<Pages>>::default(), CancellationToken::new());
        let router = Router::new().fallback(answer).with_state(Arc::clone(&pages));
        let stop = shutdown.clone();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).expect("the listener is non-blocking");
                let serving = axum::serve(listener, router).with_graceful_shutdown(stop.cancelled_owned());
                serving.await.expect("the server runs until it is told to stop");
            });
        });
        Self { address, pages, shutdown }
    }
}

impl Drop for LiveWeb {
    fn drop(&mut self) {
        self.shutdown.cancel();
    }
}

impl LiveWeb {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Its name in the words of `seine`: with the port.
    pub fn host(&self) -> String {
        self.address.to_string()
    }

    /// Puts a page with these words and links, or changes it.
    pub fn put(&self, path: &str, words: &str, links: &[&str]) {
        let links: String = links.iter().map(|link| format!("<a href=\"{link}\">to {link}</a>\n")).collect();
        let body = format!("<!doctype html><title>{path}</title><p>{words}</p>\n{links}");
        self.put_file(path, HTML, body.as_bytes());
    }

    /// Puts a file of any kind; without a content type, the header is left out.
    pub fn put_file(&self, path: &str, content_type: &str, body: &[u8]) {
        let content_type = content_type.to_owned();
        let page = Page { status: 200, content_type, headers: Vec::new(), body: body.to_owned() };
        self.lock().by_path.insert(path.to_owned(), page);
    }

    /// Answers with a status and nothing else from now on.
    pub fn fail(&self, path: &str, status: u16) {
        self.answer(path, status, &[], "");
    }

    /// Answers with a status, these headers and this text from now on.
    pub fn answer(&self, path: &str, status: u16, headers: &[(&'static str, &str)], text: &str) {
        let headers = headers.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        let page = Page { status, content_type: HTML.to_owned(), headers, body: text.as_bytes().to_owned() };
        self.lock().by_path.insert(path.to_owned(), page);
    }

    /// What it saw since the last call.
    pub fn take_requests(&self) -> Vec<LiveRequest> {
        std::mem::take(&mut self.lock().requests)
    }

    fn lock(&self) -> MutexGuard<'_, Pages> {
        lock(&self.pages)
    }
}

fn lock(pages: &Mutex<Pages>) -> MutexGuard<'_, Pages> {
    pages.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

async fn answer(State(pages): State<Arc<Mutex<Pages>>>, uri: Uri, headers: HeaderMap) -> Response {
    let mut pages = lock(&pages);
    let path = uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
    let known_tag = headers.get(header::IF_NONE_MATCH).and_then(|tag| tag.to_str().ok()).map(str::to_owned);
    let missing = Page { status: 404, content_type: HTML.to_owned(), headers: Vec::new(), body: Vec::new() };
    let Page { status, content_type, headers, body } = pages.by_path.get(&path).cloned().unwrap_or(missing);
    let tag =
        format!("\"{:x}\"", body.iter().fold(7u64, |sum, byte| sum.wrapping_mul(31).wrapping_add((*byte).into())));
    let status = if status == 200 && known_tag.as_ref() == Some(&tag) { 304 } else { status };
    pages.requests.push(LiveRequest { path, known_tag, status });
    let tag = HeaderValue::from_str(&tag).expect("hexadecimal digits are a header");
    let code = StatusCode::from_u16(status).expect("the test gives a real status");
    let body = if status == 304 { Vec::new() } else { body };
    let mut response = (code, [(header::ETAG, tag)], body).into_response();
    response.headers_mut().remove(header::CONTENT_TYPE);
    if !content_type.is_empty() {
        let content_type = HeaderValue::from_str(&content_type).expect("the test gives a real content type");
        response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    }
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_str(&value).expect("the test gives a real header"));
    }
    response
}
