//! What clients that only hold connections cost those that search: the same searches, each on a connection of its own, by
//! turns without and with thousands of idle connections and hundreds that send their request a byte a second.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::Context;
use seine_node::descriptors;
use serde::Serialize;

use crate::search::Latencies;
use crate::search::client::Client;
use crate::search::corpus::Corpus;
use crate::search::indexing;
use crate::search::server::Server;

const IDLE: usize = 2_000;
const SLOW: usize = 200;
const DOCUMENTS: u32 = 20_000;
const QUERIES: usize = 200;
/// Of each kind.
const TURNS: usize = 5;
const BYTE_EVERY: Duration = Duration::from_secs(1);
/// How much longer the slowest searches may take.
pub const ALLOWED: f64 = 2.0;

#[derive(Debug, Clone, Serialize)]
pub struct IdleConnections {
    pub idle: usize,
    pub slow: usize,
    pub without: Latencies,
    pub with: Latencies,
}

impl IdleConnections {
    pub fn ratio(&self) -> f64 {
        self.with.p99 / self.without.p99
    }
}

/// Blocks until all is measured.
pub fn run(seine: &Path, kept: &Path) -> anyhow::Result<IdleConnections> {
    descriptors::raise().context("cannot hold so many connections")?;
    let corpus = Corpus::new();
    let data = kept.join(format!("search-{DOCUMENTS}"));
    indexing::ensure_index(&corpus, DOCUMENTS, &data)?;
    let queries = corpus.queries(QUERIES);
    let server = Server::start(seine, &data, &["--roles", "query"])?;
    eprintln!("asking {QUERIES} queries, {TURNS} times without and with {IDLE} idle and {SLOW} slow connections");
    ask(&server.http, &queries)?;
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        without.extend(ask(&server.http, &queries)?);
        with.extend(while_held(&server.http, || ask(&server.http, &queries))?);
    }
    Ok(IdleConnections { idle: IDLE, slow: SLOW, without: Latencies::of(without), with: Latencies::of(with) })
}

fn ask(address: &str, queries: &[String]) -> anyhow::Result<Vec<Duration>> {
    let mut took = Vec::with_capacity(queries.len());
    for query in queries {
        let started = Instant::now();
        Client::connect(address)?.search(query)?;
        took.push(started.elapsed());
    }
    Ok(took)
}

/// Does something while a thread holds the connections, opening those anew that the server has closed.
fn while_held<T>(address: &str, measure: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    let done = AtomicBool::new(false);
    let (opened, are_open) = mpsc::channel();
    std::thread::scope(|scope| {
        let holding = scope.spawn(|| -> anyhow::Result<()> {
            let mut idle = (0..IDLE).map(|_| open(address, b"")).collect::<anyhow::Result<Vec<_>>>()?;
            let mut slow = (0..SLOW).map(|_| open(address, b"GET /api/v1/sea")).collect::<anyhow::Result<Vec<_>>>()?;
            let _ = opened.send(());
            while !done.load(Ordering::Relaxed) {
                std::thread::sleep(BYTE_EVERY);
                for stream in &mut idle {
                    if is_closed(stream) {
                        *stream = open(address, b"")?;
                    }
                }
                for stream in &mut slow {
                    if stream.write_all(b"r").is_err() || is_closed(stream) {
                        *stream = open(address, b"GET /api/v1/sea")?;
                    }
                }
            }
            Ok(())
        });
        // An error of the holder ends the waiting too, and is told below.
        let measured = are_open.recv().context("the connections could not be opened").and_then(|()| measure());
        done.store(true, Ordering::Relaxed);
        holding.join().expect("the holder does not panic").and(measured)
    })
}

fn open(address: &str, begun: &[u8]) -> anyhow::Result<TcpStream> {
    let mut stream = TcpStream::connect(address).with_context(|| format!("cannot connect to {address}"))?;
    stream.write_all(begun)?;
    stream.set_nonblocking(true)?;
    Ok(stream)
}

fn is_closed(stream: &mut TcpStream) -> bool {
    !matches!(stream.read(&mut [0; 16]), Err(error) if error.kind() == ErrorKind::WouldBlock)
}
