//! The demo web: three small hosts with real pages in English, Chinese and Czech, for `make demo`.
//!
//! The pages are files under `tests/demo/`, built into the program. Each host is an address of its own,
//! `127.0.0.1:PORT`. The pages link to each other across hosts through placeholders such as `{{river}}`, which become
//! URLs when the ports are known.

mod files;

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::files::HOSTS;

pub const HOST_COUNT: usize = HOSTS.len();
pub const DEFAULT_PORTS: [u16; HOST_COUNT] = [8091, 8092, 8093];
/// How long answers under way may take when the web ends.
const SHUTDOWN_DEADLINE: Duration = Duration::from_secs(2);

/// The running demo web.
#[derive(Debug)]
pub struct DemoWeb {
    addrs: Vec<SocketAddr>,
    shutdown: CancellationToken,
    servers: JoinSet<std::io::Result<()>>,
}

/// What one host serves: path to type and body.
type Site = HashMap<String, (&'static str, Bytes)>;

impl DemoWeb {
    /// Serves the three hosts on these ports of 127.0.0.1; 0 takes any free one.
    pub async fn start(ports: [u16; HOST_COUNT]) -> anyhow::Result<Self> {
        let mut listeners = Vec::with_capacity(HOST_COUNT);
        let mut addrs = Vec::with_capacity(HOST_COUNT);
        for port in ports {
            let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
            let listener = TcpListener::bind(addr)
                .await
                .with_context(|| format!("cannot listen on {addr}; choose other ports with --ports"))?;
            addrs.push(listener.local_addr()?);
            listeners.push(listener);
        }
        let shutdown = CancellationToken::new();
        let mut servers = JoinSet::new();
        for (host, listener) in listeners.into_iter().enumerate() {
            let router = Router::new().fallback(serve).with_state(Arc::new(site(host, &addrs)));
            let ended = shutdown.clone().cancelled_owned();
            servers.spawn(async move { axum::serve(listener, router).with_graceful_shutdown(ended).await });
        }
        Ok(Self { addrs, shutdown, servers })
    }

    /// The first page of each host.
    pub fn urls(&self) -> Vec<String> {
        self.addrs.iter().map(|addr| format!("http://{addr}/")).collect()
    }

    pub fn addrs(&self) -> &[SocketAddr] {
        &self.addrs
    }

    pub async fn shutdown(mut self) {
        self.shutdown.cancel();
        let ended = async { while self.servers.join_next().await.is_some() {} };
        // What has not ended by then is aborted when the set is dropped.
        let _ = tokio::time::timeout(SHUTDOWN_DEADLINE, ended).await;
    }
}

/// The files of a host with their links filled in.
fn site(host: usize, addrs: &[SocketAddr]) -> Site {
    let mut site = Site::new();
    for (path, text) in HOSTS[host].files {
        let mut text = (*text).to_owned();
        for (other, addr) in HOSTS.iter().zip(addrs) {
            text = text.replace(&format!("{{{{{}}}}}", other.name), &format!("http://{addr}"));
        }
        let path = if *path == "/index.html" { "/" } else { path };
        site.insert(path.to_owned(), (content_type(path), text.into()));
    }
    site
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.') {
        Some((_, "css")) => "text/css; charset=utf-8",
        Some((_, "txt")) => "text/plain; charset=utf-8",
        _ => "text/html; charset=utf-8",
    }
}

async fn serve(State(site): State<Arc<Site>>, uri: Uri) -> Response {
    match site.get(uri.path()) {
        Some((content_type, body)) => ([(header::CONTENT_TYPE, *content_type)], body.clone()).into_response(),
        None => (StatusCode::NOT_FOUND, "There is no such page.\n").into_response(),
    }
}

#[cfg(test)]
mod tests;
