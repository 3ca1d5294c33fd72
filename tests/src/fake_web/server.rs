//! What all threads of a web share, and the threads: each accepts connections and serves them.
//!
//! A worker thread has a runtime of its own and accepts from the shared listeners, so nothing crosses threads while a
//! request is served except the log. Connections are owned by the accept loop of their listener and end with it.

mod connection;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::join_all;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use self::connection::Connection;
use super::config::{FakeWebConfig, RobotsMode};
use super::log::RequestLog;
use super::page::Pages;
use super::response::write_whole;
use super::robots;
use super::route::Route;

/// Between two tries to accept when the system has no room for another connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// What all threads of a web share.
#[derive(Debug)]
pub struct Server {
    pages: Pages,
    /// How each host is named in links to it.
    authorities: Vec<String>,
    by_name: HashMap<String, usize>,
    log: RequestLog,
    /// Visits to the paths that count them.
    visits: Mutex<HashMap<String, u32>>,
    connections: AtomicU64,
}

impl Server {
    pub fn new(config: FakeWebConfig, addrs: &[SocketAddr]) -> Self {
        let hosts = || config.hosts.iter().zip(addrs).enumerate();
        let authorities = hosts()
            .map(|(_, (host, addr))| match &host.name {
                Some(name) => format!("{name}:{}", addr.port()),
                None => addr.to_string(),
            })
            .collect();
        let by_name = hosts()
            .filter_map(|(number, (host, _))| host.name.as_ref().map(|name| (name.to_ascii_lowercase(), number)))
            .collect();
        Self {
            authorities,
            by_name,
            pages: Pages::new(config),
            log: RequestLog::new(),
            visits: Mutex::default(),
            connections: AtomicU64::new(0),
        }
    }

    pub fn config(&self) -> &FakeWebConfig {
        self.pages.config()
    }

    pub fn authority(&self, host: usize) -> &str {
        &self.authorities[host]
    }

    pub fn authorities(&self) -> &[String] {
        &self.authorities
    }

    pub fn pages(&self) -> &Pages {
        &self.pages
    }

    pub fn log(&self) -> &RequestLog {
        &self.log
    }

    pub fn host_named(&self, authority: &str) -> Option<usize> {
        let name = authority.rsplit_once(':').map_or(authority, |(name, _)| name);
        self.by_name.get(name).copied()
    }

    /// How links on a host name it for a client that sent this `Host`: the same way, with the port, which some clients
    /// leave out.
    pub fn own_authority(&self, host: usize, sent: &str) -> String {
        let known = self.authority(host);
        match known.rsplit_once(':') {
            Some((_, port)) if !sent.is_empty() && !sent.contains(':') => format!("{sent}:{port}"),
            _ if sent.is_empty() => known.to_owned(),
            _ => sent.to_owned(),
        }
    }

    pub fn visit(&self, host: usize, path: &str) -> u32 {
        let mut visits = self.visits.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let count = visits.entry(format!("{host} {path}")).or_default();
        *count += 1;
        *count - 1
    }

    pub fn status(&self, route: &Route, host: usize) -> u16 {
        let host = &self.config().hosts[host];
        match route {
            Route::Root | Route::Page(_) | Route::Private(_) => 200,
            Route::Robots => robots::status(host),
            Route::MovedRobots if host.robots == RobotsMode::Redirect => 200,
            Route::Fault(fault) => fault.status(),
            Route::MovedRobots | Route::Missing => 404,
        }
    }

    pub fn write_robots(&self, host: usize, status: u16, out: &mut Vec<u8>, head_only: bool) {
        let host = &self.config().hosts[host];
        let fields: &[_] = if status == 301 { &[("Location", robots::MOVED_TO)] } else { &[] };
        let body = if status == 301 { Vec::new() } else { robots::body(host) };
        write_whole(out, status, "text/plain; charset=utf-8", fields, &body, head_only);
    }
}

/// The life of one worker thread.
pub fn run(server: &Arc<Server>, listeners: Vec<(std::net::TcpListener, usize)>, shutdown: &CancellationToken) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("the system gives a thread its timer and its poll");
    runtime.block_on(async {
        let accepting = listeners.into_iter().map(|(listener, host)| {
            let listener = TcpListener::from_std(listener).expect("the listener is non-blocking and the runtime runs");
            accept(server, listener, host, shutdown)
        });
        join_all(accepting).await;
    });
}

async fn accept(server: &Arc<Server>, listener: TcpListener, host: usize, shutdown: &CancellationToken) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = shutdown.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let number = server.connections.fetch_add(1, Ordering::Relaxed);
                    let mut connection = Connection::new(server.clone(), stream, number, host);
                    // A client that goes away is the client's affair.
                    connections.spawn(async move { connection.serve().await.ok() });
                }
                Err(_) => sleep(ACCEPT_PAUSE).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
    connections.shutdown().await;
}
