//! A web for tests: real HTTP over real sockets on loopback, with deterministic pages and deliberate faults.
//!
//! In order of a request: `server` accepts and reads, `request` understands the head, `route` finds what is asked for,
//! `log` records it, then `page` (with `graph`, `text`, `filler`), `robots` or `fault` writes the answer through
//! `response`. Everything is decided by the [`FakeWebConfig`]; nothing is read from disk or drawn at random.
//!
//! The log is what tests prove things with from the server's side: no page twice, the delay kept, robots obeyed. The
//! web serves on threads of its own, so that a test which blocks its runtime does not slow it down.

mod config;
pub mod dice;
mod graph;
mod text;
mod filler;
mod page;
mod request;
mod route;
mod response;
mod robots;
pub mod fault;
mod log;
mod server;

#[cfg(test)]
pub mod client;
#[cfg(test)]
mod page_tests;
#[cfg(test)]
mod fault_tests;
#[cfg(test)]
mod log_tests;

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;

use anyhow::Context;
use tokio_util::sync::CancellationToken;

pub use self::config::{FakeWebConfig, HostConfig, RobotsMode, page_path};
pub use self::log::{LogLine, RecordedRequest, write_lines};
pub use self::page::{Pages, Place, Scratch};
pub use self::text::Lang;

use self::server::Server;

/// A running test web. It ends when it is dropped.
#[derive(Debug)]
pub struct FakeWeb {
    server: Arc<Server>,
    /// Where each host listens.
    addrs: Vec<SocketAddr>,
    shutdown: CancellationToken,
    workers: Vec<JoinHandle<()>>,
}

impl FakeWeb {
    /// Starts a web; panics when it cannot, with the reason.
    pub fn start(config: FakeWebConfig) -> Self {
        Self::try_start(config).unwrap_or_else(|error| panic!("the test web does not start: {error:#}"))
    }

    pub fn try_start(config: FakeWebConfig) -> anyhow::Result<Self> {
        config.validate()?;
        let mut listeners: Vec<(TcpListener, usize)> = Vec::new();
        let mut addrs: Vec<SocketAddr> = Vec::new();
        for (number, host) in config.hosts.iter().enumerate() {
            if number > 0 && host.name.is_some() {
                addrs.push(addrs[0]);
                continue;
            }
            let port = if config.port == 0 { 0 } else { config.port + u16::try_from(listeners.len())? };
            let ip = if host.name.is_some() { Ipv4Addr::LOCALHOST } else { host.ip };
            let addr = SocketAddrV4::new(ip, port);
            let listener = TcpListener::bind(addr).with_context(|| format!("cannot listen on {addr}"))?;
            listener.set_nonblocking(true)?;
            addrs.push(listener.local_addr()?);
            listeners.push((listener, number));
        }
        let threads = config.threads;
        let server = Arc::new(Server::new(config, &addrs));
        let shutdown = CancellationToken::new();
        let mut web = Self { server, addrs, shutdown, workers: Vec::with_capacity(threads) };
        for number in 0..threads {
            let listeners = listeners
                .iter()
                .map(|(listener, host)| Ok((listener.try_clone()?, *host)))
                .collect::<anyhow::Result<_>>()?;
            let (server, shutdown) = (web.server.clone(), web.shutdown.clone());
            let worker = std::thread::Builder::new()
                .name(format!("fake-web-{number}"))
                .spawn(move || server::run(&server, listeners, &shutdown))?;
            web.workers.push(worker);
        }
        Ok(web)
    }

    pub fn config(&self) -> &FakeWebConfig {
        self.server.config()
    }

    /// Where the first host listens.
    pub fn addr(&self) -> SocketAddr {
        self.addrs[0]
    }

    pub fn host_addr(&self, host: usize) -> SocketAddr {
        self.addrs[host]
    }

    /// A URL on the first host, by its address, which always reaches it.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.addr())
    }

    /// A URL on a host, by its name if it has one.
    pub fn host_url(&self, host: usize, path: &str) -> String {
        format!("http://{}{path}", self.server.authority(host))
    }

    /// What a resolver must know to reach the named hosts, as `HOST:PORT:ADDR`.
    pub fn resolve_args(&self) -> Vec<String> {
        let named = self.config().hosts.iter().zip(&self.addrs);
        named
            .filter_map(|(host, addr)| host.name.as_ref().map(|name| format!("{name}:{}:{}", addr.port(), addr.ip())))
            .collect()
    }

    /// All requests since the start or the last [`clear`](Self::clear), by time.
    pub fn requests(&self) -> Vec<RecordedRequest> {
        self.server.log().all()
    }

    /// How many requests there were, which is cheaper to know than which.
    pub fn request_count(&self) -> usize {
        self.server.log().count()
    }

    /// The requests, which are forgotten at the same moment.
    pub fn take_requests(&self) -> Vec<RecordedRequest> {
        self.server.log().take()
    }

    pub fn clear(&self) {
        self.take_requests();
    }

    /// Closes listeners and connections and waits for the threads.
    pub async fn shutdown(mut self) {
        self.shutdown.cancel();
        let workers = std::mem::take(&mut self.workers);
        tokio::task::spawn_blocking(move || join_all(workers)).await.expect("joining does not panic");
    }
}

impl Drop for FakeWeb {
    fn drop(&mut self) {
        self.shutdown.cancel();
        join_all(std::mem::take(&mut self.workers));
    }
}

fn join_all(workers: Vec<JoinHandle<()>>) {
    for worker in workers {
        // A worker that panicked has said so; the test that needed it fails by itself.
        let _ = worker.join();
    }
}
